//! Plots as SVG: axes with units, steps and lines. Colours come from the
//! page's style, so that light, dark and paper share one picture.

use std::fmt::Write;

use super::escape::text;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;

/// How values become distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Axis {
    /// Evenly between these bounds.
    Linear(f64, f64),
    /// By powers of ten between these bounds, both above zero.
    Log(f64, f64),
}

impl Axis {
    /// 0 at the lower bound, 1 at the upper.
    fn share(self, value: f64) -> f64 {
        match self {
            Self::Linear(low, high) => (value - low) / (high - low).max(f64::MIN_POSITIVE),
            Self::Log(low, high) => {
                let span = (high / low).log10().max(f64::MIN_POSITIVE);
                (value.max(low) / low).log10() / span
            }
        }
    }

    fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear(low, high) => linear_ticks(low, high),
            Self::Log(low, high) => {
                let (from, to) = (low.log10().ceil(), high.log10().floor());
                // Not more than eight labels.
                let step = ((to - from) / 8.0).ceil().max(1.0);
                let mut ticks = Vec::new();
                let mut exponent = from;
                while exponent <= to + 1e-9 {
                    ticks.push(10_f64.powf(exponent));
                    exponent += step;
                }
                ticks
            }
        }
    }
}

fn linear_ticks(low: f64, high: f64) -> Vec<f64> {
    let raw = (high - low) / 6.0;
    if raw <= 0.0 || !raw.is_finite() {
        return vec![low];
    }
    let magnitude = 10_f64.powf(raw.log10().floor());
    let nice = [1.0, 2.0, 5.0, 10.0].map(|n| n * magnitude);
    let step = nice.into_iter().find(|step| *step >= raw).unwrap_or(raw);
    let mut ticks = Vec::new();
    let mut tick = (low / step).ceil() * step;
    while tick <= high + step * 1e-6 {
        ticks.push(if tick.abs() < step * 1e-6 { 0.0 } else { tick });
        tick += step;
    }
    ticks
}

/// One curve: its colour number, and its corners in the axes' units.
pub struct Curve<'a> {
    pub name: &'a str,
    pub color: usize,
    pub corners: Vec<(f64, f64)>,
    pub filled: bool,
}

/// A plot with labelled axes.
pub struct Plot<'a> {
    pub title: &'a str,
    pub x: Axis,
    pub x_label: String,
    pub x_text: &'a dyn Fn(f64) -> String,
    pub y: Axis,
    pub y_label: String,
    pub y_text: &'a dyn Fn(f64) -> String,
    pub curves: Vec<Curve<'a>>,
}

impl Plot<'_> {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let across = self.x.share(x).clamp(0.0, 1.0);
        let up = self.y.share(y).clamp(0.0, 1.0);
        (LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM))
    }

    /// The figure with its caption and legend.
    pub fn draw(&self, out: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let _ = writeln!(
            out,
            "<figure>\n<figcaption>{}{}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             role=\"img\" aria-label=\"{}\">",
            text(self.title),
            self.legend(),
            text(self.title)
        );
        for tick in self.x.ticks() {
            let (x, _) = self.at(tick, 0.0);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom}\"/><text x=\"{x:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{}</text>",
                bottom + 18.0,
                text(&(self.x_text)(tick))
            );
        }
        let left = match self.x {
            Axis::Linear(low, _) | Axis::Log(low, _) => low,
        };
        for tick in self.y.ticks() {
            let (_, y) = self.at(left, tick);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/><text x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                LEFT - 7.0,
                y + 4.0,
                text(&(self.y_text)(tick))
            );
        }
        let _ = writeln!(
            out,
            "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text class=\"axis\" transform=\"translate(14 {:.1}) rotate(-90)\" \
             text-anchor=\"middle\">{}</text>",
            f64::midpoint(LEFT, right),
            HEIGHT - 8.0,
            text(&self.x_label),
            f64::midpoint(TOP, bottom),
            text(&self.y_label)
        );
        for curve in &self.curves {
            self.curve(curve, out);
        }
        let _ = writeln!(out, "</svg>\n</figure>");
    }

    fn legend(&self) -> String {
        self.curves.iter().fold(String::new(), |mut legend, curve| {
            let _ = write!(
                legend,
                " <span class=\"key\"><i class=\"c{}\"></i>{}</span>",
                curve.color,
                text(curve.name)
            );
            legend
        })
    }

    fn curve(&self, curve: &Curve<'_>, out: &mut String) {
        let mut path = String::new();
        for (index, (x, y)) in curve.corners.iter().enumerate() {
            let (x, y) = self.at(*x, *y);
            let _ = write!(path, "{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' });
        }
        if curve.filled {
            let _ = writeln!(
                out,
                "<path class=\"area c{}\" d=\"{path}V{:.1}H{LEFT}Z\"/>",
                curve.color,
                HEIGHT - BOTTOM
            );
        }
        let _ = writeln!(out, "<path class=\"line c{}\" d=\"{path}\"/>", curve.color);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_inside() {
        assert_eq!(linear_ticks(-43.0, 19.0), [-40.0, -20.0, 0.0]);
        assert_eq!(linear_ticks(0.0, 0.0), [0.0]);
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten() {
        assert_eq!(Axis::Log(0.5, 2000.0).ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert!((Axis::Log(1.0, 100.0).share(10.0) - 0.5).abs() < 1e-12);
    }
}
