//! `etf`: earliest transmit time first.

use teiji_core::time::{ClockId, Span};
use teiji_experiment::scenario::Etf;

use super::{Kind, NotOffloaded, OPTIONS, QdiscError};
use crate::message::{Request, attribute, i32_at, u32_at};

/// `TCA_ETF_PARMS`
const PARMS: u16 = 1;
const DEADLINE_MODE_ON: u32 = 1 << 0;
const OFFLOAD_ON: u32 = 1 << 1;
const SKIP_SOCK_CHECK: u32 = 1 << 2;

impl Kind for Etf {
    fn words(&self) -> String {
        let mut words = format!(" clockid {} delta {}", self.clock.name(), self.delta.as_ns());
        for (set, word) in [
            (self.offload, " offload"),
            (self.deadline_mode, " deadline_mode"),
            (self.skip_sock_check, " skip_sock_check"),
        ] {
            words.push_str(if set { word } else { "" });
        }
        words
    }

    /// `struct tc_etf_qopt { s32 delta; s32 clockid; u32 flags; }`
    fn encode(&self, request: Request) -> Request {
        let delta_ns = i32::try_from(self.delta.as_ns()).unwrap_or(i32::MAX);
        let flags = [
            (self.deadline_mode, DEADLINE_MODE_ON),
            (self.offload, OFFLOAD_ON),
            (self.skip_sock_check, SKIP_SOCK_CHECK),
        ];
        let flags = flags.into_iter().filter(|(set, _)| *set).fold(0, |all, (_, flag)| all | flag);
        let qopt = [delta_ns.to_ne_bytes(), self.clock.number().to_ne_bytes(), flags.to_ne_bytes()];
        request.nested(OPTIONS, |options| options.attribute(PARMS, &qopt.concat()))
    }

    fn check(&self) -> Result<(), QdiscError> {
        let fits = (Span::ZERO..=Self::LONGEST_DELTA).contains(&self.delta);
        if fits { Ok(()) } else { Err(QdiscError::Delta(self.delta.as_ns())) }
    }

    fn module(&self) -> Option<&'static str> {
        Some("sch_etf")
    }

    fn not_offloaded(&self) -> Option<NotOffloaded> {
        Some(NotOffloaded {
            lack: "has no launch-time queue: `etf offload`",
            instead: "`offload = false` (software ETF),\n  or a NIC with launch time (i210, i225/i226, stmmac, …).",
        })
    }
}

pub(super) fn decode(options: &[u8]) -> Option<Etf> {
    let qopt = attribute(options, PARMS)?;
    let flags = u32_at(qopt, 8)?;
    let number = i32_at(qopt, 4)?;
    let clocks = [ClockId::Tai, ClockId::Realtime, ClockId::Monotonic];
    Some(Etf {
        delta: Span::from_ns(i32_at(qopt, 0)?.into()),
        clock: clocks.into_iter().find(|clock| clock.number() == number)?,
        offload: flags & OFFLOAD_ON != 0,
        deadline_mode: flags & DEADLINE_MODE_ON != 0,
        skip_sock_check: flags & SKIP_SOCK_CHECK != 0,
    })
}
