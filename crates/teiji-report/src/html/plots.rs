//! Histogram and tail of the deviations, one curve a case (all its members
//! together).

use teiji_stats::Bin;

use super::axis::Axis;
use super::samples::{Samples, gcd};
use super::svg::{Curve, Limit, Plot};
use super::{GLYPHS, colour};
use crate::comparison::{Comparison, Measure};
use crate::report::Report;
use crate::units::{Scale, Unit, count, duration, number};

/// Corners of one curve; more cannot be seen.
const CORNERS: usize = 600;
/// Most bars of a histogram.
const BARS: u64 = 120;

/// How the plots of a measure speak.
struct Words {
    histogram: &'static str,
    tail: &'static str,
    value: &'static str,
    reach: &'static str,
    one: &'static str,
}

impl Words {
    const fn of(measure: Measure) -> Self {
        match measure {
            Measure::Interval | Measure::Schedule => Self {
                histogram: "Histogram of the deviations",
                tail: "Tail of the deviations",
                value: "deviation",
                reach: "deviate by",
                one: "interval",
            },
            Measure::RoundTrip => Self {
                histogram: "Histogram of the round trips",
                tail: "Tail of the round trips",
                value: "time",
                reach: "take",
                one: "round trip",
            },
            Measure::Delay => Self {
                histogram: "Histogram of the delays",
                tail: "Tail of the delays",
                value: "delay",
                reach: "take",
                one: "frame",
            },
        }
    }
}

/// The deviations' histogram, counts by powers of ten.
pub fn histogram(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    let (words, many) = (Words::of(comparison.measure), comparison.measure.many());
    let samples = samples(report, comparison);
    let all = || samples.iter().flat_map(|s| &s.bins);
    let (Some(from), Some(to)) = (all().map(|b| b.from_ns).min(), all().map(|b| b.to_ns - 1).max())
    else {
        return;
    };
    let quantum = samples.iter().fold(0, |g, s| gcd(g, s.quantum_ns())).max(1);
    let bars = Bars::covering(from, to, quantum);
    let published = published(comparison, to as f64 - from as f64);
    let low = published.iter().flatten().map(|(low, _)| *low).fold(bars.left(0), f64::min);
    let high =
        published.iter().flatten().map(|(_, high)| *high).fold(bars.left(bars.count), f64::max);
    let air = (high - low) * 0.02;
    let unit = Scale::fitting([low.abs().max(high.abs())]).unit();
    let curves: Vec<Curve<'_>> = comparison
        .cases
        .iter()
        .zip(samples.iter().zip(published))
        .map(|(view, (samples, published))| {
            let counts = bars.fill(&samples.bins);
            Curve {
                name: &view.case.name,
                colour: colour(report.summary, &view.case.name),
                corners: bars.outline(&counts),
                filled: true,
                published,
                values: (0..).zip(counts).filter(|(_, n)| *n > 0).collect(),
                total: samples.total(),
            }
        })
        .collect();
    let most = curves.iter().flat_map(|c| &c.values).map(|(_, n)| *n).max().unwrap_or(1);
    let brackets = if curves.iter().any(|c| c.published.is_some()) {
        " Brackets: smallest and largest in the paper."
    } else {
        ""
    };
    Plot {
        title: words.histogram,
        note: format!("Each bar is {} wide.{brackets}", duration(bars.width as f64, GLYPHS)),
        x: Axis::Linear(low - air, high + air),
        x_title: format!("{} in {}", words.value, unit.symbol(GLYPHS)),
        x_text: &|ns| trimmed(ns / unit.ns()),
        // Room for the brackets above the bars.
        y: Axis::Log(0.5, most as f64 * if brackets.is_empty() { 2.0 } else { 6.0 }),
        y_title: format!("number of {many}"),
        y_text: &|n| number(n, 0, GLYPHS),
        limit: None,
        curves,
        bars: Some((bars.left(0), bars.width as f64)),
    }
    .draw(out);
}

/// How often a deviation is reached, down to one interval in the run.
pub fn tail(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    let (words, many) = (Words::of(comparison.measure), comparison.measure.many());
    let samples = samples(report, comparison);
    let magnitudes: Vec<Vec<(u64, u64)>> = samples.iter().map(Samples::magnitudes).collect();
    let all = || magnitudes.iter().flatten().map(|(ns, _)| *ns);
    let (Some(largest), Some(smallest)) = (all().max(), all().filter(|ns| *ns > 0).min()) else {
        return;
    };
    let total = samples.iter().map(Samples::total).max().unwrap_or(1);
    let (low, high) = (smallest as f64 / 1.6, largest as f64 * 1.6);
    let curves = comparison
        .cases
        .iter()
        .zip(&magnitudes)
        .map(|(view, magnitudes)| {
            let reached = reached(magnitudes);
            let total = reached.first().map_or(0, |(_, n)| *n);
            Curve {
                name: &view.case.name,
                colour: colour(report.summary, &view.case.name),
                corners: steps(&reached, low),
                filled: false,
                published: None,
                values: thin(&reached)
                    .into_iter()
                    .filter_map(|(ns, n)| Some((i64::try_from(ns).ok()?, n)))
                    .collect(),
                total,
            }
        })
        .collect();
    Plot {
        title: words.tail,
        note: format!("Share of the {many} that {} at least so much.", words.reach),
        x: Axis::Log(low, high),
        x_title: format!("{} (logarithmic)", comparison.measure.of_one()),
        x_text: &|ns| tick(ns),
        // Room for the label below the last step.
        y: Axis::Log(0.25 / total as f64, 1.0),
        y_title: format!("share of {many}"),
        y_text: &|share| power(share),
        limit: Some(Limit {
            x: largest as f64,
            y: 1.0 / total as f64,
            label: format!("one {} of {}", words.one, count(total, GLYPHS)),
        }),
        curves,
        bars: None,
    }
    .draw(out);
}

fn samples(report: &Report<'_>, comparison: &Comparison<'_>) -> Vec<Samples> {
    comparison.cases.iter().map(|view| Samples::of(report, comparison.flow, view)).collect()
}

/// The published extremes of each case, where they fit on the measured scale.
fn published(comparison: &Comparison<'_>, span_ns: f64) -> Vec<Option<(f64, f64)>> {
    let cases = comparison.cases.iter();
    cases
        .map(|view| {
            let paper = view.paper.as_ref()?;
            let (low, high) = (paper.min_ns?, paper.max_ns?);
            (low.abs().max(high.abs()) <= 2.0 * span_ns).then_some((low, high))
        })
        .collect()
}

/// The bars of a histogram: equally wide, whole multiples of what the stamps
/// resolve, each around its values.
#[derive(Clone, Copy, Debug)]
struct Bars {
    first_ns: i64,
    width: u64,
    quantum: u64,
    count: u64,
}

impl Bars {
    fn covering(from_ns: i64, to_ns: i64, quantum: u64) -> Self {
        let span = to_ns.abs_diff(from_ns) / quantum + 1;
        let width = span.div_ceil(BARS) * quantum;
        Self { first_ns: from_ns, width, quantum, count: (span * quantum).div_ceil(width) }
    }

    /// Left end of a bar, in ns: half a quantum below its first value.
    fn left(&self, bar: u64) -> f64 {
        self.first_ns as f64 - self.quantum as f64 / 2.0 + (bar * self.width) as f64
    }

    fn bar_of(&self, ns: i64) -> usize {
        let bar = ns.abs_diff(self.first_ns) / self.width;
        usize::try_from(bar.min(self.count - 1)).unwrap_or(0)
    }

    /// The count of each bar. A bin that covers several bars is shared out
    /// between them; one too small for that goes to the one in its middle.
    fn fill(&self, bins: &[Bin]) -> Vec<u64> {
        let mut counts = vec![0_u64; usize::try_from(self.count).unwrap_or(0)];
        for bin in bins {
            let last = bin.to_ns - 1;
            let (from, to) = (self.bar_of(bin.from_ns), self.bar_of(last));
            let each = bin.count / (to - from + 1) as u64;
            for bar in &mut counts[from..=to] {
                *bar += each;
            }
            let middle = self.bar_of(bin.from_ns + (last - bin.from_ns) / 2);
            counts[middle] += bin.count - each * (to - from + 1) as u64;
        }
        counts
    }

    fn outline(&self, counts: &[u64]) -> Vec<(f64, f64)> {
        let mut corners = Vec::with_capacity(2 * counts.len() + 2);
        corners.push((self.left(0), 0.0));
        for (bar, n) in (0..).zip(counts) {
            let n = *n as f64;
            // Bars of one height are one line.
            if corners.last().is_some_and(|(_, last): &(f64, f64)| (last - n).abs() > 0.0) {
                let at = self.left(bar);
                let before = corners.last().map_or(0.0, |(_, last)| *last);
                corners.push((at, before));
                corners.push((at, n));
            }
        }
        let end = self.left(self.count);
        corners.push((end, corners.last().map_or(0.0, |(_, last)| *last)));
        corners.push((end, 0.0));
        corners
    }
}

/// For each magnitude, how many deviations are at least as large.
fn reached(magnitudes: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut left: u64 = magnitudes.iter().map(|(_, n)| n).sum();
    magnitudes
        .iter()
        .map(|(ns, n)| {
            let entry = (*ns, left);
            left -= n;
            entry
        })
        .collect()
}

/// The complementary distribution as steps, from the plot's left edge to one
/// sample and down.
fn steps(reached: &[(u64, u64)], left: f64) -> Vec<(f64, f64)> {
    let Some((_, total)) = reached.first() else { return Vec::new() };
    let mut corners = Vec::new();
    let mut last = (left, 1.0);
    for (ns, n) in thin(reached) {
        if ns == 0 {
            // Everything is at least zero, which a logarithmic axis cannot show.
            continue;
        }
        let (x, share) = (ns as f64, n as f64 / *total as f64);
        // What is at least `x` is as much as what is more than the one before.
        corners.push((last.0, share));
        corners.push((x, share));
        last = (x, share);
    }
    if !corners.is_empty() {
        corners.push((last.0, 0.0));
    }
    corners
}

/// Long curves lose steps in the crowded part, never in the tail.
fn thin(reached: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let crowded = reached.len().saturating_sub(CORNERS / 2);
    let step = crowded.div_ceil(CORNERS / 2).max(1);
    let kept = reached.iter().enumerate().filter(|(i, _)| *i >= crowded || i % step == 0);
    kept.map(|(_, entry)| *entry).collect()
}

/// A tick with its own unit: `200 ns`, `5 µs`.
fn tick(ns: f64) -> String {
    let unit = [Unit::Second, Unit::Milli, Unit::Micro]
        .into_iter()
        .find(|unit| ns >= unit.ns() * 0.999)
        .unwrap_or(Unit::Nano);
    format!("{}{}{}", trimmed(ns / unit.ns()), GLYPHS.space, unit.symbol(GLYPHS))
}

/// Without the zeros that say nothing.
pub fn trimmed(value: f64) -> String {
    let text = number(value, 3, GLYPHS);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Powers of ten as people write them; what lies between as it is.
fn power(share: f64) -> String {
    let exponent = share.log10();
    if exponent.abs() < 1e-9 {
        return "1".to_owned();
    }
    if (exponent - exponent.round()).abs() > 1e-6 {
        return format!("{share}");
    }
    let digits: String = format!("{:.0}", exponent.abs())
        .chars()
        .filter_map(|c| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(c.to_digit(10)? as usize))
        .collect();
    format!("10{}{digits}", if exponent < 0.0 { "⁻" } else { "" })
}

#[cfg(test)]
#[path = "plots_tests.rs"]
mod tests;
