//! A periodic flow of test frames, with every frame on record.
//!
//! Per frame: sleep, read the clock, send, read the clock, and with stamps take the
//! reports that have come. That is three system calls with stamps and two without;
//! nothing is allocated, formatted or logged in between. With launch times alone the
//! reports, which are then of dropped frames only, are taken every [`DROPS_EVERY`] frames.

use teiji_core::cycle::Schedule;
use teiji_core::errno::EAGAIN;
use teiji_core::time::{Instant, Span, Tai};
use teiji_core::wire::Probe;
use teiji_sys::clock;
use teiji_sys::error::SysError;

use super::ledger::Ledger;
use super::{Talker, TalkerConfig, TalkerError, TxStamps};
use crate::cycle::{Cycle, CycleError};
use crate::margin::Watch;
use crate::record::TalkerLog;
use crate::scheduling::Entered;
use crate::stop::{STOP_LATENCY, StopFlag};

/// How long after the last departure stamps and reports are waited for.
const LAST_REPORTS: Span = Span::from_millis(200);

/// How often they are looked for.
const REPORT_POLL: Span = Span::from_millis(2);

/// How often, in frames, reports of drops are looked for where no stamps come with them.
/// The socket has room for far more of them.
const DROPS_EVERY: u64 = 64;

/// Wake-ups that are tried before the first that counts.
const REHEARSALS: u8 = 8;

/// How long each of them sleeps.
const REHEARSED_SLEEP: Span = Span::from_millis(1);

/// Sends `frames` test frames along `schedule` and gives the record of each.
/// The calling thread is scheduled as `config` says, for the time of the run.
///
/// Frames that the kernel refuses are records too
/// ([`TxError::SendFailed`](crate::TxError::SendFailed)), and the run goes on; also
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

/// A talker whose frames and settings were checked and whose socket is open. It
/// may still move to the thread that will send.
pub struct Prepared {
    talker: Talker,
    config: TalkerConfig,
    frames: u64,
    frame: Vec<u8>,
    /// Where its payload begins.
    payload_at: usize,
    late: Option<Late>,
}

/// What is done when a frame is late.
struct Late {
    limit: Span,
    act: Box<dyn FnMut() + Send>,
}

/// A talker that has only to be told when: the calling thread is scheduled as it
/// should be, memory is taken and locked, and waking was rehearsed. Stays on its
/// thread.
pub struct Ready {
    prepared: Prepared,
    ledger: Ledger,
    lead: Span,
    _scheduling: Entered,
}

impl Prepared {
    /// Opens the talker and checks the frames' number and size.
    ///
    /// # Errors
    /// [`TalkerError::NoFrames`], [`TalkerError::PayloadTooShort`], if the frame is longer than the
    /// interface's MTU, or as [`Talker::open`].
    pub fn new(config: &TalkerConfig, frames: u64) -> Result<Self, TalkerError> {
        if frames == 0 {
            return Err(TalkerError::NoFrames);
        }
        if usize::from(config.payload) < Probe::LEN {
            return Err(TalkerError::PayloadTooShort { payload: config.payload });
        }
        let talker = Talker::open(config)?;
        talker.check_length(config.payload.into())?;
        let (frame, payload_at) = talker.blank_frame(config.payload.into());
        Ok(Self { talker, config: config.clone(), frames, frame, payload_at, late: None })
    }

    /// The stamps that its frames can get, see [`Talker::stamps`].
    pub fn stamps(&self) -> TxStamps {
        self.talker.stamps()
    }

    /// Notes in `watch` what is left of the margin at each hand-over.
    #[must_use = "the talker watches"]
    pub fn watching(mut self, watch: Watch) -> Self {
        self.talker.watch(watch);
        self
    }

    /// Has `act` called, on the sending thread, after each frame that is handed over more than `limit`
    /// after the time at which the thread should have woken for it.
    #[must_use = "the talker calls it"]
    pub fn when_late(mut self, limit: Span, act: impl FnMut() + Send + 'static) -> Self {
        self.late = Some(Late { limit, act: Box::new(act) });
        self
    }

    /// Does everything that takes time, on the thread that will send. What comes
    /// before the first wake-up would make that one late.
    ///
    /// # Errors
    /// If memory cannot be locked or is short, or the thread may not have its priority or CPU.
    pub fn ready(self) -> Result<Ready, TalkerError> {
        let scheduling = self.config.scheduling;
        // Locked memory is given by one call instead of page by page when it is touched.
        scheduling.lock_memory().map_err(CycleError::from)?;
        let ledger = Ledger::new(self.frames, self.talker.stamps())?;
        let scheduling = scheduling.enter().map_err(CycleError::from)?;
        let lead = rehearse()?;
        Ok(Ready { prepared: self, ledger, lead, _scheduling: scheduling })
    }

    /// Runs along `schedule`; see [`run`]. Its first frames are late if getting
    /// ready takes longer than until their wake-ups: callers who choose the
    /// schedule choose it after [`Prepared::ready`].
    ///
    /// # Errors
    /// As [`Prepared::ready`] and [`Ready::run`].
    pub fn run(self, schedule: &Schedule, stop: &StopFlag) -> Result<TalkerLog, TalkerError> {
        self.ready()?.run(schedule, stop)
    }
}

/// How long this thread takes from deciding on a cycle to waking in it, beyond
/// the time that it should sleep: the worst of some attempts.
fn rehearse() -> Result<Span, CycleError> {
    let mut longest = Span::ZERO;
    for _ in 0..REHEARSALS {
        let decided: Instant<Tai> = clock::now();
        let first = decided + REHEARSED_SLEEP;
        let mut cycle = Cycle::every(REHEARSED_SLEEP).first_departure(first).times(1).start()?;
        if let Some(wake) = cycle.next() {
            longest = longest.max(wake.woke() - first);
        }
    }
    Ok(longest)
}

impl Ready {
    /// The first departure at a whole multiple of `period` since 1970 TAI for
    /// which this thread will be asleep in time, going by the rehearsal: twice
    /// the longest delay seen there, and a period.
    pub fn first_departure(&self, period: Span, margin: Span) -> Instant<Tai> {
        let earliest = clock::now::<Tai>() + margin + self.lead * 2 + period;
        Schedule::aligned_base(earliest, period, Span::ZERO)
    }

    /// Runs along `schedule`; see [`run`].
    ///
    /// # Errors
    /// If the cycle cannot start, or sending fails in a way that later frames would share.
    pub fn run(self, schedule: &Schedule, stop: &StopFlag) -> Result<TalkerLog, TalkerError> {
        let Self { mut prepared, mut ledger, _scheduling: scheduling, .. } = self;
        ledger.begin(*schedule, clock::tai_offset());
        let cycle = Cycle::along(schedule).times(prepared.frames).stop(stop).start()?;
        let log = prepared.send_all(cycle, ledger, schedule, stop);
        drop(scheduling);
        Ok(log)
    }
}

/// The socket's buffer has no room.
fn is_full(result: &Result<(), SysError>) -> bool {
    result.as_ref().is_err_and(|error| error.errno() == EAGAIN)
}

impl Prepared {
    fn send_all(
        &mut self,
        cycle: Cycle,
        mut ledger: Ledger,
        schedule: &Schedule,
        stop: &StopFlag,
    ) -> TalkerLog {
        let mut sent = 0;
        let timed = self.config.launch.is_some();
        let waits = self.config.flow_control.is_some();
        let stamped = self.talker.stamps() != TxStamps::None;
        for wake in cycle {
            let scheduled = wake.departure();
            let probe = Probe { flow: self.config.flow, seq: wake.index(), scheduled };
            probe.emit(&mut self.frame[self.payload_at..]);
            let launch = timed.then_some(scheduled);
            let mut result = self.talker.hand_over_frame(&self.frame, launch);
            while waits && is_full(&result) && !stop.is_stopped() {
                result = self.talker.hand_over_with_room(&self.frame, launch);
            }
            let handed_over = clock::now();
            if timed {
                self.talker.note(scheduled, handed_over);
            }
            if let Some(late) = &mut self.late {
                if handed_over - (scheduled - schedule.margin) > late.limit {
                    (late.act)();
                }
            }
            let result = result.map_err(|error| error.errno());
            ledger.enter(scheduled, wake.woke(), handed_over, result);
            sent += 1;
            if stamped || (timed && sent % DROPS_EVERY == 0) {
                self.take_reports(&mut ledger);
            }
        }
        if stamped || timed {
            self.take_last_reports(&mut ledger, schedule.departure(sent), stop);
        }
        TalkerLog {
            flow: self.config.flow,
            frames: ledger.into_frames(),
            interrupted: sent < self.frames,
            stamps_requested: self.config.stamps != TxStamps::None,
        }
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
