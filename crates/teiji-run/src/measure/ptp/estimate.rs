//! What `ptp4l` estimates of the clock that it steers, read from its log: where the master is on
//! another machine nobody can read both clocks.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context;
use teiji_core::time::{Instant, Monotonic, Span};

/// Of an older estimate nobody knows whether it still holds. PTP's messages come once per second or
/// more often.
pub(super) const HOLDS: Span = Span::from_secs(4);
/// From this state on `ptp4l`'s servo steers: before it, it looks (`s0`) or steps (`s1`).
const STEERS: u8 = 2;

/// One estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Estimate {
    /// When `ptp4l` printed it.
    pub(super) at: Instant<Monotonic>,
    /// Clock − master.
    pub(super) offset_ns: i64,
}

/// The log of a running `ptp4l`.
#[derive(Debug)]
pub(super) struct EstimateLog {
    file: File,
    /// What was read of a line whose end is not written yet.
    rest: Vec<u8>,
    newest: Option<Estimate>,
}

impl EstimateLog {
    /// The log at `path`, from its beginning.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self { file, rest: Vec::new(), newest: None })
    }

    /// The newest estimate, if it still holds at `now`.
    pub(super) fn look(&mut self, now: Instant<Monotonic>) -> anyhow::Result<Option<Estimate>> {
        self.read().context("cannot read the log of ptp4l")?;
        Ok(self.newest.filter(|newest| now - newest.at <= HOLDS))
    }

    /// The newest estimate, however old.
    pub(super) const fn newest(&self) -> Option<Estimate> {
        self.newest
    }

    fn read(&mut self) -> io::Result<()> {
        self.file.read_to_end(&mut self.rest)?;
        let Some(end) = self.rest.iter().rposition(|&byte| byte == b'\n') else { return Ok(()) };
        let lines: Vec<u8> = self.rest.drain(..=end).collect();
        let lines = String::from_utf8_lossy(&lines);
        self.newest = lines.lines().rev().find_map(parse).or(self.newest);
        Ok(())
    }
}

/// `ptp4l[234.119]: master offset    -141929 s2 freq   +8014 path delay    698941`: the time is
/// `CLOCK_MONOTONIC`, the offset is in ns.
fn parse(line: &str) -> Option<Estimate> {
    let (time, message) = line.strip_prefix("ptp4l[")?.split_once("]: ")?;
    let (_, message) = message.split_once("master offset ")?;
    let mut words = message.split_whitespace();
    let offset_ns = words.next()?.parse().ok()?;
    let state: u8 = words.next()?.strip_prefix('s')?.parse().ok()?;
    if words.next() != Some("freq") || state < STEERS {
        return None;
    }
    let (seconds, millis) = time.split_once('.').filter(|(_, millis)| millis.len() == 3)?;
    let number = |digits: &str| digits.parse::<u32>().ok().map(i64::from);
    let (seconds, millis) = (number(seconds)?, number(millis)?);
    Some(Estimate { at: Instant::from_ns((seconds * 1_000 + millis) * 1_000_000), offset_ns })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const LINE: &str =
        "ptp4l[234.119]: master offset    -141929 s2 freq   +8014 path delay    698941";

    fn at(ms: i64) -> Instant<Monotonic> {
        Instant::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_line_of_a_servo_that_steers_is_an_estimate() {
        let expected = Estimate { at: at(234_119), offset_ns: -141_929 };
        assert_eq!(parse(LINE), Some(expected));
        let locked = LINE.replace("s2", "s3").replace("-141929", "7");
        assert_eq!(parse(&locked).map(|estimate| estimate.offset_ns), Some(7));
    }

    #[test]
    fn other_lines_and_damaged_ones_are_none() {
        for line in [
            &LINE.replace("s2", "s0"),
            &LINE.replace("s2", "s1"),
            &LINE.replace("s2", "2"),
            &LINE.replace("-141929", "-"),
            &LINE.replace("-141929", "99999999999999999999"),
            &LINE.replace("234.119", "234.1"),
            &LINE.replace("234.119", "-234.119"),
            &LINE.replace("234.119", "99999999999.119"),
            &LINE.replace("234.119", "+9.1é"),
            "ptp4l[234.119]: rms 3 max 5 freq +8014 +/- 4 delay 698 +/- 0",
            "ptp4l[234.119]: port 1: UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED",
            "ptp4l[234.119]: master offset ",
            "ptp4l[234.119]: master offset 5 s2",
            "phc2sys[234.119]: CLOCK_REALTIME phc offset 5 s2 freq +1 delay 3",
            "ptp4l[",
            "",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn the_newest_line_that_is_whole_counts_while_it_is_not_too_old() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut written = File::create(&path).unwrap();
        let mut log = EstimateLog::open(&path).unwrap();
        assert_eq!(log.look(at(234_119)).unwrap(), None);
        let newer = LINE.replace("234.119", "235.000").replace("-141929", "5");
        let (half, other) = newer.split_at(30);
        written.write_all(b"ptp4l[230.000]: no text: \xff\n").unwrap();
        write!(written, "{LINE}\nother words\n{half}").unwrap();
        assert_eq!(log.look(at(236_000)).unwrap().unwrap().offset_ns, -141_929);
        writeln!(written, "{other}").unwrap();
        assert_eq!(log.look(at(236_000)).unwrap().unwrap().offset_ns, 5);
        assert_eq!(log.look(at(239_000)).unwrap().unwrap().at, at(235_000));
        assert_eq!(log.look(at(239_001)).unwrap(), None);
        assert_eq!(log.newest().unwrap().at, at(235_000));
    }
}
