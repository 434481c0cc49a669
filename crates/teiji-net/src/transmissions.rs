//! What the kernel counts of the frames that an interface sends: evidence about a talker's
//! frames that does not come from the talker's socket.

use crate::netlink::{Netlink, link, qdisc};
use crate::qdisc::Handle;

/// The counters of an interface, of all programs' packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transmissions {
    /// It has a peer at the other end of its cable.
    pub carrier: bool,
    /// Packets that its driver says were sent.
    pub sent: u64,
    /// Packets that the device or its driver dropped.
    pub dropped: u64,
    /// Packets that each qdisc dropped: place, kind, number. A root that has classes counts
    /// theirs, too.
    qdiscs: Vec<(Handle, String, u32)>,
}

/// A qdisc that dropped packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QdiscDrops {
    /// `etf`, `fq_codel` …
    pub kind: String,
    /// How many.
    pub packets: u32,
}

impl Transmissions {
    /// Those of an interface of the calling thread's namespace; `None` if the kernel does
    /// not say.
    pub fn of(ifname: &str) -> Option<Self> {
        let mut netlink = Netlink::open().ok()?;
        let link = link::find(&mut netlink, ifname).ok()??;
        let qdiscs = qdisc::list(&mut netlink, link.index).ok()?;
        Some(Self {
            carrier: link.carrier,
            sent: link.tx_packets,
            dropped: link.tx_dropped,
            qdiscs: qdiscs
                .into_iter()
                .map(|q| (q.parent, q.settings.kind().to_owned(), q.counters.drops))
                .collect(),
        })
    }

    /// The qdisc that dropped most since `before`; of those with as many the one furthest
    /// from the root, which is the one that did it.
    pub fn qdisc_drops_since(&self, before: &Self) -> Option<QdiscDrops> {
        self.qdiscs
            .iter()
            .map(|(parent, kind, drops)| {
                let same = |(p, k, _): &&(Handle, String, u32)| p == parent && k == kind;
                let earlier = before.qdiscs.iter().find(same).map_or(0, |q| q.2);
                (drops.saturating_sub(earlier), *parent != Handle::ROOT, kind)
            })
            .filter(|(packets, ..)| *packets > 0)
            .max()
            .map(|(packets, _, kind)| QdiscDrops { kind: kind.clone(), packets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_those_of_the_qdisc_below_the_root_that_counts_them_too() {
        let counted = |root, class| Transmissions {
            qdiscs: vec![
                (Handle::ROOT, "mqprio".to_owned(), root),
                (Handle(0x10001), "etf".to_owned(), class),
            ],
            ..Transmissions::default()
        };
        let dropped = counted(9, 7).qdisc_drops_since(&counted(4, 2));
        assert_eq!(dropped, Some(QdiscDrops { kind: "etf".to_owned(), packets: 5 }));
        assert_eq!(counted(9, 7).qdisc_drops_since(&counted(9, 7)), None);
    }

    #[test]
    fn loopback_counts_what_it_sends() {
        let before = Transmissions::of("lo").unwrap();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        assert!(Transmissions::of("lo").unwrap().sent > before.sent);
        assert_eq!(Transmissions::of("no-such-if0"), None);
    }
}
