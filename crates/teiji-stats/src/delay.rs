//! The delay of frames between two points, each with a clock of its own.

use serde::{Deserialize, Serialize};

use crate::{Deviation, Series};

/// How long frames took from a first point to a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DelayStatistics {
    /// What became of the frames.
    pub counts: DelayCounts,
    /// Stamp at the second point minus stamp at the first, over all matched
    /// frames; `None` without one.
    pub delay: Option<Deviation>,
}

/// What became of frames between two points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayCounts {
    /// Seen at both points, and known to be the same.
    pub matched: u64,
    /// At the first point.
    pub first: PointCounts,
    /// At the second point.
    pub second: PointCounts,
}

/// The frames at one point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointCounts {
    /// All of them.
    pub frames: u64,
    /// Not seen at the other point.
    pub alone: u64,
    /// Further copies of a matched frame.
    pub copies: u64,
    /// Equal to other frames, so that it is unknown which is which.
    pub unclear: u64,
}

/// Statistics of delays in ns. Their percentiles are of the delays themselves,
/// not of absolute values: a difference between the points' clocks may make
/// delays negative.
pub fn delays(values: impl Iterator<Item = i64> + Clone) -> Option<Deviation> {
    let lift = values.clone().min()?.min(0);
    let mut lifted = values.map(|ns| ns.saturating_sub(lift)).collect::<Series>().finish()?;
    let lower = |ns: &mut i64| *ns = ns.saturating_add(lift);
    lifted.mean_ns += lift as f64;
    lower(&mut lifted.min_ns);
    lower(&mut lifted.max_ns);
    lifted.percentiles.iter_mut().for_each(|percentile| lower(&mut percentile.ns));
    for bin in &mut lifted.histogram {
        lower(&mut bin.from_ns);
        lower(&mut bin.to_ns);
    }
    Some(lifted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percentiles(d: &Deviation) -> Vec<(f64, i64)> {
        d.percentiles.iter().map(|p| (p.p, p.ns)).collect()
    }

    #[test]
    fn a_difference_between_the_clocks_moves_every_figure_and_no_width() {
        let delays_by = |offset: i64| delays((0..1_000).map(move |i| 4_400 + i % 260 + offset));
        let (one, other) = (delays_by(0).unwrap(), delays_by(-1_000_000).unwrap());
        assert_eq!((one.min_ns, one.max_ns), (4_400, 4_659));
        assert_eq!((other.min_ns, other.max_ns), (4_400 - 1_000_000, 4_659 - 1_000_000));
        assert_eq!((one.range_ns, one.count), (other.range_ns, other.count));
        assert!((one.mean_ns - other.mean_ns - 1e6).abs() < 1e-6);
        assert!((one.stddev_ns - other.stddev_ns).abs() < 1e-9);
        let moved = percentiles(&one).into_iter().map(|(p, ns)| (p, ns - 1_000_000));
        assert_eq!(percentiles(&other), moved.collect::<Vec<_>>());
        let bins = |d: &Deviation| d.histogram.iter().map(|bin| bin.count).sum::<u64>();
        assert_eq!((bins(&one), bins(&other)), (1_000, 1_000));
    }

    #[test]
    fn without_a_matched_frame_there_is_no_delay() {
        assert_eq!(delays(std::iter::empty()), None);
        let far = delays([i64::MIN, i64::MAX].into_iter()).unwrap();
        assert_eq!((far.min_ns, far.count), (i64::MIN, 2));
    }
}
