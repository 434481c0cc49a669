//! Plots as SVG: axes with units, steps and lines. Colours come from the
//! page's style, so that light, dark and paper share one picture.

use std::fmt::Write;

use serde::Serialize;

use super::axis::Axis;
use super::escape::text;

/// Half of a letter's width.
const HALF_LETTER: f64 = 3.6;
/// What every picture has right of its frame, at least.
const MARGIN: f64 = 8.0;

/// Where a plot's frame lies, in the units of its `viewBox`.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    pub x: Axis,
    pub y: Axis,
}

impl Frame {
    /// The place of a pair of values.
    pub fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            self.left + self.x.share(x) * (self.right - self.left),
            self.bottom - self.y.share(y) * (self.bottom - self.top),
        )
    }

    /// Lines and labels at these values of the vertical axis.
    pub fn rows(&self, ticks: &[f64], label: &dyn Fn(f64) -> String, out: &mut String) {
        for tick in ticks {
            let (_, y) = self.at(self.x.bounds().0, *tick);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{:.1} {y:.1}H{:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                self.left,
                self.right,
                self.left - 6.0,
                y + 4.3,
                text(&label(*tick))
            );
        }
    }

    /// Lines and, if wanted, labels at these values of the horizontal axis.
    pub fn columns(&self, ticks: &[f64], label: Option<&dyn Fn(f64) -> String>, out: &mut String) {
        for tick in ticks {
            let (x, _) = self.at(*tick, self.y.bounds().0);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{x:.1} {:.1}V{:.1}\"/>",
                self.top, self.bottom
            );
            if let Some(label) = label {
                let label = label(*tick);
                // The picture ends right of the frame: there a label ends with it.
                let half = label.chars().count() as f64 * HALF_LETTER;
                let (x, anchor) = if x + half > self.right + MARGIN {
                    (self.right + MARGIN, "end")
                } else {
                    (x, "middle")
                };
                let _ = writeln!(
                    out,
                    "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                    self.bottom + 17.0,
                    text(&label)
                );
            }
        }
    }

    /// The line along the left and the bottom.
    pub fn border(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "<path class=\"frame\" d=\"M{:.1} {:.1}V{:.1}H{:.1}\"/>",
            self.left, self.top, self.bottom, self.right
        );
    }

    /// What the vertical axis shows.
    pub fn y_title(&self, x: f64, title: &str, out: &mut String) {
        let _ = writeln!(
            out,
            "<text class=\"axis\" transform=\"translate({x:.1} {:.1}) rotate(-90)\" \
             text-anchor=\"middle\">{}</text>",
            f64::midpoint(self.top, self.bottom),
            text(title)
        );
    }

    /// What the horizontal axis shows.
    pub fn x_title(&self, y: f64, title: &str, out: &mut String) {
        let _ = writeln!(
            out,
            "<text class=\"axis\" x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(self.left, self.right),
            text(title)
        );
    }

    /// A line through `corners`.
    pub fn path(&self, corners: &[(f64, f64)]) -> String {
        let mut path = String::new();
        for (index, (x, y)) in corners.iter().enumerate() {
            let (x, y) = self.at(*x, *y);
            let _ = write!(path, "{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' });
        }
        path
    }
}

/// One curve, its corners in the axes' units.
#[derive(Debug)]
pub struct Curve<'a> {
    pub name: &'a str,
    pub colour: usize,
    pub corners: Vec<(f64, f64)>,
    pub filled: bool,
    /// Smallest and largest published value, drawn as a bracket.
    pub published: Option<(f64, f64)>,
    /// What the read-out says: for a histogram (bar, count), for a tail (ns,
    /// deviations of at least so much).
    pub values: Vec<(i64, u64)>,
    /// Number of deviations.
    pub total: u64,
}

/// A line across the plot with its meaning.
#[derive(Debug)]
pub struct Limit {
    /// Where its label ends.
    pub x: f64,
    pub y: f64,
    pub label: String,
}

/// A plot with labelled axes.
pub struct Plot<'a> {
    pub title: &'a str,
    pub note: String,
    pub x: Axis,
    pub x_title: String,
    pub x_text: &'a dyn Fn(f64) -> String,
    pub y: Axis,
    pub y_title: String,
    pub y_text: &'a dyn Fn(f64) -> String,
    pub limit: Option<Limit>,
    pub curves: Vec<Curve<'a>>,
    /// Left end of the first bar and width of all, in ns; for histograms.
    pub bars: Option<(f64, f64)>,
}

const WIDTH: f64 = 500.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 68.0;
const RIGHT: f64 = 490.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 256.0;

/// What the read-out has to know (assets/js/curves.js).
#[derive(Serialize)]
struct Readable<'a> {
    log: bool,
    low: f64,
    high: f64,
    width: f64,
    left: f64,
    right: f64,
    first: f64,
    step: f64,
    curves: Vec<ReadableCurve<'a>>,
}

#[derive(Serialize)]
struct ReadableCurve<'a> {
    name: &'a str,
    colour: usize,
    total: u64,
    values: &'a [(i64, u64)],
}

impl Plot<'_> {
    /// The figure with its caption and legend.
    pub fn draw(&self, out: &mut String) {
        let frame =
            Frame { left: LEFT, right: RIGHT, top: TOP, bottom: BOTTOM, x: self.x, y: self.y };
        let _ = writeln!(
            out,
            "<figure>\n<figcaption>{}<span class=\"note readout\">{}</span>\
             <span class=\"keys\">{}</span></figcaption>\n\
             <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\" data-plot=\"{}\">",
            text(self.title),
            text(&self.note),
            self.legend(),
            text(self.title),
            text(&self.readable())
        );
        frame.columns(&self.x.ticks(), Some(self.x_text), out);
        frame.rows(&self.y.ticks(), self.y_text, out);
        frame.border(out);
        frame.x_title(HEIGHT - 6.0, &self.x_title, out);
        frame.y_title(13.0, &self.y_title, out);
        for (index, curve) in self.curves.iter().enumerate() {
            draw_curve(&frame, curve, index, out);
        }
        if let Some(limit) = &self.limit {
            let (x, y) = frame.at(limit.x, limit.y);
            let _ = writeln!(
                out,
                "<path class=\"limit\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>\
                 <text class=\"halo\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                x - 5.0,
                y + 14.0,
                text(&limit.label)
            );
        }
        let _ = writeln!(
            out,
            "<line class=\"pointer\" x1=\"{LEFT}\" x2=\"{LEFT}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\n\
             </svg>\n</figure>"
        );
    }

    fn legend(&self) -> String {
        self.curves.iter().fold(String::new(), |mut legend, curve| {
            let _ = write!(
                legend,
                "<span class=\"c{}\"><i class=\"swatch\"></i>{}</span>",
                curve.colour,
                text(curve.name)
            );
            legend
        })
    }

    fn readable(&self) -> String {
        let (low, high) = self.x.bounds();
        let (first, step) = self.bars.unwrap_or((0.0, 0.0));
        let curves = self.curves.iter();
        let readable = Readable {
            log: matches!(self.x, Axis::Log(..)),
            low,
            high,
            width: WIDTH,
            left: LEFT,
            right: RIGHT,
            first,
            step,
            curves: curves
                .map(|curve| ReadableCurve {
                    name: curve.name,
                    colour: curve.colour,
                    total: curve.total,
                    values: &curve.values,
                })
                .collect(),
        };
        // Strings and numbers only: writing them cannot fail.
        serde_json::to_string(&readable).unwrap_or_default()
    }
}

fn draw_curve(frame: &Frame, curve: &Curve<'_>, index: usize, out: &mut String) {
    let path = frame.path(&curve.corners);
    let _ = writeln!(out, "<g class=\"curve c{}\">", curve.colour);
    if curve.filled {
        let _ = writeln!(out, "<path class=\"area\" d=\"{path}V{BOTTOM:.1}H{LEFT:.1}Z\"/>");
    }
    let _ = writeln!(out, "<path class=\"line\" d=\"{path}\"/>");
    if let Some((low, high)) = curve.published {
        let (from, _) = frame.at(low, 1.0);
        let (to, _) = frame.at(high, 1.0);
        let y = TOP + 6.0 + 9.0 * index as f64;
        let (above, below) = (y - 3.5, y + 3.5);
        let _ = writeln!(
            out,
            "<path class=\"published\" d=\"M{from:.1} {y}H{to:.1}\"/>\
             <path class=\"line\" d=\"M{from:.1} {above}V{below}M{to:.1} {above}V{below}\"/>"
        );
    }
    let _ = writeln!(out, "</g>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_at_the_right_edge_ends_inside_the_picture() {
        let x = Axis::Log(1.0, 100_000.0);
        let frame = Frame {
            left: LEFT,
            right: RIGHT,
            top: TOP,
            bottom: BOTTOM,
            x,
            y: Axis::Linear(0.0, 1.0),
        };
        let mut drawn = String::new();
        frame.columns(&[1_000.0, 100_000.0], Some(&|_| "100 µs".to_owned()), &mut drawn);
        let anchors: Vec<&str> =
            drawn.split("text-anchor=\"").skip(1).map(|rest| &rest[..3]).collect();
        assert_eq!(anchors, ["mid", "end"]);
        assert!(drawn.contains("<text x=\"498.0\""), "{drawn}");
    }
}
