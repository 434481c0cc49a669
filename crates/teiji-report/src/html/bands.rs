//! What the loads did over time: a band for each case and load, on the time of the series.

use std::fmt::Write;

use super::axis::{Axis, linear_ticks};
use super::escape::text;
use super::plots::trimmed;
use super::rows::open;
use super::svg::Frame;
use super::{GLYPHS, colour};
use crate::report::{Band, Report};
use crate::units::{Scale, bit_rate, count};

const WIDTH: f64 = 720.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 712.0;
/// Height of a band, and the room above it for its name.
const BAND: f64 = 30.0;
const GAP: f64 = 20.0;
const BELOW: f64 = 40.0;

/// A figure of the first member of each case; nothing where no load ran.
pub fn bands(report: &Report<'_>, out: &mut String) {
    let mut shown: Vec<&Band> = Vec::new();
    for band in report.bands.iter().filter(|band| !band.amounts.is_empty()) {
        let other_seed = |s: &&Band| s.case == band.case && s.seed != band.seed;
        if !shown.iter().any(other_seed) {
            shown.push(band);
        }
    }
    let Some(begin) = shown.iter().map(|band| band.from_ns).min() else { return };
    let end = shown.iter().map(|band| band.end_ns()).max().unwrap_or(begin).max(begin + 1);
    let x = Axis::Linear(begin as f64, end as f64);
    let unit = Scale::fitting([(end - begin) as f64]).unit();
    let height = (BAND + GAP) * shown.len() as f64 + BELOW;
    open("bands", "The loads over time", out);
    let _ = writeln!(
        out,
        "<p class=\"note\">Work of each load per second; the loads of one kind share a scale.</p>\n\
         <figure>\n<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Work of \
         the loads over time\">"
    );
    for (index, band) in shown.iter().enumerate() {
        let alike = shown.iter().filter(|other| other.load == band.load);
        let most = alike.map(|other| other.most_per_s()).fold(1.0, f64::max);
        let top = GAP + (BAND + GAP) * index as f64;
        let y = Axis::Linear(0.0, most);
        let frame = Frame { left: LEFT, right: RIGHT, top, bottom: top + BAND, x, y };
        frame.rows(&[most], &|per_s| rate(band, per_s), out);
        let last = index + 1 == shown.len();
        let label = |ns: f64| trimmed(ns / unit.ns());
        let ticks = linear_ticks(begin as f64, end as f64, 8.0);
        frame.columns(&ticks, last.then_some(&label), out);
        frame.border(out);
        let _ = writeln!(
            out,
            "<g class=\"c{}\"><path class=\"area\" d=\"{}Z\"/>\
             <text class=\"name\" x=\"{LEFT}\" y=\"{:.1}\">{}, {}</text></g>",
            colour(report.summary, &band.case),
            frame.path(&corners(band)),
            top - 5.0,
            text(&band.case),
            text(&band.load),
        );
        if last {
            let title = format!("time since the first departure in {}", unit.symbol(GLYPHS));
            frame.x_title(height - 4.0, &title, out);
        }
    }
    let _ = writeln!(out, "</svg>\n</figure>\n</section>");
}

/// The outline: up at the beginning of each step and flat until its end.
fn corners(band: &Band) -> Vec<(f64, f64)> {
    let mut corners = vec![(band.from_ns as f64, 0.0)];
    let mut at = band.from_ns;
    for per_s in band.per_s() {
        corners.push((at as f64, per_s));
        at += band.step_ns;
        corners.push((at as f64, per_s));
    }
    corners.push((at as f64, 0.0));
    corners
}

/// The scale's end, in the load's unit.
fn rate(band: &Band, per_s: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate of u64s")]
    let whole = per_s.round() as u64;
    match band.bits_a_unit() {
        Some(bits) => bit_rate(whole.saturating_mul(bits.into()), GLYPHS),
        None => count(whole, GLYPHS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_is_as_long_as_its_steps_and_as_high_as_its_rate() {
        let band = Band {
            case: "c".into(),
            seed: 1,
            load: "tcp-tx".into(),
            unit: "kbit received".into(),
            from_ns: -50_000_000,
            step_ns: 100_000_000,
            amounts: vec![5, 0],
        };
        let expected = [(-0.05, 0.0), (-0.05, 50.0), (0.05, 50.0), (0.05, 0.0), (0.15, 0.0)];
        let points: Vec<(f64, f64)> = corners(&band).iter().map(|(x, y)| (x / 1e9, *y)).collect();
        assert_eq!(points[..5], expected);
        assert_eq!((band.end_ns(), band.most_per_s()), (150_000_000, 50.0));
        assert_eq!(rate(&band, 50.0), "50 kbit/s".replace(' ', GLYPHS.space));
    }
}
