//! From frames to [`FlowStatistics`]: a pure fold that can be redone years
//! later from the records.

use std::collections::BTreeMap;

use teiji_core::time::{Capture, Instant, Phc, Span, Tai};

use crate::flow::{Counts, FlowStatistics, Vantage, VantageStatistics};
use crate::{Deviation, Intervals, Missed, Series, median};

/// What the statistics need to know of one frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameView {
    /// Sequence number, from 0.
    pub seq: u64,
    /// When it was meant to be on the wire.
    pub scheduled: Instant<Tai>,
    /// When its sender woke; `None` if the talker never came to it.
    pub woke: Option<Instant<Tai>>,
    /// When the send call returned.
    pub handed_over: Option<Instant<Tai>>,
    /// Entered the qdisc.
    pub tx_sched: Option<Instant<Tai>>,
    /// Handed to the card by its driver.
    pub tx_kernel: Option<Instant<Tai>>,
    /// Left the card.
    pub tx_hardware: Option<Instant<Phc>>,
    /// Seen by the analyser.
    pub wire: Option<Instant<Capture>>,
    /// Arrived in the receiving kernel.
    pub rx_kernel: Option<Instant<Tai>>,
    /// Arrived at the receiving card.
    pub rx_hardware: Option<Instant<Phc>>,
    /// Position in the order of arrival, from 0.
    pub arrival: Option<u64>,
    /// Copies that arrived.
    pub copies: u32,
    /// What the sending kernel said became of it.
    pub outcome: Outcome,
}

impl FrameView {
    /// The frame `seq` of which nothing is known but when it was meant to leave.
    pub const fn planned(seq: u64, scheduled: Instant<Tai>) -> Self {
        Self {
            seq,
            scheduled,
            woke: None,
            handed_over: None,
            tx_sched: None,
            tx_kernel: None,
            tx_hardware: None,
            wire: None,
            rx_kernel: None,
            rx_hardware: None,
            arrival: None,
            copies: 0,
            outcome: Outcome::Accepted,
        }
    }
}

/// What the sending kernel said became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: it was accepted, as far as the kernel told.
    Accepted,
    /// ETF dropped it: its launch time had passed.
    Missed,
    /// ETF dropped it: its launch time was unusable.
    Invalid,
    /// The send call failed.
    SendFailed,
}

/// How a flow was meant to be sent, and what is known beside its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTerms {
    /// Distance between two departures.
    pub period: Span,
    /// When a frame is handed to the kernel.
    pub departure: Departure,
    /// Transmit stamps were asked for.
    pub stamps_requested: bool,
    /// Packets on the flow's socket that were not test frames.
    pub foreign: u64,
    /// Resolution of the analyser's stamps, where it is known.
    pub wire_resolution: Option<Span>,
}

/// When a frame is handed to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// At its departure time.
    OnWakeUp,
    /// As soon as the one before has been, but not before its departure time.
    BackToBack,
    /// This margin before its departure time, which the kernel keeps.
    LaunchTime {
        /// The transmission margin.
        margin: Span,
    },
}

impl FlowTerms {
    /// The latest instant at which a frame scheduled for `scheduled` may be
    /// handed over. With a launch time that is the launch time. Without one
    /// every frame leaves after its instant, so the deadline is the implicit
    /// one of periodic tasks, the next departure (Liu and Layland 1973): a
    /// sender that passes it has overrun its cycle.
    /// One that is sent back to back has none.
    pub(crate) fn deadline(&self, scheduled: Instant<Tai>) -> Option<Instant<Tai>> {
        match self.departure {
            Departure::OnWakeUp => Some(scheduled + self.period),
            Departure::BackToBack => None,
            Departure::LaunchTime { .. } => Some(scheduled),
        }
    }

    pub(crate) fn planned_wake(&self, scheduled: Instant<Tai>) -> Instant<Tai> {
        match self.departure {
            Departure::OnWakeUp | Departure::BackToBack => scheduled,
            Departure::LaunchTime { margin } => scheduled - margin,
        }
    }
}

impl FrameView {
    /// The stamp taken at a vantage, in nanoseconds of that vantage's clock.
    pub fn stamp_ns(&self, vantage: Vantage) -> Option<i64> {
        match vantage {
            Vantage::Wire => self.wire.map(Instant::as_ns),
            Vantage::RxHardware => self.rx_hardware.map(Instant::as_ns),
            Vantage::TxHardware => self.tx_hardware.map(Instant::as_ns),
            Vantage::RxKernel => self.rx_kernel.map(Instant::as_ns),
            Vantage::TxKernel => self.tx_kernel.map(Instant::as_ns),
        }
    }

    /// The kernel took it.
    fn was_sent(&self) -> bool {
        self.handed_over.is_some() && self.outcome != Outcome::SendFailed
    }

    /// The kernel took it and did not say that it dropped it.
    fn should_have_left(&self) -> bool {
        self.was_sent() && self.outcome == Outcome::Accepted
    }
}

impl FlowStatistics {
    /// Computes the statistics of one flow from its frames in order of
    /// sequence number, the frames that never were sent among them.
    pub fn from_frames<I>(terms: &FlowTerms, frames: I) -> Self
    where
        I: IntoIterator<Item = FrameView>,
        I::IntoIter: Clone,
    {
        let frames = frames.into_iter();
        let mut vantages = BTreeMap::new();
        for vantage in Vantage::ALL {
            if let Some(statistics) = at_vantage(terms, vantage, frames.clone()) {
                vantages.insert(vantage, statistics);
            }
        }
        let wake_up =
            frames.clone().filter_map(|f| Some(f.woke? - terms.planned_wake(f.scheduled)));
        let hand_over = frames.clone().filter_map(|f| Some(f.handed_over? - f.woke?));
        Self {
            counts: counts(terms, frames.clone()),
            period_ns: terms.period.as_ns(),
            judged_at: judge(&frames),
            vantages,
            wake_up: wake_up.map(Span::as_ns).collect::<Series>().finish(),
            hand_over: hand_over.map(Span::as_ns).collect::<Series>().finish(),
            missed: Missed::of(terms, frames.clone()),
            send_errors: BTreeMap::new(),
        }
    }
}

/// The deviation from the period of each [interval](crate::intervals): the
/// sequence number of the frame that ends it, and the deviation in nanoseconds.
pub fn interval_deviations(
    period: Span,
    vantage: Vantage,
    frames: impl IntoIterator<Item = FrameView>,
) -> impl Iterator<Item = (u64, i64)> {
    let mut intervals = Intervals::default();
    frames
        .into_iter()
        .filter_map(move |frame| Some((frame.seq, frame.stamp_ns(vantage)?)))
        .flat_map(move |(seq, at_ns)| intervals.push(seq, at_ns))
        .flatten()
        .map(move |interval| (interval.seq, interval.deviation_ns(period.as_ns())))
}

/// The deviation of each stamped frame from its schedule, in nanoseconds, with
/// its sequence number; centred on their median if the vantage's clock has an
/// unknown offset to TAI. The second value says whether they are centred.
pub fn schedule_deviations(
    vantage: Vantage,
    frames: impl IntoIterator<Item = FrameView>,
) -> (Vec<(u64, i64)>, bool) {
    let mut deviations: Vec<(u64, i64)> = frames
        .into_iter()
        .filter_map(|f| Some((f.seq, f.stamp_ns(vantage)?.saturating_sub(f.scheduled.as_ns()))))
        .collect();
    if vantage.clock_is_tai() {
        return (deviations, false);
    }
    let mut values: Vec<i64> = deviations.iter().map(|(_, d)| *d).collect();
    let centre = median(&mut values).unwrap_or(0);
    for (_, deviation) in &mut deviations {
        *deviation = deviation.saturating_sub(centre);
    }
    (deviations, true)
}

fn at_vantage(
    terms: &FlowTerms,
    vantage: Vantage,
    frames: impl Iterator<Item = FrameView> + Clone,
) -> Option<VantageStatistics> {
    let (schedule, centred) = schedule_deviations(vantage, frames.clone());
    let schedule: Option<Deviation> =
        schedule.into_iter().map(|(_, d)| d).collect::<Series>().finish();
    let interval: Series =
        interval_deviations(terms.period, vantage, frames.clone()).map(|(_, d)| d).collect();
    schedule.as_ref()?;
    let unseen = frames.filter(|frame| frame.stamp_ns(vantage).is_none()).count() as u64;
    let resolution = terms.wire_resolution.filter(|_| vantage == Vantage::Wire);
    Some(VantageStatistics {
        interval: interval.finish(),
        unseen,
        schedule,
        centred,
        resolution_ns: resolution.map(Span::as_ns),
    })
}

/// The best vantage that stamped nearly all frames that arrived (99 %), or,
/// where nothing arrived, that should have left; failing that, the one with
/// most stamps.
fn judge(frames: &(impl Iterator<Item = FrameView> + Clone)) -> Option<Vantage> {
    let stamped = |vantage: Vantage, among: fn(&FrameView) -> bool| {
        frames.clone().filter(|f| among(f) && f.stamp_ns(vantage).is_some()).count()
    };
    let arrived: fn(&FrameView) -> bool = |f| f.copies > 0;
    let among =
        if frames.clone().any(|f| arrived(&f)) { arrived } else { FrameView::should_have_left };
    let all = frames.clone().filter(among).count();
    Vantage::ALL.into_iter().find(|v| all > 0 && stamped(*v, among) * 100 >= all * 99).or_else(
        || {
            let by_stamps = Vantage::ALL.map(|v| (stamped(v, |_| true), v));
            // On a tie the better vantage, which comes first, wins.
            let best = by_stamps.into_iter().rev().max_by_key(|(stamps, _)| *stamps);
            best.filter(|(stamps, _)| *stamps > 0).map(|(_, vantage)| vantage)
        },
    )
}

fn counts(terms: &FlowTerms, frames: impl Iterator<Item = FrameView> + Clone) -> Counts {
    let mut counts = Counts { foreign: terms.foreign, ..Counts::default() };
    for frame in frames.clone() {
        counts.planned += 1;
        counts.sent += u64::from(frame.was_sent());
        counts.received += u64::from(frame.copies > 0);
        counts.lost += u64::from(frame.copies == 0);
        counts.duplicated += u64::from(frame.copies.saturating_sub(1));
        let deadline = terms.deadline(frame.scheduled);
        let late = |at: Instant<Tai>| deadline.is_some_and(|deadline| at > deadline);
        counts.late += u64::from(frame.handed_over.is_some_and(late));
        match frame.outcome {
            Outcome::Accepted => {}
            Outcome::Missed => counts.dropped_missed += 1,
            Outcome::Invalid => counts.dropped_invalid += 1,
            Outcome::SendFailed => counts.send_failed += 1,
        }
    }
    counts.reordered = reordered(frames.clone());
    if terms.stamps_requested {
        counts.tx_stamps_missing = tx_stamps_missing(frames);
    }
    counts
}

/// Frames that arrived after one with a higher sequence number: type-P
/// reordered in the sense of RFC 4737, section 3.3.
fn reordered(frames: impl Iterator<Item = FrameView>) -> u64 {
    let arrivals: Vec<u64> = frames.filter_map(|f| f.arrival).collect();
    let mut earliest_later_frame = u64::MAX;
    let mut reordered = 0;
    for arrival in arrivals.into_iter().rev() {
        reordered += u64::from(arrival > earliest_later_frame);
        earliest_later_frame = earliest_later_frame.min(arrival);
    }
    reordered
}

/// Frames that should have left and lack a transmit stamp: any at all, or one
/// of a kind that other frames of the flow got.
fn tx_stamps_missing(frames: impl Iterator<Item = FrameView> + Clone) -> u64 {
    let kinds =
        |f: &FrameView| [f.tx_sched.is_some(), f.tx_kernel.is_some(), f.tx_hardware.is_some()];
    let mut offered = [false; 3];
    for frame in frames.clone() {
        let got = kinds(&frame);
        for (offered, got) in offered.iter_mut().zip(got) {
            *offered |= got;
        }
    }
    let nothing_offered = offered == [false; 3];
    let lacks = |f: &FrameView| nothing_offered || kinds(f) != offered;
    frames.filter(|f| f.should_have_left() && lacks(f)).count() as u64
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
