//! What each processor does, as one event follows the other: its thread, and the interrupts and
//! softirqs on top of it.

use std::collections::HashMap;

use crate::stream::Ps;
use crate::timeline::{Layer, Passage, Segment};

/// All processors that were seen so far.
#[derive(Default)]
pub(crate) struct Processors {
    current: Vec<Current>,
    /// What interrupted a thread, which may have been exchanged meanwhile.
    layers: HashMap<Stack, Vec<Layer>>,
    segments: Vec<Vec<Segment>>,
}

/// What a processor does.
struct Current {
    pid: u32,
    since: Ps,
    seen: Ps,
}

/// Whose stack: a thread's, or a processor's idle one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Stack {
    Thread(u32),
    Idle(u16),
}

impl Processors {
    /// A processor is seen at `time`; if for the first time, this thread is its current one. Those
    /// before it are seen, too. Returns when it was seen before.
    pub(crate) fn see(&mut self, cpu: u16, time: Ps, pid: u32) -> Ps {
        let cpu = usize::from(cpu);
        if self.current.len() <= cpu {
            self.current.resize_with(cpu + 1, || Current { pid: 0, since: time, seen: time });
            self.segments.resize_with(cpu + 1, Vec::new);
            self.current[cpu].pid = pid;
        }
        std::mem::replace(&mut self.current[cpu].seen, time)
    }

    /// The current thread.
    pub(crate) fn pid(&self, cpu: u16) -> u32 {
        self.current[usize::from(cpu)].pid
    }

    /// A frame passes a place now.
    pub(crate) fn passage(&self, cpu: u16, time: Ps) -> Passage {
        Passage { time, cpu, pid: self.pid(cpu), layer: self.layer(cpu) }
    }

    fn stack(&self, cpu: u16) -> Stack {
        match self.pid(cpu) {
            0 => Stack::Idle(cpu),
            pid => Stack::Thread(pid),
        }
    }

    /// Ends what a processor did up to now.
    pub(crate) fn close(&mut self, cpu: u16, time: Ps) {
        let layer = self.layer(cpu);
        let current = &mut self.current[usize::from(cpu)];
        let (pid, start) = (current.pid, current.since);
        // The clock of a recording is put together piece by piece.
        current.since = time.max(start);
        if start >= time {
            return;
        }
        let segments = &mut self.segments[usize::from(cpu)];
        match segments.last_mut() {
            Some(last) if (last.pid, last.layer) == (pid, layer) => last.end = time,
            _ => segments.push(Segment { start, end: time, pid, layer }),
        }
    }

    /// It goes on with another thread.
    pub(crate) fn switch(&mut self, cpu: u16, time: Ps, pid: u32) {
        self.close(cpu, time);
        self.current[usize::from(cpu)].pid = pid;
    }

    /// Something interrupts it.
    pub(crate) fn push(&mut self, cpu: u16, time: Ps, layer: Layer) {
        self.close(cpu, time);
        self.layers.entry(self.stack(cpu)).or_default().push(layer);
    }

    /// The last of these layers ends, and all within it.
    pub(crate) fn pop(&mut self, cpu: u16, time: Ps, ended: impl Fn(&Layer) -> bool) {
        self.close(cpu, time);
        let Some(layers) = self.layers.get_mut(&self.stack(cpu)) else { return };
        if let Some(at) = layers.iter().rposition(ended) {
            layers.truncate(at);
        }
    }

    /// It spins for a lock.
    pub(crate) fn spins(&self, cpu: u16) -> bool {
        matches!(self.layer(cpu), Some(Layer::Spin(_)))
    }

    /// What interrupts the current thread.
    fn layer(&self, cpu: u16) -> Option<Layer> {
        self.layers.get(&self.stack(cpu))?.last().copied()
    }

    /// Of each processor, what it did until it was seen last.
    pub(crate) fn finish(mut self) -> Vec<Vec<Segment>> {
        for cpu in (0..).take(self.current.len()) {
            self.close(cpu, self.current[usize::from(cpu)].seen);
        }
        self.segments
    }
}
