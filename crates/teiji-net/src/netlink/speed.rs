//! A link's speed by generic netlink, family `ethtool` (kernel 5.6 and later).
//! sysfs would show it too, but only for the namespace it was mounted in.
//! Numbers from `include/uapi/linux/{genetlink,ethtool_netlink}.h`.

use super::message::{Request, attribute, u16_at, u32_at};
use super::{KernelError, Netlink};

const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const ETHTOOL_MSG_LINKMODES_GET: u8 = 4;
const ETHTOOL_A_LINKMODES_HEADER: u16 = 1;
const ETHTOOL_A_HEADER_DEV_INDEX: u16 = 1;
const ETHTOOL_A_LINKMODES_SPEED: u16 = 5;
/// `SPEED_UNKNOWN`
const UNKNOWN: u32 = u32::MAX;

/// `struct genlmsghdr { u8 cmd, version; u16 reserved; }`
const fn genlmsghdr(command: u8) -> [u8; 4] {
    [command, 1, 0, 0]
}

/// The speed of the link with this index in the calling thread's namespace, in
/// Mbit/s; `None` if the driver or the kernel does not say.
pub(crate) fn mbps(index: u32) -> Option<u32> {
    ask(index).ok().flatten().filter(|speed| *speed != 0 && *speed != UNKNOWN)
}

fn ask(index: u32) -> Result<Option<u32>, KernelError> {
    let mut netlink = Netlink::open_generic()?;
    let mut family = None;
    let request = Request::new(GENL_ID_CTRL, 0, &genlmsghdr(CTRL_CMD_GETFAMILY))
        .string(CTRL_ATTR_FAMILY_NAME, "ethtool");
    netlink.get(request, |_, payload| {
        family = field(payload, CTRL_ATTR_FAMILY_ID).and_then(|v| u16_at(v, 0));
    })?;
    let Some(family) = family else { return Ok(None) };
    let mut speed = None;
    let request = Request::new(family, 0, &genlmsghdr(ETHTOOL_MSG_LINKMODES_GET))
        .nested(ETHTOOL_A_LINKMODES_HEADER, |h| h.u32(ETHTOOL_A_HEADER_DEV_INDEX, index));
    netlink.get(request, |_, payload| {
        speed = field(payload, ETHTOOL_A_LINKMODES_SPEED).and_then(|v| u32_at(v, 0));
    })?;
    Ok(speed)
}

fn field(payload: &[u8], kind: u16) -> Option<&[u8]> {
    const GENL_HEADER_LEN: usize = 4;
    attribute(payload.get(GENL_HEADER_LEN..)?, kind)
}
