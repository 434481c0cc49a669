//! How far the clocks that PTP kept were off, on the time of the frames: a band for each case and
//! clock.

use std::fmt::Write;

use super::axis::{Axis, linear_ticks};
use super::escape::text;
use super::plots::trimmed;
use super::svg::Frame;
use super::{GLYPHS, colour};
use crate::report::{OffsetSeries, Report};
use crate::units::{Scale, duration};

const WIDTH: f64 = 720.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 712.0;
/// Height of a band, and the room above it for its name.
const BAND: f64 = 48.0;
const GAP: f64 = 20.0;
const BELOW: f64 = 40.0;

/// The [block](crate::block) below whose table the plot stands.
pub const TOPIC: &str = "clocks";

/// A figure of the first member of each case; nothing where nobody looked at a clock.
pub fn offsets(report: &Report<'_>, out: &mut String) {
    let mut shown: Vec<&OffsetSeries> = Vec::new();
    for series in &report.offsets {
        if series.looks.iter().any(|(at, _)| *at >= 0)
            && !shown.iter().any(|s| s.case == series.case && s.seed != series.seed)
        {
            shown.push(series);
        }
    }
    // As long as the frames' own axis.
    let frames = report.points.iter().filter_map(|points| points.t_ns.last()).max();
    let looks = shown.iter().filter_map(|series| Some(series.looks.last()?.0)).max();
    let Some(end) = frames.copied().or(looks).filter(|_| !shown.is_empty()) else { return };
    let end = end.max(1);
    let unit = Scale::fitting([end as f64]).unit();
    let x = Axis::Linear(0.0, end as f64);
    let height = (BAND + GAP) * shown.len() as f64 + BELOW;
    let _ = writeln!(
        out,
        "<figure>\n<figcaption>Offset of each clock over time<span class=\"note\">On the time of the \
         frames; each clock has the same scale in all cases.</span></figcaption>\n\
         <svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Offset of each clock over \
         time\">"
    );
    let within = |series: &OffsetSeries| -> Vec<(f64, f64)> {
        let inside = series.looks.iter().filter(|(at, _)| (0..=end).contains(at));
        inside.map(|(at, offset)| (*at as f64, *offset as f64)).collect()
    };
    for (index, series) in shown.iter().enumerate() {
        let alike = shown.iter().filter(|other| other.clock == series.clock);
        let all = alike.flat_map(|other| within(other)).map(|(_, offset)| offset.abs());
        let most = all.fold(1.0, f64::max);
        let top = GAP + (BAND + GAP) * index as f64;
        let y = Axis::Linear(-most, most);
        let frame = Frame { left: LEFT, right: RIGHT, top, bottom: top + BAND, x, y };
        frame.rows(&[-most, 0.0, most], &|ns| duration(ns, GLYPHS), out);
        let last = index + 1 == shown.len();
        let label = |ns: f64| trimmed(ns / unit.ns());
        frame.columns(&linear_ticks(0.0, end as f64, 8.0), last.then_some(&label), out);
        frame.border(out);
        let _ = writeln!(
            out,
            "<g class=\"c{}\"><path class=\"line\" d=\"{}\"/>\
             <text class=\"name\" x=\"{LEFT}\" y=\"{:.1}\">{}, {}</text></g>",
            colour(report.summary, &series.case),
            frame.path(&within(series)),
            top - 5.0,
            text(&series.case),
            text(&series.clock),
        );
        if last {
            let title = format!("time since the first departure in {}", unit.symbol(GLYPHS));
            frame.x_title(height - 4.0, &title, out);
        }
    }
    let _ = writeln!(out, "</svg>\n</figure>");
}
