//! Frames that were not on time, by cause, and whether there are too many of them.

use std::iter::Sum;
use std::ops::Add;

use serde::{Deserialize, Serialize};
use teiji_core::frame::{FrameRow, TxError};

use crate::tail::CONFIDENCE;
use crate::tail::order::ln_at_most;

/// How a frame failed to be on time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misses {
    /// Frames that were to be sent.
    pub frames: u64,
    /// Refused by ETF on entry: the launch time had passed.
    pub invalid: u64,
    /// Dropped by ETF: it came to the frame after the launch time.
    pub missed: u64,
    /// The send call failed.
    pub send_failed: u64,
    /// Came to the NIC after the launch time.
    pub late: u64,
    /// Never attempted.
    pub unsent: u64,
}

impl Misses {
    /// Counts what became of frames.
    pub fn of(frames: &[FrameRow]) -> Self {
        let mut misses = Self::default();
        for frame in frames {
            misses.frames += 1;
            match frame.tx_error {
                Some(TxError::Invalid) => misses.invalid += 1,
                Some(TxError::Missed) => misses.missed += 1,
                Some(TxError::SendFailed(_)) => misses.send_failed += 1,
                None if frame.handed_over.is_none() => misses.unsent += 1,
                None => {
                    let at = frame.tx_kernel.or(frame.tx_sched);
                    misses.late += u64::from(at.is_some_and(|at| at > frame.scheduled));
                }
            }
        }
        misses
    }

    /// All of them together.
    pub fn total(&self) -> u64 {
        self.invalid + self.missed + self.send_failed + self.late + self.unsent
    }
}

impl Add for Misses {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            frames: self.frames + other.frames,
            invalid: self.invalid + other.invalid,
            missed: self.missed + other.missed,
            send_failed: self.send_failed + other.send_failed,
            late: self.late + other.late,
            unsent: self.unsent + other.unsent,
        }
    }
}

impl Sum for Misses {
    fn sum<I: Iterator<Item = Self>>(members: I) -> Self {
        members.fold(Self::default(), Add::add)
    }
}

/// Whether the misses of some members contradict a miss probability: of all of
/// them together, or of a single one. At most 5 % of such checks would be refuted by
/// chance, so each of these tests may be so in its share of them.
pub fn refuted(members: &[Misses], probability: f64) -> bool {
    let all = members.iter().copied().sum::<Misses>();
    let tests = if members.len() > 1 { members.len() + 1 } else { 1 };
    let error = (1.0 - CONFIDENCE) / tests as f64;
    members
        .iter()
        .chain([&all])
        .any(|found| contradicts(found.total(), found.frames, probability, error))
}

/// Whether so many misses among so many frames contradict a miss probability: they
/// do if as many or more would come by chance with a probability below `error`.
pub(super) fn contradicts(misses: u64, frames: u64, probability: f64, error: f64) -> bool {
    let Some(fewer) = misses.checked_sub(1) else { return false };
    // P(at least `misses`) < error  ⇔  P(at most `misses` − 1) > 1 − error.
    let likely = (-error).ln_1p();
    ln_at_most(frames as f64, probability)
        .take(usize::try_from(fewer).unwrap_or(usize::MAX).saturating_add(1))
        .any(|ln| ln > likely)
}
