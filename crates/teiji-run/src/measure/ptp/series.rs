//! The looks at clocks over time: `.sync.csv` beside a member's records.

use std::fmt::Write as _;
use std::fs;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use teiji_record::{RunFolder, Summary};
use teiji_report::OffsetSeries;

/// The offsets of one clock, from the start of the programs to the end of the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncSeries {
    /// `HOST.WIRE` of the clock, or [`SYSTEM`](super::SYSTEM).
    pub clock: String,
    /// In the order of time.
    pub samples: Vec<Look>,
}

/// One look at a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// When, in `CLOCK_MONOTONIC_RAW`, in ns.
    pub raw_ns: i64,
    /// When, in ns since the first departure; negative before it.
    pub t_ns: i64,
    /// Clock − reference, in ns.
    pub offset_ns: i64,
}

const HEAD: &str = "clock,raw_ns,offset_ns,t_ns\n";

/// Every look at the clocks, beside the records: one line a look.
///
/// # Errors
/// If the file cannot be written.
pub fn write_sync(folder: &RunFolder, records: &str, clocks: &[SyncSeries]) -> anyhow::Result<()> {
    if clocks.is_empty() {
        return Ok(());
    }
    let path = folder.path().join(records).with_extension("sync.csv");
    let mut text = HEAD.to_owned();
    for SyncSeries { clock, samples } in clocks {
        for Look { raw_ns, t_ns, offset_ns } in samples {
            let _ = writeln!(text, "{clock},{raw_ns},{offset_ns},{t_ns}");
        }
    }
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The looks of all members, as far as there are any. Runs of older versions, whose looks have no place on
/// the time of the frames, have none.
pub fn offsets(folder: &RunFolder, summary: &Summary) -> Vec<OffsetSeries> {
    let mut all = Vec::new();
    for case in &summary.cases {
        for member in &case.members {
            let Some(records) = &member.records else { continue };
            let path = folder.path().join(records).with_extension("sync.csv");
            let text = fs::read_to_string(path).unwrap_or_default();
            let looks = parse(&text);
            all.extend(looks.into_iter().map(|(clock, looks)| OffsetSeries {
                case: case.name.clone(),
                seed: member.seed,
                clock,
                looks,
            }));
        }
    }
    all
}

/// Clocks in the order of the file, each with its looks: ns since the first departure, and offset.
fn parse(text: &str) -> Vec<(String, Vec<(i64, i64)>)> {
    let mut clocks: Vec<(String, Vec<(i64, i64)>)> = Vec::new();
    for line in text.strip_prefix(HEAD).unwrap_or_default().lines() {
        let mut fields = line.rsplitn(4, ',');
        let mut number = || fields.next()?.parse::<i64>().ok();
        let (Some(t_ns), Some(offset_ns), Some(_)) = (number(), number(), number()) else {
            continue;
        };
        let Some(clock) = fields.next() else { continue };
        match clocks.last_mut() {
            Some((last, looks)) if last == clock => looks.push((t_ns, offset_ns)),
            _ => clocks.push((clock.to_owned(), vec![(t_ns, offset_ns)])),
        }
    }
    clocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_were_written_are_read_and_older_files_have_none() {
        let text = format!("{HEAD}a.line,5,-3,-100\na.line,6,2,100\nthe system,6,1,100\nbroken\n");
        let read = parse(&text);
        let expected = [
            ("a.line".to_owned(), vec![(-100, -3), (100, 2)]),
            ("the system".to_owned(), vec![(100, 1)]),
        ];
        assert_eq!(read, expected);
        assert_eq!(parse("clock,raw_ns,offset_ns\na.line,5,-3\n"), []);
        assert_eq!(parse(""), []);
    }
}
