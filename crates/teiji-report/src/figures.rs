//! The rows of a table of figures and what their cells say: the same digits on every medium.
//!
//! One row has one unit and one number of decimals, so that its figures can be compared.

use crate::comparison::{CaseView, Comparison, Figure, Measure, Spread};
use crate::units::{Glyphs, Scale};

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Row {
    /// A figure.
    One(Figure),
    /// The two extremes.
    Extremes,
}

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The run.
    Measured,
    /// The paper, whose figures are quoted, not rounded.
    Published,
}

impl Row {
    /// What the cells of `views` say, in their order; `None` where there is no figure.
    pub fn cells(self, views: &[&CaseView<'_>], source: Source) -> Vec<Option<Cell>> {
        let values = |row: Self| -> Vec<Option<Value>> {
            views
                .iter()
                .map(|view| match source {
                    Source::Measured => row.measured(view),
                    Source::Published => row.published(view),
                })
                .collect()
        };
        // An extreme has the same digits alone and beside the other one.
        let scaled = match self {
            Self::One(Figure::Min | Figure::Max) => values(Self::Extremes),
            _ => values(self),
        };
        let numbers = scaled.iter().flatten().flat_map(|value| value.numbers());
        let scale = match source {
            Source::Measured if self == Self::One(Figure::Stddev) => Scale::of_deviations(numbers),
            Source::Measured => Scale::fitting(numbers),
            Source::Published => Scale::quoting(numbers),
        };
        let cell = |value: Option<Value>| value.map(|value| Cell { value, scale });
        values(self).into_iter().map(cell).collect()
    }

    /// The ends, with the median between them where there are several members;
    /// of the extremes the outermost of all members.
    fn measured(self, view: &CaseView<'_>) -> Option<Value> {
        match self {
            Self::One(figure) => view.figure(figure).map(Value::Spread),
            Self::Extremes => {
                let (low, high) = (view.figure(Figure::Min)?, view.figure(Figure::Max)?);
                Some(Value::Ends(low.min, high.max))
            }
        }
    }

    fn published(self, view: &CaseView<'_>) -> Option<Value> {
        let paper = view.paper.as_ref()?;
        match self {
            Self::One(figure) => Spread::over(paper.figure(figure)).map(Value::Spread),
            Self::Extremes => match (paper.min_ns, paper.max_ns) {
                (Some(low), Some(high)) => Some(Value::Ends(low, high)),
                (None, Some(high)) => Some(Value::UpTo(high)),
                _ => None,
            },
        }
    }

    /// `percentiles` between p99 and `beyond` are one row, the highest; of round trips
    /// and delays each is a row, because every step of a latency's tail is a figure of its own.
    pub fn with_tail(percentiles: Vec<f64>, measure: Measure, beyond: f64) -> Vec<Self> {
        let mut rows = vec![Self::One(Figure::Mean), Self::Extremes];
        if matches!(measure, Measure::RoundTrip | Measure::Delay) {
            let range = (measure == Measure::Delay).then_some(Self::One(Figure::Range));
            rows.extend(range.into_iter().chain([Self::One(Figure::Stddev)]));
            rows.extend(percentiles.into_iter().map(|p| Self::One(Figure::Percentile(p))));
            return rows;
        }
        rows.extend([Self::One(Figure::Range), Self::One(Figure::Stddev)]);
        let tail = percentiles.into_iter().rev().find(|p| *p <= beyond + 1e-9);
        rows.extend(tail.filter(|p| *p >= 99.0).map(|p| Self::One(Figure::Percentile(p))));
        rows
    }

    /// Every figure in a row of its own.
    pub fn every(comparison: &Comparison<'_>) -> Vec<Self> {
        let mut figures = Figure::PLAIN.to_vec();
        // How far the fastest reply is from the slowest says nothing of either.
        figures
            .retain(|figure| comparison.measure != Measure::RoundTrip || *figure != Figure::Range);
        figures.extend(comparison.percentiles().into_iter().map(Figure::Percentile));
        figures.into_iter().map(Self::One).collect()
    }

    /// Its name.
    pub fn name(self, glyphs: &Glyphs) -> String {
        match self {
            Self::One(Figure::Mean) => "mean".to_owned(),
            Self::One(Figure::Min) => "min".to_owned(),
            Self::One(Figure::Max) => "max".to_owned(),
            Self::One(Figure::Range) => "range".to_owned(),
            Self::One(Figure::Stddev) => glyphs.sigma.to_owned(),
            Self::One(Figure::Percentile(p)) => format!("p{p}"),
            Self::Extremes => format!("min {} max", glyphs.ellipsis),
        }
    }
}

/// A value with the unit and decimals of its row.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    value: Value,
    scale: Scale,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Spread(Spread),
    Ends(f64, f64),
    UpTo(f64),
}

impl Value {
    fn numbers(self) -> Vec<f64> {
        match self {
            Self::Spread(s) if s.members > 1 => vec![s.min, s.median, s.max],
            Self::Spread(s) => vec![s.median],
            Self::Ends(low, high) => vec![low, high],
            Self::UpTo(high) => vec![high],
        }
    }
}

impl Cell {
    /// On one line.
    pub fn text(self, glyphs: &Glyphs) -> String {
        let (space, dots, scale) = (glyphs.space, glyphs.ellipsis, self.scale);
        match self.value {
            Value::Spread(s) if s.members > 1 && s.min < s.max => format!(
                "{}{space}{dots}{space}{}",
                scale.number(s.min, glyphs),
                scale.interval(s.median, s.max, glyphs)
            ),
            Value::Spread(s) => scale.text(s.median, glyphs),
            Value::Ends(low, high) => scale.interval(low, high, glyphs),
            Value::UpTo(high) => format!("{dots}{space}{}", scale.text(high, glyphs)),
        }
    }

    /// The median of several members, and their ends if they differ as far as can be written.
    pub fn median_and_spread(self, glyphs: &Glyphs) -> (String, Option<String>) {
        let Value::Spread(s) = self.value else { return (self.text(glyphs), None) };
        let differ = self.scale.number(s.min, glyphs) != self.scale.number(s.max, glyphs);
        let spread = differ.then(|| self.scale.interval(s.min, s.max, glyphs));
        (self.scale.text(s.median, glyphs), spread)
    }
}
