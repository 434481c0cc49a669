//! How long round trips of a high level wait for frames of lower ones that are under way.

use std::collections::BTreeMap;

use teiji_core::domain::{Dscp, SocketPriority};
use teiji_core::time::Span;

use super::{Flow, LevelSource, Qdisc, RoundTrips, Scenario, Wire};

/// A wire, and the host that sends on it.
type Hop<'a> = (&'a str, &'a Wire);

impl Scenario {
    /// What frames under way can hold up round trips by, by their name: there and back
    /// together, one on each wire that a flow takes in the same direction, the longest there
    /// is. The NIC's ring is not in it.
    ///
    /// Those are left out whose way no flow takes, or where more than one frame can be before
    /// them: a flow of their own level or a higher one, a port without strict levels that all
    /// frames carry (prioflow, by DSCP), loads and PTP, whose frames have no level here.
    pub fn blocking(&self) -> BTreeMap<String, Span> {
        let of = |rounds: &RoundTrips| Some((rounds.name.clone(), self.blocking_of(rounds)?));
        self.round_trips.iter().filter_map(of).collect()
    }

    fn blocking_of(&self, rounds: &RoundTrips) -> Option<Span> {
        if !self.loads.is_empty() || self.hosts.iter().any(|host| host.ptp.is_some()) {
            return None;
        }
        let there = self.hops(&rounds.from, &rounds.wire, &rounds.downstream_wires)?;
        let back = there.iter().map(|&(host, wire)| (other_end(wire, host), wire));
        let mut sum = Span::ZERO;
        for hop in there.iter().copied().chain(back) {
            sum = sum + self.longest_below(hop, rounds.dscp)?;
        }
        (sum > Span::ZERO).then_some(sum)
    }

    /// The longest time that a frame of a lower level takes on the hop, zero if there are no frames.
    fn longest_below(&self, (host, wire): Hop<'_>, dscp: Dscp) -> Option<Span> {
        let takes = |flow: &&Flow| {
            let hops =
                self.hops(&flow.from, &flow.wire, &flow.downstream_wires).unwrap_or_default();
            hops.iter().any(|(sender, taken)| *sender == host && taken.name == wire.name)
        };
        let flows: Vec<&Flow> = self.flows.iter().filter(takes).collect();
        if flows.is_empty() {
            return Some(Span::ZERO);
        }
        let table =
            match self.port(host, &wire.name)?.qdisc.as_ref()?.leaf_of(SocketPriority::LEAST)? {
                Qdisc::Prioflow(p) if p.source == LevelSource::Dscp => p.levels(),
                _ => return None,
            };
        let level = |dscp: Dscp| table.levels().get(usize::from(dscp.get())).copied();
        let own = level(dscp)?;
        let time = |flow: &Flow| {
            let below = level(flow.dscp)? < own;
            below.then(|| wire.rate.serialisation(flow.transport.octets(flow.payload)))
        };
        flows.into_iter().map(time).try_fold(Span::ZERO, |longest, time| Some(longest.max(time?)))
    }

    /// The hops of a way that begins at a host.
    fn hops<'a>(
        &'a self,
        from: &'a str,
        wire: &str,
        downstream_wires: &[String],
    ) -> Option<Vec<Hop<'a>>> {
        let mut host = from;
        let mut hops = Vec::new();
        for name in std::iter::once(wire).chain(downstream_wires.iter().map(String::as_str)) {
            let wire = self.wire(name)?;
            hops.push((host, wire));
            host = other_end(wire, host);
        }
        Some(hops)
    }
}

fn other_end<'a>(wire: &'a Wire, host: &str) -> &'a str {
    let [one, other] = &wire.between;
    if one == host { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    /// The bounds of `rtt-priority`'s round trips, by case; with these words in place of those.
    fn bounds(changes: &[[&str; 2]]) -> BTreeMap<String, Span> {
        let mut text = include_str!("../../../../experiments/rtt-priority.toml").to_owned();
        for [from, to] in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        let experiment = Experiment::parse(&text, "rtt-priority.toml").unwrap();
        let of = |case: &crate::Case| {
            Some((case.name.clone(), case.scenario.blocking().get("ask").copied()?))
        };
        experiment.cases.iter().filter_map(of).collect()
    }

    #[test]
    fn one_frame_of_each_lower_flow_on_each_wire_that_both_take() {
        let load = "from = \"b\"\nto = \"s\"";
        let above = |ways: &[[&str; 2]]| bounds(ways).get("above").map(|span| span.as_ns());
        // 1266 octets at 100 Mbit/s, on the wire from the bridge to S alone.
        assert_eq!(above(&[]), Some(101_280));
        assert_eq!(above(&[[load, "from = \"s\"\nto = \"b\""]]), Some(101_280), "the replies");
        assert_eq!(above(&[[load, "from = \"a\"\nto = \"s\""]]), Some(202_560), "two wires");
        assert_eq!(above(&[[load, "from = \"a\"\nto = \"b\""]]), Some(101_280), "the first");
    }

    #[test]
    fn there_is_no_bound_among_equals_and_where_levels_are_not_strict() {
        assert!(!bounds(&[]).contains_key("equal"));
        let strict = "{ bql = 1, qdisc = { kind = \"prioflow\", link = \"mac-control\", scope = \"below\" } }";
        let plain = [strict, "{ bql = 1, qdisc = { kind = \"pfifo\" } }"];
        assert_eq!(bounds(&[plain, ["flow-control = 1\n", ""]]), BTreeMap::new());
    }
}
