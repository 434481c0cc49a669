//! Reading the system's clocks and sleeping until an instant of one.

use teiji_core::time::{Clock, Instant, Monotonic, MonotonicRaw, Realtime, Span, Tai};

use crate::time64::{self, Timespec};

/// A clock that the kernel keeps under a number of its own.
pub trait SystemClock: Clock {
    /// The number, as in `clock_gettime(2)`.
    const ID: libc::clockid_t;
}

impl SystemClock for Tai {
    const ID: libc::clockid_t = libc::CLOCK_TAI;
}
impl SystemClock for Realtime {
    const ID: libc::clockid_t = libc::CLOCK_REALTIME;
}
impl SystemClock for Monotonic {
    const ID: libc::clockid_t = libc::CLOCK_MONOTONIC;
}
impl SystemClock for MonotonicRaw {
    const ID: libc::clockid_t = libc::CLOCK_MONOTONIC_RAW;
}

const NS_PER_S: i64 = 1_000_000_000;

/// The time of clock `C`. On common machines this is no system call (vDSO).
pub fn now<C: SystemClock>() -> Instant<C> {
    // It fails only for an unknown clock, and all of these clocks exist since Linux 3.10.
    time64::gettime(C::ID).unwrap_or_default().instant()
}

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// The instant has come (or had passed before the call).
    Reached,
    /// A signal came first. The caller decides whether to go on sleeping.
    Interrupted,
}

/// Sleeps until clock `C` shows `at`, with an absolute timer: time that passes
/// before the call is not added, and steps of the clock are followed.
pub fn sleep_until<C: SystemClock>(at: Instant<C>) -> Slept {
    let until = Timespec::of(at);
    if until.is_negative() {
        return Slept::Reached; // Before the clock's epoch; the kernel would refuse it.
    }
    let result = time64::sleep_until(C::ID, until);
    if result == libc::EINTR { Slept::Interrupted } else { Slept::Reached }
}

/// How far `CLOCK_TAI` is ahead of `CLOCK_REALTIME`: 37 s where somebody told
/// the kernel (a PTP or NTP daemon), 0 where nobody did.
///
/// Measured by reading both. The kernel keeps the offset in whole seconds, so
/// rounding makes it exact as long as the two readings are close together.
pub fn tai_offset() -> Span {
    const CLOSE: Span = Span::from_millis(100);
    const ATTEMPTS: u32 = 20;
    let mut offset = Span::ZERO;
    for _ in 0..ATTEMPTS {
        let before = now::<Realtime>();
        let tai = now::<Tai>();
        let after = now::<Realtime>();
        let difference = tai.as_ns() - before.as_ns();
        offset = Span::from_secs((difference + NS_PER_S / 2).div_euclid(NS_PER_S));
        if after - before < CLOSE && after >= before {
            break;
        }
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_ends_at_or_after_the_instant() {
        let at = now::<Tai>() + Span::from_millis(5);
        assert_eq!(sleep_until(at), Slept::Reached);
        let late = now::<Tai>() - at;
        assert!(!late.is_negative(), "woke {late} before the instant");
    }

    #[test]
    fn an_instant_in_the_past_does_not_sleep() {
        let start = now::<Monotonic>();
        assert_eq!(sleep_until(Instant::<Tai>::from_ns(-5)), Slept::Reached);
        assert_eq!(sleep_until(Instant::<Tai>::from_ns(5)), Slept::Reached);
        assert!(now::<Monotonic>() - start < Span::from_secs(1));
    }

    #[test]
    fn the_tai_offset_maps_utc_to_tai() {
        let offset = tai_offset();
        assert_eq!(offset.as_ns() % NS_PER_S, 0);
        let tai: Instant<Tai> = now::<Realtime>().on(offset);
        let distance = now::<Tai>() - tai;
        assert!(distance.as_ns().abs() < NS_PER_S / 2, "{distance}");
    }
}
