//! Comparisons against known ratios.

use super::*;
use crate::Series;

fn deviation(values: impl IntoIterator<Item = i64>) -> Deviation {
    values.into_iter().collect::<Series>().finish().unwrap()
}

#[test]
fn ratios_are_b_over_a() {
    let a = deviation((0..100).map(|i| i * 10 - 500));
    let b = deviation((0..100).map(|i| i - 50));
    let comparison = Comparison::of(&a, &b);
    assert_eq!(comparison.range, Some(0.1));
    assert!((comparison.stddev.unwrap() - 0.1).abs() < 1e-12);
    assert_eq!(comparison.percentiles.len(), 3);
    assert_eq!(Comparison::of(&deviation([3, 3]), &b).range, None);
}

#[test]
fn a_spread_has_the_middle_of_its_members() {
    let spread = Spread::of([4.0, 1.0, 2.0, 3.0]).unwrap();
    assert_eq!(spread, Spread { min: 1.0, median: 2.5, max: 4.0 });
    assert_eq!(Spread::of([]), None);
}

#[test]
fn an_ensemble_gives_the_percentiles_all_members_have() {
    let members =
        [deviation((0..1_000).map(|i| i % 101 - 50)), deviation((0..100).map(|i| i - 80))];
    let ensemble = Ensemble::of(&members).unwrap();
    assert_eq!((ensemble.members, ensemble.percentiles.len()), (2, 3));
    let ranges = members.each_ref().map(|d| d.range_ns as f64);
    assert_eq!(Some(ensemble.range_ns), Spread::of(ranges));
    assert_eq!(Ensemble::of([]), None);
}
