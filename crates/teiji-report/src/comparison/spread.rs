//! A figure over the members of an ensemble.

use serde::Serialize;

/// A figure over the members of an ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Smallest of the members'.
    pub min: f64,
    /// The middle one (mean of the two middle ones).
    pub median: f64,
    /// Largest.
    pub max: f64,
    /// How many members have it.
    pub members: usize,
}

impl Spread {
    /// Over `values`; `None` if there are none.
    pub fn over(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut v: Vec<f64> = values.into_iter().collect();
        v.sort_by(f64::total_cmp);
        let middle = v.len() / 2;
        let median = match v.len() {
            0 => return None,
            n if n % 2 == 1 => v[middle],
            _ => f64::midpoint(v[middle - 1], v[middle]),
        };
        Some(Self { min: v[0], median, max: v[v.len() - 1], members: v.len() })
    }

    /// True if no value of one lies among the values of the other.
    pub fn is_apart_from(&self, other: &Self) -> bool {
        self.max < other.min || other.max < self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_ensemble_lies_between_the_middle_ones() {
        let spread = Spread::over([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((spread.min, spread.median, spread.max), (1.0, 2.5, 4.0));
        assert_eq!(Spread::over([]), None);
    }

    #[test]
    fn ensembles_that_touch_are_not_apart() {
        let low = Spread::over([1.0, 2.0]).unwrap();
        assert!(low.is_apart_from(&Spread::over([2.1, 3.0]).unwrap()));
        assert!(!low.is_apart_from(&Spread::over([2.0, 3.0]).unwrap()));
    }
}
