//! Every frame's deviation as a still picture: for paper, and where no script
//! runs. The script replaces it by one that can be zoomed.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::axis::{Axis, linear_ticks};
use super::colour;
use super::escape::text;
use super::plots::trimmed;
use super::svg::Frame;
use crate::comparison::{Comparison, Measure};
use crate::report::{Points, Report};
use crate::units::{Scale, Unit};

use super::GLYPHS;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 712.0;
/// Height of one case's panel.
const PANEL: f64 = 98.0;
/// Above each panel, for its name.
const GAP: f64 = 24.0;
const BELOW: f64 = 40.0;
/// With so small a part of a scale for all, a case is a line: each has its own then. The
/// script asks the same (assets/js/data.js).
const TOO_FLAT: f64 = 12.0;
/// Side of a mark; what falls into one cell of this raster is one mark.
const CELL: f64 = 1.6;

/// A panel a case, of the first member that has points.
pub fn still(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    let series: Vec<&Points> = comparison
        .cases
        .iter()
        .filter_map(|view| {
            report.points.iter().find(|p| {
                p.case == view.case.name && p.flow == comparison.flow && !p.seq.is_empty()
            })
        })
        .collect();
    if series.is_empty() {
        return;
    }
    let [one, value] = comparison.measure.one_and_value();
    // A delay lies where it lies; deviations lie around zero.
    let around_zero = comparison.measure != Measure::Delay;
    let extents: Vec<(f64, f64)> =
        series.iter().map(|points| extent(points, around_zero)).collect();
    let whole = union(&extents);
    let own_scales = flattens(&extents, whole);
    let end = series.iter().filter_map(|p| p.t_ns.last()).copied().max().unwrap_or(1).max(1);
    let x = Axis::Linear(0.0, end as f64);
    let x_unit = unit(end as f64);
    let height = (PANEL + GAP) * series.len() as f64 + BELOW;
    let _ = writeln!(
        out,
        "<figure class=\"still\">\n<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"The {value} of every {one} over time\">"
    );
    for (index, (points, own)) in series.iter().zip(&extents).enumerate() {
        let (low, high) = if own_scales { *own } else { whole };
        let air = ((high - low) * 0.08).max(1.0);
        let y = Axis::Linear(low - air, high + air);
        let y_unit = unit(low.abs().max(high));
        let rows = linear_ticks(low - air, high + air, 4.0);
        let top = GAP + (PANEL + GAP) * index as f64;
        let frame = Frame { left: LEFT, right: RIGHT, top, bottom: top + PANEL, x, y };
        frame.rows(&rows, &|ns| trimmed(ns / y_unit.ns()), out);
        let last = index + 1 == series.len();
        let label = |ns: f64| trimmed(ns / x_unit.ns());
        frame.columns(&x.ticks(), last.then_some(&label), out);
        frame.border(out);
        frame.y_title(13.0, &format!("{value} in {}", y_unit.symbol(GLYPHS)), out);
        let mut about = String::new();
        if comparison.members() > 1 {
            let _ = write!(about, ", seed {}", points.seed);
        }
        if own_scales {
            about.push_str(", own scale");
        }
        let _ = writeln!(
            out,
            "<g class=\"c{}\"><path class=\"marks\" d=\"{}\"/>\
             <text class=\"name\" x=\"{LEFT}\" y=\"{:.1}\">{}{about}</text></g>",
            colour(report.summary, &points.case),
            marks(&frame, points),
            top - 7.0,
            text(&points.case),
        );
        if last {
            let title = format!("time since the first {one} in {}", x_unit.symbol(GLYPHS));
            frame.x_title(height - 4.0, &title, out);
        }
    }
    let _ = writeln!(out, "</svg>\n</figure>");
}

/// Smallest and largest deviation, and zero if that is what they lie around.
fn extent(points: &Points, around_zero: bool) -> (f64, f64) {
    let all = || points.deviation_ns.iter().copied().chain(around_zero.then_some(0));
    (all().min().unwrap_or(0) as f64, all().max().unwrap_or(0) as f64)
}

fn union(extents: &[(f64, f64)]) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    extents.iter().fold(none, |(low, high), one| (one.0.min(low), one.1.max(high)))
}

/// Whether the scale `whole` leaves one of them too little to see.
fn flattens(extents: &[(f64, f64)], whole: (f64, f64)) -> bool {
    extents.iter().any(|(low, high)| (high - low) * TOO_FLAT < whole.1 - whole.0)
}

fn unit(largest_ns: f64) -> Unit {
    Scale::fitting([largest_ns]).unit()
}

/// The marks as one path: cells that touch in a row are one line.
fn marks(frame: &Frame, points: &Points) -> String {
    let cells: BTreeSet<(i32, i32)> = points
        .t_ns
        .iter()
        .zip(&points.deviation_ns)
        .map(|(t, deviation)| {
            let (x, y) = frame.at(*t as f64, *deviation as f64);
            (cell(y), cell(x))
        })
        .collect();
    let mut path = String::new();
    let mut run: Option<(i32, i32, i32)> = None;
    let mut flush = |run: Option<(i32, i32, i32)>| {
        if let Some((row, from, to)) = run {
            let (x, y) = (f64::from(from) * CELL, (f64::from(row) + 0.5) * CELL);
            let _ = write!(path, "M{x:.1} {y:.1}h{:.1}", f64::from(to - from + 1) * CELL);
        }
    };
    for (row, column) in cells {
        run = match run {
            Some((r, from, to)) if r == row && to + 1 == column => Some((row, from, column)),
            before => {
                flush(before);
                Some((row, column, column))
            }
        };
    }
    flush(run);
    path
}

fn cell(at: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "places in a picture are small")]
    let cell = (at / CELL).floor() as i32;
    cell
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_stats::TimestampPoint;

    #[test]
    fn a_case_that_would_be_a_line_has_a_scale_of_its_own() {
        let flat = |extents: &[(f64, f64)]| flattens(extents, union(extents));
        assert!(flat(&[(-43e3, 43e3), (-1.0, 1.0)]) && flat(&[(0.0, 0.0), (0.0, 9.0)]));
        assert!(!flat(&[(-43e3, 43e3), (-88e3, 88e3)]) && !flat(&[(0.0, 0.0)]) && !flat(&[]));
    }

    #[test]
    fn equal_deviations_become_one_line_and_an_outlier_stays() {
        let mut points = Points {
            case: "c".into(),
            seed: 1,
            flow: "f".into(),
            point: Some(TimestampPoint::Wire),
            t_ns: (0..10_000).collect(),
            deviation_ns: vec![0; 10_000],
            seq: (0..10_000).collect(),
            of: 10_000,
        };
        let frame = Frame {
            left: LEFT,
            right: RIGHT,
            top: 0.0,
            bottom: PANEL,
            x: Axis::Linear(0.0, 1e4),
            y: Axis::Linear(-10.0, 10.0),
        };
        assert_eq!(marks(&frame, &points).matches('M').count(), 1);
        points.deviation_ns[5_000] = 9;
        assert_eq!(marks(&frame, &points).matches('M').count(), 2);
    }
}
