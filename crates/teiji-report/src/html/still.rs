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
    let [one, value] = comparison.measure.one_and_value();
    let all = || series.iter().flat_map(|p| &p.deviation_ns).copied();
    let (Some(low), Some(high)) = (all().min(), all().max()) else { return };
    let end = series.iter().filter_map(|p| p.t_ns.last()).copied().max().unwrap_or(1).max(1);
    // A delay lies where it lies; deviations lie around zero.
    let (low, high) = match comparison.measure {
        Measure::Delay => (low as f64, high as f64),
        _ => (low.min(0) as f64, high.max(0) as f64),
    };
    let air = ((high - low) * 0.08).max(1.0);
    let y = Axis::Linear(low - air, high + air);
    let x = Axis::Linear(0.0, end as f64);
    let (y_unit, x_unit) = (unit(low.abs().max(high)), unit(end as f64));
    let rows = linear_ticks(low - air, high + air, 4.0);
    let height = (PANEL + GAP) * series.len() as f64 + BELOW;
    let _ = writeln!(
        out,
        "<figure class=\"still\">\n<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"The {value} of every {one} over time\">"
    );
    for (index, points) in series.iter().enumerate() {
        let top = GAP + (PANEL + GAP) * index as f64;
        let frame = Frame { left: LEFT, right: RIGHT, top, bottom: top + PANEL, x, y };
        frame.rows(&rows, &|ns| trimmed(ns / y_unit.ns()), out);
        let last = index + 1 == series.len();
        let label = |ns: f64| trimmed(ns / x_unit.ns());
        frame.columns(&x.ticks(), last.then_some(&label), out);
        frame.border(out);
        frame.y_title(13.0, &format!("{value} in {}", y_unit.symbol(GLYPHS)), out);
        let seeds = if comparison.members() > 1 {
            format!(", seed {}", points.seed)
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "<g class=\"c{}\"><path class=\"marks\" d=\"{}\"/>\
             <text class=\"name\" x=\"{LEFT}\" y=\"{:.1}\">{}{seeds}</text></g>",
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
    use teiji_stats::Vantage;

    #[test]
    fn equal_deviations_become_one_line_and_an_outlier_stays() {
        let mut points = Points {
            case: "c".into(),
            seed: 1,
            flow: "f".into(),
            vantage: Some(Vantage::Wire),
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
