//! When a run is worse than another one: `FIGURE [of NAME] RELATION FACTORx`.
//!
//! Figure, name and relation are those of a requirement. The bound is a factor of the other
//! run's figure, where a requirement has a time, a count or a rate.

use std::str::FromStr;

use crate::read::requirement::{Statement, Wrong, statement};
use crate::scenario::{Relation, RequiredFigure};

/// A condition on two runs, true where the later one is worse: `range of cycle > 1.2x`.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// As it was written.
    pub text: String,
    /// What is compared.
    pub figure: RequiredFigure,
    /// Of which flow or round trips; of all that are no background if `None`.
    pub of: Option<String>,
    /// How the later figure and the bound are compared.
    pub relation: Relation,
    /// The bound is so many times the earlier figure.
    pub factor: f64,
}

impl Threshold {
    /// Whether `after` is worse than `before`. Nothing is divided: a figure that was 0 may
    /// grow, and then is.
    pub fn is_exceeded(&self, before: f64, after: f64) -> bool {
        self.relation.holds(after, self.factor * before)
    }
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        read(text).map_err(|(why, help)| format!("{why}. {help}"))
    }
}

const EXAMPLE: &str =
    "Write FIGURE, of NAME if there are several, and a factor: range > 1.2x, rate of load < 0.9x";

fn read(text: &str) -> Result<Threshold, Wrong> {
    let wrong = |why: String| (why, EXAMPLE.to_owned());
    let Statement { figure, of, relation, bound, condition } =
        statement(text).map_err(|(why, _)| wrong(why))?;
    if condition.is_some() {
        return Err(wrong("a limit has no `with`; write another one on `lost`".to_owned()));
    }
    if relation == Relation::Equal {
        return Err(wrong("a multiple is never met exactly".to_owned()));
    }
    let digits = bound.strip_suffix(['x', '×']).ok_or_else(|| {
        wrong(format!(
            "`{bound}` is no factor of the other run's figure; what one run must fulfil by \
             itself is a requirement of its file"
        ))
    })?;
    let factor = digits.trim_end().parse().ok().filter(|f: &f64| f.is_finite() && *f > 0.0);
    let factor = factor.ok_or_else(|| wrong(format!("`{bound}` is no factor above 0")))?;
    Ok(Threshold { text: text.trim().to_owned(), figure, of, relation, factor })
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_core::figure::Figure;

    use crate::scenario::RequiredCount;

    #[test]
    fn figure_name_and_relation_are_those_of_a_requirement() {
        let read = |text: &str| text.parse::<Threshold>().unwrap();
        let range = read("range > 1.2x");
        assert_eq!(range.figure, RequiredFigure::Interval(Figure::Range));
        assert_eq!((range.of, range.relation, range.factor), (None, Relation::Above, 1.2));
        let p99 = read(" p99.9 rtt of ask >= 2 × ");
        assert_eq!(p99.figure, RequiredFigure::RoundTrip(Figure::Percentile(99.9)));
        assert_eq!((p99.of.as_deref(), p99.factor), (Some("ask"), 2.0));
        assert_eq!(read("rate of load<0.9x").figure, RequiredFigure::FlowRate);
        assert_eq!(read("lost > 1x").figure, RequiredFigure::Count(RequiredCount::Lost));
    }

    #[test]
    fn every_mistake_is_explained() {
        for (text, why) in [
            ("", "there is no <=, <, >=, > or = in it"),
            ("range 1.2x", "there is no <=, <, >=, > or = in it"),
            ("> 1.2x", "`` names no figure"),
            ("rnage > 1.2x", "there is no figure `rnage`; did you mean `range`?"),
            ("range > 20us", "`20us` is no factor of the other run's figure"),
            ("range > 1.2", "`1.2` is no factor of the other run's figure"),
            ("range >", "`` is no factor"),
            ("range > x", "`x` is no factor above 0"),
            ("range > 0x", "`0x` is no factor above 0"),
            ("range > -1x", "`-1x` is no factor above 0"),
            ("range > infx", "`infx` is no factor above 0"),
            ("range > NaNx", "`NaNx` is no factor above 0"),
            ("range = 1x", "a multiple is never met exactly"),
            ("range > 1.2x with lost <= 3", "a limit has no `with`"),
            ("range of > 1.2x", "`range of` names no figure"),
        ] {
            let error = text.parse::<Threshold>().unwrap_err();
            assert!(error.contains(why) && error.ends_with(EXAMPLE), "{text}: {error}");
        }
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        let lost: Threshold = "lost > 1x".parse().unwrap();
        assert!(lost.is_exceeded(0.0, 1.0) && !lost.is_exceeded(0.0, 0.0));
        let rate: Threshold = "rate < 0.9x".parse().unwrap();
        assert!(rate.is_exceeded(100.0, 89.0) && !rate.is_exceeded(100.0, 90.0));
    }
}
