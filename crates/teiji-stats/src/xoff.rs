//! Frames of a flow that arrive after its receiver's port has sent XOFF (prioflow).

use serde::{Deserialize, Serialize};

use crate::{Deviation, Series};

/// What arrived after each XOFF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct XoffStatistics {
    /// Number of XOFFs.
    #[serde(rename = "asks")]
    pub pause_requests: u64,
    /// The most frames after one of them.
    pub most_frames: u64,
    /// Frames after one of them, on average.
    pub mean_frames: f64,
    /// From XOFF to the end of the last frame after it, where any arrived.
    pub time: Option<Deviation>,
}

/// `xoffs` are from XOFF to XON, `ends` the end of each frame, in the order of time; all in ns of
/// one clock. `None` without XOFF.
pub fn of(xoffs: &[(i64, i64)], ends: &[i64]) -> Option<XoffStatistics> {
    let mut all = 0;
    let mut most = 0;
    let mut time = Series::default();
    for (xoff, xon) in xoffs {
        let first = ends.partition_point(|end| end <= xoff);
        let after = ends.partition_point(|end| end <= xon);
        let frames = after.saturating_sub(first) as u64;
        all += frames;
        most = most.max(frames);
        if let Some(last) = ends.get(first..after).and_then(<[i64]>::last) {
            time.push(last - xoff);
        }
    }
    let count = xoffs.len() as u64;
    (count > 0).then(|| XoffStatistics {
        pause_requests: count,
        most_frames: most,
        mean_frames: all as f64 / count as f64,
        time: time.finish(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_between_xoff_and_xon_are_counted() {
        let ends = [90, 100, 110, 120, 300, 310, 505];
        let statistics = of(&[(100, 250), (305, 400), (410, 500)], &ends).unwrap();
        assert_eq!((statistics.pause_requests, statistics.most_frames), (3, 2));
        assert!((statistics.mean_frames - 1.0).abs() < 1e-9);
        let time = statistics.time.unwrap();
        // 120 after 100, 310 after 305; nothing came after 410.
        assert_eq!((time.count, time.min_ns, time.max_ns), (2, 5, 20));
        assert_eq!(of(&[], &ends), None);
        assert_eq!(of(&[(1_000, 2_000)], &ends).unwrap().time, None);
    }
}
