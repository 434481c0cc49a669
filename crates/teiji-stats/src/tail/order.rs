//! Bounds by order statistics: true whatever the distribution, as long as the
//! samples are independent (David and Nagaraja 2003, section 7.1).

/// How many of `samples` independent samples may lie above an upper bound for
/// the value that is exceeded with `probability`: the bound is the next largest
/// one. `None` if not even the largest is a bound with this confidence.
///
/// With m samples above it, a sample is too low exactly if at most m of all
/// samples exceed the true value; their number is binomial.
pub fn samples_above(samples: f64, probability: f64, confidence: f64) -> Option<usize> {
    let error = (1.0 - confidence).ln();
    let enough = |ln_at_most: &f64| *ln_at_most <= error;
    ln_at_most(samples, probability).take_while(enough).count().checked_sub(1)
}

/// ln P(at most m of `samples` exceed a value that each exceeds with
/// `probability`), for m from 0: the binomial distribution, in logarithms because
/// its first terms are small beyond measure.
pub fn ln_at_most(samples: f64, probability: f64) -> impl Iterator<Item = f64> {
    let odds = probability.ln() - (-probability).ln_1p();
    let mut exactly = samples * (-probability).ln_1p();
    let mut at_most = exactly;
    let mut m = 0.0;
    std::iter::from_fn(move || {
        let now = at_most;
        if m > samples {
            return None;
        }
        exactly += ((samples - m).max(0.0) / (m + 1.0)).ln() + odds;
        m += 1.0;
        let (small, large) = if exactly < now { (exactly, now) } else { (now, exactly) };
        at_most = large + (small - large).exp().ln_1p();
        Some(now)
    })
}

/// The smallest probability for which the largest of `samples` independent
/// samples is an upper bound: (1 − p)ⁿ = 1 − confidence, about 3 / n at 95 %.
pub fn supported(samples: f64, confidence: f64) -> f64 {
    -((1.0 - confidence).ln() / samples.max(1.0)).exp_m1()
}
