//! What happens to the flow control of ports and sockets, as the kernel tells it: levels that
//! change, peers that pause for too long or do not obey, receivers that do not read.

use teiji_core::errno::{ENOBUFS, ENOENT, EOPNOTSUPP};

use crate::flow::{FlowError, FlowPort};
pub use crate::netlink::prioflow_events::{FlowEvent, Happening, Receiver, ReceiverEvent};
use crate::netlink::{KernelError, Netlink, prioflow_events};

/// The sockets of the calling thread's network namespace that send pause requests.
///
/// # Errors
/// Without the right to see them (`CAP_NET_ADMIN` in the namespace), or if the loaded module is of
/// another version. Without the module there are none.
pub fn receivers() -> Result<Vec<Receiver>, FlowError> {
    let refused = |error| FlowError::of("the receivers", error);
    let mut netlink = Netlink::open_generic().map_err(refused)?;
    match prioflow_events::receivers(&mut netlink) {
        Err(KernelError { errno: ENOENT, .. }) => Ok(Vec::new()),
        Err(KernelError { errno: EOPNOTSUPP, .. }) => Err(FlowError::OtherVersion),
        found => found.map_err(refused),
    }
}

/// The events of one device, from the moment it is opened.
#[derive(Debug)]
pub struct FlowEvents {
    netlink: Netlink,
    index: u32,
}

impl FlowEvents {
    /// Those of `port`.
    ///
    /// # Errors
    /// [`FlowError::OtherVersion`] if the module has no events, otherwise what netlink refuses.
    pub fn open(port: &FlowPort) -> Result<Self, FlowError> {
        let netlink = prioflow_events::listen().map_err(|error| match error.errno {
            ENOENT => FlowError::OtherVersion,
            _ => port.refused(error),
        })?;
        Ok(Self { netlink, index: port.index() })
    }

    /// Those that have come, without waiting.
    pub fn take(&mut self) -> Taken {
        let mut taken = Taken::default();
        loop {
            match self.netlink.notification() {
                Ok(Some(message)) => {
                    taken.receivers.extend(prioflow_events::parse_receivers(&message));
                    taken.events.extend(
                        prioflow_events::parse(&message).filter(|event| event.index == self.index),
                    );
                }
                Err(KernelError { errno: ENOBUFS, .. }) => taken.lost = true,
                // No other error comes to a socket that only receives.
                Ok(None) | Err(_) => return taken,
            }
        }
    }
}

/// What has happened since the last look.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// Of the device.
    pub events: Vec<FlowEvent>,
    /// Of the receivers of its network namespace.
    pub receivers: Vec<ReceiverEvent>,
    /// Others are lost, because they came faster than they were taken.
    pub lost: bool,
}
