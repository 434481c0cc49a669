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
    let odds = probability.ln() - (-probability).ln_1p();
    // ln P(exactly m), and ln P(at most m).
    let mut exactly = samples * (-probability).ln_1p();
    let mut at_most = exactly;
    let mut above = None;
    let mut m = 0_usize;
    while at_most <= error && (m as f64) < samples {
        above = Some(m);
        exactly += ((samples - m as f64) / (m as f64 + 1.0)).ln() + odds;
        let (small, large) =
            if exactly < at_most { (exactly, at_most) } else { (at_most, exactly) };
        at_most = large + (small - large).exp().ln_1p();
        m += 1;
    }
    above
}

/// The smallest probability for which the largest of `samples` independent
/// samples is an upper bound: (1 − p)ⁿ = 1 − confidence, about 3 / n at 95 %.
pub fn supported(samples: f64, confidence: f64) -> f64 {
    -((1.0 - confidence).ln() / samples.max(1.0)).exp_m1()
}
