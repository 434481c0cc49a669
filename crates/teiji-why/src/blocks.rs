//! When threads slept, and who woke them.

use std::collections::HashMap;

use crate::stream::Ps;
use crate::timeline::{Block, Passage};

/// Threads as they leave a processor, and as they are woken.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    asleep: HashMap<u32, Ps>,
    made: HashMap<u32, Vec<Block>>,
}

impl Blocks {
    /// A processor goes on with `next`; `previous` sleeps, or could run on.
    pub(crate) fn switch(&mut self, time: Ps, previous: u32, sleeps: bool, next: u32) {
        // Each processor has an idle thread, with the same number.
        if sleeps && previous != 0 {
            self.asleep.insert(previous, time);
        }
        // Who runs without having been woken was preempted on its way to sleep.
        self.asleep.remove(&next);
    }

    /// A thread is woken; it need not have slept.
    pub(crate) fn wake(&mut self, woken: u32, waker: Passage) {
        if let Some(start) = self.asleep.remove(&woken) {
            let block = Block { start, end: waker.time, waker };
            self.made.entry(woken).or_default().push(block);
        }
    }

    /// By thread.
    pub(crate) fn finish(self) -> HashMap<u32, Vec<Block>> {
        self.made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_sleeps_until_it_is_woken_and_not_while_it_is_preempted() {
        let by = |time| Passage { time, cpu: 1, pid: 5, layer: None };
        let mut blocks = Blocks::default();
        blocks.switch(10, 7, true, 0);
        blocks.wake(7, by(15));
        blocks.wake(7, by(16));
        blocks.switch(20, 0, true, 7);
        // Preempted, and woken meanwhile; then preempted on its way to sleep.
        blocks.switch(30, 7, false, 9);
        blocks.wake(7, by(35));
        blocks.switch(40, 9, false, 7);
        blocks.switch(50, 7, true, 9);
        blocks.switch(60, 9, true, 7);
        blocks.wake(7, by(65));
        let made = blocks.finish();
        assert_eq!(made[&7], [Block { start: 10, end: 15, waker: by(15) }]);
        assert_eq!(made.len(), 1);
    }
}
