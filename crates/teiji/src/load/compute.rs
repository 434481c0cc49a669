//! Loads that need nothing but the machine: computing, timers, memory.

use std::hint::black_box;

use teiji_core::time::{Monotonic, Span};
use teiji_sys::clock;

use super::pace::Pace;

const STEPS: u64 = 10_000;
const SLEEP: Span = Span::from_micros(100);
/// Longer than the caches of common processors by themselves share out.
const BLOCK: usize = 16 << 20;
/// Copied between two looks at the clock.
const PIECE: usize = 1 << 20;

pub(super) fn cpu(pace: &mut Pace) {
    let mut state = 1_u64;
    loop {
        for _ in 0..STEPS {
            state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        if !pace.did(1) {
            return;
        }
    }
}

pub(super) fn timer(pace: &mut Pace) {
    loop {
        clock::sleep_until(clock::now::<Monotonic>() + SLEEP);
        if !pace.did(1) {
            return;
        }
    }
}

pub(super) fn memory(pace: &mut Pace) {
    let mut from = vec![1_u8; BLOCK];
    let mut to = vec![2_u8; BLOCK];
    loop {
        for (from, to) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
            to.copy_from_slice(black_box(from));
            if !pace.did(1) {
                return;
            }
        }
        std::mem::swap(&mut from, &mut to);
    }
}
