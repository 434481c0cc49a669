//! A periodic flow of test frames, with every frame on record.
//!
//! Per frame: sleep, read the clock, send, read the clock, take the reports
//! that have come. That is three system calls with stamps or launch times and
//! two without; nothing is allocated, formatted or logged in between.

use teiji_core::cycle::Schedule;
use teiji_core::time::{Instant, Span, Tai};
use teiji_core::wire::Probe;
use teiji_sys::clock;

use super::ledger::Ledger;
use super::{Talker, TalkerConfig, TalkerError, TxStamps};
use crate::cycle::Cycle;
use crate::record::TalkerLog;
use crate::stop::{STOP_LATENCY, StopFlag};

/// How long after the last departure stamps and reports are waited for.
const LAST_REPORTS: Span = Span::from_millis(200);

/// How often they are looked for.
const REPORT_POLL: Span = Span::from_millis(2);

/// Sends `frames` test frames along `schedule` and gives the record of each.
/// The calling thread is scheduled as `config` says, for the time of the run.
///
/// Frames that the kernel refuses are records too
/// ([`Fate::SendFailed`](crate::Fate::SendFailed)), and the run goes on; also
/// when all of them are refused. When `stop` is set the run ends within
/// [`STOP_LATENCY`], with what was recorded.
///
/// # Errors
/// Before the first frame only, see [`TalkerError`].
pub fn run(
    config: &TalkerConfig,
    schedule: &Schedule,
    frames: u64,
    stop: &StopFlag,
) -> Result<TalkerLog, TalkerError> {
    Prepared::new(config, frames)?.run(schedule, stop)
}

/// A talker that is ready to run: what can be refused has been tried. For
/// callers that choose the schedule's base only when everybody is ready.
pub struct Prepared {
    talker: Talker,
    config: TalkerConfig,
    frames: u64,
    payload: Vec<u8>,
}

impl Prepared {
    /// Opens the talker and checks the frames' number and size.
    pub fn new(config: &TalkerConfig, frames: u64) -> Result<Self, TalkerError> {
        if frames == 0 {
            return Err(TalkerError::NoFrames);
        }
        if usize::from(config.payload) < Probe::LEN {
            return Err(TalkerError::PayloadTooShort { payload: config.payload });
        }
        let talker = Talker::open(config)?;
        talker.check_length(config.payload.into())?;
        let payload = vec![0; config.payload.into()];
        Ok(Self { talker, config: config.clone(), frames, payload })
    }

    /// Runs along `schedule`; see [`run`].
    pub fn run(mut self, schedule: &Schedule, stop: &StopFlag) -> Result<TalkerLog, TalkerError> {
        let stamps = self.talker.stamps();
        let mut ledger = Ledger::new(*schedule, self.frames, stamps, clock::tai_offset())?;
        let mut sent = 0;
        let cycle = Cycle::along(schedule)
            .times(self.frames)
            .scheduling(self.config.scheduling)
            .stop(stop)
            .start()?;
        let timed = self.config.launch.is_some();
        let reports = timed || stamps != TxStamps::None;
        for wake in cycle {
            let scheduled = wake.departure();
            let probe = Probe { flow: self.config.flow, seq: wake.index(), scheduled };
            probe.emit(&mut self.payload);
            let result = self.talker.hand_over(&self.payload, timed.then_some(scheduled));
            let handed_over = clock::now();
            let result = result.map_err(|error| error.errno());
            ledger.enter(scheduled, wake.woke(), handed_over, result);
            sent += 1;
            if reports {
                self.take_reports(&mut ledger);
            }
        }
        if reports {
            self.take_last_reports(&mut ledger, schedule.departure(sent), stop);
        }
        Ok(TalkerLog {
            flow: self.config.flow,
            frames: ledger.into_frames(),
            interrupted: sent < self.frames,
            stamps_requested: self.config.stamps != TxStamps::None,
        })
    }

    #[inline]
    fn take_reports(&mut self, ledger: &mut Ledger) {
        // A queue that cannot be read loses stamps, which are then None; the
        // frames themselves are not affected.
        let _ = self.talker.take_reports(|event| ledger.report(event));
    }

    /// Waits for stamps and drops of the last frames: for stamps while any is
    /// missing, for drops until the last frame has left.
    fn take_last_reports(&mut self, ledger: &mut Ledger, end: Instant<Tai>, stop: &StopFlag) {
        let start: Instant<Tai> = clock::now();
        let drops_until = if self.config.launch.is_some() { end } else { start };
        let stamps_until = end.max(start) + LAST_REPORTS;
        loop {
            self.take_reports(ledger);
            let now: Instant<Tai> = clock::now();
            let waiting = now < drops_until || (ledger.expects_stamps() && now < stamps_until);
            if !waiting || (stop.is_stopped() && now - start > STOP_LATENCY) {
                return;
            }
            clock::sleep_until(now + REPORT_POLL);
        }
    }
}
