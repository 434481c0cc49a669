//! How well a sample fits the distribution that was fitted to it.

use super::pareto::Pareto;

/// Samples drawn to compare with; odd, so that shares are whole hundredths or
/// better.
const DRAWS: u32 = 199;

/// The share of samples drawn from `pareto`, and fitted in turn, whose
/// Anderson–Darling distance is greater than that of these excesses, in ascending
/// order: the parametric bootstrap (Stute, Manteiga and Quindimil 1993), because
/// the parameters come from the same data. The draws are the same at every call.
pub fn of(pareto: &Pareto, excesses: &[f64]) -> f64 {
    let distance = anderson_darling(pareto, excesses);
    let mut random = SplitMix(excesses.len() as u64);
    let mut worse = 1;
    for _ in 0..DRAWS {
        let mut drawn: Vec<f64> =
            (0..excesses.len()).map(|_| pareto.level(1.0 / random.unit())).collect();
        drawn.sort_unstable_by(f64::total_cmp);
        let fitted = Pareto::fit(&drawn);
        worse += u32::from(fitted.is_some_and(|own| anderson_darling(&own, &drawn) >= distance));
    }
    f64::from(worse) / f64::from(DRAWS + 1)
}

/// A²: the squared distance between two distribution functions, weighted so that
/// both tails count (Anderson and Darling 1954). `sorted` ascends.
pub fn anderson_darling(pareto: &Pareto, sorted: &[f64]) -> f64 {
    let count = sorted.len() as f64;
    let inside = |p: f64| p.clamp(1e-15, 1.0 - 1e-15);
    let terms = sorted.iter().zip(sorted.iter().rev()).zip(0_u32..).map(|((low, high), index)| {
        let weight = f64::from(2 * index + 1);
        weight
            * (inside(pareto.probability(*low)).ln() + (-inside(pareto.probability(*high))).ln_1p())
    });
    -count - terms.sum::<f64>() / count
}

/// A small generator (Steele, Lea and Flood 2014): the draws need no secrecy but
/// must be the same everywhere.
struct SplitMix(u64);

impl SplitMix {
    /// Above 0, at most 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        ((z >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}
