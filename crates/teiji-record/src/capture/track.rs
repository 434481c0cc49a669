//! One flow of a capture, followed in constant memory once its period is
//! known.

use std::collections::BTreeMap;

use teiji_core::time::Span;
use teiji_stats::{
    Counts, Envelope, FlowStatistics, Intervals, PointStatistics, Series, TimestampPoint, median,
};

use super::analysis::{Options, PeriodSource};
use super::period::PeriodEstimate;
use super::sequence::{Arrival, Sequence};

/// Deviations kept for exact percentiles (2 MiB a series).
const EXACT_LIMIT: usize = 1 << 18;

/// By how much two clocks differ at most, as a share: quartz is ten times
/// better.
const CLOCKS_DIFFER: f64 = 0.001;

/// What is kept of a frame: when it was seen, and its test header's sequence
/// number and schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) at_ns: i64,
    pub(super) probe: Option<(u64, i64)>,
}

/// The first frames of a flow, kept until its period is known.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstFrames {
    at_ns: Vec<i64>,
    /// As long as `at_ns` for flows of test frames, empty for others.
    probes: Vec<(u64, i64)>,
}

impl FirstFrames {
    pub(super) fn push(&mut self, seen: Seen) {
        self.at_ns.push(seen.at_ns);
        self.probes.extend(seen.probe);
    }

    pub(super) fn len(&self) -> usize {
        self.at_ns.len()
    }

    fn frames(&self) -> impl Iterator<Item = Seen> {
        self.at_ns
            .iter()
            .enumerate()
            .map(|(i, at_ns)| Seen { at_ns: *at_ns, probe: self.probes.get(i).copied() })
    }

    /// The period by the stamps alone.
    fn estimate(&self) -> Option<PeriodEstimate> {
        let intervals = self.at_ns.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        PeriodEstimate::from_intervals(intervals.collect())
    }

    /// The period, if there is one.
    pub(super) fn period(&self) -> Option<Span> {
        let regular = self.estimate().filter(PeriodEstimate::is_regular);
        regular.map(|estimate| Span::from_ns(estimate.period_ns))
    }

    /// The schedule by the test headers.
    fn schedule(&self) -> Option<Schedule> {
        let steps = self.probes.windows(2).filter_map(|pair| {
            let ((before, from), (after, to)) = (pair[0], pair[1]);
            let frames = i128::from(after) - i128::from(before);
            let step = (i128::from(to) - i128::from(from)).checked_div(frames)?;
            i64::try_from(step).ok()
        });
        let period = median(&mut steps.collect::<Vec<_>>()).filter(|period| *period > 0)?;
        let mut schedule =
            Schedule { period: Span::from_ns(period), base_ns: 0, centre: Span::ZERO };
        let bases = self.probes.iter().filter_map(|(seq, at)| schedule.base_of(*seq, *at));
        schedule.base_ns = median(&mut bases.collect::<Vec<_>>())?;
        let offsets = self.frames().filter_map(|seen| {
            let (seq, scheduled_ns) = seen.probe?;
            let ours = schedule.includes(seq, scheduled_ns);
            ours.then(|| seen.at_ns.saturating_sub(scheduled_ns))
        });
        schedule.centre = Span::from_ns(median(&mut offsets.collect::<Vec<_>>())?);
        Some(schedule)
    }
}

/// What the test headers say of a flow.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    period: Span,
    /// When frame 0 was scheduled.
    base_ns: i64,
    /// Median of capture clock minus schedule over the first frames.
    centre: Span,
}

impl Schedule {
    /// When frame 0 was scheduled, by what the test header of another says.
    fn base_of(&self, seq: u64, scheduled_ns: i64) -> Option<i64> {
        let since = i128::from(seq) * i128::from(self.period.as_ns());
        i64::try_from(i128::from(scheduled_ns) - since).ok()
    }

    /// False for frames of another run of the same flow.
    fn includes(&self, seq: u64, scheduled_ns: i64) -> bool {
        self.base_of(seq, scheduled_ns).is_some_and(|base| {
            base.abs_diff(self.base_ns) <= self.period.as_ns().unsigned_abs() / 2
        })
    }
}

/// How promising a flow is: test frames before others, a period somebody chose
/// before an odd one, then the more regular.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct Rank {
    pub(super) probe: bool,
    pub(super) chosen_period: bool,
    regularity: f64,
}

/// True if two periods differ by more than clocks do.
fn differs(one_ns: i64, other_ns: i64) -> bool {
    one_ns.abs_diff(other_ns) as f64 > other_ns as f64 * CLOCKS_DIFFER
}

/// A flow being followed. Its period, counts and extremes take little memory;
/// what the analysed flow needs beyond them is in `details`.
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub(super) rank: Rank,
    pub(super) period_ns: i64,
    pub(super) period_source: PeriodSource,
    /// The period the frames tell, if another was given.
    pub(super) seems: Option<Span>,
    /// Intervals above one and a half periods in flows without sequence
    /// numbers, and how many frames they probably lack.
    pub(super) gaps: u64,
    pub(super) missing: u64,
    /// Test frames of the same flow with another schedule.
    pub(super) other_run: u64,
    schedule: Option<Schedule>,
    sequence: Option<Sequence>,
    first_at_ns: Option<i64>,
    frames: u64,
    intervals: Intervals,
    /// The smallest and the largest deviation of an interval, in ns.
    extremes: Option<(i64, i64)>,
    details: Option<Box<Details>>,
}

/// What statistics and plot are made from: some MiB of a long flow.
#[derive(Clone, Debug)]
struct Details {
    envelope: Envelope,
    interval_deviations: Series,
    schedule_deviations: Series,
}

impl Default for Details {
    fn default() -> Self {
        Self {
            envelope: Envelope::default(),
            interval_deviations: Series::with_exact_limit(EXACT_LIMIT),
            schedule_deviations: Series::with_exact_limit(EXACT_LIMIT),
        }
    }
}

impl Track {
    /// Follows a flow from its first frames on, if they are periodic (or the
    /// user pointed at the flow and there is a period at all).
    pub(super) fn new(first: &FirstFrames, options: &Options) -> Option<Self> {
        let pointed_at = !options.filter.is_empty();
        let estimate = first.estimate();
        let schedule = first.schedule();
        let given_ns = options.period.map(Span::as_ns);
        let regular = estimate.filter(|e| {
            let as_given = given_ns
                .is_none_or(|given| (e.measured_ns - given as f64).abs() <= given as f64 / 4.0);
            e.is_regular() && as_given && first.len() >= options.fewest_frames()
        });
        if regular.is_none() && schedule.is_none() && !pointed_at {
            return None;
        }
        let (period_ns, period_source) = match (given_ns, schedule, estimate) {
            (Some(given), ..) => (given, PeriodSource::Given),
            (_, Some(schedule), _) => (schedule.period.as_ns(), PeriodSource::TestHeader),
            (.., Some(e)) if e.round => (e.period_ns, PeriodSource::Rounded),
            (.., Some(e)) => (e.period_ns, PeriodSource::Measured),
            (None, None, None) => return None,
        };
        let seems = match schedule {
            Some(schedule) => Some(schedule.period),
            None => first.period(),
        };
        let rank = Rank {
            probe: schedule.is_some(),
            chosen_period: given_ns.is_some() || estimate.is_some_and(|e| e.round),
            regularity: estimate.map_or(0.0, |e| e.regularity),
        };
        let mut track = Self {
            rank,
            period_ns,
            period_source,
            seems: seems.filter(|seems| differs(seems.as_ns(), period_ns)),
            gaps: 0,
            missing: 0,
            other_run: 0,
            schedule,
            sequence: None,
            first_at_ns: None,
            frames: 0,
            intervals: Intervals::default(),
            extremes: None,
            details: Some(Box::default()),
        };
        for seen in first.frames() {
            track.push(seen);
        }
        Some(track)
    }

    /// Takes the flow's next frame.
    pub(super) fn push(&mut self, seen: Seen) {
        if let Some((seq, scheduled_ns)) = seen.probe {
            if self.schedule.is_some_and(|schedule| !schedule.includes(seq, scheduled_ns)) {
                self.other_run += 1;
                return;
            }
            if !self.arrives(seq) {
                return;
            }
            if let (Some(schedule), Some(details)) = (self.schedule, &mut self.details) {
                let offset = seen.at_ns.saturating_sub(scheduled_ns);
                details.schedule_deviations.push(offset.saturating_sub(schedule.centre.as_ns()));
            }
        }
        // Without sequence numbers the frames count in the capture's order.
        let seq = seen.probe.map_or(self.frames, |(seq, _)| seq);
        self.frames += 1;
        let since_ns = seen.at_ns.saturating_sub(*self.first_at_ns.get_or_insert(seen.at_ns));
        for interval in self.intervals.push(seq, seen.at_ns).into_iter().flatten() {
            let deviation_ns = interval.deviation_ns(self.period_ns);
            let (low, high) = self.extremes.unwrap_or((deviation_ns, deviation_ns));
            self.extremes = Some((low.min(deviation_ns), high.max(deviation_ns)));
            if let Some(details) = &mut self.details {
                details.interval_deviations.push(deviation_ns);
                details.envelope.push(since_ns, deviation_ns);
            }
            if seen.probe.is_none() && deviation_ns > self.period_ns / 2 {
                self.gaps += 1;
                let half = self.period_ns / 2;
                let periods = interval.length_ns.saturating_add(half) / self.period_ns;
                self.missing += (periods - 1).unsigned_abs();
            }
        }
    }

    /// Counts a sequence number; false for copies.
    fn arrives(&mut self, seq: u64) -> bool {
        if let Some(sequence) = &mut self.sequence {
            return sequence.push(seq) != Arrival::Copy;
        }
        self.sequence = Some(Sequence::new(seq));
        true
    }

    /// Frames that count.
    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// The range of the intervals' deviations; `None` without intervals.
    pub(super) fn range(&self) -> Option<Span> {
        self.extremes.map(|(low, high)| Span::from_ns(high.saturating_sub(low)))
    }

    /// False once the statistics were given up.
    pub(super) fn is_detailed(&self) -> bool {
        self.details.is_some()
    }

    /// Gives up the statistics: there are more promising flows.
    pub(super) fn drop_details(&mut self) {
        self.details = None;
    }

    /// The statistics and the plot. Frames before the first and after the last
    /// one seen are unknown: as planned and sent count those in between.
    pub(super) fn finish(self, resolution: Span) -> (FlowStatistics, Envelope) {
        let details = self.details.unwrap_or_default();
        let mut counts = Counts {
            planned: self.frames,
            sent: self.frames,
            received: self.frames,
            ..Counts::default()
        };
        if let Some(sequence) = &self.sequence {
            counts.planned = sequence.span();
            counts.sent = counts.planned;
            counts.received = sequence.received;
            counts.lost = counts.planned.saturating_sub(sequence.received);
            counts.duplicated = sequence.duplicated;
            counts.reordered = sequence.reordered;
        }
        let schedule = details.schedule_deviations.finish();
        let at_wire = PointStatistics {
            interval: details.interval_deviations.finish(),
            unseen: counts.lost,
            centred: schedule.is_some(),
            schedule,
            resolution_ns: Some(resolution.as_ns()).filter(|ns| *ns > 1),
        };
        let statistics = FlowStatistics {
            counts,
            period_ns: self.period_ns,
            timestamp_point: Some(TimestampPoint::Wire),
            timestamp_points: BTreeMap::from([(TimestampPoint::Wire, at_wire)]),
            wake_up: None,
            hand_over: None,
            missed: None,
            send_errors: BTreeMap::default(),
        };
        (statistics, details.envelope)
    }
}
