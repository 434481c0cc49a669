//! The generalised Pareto distribution: maximum likelihood, and upper bounds for
//! its far quantiles by profile likelihood (Coles 2001, sections 4.3 and 2.6.6).

/// A generalised Pareto distribution of excesses over a threshold:
/// P(excess > y) = (1 + ξ y / σ)^(−1/ξ).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    /// ξ.
    pub shape: f64,
    /// σ, in the unit of the excesses.
    pub scale: f64,
}

/// Below a shape of −1/2 maximum likelihood is not regular (Smith 1985). Tails
/// that end more abruptly are fitted with this shape, which makes them longer.
const LEAST_SHAPE: f64 = -0.5;
/// Above 1 there is no mean. Latencies that look like this are bounded by nothing
/// that a sample could tell.
const LARGEST_SHAPE: f64 = 2.0;
/// Shapes nearer to 0 than this are computed as exponential.
const EXPONENTIAL: f64 = 1e-9;

impl Pareto {
    /// The most likely distribution for these excesses, all above 0; `None` if
    /// there is none.
    pub fn fit(excesses: &[f64]) -> Option<Self> {
        let count = excesses.len() as f64;
        let mean = excesses.iter().sum::<f64>() / count;
        let largest = excesses.iter().copied().fold(0.0, f64::max);
        if !(mean > 0.0 && largest.is_finite()) {
            return None;
        }
        // Grimshaw 1993: with r = ξ/σ, the likelihood's best ξ is the mean of
        // ln(1 + r y); one unknown remains. ξ grows with r.
        let shape = |ratio: f64| excesses.iter().map(|y| (ratio * y).ln_1p()).sum::<f64>() / count;
        let from = bisect(-1.0 / largest * (1.0 - 1e-12), 0.0, |ratio| shape(ratio) < LEAST_SHAPE);
        let to = {
            let mut to = 1.0 / mean;
            while shape(to) < LARGEST_SHAPE {
                to *= 4.0;
            }
            bisect(0.0, to, |ratio| shape(ratio) < LARGEST_SHAPE)
        };
        let candidate = |ratio: f64| {
            let shape = shape(ratio);
            if shape.abs() < EXPONENTIAL {
                Self { shape: 0.0, scale: mean }
            } else {
                Self { shape, scale: shape / ratio }
            }
        };
        // −ln σ − ξ − 1, for each excess: the likelihood at the best ξ.
        let likelihood = |ratio: f64| {
            let Self { shape, scale } = candidate(ratio);
            -scale.ln() - shape
        };
        // Negative and positive ratios differ by orders of magnitude, so each
        // side is searched by itself.
        let below = candidate(maximise(from, 0.0, likelihood));
        let above = candidate(maximise(0.0, to, likelihood));
        let at_least =
            Self { shape: LEAST_SHAPE, scale: best_scale(LEAST_SHAPE, excesses, largest) };
        [below, above, at_least]
            .into_iter()
            .map(|pareto| (pareto, pareto.likelihood(excesses)))
            .filter(|(_, likelihood)| likelihood.is_finite())
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(pareto, _)| pareto)
    }

    /// The logarithm of the likelihood; −∞ if an excess is impossible.
    pub fn likelihood(&self, excesses: &[f64]) -> f64 {
        let Self { shape, scale } = *self;
        let count = excesses.len() as f64;
        let rate = shape / scale;
        let sum: f64 = if shape.abs() < EXPONENTIAL {
            excesses.iter().sum::<f64>() / scale
        } else {
            let logarithms: f64 = excesses.iter().map(|y| (rate * y).ln_1p()).sum();
            (1.0 + 1.0 / shape) * logarithms
        };
        let likelihood = -count * scale.ln() - sum;
        if likelihood.is_nan() || scale <= 0.0 { f64::NEG_INFINITY } else { likelihood }
    }

    /// P(excess ≤ y).
    pub fn probability(&self, y: f64) -> f64 {
        if self.shape.abs() < EXPONENTIAL {
            return -(-y / self.scale).exp_m1();
        }
        let base = (1.0 + self.shape * y / self.scale).max(0.0);
        1.0 - base.powf(-1.0 / self.shape)
    }

    /// The excess that one in `rarity` excesses is greater than.
    pub fn level(&self, rarity: f64) -> f64 {
        self.scale * growth(self.shape, rarity)
    }

    /// An upper bound for [`Pareto::level`] of the distribution behind these
    /// excesses, to which `self` was fitted. `None` where the likelihood has none.
    ///
    /// The bound is where the profile likelihood of the level has fallen by half
    /// the quantile of χ² with one degree of freedom. Excesses that come in
    /// clusters weigh only as much as there are clusters: the likelihood counts
    /// `extremal_index` times.
    pub fn upper_level(
        &self,
        excesses: &[f64],
        rarity: f64,
        confidence: f64,
        extremal_index: f64,
    ) -> Option<f64> {
        let quantile = normal_quantile(confidence);
        let limit = self.likelihood(excesses) - quantile * quantile / 2.0 / extremal_index;
        let profile = |level: f64| {
            let likelihood = |shape: f64| {
                Self { shape, scale: level / growth(shape, rarity) }.likelihood(excesses)
            };
            likelihood(maximise(LEAST_SHAPE, LARGEST_SHAPE, likelihood))
        };
        let estimate = self.level(rarity);
        let mut beyond = estimate * 2.0;
        while profile(beyond) > limit {
            beyond *= 2.0;
            if beyond > estimate * 1e6 {
                return None;
            }
        }
        Some(bisect(estimate, beyond, |level| profile(level) > limit))
    }
}

/// (rᵏ − 1)/k: level divided by scale.
fn growth(shape: f64, rarity: f64) -> f64 {
    if shape.abs() < EXPONENTIAL { rarity.ln() } else { (shape * rarity.ln()).exp_m1() / shape }
}

/// The most likely scale for a given negative shape.
fn best_scale(shape: f64, excesses: &[f64], largest: f64) -> f64 {
    // Scales below −ξ·largest are impossible; far above it the likelihood only
    // falls.
    let least = -shape * largest;
    maximise(least * (1.0 + 1e-12), least * 64.0, |scale| {
        Pareto { shape, scale }.likelihood(excesses)
    })
}

/// The last point between `from` and `to` for which `before` holds, if it holds
/// first and then no more.
fn bisect(from: f64, to: f64, before: impl Fn(f64) -> bool) -> f64 {
    let (mut from, mut to) = (from, to);
    for _ in 0..60 {
        let middle = f64::midpoint(from, to);
        if before(middle) {
            from = middle;
        } else {
            to = middle;
        }
    }
    to
}

/// Where `f` is greatest between `from` and `to`: the best of a grid, refined by
/// golden sections around it.
fn maximise(from: f64, to: f64, f: impl Fn(f64) -> f64) -> f64 {
    const GRID: u8 = 24;
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let at = |step: u8| from + (to - from) * f64::from(step) / f64::from(GRID);
    let best = (0..=GRID).max_by(|a, b| f(at(*a)).total_cmp(&f(at(*b)))).unwrap_or(0);
    let (mut low, mut high) = (at(best.saturating_sub(1)), at((best + 1).min(GRID)));
    let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_left, mut at_right) = (f(left), f(right));
    for _ in 0..40 {
        if at_left > at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = f(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = f(right);
        }
    }
    f64::midpoint(low, high)
}

/// The quantile of the normal distribution, by Newton's method on its
/// distribution function: exact to what f64 carries for common confidences.
pub(crate) fn normal_quantile(probability: f64) -> f64 {
    bisect(-10.0, 10.0, |x| normal(x) < probability)
}

/// The normal distribution function: Marsaglia 2004's series.
fn normal(x: f64) -> f64 {
    let (mut sum, mut term, mut n) = (x, x, 1.0);
    while term.abs() > 1e-18 && n < 400.0 {
        n += 2.0;
        term *= x * x / n;
        sum += term;
    }
    0.5 + sum * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}
