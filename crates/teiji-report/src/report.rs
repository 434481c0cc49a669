//! What the HTML report shows beyond the summary. The caller fills it in.

use serde::{Deserialize, Serialize};
use teiji_record::{FrameRow, Summary};
use teiji_stats::TimestampPoint;
use teiji_why::document::Causes;

use crate::paper::Paper;

/// Everything `report.html` is made of.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The results.
    pub summary: &'a Summary,
    /// The published figures to stand beside them.
    pub paper: Option<Paper>,
    /// Every frame's deviation. A case, member, flow or timestamp point without points
    /// is in the tables only.
    pub points: Vec<Points>,
    /// What the loads did over time.
    pub bands: Vec<Band>,
    /// How far clocks that PTP kept were off over time.
    pub offsets: Vec<OffsetSeries>,
    /// The worst frames, in the order to show them.
    pub outliers: Vec<Outlier>,
    /// What delayed the frames of those flows that `teiji why` has analysed.
    pub causes: Causes,
    /// The set-up as observed.
    pub setup: Vec<SetupSection>,
    /// The search for a margin that the run was the last check of.
    pub margin: Option<MarginSearch>,
    /// The best case as a file, if cases are ranked and one is.
    pub recommended: Option<String>,
    /// How to repeat the run.
    pub replay: Option<Replay>,
    /// What this does not prove. Full sentences.
    pub limits: Vec<String>,
    /// Program and version, for example `teiji 0.1.0`.
    pub generator: String,
    /// When the run was made, as text.
    pub created: Option<String>,
    /// One sentence above everything else, for pages that must not be mistaken
    /// for a measurement.
    pub notice: Option<String>,
}

impl<'a> Report<'a> {
    /// The results alone.
    pub fn of(summary: &'a Summary, generator: &str) -> Self {
        Self {
            summary,
            paper: None,
            points: Vec::new(),
            bands: Vec::new(),
            offsets: Vec::new(),
            outliers: Vec::new(),
            causes: Causes::default(),
            setup: Vec::new(),
            margin: None,
            recommended: None,
            replay: None,
            limits: Vec::new(),
            generator: generator.to_owned(),
            created: None,
            notice: None,
        }
    }
}

/// What a search for a transmission margin found. `margin.json` of a run folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarginSearch {
    /// [`MarginSearch::SCHEMA`].
    pub schema: String,
    /// The finding and its evidence. Full sentences.
    pub sentences: Vec<String>,
    /// The runs, in the order they were made.
    pub runs: Vec<MarginRun>,
    /// Why the figures are not what they should be. Full sentences.
    pub problems: Vec<String>,
}

impl MarginSearch {
    /// Format and version.
    pub const SCHEMA: &'static str = "teiji-margin-search/1";
}

/// One run of a search, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarginRun {
    /// What it was for: "measured", "check", "below".
    pub what: String,
    /// The transmission margin.
    pub margin: String,
    /// The delta of ETF, `–` without.
    pub delta: String,
    /// Frames that were not on time, of how many.
    pub not_on_time: String,
    /// How many were predicted, at most; empty if there is no prediction.
    pub predicted: String,
    /// What became of them.
    pub reasons: String,
    /// Name of its folder, beside this one's.
    pub folder: Option<String>,
}

/// The deviations of one flow, seen at one timestamp point, in one member of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Points {
    /// Name of the case.
    pub case: String,
    /// Seed of the member.
    pub seed: u64,
    /// Name of the flow.
    pub flow: String,
    /// Where the stamps were taken; `None`: these are round trips.
    pub point: Option<TimestampPoint>,
    /// When the frame was seen, or the request sent, in ns since the start of the series. As long as
    /// `deviation_ns`, ascending.
    pub t_ns: Vec<i64>,
    /// By how much the interval that ends with the frame differs from the
    /// period, or how long the round trip took, in ns.
    pub deviation_ns: Vec<i64>,
    /// Sequence number of the frame. As long as `deviation_ns`.
    pub seq: Vec<u64>,
    /// How many deviations the series stands for: its length, or more if it
    /// was thinned. Then histogram and tail are drawn from the statistics'
    /// bins.
    pub of: u64,
}

impl Points {
    /// Reduces a long series to at most about `limit` points: of each group of
    /// neighbours the smallest and the largest deviation stay. [`Points::of`]
    /// keeps the original count.
    pub fn thin(&mut self, limit: usize) {
        let n = self.deviation_ns.len();
        let groups = (limit / 2).max(1);
        if n <= limit.max(2) {
            return;
        }
        let size = n.div_ceil(groups);
        let mut keep = Vec::with_capacity(limit);
        for start in (0..n).step_by(size) {
            let group = start..(start + size).min(n);
            let by_deviation = |i: &usize| self.deviation_ns[*i];
            let low = group.clone().min_by_key(by_deviation).unwrap_or(start);
            let high = group.max_by_key(by_deviation).unwrap_or(start);
            keep.push(low.min(high));
            if low != high {
                keep.push(low.max(high));
            }
        }
        self.t_ns = keep.iter().map(|&i| self.t_ns[i]).collect();
        self.seq = keep.iter().map(|&i| self.seq[i]).collect();
        self.deviation_ns = keep.iter().map(|&i| self.deviation_ns[i]).collect();
    }
}

/// What one load did over time, in one member of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// Name of the case.
    pub case: String,
    /// Seed of the member.
    pub seed: u64,
    /// Name of the load.
    pub load: String,
    /// What is counted.
    pub unit: String,
    /// When it began, in ns after the first departure.
    pub from_ns: i64,
    /// How long each step is, in ns; not 0.
    pub step_ns: i64,
    /// What was done in each step.
    pub amounts: Vec<u64>,
}

impl Band {
    /// When the last step ends, in ns after the first departure.
    pub fn end_ns(&self) -> i64 {
        let steps = i64::try_from(self.amounts.len()).unwrap_or(i64::MAX);
        self.from_ns.saturating_add(self.step_ns.saturating_mul(steps))
    }

    /// What was done in each step, as a rate per second.
    pub fn per_s(&self) -> impl Iterator<Item = f64> {
        self.amounts.iter().map(|amount| *amount as f64 * 1e9 / self.step_ns as f64)
    }

    /// The highest rate per second.
    pub fn most_per_s(&self) -> f64 {
        self.per_s().fold(0.0, f64::max)
    }

    /// How many bits one of the unit is, if it is bits that are counted.
    pub fn bits_a_unit(&self) -> Option<u16> {
        self.unit.starts_with("kbit").then_some(1_000)
    }
}

/// How far one clock was from the one it follows, in one member of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetSeries {
    /// Name of the case.
    pub case: String,
    /// Seed of the member.
    pub seed: u64,
    /// The clock.
    pub clock: String,
    /// When it was looked at, in ns after the first departure, and its offset in ns.
    pub looks: Vec<(i64, i64)>,
}

/// One of the worst frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlier {
    /// Name of the case.
    pub case: String,
    /// Seed of the member.
    pub seed: u64,
    /// Name of the flow.
    pub flow: String,
    /// Sequence number.
    pub seq: u64,
    /// Deviation of the interval that ends with the frame, if it has one.
    pub deviation_ns: Option<i64>,
    /// What is known of its way, in order of time.
    pub stamps: Vec<Stamp>,
    /// Why it was late, or what became of it. A full sentence.
    pub note: Option<String>,
}

/// One station on a frame's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The station: "woke", "handed over", …
    pub station: String,
    /// In ns after the frame's scheduled departure; negative before it.
    pub ns: i64,
}

impl Outlier {
    /// An outlier with the stations whose stamps share the schedule's clock.
    /// Stamps of a NIC or a capture may have a clock of their own: [`Outlier::add`]
    /// those that are of the schedule's, or were brought to it.
    pub fn from_frame(
        case: &str,
        seed: u64,
        flow: &str,
        deviation_ns: Option<i64>,
        frame: &FrameRow,
    ) -> Self {
        let stations = [
            (station::SCHEDULED, Some(frame.scheduled)),
            (station::WOKE, frame.woke),
            (station::HANDED_OVER, frame.handed_over),
            (station::QDISC, frame.tx_sched),
            (station::NIC, frame.tx_kernel),
            (station::ARRIVED, frame.rx_kernel),
        ];
        let mut stamps: Vec<Stamp> = stations
            .into_iter()
            .filter_map(|(station, at)| {
                Some(Stamp {
                    station: station.to_owned(),
                    ns: at?.as_ns().saturating_sub(frame.scheduled.as_ns()),
                })
            })
            .collect();
        stamps.sort_by_key(|s| s.ns);
        Self {
            case: case.to_owned(),
            seed,
            flow: flow.to_owned(),
            seq: frame.seq,
            deviation_ns,
            stamps,
            note: None,
        }
    }

    /// Adds a station, at its place in time; in ns after the scheduled departure.
    pub fn add(&mut self, station: &str, ns: i64) {
        let place = self.stamps.partition_point(|stamp| stamp.ns <= ns);
        self.stamps.insert(place, Stamp { station: station.to_owned(), ns });
    }
}

/// Names of the stations on a frame's way.
pub mod station {
    /// When it was meant to be on the wire.
    pub const SCHEDULED: &str = "scheduled";
    /// Its sender runs.
    pub const WOKE: &str = "woke";
    /// The send call has returned.
    pub const HANDED_OVER: &str = "handed over";
    /// The kernel queues it.
    pub const QDISC: &str = "entered the qdisc";
    /// The driver has handed the frame to the NIC.
    pub const NIC: &str = "handed to the NIC";
    /// The analyser sees it.
    pub const WIRE: &str = "on the wire";
    /// The same, where the analyser's clock was brought to the schedule's by an estimate.
    pub const WIRE_ESTIMATED: &str = "on the wire (estimated)";
    /// The receiving kernel has it.
    pub const ARRIVED: &str = "arrived in the kernel";
}

/// Names of the stations on a round trip's way.
pub mod round_station {
    /// The requester's program is about to send.
    pub const SENT: &str = "sent";
    /// The responder's kernel has the request.
    pub const ARRIVED: &str = "arrived at the responder";
    /// The responder hands the reply over.
    pub const LEFT: &str = "reply sent";
    /// The requester's kernel has the reply.
    pub const BACK: &str = "reply arrived";
    /// The requester's program has the reply.
    pub const RECEIVED: &str = "program has it";
}

/// A part of the set-up: a host, a NIC, the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupSection {
    /// Its name.
    pub title: String,
    /// What was observed.
    pub entries: Vec<SetupEntry>,
}

/// One thing that was observed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupEntry {
    /// What it is.
    pub key: String,
    /// What it was.
    pub observed: String,
    /// What was planned, if anything was. Marked where it differs.
    pub planned: Option<String>,
}

impl SetupEntry {
    /// True if something else was planned.
    pub fn differs(&self) -> bool {
        self.planned.as_ref().is_some_and(|planned| *planned != self.observed)
    }
}

/// How to repeat the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The command.
    pub command: String,
    /// What it will give. A full sentence.
    pub note: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes_and_the_order() {
        let mut points = Points {
            case: "etf".into(),
            seed: 1,
            flow: "cycle".into(),
            point: Some(TimestampPoint::Wire),
            t_ns: (0..10_000).collect(),
            deviation_ns: (0..10_000).map(|i| if i == 4_321 { 99 } else { i % 7 }).collect(),
            seq: (0..10_000).collect(),
            of: 10_000,
        };
        points.thin(100);
        assert!(points.seq.len() <= 100 && points.seq.len() > 50, "{}", points.seq.len());
        assert!(points.seq.is_sorted());
        assert!(points.seq.contains(&4_321));
        assert_eq!(points.deviation_ns.iter().max(), Some(&99));
        assert_eq!((points.of, points.t_ns.len()), (10_000, points.seq.len()));
    }

    #[test]
    fn only_what_was_planned_can_differ() {
        let entry = |planned: Option<&str>| SetupEntry {
            key: "delta".into(),
            observed: "150 µs".into(),
            planned: planned.map(Into::into),
        };
        assert!(!entry(None).differs());
        assert!(!entry(Some("150 µs")).differs());
        assert!(entry(Some("200 µs")).differs());
    }
}
