//! What happens to the flow control of ports, as the kernel tells it: levels that change,
//! peers that pause for too long.

use crate::flow::{FlowError, FlowPort};
pub use crate::netlink::prioflow_events::{FlowEvent, Happening};
use crate::netlink::{KernelError, Netlink, prioflow_events};

const ENOENT: i32 = 2;
const ENOBUFS: i32 = 105;

/// The events of one device, from the moment it is opened.
#[derive(Debug)]
pub struct FlowEvents {
    netlink: Netlink,
    index: u32,
}

impl FlowEvents {
    /// Those of `port`.
    pub fn open(port: &FlowPort) -> Result<Self, FlowError> {
        let netlink = prioflow_events::listen().map_err(|error| match error.errno {
            ENOENT => FlowError::OtherVersion,
            _ => port.refused(error),
        })?;
        Ok(Self { netlink, index: port.index() })
    }

    /// Those that have come, without waiting, and whether others are lost because they came
    /// faster than they were taken.
    pub fn take(&mut self) -> (Vec<FlowEvent>, bool) {
        let (mut events, mut lost) = (Vec::new(), false);
        loop {
            match self.netlink.told() {
                Ok(Some(told)) => events.extend(
                    prioflow_events::parse(&told).filter(|event| event.index == self.index),
                ),
                Err(KernelError { errno: ENOBUFS, .. }) => lost = true,
                // No other error comes to a socket that only receives.
                Ok(None) | Err(_) => return (events, lost),
            }
        }
    }
}
