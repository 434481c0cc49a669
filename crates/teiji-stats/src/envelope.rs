//! A time series of any length as a bounded number of buckets that keep the
//! extremes: what a plot needs.

use serde::{Deserialize, Serialize};

/// A few neighbouring points of a series: where they begin and what they span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeBucket {
    /// Abscissa of the first point.
    pub x: i64,
    /// Smallest ordinate, in nanoseconds.
    pub min_ns: i64,
    /// Largest ordinate, in nanoseconds.
    pub max_ns: i64,
}

/// Collects points and, whenever there are too many, merges neighbours two by
/// two: memory is constant, no extreme is lost, and short series stay
/// complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    capacity: usize,
    /// Points a bucket holds, a power of two; the last may hold fewer.
    points_per_bucket: u64,
    in_last: u64,
    buckets: Vec<EnvelopeBucket>,
}

impl Default for Envelope {
    fn default() -> Self {
        Self::new(Self::CAPACITY)
    }
}

impl Envelope {
    /// Buckets kept by default: up to this many points are kept one
    /// by one (6 MiB).
    pub const CAPACITY: usize = 250_000;

    /// An empty envelope of at most `capacity` buckets (at least 2).
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(2), points_per_bucket: 1, in_last: 0, buckets: Vec::new() }
    }

    /// Takes the next point: an abscissa of the caller's choice (a time, a
    /// sequence number), not below the one before, and a deviation.
    pub fn push(&mut self, x: i64, deviation_ns: i64) {
        if self.in_last > 0 && self.in_last < self.points_per_bucket {
            if let Some(last) = self.buckets.last_mut() {
                last.min_ns = last.min_ns.min(deviation_ns);
                last.max_ns = last.max_ns.max(deviation_ns);
                self.in_last += 1;
                return;
            }
        }
        if self.buckets.len() == self.capacity {
            self.merge_pairs();
            return self.push(x, deviation_ns);
        }
        self.buckets.push(EnvelopeBucket { x, min_ns: deviation_ns, max_ns: deviation_ns });
        self.in_last = 1;
    }

    /// The buckets, in order.
    pub fn buckets(&self) -> &[EnvelopeBucket] {
        &self.buckets
    }

    /// How many points a bucket stands for; 1 if every point was kept.
    pub fn points_per_bucket(&self) -> u64 {
        self.points_per_bucket
    }

    fn merge_pairs(&mut self) {
        // The last bucket is full here; if it has no partner it is half full
        // after the merge.
        let odd = self.buckets.len() % 2 == 1;
        self.in_last = if odd { self.points_per_bucket } else { self.points_per_bucket * 2 };
        let mut to = 0;
        for from in (0..self.buckets.len()).step_by(2) {
            let mut bucket = self.buckets[from];
            if let Some(partner) = self.buckets.get(from + 1) {
                bucket.min_ns = bucket.min_ns.min(partner.min_ns);
                bucket.max_ns = bucket.max_ns.max(partner.max_ns);
            }
            self.buckets[to] = bucket;
            to += 1;
        }
        self.buckets.truncate(to);
        self.points_per_bucket *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_series_stays_complete() {
        let mut envelope = Envelope::new(4);
        for (x, y) in [(0, 5), (1, -7), (2, 0), (3, 9)] {
            envelope.push(x, y);
        }
        assert_eq!(envelope.points_per_bucket(), 1);
        assert_eq!(envelope.buckets()[1], EnvelopeBucket { x: 1, min_ns: -7, max_ns: -7 });
        envelope.push(4, 1);
        assert_eq!(envelope.points_per_bucket(), 2);
        assert_eq!(envelope.buckets()[0], EnvelopeBucket { x: 0, min_ns: -7, max_ns: 5 });
        assert_eq!(envelope.buckets().len(), 3);
    }

    proptest! {
        #[test]
        fn each_bucket_spans_exactly_its_own_points(
            values in proptest::collection::vec(any::<i64>(), 1..2_000), capacity in 2_usize..50,
        ) {
            let mut envelope = Envelope::new(capacity);
            for (x, y) in (0_i64..).zip(&values) {
                envelope.push(x, *y);
            }
            prop_assert!(envelope.buckets().len() <= capacity);
            let width = usize::try_from(envelope.points_per_bucket()).unwrap();
            let expected: Vec<EnvelopeBucket> = values
                .chunks(width)
                .zip((0_i64..).step_by(width))
                .map(|(chunk, x)| EnvelopeBucket {
                    x,
                    min_ns: *chunk.iter().min().unwrap(),
                    max_ns: *chunk.iter().max().unwrap(),
                })
                .collect();
            prop_assert_eq!(envelope.buckets(), &expected[..]);
        }
    }
}
