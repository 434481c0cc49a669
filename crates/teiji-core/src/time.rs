//! Instants that remember their clock, and signed spans between them.
//!
//! Two instants of different clocks cannot be subtracted; the compiler refuses:
//!
//! ```compile_fail
//! use teiji_core::time::{Instant, Realtime, Tai};
//! let tai = Instant::<Tai>::from_ns(5);
//! let utc = Instant::<Realtime>::from_ns(3);
//! let nonsense = tai - utc;
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use serde::{Deserialize, Serialize};

mod private {
    pub trait Sealed {}
}

/// A clock that instants can belong to. Sealed: the set of clocks is part of
/// the design, not of a caller's choice.
pub trait Clock: private::Sealed + 'static {
    /// The name used in messages and files.
    const NAME: &'static str;
}

macro_rules! clock {
    ($(#[$doc:meta])* $name:ident, $text:literal) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $name {}
        impl private::Sealed for $name {}
        impl Clock for $name {
            const NAME: &'static str = $text;
        }
    };
}

clock!(
    /// International Atomic Time, `CLOCK_TAI`: no leap seconds. The clock of
    /// every schedule, because ETF, taprio and PTP speak it.
    Tai,
    "TAI"
);
clock!(
    /// `CLOCK_REALTIME` (UTC as Linux keeps it): the clock of the kernel's
    /// software time stamps.
    Realtime,
    "REALTIME"
);
clock!(
    /// `CLOCK_MONOTONIC`: never stepped; the clock of time-outs and durations.
    Monotonic,
    "MONOTONIC"
);
clock!(
    /// `CLOCK_MONOTONIC_RAW`: as the processor counts, never stepped nor slewed.
    MonotonicRaw,
    "MONOTONIC_RAW"
);
clock!(
    /// The PTP hardware clock of a NIC.
    Phc,
    "PHC"
);
clock!(
    /// The clock of whoever recorded a capture. Its epoch is unknown; only
    /// differences mean something.
    Capture,
    "CAPTURE"
);

/// A point in time of clock `C`, in nanoseconds since that clock's epoch.
#[derive(Serialize, Deserialize)]
#[serde(transparent, bound = "")]
pub struct Instant<C: Clock> {
    ns: i64,
    #[serde(skip)]
    clock: PhantomData<fn() -> C>,
}

impl<C: Clock> Instant<C> {
    /// The instant `ns` nanoseconds after the clock's epoch.
    pub const fn from_ns(ns: i64) -> Self {
        Self { ns, clock: PhantomData }
    }

    /// Nanoseconds since the clock's epoch.
    pub const fn as_ns(self) -> i64 {
        self.ns
    }

    /// This instant seen by another clock that is `offset` ahead of this one
    /// (`other = this + offset`). The caller vouches for the offset; nothing
    /// else in Teiji moves an instant between clocks.
    pub const fn on<D: Clock>(self, offset: Span) -> Instant<D> {
        Instant::from_ns(self.ns + offset.as_ns())
    }
}

impl<C: Clock> Clone for Instant<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Clock> Copy for Instant<C> {}
impl<C: Clock> PartialEq for Instant<C> {
    fn eq(&self, other: &Self) -> bool {
        self.ns == other.ns
    }
}
impl<C: Clock> Eq for Instant<C> {}
impl<C: Clock> PartialOrd for Instant<C> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<C: Clock> Ord for Instant<C> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.ns.cmp(&other.ns)
    }
}
impl<C: Clock> Hash for Instant<C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ns.hash(state);
    }
}
impl<C: Clock> fmt::Debug for Instant<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns {}", self.ns, C::NAME)
    }
}
impl<C: Clock> Sub for Instant<C> {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        Span::from_ns(self.ns - earlier.ns)
    }
}
impl<C: Clock> Add<Span> for Instant<C> {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self::from_ns(self.ns + span.as_ns())
    }
}
impl<C: Clock> AddAssign<Span> for Instant<C> {
    fn add_assign(&mut self, span: Span) {
        self.ns += span.as_ns();
    }
}
impl<C: Clock> Sub<Span> for Instant<C> {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self::from_ns(self.ns - span.as_ns())
    }
}
impl<C: Clock> SubAssign<Span> for Instant<C> {
    fn sub_assign(&mut self, span: Span) {
        self.ns -= span.as_ns();
    }
}

/// A signed distance between two instants of one clock, in nanoseconds.
///
/// Shown with the unit that keeps the number readable:
///
/// ```
/// use teiji_core::time::Span;
/// assert_eq!(Span::from_ns(12_345).to_string(), "12.345 µs");
/// assert_eq!(Span::from_millis(-3).to_string(), "-3 ms");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(i64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// A span of `us` microseconds.
    pub const fn from_micros(us: i64) -> Self {
        Self(us * 1_000)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms * 1_000_000)
    }

    /// A span of `s` seconds.
    pub const fn from_secs(s: i64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// The span in nanoseconds.
    pub const fn as_ns(self) -> i64 {
        self.0
    }

    /// The span in seconds, for estimates and for people.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// True for spans that point backwards.
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// The standard library's unsigned duration, or `None` for a negative span.
    pub fn to_std(self) -> Option<std::time::Duration> {
        u64::try_from(self.0).ok().map(std::time::Duration::from_nanos)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl Neg for Span {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}
impl Mul<i64> for Span {
    type Output = Self;
    fn mul(self, factor: i64) -> Self {
        Self(self.0 * factor)
    }
}
impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.unsigned_abs();
        let (divisor, decimals, unit) = match ns {
            0 => return f.write_str("0 s"),
            1..1_000 => (1, 0, "ns"),
            1_000..1_000_000 => (1_000, 3, "µs"),
            1_000_000..1_000_000_000 => (1_000_000, 6, "ms"),
            _ => (1_000_000_000, 9, "s"),
        };
        let sign = if self.is_negative() { "-" } else { "" };
        let (whole, fraction) = (ns / divisor, ns % divisor);
        if fraction == 0 {
            return write!(f, "{sign}{whole} {unit}");
        }
        let fraction = format!("{fraction:0decimals$}");
        write!(f, "{sign}{whole}.{} {unit}", fraction.trim_end_matches('0'))
    }
}

/// The clock a kernel interface is told to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockId {
    /// `CLOCK_TAI`
    Tai,
    /// `CLOCK_REALTIME`
    Realtime,
    /// `CLOCK_MONOTONIC`
    Monotonic,
}

impl ClockId {
    /// The name `tc` and the man pages use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tai => "CLOCK_TAI",
            Self::Realtime => "CLOCK_REALTIME",
            Self::Monotonic => "CLOCK_MONOTONIC",
        }
    }

    /// The number in the kernel's `include/uapi/linux/time.h`.
    pub const fn number(self) -> i32 {
        match self {
            Self::Realtime => 0,
            Self::Monotonic => 1,
            Self::Tai => 11,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_of_one_clock_subtract_to_a_signed_span() {
        let a = Instant::<Tai>::from_ns(5);
        let b = a + Span::from_micros(2);
        assert_eq!((b - a).as_ns(), 2_000);
        assert_eq!((a - b).as_ns(), -2_000);
    }

    #[test]
    fn an_instant_changes_clock_only_with_an_offset() {
        let utc = Instant::<Realtime>::from_ns(100);
        let tai: Instant<Tai> = utc.on(Span::from_secs(37));
        assert_eq!(tai.as_ns(), 37_000_000_100);
    }

    #[test]
    fn instants_serialise_as_plain_nanoseconds() {
        let text = serde_json::to_string(&Instant::<Tai>::from_ns(42)).unwrap();
        assert_eq!(text, "42");
        let back: Instant<Tai> = serde_json::from_str(&text).unwrap();
        assert_eq!(back.as_ns(), 42);
    }
}
