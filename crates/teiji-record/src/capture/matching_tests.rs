//! Frames whose way is known, and which of them must be found again.

use super::*;
use proptest::prelude::*;

const MS: i64 = 1_000_000;

/// What `frames` (content and stamp) are called in the order of time.
fn sighted(frames: &[(u8, i64)]) -> Vec<Sighted> {
    let one = |(content, at_ns): &(u8, i64)| {
        let frame = [&[2; 12][..], &[0x88, 0xF7, *content, 1]].concat();
        let parsed = teiji_core::wire::parse(&frame).unwrap();
        let identity = Identity::new(&parsed, None, &frame[14..]);
        Sighted { identity, at_ns: *at_ns, flow: 0 }
    };
    frames.iter().map(one).collect()
}

fn of(first: &[(u8, i64)], second: &[(u8, i64)]) -> Matches {
    matches(&mut sighted(first), &mut sighted(second), 1)
}

fn delays(found: &Matches) -> Vec<i64> {
    found.matched.iter().map(|matched| matched.delay_ns).collect()
}

fn counts(found: &Matches) -> [[u64; 4]; 2] {
    let of = |p: PointCounts| [p.frames, p.alone, p.copies, p.unclear];
    [of(found.counts[0].first), of(found.counts[0].second)]
}

#[test]
fn frames_are_found_again_in_any_order_and_the_others_are_counted() {
    let found = of(&[(1, 0), (2, 10), (3, 20), (4, 30)], &[(3, 31), (1, 5), (4, 42), (9, 50)]);
    assert_eq!(delays(&found), [5, 11, 12]);
    assert_eq!(found.matched.iter().map(|m| m.at_ns).collect::<Vec<_>>(), [0, 20, 30]);
    assert_eq!(counts(&found), [[4, 1, 0, 0], [4, 1, 0, 0]]);
    assert_eq!((found.counts[0].matched, found.equal), (3, 0));
}

#[test]
fn copies_made_on_the_way_or_before_it_are_no_frames_of_their_own() {
    let found = of(&[(1, 0), (2, 1_000), (2, 1_200)], &[(1, 50), (1, 90), (2, 1_051)]);
    assert_eq!(delays(&found), [50, 51]);
    assert_eq!(counts(&found), [[3, 0, 1, 0], [3, 0, 1, 0]]);
}

#[test]
fn equal_frames_are_distinguished_by_the_delay_of_unique_ones() {
    // Content 7 every 10 ms, clocks 3.4 s apart; two lost, and the captures do
    // not begin together.
    let offset = 3_400 * MS;
    let mut first: Vec<(u8, i64)> = (0..100).map(|k| (7, k * 10 * MS)).collect();
    first.extend([(1, 5 * MS), (2, 505 * MS), (3, 905 * MS)]);
    let way = |(content, at): &(u8, i64)| (*content, at + offset + 4_500 + at % 7);
    let kept = |(k, _): &(usize, &(u8, i64))| ![40, 41].contains(k) && (5..).contains(k);
    let second: Vec<_> = first.iter().enumerate().filter(kept).map(|(_, f)| way(f)).collect();
    let found = of(&first, &second);
    assert_eq!(found.counts[0].matched, 100 + 3 - 5 - 2);
    assert!(found.matched.iter().all(|m| m.delay_ns == offset + 4_500 + m.at_ns % 7));
    assert_eq!(counts(&found), [[103, 7, 0, 0], [96, 0, 0, 0]]);
    assert_eq!((found.equal, found.nearest_equal_ns), (100, Some(10 * MS)));
    assert!(found.any_unique);
}

#[test]
fn where_no_frame_is_unique_the_clocks_must_agree() {
    let first: Vec<(u8, i64)> = (0..100).map(|k| (7, k * 10 * MS)).collect();
    let second: Vec<(u8, i64)> = first[3..].iter().map(|(c, at)| (*c, at + 4 * MS)).collect();
    let found = of(&first, &second);
    assert!(!found.any_unique && delays(&found).iter().all(|delay| *delay == 4 * MS));
    assert_eq!(counts(&found), [[100, 3, 0, 0], [97, 0, 0, 0]]);
}

#[test]
fn frames_that_cannot_be_distinguished_have_no_delay() {
    // Two equal frames 1 ms apart, seen 0.7 ms and 3.9 ms after the first.
    let found = of(&[(7, 0), (7, MS)], &[(7, 700_000), (7, 3_900_000)]);
    let [first, second] = counts(&found);
    assert_eq!((found.counts[0].matched, first[3], second[3]), (1, 1, 1));
}

proptest! {
    #[test]
    fn every_frame_is_counted_once(
        first in proptest::collection::vec((0_u8..6, -50_i64..50), 0..40),
        second in proptest::collection::vec((0_u8..6, -50_i64..50), 0..40),
    ) {
        let found = of(&first, &second);
        let [here, there] = counts(&found);
        let matched = found.counts[0].matched;
        prop_assert_eq!(matched, found.matched.len() as u64);
        for (all, [frames, alone, copies, unclear]) in [(first.len(), here), (second.len(), there)] {
            prop_assert_eq!(frames, all as u64);
            prop_assert_eq!(matched + alone + copies + unclear, frames);
        }
    }

    #[test]
    fn unique_frames_need_neither_order_nor_clocks(
        delays_ns in proptest::collection::vec(-1_000_000_i64..1_000_000, 1..200),
    ) {
        let frames: Vec<(u8, i64)> =
            (0..).zip(&delays_ns).map(|(k, _)| (k, i64::from(k) * 1_000)).collect();
        let second: Vec<(u8, i64)> =
            frames.iter().zip(&delays_ns).map(|((c, at), delay)| (*c, at + delay)).rev().collect();
        prop_assert_eq!(delays(&of(&frames, &second)), delays_ns);
    }
}
