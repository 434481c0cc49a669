//! Histogram and tail of the deviations, one curve a case (all its members
//! together).

use teiji_stats::Bin;

use super::GLYPHS;
use super::svg::{Axis, Curve, Plot};
use crate::comparison::{CaseView, Comparison};
use crate::report::{Points, Report};
use crate::units::{Scale, number};

/// Corners of one curve; more cannot be seen.
const CORNERS: usize = 600;
/// Bars of a histogram.
const BARS: usize = 120;

/// The deviations' histogram, counts by powers of ten.
pub fn histogram(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    let bins: Vec<Vec<Bin>> = comparison.cases.iter().map(|view| bins_of(report, view)).collect();
    let all = || bins.iter().flatten();
    let low = all().map(|bin| bin.from_ns).min();
    let high = all().map(|bin| bin.to_ns).max();
    let (Some(low), Some(high)) = (low, high) else { return };
    let (low, high) = padded(low as f64, high as f64);
    let scale = Scale::fitting([low.abs().max(high.abs())]);
    let unit = scale.unit();
    let width = (high - low) / BARS as f64;
    let curves: Vec<Curve<'_>> = comparison
        .cases
        .iter()
        .zip(&bins)
        .enumerate()
        .map(|(color, (view, bins))| Curve {
            name: &view.case.name,
            color,
            corners: bars(bins, low, width),
            filled: true,
        })
        .collect();
    let most = curves.iter().flat_map(|c| &c.corners).map(|(_, n)| *n).fold(1.0, f64::max);
    Plot {
        title: "Histogram of the deviations",
        x: Axis::Linear(low, high),
        x_label: format!("deviation in {}", unit.symbol(GLYPHS)),
        x_text: &|ns| trimmed(ns / unit.ns()),
        y: Axis::Log(0.5, most * 2.0),
        y_label: "intervals".to_owned(),
        y_text: &|n| number(n, 0, GLYPHS),
        curves,
    }
    .draw(out);
}

/// How often a deviation is exceeded, down to one frame in the run.
pub fn tail(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    let samples: Vec<Vec<(f64, u64)>> =
        comparison.cases.iter().map(|view| magnitudes(report, view)).collect();
    let all = || samples.iter().flatten();
    let largest = all().map(|(ns, _)| *ns).fold(0.0, f64::max);
    let smallest = all().map(|(ns, _)| *ns).filter(|ns| *ns > 0.0).fold(f64::INFINITY, f64::min);
    let total = samples.iter().map(|s| s.iter().map(|(_, n)| n).sum::<u64>()).max().unwrap_or(0);
    if total == 0 || largest <= 0.0 {
        return;
    }
    // Zeros have no logarithm: they stand at the left edge.
    let left = 10_f64.powf((smallest / 2.0).log10().floor());
    let scale = Scale::fitting([largest]);
    let unit = scale.unit();
    let curves = comparison
        .cases
        .iter()
        .zip(&samples)
        .enumerate()
        .map(|(color, (view, sorted))| Curve {
            name: &view.case.name,
            color,
            corners: exceeded(sorted, left),
            filled: false,
        })
        .collect();
    Plot {
        title: "Tail: share of intervals that deviate by at least so much",
        x: Axis::Log(left, largest * 1.2),
        x_label: format!("absolute deviation in {}", unit.symbol(GLYPHS)),
        x_text: &|ns| trimmed(ns / unit.ns()),
        y: Axis::Log(0.5 / total as f64, 1.0),
        y_label: "share of intervals".to_owned(),
        y_text: &|share| power(share),
        curves,
    }
    .draw(out);
}

/// The complete series of a case's members, where there are.
fn complete<'a>(report: &'a Report<'_>, view: &CaseView<'_>) -> Option<Vec<&'a Points>> {
    let points: Vec<&Points> = report
        .points
        .iter()
        .filter(|p| p.case == view.case.name && Some(p.vantage) == view.vantage)
        .filter(|p| view.members.iter().any(|m| m.seed == p.seed))
        .filter(|p| view.case.members.iter().any(|m| m.flows.contains_key(&p.flow)))
        .collect();
    let whole = points.iter().all(|p| p.of == p.deviation_ns.len() as u64);
    (whole && points.len() == view.members.len()).then_some(points)
}

fn bins_of(report: &Report<'_>, view: &CaseView<'_>) -> Vec<Bin> {
    match complete(report, view) {
        Some(points) => points
            .iter()
            .flat_map(|p| &p.deviation_ns)
            .map(|ns| Bin { from_ns: *ns, to_ns: ns.saturating_add(1), count: 1 })
            .collect(),
        None => view
            .members
            .iter()
            .filter_map(|m| m.deviation)
            .flat_map(|d| d.histogram.iter().copied())
            .collect(),
    }
}

/// Absolute deviations, ascending, each with how often it occurs.
fn magnitudes(report: &Report<'_>, view: &CaseView<'_>) -> Vec<(f64, u64)> {
    let mut all: Vec<(f64, u64)> = bins_of(report, view)
        .iter()
        .map(|bin| {
            let exact = bin.to_ns - bin.from_ns == 1;
            let ns = if exact {
                bin.from_ns.unsigned_abs()
            } else {
                bin.from_ns.unsigned_abs().min(bin.to_ns.unsigned_abs())
            };
            (ns as f64, bin.count)
        })
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// The counts per bar as a stepped outline.
fn bars(bins: &[Bin], low: f64, width: f64) -> Vec<(f64, f64)> {
    let mut counts = vec![0_u64; BARS];
    for bin in bins {
        let middle = f64::midpoint(bin.from_ns as f64, (bin.to_ns - 1) as f64);
        let bar = (1..BARS).find(|bar| middle < low + *bar as f64 * width).unwrap_or(BARS);
        counts[bar - 1] += bin.count;
    }
    let mut corners = Vec::with_capacity(2 * BARS);
    for (index, n) in counts.into_iter().enumerate() {
        let left = low + index as f64 * width;
        corners.push((left, n as f64));
        corners.push((left + width, n as f64));
    }
    corners
}

/// The complementary distribution as steps: x, share of samples ≥ x.
fn exceeded(sorted: &[(f64, u64)], left: f64) -> Vec<(f64, f64)> {
    let total: u64 = sorted.iter().map(|(_, n)| n).sum();
    let mut corners: Vec<(f64, f64)> = Vec::new();
    let mut below = 0;
    let mut at = 0;
    while at < sorted.len() {
        let value = sorted[at].0;
        let share = (total - below) as f64 / total as f64;
        let x = value.max(left);
        if let Some((last, _)) = corners.last().copied() {
            // The share stays until the next value, then falls.
            corners.push((x, share));
            debug_assert!(last <= x);
        }
        while at < sorted.len() && sorted[at].0.total_cmp(&value).is_eq() {
            below += sorted[at].1;
            at += 1;
        }
        corners.push((x, share));
        let next = (total - below) as f64 / total as f64;
        corners.push((x, if below == total { 0.5 / total as f64 } else { next }));
    }
    thin(corners)
}

/// Long curves lose corners in the crowded part, never in the tail.
fn thin(corners: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let n = corners.len();
    if n <= CORNERS {
        return corners;
    }
    let keep_from = n - CORNERS / 2;
    let step = keep_from.div_ceil(CORNERS / 2);
    corners
        .into_iter()
        .enumerate()
        .filter(|(i, _)| *i >= keep_from || i % step == 0)
        .map(|(_, corner)| corner)
        .collect()
}

fn padded(low: f64, high: f64) -> (f64, f64) {
    let margin = ((high - low) * 0.04).max(1.0);
    (low - margin, high + margin)
}

fn trimmed(value: f64) -> String {
    let text = number(value, 3, GLYPHS);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Powers of ten as people write them.
fn power(share: f64) -> String {
    let exponent = share.log10().round();
    if exponent == 0.0 {
        return "1".to_owned();
    }
    let digits: String = format!("{:.0}", exponent.abs())
        .chars()
        .filter_map(|c| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(c.to_digit(10)? as usize))
        .collect();
    format!("10{}{digits}", if exponent < 0.0 { "⁻" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_reaches_down_to_one_sample() {
        let sorted: Vec<(f64, u64)> = vec![(0.0, 97), (10.0, 2), (50.0, 1)];
        let corners = exceeded(&sorted, 1.0);
        assert_eq!(corners.first(), Some(&(1.0, 1.0)));
        assert!(corners.contains(&(50.0, 0.01)));
        assert_eq!(corners.last(), Some(&(50.0, 0.005)));
        assert!(corners.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 >= w[1].1));
    }

    #[test]
    fn every_sample_is_in_a_bar() {
        let bins: Vec<Bin> =
            [-43_000, 0, 19_000].map(|ns| Bin { from_ns: ns, to_ns: ns + 1, count: 5 }).to_vec();
        let (low, high) = padded(-43_000.0, 19_001.0);
        let corners = bars(&bins, low, (high - low) / BARS as f64);
        let sum: f64 = corners.iter().step_by(2).map(|(_, n)| n).sum();
        assert!((sum - 15.0).abs() < 1e-9);
    }

    #[test]
    fn powers_are_written_with_superscripts() {
        assert_eq!(power(1e-5), "10⁻⁵");
        assert_eq!(power(1.0), "1");
    }
}
