//! Durations as text: one unit and one number of decimals for figures that
//! are meant to be compared.

/// The characters a medium can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// Sign of a negative number.
    pub minus: &'static str,
    /// Between the ends of a range.
    pub ellipsis: &'static str,
    /// Stands for a figure that does not exist.
    pub none: &'static str,
    /// "times".
    pub times: &'static str,
    /// The prefix 10⁻⁶.
    pub micro: &'static str,
    /// Standard deviation.
    pub sigma: &'static str,
    /// Between groups of three digits.
    pub group: &'static str,
    /// Between a number and its unit.
    pub space: &'static str,
    /// Between two facts on one line.
    pub dot: &'static str,
}

impl Glyphs {
    /// For terminals that show UTF-8.
    pub const UNICODE: Self = Self {
        minus: "−",
        ellipsis: "…",
        none: "–",
        times: "×",
        micro: "µ",
        sigma: "σ",
        group: " ",
        space: " ",
        dot: "·",
    };
    /// For everything else.
    pub const ASCII: Self = Self {
        minus: "-",
        ellipsis: "...",
        none: "-",
        times: "x",
        micro: "u",
        sigma: "stddev",
        group: " ",
        space: " ",
        dot: "-",
    };
    /// For HTML: numbers never break across lines.
    pub const HTML: Self = Self { group: "\u{202f}", space: "\u{a0}", ..Self::UNICODE };
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// 10⁻⁹ s
    Nano,
    /// 10⁻⁶ s
    Micro,
    /// 10⁻³ s
    Milli,
    /// 1 s
    Second,
}

impl Unit {
    const DESCENDING: [Self; 4] = [Self::Second, Self::Milli, Self::Micro, Self::Nano];

    /// Nanoseconds in one of it.
    pub const fn ns(self) -> f64 {
        match self {
            Self::Nano => 1.0,
            Self::Micro => 1e3,
            Self::Milli => 1e6,
            Self::Second => 1e9,
        }
    }

    /// Its symbol.
    pub fn symbol(self, glyphs: &Glyphs) -> String {
        match self {
            Self::Nano => "ns".to_owned(),
            Self::Micro => format!("{}s", glyphs.micro),
            Self::Milli => "ms".to_owned(),
            Self::Second => "s".to_owned(),
        }
    }
}

/// The unit and the decimals of figures that stand beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    unit: Unit,
    decimals: usize,
}

impl Scale {
    /// The scale for `values_ns`: the largest unit in which the smallest figure
    /// keeps a digit before or right after the point, with about three digits
    /// for it and no more than eight for the largest.
    pub fn fitting(values_ns: impl IntoIterator<Item = f64>) -> Self {
        Self::with_finest(values_ns, 1)
    }

    /// The same for standard deviations: of many whole nanoseconds one may be far below a
    /// nanosecond, and is not zero for that. Down to a picosecond the smallest keeps a digit.
    pub fn of_deviations(values_ns: impl IntoIterator<Item = f64>) -> Self {
        Self::with_finest(values_ns, 3)
    }

    /// With so many decimals of a nanosecond at most.
    fn with_finest(values_ns: impl IntoIterator<Item = f64>, finest: i32) -> Self {
        let least = 0.5 * 10_f64.powi(-finest);
        let values: Vec<f64> =
            values_ns.into_iter().map(f64::abs).filter(|v| v.is_finite() && *v >= least).collect();
        let largest = values.iter().copied().fold(0.0, f64::max);
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        if values.is_empty() {
            return Self { unit: Unit::Nano, decimals: 0 };
        }
        let unit = Unit::DESCENDING
            .into_iter()
            .find(|u| {
                largest >= u.ns() && (smallest >= 0.1 * u.ns() || largest >= 1e3 * u.ns())
                    || *u == Unit::Nano
            })
            .unwrap_or(Unit::Nano);
        let most = if unit == Unit::Nano { (-magnitude(smallest)).clamp(1, finest) } else { 3 };
        let wanted = 2 - magnitude(smallest / unit.ns());
        let room = 7 - magnitude(largest / unit.ns());
        let decimals = usize::try_from(wanted.min(room).clamp(0, most)).unwrap_or(0);
        // Zeros that every figure ends with say nothing (and would pretend to
        // a precision that a coarse capture does not have).
        let needed = |v: &f64| {
            let text = format!("{:.decimals$}", v / unit.ns());
            let fraction = text.split_once('.').map_or("", |(_, f)| f);
            fraction.trim_end_matches('0').len()
        };
        Self { unit, decimals: values.iter().map(needed).max().unwrap_or(0) }
    }

    /// The same unit with every decimal that the figures have, up to a
    /// thousandth: published figures are quoted, not rounded.
    pub fn quoting(values_ns: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values_ns.into_iter().filter(|v| v.is_finite()).collect();
        let unit = Self::fitting(values.iter().copied()).unit;
        let decimals_of = |v: &f64| {
            let text = format!("{:.3}", v / unit.ns());
            text.trim_end_matches('0').split_once('.').map_or(0, |(_, fraction)| fraction.len())
        };
        Self { unit, decimals: values.iter().map(decimals_of).max().unwrap_or(0) }
    }

    /// The unit.
    pub const fn unit(self) -> Unit {
        self.unit
    }

    /// The bare number.
    pub fn number(self, ns: f64, glyphs: &Glyphs) -> String {
        number(ns / self.unit.ns(), self.decimals, glyphs)
    }

    /// The number with its unit.
    pub fn text(self, ns: f64, glyphs: &Glyphs) -> String {
        if !ns.is_finite() {
            return glyphs.none.to_owned();
        }
        format!("{}{}{}", self.number(ns, glyphs), glyphs.space, self.unit.symbol(glyphs))
    }

    /// Two ends of an interval with one unit: `−1.2 … 3.4 µs`.
    pub fn interval(self, from_ns: f64, to_ns: f64, glyphs: &Glyphs) -> String {
        let s = glyphs.space;
        format!(
            "{}{s}{}{s}{}",
            self.number(from_ns, glyphs),
            glyphs.ellipsis,
            self.text(to_ns, glyphs)
        )
    }
}

/// Position of the first digit: 0 for 1…9.99, −1 for 0.1…0.99.
fn magnitude(value: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "the logarithm of a finite f64 is small")]
    let m = value.log10().floor() as i32;
    m
}

/// One duration on its own.
pub fn duration(ns: f64, glyphs: &Glyphs) -> String {
    Scale::fitting([ns]).text(ns, glyphs)
}

/// `value` with `decimals` digits after the point, grouped by three before it.
pub fn number(value: f64, decimals: usize, glyphs: &Glyphs) -> String {
    if !value.is_finite() {
        return glyphs.none.to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    let negative = value < 0.0 && text.bytes().any(|b| matches!(b, b'1'..=b'9'));
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::new();
    if negative {
        out.push_str(glyphs.minus);
    }
    for (i, digit) in whole.char_indices() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push_str(glyphs.group);
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A count with groups of three digits.
pub fn count(n: u64, glyphs: &Glyphs) -> String {
    number(n as f64, 0, glyphs)
}

/// A rate of bits: `20.46 Mbit/s`, four digits at most.
pub fn bit_rate(bps: u64, glyphs: &Glyphs) -> String {
    let (divisor, unit) = match bps {
        0..1_000 => (1.0, "bit/s"),
        1_000..1_000_000 => (1e3, "kbit/s"),
        1_000_000..1_000_000_000 => (1e6, "Mbit/s"),
        _ => (1e9, "Gbit/s"),
    };
    let value = bps as f64 / divisor;
    let text = number(value, usize::try_from(3 - magnitude(value.max(1.0))).unwrap_or(0), glyphs);
    // 20.00 is 20.
    let text = match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|b| b == b'0') => whole.to_owned(),
        _ => text,
    };
    format!("{text}{}{unit}", glyphs.space)
}

/// A ratio with about three digits: `0.91×`, `11.7×`, `1 240×`; `None` where
/// dividing says nothing (another sign, zero, not a number).
pub fn ratio(numerator: f64, denominator: f64, glyphs: &Glyphs) -> Option<String> {
    let r = numerator / denominator;
    if !r.is_finite() || r <= 0.0 {
        return None;
    }
    if r < 0.001 {
        return Some(format!("<{}0.001{}", glyphs.space, glyphs.times));
    }
    let decimals = usize::try_from((2 - magnitude(r)).clamp(0, 4)).unwrap_or(0).min(match r {
        r if r >= 100.0 => 0,
        r if r >= 10.0 => 1,
        r if r >= 0.1 => 2,
        _ => 4,
    });
    Some(format!("{}{}", number(r, decimals, glyphs), glyphs.times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_four_digits_and_no_idle_zeros() {
        let text = |bps| bit_rate(bps, &Glyphs::ASCII);
        assert_eq!(text(20_000_000), "20 Mbit/s");
        assert_eq!(text(20_456_789), "20.46 Mbit/s");
        assert_eq!(text(167_040_000), "167 Mbit/s");
        assert_eq!(
            (text(0), text(999), text(1_500)),
            ("0 bit/s".into(), "999 bit/s".into(), "1.500 kbit/s".into())
        );
    }

    fn all(values: &[f64]) -> Vec<String> {
        let scale = Scale::fitting(values.iter().copied());
        values.iter().map(|v| scale.text(*v, &Glyphs::UNICODE)).collect()
    }

    #[test]
    fn figures_side_by_side_share_the_unit_in_which_the_smallest_is_readable() {
        assert_eq!(all(&[23_460.0, 55.0]), ["23 460 ns", "55 ns"]);
        assert_eq!(all(&[23_460.0, 2_000.0]), ["23.46 µs", "2.00 µs"]);
        assert_eq!(all(&[-398.3, 6.0]), ["−398.3 ns", "6.0 ns"]);
        assert_eq!(all(&[12_250.0, 30.0]), ["12 250 ns", "30 ns"]);
        assert_eq!(all(&[4_264_000.0, 494_000.0]), ["4.264 ms", "0.494 ms"]);
        assert_eq!(all(&[0.0]), ["0 ns"]);
    }

    #[test]
    fn a_standard_deviation_below_a_nanosecond_is_not_zero() {
        let all = |values: &[f64]| {
            let scale = Scale::of_deviations(values.iter().copied());
            values.iter().map(|v| scale.text(*v, &Glyphs::UNICODE)).collect::<Vec<_>>()
        };
        assert_eq!(all(&[1_240.313, 1_030.1, 0.0304]), ["1 240.31 ns", "1 030.10 ns", "0.03 ns"]);
        assert_eq!(all(&[75_338.0, 0.0058]), ["75 338.000 ns", "0.006 ns"]);
        assert_eq!(all(&[17_552.14, 44.7]), ["17 552.1 ns", "44.7 ns"]);
        assert_eq!(all(&[0.0]), ["0 ns"]);
    }

    #[test]
    fn far_apart_figures_share_a_unit_in_which_the_smallest_keeps_a_digit() {
        assert_eq!(all(&[12_000_000.0, 3.0]), ["12 000.000 µs", "0.003 µs"]);
    }

    #[test]
    fn a_coarse_capture_gets_no_decimals_it_does_not_have() {
        assert_eq!(all(&[23_000.0, 2_000.0, -11_000.0]), ["23 µs", "2 µs", "−11 µs"]);
    }

    #[test]
    fn published_figures_keep_their_decimals() {
        let scale = Scale::quoting([-11_210.0, 12_250.0]);
        assert_eq!(scale.interval(-11_210.0, 12_250.0, &Glyphs::UNICODE), "−11.21 … 12.25 µs");
        assert_eq!(Scale::quoting([457.3]).text(457.3, &Glyphs::UNICODE), "457.3 ns");
        assert_eq!(Scale::quoting([6.0]).text(6.0, &Glyphs::UNICODE), "6 ns");
    }

    #[test]
    fn what_is_not_a_number_is_a_dash_and_never_zero() {
        assert_eq!(duration(f64::NAN, &Glyphs::UNICODE), "–");
        assert_eq!(ratio(1.0, 0.0, &Glyphs::UNICODE), None);
        assert_eq!(ratio(-1.0, 2.0, &Glyphs::UNICODE), None);
    }

    #[test]
    fn ratios_have_about_three_digits() {
        for (r, text) in
            [(0.912, "0.91×"), (11.72, "11.7×"), (1_240.4, "1 240×"), (0.00234, "0.0023×")]
        {
            assert_eq!(ratio(r, 1.0, &Glyphs::UNICODE).as_deref(), Some(text));
        }
        assert_eq!(ratio(1e-9, 1.0, &Glyphs::UNICODE).as_deref(), Some("< 0.001×"));
    }

    #[test]
    fn a_number_that_rounds_to_zero_has_no_sign() {
        assert_eq!(number(-0.04, 1, &Glyphs::UNICODE), "0.0");
        assert_eq!(number(-60_000.0, 0, &Glyphs::ASCII), "-60 000");
    }
}
