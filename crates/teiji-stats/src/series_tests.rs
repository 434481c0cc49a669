//! Series against independent computations: a naive one in the test, and
//! Python's exact fractions (`tests/expected.py` prints the numbers below).

use super::*;
use proptest::prelude::*;

/// The same generator as in `tests/expected.py`.
fn data(n: usize, offset: i64) -> impl Iterator<Item = i64> {
    let mut state = 1_u64;
    std::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let u = i64::try_from(state >> 33).unwrap() % 24_001 - 12_000;
        (u * u * u).div_euclid(144_000_000) + offset
    })
    .take(n)
}

fn relative_error(measured: f64, expected: f64) -> f64 {
    ((measured - expected) / expected).abs()
}

fn percentiles(d: &Deviation) -> Vec<i64> {
    d.percentiles.iter().map(|p| p.ns).collect()
}

#[test]
fn figures_agree_with_python_fractions() {
    let d = data(60_000, 0).collect::<Series>().finish().unwrap();
    assert!(relative_error(d.mean_ns, 27.597_633_333_333_334) < 1e-15);
    assert!(relative_error(d.stddev_ns, 4_538.772_757_780_205) < 1e-15);
    assert_eq!((d.count, d.min_ns, d.max_ns, d.range_ns), (60_000, -12_000, 12_000, 24_000));
    assert_eq!(percentiles(&d), [1_500, 8_743, 11_668, 11_967, 11_997]);
    assert_eq!(d.percentiles[4].p.to_string(), "99.99");
    assert!(d.exact);
}

#[test]
fn a_huge_offset_does_not_cost_a_digit_of_the_standard_deviation() {
    let offset = 1_700_000_000_000_000_000;
    let d = data(60_000, offset).collect::<Series>().finish().unwrap();
    assert!(relative_error(d.stddev_ns, 4_538.772_757_780_205) < 1e-15);
    assert!(relative_error(d.mean_ns, 1.7e18) < 1e-15);
    assert_eq!(percentiles(&d)[1..3], [offset + 6_230, offset + 11_300]);
    // Far from zero, the bins are linear and few.
    assert!(d.histogram.len() > 100 && d.histogram.len() <= 201, "{}", d.histogram.len());
}

#[test]
fn two_million_samples_keep_exact_moments_and_percentiles_within_a_128th() {
    let d = data(2_000_000, -398).collect::<Series>().finish().unwrap();
    assert!(relative_error(d.mean_ns, -399.829_335_5) < 1e-15);
    assert!(relative_error(d.stddev_ns, 4_534.483_030_433_032) < 1e-15);
    assert!(!d.exact);
    let expected = [1_534, 8_754, 11_696, 12_330, 12_393, 12_398, 12_398];
    assert_eq!(d.percentiles.len(), expected.len());
    for (p, exact) in d.percentiles.iter().zip(expected) {
        assert!(p.ns >= exact && p.ns - exact <= exact / 128, "p{} {} {exact}", p.p, p.ns);
    }
    assert_eq!(d.histogram.iter().map(|b| b.count).sum::<u64>(), 2_000_000);
}

#[test]
fn no_sample_means_no_statistics() {
    assert_eq!(Series::new().finish(), None);
}

#[test]
fn one_sample_supports_no_percentile() {
    let d = [-5].into_iter().collect::<Series>().finish().unwrap();
    assert_eq!((d.mean_ns, d.stddev_ns, d.range_ns), (-5.0, 0.0, 0));
    assert_eq!(d.percentiles, []);
    assert_eq!(d.histogram, [Bin { from_ns: -5, to_ns: -4, count: 1 }]);
}

#[test]
fn a_percentile_is_given_from_the_count_that_supports_it() {
    let given = |n| data(n, 0).collect::<Series>().finish().unwrap().percentiles.len();
    assert_eq!([1, 2, 9, 10, 999, 1_000, 100_000].map(given), [0, 1, 1, 2, 3, 4, 6]);
}

#[test]
fn the_extremes_of_the_type_are_harmless() {
    for limit in [0, 8] {
        let mut series = Series::with_exact_limit(limit);
        series.extend([i64::MIN, i64::MAX, 0, i64::MIN, i64::MIN, i64::MAX]);
        let d = series.finish().unwrap();
        assert_eq!(d.range_ns, i64::MAX, "saturates");
        assert!(d.stddev_ns.is_finite() && d.mean_ns.is_finite());
        assert_eq!(d.percentiles[0].ns, i64::MAX);
    }
}

#[test]
fn bin_widths_are_one_two_five() {
    assert_eq!([1, 2, 3, 6, 11, 51].map(one_two_five), [1, 2, 5, 10, 20, 100]);
    assert_eq!(one_two_five(u64::MAX), i64::MAX);
}

#[test]
fn the_median_of_an_even_count_is_the_lower_middle_value() {
    assert_eq!(median(&mut [4, 1, 3, 2]), Some(2));
    assert_eq!(median(&mut []), None);
}

/// The naive computation: sort, index, and two passes in f64.
fn naive(values: &[i64]) -> (f64, f64, Vec<(f64, i64)>) {
    let n = values.len() as f64;
    let mean = values.iter().map(|v| *v as f64).sum::<f64>() / n;
    let variance = values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / n;
    let mut magnitudes: Vec<i64> = values.iter().map(|v| v.abs()).collect();
    magnitudes.sort_unstable();
    let mut percentiles = Vec::new();
    for p in [50.0, 90.0, 99.0, 99.9] {
        // The largest value that at least p % of the values do not exceed.
        let enough = |m: &&i64| {
            let share = magnitudes.iter().filter(|v| v <= m).count() as f64 / n;
            share * 100.0 >= p - 1e-9
        };
        if n * (100.0 - p) >= 100.0 - 1e-9 {
            percentiles.push((p, *magnitudes.iter().find(enough).unwrap()));
        }
    }
    (mean, variance.sqrt(), percentiles)
}

proptest! {
    #[test]
    fn figures_agree_with_a_naive_computation(
        values in proptest::collection::vec(-1_000_000_i64..1_000_000, 1..1_200), offset in -1_000_000_i64..1_000_000,
    ) {
        let values: Vec<i64> = values.into_iter().map(|v| v + offset).collect();
        let (mean, stddev, percentiles) = naive(&values);
        let exact = values.iter().copied().collect::<Series>().finish().unwrap();
        prop_assert!((exact.mean_ns - mean).abs() < 1e-6);
        prop_assert!((exact.stddev_ns - stddev).abs() < 1e-6);
        let given: Vec<(f64, i64)> = exact.percentiles.iter().map(|p| (p.p, p.ns)).collect();
        prop_assert_eq!(&given, &percentiles);

        let mut streaming = Series::with_exact_limit(values.len() / 2);
        streaming.extend(values.iter().copied());
        let bounded = streaming.finish().unwrap();
        prop_assert_eq!(bounded.stddev_ns.to_bits(), exact.stddev_ns.to_bits());
        prop_assert!(!bounded.exact);
        for (b, e) in bounded.percentiles.iter().zip(&exact.percentiles) {
            prop_assert!(b.ns >= e.ns && (b.ns - e.ns) * 128 <= e.ns);
        }
        for d in [exact, bounded] {
            prop_assert_eq!(d.histogram.iter().map(|b| b.count).sum::<u64>(), d.count);
            for bin in &d.histogram {
                let inside = values.iter().filter(|v| (bin.from_ns..bin.to_ns).contains(*v)).count();
                prop_assert_eq!(inside as u64, bin.count);
            }
        }
    }
}
