//! Bounds against independent computations and against distributions whose
//! quantiles are known.

use super::pareto::Pareto;
use super::*;

#[path = "tail/reference.rs"]
mod reference;
use reference::{EXPONENTIAL, HEAVY, SHORT};

/// SplitMix64, numbers above 0 and at most 1.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11).wrapping_add(1) as f64 / (1_u64 << 53) as f64
    }

    #[expect(clippy::cast_possible_truncation, reason = "small")]
    fn exponential_ns(&mut self, mean: f64) -> i64 {
        (-mean * self.unit().ln()).round() as i64
    }
}

fn close(ours: f64, theirs: f64, relative: f64) {
    assert!((ours - theirs).abs() <= relative * theirs.abs(), "{ours} instead of {theirs}");
}

#[test]
fn order_statistics_agree_with_scipys_binomial_distribution() {
    // scipy 1.x: the greatest m with binom.cdf(m, n, p) <= 0.05.
    for (samples, probability, expected) in [
        (58.0, 0.05, None),
        (59.0, 0.05, Some(0)),
        (1_000.0, 0.5, Some(473)),
        (60_000.0, 1e-3, Some(47)),
        (1_000_000.0, 0.01, Some(9_836)),
        (2_995_730.0, 1e-6, None),
        (2_995_731.0, 1e-6, Some(0)),
        (10_000_000.0, 1e-6, Some(4)),
    ] {
        assert_eq!(order::samples_above(samples, probability, 0.95), expected, "{samples}");
    }
    close(order::supported(59.0, 0.95), 0.049_5, 0.01);
    close(order::supported(60_000.0, 0.95), 4.992_9e-5, 1e-4);
}

/// Excesses; what scipy makes of them: ξ and σ by `optimize.minimize` of the
/// likelihood (`genpareto.fit(…, floc=0)` agrees to 7 digits), −ln L, Anderson
/// and Darling's A², the level of rarity 2000, and where its profile likelihood
/// has fallen by `chi2.ppf(0.90, 1) / 2`.
const SCIPY: [(&[f64], [f64; 6]); 3] = [
    (&SHORT, [-0.223_557_689, 1_019.253_543, 924.392_175, 0.231_219, 3_725.710_3, 5_321.024_0]),
    (
        &EXPONENTIAL,
        [-0.023_279_791, 1_018.075_589, 948.286_758, 0.230_403, 7_092.314_3, 13_156.082_1],
    ),
    (&HEAVY, [0.226_622_691, 1_016.984_075, 978.146_331, 0.230_319, 20_637.029_4, 57_097.376_4]),
];

#[test]
fn the_pareto_fit_its_levels_and_bounds_agree_with_scipy() {
    for (excesses, [shape, scale, likelihood, distance, level, upper]) in SCIPY {
        let fit = Pareto::fit(excesses).unwrap();
        close(fit.shape, shape, 1e-5);
        close(fit.scale, scale, 1e-6);
        close(-fit.likelihood(excesses), likelihood, 1e-9);
        close(fitness::anderson_darling(&fit, excesses), distance, 1e-4);
        close(fit.level(2_000.0), level, 1e-5);
        close(fit.upper_level(excesses, 2_000.0, 0.95, 1.0).unwrap(), upper, 1e-5);
    }
}

#[test]
fn clusters_widen_the_bound() {
    let fit = Pareto::fit(&EXPONENTIAL).unwrap();
    let alone = fit.upper_level(&EXPONENTIAL, 2_000.0, 0.95, 1.0).unwrap();
    let grouped = fit.upper_level(&EXPONENTIAL, 2_000.0, 0.95, 0.25).unwrap();
    assert!(grouped > alone * 1.2, "{grouped} {alone}");
}

#[test]
fn the_upper_bound_holds_about_as_often_as_its_confidence() {
    // 400 samples of 200 exponential excesses; the level of rarity 1000 is
    // ln 1000 times the mean. 95 % means 380; 400 trials have σ = 4.4, and the
    // χ² approximation costs a few per cent at this size.
    let mut random = Random(1);
    let truth = 1_000.0 * 1_000_f64.ln();
    let mut covered = 0;
    for _ in 0..400 {
        let excesses: Vec<f64> = (0..200).map(|_| -1_000.0 * random.unit().ln()).collect();
        let fit = Pareto::fit(&excesses).unwrap();
        let upper = fit.upper_level(&excesses, 1_000.0, 0.95, 1.0);
        covered += u32::from(upper.is_none_or(|upper| upper >= truth));
    }
    assert!((350..=398).contains(&covered), "{covered} of 400");
}

#[test]
fn enough_samples_need_no_model() {
    let samples: Vec<i64> = (0..1_000).collect();
    let bound = TailBound::of(&samples, 0.01).unwrap();
    // binom.cdf(4, 1000, 0.01) = 0.029, of 5: 0.067. Four may lie above.
    assert_eq!(bound.order_ns, Some(995));
    assert_eq!(bound.upper_ns(), Some((995, Evidence::OrderStatistics)));
    assert_eq!(bound.fit, Err(NoFit::NotNeeded));
}

#[test]
fn sixty_thousand_samples_reach_a_millionth_by_the_fit_only() {
    let mut random = Random(3);
    let samples: Vec<i64> = (0..60_000).map(|_| 5_000 + random.exponential_ns(2_000.0)).collect();
    let bound = TailBound::of(&samples, 1e-6).unwrap();
    assert_eq!(bound.order_ns, None);
    assert!((4e-5..1e-4).contains(&bound.supported), "{bound:?}");
    assert!(bound.extremal_index > 0.8, "{bound:?}");
    let fit = bound.fit.unwrap();
    let truth = 5_000.0 + 2_000.0 * 1e6_f64.ln();
    let upper = fit.upper_ns.unwrap() as f64;
    assert!(upper >= truth && upper < truth * 1.7, "{upper} for {truth}: {bound:?}");
    assert_eq!(bound.upper_ns(), Some((fit.upper_ns.unwrap(), Evidence::TailFit)));
    assert!(bound.upper_ns().unwrap().0 >= bound.worst_ns);
}

#[test]
fn a_tail_of_two_causes_is_not_fitted_as_one() {
    // Every thousandth sample stands alone at about 2 ms, the others stay below
    // 20 µs: a threshold between them leaves 60 of nearly one value.
    let mut random = Random(5);
    let samples: Vec<i64> = (0..60_000)
        .map(|k| {
            let far = if k % 1_000 == 500 { 2_000_000 } else { 0 };
            far + random.exponential_ns(2_000.0).min(20_000)
        })
        .collect();
    let bound = TailBound::of(&samples, 1e-6).unwrap();
    match bound.fit {
        Err(reason) => assert_eq!(reason, NoFit::NoThreshold),
        Ok(fit) => assert!(fit.threshold_ns > 1_000_000 || fit.upper_ns.is_none(), "{bound:?}"),
    }
}

#[test]
fn few_or_equal_samples_are_no_evidence() {
    assert_eq!(TailBound::of(&[], 1e-6), None);
    assert_eq!(TailBound::of(&[1], 0.0), None);
    assert_eq!(TailBound::of(&[1], f64::NAN), None);
    let equal = TailBound::of(&vec![7; 5_000], 1e-6).unwrap();
    assert_eq!((equal.fit, equal.upper_ns()), (Err(NoFit::TooFew), None));
    let few = TailBound::of(&[1, 2, 3], 1e-6).unwrap();
    assert_eq!((few.worst_ns, few.fit), (3, Err(NoFit::TooFew)));
    assert!(few.supported > 0.6, "{few:?}");
}

#[test]
fn groups_of_large_values_count_as_one() {
    let mut random = Random(9);
    let alone: Vec<i64> = (0..20_000).map(|_| random.exponential_ns(1_000.0)).collect();
    let grouped: Vec<i64> = alone.iter().flat_map(|value| [*value; 4]).collect();
    let index = |samples: &[i64], above| clusters::extremal_index(samples, above);
    assert!(index(&alone, 5_000) > 0.85, "{}", index(&alone, 5_000));
    assert!((0.2..0.3).contains(&index(&grouped, 5_000)), "{}", index(&grouped, 5_000));
    // A cause that comes at a fixed distance makes no groups.
    let regular: Vec<i64> = (0..1_000).map(|k| i64::from(k % 4 == 0)).collect();
    assert!((index(&regular, 0) - 1.0).abs() < 1e-12);
    assert!((index(&[5], 0) - 1.0).abs() < 1e-12);
}

#[test]
fn extreme_values_neither_panic_nor_overflow() {
    for samples in [vec![i64::MIN, i64::MAX, 0], (0..2_000).map(|k| i64::MAX - k * k).collect()] {
        let bound = TailBound::of(&samples, 1e-6).unwrap();
        assert_eq!(bound.worst_ns, i64::MAX);
    }
}
