//! `pfifo`, and `fq_codel`, which is observed only.

use teiji_experiment::scenario::{FqCodel, Pfifo};

use super::{DropReason, Kind, OPTIONS};
use crate::message::{Request, attribute, u32_at};

/// `TCA_FQ_CODEL_TARGET`
const TARGET: u16 = 1;
/// `TCA_FQ_CODEL_LIMIT`
const LIMIT: u16 = 2;
/// `TCA_FQ_CODEL_INTERVAL`
const INTERVAL: u16 = 3;

impl Kind for Pfifo {
    fn words(&self) -> String {
        format!(" limit {}", self.limit)
    }

    /// `struct tc_fifo_qopt { u32 limit; }`
    fn encode(&self, request: Request) -> Request {
        request.u32(OPTIONS, self.limit)
    }

    fn drops_for(&self) -> Option<DropReason> {
        Some(DropReason::Full)
    }
}

pub(super) fn decode(options: &[u8]) -> Option<Pfifo> {
    Some(Pfifo { limit: u32_at(options, 0)? })
}

impl Kind for FqCodel {
    fn words(&self) -> String {
        let Self { limit, target_us, interval_us } = self;
        format!(" limit {limit} target {target_us}us interval {interval_us}us")
    }

    fn encode(&self, request: Request) -> Request {
        request
    }

    fn drops_for(&self) -> Option<DropReason> {
        Some(DropReason::Delay)
    }
}

pub(super) fn decode_fq_codel(options: &[u8]) -> Option<FqCodel> {
    let field = |kind| attribute(options, kind).and_then(|value| u32_at(value, 0));
    Some(FqCodel { limit: field(LIMIT)?, target_us: field(TARGET)?, interval_us: field(INTERVAL)? })
}
