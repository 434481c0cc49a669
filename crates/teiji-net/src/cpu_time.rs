//! The kernel's own account of each CPU's idle time.

use std::collections::BTreeMap;
use std::fs;

use teiji_core::cpu_time::CpuTime;
use teiji_core::time::{Instant, Monotonic, Span};
use teiji_sys::clock;

/// `/proc/stat` counts in hundredths of a second (`USER_HZ`) on every architecture Teiji runs on.
const STEP: Span = Span::from_millis(10);

/// How long each CPU has been idle since boot.
///
/// Of the fields of `/proc/stat` only idle and iowait are used. The kernel adds these up from
/// entry and exit of each idle period (`get_cpu_idle_time_us`); user and system time are
/// sampled by the tick, which periodic work in step with it escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleTimes {
    at: Instant<Monotonic>,
    idle: BTreeMap<u16, Span>,
}

impl IdleTimes {
    /// Looks at all CPUs that are online; none where `/proc/stat` cannot be read.
    pub fn now() -> Self {
        let at = clock::now();
        Self { at, idle: parse(&fs::read_to_string("/proc/stat").unwrap_or_default()) }
    }

    /// Each CPU's time from `before` until this look; CPUs that both looks saw.
    pub fn since(&self, before: &Self) -> BTreeMap<u16, CpuTime> {
        let elapsed = self.at - before.at;
        let both = self.idle.iter().filter_map(|(cpu, idle)| {
            Some((*cpu, CpuTime { elapsed, idle: *idle - *before.idle.get(cpu)? }))
        });
        both.collect()
    }
}

/// Reads the lines `cpuN USER NICE SYSTEM IDLE IOWAIT …`.
fn parse(stat: &str) -> BTreeMap<u16, Span> {
    let cpu = |line: &str| {
        let mut fields = line.strip_prefix("cpu")?.split_whitespace();
        let cpu = fields.next()?.parse().ok()?;
        let mut steps = fields.skip(3).map(str::parse::<i64>);
        let (idle, iowait) = (steps.next()?.ok()?, steps.next()?.ok()?);
        Some((cpu, STEP * (idle + iowait)))
    };
    // The line of all CPUs together, `cpu  …`, has no number.
    stat.lines().filter(|line| !line.starts_with("cpu ")).filter_map(cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_iowait_of_each_cpu_are_read() {
        let stat = "cpu  9 9 9 9 9 9 9 0 0 0\ncpu0 10 0 20 700 30 0 5 0 0 0\n\
                    cpu12 1 0 2 50 0 0 0 0 0 0\nintr 5 6 7 8 9 10\nctxt 9\n";
        let expected = [(0, Span::from_millis(7_300)), (12, Span::from_millis(500))].into();
        assert_eq!(parse(stat), expected);
        assert_eq!(parse("cpu0 1 2\ncpux 1 2 3 4 5\ncpu1\n"), BTreeMap::new());
    }

    #[test]
    fn a_cpu_that_came_in_between_has_no_time() {
        let look = |at, idle: &[(u16, i64)]| IdleTimes {
            at: Instant::from_ns(at),
            idle: idle.iter().map(|(cpu, ms)| (*cpu, Span::from_millis(*ms))).collect(),
        };
        let before = look(1_000, &[(0, 100)]);
        let since = look(2_000_001_000, &[(0, 600), (1, 600)]).since(&before);
        let elapsed = Span::from_secs(2);
        assert_eq!(since, [(0, CpuTime { elapsed, idle: Span::from_millis(500) })].into());
    }

    #[test]
    fn a_cpu_that_computes_is_not_idle_here_either() {
        let before = IdleTimes::now();
        let begun = clock::now::<Monotonic>();
        while clock::now::<Monotonic>() - begun < Span::from_millis(100) {}
        let since = IdleTimes::now().since(&before);
        assert!(!since.is_empty());
        let busiest = since.values().map(|time| time.utilisation()).fold(0.0, f64::max);
        assert!(busiest > 0.3, "{since:?}");
    }
}
