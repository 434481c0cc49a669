//! Generic netlink: families by their name, and their multicast groups. Numbers from
//! `include/uapi/linux/genetlink.h`.

use teiji_core::errno::ENOENT;

use super::{KernelError, Netlink};
use crate::message::{Request, attribute, attributes, text, u16_at, u32_at};

const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const CTRL_ATTR_MCAST_GROUPS: u16 = 7;
const CTRL_ATTR_MCAST_GRP_NAME: u16 = 1;
const CTRL_ATTR_MCAST_GRP_ID: u16 = 2;

/// `struct genlmsghdr`
const GENL_HEADER_LEN: usize = 4;

/// `struct genlmsghdr { u8 cmd, version; u16 reserved; }`
pub(super) const fn genlmsghdr(command: u8) -> [u8; GENL_HEADER_LEN] {
    [command, 1, 0, 0]
}

/// An attribute of a message.
pub(super) fn field(payload: &[u8], kind: u16) -> Option<&[u8]> {
    attribute(payload.get(GENL_HEADER_LEN..)?, kind)
}

/// What the kernel calls a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Family {
    /// The type of its messages.
    pub(super) id: u16,
    /// Names and numbers of its multicast groups.
    groups: Vec<(String, u32)>,
}

impl Family {
    /// The family called `name`; `ENOENT` if there is none.
    pub(super) fn find(netlink: &mut Netlink, name: &str) -> Result<Self, KernelError> {
        let mut found = None;
        let request = Request::new(GENL_ID_CTRL, 0, &genlmsghdr(CTRL_CMD_GETFAMILY))
            .string(CTRL_ATTR_FAMILY_NAME, name);
        netlink.get(request, |_, payload| found = Self::parse(payload))?;
        found.ok_or(KernelError { errno: ENOENT, extack: None })
    }

    fn parse(payload: &[u8]) -> Option<Self> {
        let id = u16_at(field(payload, CTRL_ATTR_FAMILY_ID)?, 0)?;
        let groups = attributes(field(payload, CTRL_ATTR_MCAST_GROUPS).unwrap_or_default())
            .filter_map(|(_, group)| {
                let name = text(attribute(group, CTRL_ATTR_MCAST_GRP_NAME)?);
                Some((name, u32_at(attribute(group, CTRL_ATTR_MCAST_GRP_ID)?, 0)?))
            })
            .collect();
        Some(Self { id, groups })
    }

    /// A request of the family.
    pub(super) fn request(&self, command: u8) -> Request {
        Request::new(self.id, 0, &genlmsghdr(command))
    }

    /// The number of a multicast group.
    pub(super) fn group(&self, name: &str) -> Option<u32> {
        self.groups.iter().find(|(group, _)| group == name).map(|(_, number)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_describes_itself() {
        let mut netlink = Netlink::open_generic().unwrap();
        let family = Family::find(&mut netlink, "nlctrl").unwrap();
        assert_eq!(family.id, GENL_ID_CTRL);
        assert!(family.group("notify").is_some(), "{family:?}");
        assert_eq!(Family::find(&mut netlink, "no-such-family").unwrap_err().errno, ENOENT);
    }
}
