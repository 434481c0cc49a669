//! What happens to the flow control of ports, as the kernel tells it: levels that change,
//! peers that pause for too long.

use teiji_core::time::{Instant, Monotonic};

use crate::flow::{FlowError, FlowPort};
use crate::netlink::{KernelError, Netlink, prioflow_events};

const ENOENT: i32 = 2;
const ENOBUFS: i32 = 105;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// One of the levels is another now.
    Levels,
    /// The peer has paused for too long, and is ignored for as long.
    Storm,
}

/// One event of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEvent {
    /// What happened.
    pub what: Happening,
    /// The device's index.
    pub index: u32,
    /// Nothing below leaves from now on.
    pub transmit_level: u8,
    /// The peer is asked to send nothing below from now on.
    pub receive_level: u8,
    /// When.
    pub at: Instant<Monotonic>,
}

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
