//! Round trips: how long each took, in parts, and what became of those that got no
//! reply. A pure fold that can be redone years later from the records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use teiji_core::reception::Reception;
use teiji_core::time::{Instant, Span, Tai};

use crate::{Deviation, Series};

/// One round trip, as far as statistics need it. All instants are of one clock: both
/// hosts are on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundView {
    /// Just before the send call.
    pub sent: Instant<Tai>,
    /// The request's way through the responder's kernel, where that was traced.
    pub responder_reception: Reception,
    /// The responder's kernel had the request.
    pub responder_arrived: Option<Instant<Tai>>,
    /// The responder handed the reply over.
    pub responder_sent: Option<Instant<Tai>>,
    /// The requester's kernel had the reply.
    pub reply_kernel: Option<Instant<Tai>>,
    /// The requester's program had the reply; `None`: it never came.
    pub received: Option<Instant<Tai>>,
    /// The kernel did not take the request.
    pub send_failed: bool,
}

/// A stretch of a round trip. The first four together are the whole; the others are of these,
/// where the responder's kernel was traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// From the send call to the responder's kernel.
    There,
    /// From the responder's kernel to its send call.
    Responder,
    /// From the responder's send call to the requester's kernel.
    Back,
    /// From the requester's kernel to the requester's program.
    WakeUp,
    /// Of `There`: from the interrupt at the responder to the softirq that takes the request
    /// from the NIC.
    Softirq,
    /// Of `There`: from that softirq's beginning to the kernel's stamp.
    Polling,
    /// Of `Responder`: from the kernel's stamp to the responder's waking.
    Socket,
    /// Of `Responder`: from its waking to its send call.
    Answer,
}

impl Part {
    /// Those that are the whole together, in the order they pass.
    pub const WHOLE: [Self; 4] = [Self::There, Self::Responder, Self::Back, Self::WakeUp];
    /// Those that are of these, in the order they pass.
    pub const WITHIN: [Self; 4] = [Self::Softirq, Self::Polling, Self::Socket, Self::Answer];

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::WHOLE.into_iter().chain(Self::WITHIN)
    }
}

impl RoundView {
    /// One whose request was sent, and of which nothing else is known.
    pub const fn sent(sent: Instant<Tai>) -> Self {
        Self {
            sent,
            responder_reception: Reception::UNKNOWN,
            responder_arrived: None,
            responder_sent: None,
            reply_kernel: None,
            received: None,
            send_failed: false,
        }
    }

    /// From the send call to the reply in the program.
    pub fn time(&self) -> Option<Span> {
        Some(self.received? - self.sent)
    }

    /// How long a part took; `None` where a stamp at one of its ends is missing.
    pub fn part(&self, part: Part) -> Option<Span> {
        let Reception { interrupt, softirq, woken } = self.responder_reception;
        Some(match part {
            Part::There => self.responder_arrived? - self.sent,
            Part::Responder => self.responder_sent? - self.responder_arrived?,
            Part::Back => self.reply_kernel? - self.responder_sent?,
            Part::WakeUp => self.received? - self.reply_kernel?,
            // An interrupt before the request was sent was not for it.
            Part::Softirq => softirq? - interrupt.filter(|at| *at >= self.sent)?,
            Part::Polling => self.responder_arrived? - softirq?.max(self.sent),
            Part::Socket => woken? - self.responder_arrived?,
            Part::Answer => self.responder_sent? - woken?,
        })
    }
}

/// What round trips are judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTerms {
    /// How many requests were planned.
    pub planned: u64,
    /// Distance between two requests; `None`: the next follows the reply.
    pub period: Option<Span>,
    /// How long a reply was waited for.
    pub timeout: Span,
    /// Replies that came twice.
    pub duplicated: u64,
    /// Packets that were no replies, or no requests, of these round trips.
    pub foreign: u64,
}

/// What is known of round trips.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundStatistics {
    /// What became of the requests.
    pub counts: RoundCounts,
    /// Distance between two requests; `None`: the next follows the reply.
    pub period_ns: Option<i64>,
    /// How long a reply was waited for.
    pub timeout_ns: i64,
    /// From the send call to the reply in the program, of all replies that came.
    pub round_trip: Option<Deviation>,
    /// The same in parts, as far as there are stamps.
    pub parts: BTreeMap<Part, Deviation>,
}

/// What became of the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundCounts {
    /// That were to be sent.
    pub planned: u64,
    /// That the kernel took.
    pub sent: u64,
    /// Whose reply came, late ones included.
    pub answered: u64,
    /// Whose reply came after the time-out.
    pub late: u64,
    /// That got no reply, whatever became of them: planned without answered.
    pub lost: u64,
    /// The longest run of these; of several members the longest.
    #[serde(default)]
    pub lost_in_a_row: u64,
    /// That the kernel did not take.
    pub send_failed: u64,
    /// Replies that came twice.
    pub duplicated: u64,
    /// Packets that belonged to no round trip.
    pub foreign: u64,
}

impl std::iter::Sum for RoundCounts {
    fn sum<I: Iterator<Item = Self>>(members: I) -> Self {
        members.fold(Self::default(), |a, b| Self {
            planned: a.planned + b.planned,
            sent: a.sent + b.sent,
            answered: a.answered + b.answered,
            late: a.late + b.late,
            lost: a.lost + b.lost,
            lost_in_a_row: a.lost_in_a_row.max(b.lost_in_a_row),
            send_failed: a.send_failed + b.send_failed,
            duplicated: a.duplicated + b.duplicated,
            foreign: a.foreign + b.foreign,
        })
    }
}

impl RoundStatistics {
    /// Folds the round trips into statistics.
    pub fn from_rounds<I>(terms: &RoundTerms, rounds: I) -> Self
    where
        I: IntoIterator<Item = RoundView>,
        I::IntoIter: Clone,
    {
        let rounds = rounds.into_iter();
        let of = |span: &dyn Fn(&RoundView) -> Option<Span>| {
            rounds.clone().filter_map(|r| span(&r)).map(Span::as_ns).collect::<Series>().finish()
        };
        Self {
            counts: counts(terms, rounds.clone()),
            period_ns: terms.period.map(Span::as_ns),
            timeout_ns: terms.timeout.as_ns(),
            round_trip: of(&RoundView::time),
            parts: Part::all()
                .filter_map(|part| Some((part, of(&|round| round.part(part))?)))
                .collect(),
        }
    }
}

fn counts(terms: &RoundTerms, rounds: impl Iterator<Item = RoundView>) -> RoundCounts {
    let RoundTerms { planned, duplicated, foreign, .. } = *terms;
    let mut counts = RoundCounts { planned, duplicated, foreign, ..RoundCounts::default() };
    let (mut seen, mut in_a_row) = (0, 0);
    for round in rounds {
        let time = round.time();
        seen += 1;
        in_a_row = if time.is_none() { in_a_row + 1 } else { 0 };
        counts.lost_in_a_row = counts.lost_in_a_row.max(in_a_row);
        counts.sent += u64::from(!round.send_failed);
        counts.send_failed += u64::from(round.send_failed);
        counts.answered += u64::from(time.is_some());
        counts.late += u64::from(time.is_some_and(|time| time > terms.timeout));
    }
    counts.lost = planned.saturating_sub(counts.answered);
    // Those that were not begun are the last.
    counts.lost_in_a_row = counts.lost_in_a_row.max(in_a_row + planned.saturating_sub(seen));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: RoundTerms = RoundTerms {
        planned: 5,
        period: None,
        timeout: Span::from_micros(100),
        duplicated: 1,
        foreign: 2,
    };

    /// Sent at 0, the others after so many microseconds.
    fn round(stamps: Option<[i64; 4]>) -> RoundView {
        let at = |i: usize| Some(Instant::from_ns(stamps?[i] * 1_000));
        RoundView {
            responder_arrived: at(0),
            responder_sent: at(1),
            reply_kernel: at(2),
            received: at(3),
            ..RoundView::sent(Instant::from_ns(0))
        }
    }

    #[test]
    fn the_parts_are_the_whole() {
        let one = round(Some([10, 30, 60, 100]));
        let parts = Part::WHOLE.map(|part| one.part(part).unwrap().as_ns() / 1_000);
        assert_eq!(parts, [10, 20, 30, 40]);
        assert_eq!(parts.iter().sum::<i64>() * 1_000, one.time().unwrap().as_ns());
    }

    #[test]
    fn parts_of_the_responders_trace_are_within_the_parts_of_the_round_trip() {
        let at = |us: i64| Some(Instant::from_ns(us * 1_000));
        let parts = |interrupt: i64| {
            let responder_reception =
                Reception { interrupt: at(interrupt), softirq: at(5), woken: at(13) };
            let one = RoundView { responder_reception, ..round(Some([10, 30, 60, 100])) };
            Part::WITHIN.map(|part| one.part(part).map(|took| took.as_ns() / 1_000))
        };
        assert_eq!(parts(2), [Some(3), Some(5), Some(3), Some(17)]);
        assert_eq!(parts(-1), [None, Some(5), Some(3), Some(17)], "an earlier packet's interrupt");
        let untraced = round(Some([10, 30, 60, 100]));
        assert_eq!(Part::WITHIN.map(|part| untraced.part(part)), [None; 4]);
    }

    #[test]
    fn a_request_without_reply_is_lost_and_has_no_time() {
        let failed = RoundView { send_failed: true, ..round(None) };
        let rounds =
            [round(Some([10, 30, 60, 100])), round(None), failed, round(Some([10, 30, 60, 101]))];
        let statistics = RoundStatistics::from_rounds(&TERMS, rounds);
        let RoundCounts { planned, sent, answered, late, lost, send_failed, .. } =
            statistics.counts;
        assert_eq!(statistics.counts.lost_in_a_row, 2);
        // One was never tried.
        assert_eq!((planned, sent, answered, late, lost, send_failed), (5, 3, 2, 1, 3, 1));
        let times = statistics.round_trip.unwrap();
        assert_eq!((times.count, times.min_ns, times.max_ns), (2, 100_000, 101_000));
        assert_eq!(statistics.parts[&Part::There].count, 2);
    }

    #[test]
    fn a_peer_that_is_silent_leaves_counts_and_no_distribution() {
        let statistics = RoundStatistics::from_rounds(&TERMS, [round(None); 5]);
        assert_eq!((statistics.counts.lost, statistics.counts.lost_in_a_row), (5, 5));
        let begun =
            RoundStatistics::from_rounds(&TERMS, [round(Some([10, 30, 60, 100])), round(None)]);
        assert_eq!(begun.counts.lost_in_a_row, 4, "three were never tried");
        assert!(statistics.round_trip.is_none() && statistics.parts.is_empty());
    }
}
