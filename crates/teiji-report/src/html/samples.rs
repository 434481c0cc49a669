//! The deviations behind histogram and tail: every single one where the report
//! has them, else the statistics' bins.

use teiji_stats::Bin;

use crate::comparison::CaseView;
use crate::report::{Points, Report};

/// The deviations of all members of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// Ascending; of one value each if `exact`.
    pub bins: Vec<Bin>,
    /// True if nothing was rounded into a bin.
    pub exact: bool,
    /// Largest absolute deviation, in ns.
    pub largest_ns: u64,
}

impl Samples {
    /// Of `flow` in `view`.
    pub fn of(report: &Report<'_>, flow: &str, view: &CaseView<'_>) -> Self {
        let largest_ns = view
            .members
            .iter()
            .filter_map(|m| m.deviation)
            .map(|d| d.min_ns.unsigned_abs().max(d.max_ns.unsigned_abs()))
            .max()
            .unwrap_or(0);
        if let Some(series) = complete(report, flow, view) {
            let mut all: Vec<i64> =
                series.iter().flat_map(|p| p.deviation_ns.iter().copied()).collect();
            all.sort_unstable();
            let bins = all
                .chunk_by(|a, b| a == b)
                .map(|equal| Bin {
                    from_ns: equal[0],
                    to_ns: equal[0].saturating_add(1),
                    count: equal.len() as u64,
                })
                .collect();
            return Self { bins, exact: true, largest_ns };
        }
        let mut bins: Vec<Bin> = view
            .members
            .iter()
            .filter_map(|m| m.deviation)
            .flat_map(|d| d.histogram.iter().copied())
            .collect();
        bins.sort_unstable_by_key(|bin| (bin.from_ns, bin.to_ns));
        Self { bins, exact: false, largest_ns }
    }

    /// How many deviations there are.
    pub fn total(&self) -> u64 {
        self.bins.iter().map(|bin| bin.count).sum()
    }

    /// The largest step that all values are multiples of, in ns.
    pub fn quantum_ns(&self) -> u64 {
        if !self.exact {
            return 1;
        }
        self.bins.iter().fold(0, |g, bin| gcd(g, bin.from_ns.unsigned_abs()))
    }

    /// Absolute deviations, ascending, each with how often it occurs. Of a bin
    /// the end that lies farther from zero, so that the tail is never too thin.
    pub fn magnitudes(&self) -> Vec<(u64, u64)> {
        let mut all: Vec<(u64, u64)> = self
            .bins
            .iter()
            .map(|bin| {
                let far = bin.from_ns.unsigned_abs().max((bin.to_ns - 1).unsigned_abs());
                (far.min(self.largest_ns), bin.count)
            })
            .collect();
        all.sort_unstable();
        let merged = all.chunk_by(|a, b| a.0 == b.0);
        merged.map(|same| (same[0].0, same.iter().map(|(_, n)| n).sum())).collect()
    }
}

/// The greatest common divisor; 0 counts as a multiple of everything.
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The series of a case's members, if every member has a complete one.
fn complete<'a>(
    report: &'a Report<'_>,
    flow: &str,
    view: &CaseView<'_>,
) -> Option<Vec<&'a Points>> {
    view.members
        .iter()
        .map(|member| {
            report.points.iter().find(|p| {
                p.case == view.case.name
                    && p.seed == member.seed
                    && p.flow == flow
                    && p.point == view.point
                    && p.of == p.deviation_ns.len() as u64
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(from_ns: i64, to_ns: i64, count: u64) -> Bin {
        Bin { from_ns, to_ns, count }
    }

    #[test]
    fn the_tail_of_bins_is_never_thinner_than_the_truth() {
        let bins = vec![bin(-43_007, -40_959, 1), bin(0, 1, 7), bin(992, 1_024, 5)];
        let samples = Samples { bins, exact: false, largest_ns: 43_000 };
        assert_eq!(samples.magnitudes(), [(0, 7), (1_023, 5), (43_000, 1)]);
        assert_eq!((samples.total(), samples.quantum_ns()), (13, 1));
    }

    #[test]
    fn both_signs_of_a_deviation_are_one_magnitude() {
        let bins = vec![bin(-2_000, -1_999, 3), bin(0, 1, 4), bin(2_000, 2_001, 5)];
        let samples = Samples { bins, exact: true, largest_ns: 2_000 };
        assert_eq!(samples.magnitudes(), [(0, 4), (2_000, 8)]);
        assert_eq!(samples.quantum_ns(), 2_000);
    }
}
