//! When a clock that PTP keeps has settled: it is close to its reference, and no longer comes closer.

use teiji_core::time::Span;

/// Looks of half the time that is judged: 5 s, several of PTP's intervals.
const HALF: usize = 20;
/// What is below this is the clocks' own noise, not convergence: half of the 32 ns to which NICs
/// commonly resolve.
const NOISE: Span = Span::from_ns(16);

/// Whether the offsets seen so far, the last one last, end in steady state: all of the last half
/// are `within` that, and the worst of them is at least half as large as the worst of the half before, or
/// no more than noise. While a servo converges, an offset becomes many times smaller in that time.
pub(super) fn is_steady(offsets_ns: &[i64], within: Span) -> bool {
    let worst = |offsets: &[i64]| offsets.iter().map(|ns| ns.unsigned_abs()).max().unwrap_or(0);
    let Some(last) = offsets_ns.len().checked_sub(2 * HALF) else { return false };
    let (earlier, later) = offsets_ns[last..].split_at(HALF);
    let (earlier, later) = (worst(earlier), worst(later));
    let at_most = |span: Span| i64::try_from(later).is_ok_and(|ns| ns <= span.as_ns());
    at_most(within) && (at_most(NOISE) || later >= earlier / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSE: Span = Span::from_micros(1);

    fn is_steady(offsets_ns: &[i64]) -> bool {
        super::is_steady(offsets_ns, CLOSE)
    }

    /// An offset of 1 ms that becomes a tenth in so many looks, down to noise of ±3 ns.
    #[expect(clippy::cast_possible_truncation, reason = "a million at most")]
    fn converging(looks: i32) -> impl Iterator<Item = i64> {
        (0..200).map(move |look| {
            let rest = 1e6 * 10_f64.powf(-f64::from(look) / f64::from(looks));
            rest as i64 + i64::from(look % 7 - 3)
        })
    }

    fn settled_after(offsets: impl Iterator<Item = i64>) -> Option<(usize, i64)> {
        let offsets: Vec<i64> = offsets.collect();
        let end = (1..=offsets.len()).find(|end| is_steady(&offsets[..*end]))?;
        Some((end, offsets[end - 1]))
    }

    #[test]
    fn a_clock_that_still_converges_is_not_settled_however_close_it_is() {
        for looks in [3, 8, 14, 20] {
            let (_, left) = settled_after(converging(looks)).unwrap();
            assert!(left.abs() <= 2 * NOISE.as_ns(), "{looks} looks a tenth: {left} ns left");
        }
        // 20 looks below 1 µs, the last of them at 100 ns.
        let last: Vec<i64> = (0..20).map(|look| 1_000 - 45 * look).collect();
        assert!(!is_steady(&last));
        let before: Vec<i64> = (0..20).map(|look| 10_000 - 450 * look).chain(last).collect();
        assert!(!is_steady(&before));
    }

    #[test]
    fn noise_that_does_not_become_less_is_steady_state() {
        let noise = |amplitude| (0..40).map(move |look: i64| (look * 7 % 13 - 6) * amplitude);
        assert!(is_steady(&noise(1).collect::<Vec<_>>()));
        assert!(is_steady(&noise(100).collect::<Vec<_>>()));
        // Steady, but not close.
        let far = noise(1_000).collect::<Vec<_>>();
        assert!(!is_steady(&far));
        assert!(super::is_steady(&far, CLOSE * 6));
        assert!(!is_steady(&noise(1).take(39).collect::<Vec<_>>()));
        // One outlier before does not hold it up for longer than it is seen.
        let outlier = [900].into_iter().chain(noise(1)).collect::<Vec<_>>();
        assert!(is_steady(&outlier));
    }
}
