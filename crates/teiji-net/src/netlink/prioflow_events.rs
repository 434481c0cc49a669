//! The events of `prioflow` by generic netlink. Numbers from kernel/uapi/prioflow.h.

use teiji_core::time::{Instant, Monotonic};

use super::generic::{Family, field};
use super::{KernelError, Netlink};
use crate::message::{messages, u32_at, u64_at};

const FAMILY: &str = "prioflow";
const GROUP: &str = "events";
const CMD_LEVELS: u8 = 1;
const CMD_STORM: u8 = 2;
const A_IFINDEX: u16 = 1;
const A_SEND_LEVEL: u16 = 2;
const A_RECEIVE_LEVEL: u16 = 3;
const A_TIME: u16 = 4;

const ENOENT: i32 = 2;

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
    /// Receive level from now on: the peer pauses all levels below.
    pub receive_level: u8,
    /// When.
    pub at: Instant<Monotonic>,
}

/// A socket of the calling thread's network namespace that hears them from now on.
pub(crate) fn listen() -> Result<Netlink, KernelError> {
    let mut netlink = Netlink::open_generic()?;
    let group = Family::find(&mut netlink, FAMILY)?.group(GROUP);
    netlink.listen(group.ok_or(KernelError { errno: ENOENT, extack: None })?)?;
    Ok(netlink)
}

/// The events of what was told; a newer module's others are skipped.
pub(crate) fn parse(told: &[u8]) -> impl Iterator<Item = FlowEvent> {
    messages(told).filter_map(|message| event(message.payload))
}

fn event(payload: &[u8]) -> Option<FlowEvent> {
    let byte = |kind| field(payload, kind)?.first().copied();
    Some(FlowEvent {
        what: match *payload.first()? {
            CMD_LEVELS => Happening::Levels,
            CMD_STORM => Happening::Storm,
            _ => return None,
        },
        index: u32_at(field(payload, A_IFINDEX)?, 0)?,
        transmit_level: byte(A_SEND_LEVEL)?,
        receive_level: byte(A_RECEIVE_LEVEL)?,
        at: Instant::<Monotonic>::from_ns(i64::try_from(u64_at(field(payload, A_TIME)?, 0)?).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Request;

    #[test]
    fn an_event_is_read_and_what_is_not_known_is_skipped() {
        let of = |command: u8| {
            Request::new(30, 0, &[command, 1, 0, 0])
                .u32(A_IFINDEX, 7)
                .attribute(A_SEND_LEVEL, &[5])
                .attribute(A_RECEIVE_LEVEL, &[0])
                .attribute(A_TIME, &12_u64.to_ne_bytes())
                .finish(0, 0)
        };
        let told: Vec<u8> = [1, 9, 2].into_iter().flat_map(of).collect();
        let levels = FlowEvent {
            what: Happening::Levels,
            index: 7,
            transmit_level: 5,
            receive_level: 0,
            at: Instant::from_ns(12),
        };
        let storm = FlowEvent { what: Happening::Storm, ..levels };
        assert_eq!(parse(&told).collect::<Vec<_>>(), [levels, storm]);
        let without_time = Request::new(30, 0, &[1, 1, 0, 0]).u32(A_IFINDEX, 7).finish(0, 0);
        assert_eq!(parse(&without_time).next(), None);
    }
}
