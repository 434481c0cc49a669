//! Comparisons against pair-by-pair counting and known ratios.

use super::*;
use crate::Series;
use proptest::prelude::*;

fn deviation(values: impl IntoIterator<Item = i64>) -> Deviation {
    values.into_iter().collect::<Series>().finish().unwrap()
}

/// A series with a given spread, the same every time.
fn noise(n: usize, spread: i64, seed: u64) -> Vec<i64> {
    let mut random = SplitMix64(seed);
    let bound = usize::try_from(2 * spread + 1).unwrap();
    (0..n).map(|_| i64::try_from(random.below(bound)).unwrap() - spread).collect()
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
fn the_interval_of_a_tenfold_improvement_contains_a_tenth() {
    let (a, b) = (noise(5_000, 10_000, 1), noise(5_000, 1_000, 2));
    let interval = p99_ratio_interval(&a, &b).unwrap();
    assert!(interval.low <= 0.1 && 0.1 <= interval.high, "{interval:?}");
    assert!(interval.high - interval.low < 0.01, "{interval:?}");
    assert_eq!(p99_ratio_interval(&a, &b), Some(interval), "the same every time");
    assert_eq!(p99_ratio_interval(&a[..99], &b), None);
}

#[test]
fn a_spread_has_the_middle_of_its_members() {
    let spread = Spread::of([4.0, 1.0, 2.0, 3.0]).unwrap();
    assert_eq!(spread, Spread { min: 1.0, median: 2.5, max: 4.0 });
    assert_eq!(Spread::of([]), None);
}

#[test]
fn an_ensemble_gives_the_percentiles_all_members_have() {
    let members = [deviation(noise(1_000, 50, 1)), deviation(noise(100, 80, 2))];
    let ensemble = Ensemble::of(&members).unwrap();
    assert_eq!((ensemble.members, ensemble.percentiles.len()), (2, 3));
    let ranges = members.each_ref().map(|d| d.range_ns as f64);
    assert_eq!(Some(ensemble.range_ns), Spread::of(ranges));
    assert_eq!(Ensemble::of([]), None);
}

proptest! {
    #[test]
    fn the_share_of_nearer_pairs_agrees_with_counting_them(
        a in proptest::collection::vec(-20_i64..20, 1..60),
        b in proptest::collection::vec(-20_i64..20, 1..60),
    ) {
        let mut share = 0.0;
        for x in &a {
            for y in &b {
                share += match y.abs().cmp(&x.abs()) {
                    std::cmp::Ordering::Less => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Greater => 0.0,
                };
            }
        }
        share /= (a.len() * b.len()) as f64;
        prop_assert!((probability_b_is_nearer(&a, &b).unwrap() - share).abs() < 1e-12);
    }
}
