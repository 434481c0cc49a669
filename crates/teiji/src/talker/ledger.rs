//! The talker's book: one record a frame, and which frame a report is about.
//!
//! The kernel numbers a socket's frames (`SOF_TIMESTAMPING_OPT_ID`) as it
//! builds them. Whether a send call that *fails* uses up a number depends on
//! where it failed and on the kernel's version. So after a failure the next
//! stamp "entered the qdisc" decides: it is taken inside the send call, hence
//! lies between the wake-up and the hand-over of exactly one frame.
//!
//! A frame that the kernel keeps until it knows the peer's address (ARP, NDP)
//! enters the qdisc after its send call, or never: such a stamp decides nothing,
//! and after a failure it is left out rather than put to a frame by guess.

use teiji_core::cycle::Schedule;
use teiji_core::frame::TxError;
use teiji_core::time::{Instant, Span, Tai};
use teiji_sys::socket::event::Stamps;
use teiji_sys::socket::{LaunchError, TxEvent, TxStampKind};

use super::{TalkerError, TxStamps};
use crate::record::TxRecord;

/// Distinct relations of numbers to frames that are remembered. A new one is
/// needed only when a failure used up no number.
const SHIFTS: usize = 1_024;

/// From this number on, frame = number + shift.
#[derive(Clone, Copy, Debug)]
struct Shift {
    from_key: u32,
    shift: u64,
}

/// The records of a run.
#[derive(Debug)]
pub(super) struct Ledger {
    frames: Vec<TxRecord>,
    attempted: usize,
    schedule: Schedule,
    tai_offset: Span,
    stamps: TxStamps,
    /// Ascending by `from_key`; the first entry begins at 0.
    shifts: Vec<Shift>,
    /// The first failed frame after which the numbering is not known yet.
    uncertain_from: Option<usize>,
    /// Frames that were handed over and miss a stamp they should get.
    incomplete: usize,
}

impl Ledger {
    /// An empty book for `frames` frames. All memory is taken and touched now.
    pub(super) fn new(frames: u64, stamps: TxStamps) -> Result<Self, TalkerError> {
        let too_many = || TalkerError::TooManyFrames { frames };
        let count = usize::try_from(frames).map_err(|_| too_many())?;
        let mut book = Vec::new();
        book.try_reserve_exact(count).map_err(|_| too_many())?;
        let nothing = Instant::from_ns(0);
        let blank = TxRecord {
            seq: 0,
            scheduled: nothing,
            woke: nothing,
            handed_over: nothing,
            tx_sched: None,
            tx_kernel: None,
            tx_hardware: None,
            tx_error: None,
        };
        book.resize(count, blank);
        let mut shifts = Vec::with_capacity(SHIFTS);
        shifts.push(Shift { from_key: 0, shift: 0 });
        Ok(Self {
            frames: book,
            attempted: 0,
            schedule: Schedule { base: nothing, period: Span::ZERO, margin: Span::ZERO },
            tai_offset: Span::ZERO,
            stamps,
            shifts,
            uncertain_from: None,
            incomplete: 0,
        })
    }

    /// The frames follow `schedule`; `tai_offset` leads from the clock of the
    /// kernel's stamps to that of the schedule.
    pub(super) fn begin(&mut self, schedule: Schedule, tai_offset: Span) {
        self.schedule = schedule;
        self.tai_offset = tai_offset;
    }

    /// Enters the next frame.
    #[inline]
    pub(super) fn enter(
        &mut self,
        scheduled: Instant<Tai>,
        woke: Instant<Tai>,
        handed_over: Instant<Tai>,
        result: Result<(), i32>,
    ) {
        let index = self.attempted;
        let Some(record) = self.frames.get_mut(index) else { return };
        record.seq = index as u64;
        record.scheduled = scheduled;
        record.woke = woke;
        record.handed_over = handed_over;
        match result {
            Ok(()) => self.incomplete += usize::from(self.stamps != TxStamps::None),
            Err(errno) => {
                record.tx_error = Some(TxError::SendFailed(errno));
                self.uncertain_from.get_or_insert(index);
            }
        }
        self.attempted += 1;
    }

    /// Enters what the kernel reports.
    #[inline]
    pub(super) fn report(&mut self, event: TxEvent) {
        match event {
            TxEvent::Stamp { kind, key, stamps } => self.stamp(kind, key, stamps),
            TxEvent::Dropped { error, launch } => self.drop_by_launch(error, launch),
            TxEvent::Other { .. } => {}
        }
    }

    /// True while a stamp is outstanding that the kernel should send.
    pub(super) fn expects_stamps(&self) -> bool {
        self.incomplete > 0
    }

    /// The frames that were attempted.
    pub(super) fn into_frames(mut self) -> Vec<TxRecord> {
        self.frames.truncate(self.attempted);
        self.frames
    }

    fn stamp(&mut self, kind: TxStampKind, key: u32, stamps: Stamps) {
        let software = stamps.software.map(|at| at.on::<Tai>(self.tai_offset));
        let Some(index) = self.frame_of(kind, key, software) else { return };
        let stamps_wanted = self.stamps;
        let Some(record) = self.frames[..self.attempted].get_mut(index) else { return };
        let complete_before = is_complete(record, stamps_wanted);
        match kind {
            TxStampKind::Scheduled => record.tx_sched = software.or(record.tx_sched),
            TxStampKind::Sent => {
                record.tx_kernel = software.or(record.tx_kernel);
                record.tx_hardware = stamps.hardware.or(record.tx_hardware);
            }
        }
        if !complete_before && is_complete(record, stamps_wanted) && record.tx_error.is_none() {
            self.incomplete -= 1;
        }
    }

    /// The frame that the kernel's number `key` belongs to; `None` if that is
    /// not known.
    fn frame_of(
        &mut self,
        kind: TxStampKind,
        key: u32,
        software: Option<Instant<Tai>>,
    ) -> Option<usize> {
        let shift = self.shifts.iter().rev().find(|s| s.from_key <= key)?.shift;
        let index = usize::try_from(u64::from(key) + shift).ok()?;
        let Some(first_failed) = self.uncertain_from.filter(|&first| index >= first) else {
            return Some(index);
        };
        if kind != TxStampKind::Scheduled || self.shifts.len() == SHIFTS {
            return None;
        }
        let at = software?;
        let after = self.frames.get(first_failed..self.attempted)?;
        let index =
            first_failed + after.iter().position(|r| r.woke <= at && at <= r.handed_over)?;
        let shift = (index as u64).checked_sub(u64::from(key))?;
        self.shifts.push(Shift { from_key: key, shift });
        // Later failures make the numbering uncertain again.
        let failed = |r: &TxRecord| matches!(r.tx_error, Some(TxError::SendFailed(_)));
        self.uncertain_from = self.frames[index + 1..self.attempted]
            .iter()
            .position(failed)
            .map(|offset| index + 1 + offset);
        Some(index)
    }

    fn drop_by_launch(&mut self, error: LaunchError, launch: Instant<Tai>) {
        let since = (launch - self.schedule.base).as_ns();
        let period = self.schedule.period.as_ns().max(1);
        let (Ok(index), 0) = (usize::try_from(since.div_euclid(period)), since.rem_euclid(period))
        else {
            return;
        };
        let wanted = self.stamps;
        let Some(record) = self.frames[..self.attempted].get_mut(index) else { return };
        if record.tx_error.is_none() && wanted != TxStamps::None && !is_complete(record, wanted) {
            self.incomplete -= 1;
        }
        // More precise than a failed send call, which may come with it.
        record.tx_error = Some(match error {
            LaunchError::Missed => TxError::Missed,
            LaunchError::Invalid => TxError::Invalid,
        });
    }
}

/// All stamps that were requested are there.
fn is_complete(record: &TxRecord, stamps: TxStamps) -> bool {
    match stamps {
        TxStamps::None => true,
        TxStamps::Kernel => record.tx_kernel.is_some(),
        TxStamps::Hardware => record.tx_kernel.is_some() && record.tx_hardware.is_some(),
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
