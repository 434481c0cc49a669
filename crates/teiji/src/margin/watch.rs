//! Watching at run time how much of a margin is left when frames are handed over.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use teiji_core::time::{Instant, Span, Tai};

/// Below this share of the margin, in per cent, a frame is close to being late.
const LOW_PERCENT: i64 = 20;

/// Notes how much of the margin is left at each hand-over, and counts the frames
/// that came close to using it up. Clones share the count, so that one thread
/// sends and another one warns; nothing is allocated or waited for.
///
/// ```
/// use teiji::margin::{Headroom, Watch};
/// use teiji::{Instant, Spans};
///
/// let watch = Watch::new(400.micros(), 150.micros());
/// let departure = Instant::from_ns(1_000_000);
/// let headroom = watch.note(departure, Instant::from_ns(700_000));
/// assert_eq!(headroom, Headroom::Enough(150.micros()));
/// ```
#[derive(Clone, Debug)]
pub struct Watch {
    reserve: Span,
    low: Span,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    frames: AtomicU64,
    low: AtomicU64,
    used_up: AtomicU64,
    least_ns: AtomicI64,
}

/// What was left of the margin when a frame was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    /// So much, at least a fifth of what there is for waking and handing over.
    Enough(Span),
    /// So much, less than a fifth: time to lengthen the margin.
    Low(Span),
    /// Nothing: the hand-over was later by this much than it should have been.
    UsedUp(Span),
}

/// What a [`Watch`] has seen so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Frames noted.
    pub frames: u64,
    /// Frames with less than a fifth left, those with nothing left among them.
    pub low: u64,
    /// Frames with nothing left.
    pub used_up: u64,
    /// The least that was left, negative if nothing was; `None` before the first
    /// frame.
    pub least: Option<Span>,
}

impl Watch {
    /// Watches a margin of which the last `reserve` belongs to the kernel: ETF's
    /// `delta`, or zero without ETF.
    pub fn new(margin: impl Into<Span>, reserve: Span) -> Self {
        let own = margin.into() - reserve;
        Self {
            reserve,
            low: Span::from_ns(own.as_ns() / 100 * LOW_PERCENT),
            shared: Arc::new(Shared {
                frames: AtomicU64::new(0),
                low: AtomicU64::new(0),
                used_up: AtomicU64::new(0),
                least_ns: AtomicI64::new(i64::MAX),
            }),
        }
    }

    /// Notes a frame that should leave at `departure` and was handed over at
    /// `handed_over`.
    #[inline]
    pub fn note(&self, departure: Instant<Tai>, handed_over: Instant<Tai>) -> Headroom {
        let left = departure - self.reserve - handed_over;
        let Shared { frames, low, used_up, least_ns } = &*self.shared;
        least_ns.fetch_min(left.as_ns(), Ordering::Relaxed);
        let headroom = if left <= Span::ZERO {
            used_up.fetch_add(1, Ordering::Relaxed);
            low.fetch_add(1, Ordering::Relaxed);
            Headroom::UsedUp(Span::ZERO - left)
        } else if left < self.low {
            low.fetch_add(1, Ordering::Relaxed);
            Headroom::Low(left)
        } else {
            Headroom::Enough(left)
        };
        // Last: who reads this many frames sees what they were like.
        frames.fetch_add(1, Ordering::Release);
        headroom
    }

    /// What was seen so far, from any thread.
    pub fn reading(&self) -> Reading {
        let Shared { frames, low, used_up, least_ns } = &*self.shared;
        let frames = frames.load(Ordering::Acquire);
        let least = Span::from_ns(least_ns.load(Ordering::Relaxed));
        Reading {
            frames,
            low: low.load(Ordering::Relaxed),
            used_up: used_up.load(Ordering::Relaxed),
            least: (frames > 0).then_some(least),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_warns_before_the_margin_is_used_up() {
        let watch = Watch::new(Span::from_micros(400), Span::from_micros(150));
        assert_eq!(watch.reading().least, None);
        let departure = Instant::from_ns(1_000_000);
        let at = |us: i64| watch.note(departure, Instant::from_ns(us * 1_000));
        // Woken at 600 µs; ETF wants the frame by 850 µs; a fifth of 250 is 50.
        assert_eq!(at(610), Headroom::Enough(Span::from_micros(240)));
        assert_eq!(at(800), Headroom::Enough(Span::from_micros(50)));
        assert_eq!(at(801), Headroom::Low(Span::from_micros(49)));
        assert_eq!(at(900), Headroom::UsedUp(Span::from_micros(50)));
        let reading = watch.clone().reading();
        assert_eq!((reading.frames, reading.low, reading.used_up), (4, 2, 1));
        assert_eq!(reading.least, Some(Span::from_micros(-50)));
    }
}
