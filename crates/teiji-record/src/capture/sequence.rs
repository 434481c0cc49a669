//! Loss, duplicates and reordering from sequence numbers, in constant memory.

/// Sequence numbers behind the highest that are remembered one by one.
const WINDOW: u64 = 1 << 16;

/// What a sequence number means at its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Higher than all before.
    Ahead,
    /// A frame that others had overtaken.
    Behind,
    /// A copy of one that came before.
    Copy,
}

/// Follows the sequence numbers of a flow. A number more than [`WINDOW`]
/// behind the highest counts as overtaken, though it might be a copy.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    lowest: u64,
    highest: u64,
    pub(super) received: u64,
    pub(super) duplicated: u64,
    pub(super) reordered: u64,
    /// One bit for each number modulo the window.
    seen: Vec<u64>,
}

impl Sequence {
    pub(super) fn new(first: u64) -> Self {
        let mut this = Self {
            lowest: first,
            highest: first,
            received: 1,
            duplicated: 0,
            reordered: 0,
            seen: vec![0; (WINDOW / 64) as usize],
        };
        this.mark(first, true);
        this
    }

    /// How many numbers lie between the lowest and the highest, both included.
    pub(super) fn span(&self) -> u64 {
        (self.highest - self.lowest).saturating_add(1)
    }

    pub(super) fn push(&mut self, seq: u64) -> Arrival {
        if seq > self.highest {
            let skipped = seq - self.highest;
            if skipped >= WINDOW {
                self.seen.fill(0);
            } else {
                for passed in self.highest + 1..seq {
                    self.mark(passed, false);
                }
            }
            self.highest = seq;
            self.mark(seq, true);
            self.received += 1;
            return Arrival::Ahead;
        }
        if self.highest - seq < WINDOW {
            if self.is_marked(seq) {
                self.duplicated += 1;
                return Arrival::Copy;
            }
            self.mark(seq, true);
        }
        self.lowest = self.lowest.min(seq);
        self.received += 1;
        self.reordered += 1;
        Arrival::Behind
    }

    fn position(seq: u64) -> (usize, u64) {
        // The remainder is below the window, whatever the platform's usize.
        (((seq % WINDOW) / 64) as usize, 1 << (seq % 64))
    }

    fn is_marked(&self, seq: u64) -> bool {
        let (word, bit) = Self::position(seq);
        self.seen[word] & bit != 0
    }

    fn mark(&mut self, seq: u64, seen: bool) {
        let (word, bit) = Self::position(seq);
        if seen {
            self.seen[word] |= bit;
        } else {
            self.seen[word] &= !bit;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_agree_with_a_set_that_forgets_nothing(
            numbers in proptest::collection::vec(0_u64..300, 1..400), offset in 0_u64..1 << 40,
        ) {
            let numbers: Vec<u64> = numbers.into_iter().map(|n| n + offset).collect();
            let mut sequence = Sequence::new(numbers[0]);
            let (mut set, mut reordered) = (BTreeSet::from([numbers[0]]), 0);
            for n in &numbers[1..] {
                let overtaken = set.last() > Some(n);
                let expected = match (set.insert(*n), overtaken) {
                    (false, _) => Arrival::Copy,
                    (true, true) => Arrival::Behind,
                    (true, false) => Arrival::Ahead,
                };
                reordered += u64::from(expected == Arrival::Behind);
                prop_assert_eq!(sequence.push(*n), expected);
            }
            prop_assert_eq!(sequence.received, set.len() as u64);
            prop_assert_eq!(sequence.duplicated, (numbers.len() - set.len()) as u64);
            prop_assert_eq!(sequence.reordered, reordered);
            prop_assert_eq!(sequence.span(), set.last().unwrap() - set.first().unwrap() + 1);
        }
    }

    #[test]
    fn a_jump_over_the_window_and_the_end_of_numbers_are_survived() {
        let mut sequence = Sequence::new(5);
        assert_eq!(sequence.push(u64::MAX), Arrival::Ahead);
        assert_eq!(sequence.push(u64::MAX), Arrival::Copy);
        assert_eq!(sequence.push(0), Arrival::Behind);
        assert_eq!(sequence.span(), u64::MAX);
    }
}
