//! Tests of histogram and tail.

use super::*;

fn bin(from_ns: i64, to_ns: i64, count: u64) -> Bin {
    Bin { from_ns, to_ns, count }
}

#[test]
fn the_tail_reaches_down_to_one_sample() {
    let reached = reached(&[(0, 97), (10, 2), (50, 1)]);
    assert_eq!(reached, [(0, 100), (10, 3), (50, 1)]);
    let corners = steps(&reached, 1.0);
    assert_eq!(corners.first(), Some(&(1.0, 0.03)), "zeros are left of the axis");
    assert!(corners.contains(&(50.0, 0.01)), "{corners:?}");
    assert_eq!(corners.last(), Some(&(50.0, 0.0)));
    assert!(corners.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 >= w[1].1), "{corners:?}");
}

#[test]
fn a_long_tail_keeps_its_end() {
    let magnitudes: Vec<(u64, u64)> = (0..50_000).map(|ns| (ns, 1)).collect();
    let thinned = thin(&reached(&magnitudes));
    assert!(thinned.len() <= CORNERS + 1, "{}", thinned.len());
    assert_eq!(thinned[thinned.len() - 100..], reached(&magnitudes)[49_900..]);
}

#[test]
fn every_sample_is_in_a_bar() {
    let bins = [-43_000, 0, 19_000].map(|ns| bin(ns, ns + 1, 5));
    for quantum in [1, 1_000] {
        let bars = Bars::covering(-43_000, 19_000, quantum);
        assert!(bars.count <= BARS && bars.width % quantum == 0);
        assert_eq!(bars.fill(&bins).iter().sum::<u64>(), 15);
    }
}

#[test]
fn a_coarse_capture_gets_one_bar_a_step_around_its_value() {
    let bars = Bars::covering(-2_000, 1_000, 1_000);
    assert_eq!((bars.width, bars.count), (1_000, 4));
    assert!((bars.left(0) + 2_500.0).abs() < 1e-9);
    assert_eq!(bars.fill(&[bin(-2_000, -1_999, 1), bin(1_000, 1_001, 3)]), [1, 0, 0, 3]);
}

#[test]
fn a_wide_bin_is_shared_out_and_a_lone_outlier_is_not() {
    let bars = Bars::covering(0, 9, 1);
    assert_eq!(bars.fill(&[bin(0, 5, 10)]), [2, 2, 2, 2, 2, 0, 0, 0, 0, 0]);
    assert_eq!(bars.fill(&[bin(5, 10, 1)]), [0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
}

#[test]
fn powers_are_written_with_superscripts() {
    assert_eq!(power(1e-5), "10⁻⁵");
    assert_eq!(power(1.0), "1");
    assert_eq!(power(0.5), "0.5");
}

#[test]
fn ticks_have_their_units() {
    assert_eq!(tick(2e5), "200\u{a0}µs");
    assert_eq!(tick(5.0), "5\u{a0}ns");
}
