//! Times at random with a given mean, the same ones in each run.

use teiji_core::time::Span;

/// Exponentially distributed times: the distances of a Poisson stream.
pub struct Exponential {
    mean_ns: f64,
    state: u64,
}

impl Exponential {
    pub fn of(mean: Span) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "exact below 104 days")]
        Self::of_ns(mean.as_ns() as f64)
    }

    /// The distances of so many events per second.
    pub fn per_second(rate: u32) -> Self {
        Self::of_ns(1e9 / f64::from(rate.max(1)))
    }

    fn of_ns(mean_ns: f64) -> Self {
        Self { mean_ns, state: 0x9E37_79B9_7F4A_7C15 }
    }

    /// At most 45 times the mean.
    pub fn next(&mut self) -> Span {
        // xorshift64 (Marsaglia 2003): never 0, so the logarithm is finite.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let uniform = self.state as f64 / u64::MAX as f64;
        #[expect(clippy::cast_possible_truncation, reason = "at most 45 times the mean")]
        Span::from_ns((-uniform.ln() * self.mean_ns) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_have_the_mean_and_are_exponential() {
        let (mut times, mut distances) =
            (Exponential::of(Span::from_micros(250)), Exponential::per_second(4_000));
        let taken: Vec<i64> = (0..20_000).map(|_| times.next().as_ns()).collect();
        assert!(taken.iter().all(|time| distances.next().as_ns() == *time));
        let mean = taken.iter().sum::<i64>() / 20_000;
        assert!((245_000..255_000).contains(&mean), "{mean}");
        // Of an exponential distribution 1 / e lie above the mean.
        let above = taken.iter().filter(|time| **time > 250_000).count();
        assert!((7_150..7_560).contains(&above), "{above}");
    }
}
