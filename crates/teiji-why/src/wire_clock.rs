//! The clock of the wire, in the time of the trace.

use std::collections::BTreeMap;

use crate::stream::{self, Ps};

/// The clock of the wire, `CLOCK_MONOTONIC_RAW`, by its readings. Between two of them both clocks drift apart
/// evenly: by what the kernel's measurement of the TSC's frequency is off, which it refines seconds after the
/// start.
#[derive(Default)]
pub(crate) struct WireClock {
    /// By the time of the wire, that of the trace.
    readings: BTreeMap<Ps, Ps>,
}

impl WireClock {
    pub(crate) fn add(&mut self, wire: Ps, trace: Ps) {
        self.readings.insert(wire, trace);
    }

    /// `None` if it was never read.
    pub(crate) fn trace_time(&self, wire: Ps) -> Option<Ps> {
        let before = self.readings.range(..wire).next_back();
        let time = match (before, self.readings.range(wire..).next()) {
            (Some((wire0, trace0)), Some((wire1, trace1))) => {
                let passed = i128::from(wire - wire0) * i128::from(trace1 - trace0);
                trace0.checked_add(Ps::try_from(passed / i128::from(wire1 - wire0)).ok()?)
            }
            (Some((read, trace)), None) | (None, Some((read, trace))) => {
                trace.checked_add(wire - read)
            }
            (None, None) => None,
        };
        time.filter(|time| stream::is_sane(*time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_readings_the_clock_of_the_wire_drifts_evenly() {
        let mut clock = WireClock::default();
        assert_eq!(clock.trace_time(5_000), None);
        // 2 ppm, then 1 ppm; seen in the order of the processors.
        for (wire, trace) in
            [(1_000, 3_000), (2_000_001_000, 2_000_006_000), (1_000_001_000, 1_000_005_000)]
        {
            clock.add(wire, trace);
        }
        let trace = |wire| clock.trace_time(wire);
        assert_eq!(trace(1_000), Some(3_000));
        assert_eq!(trace(500_001_000), Some(500_004_000));
        assert_eq!(trace(1_000_001_000), Some(1_000_005_000));
        assert_eq!(trace(1_500_001_000), Some(1_500_005_500));
        // Outside they go on as they were.
        assert_eq!([trace(0), trace(2_000_002_000)], [Some(2_000), Some(2_000_007_000)]);
        assert_eq!(trace(Ps::MAX / 2), None);
    }
}
