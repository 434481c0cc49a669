//! Durations, rates and sizes as people write them: `"1ms"`, `"100Mbit/s"`.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::time::Span;

/// Why a quantity could not be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum QuantityError {
    /// There is no number in front of the unit.
    #[error("`{0}` does not start with a number; write for example {1}")]
    NoNumber(String, &'static str),
    /// The unit is missing or not one of those that make sense here.
    #[error("`{text}` has {}; use one of {units}", unit_text(.unit))]
    Unit {
        /// What was written.
        text: String,
        /// The part after the number.
        unit: String,
        /// The units that are understood.
        units: &'static str,
    },
    /// The value is not a whole number of the smallest unit, or out of range.
    #[error("`{0}` is out of range or finer than {1}")]
    Range(String, &'static str),
}

fn unit_text(unit: &str) -> String {
    if unit.is_empty() { "no unit".to_owned() } else { format!("the unknown unit `{unit}`") }
}

/// Splits `text` into a decimal number, as (digits, power of ten), and a unit.
fn split(text: &str, example: &'static str) -> Result<(i128, u32, String), QuantityError> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace() && *c != '_').collect();
    let end = compact
        .char_indices()
        .find(|(i, c)| !(c.is_ascii_digit() || *c == '.' || (*i == 0 && (*c == '-' || *c == '+'))))
        .map_or(compact.len(), |(i, _)| i);
    let (number, unit) = compact.split_at(end);
    let no_number = || QuantityError::NoNumber(text.to_owned(), example);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || !number.chars().any(|c| c.is_ascii_digit()) || fraction.len() > 15
    {
        return Err(no_number());
    }
    let digits: i128 = format!("{whole}{fraction}").parse().map_err(|_| no_number())?;
    let decimals = u32::try_from(fraction.len()).map_err(|_| no_number())?;
    Ok((digits, decimals, unit.to_owned()))
}

fn scale(digits: i128, decimals: u32, factor: i128) -> Option<i128> {
    let scaled = digits.checked_mul(factor)?;
    let divisor = 10_i128.pow(decimals);
    (scaled % divisor == 0).then_some(scaled / divisor)
}

/// Reads a duration: a number and one of `ns`, `us` (or `µs`), `ms`, `s`,
/// `min`, `h`. A bare `0` is allowed.
///
/// ```
/// use teiji_core::{quantity::parse_span, time::Span};
/// assert_eq!(parse_span("1.5ms").unwrap(), Span::from_micros(1_500));
/// assert!(parse_span("5").is_err());
/// ```
///
/// # Errors
/// [`QuantityError`] if the text has no number or no unit of these, or exceeds the range of a
/// [`Span`].
pub fn parse_span(text: &str) -> Result<Span, QuantityError> {
    const UNITS: &str = "ns, us, ms, s, min, h";
    let (digits, decimals, unit) = split(text, "\"1ms\" or \"150us\"")?;
    let factor: i128 = match unit.as_str() {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" if digits == 0 => 1,
        _ => {
            return Err(QuantityError::Unit { text: text.to_owned(), unit, units: UNITS });
        }
    };
    scale(digits, decimals, factor)
        .and_then(|ns| i64::try_from(ns).ok())
        .map(Span::from_ns)
        .ok_or_else(|| QuantityError::Range(text.to_owned(), "1 ns"))
}

/// Writes a span with the unit that keeps the number readable, exactly.
pub fn format_span(span: Span) -> String {
    span.to_string()
}

/// Writes a count with its digits in groups of three.
///
/// ```
/// assert_eq!(teiji_core::quantity::grouped(60_000), "60 000");
/// assert_eq!(teiji_core::quantity::grouped(999), "999");
/// ```
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Reads a ratio close to nothing, such as a clock's drift, in 10⁻⁹: a number
/// and one of `ppb`, `ppm`. A bare `0` is allowed.
///
/// ```
/// assert_eq!(teiji_core::quantity::parse_ppb("-0.5ppm"), Ok(-500));
/// ```
///
/// # Errors
/// [`QuantityError`] if the text has no number or no unit of these, or is no whole number of ppb.
pub fn parse_ppb(text: &str) -> Result<i64, QuantityError> {
    let (digits, decimals, unit) = split(text, "\"20ppm\"")?;
    let factor = match unit.as_str() {
        "ppb" => 1,
        "ppm" => 1_000,
        "" if digits == 0 => 1,
        _ => {
            return Err(QuantityError::Unit { text: text.to_owned(), unit, units: "ppm, ppb" });
        }
    };
    scale(digits, decimals, factor)
        .and_then(|ppb| i64::try_from(ppb).ok())
        .ok_or_else(|| QuantityError::Range(text.to_owned(), "1 ppb"))
}

/// A data rate in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(u64);

impl Rate {
    /// A rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// The rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Reads a rate: a number and one of `bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s`.
    ///
    /// ```
    /// use teiji_core::quantity::Rate;
    /// assert_eq!(Rate::parse("2.5Gbit/s").unwrap().as_bps(), 2_500_000_000);
    /// ```
    ///
    /// # Errors
    /// [`QuantityError`] if the text has no number or no unit of these, or is no whole number of
    /// bit/s.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        const UNITS: &str = "bit/s, kbit/s, Mbit/s, Gbit/s";
        let (digits, decimals, unit) = split(text, "\"100Mbit/s\"")?;
        let factor: i128 = match unit.as_str() {
            "bit/s" => 1,
            "kbit/s" => 1_000,
            "Mbit/s" => 1_000_000,
            "Gbit/s" => 1_000_000_000,
            _ => {
                return Err(QuantityError::Unit { text: text.to_owned(), unit, units: UNITS });
            }
        };
        scale(digits, decimals, factor)
            .and_then(|bps| u64::try_from(bps).ok())
            .map(Self)
            .ok_or_else(|| QuantityError::Range(text.to_owned(), "1 bit/s"))
    }

    /// Time on the wire for `bytes` bytes at this rate, rounded up to whole
    /// nanoseconds. The caller adds preamble, FCS and gap where they count.
    pub fn serialisation(self, bytes: u64) -> Span {
        let ns = (u128::from(bytes) * 8 * 1_000_000_000).div_ceil(u128::from(self.0.max(1)));
        Span::from_ns(i64::try_from(ns).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (divisor, unit) = match self.0 {
            0..1_000 => (1, "bit/s"),
            1_000..1_000_000 => (1_000, "kbit/s"),
            1_000_000..1_000_000_000 => (1_000_000, "Mbit/s"),
            _ => (1_000_000_000, "Gbit/s"),
        };
        write!(f, "{} {unit}", self.0 as f64 / f64::from(divisor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, ns) in [
            ("1ms", 1_000_000),
            ("150us", 150_000),
            ("150 µs", 150_000),
            ("0", 0),
            ("2min", 120_000_000_000),
            ("60_000ns", 60_000),
            ("-25ns", -25),
            ("0.5s", 500_000_000),
        ] {
            assert_eq!(parse_span(text).map(Span::as_ns), Ok(ns), "{text}");
        }
    }

    #[test]
    fn a_duration_without_unit_names_the_units() {
        let error = parse_span("5").unwrap_err().to_string();
        assert_eq!(error, "`5` has no unit; use one of ns, us, ms, s, min, h");
        let error = parse_span("5sec").unwrap_err().to_string();
        assert!(error.contains("unknown unit `sec`"), "{error}");
    }

    #[test]
    fn durations_finer_than_a_nanosecond_or_too_long_are_refused() {
        assert!(parse_span("0.1ns").is_err());
        assert!(parse_span("99999999999999s").is_err());
        assert!(parse_span("").is_err());
        assert!(parse_span("1.2.3s").is_err());
        assert!(parse_span("--1s").is_err());
    }

    #[test]
    fn a_minimal_frame_takes_512_ns_at_gigabit() {
        assert_eq!(Rate::from_bps(1_000_000_000).serialisation(64).as_ns(), 512);
        assert_eq!(Rate::parse("100Mbit/s").unwrap().serialisation(84).as_ns(), 6_720);
    }

    #[test]
    fn a_drift_is_read_in_parts_per_billion() {
        for (text, ppb) in [("20ppm", 20_000), ("-40ppm", -40_000), ("7 ppb", 7), ("0", 0)] {
            assert_eq!(parse_ppb(text), Ok(ppb), "{text}");
        }
        assert!(parse_ppb("20").unwrap_err().to_string().contains("use one of ppm, ppb"));
        assert!(parse_ppb("0.1ppb").is_err());
    }

    proptest! {
        #[test]
        fn what_a_span_prints_it_reads_back(ns in -10_i64.pow(18)..10_i64.pow(18)) {
            let span = Span::from_ns(ns);
            let text = span.to_string();
            if ns != 0 {
                prop_assert_eq!(parse_span(&text), Ok(span), "{}", text);
            }
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,40}") {
            let _ = parse_span(&text);
            let _ = Rate::parse(&text);
        }
    }
}
