//! `1.millis()`: spans as they are spoken.

use teiji_core::time::Span;

/// Gives integers the words for spans of time.
///
/// ```
/// use teiji::{Span, Spans};
/// assert_eq!(1.millis(), Span::from_micros(1_000));
/// assert_eq!(250.micros() + 500.nanos(), Span::from_ns(250_500));
/// ```
pub trait Spans {
    /// So many nanoseconds.
    fn nanos(self) -> Span;
    /// So many microseconds.
    fn micros(self) -> Span;
    /// So many milliseconds.
    fn millis(self) -> Span;
    /// So many seconds.
    fn secs(self) -> Span;
}

macro_rules! spans {
    ($($integer:ty),*) => {$(
        impl Spans for $integer {
            fn nanos(self) -> Span {
                Span::from_ns(self.into())
            }
            fn micros(self) -> Span {
                Span::from_micros(self.into())
            }
            fn millis(self) -> Span {
                Span::from_millis(self.into())
            }
            fn secs(self) -> Span {
                Span::from_secs(self.into())
            }
        }
    )*};
}
spans!(i32, u32, i64);
