//! What the kernel counts of the packets of an interface, of all programs together.

use serde::{Deserialize, Serialize};

pub use crate::netlink::link::Packets;
use crate::netlink::{Netlink, qdisc};
use crate::nic::{self, NicError};
use crate::qdisc::{Handle, ObservedQdisc};

/// The counters of an interface since it exists, and those of its qdiscs since they were set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// It has a peer at the other end of its cable.
    pub carrier: bool,
    /// What its driver says was sent.
    pub sent: Packets,
    /// What came in.
    pub received: Packets,
    /// Frames that found no room in the receive ring, or in the NIC before it.
    pub rx_missed: u64,
    /// Its qdiscs, roots first. A root that has classes counts theirs, too.
    pub qdiscs: Vec<ObservedQdisc>,
}

/// A qdisc that dropped packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QdiscDrops {
    /// `etf`, `fq_codel` …
    pub kind: String,
    /// How many.
    pub packets: u32,
}

impl Traffic {
    /// Those of an interface of the calling thread's namespace.
    ///
    /// # Errors
    /// [`NicError`] if there is no such interface, or netlink does not answer.
    pub fn of(ifname: &str) -> Result<Self, NicError> {
        let mut netlink = Netlink::open()?;
        let link = nic::find(&mut netlink, ifname)?;
        Ok(Self {
            carrier: link.carrier,
            sent: link.sent,
            received: link.received,
            rx_missed: link.rx_missed,
            qdiscs: qdisc::list(&mut netlink, link.index)?,
        })
    }

    /// Its qdisc of the same kind at the same place.
    pub fn qdisc_like(&self, other: &ObservedQdisc) -> Option<&ObservedQdisc> {
        let like = |q: &&ObservedQdisc| {
            q.parent == other.parent && q.settings.kind() == other.settings.kind()
        };
        self.qdiscs.iter().find(like)
    }

    /// The qdisc that dropped most since `before`; of those with as many the one furthest
    /// from the root, which is the one that did it.
    pub fn qdisc_drops_since(&self, before: &Self) -> Option<QdiscDrops> {
        self.qdiscs
            .iter()
            .map(|now| {
                let earlier = before.qdisc_like(now).map_or(0, |q| q.counters.drops);
                let more = now.counters.drops.saturating_sub(earlier);
                (more, now.parent != Handle::ROOT, now.settings.kind())
            })
            .filter(|(packets, ..)| *packets > 0)
            .max()
            .map(|(packets, _, kind)| QdiscDrops { kind: kind.to_owned(), packets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::Counters;
    use teiji_experiment::scenario::Qdisc;

    #[test]
    fn drops_are_those_of_the_qdisc_below_the_root_that_counts_them_too() {
        let qdisc = |parent, name: &str, drops| ObservedQdisc {
            handle: Handle(0),
            parent,
            settings: Qdisc::Other { name: name.to_owned() },
            counters: Counters { drops, ..Counters::default() },
        };
        let counted = |root, class| Traffic {
            qdiscs: vec![qdisc(Handle::ROOT, "mqprio", root), qdisc(Handle(0x10001), "etf", class)],
            ..Traffic::default()
        };
        let dropped = counted(9, 7).qdisc_drops_since(&counted(4, 2));
        assert_eq!(dropped, Some(QdiscDrops { kind: "etf".to_owned(), packets: 5 }));
        assert_eq!(counted(9, 7).qdisc_drops_since(&counted(9, 7)), None);
    }

    #[test]
    fn loopback_counts_what_it_sends() {
        let before = Traffic::of("lo").unwrap().sent;
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        let Packets { packets, bytes, dropped } = Traffic::of("lo").unwrap().sent;
        assert!(packets > before.packets && bytes > before.bytes && dropped == before.dropped);
        assert!(matches!(Traffic::of("no-such-if0"), Err(NicError::NoInterface(_))));
    }
}
