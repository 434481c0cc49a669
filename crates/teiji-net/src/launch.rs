//! What becomes of launch times (`SO_TXTIME`) on an interface.

use teiji_core::time::Span;
use teiji_experiment::scenario::Qdisc;

use crate::netlink::{Netlink, link, qdisc};

/// Who takes launch times into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchTimes {
    /// Neither of the two: a frame is sent at once, unless `fq` is there. That one holds a frame
    /// until its time by `CLOCK_MONOTONIC`, and drops one whose time is beyond its horizon.
    Ignored,
    /// `etf`. A frame leaves up to this long before its launch time: `delta` without
    /// offload, zero where the NIC does it.
    Etf(Span),
    /// `taprio`, whose gates decide as well.
    Taprio,
}

/// Who takes launch times into account on an interface of the calling thread's namespace, at
/// whatever place of its qdiscs. `None` if the kernel does not say.
pub fn launch_times(ifname: &str) -> Option<LaunchTimes> {
    let mut netlink = Netlink::open().ok()?;
    let index = link::find(&mut netlink, ifname).ok()??.index;
    let qdiscs = qdisc::list(&mut netlink, index).ok()?;
    Some(of(qdiscs.iter().map(|qdisc| &qdisc.settings)))
}

fn of<'a>(qdiscs: impl Iterator<Item = &'a Qdisc>) -> LaunchTimes {
    qdiscs.fold(LaunchTimes::Ignored, |so_far, settings| match (settings, so_far) {
        (Qdisc::Taprio(_), _) | (_, LaunchTimes::Taprio) => LaunchTimes::Taprio,
        (Qdisc::Etf(etf), so_far) => {
            let early = if etf.offload { Span::ZERO } else { etf.delta };
            match so_far {
                LaunchTimes::Etf(other) => LaunchTimes::Etf(other.max(early)),
                _ => LaunchTimes::Etf(early),
            }
        }
        (_, so_far) => so_far,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_core::time::ClockId;
    use teiji_experiment::scenario::Etf;

    #[test]
    fn a_software_etf_sends_delta_early_and_an_offloaded_one_does_not() {
        let etf = |offload| {
            let delta = Span::from_micros(150);
            let clock = ClockId::Tai;
            let (deadline_mode, skip_sock_check) = (false, false);
            Qdisc::Etf(Etf { delta, clock, offload, deadline_mode, skip_sock_check })
        };
        assert_eq!(of([Qdisc::Mq, etf(true)].iter()), LaunchTimes::Etf(Span::ZERO));
        let both = [etf(true), etf(false), Qdisc::Noqueue];
        assert_eq!(of(both.iter()), LaunchTimes::Etf(Span::from_micros(150)));
        assert_eq!(of([Qdisc::PfifoFast].iter()), LaunchTimes::Ignored);
    }
}
