//! Log-linear buckets: a histogram of signed values in constant memory, with a
//! bounded relative width.
//!
//! The layout is that of `HdrHistogram` (G. Tene): every octave of the
//! magnitude is cut into 2^b equal parts, so a bucket is at most 2^-b of the
//! values in it wide, and magnitudes below 2^(b+1) have a bucket each.

use crate::deviation::Bin;

/// Parts of an octave, as a power of two, for percentiles: a bucket is at most
/// 1/128 of its values wide.
pub(crate) const FINE: u32 = 7;
/// The same for the histogram people look at: 1/16.
pub(crate) const COARSE: u32 = 4;

/// Index of the bucket that `magnitude` falls into.
fn index(magnitude: u64, bits: u32) -> usize {
    let position = if magnitude < 2 << bits {
        magnitude
    } else {
        let shift = magnitude.ilog2() - bits;
        (u64::from(shift) << bits) + (magnitude >> shift)
    };
    // At most 64 << bits, which fits anything that can hold the buckets.
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// Smallest and largest magnitude of a bucket, both included.
fn bounds(index: usize, bits: u32) -> (u64, u64) {
    let index = index as u64;
    if index < 2 << bits {
        return (index, index);
    }
    let shift = (index >> bits) - 1;
    let low = (index - (shift << bits)) << shift;
    (low, low + ((1 << shift) - 1))
}

/// Counts of signed values in log-linear buckets.
#[derive(Clone, Debug)]
pub(crate) struct Buckets {
    bits: u32,
    /// Values ≥ 0 by magnitude; grows with the largest, to 57 << bits at most.
    positive: Vec<u64>,
    /// Values < 0 by magnitude.
    negative: Vec<u64>,
}

impl Buckets {
    pub(crate) fn new(bits: u32) -> Self {
        Self { bits, positive: Vec::new(), negative: Vec::new() }
    }

    pub(crate) fn push(&mut self, value: i64) {
        let side = if value < 0 { &mut self.negative } else { &mut self.positive };
        let index = index(value.unsigned_abs(), self.bits);
        if index >= side.len() {
            side.resize(index + 1, 0);
        }
        side[index] += 1;
    }

    /// The largest magnitude of the bucket that holds the value of this rank
    /// (from 1) when all values are ordered by magnitude; never below the
    /// value itself.
    pub(crate) fn magnitude_at_rank(&self, rank: u64) -> u64 {
        let mut seen = 0;
        let buckets = self.positive.len().max(self.negative.len());
        for i in 0..buckets {
            let at = |side: &Vec<u64>| side.get(i).copied().unwrap_or(0);
            seen += at(&self.positive) + at(&self.negative);
            if seen >= rank {
                return bounds(i, self.bits).1;
            }
        }
        bounds(buckets.saturating_sub(1), self.bits).1
    }

    /// The buckets that hold something, ascending, `2^-bits` wide or, with
    /// `merge_to` below that, merged to `2^-merge_to`.
    pub(crate) fn bins(&self, merge_to: u32) -> Vec<Bin> {
        let mut merged = Self::new(merge_to);
        for (side, from) in
            [(&self.positive, &mut merged.positive), (&self.negative, &mut merged.negative)]
        {
            for (i, count) in side.iter().enumerate().filter(|(_, count)| **count > 0) {
                let to = index(bounds(i, self.bits).0, merge_to);
                if to >= from.len() {
                    from.resize(to + 1, 0);
                }
                from[to] += count;
            }
        }
        let occupied = |side: Vec<u64>| side.into_iter().enumerate().filter(|(_, c)| *c > 0);
        let below = occupied(merged.negative).map(|(i, count)| {
            let (low, high) = bounds(i, merge_to);
            Bin { from_ns: negated(high), to_ns: negated(low).saturating_add(1), count }
        });
        let above = occupied(merged.positive).map(|(i, count)| {
            let (low, high) = bounds(i, merge_to);
            Bin { from_ns: clamped(low), to_ns: clamped(high).saturating_add(1), count }
        });
        let mut bins: Vec<Bin> = below.collect();
        bins.reverse();
        bins.extend(above);
        bins
    }
}

fn clamped(magnitude: u64) -> i64 {
    i64::try_from(magnitude).unwrap_or(i64::MAX)
}

fn negated(magnitude: u64) -> i64 {
    i64::try_from(magnitude).map_or(i64::MIN, |m| -m)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_magnitude_lies_in_its_bucket_and_the_bucket_is_narrow(
            magnitude: u64, shift in 0_u32..64, bits in 1_u32..9,
        ) {
            let magnitude = (magnitude >> shift).min(1 << 63);
            let (low, high) = bounds(index(magnitude, bits), bits);
            prop_assert!(low <= magnitude && magnitude <= high);
            prop_assert!(u128::from(high - low) << bits <= u128::from(low));
        }

        #[test]
        fn buckets_follow_each_other_without_gap(i in 0_usize..7_000) {
            prop_assert_eq!(bounds(i, FINE).1 + 1, bounds(i + 1, FINE).0);
        }

        #[test]
        fn bins_hold_every_value_once(values in proptest::collection::vec(-5_000_i64..5_000, 1..300)) {
            let mut buckets = Buckets::new(FINE);
            for value in &values {
                buckets.push(*value);
            }
            for merge_to in [FINE, COARSE] {
                let bins = buckets.bins(merge_to);
                prop_assert!(bins.windows(2).all(|w| w[0].to_ns <= w[1].from_ns));
                for bin in &bins {
                    let inside = values.iter().filter(|v| (bin.from_ns..bin.to_ns).contains(*v));
                    prop_assert_eq!(inside.count() as u64, bin.count);
                }
                prop_assert_eq!(bins.iter().map(|b| b.count).sum::<u64>(), values.len() as u64);
            }
        }
    }

    #[test]
    fn the_extremes_have_buckets() {
        let mut buckets = Buckets::new(FINE);
        for value in [i64::MIN, -1, 0, 1, i64::MAX] {
            buckets.push(value);
        }
        let bins = buckets.bins(COARSE);
        assert_eq!(bins.len(), 5);
        assert_eq!(bins[0].from_ns, i64::MIN);
        assert_eq!(bins[4].to_ns, i64::MAX);
    }
}
