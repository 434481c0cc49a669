//! A margin measured on an interface of this machine, as it is set up.

use teiji::StopFlag;
use teiji::load::{LoadKind, Running};
use teiji::margin::running_kernel;
use teiji::talker::{Destination, LaunchMode, Prepared, TalkerConfig, TxStamps};
use teiji_core::cycle::Schedule;
use teiji_core::domain::{RtPriority, SocketPriority};
use teiji_core::time::Span;
use teiji_core::wire::MacAddr;
use teiji_experiment::SendMode;
use teiji_record::{FlowPlan, join};
use teiji_stats::{Misses, Stations};

use super::{Bench, Etf, Member, Trial};
use crate::measure::loads;

/// The group address "nearest bridge" (IEEE 802.1Q, table 8-1): no bridge
/// forwards frames to it, so test frames end at the other end of the cable.
pub const NEAREST_BRIDGE: MacAddr = MacAddr([0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E]);

/// An interface, and how frames are sent through it.
pub struct InterfaceBench {
    /// Its name.
    pub interface: String,
    /// Where the frames go.
    pub to: MacAddr,
    /// Distance between two frames.
    pub period: Span,
    /// Frames of each run.
    pub frames: u64,
    /// `SO_PRIORITY` of the frames.
    pub priority: SocketPriority,
    /// `SCHED_FIFO` priority of the sender.
    pub realtime: RtPriority,
    /// The delta of the ETF that frames of this priority pass; without one they
    /// are sent without launch times.
    pub delta: Option<Span>,
    /// Background load.
    pub loads: Vec<LoadKind>,
    /// Ends it early.
    pub stop: StopFlag,
}

impl Bench for InterfaceBench {
    fn run(&self, margin: Span, _delta: Span, _round: u64) -> anyhow::Result<Trial> {
        let scheduling =
            teiji::Scheduling { realtime: Some(self.realtime), cpu: None, lock_memory: true };
        let config = TalkerConfig {
            priority: self.priority,
            launch: self.delta.map(|_| LaunchMode::Exact),
            stamps: TxStamps::Kernel,
            scheduling,
            ..TalkerConfig::new(&self.interface, Destination::Ethernet { to: self.to, vlan: None })
        };
        loads::allowed(self.loads.iter())?;
        let prepared = Prepared::new(&config, self.frames)?;
        let running = self.loads.iter().map(|kind| Running::start(*kind));
        let running = running.collect::<Result<Vec<_>, _>>()?;
        let log = prepared.ready().and_then(|ready| {
            let base = ready.first_departure(self.period, margin);
            let schedule = Schedule { base, period: self.period, margin };
            Ok((ready.run(&schedule, &self.stop)?, base))
        });
        let loads = loads::stop(running, None);
        let (log, base) = log?;
        let plan = FlowPlan {
            flow: config.flow,
            name: self.interface.clone(),
            frames: self.frames,
            base,
            period: self.period,
            mode: SendMode::LaunchTime { margin, deadline: false },
            tx_stamps: true,
        };
        let incomplete = log.interrupted;
        let joined = join(&[plan], &[log], &[], []);
        Ok(Trial {
            members: vec![Member {
                stations: Stations::of(&joined.rows, margin, self.delta),
                misses: Misses::of(&joined.rows),
            }],
            loads,
            folder: None,
            kernel: running_kernel(),
            incomplete,
        })
    }

    fn generous(&self) -> (Span, Span) {
        let delta = self.delta.unwrap_or(Span::ZERO);
        (delta + Span::from_millis(4) + Span::from_ns(self.period.as_ns() / 2), delta)
    }

    fn period(&self) -> Span {
        self.period
    }

    fn etf(&self) -> Etf {
        self.delta.map_or(Etf::None, Etf::Theirs)
    }
}
