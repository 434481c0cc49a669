//! The recorder's stream (`teiji-lab/src/recorder.c`): records become events with the guest's own
//! time.

use std::io::{self, Read};

/// Time of the guest in picoseconds, of the clock that its TSC counts.
pub type Ps = i64;

/// Some weeks. Differences of times within it do not overflow.
const LAST: Ps = Ps::MAX / 4;

/// Whether a time is one that a recording can have.
pub(crate) fn is_sane(time: Ps) -> bool {
    (-LAST..=LAST).contains(&time)
}

/// Nanoseconds of a kernel's; those that no recording can have are cut.
pub(crate) fn picoseconds(ns: i64) -> Ps {
    ns.saturating_mul(1000).clamp(-LAST, LAST)
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The function of this hook was entered; the values that it requests.
    Entry(u16, Vec<u8>),
    /// It was left.
    Exit(u16, Vec<u8>),
    /// Return from an interrupt or exception.
    Return,
    /// The processor has nothing to execute.
    Halt,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub time: Ps,
    /// When its processor read the TSC last, before it.
    pub clock_read: Ps,
    /// On which processor.
    pub cpu: u16,
    /// What.
    pub what: What,
}

const ENTRY: u8 = 1;
const EXIT: u8 = 2;
const ANCHOR: u8 = 3;
const HALT: u8 = 4;
const RETURN: u8 = 5;
const READING: u8 = 6;

/// Longest payload that the recorder writes.
const MOST: u32 = 8 * 128;

/// How instructions and TSC become time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// What an instruction takes.
    pub instruction_ps: i64,
    /// Ticks of the TSC in a nanosecond.
    pub ticks_per_ns: i64,
}

/// Reads a stream: each item has the events up to the next read of the TSC, in order. What comes
/// after the last read, and a record that is cut off, is left out.
pub struct Stream<R> {
    from: R,
    clock: Clock,
    /// Instructions and time at the last read of the TSC.
    anchor: Option<(u64, Ps)>,
    /// What came since, with its instructions and processor.
    waiting: Vec<(u64, u8, Item)>,
    /// Of each processor that did something.
    processors: Vec<Processor>,
}

enum Item {
    Event(What),
    /// The TSC's value that a processor goes on with after an interruption.
    Reading(Ps),
}

#[derive(Clone, Copy, Default)]
struct Processor {
    /// Whether it has halted since it did something.
    halted: bool,
    /// When it read the TSC last.
    read: Option<Ps>,
}

impl<R: Read> Stream<R> {
    /// Of the recorder's output.
    pub fn new(from: R, clock: Clock) -> Self {
        Self { from, clock, anchor: None, waiting: Vec::new(), processors: Vec::new() }
    }

    fn batch(&mut self) -> io::Result<Option<Vec<Event>>> {
        loop {
            let mut head = [0; 16];
            if !fill(&mut self.from, &mut head)? {
                return Ok(None);
            }
            let [kind, cpu, id0, id1, ..] = head;
            let id = u16::from_le_bytes([id0, id1]);
            let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
            let mut count = [0; 8];
            count.copy_from_slice(&head[8..]);
            let count = u64::from_le_bytes(count);
            if length > MOST {
                return Err(damaged());
            }
            let mut payload = vec![0; length as usize];
            if !fill(&mut self.from, &mut payload)? {
                return Ok(None);
            }
            let tsc = || {
                let ticks = i64::from_le_bytes(*payload.first_chunk()?);
                let now = ticks.checked_mul(1000)? / self.clock.ticks_per_ns;
                is_sane(now).then_some(now)
            };
            let item = match kind {
                READING => Item::Reading(tsc().ok_or_else(damaged)?),
                ANCHOR => {
                    let now = tsc().ok_or_else(damaged)?;
                    let events = self.timed(count, now).ok_or_else(damaged)?;
                    self.processor(cpu).read = Some(now);
                    return Ok(Some(events));
                }
                ENTRY => Item::Event(What::Entry(id, payload)),
                EXIT => Item::Event(What::Exit(id, payload)),
                HALT => Item::Event(What::Halt),
                RETURN => Item::Event(What::Return),
                _ => return Err(damaged()),
            };
            self.waiting.push((count, cpu, item));
        }
    }

    fn processor(&mut self, cpu: u8) -> &mut Processor {
        let cpu = usize::from(cpu);
        if self.processors.len() <= cpu {
            self.processors.resize(cpu + 1, Processor::default());
        }
        &mut self.processors[cpu]
    }

    /// The waiting events, with their times: the clock was read at `now` after `count` instructions.
    /// `None` if these are no times.
    fn timed(&mut self, count: u64, now: Ps) -> Option<Vec<Event>> {
        let instruction_ps = self.clock.instruction_ps;
        let passed = |from: u64, to: u64| {
            i64::try_from(to.checked_sub(from)?).ok()?.checked_mul(instruction_ps)
        };
        let waiting = std::mem::take(&mut self.waiting);
        // QEMU skips the time in which all processors are idle: only later events fit the new reading.
        let mut skip = None;
        for (index, (_, cpu, item)) in waiting.iter().enumerate() {
            self.processor(*cpu).halted = matches!(item, Item::Event(What::Halt));
            if self.processors.iter().all(|processor| processor.halted) {
                skip = Some(index);
            }
        }
        let before = self.anchor.replace((count, now));
        let mut events = Vec::with_capacity(waiting.len());
        for (index, (at, cpu, item)) in waiting.into_iter().enumerate() {
            let what = match item {
                Item::Event(what) => what,
                Item::Reading(read) => {
                    self.processor(cpu).read = Some(read);
                    continue;
                }
            };
            let time = match before.filter(|_| skip.is_none_or(|skip| index <= skip)) {
                Some((since, then)) => then.checked_add(passed(since, at)?)?,
                None => now.checked_sub(passed(at, count)?)?,
            };
            let clock_read = self.processor(cpu).read.unwrap_or(time);
            is_sane(time).then_some(())?;
            events.push(Event { time, clock_read, cpu: cpu.into(), what });
        }
        Some(events)
    }
}

impl<R: Read> Iterator for Stream<R> {
    type Item = io::Result<Vec<Event>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batch().transpose()
    }
}

/// Fills the buffer; false if the stream ends before.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not what the recorder writes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, count: u64, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap();
        let head = [&[kind, 0, 7, 0][..], &length.to_le_bytes(), &count.to_le_bytes()].concat();
        [head, payload.to_vec()].concat()
    }

    /// A record of another processor than the first.
    fn of(cpu: u8, mut record: Vec<u8>) -> Vec<u8> {
        record[1] = cpu;
        record
    }

    #[test]
    fn time_is_skipped_when_the_last_processor_halts() {
        let bytes = [
            record(ANCHOR, 100, &1_000_i64.to_le_bytes()),
            of(1, record(ENTRY, 105, b"")),
            record(HALT, 110, b""),
            of(1, record(ENTRY, 120, b"")),
            of(1, record(HALT, 130, b"")),
            record(RETURN, 140, b""),
            of(1, record(ENTRY, 145, b"")),
            of(1, record(HALT, 150, b"")),
            record(ANCHOR, 160, &9_000_i64.to_le_bytes()),
        ]
        .concat();
        let clock = Clock { instruction_ps: 1_000, ticks_per_ns: 1 };
        let events = Stream::new(&bytes[..], clock).flat_map(Result::unwrap);
        let times: Vec<Ps> = events.map(|event| event.time - 1_000_000).collect();
        let after = 8_000_000;
        let skipped = [20, 15, 10].map(|before| after - before * 1_000);
        assert_eq!(times, [&[5_000, 10_000, 20_000, 30_000][..], &skipped].concat());
    }

    #[test]
    fn a_processor_goes_on_with_what_itself_has_read() {
        let tsc = |kind, count, ticks: i64| record(kind, count, &ticks.to_le_bytes());
        let bytes = [
            tsc(ANCHOR, 100, 1_000),
            of(1, tsc(ANCHOR, 110, 1_010)),
            record(ENTRY, 120, b""),
            of(1, record(ENTRY, 130, b"")),
            // Processor 1 read it before the former, and sees the value only now.
            of(1, tsc(READING, 140, 1_008)),
            of(1, record(ENTRY, 150, b"")),
            of(2, record(ENTRY, 160, b"")),
            tsc(ANCHOR, 170, 1_070),
        ]
        .concat();
        let clock = Clock { instruction_ps: 1_000, ticks_per_ns: 1 };
        let events = Stream::new(&bytes[..], clock).flat_map(Result::unwrap);
        let read: Vec<Ps> = events.map(|event| event.clock_read).collect();
        assert_eq!(read, [1_000_000, 1_010_000, 1_008_000, 1_060_000]);
    }

    #[test]
    fn times_are_counted_from_the_clock_and_idle_time_is_skipped() {
        let bytes = [
            record(ANCHOR, 100, &1_000_i64.to_le_bytes()),
            record(ENTRY, 110, b"ab"),
            record(HALT, 120, b""),
            record(RETURN, 125, b""),
            record(ANCHOR, 130, &9_000_i64.to_le_bytes()),
            record(EXIT, 131, b""),
        ]
        .concat();
        let clock = Clock { instruction_ps: 2_000, ticks_per_ns: 1 };
        let mut stream = Stream::new(&bytes[..], clock);
        assert_eq!(stream.next().unwrap().unwrap(), Vec::new());
        let events = stream.next().unwrap().unwrap();
        let times: Vec<Ps> = events.iter().map(|event| event.time).collect();
        assert_eq!(times, [1_020_000, 1_040_000, 8_990_000]);
        assert_eq!(events[0].what, What::Entry(7, b"ab".to_vec()));
        assert!(stream.next().is_none(), "what has no time is left out");
        let cut = Stream::new(&bytes[..bytes.len() - 1], clock);
        assert!(cut.flatten().count() == 2, "a record that is cut off, too");
        let mut other = Stream::new(&[9; 40][..], clock);
        assert!(other.next().unwrap().is_err());
    }

    #[test]
    fn a_damaged_record_is_an_error() {
        let clock = Clock { instruction_ps: 2_000, ticks_per_ns: 1 };
        let anchor = |count, ticks: i64| record(ANCHOR, count, &ticks.to_le_bytes());
        let [first, last] = [anchor(100, 1_000), anchor(200, 9_000)];
        for damaged in [
            anchor(200, i64::MAX),
            anchor(200, i64::MAX / 1000),
            record(ENTRY, u64::MAX, b""),
            record(ENTRY, 50, b""),
        ] {
            let bytes = [&first[..], &record(ENTRY, 110, b""), &damaged, &last].concat();
            let read: io::Result<Vec<Vec<Event>>> = Stream::new(&bytes[..], clock).collect();
            assert_eq!(read.unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }
}
