//! What arrived so far: records in order, and which frames are still missing.

use super::{Arrival, ExpectedFlow, ListenerError, record};
use crate::record::{ListenerLog, RxRecord};
use teiji_core::reception::Reception;
use teiji_core::time::Instant;

/// Records that are taken beyond the expected frames (for duplicates), and
/// for flows of unknown length, before the list must grow.
const RESERVE: usize = 1 << 16;

/// The records of a listener.
#[derive(Debug, Default)]
pub(super) struct Tally {
    arrivals: Vec<RxRecord>,
    foreign: u64,
    /// Empty: every flow is welcome.
    flows: Vec<Flow>,
    /// Distinct frames that are still to come; `None` if nobody knows.
    missing: Option<u64>,
}

#[derive(Debug)]
struct Flow {
    id: u16,
    /// One bit a frame that has arrived, if their number is known.
    seen: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    frames: u64,
    bits: Vec<u64>,
}

impl Tally {
    /// Takes and touches all memory that the expected frames need.
    pub(super) fn new(expected: &[ExpectedFlow]) -> Result<Self, ListenerError> {
        let total: u64 = expected.iter().filter_map(|f| f.frames).fold(0, u64::saturating_add);
        let too_many = || ListenerError::TooManyFrames { frames: total };
        let records = usize::try_from(total).map_err(|_| too_many())?;
        let records = records.checked_add(RESERVE).ok_or_else(too_many)?;
        let mut arrivals: Vec<RxRecord> = Vec::new();
        arrivals.try_reserve_exact(records).map_err(|_| too_many())?;
        let blank = RxRecord {
            flow: 0,
            seq: 0,
            scheduled: Instant::from_ns(0),
            rx_kernel: None,
            rx_hardware: None,
            taken: Instant::from_ns(0),
            reception: Reception::UNKNOWN,
        };
        arrivals.resize(records, blank);
        arrivals.clear(); // The pages stay.
        let mut flows = Vec::new();
        for &ExpectedFlow { id, frames } in expected {
            let seen = frames.map(|frames| Seen {
                frames,
                bits: vec![0; usize::try_from(frames.div_ceil(64)).unwrap_or(usize::MAX)],
            });
            flows.push(Flow { id, seen });
        }
        let countable = !expected.is_empty() && expected.iter().all(|f| f.frames.is_some());
        Ok(Self { arrivals, foreign: 0, flows, missing: countable.then_some(total) })
    }

    /// Whether every expected frame has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.missing == Some(0)
    }

    /// Enters an arrival.
    pub(super) fn enter(&mut self, arrival: &Arrival<'_>) {
        match record(arrival).filter(|record| self.welcomes(record)) {
            Some(record) => self.arrivals.push(record),
            None => self.foreign += 1,
        }
    }

    /// Whether the frame belongs to an expected flow; notes it as arrived.
    fn welcomes(&mut self, record: &RxRecord) -> bool {
        if self.flows.is_empty() {
            return true;
        }
        let Some(flow) = self.flows.iter_mut().find(|f| f.id == record.flow) else {
            return false;
        };
        let Some(seen) = &mut flow.seen else { return true };
        if record.seq >= seen.frames {
            return false;
        }
        let mask = 1 << (record.seq % 64);
        if let Some(word) = usize::try_from(record.seq / 64).ok().and_then(|i| seen.bits.get_mut(i))
        {
            if *word & mask == 0 {
                *word |= mask;
                self.missing = self.missing.map(|missing| missing - 1);
            }
        }
        true
    }

    /// What was entered so far.
    pub(super) fn arrivals(&self) -> &[RxRecord] {
        &self.arrivals
    }

    /// The log, without the socket's own counter.
    pub(super) fn into_log(self) -> ListenerLog {
        ListenerLog { arrivals: self.arrivals, foreign: self.foreign, ..ListenerLog::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_core::wire::Probe;

    fn arrival(payload: &[u8]) -> Arrival<'_> {
        Arrival { payload, rx_kernel: None, rx_hardware: None, taken: Instant::from_ns(9) }
    }

    fn enter(tally: &mut Tally, flow: u16, seq: u64) {
        let mut payload = [0; 64];
        Probe { flow, seq, scheduled: Instant::from_ns(1) }.emit(&mut payload);
        tally.enter(&arrival(&payload));
    }

    fn expected(id: u16, frames: u64) -> ExpectedFlow {
        ExpectedFlow { id, frames: Some(frames) }
    }

    #[test]
    fn it_is_complete_when_every_frame_of_every_flow_came_in_any_order() {
        let mut tally = Tally::new(&[expected(0, 100), expected(3, 1)]).unwrap();
        for seq in (0..100).rev() {
            assert!(!tally.is_complete());
            enter(&mut tally, 0, seq);
            enter(&mut tally, 0, seq); // a duplicate does not count twice
        }
        assert!(!tally.is_complete());
        enter(&mut tally, 3, 0);
        assert!(tally.is_complete());
        let log = tally.into_log();
        assert_eq!((log.arrivals.len(), log.foreign), (201, 0));
        assert_eq!(log.arrivals[0].seq, 99);
    }

    #[test]
    fn what_is_not_expected_is_foreign() {
        let mut tally = Tally::new(&[expected(1, 10)]).unwrap();
        enter(&mut tally, 2, 0); // another flow
        enter(&mut tally, 1, 10); // beyond the last frame
        tally.enter(&arrival(b"hello"));
        let log = tally.into_log();
        assert_eq!((log.arrivals.len(), log.foreign), (0, 3));
    }

    #[test]
    fn without_expectation_every_test_frame_is_recorded_and_there_is_no_end() {
        for flows in [vec![], vec![ExpectedFlow { id: 5, frames: None }]] {
            let mut tally = Tally::new(&flows).unwrap();
            enter(&mut tally, 5, u64::MAX);
            assert!(!tally.is_complete());
            assert_eq!(tally.into_log().arrivals.len(), 1);
        }
    }

    #[test]
    fn more_frames_than_memory_are_refused() {
        let error = Tally::new(&[expected(0, u64::MAX), expected(1, 7)]).unwrap_err();
        assert!(matches!(error, ListenerError::TooManyFrames { .. }), "{error}");
    }
}
