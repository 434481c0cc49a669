//! Totals: how long a case lasts and how much its wires carry.

use std::collections::BTreeMap;

use teiji_core::quantity::{Rate, grouped};
use teiji_core::time::Span;

use super::{DAY_NS, Places, TOO_LONG_NS};
use crate::draft::{FlowDraft, ScenarioDraft};
use crate::log::Log;
use crate::scenario::{SendMode, Transport};

pub(super) fn check(draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    for flow in &draft.flows {
        duration(flow, places, log);
    }
    utilisation(draft, places, log);
}

fn duration(flow: &FlowDraft, places: &Places<'_>, log: &Log) {
    let (Some(period), Some(frames)) = (flow.period, flow.frames) else { return };
    let total = i128::from(period.as_ns()) * i128::from(frames)
        + i128::from(flow.offset.map_or(0, Span::as_ns));
    let at = places.flow(&flow.name, "frames");
    let days = u64::try_from(total / DAY_NS).unwrap_or(u64::MAX);
    if total > TOO_LONG_NS {
        log.mistake(
            at,
            format!("{} frames every {period} take {} days", grouped(frames), grouped(days)),
            "Use fewer frames; an experiment lasts at most a year.",
        );
    } else if total > DAY_NS {
        let hours = total / (DAY_NS / 24);
        log.warning(
            at,
            format!("{} frames every {period} take {hours} hours", grouped(frames)),
            "Every frame is kept: expect large records.",
        );
    }
}

/// The share of a wire's direction that its flows need, as laid out.
fn utilisation(draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    let mut directions: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for flow in &draft.flows {
        let (Some(from), Some(first), Some(period)) = (&flow.from, &flow.wire, flow.period) else {
            continue;
        };
        let (Some(payload), Some(transport)) = (flow.payload, flow.transport) else { continue };
        if flow.mode == Some(SendMode::BackToBack) {
            continue;
        }
        let passed = draft.passed(from, first, &flow.downstream_wires);
        for (sender, wire) in passed.into_iter().step_by(2) {
            let Some(rate) = draft.wire(wire).and_then(|w| w.rate) else { continue };
            let line = line_time(transport, payload, rate);
            let share = line.as_secs_f64() / period.as_secs_f64();
            let total = directions.entry((wire, sender)).or_default();
            let before = *total;
            *total += share;
            if before <= 1.0 && *total > 1.0 {
                log.warning(
                    places.flow(&flow.name, "period"),
                    format!(
                        "`{wire}` cannot carry this: a frame of `{}` takes {line} at {}, and the \
                         flows from `{sender}` fill {:.0} % of it",
                        flow.name,
                        rate,
                        *total * 100.0
                    ),
                    "Use a longer period or a smaller payload.",
                );
            }
        }
    }
}

/// Time on the wire with everything around the frame.
pub(super) fn line_time(transport: Transport, payload: u16, rate: Rate) -> Span {
    rate.serialisation(transport.octets(payload))
}
