//! When a case begins: what its seed decides.

use teiji_core::cycle::Schedule;
use teiji_core::time::{Instant, Span, Tai};
use teiji_experiment::{Qdisc, Scenario, Taprio};
use teiji_sys::clock;

use crate::measure::Setup;

/// From "everybody is ready" to the first wake-up.
const LEAD: Span = Span::from_millis(100);
/// What it is where a NIC is used. Two to three seconds after its link came up
/// igb reads its PHY in the timer softirq and busy-waits there for up to 330 µs
/// (`igb_update_phy_info`), which delayed frames and made ETF miss some; IPv6
/// looks for neighbours in these seconds, too.
const LEAD_OF_NICS: Span = Span::from_secs(4);
/// The period of the kernel's timer tick on Debian (HZ=250): the grid against
/// which a seed shifts the start.
const TICK: Span = Span::from_millis(4);

/// The start may be later by whole multiples of this without another phase.
pub fn grid(scenario: &Scenario) -> Span {
    gates(scenario).map_or(TICK, |gates| gates.cycle)
}

/// When the first frame of a case leaves: late enough for everybody, and at the place in
/// the tick, or in the cycle of its gates, that the seed says.
pub fn first_departure(setup: &Setup<'_>) -> Instant<Tai> {
    let margin = longest_margin(setup.scenario);
    let lead = if setup.binding.has_nics() { LEAD_OF_NICS } else { LEAD };
    let earliest = clock::now::<Tai>() + lead + margin;
    match gates(setup.scenario) {
        // A flow's place in the cycle is part of the question, so a seed moves
        // the start by whole cycles.
        Some(gates) => {
            let cycles = phase(setup.seed).as_ns() / gates.cycle.as_ns().max(1);
            let base = Schedule::aligned_base(earliest, gates.cycle, gates.base_time);
            base + gates.cycle * cycles
        }
        None => Schedule::aligned_base(earliest, TICK, phase(setup.seed)),
    }
}

/// The longest margin of all flows.
pub fn longest_margin(scenario: &Scenario) -> Span {
    scenario.flows.iter().map(|flow| flow.mode.margin()).max().unwrap_or(Span::ZERO)
}

/// The first gate table of a scenario.
fn gates(scenario: &Scenario) -> Option<&Taprio> {
    scenario.hosts.iter().flat_map(|host| &host.ports).find_map(|port| {
        match &port.qdisc.as_ref()?.root {
            Qdisc::Taprio(taprio) => Some(taprio),
            _ => None,
        }
    })
}

/// A phase within the tick for each seed (SplitMix64, Steele et al. 2014), in
/// whole microseconds so that launch times stay readable.
fn phase(seed: u64) -> Span {
    let mut z = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    Span::from_micros(i64::try_from(z % 4_000).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_spread_over_the_tick() {
        let phases: Vec<i64> = (0..64).map(|seed| phase(seed).as_ns()).collect();
        assert!(phases.iter().all(|p| (0..TICK.as_ns()).contains(p)));
        let quarters: std::collections::BTreeSet<i64> =
            phases.iter().map(|p| p / 1_000_000).collect();
        assert_eq!(quarters.len(), 4);
    }
}
