//! `mqprio`: traffic classes on ranges of transmit queues.

use teiji_experiment::scenario::{Mqprio, QueueRange};

use super::{Kind, MAX_CLASSES, NotOffloaded, OPTIONS, joined};
use crate::message::{Request, u16_at};

impl Kind for Mqprio {
    fn words(&self) -> String {
        format!("{} hw {}", class_words(&self.map, &self.queues), u8::from(self.hw))
    }

    fn encode(&self, request: Request) -> Request {
        request.attribute(OPTIONS, &qopt(&self.map, &self.queues, self.hw))
    }

    fn module(&self) -> Option<&'static str> {
        Some("sch_mqprio")
    }

    fn not_offloaded(&self) -> Option<NotOffloaded> {
        Some(NotOffloaded {
            lack: "does not do `mqprio` in hardware: `hw 1`",
            instead: "`hw = false` (the kernel does it).",
        })
    }
}

pub(super) fn decode(options: &[u8]) -> Option<Mqprio> {
    let (map, queues) = parse_classes(options)?;
    Some(Mqprio { map, queues, hw: *options.get(17)? != 0 })
}

/// `struct tc_mqprio_qopt { u8 num_tc; u8 prio_tc_map[16]; u8 hw; u16 count[16],
/// offset[16]; }`, 82 bytes.
pub(super) fn qopt(map: &[u8; 16], queues: &[QueueRange], hw: bool) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(queues.len()).unwrap_or(u8::MAX)];
    bytes.extend_from_slice(map);
    bytes.push(u8::from(hw));
    let column = |pick: fn(&QueueRange) -> u16| {
        let mut column: Vec<u16> = queues.iter().map(pick).collect();
        column.resize(MAX_CLASSES, 0);
        column.into_iter().flat_map(u16::to_ne_bytes)
    };
    bytes.extend(column(|range| range.count));
    bytes.extend(column(|range| range.offset));
    bytes
}

/// Map and queues of a `struct tc_mqprio_qopt`.
pub(super) fn parse_classes(bytes: &[u8]) -> Option<([u8; 16], Vec<QueueRange>)> {
    let classes = usize::from(*bytes.first()?).min(MAX_CLASSES);
    let queues = (0..classes)
        .map(|tc| {
            Some(QueueRange {
                count: u16_at(bytes, 18 + 2 * tc)?,
                offset: u16_at(bytes, 18 + 2 * MAX_CLASSES + 2 * tc)?,
            })
        })
        .collect::<Option<_>>()?;
    Some((*bytes.get(1..17)?.first_chunk()?, queues))
}

pub(super) fn class_words(map: &[u8; 16], queues: &[QueueRange]) -> String {
    let ranges: Vec<String> = queues.iter().map(QueueRange::to_string).collect();
    format!(" num_tc {} map {} queues {}", queues.len(), joined(map), ranges.join(" "))
}
