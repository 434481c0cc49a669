//! From frames to [`FlowStatistics`]: a pure fold that can be redone years
//! later from the records.

use std::collections::BTreeMap;

use teiji_core::frame::{FrameRow, TxError};
use teiji_core::time::{Instant, Span, Tai};

use crate::flow::{Counts, FlowStatistics, PointStatistics};
use crate::terms::FlowTerms;
use crate::timestamp_point::TimestampPoint;
use crate::{Deviation, Intervals, Missed, Series, median};

impl FlowStatistics {
    /// Computes the statistics of one flow from its frames in order of
    /// sequence number, the frames that never were sent among them.
    pub fn from_frames(terms: &FlowTerms, frames: &[FrameRow]) -> Self {
        let mut timestamp_points = BTreeMap::new();
        for point in TimestampPoint::ALL {
            if let Some(statistics) = at_point(terms, point, frames) {
                timestamp_points.insert(point, statistics);
            }
        }
        let wake_up =
            frames.iter().filter_map(|f| Some(f.woke? - terms.mode.planned_wake(f.scheduled)));
        let hand_over = frames.iter().filter_map(|f| Some(f.handed_over? - f.woke?));
        Self {
            counts: counts(terms, frames),
            period_ns: terms.period.as_ns(),
            timestamp_point: best_timestamp_point(frames),
            timestamp_points,
            wake_up: wake_up.map(Span::as_ns).collect::<Series>().finish(),
            hand_over: hand_over.map(Span::as_ns).collect::<Series>().finish(),
            missed: Missed::of(terms, frames),
            send_errors: BTreeMap::new(),
        }
    }
}

/// The deviation from the period of each [interval](crate::intervals): the
/// sequence number of the frame that ends it, and the deviation in nanoseconds.
pub fn interval_deviations(
    period: Span,
    point: TimestampPoint,
    frames: &[FrameRow],
) -> impl Iterator<Item = (u64, i64)> {
    let mut intervals = Intervals::default();
    frames
        .iter()
        .filter_map(move |frame| Some((frame.seq, point.stamp_ns(frame)?)))
        .flat_map(move |(seq, at_ns)| intervals.push(seq, at_ns))
        .flatten()
        .map(move |interval| (interval.seq, interval.deviation_ns(period.as_ns())))
}

/// The deviation of each stamped frame from its schedule, in nanoseconds, with its sequence number: of
/// the timestamp point's clock, which may have an unknown offset to the schedule's.
pub fn schedule_deviations(point: TimestampPoint, frames: &[FrameRow]) -> Vec<(u64, i64)> {
    let deviation =
        |f: &FrameRow| Some((f.seq, point.stamp_ns(f)?.saturating_sub(f.scheduled.as_ns())));
    frames.iter().filter_map(deviation).collect()
}

/// Takes the median out of all.
fn centre(deviations: &mut [(u64, i64)]) {
    let mut values: Vec<i64> = deviations.iter().map(|(_, d)| *d).collect();
    let centre = median(&mut values).unwrap_or(0);
    for (_, deviation) in deviations {
        *deviation = deviation.saturating_sub(centre);
    }
}

fn at_point(
    terms: &FlowTerms,
    point: TimestampPoint,
    frames: &[FrameRow],
) -> Option<PointStatistics> {
    let mut schedule = schedule_deviations(point, frames);
    let centred = !terms.is_schedules_clock(point);
    if centred {
        centre(&mut schedule);
    }
    let schedule: Option<Deviation> =
        schedule.into_iter().map(|(_, d)| d).collect::<Series>().finish();
    let interval: Series =
        interval_deviations(terms.period, point, frames).map(|(_, d)| d).collect();
    schedule.as_ref()?;
    let unseen = frames.iter().filter(|frame| point.stamp_ns(frame).is_none()).count() as u64;
    let resolution = terms.wire_resolution.filter(|_| point == TimestampPoint::Wire);
    Some(PointStatistics {
        interval: interval.finish(),
        unseen,
        schedule,
        centred,
        resolution_ns: resolution.map(Span::as_ns),
    })
}

/// The best timestamp point that stamped nearly all frames that arrived (99 %), or,
/// where nothing arrived, that should have left; failing that, the one with
/// most stamps.
fn best_timestamp_point(frames: &[FrameRow]) -> Option<TimestampPoint> {
    let stamped = |point: TimestampPoint, among: fn(&FrameRow) -> bool| {
        frames.iter().filter(|f| among(f) && point.stamp_ns(f).is_some()).count()
    };
    let arrived: fn(&FrameRow) -> bool = |f| f.copies > 0;
    let among = if frames.iter().any(arrived) { arrived } else { FrameRow::should_be_transmitted };
    let all = frames.iter().filter(|f| among(f)).count();
    TimestampPoint::ALL
        .into_iter()
        .find(|v| all > 0 && stamped(*v, among) * 100 >= all * 99)
        .or_else(|| {
            let by_stamps = TimestampPoint::ALL.map(|v| (stamped(v, |_| true), v));
            // On a tie the better timestamp point, which comes first, wins.
            let best = by_stamps.into_iter().rev().max_by_key(|(stamps, _)| *stamps);
            best.filter(|(stamps, _)| *stamps > 0).map(|(_, point)| point)
        })
}

fn counts(terms: &FlowTerms, frames: &[FrameRow]) -> Counts {
    let mut counts = Counts { foreign: terms.foreign, ..Counts::default() };
    let mut in_a_row = 0;
    for frame in frames {
        counts.planned += 1;
        counts.sent += u64::from(frame.was_sent());
        counts.received += u64::from(frame.copies > 0);
        counts.lost += u64::from(frame.copies == 0);
        in_a_row = if frame.copies == 0 { in_a_row + 1 } else { 0 };
        counts.lost_in_a_row = counts.lost_in_a_row.max(in_a_row);
        counts.duplicated += u64::from(frame.copies.saturating_sub(1));
        let deadline = terms.deadline(frame.scheduled);
        let late = |at: Instant<Tai>| deadline.is_some_and(|deadline| at > deadline);
        counts.late += u64::from(frame.handed_over.is_some_and(late));
        match frame.tx_error {
            None => {}
            Some(TxError::Missed) => counts.dropped_missed += 1,
            Some(TxError::Invalid) => counts.dropped_invalid += 1,
            Some(TxError::SendFailed(_)) => counts.send_failed += 1,
        }
    }
    counts.reordered = reordered(frames);
    if terms.stamps_requested {
        counts.tx_stamps_missing = tx_stamps_missing(frames);
    }
    counts
}

/// Frames that arrived after one with a higher sequence number: type-P
/// reordered in the sense of RFC 4737, section 3.3.
fn reordered(frames: &[FrameRow]) -> u64 {
    let arrivals: Vec<u64> = frames.iter().filter_map(|f| f.arrival).collect();
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
fn tx_stamps_missing(frames: &[FrameRow]) -> u64 {
    let kinds =
        |f: &FrameRow| [f.tx_sched.is_some(), f.tx_kernel.is_some(), f.tx_hardware.is_some()];
    let mut offered = [false; 3];
    for frame in frames {
        let got = kinds(frame);
        for (offered, got) in offered.iter_mut().zip(got) {
            *offered |= got;
        }
    }
    let nothing_offered = offered == [false; 3];
    let lacks = |f: &FrameRow| nothing_offered || kinds(f) != offered;
    frames.iter().filter(|f| f.should_be_transmitted() && lacks(f)).count() as u64
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
