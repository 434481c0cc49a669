//! Parts of paths of timelines that are made up.

use super::*;
use crate::timeline::{Block, Interruption, MacWait, TimerWake};

#[test]
fn interrupts_of_the_driver_are_seen() {
    let segment = |start, end, pid, layer| Segment { start, end, pid, layer };
    let softirq = Some(Layer::Softirq(0));
    for layer in [None, softirq] {
        let cpus = vec![vec![
            segment(0, 12, 7, layer),
            segment(12, 15, 7, Some(Layer::Interrupt(1))),
            segment(15, 40, 9, None),
            segment(40, 50, 7, layer),
        ]];
        let timeline = Timeline { cpus, sees_mac: true, ..Timeline::default() };
        let symbols = Symbols::default();
        let finder = Finder { timeline: &timeline, symbols: &symbols };
        let [queue, driver] = [5, 10].map(|time| Passage { time, cpu: 0, pid: 7, layer });
        let mac = MacWait { queued: 44, earliest: 44, head: 50, start: 60, why: 1 };
        let hop =
            Hop { queue: Some(queue), driver: Some(driver), mac: Some(mac), ..Hop::default() };
        let mut parts = Parts::new(queue.time);
        finder.sent(&hop, &mut parts).unwrap();
        let path = parts.path().unwrap();
        let expected = [
            (Cause::Driver, 2),
            (Cause::Interrupt("?".to_owned()), 3),
            (Cause::Thread("thread 9".to_owned()), 25),
            (Cause::Driver, 4),
            (Cause::Behind, 6),
            (Cause::Mac(1), 10),
        ];
        assert_eq!(path.parts[1..], expected);
        assert_eq!((path.from, path.to), (5, 60));
    }
}

#[test]
fn a_softirq_that_has_ended_meanwhile_is_another_call() {
    let layer = Some(Layer::Softirq(0));
    let with = |meanwhile: Segment| {
        let softirq = |start, end| Segment { start, end, pid: 7, layer };
        let cpus = vec![vec![softirq(0, 10), meanwhile, softirq(20, 30)]];
        let timeline = Timeline { cpus, ..Timeline::default() };
        let symbols = Symbols::default();
        let [queue, driver] = [5, 25].map(|time| Passage { time, cpu: 0, pid: 7, layer });
        Finder { timeline: &timeline, symbols: &symbols }.same_call(queue, driver)
    };
    let interrupted = Segment { start: 10, end: 20, pid: 7, layer: Some(Layer::Interrupt(1)) };
    assert!(with(interrupted.clone()));
    assert!(with(Segment { pid: 9, layer: None, ..interrupted.clone() }), "preempted");
    assert!(!with(Segment { layer: None, ..interrupted }));
}

/// Its timer has expired at 10; it is blocked with an earlier frame until 40, and waits for the timer then, or
/// is interrupted by it before it sleeps.
#[test]
fn a_sender_that_is_blocked_when_its_timer_expires_is_named_with_who_woke_it() {
    let segment = |start, end, pid, layer| Segment { start, end, pid, layer };
    let timer = Some(Layer::Interrupt(1));
    let passage = |time, pid| Passage { time, cpu: 0, pid, layer: None };
    let block = |start, end, pid| Block { start, end, waker: passage(end, pid) };
    for sleeps in [true, false] {
        let cpus = vec![vec![
            segment(0, 5, 7, None),
            segment(5, 30, 0, None),
            segment(30, 40, 9, None),
            segment(40, 45, 7, None),
            segment(45, 50, if sleeps { 0 } else { 7 }, None),
            segment(50, 60, if sleeps { 0 } else { 7 }, timer),
            segment(60, 90, 7, None),
        ]];
        let blocks = vec![block(5, 35, 9)];
        let wake = TimerWake { expiry: 10, slack: 0, armed: None, time: 55, cpu: 0 };
        let interruption = Interruption { time: 50, at: None, stack: Vec::new() };
        let timeline = Timeline {
            cpus,
            blocks: [(7, blocks)].into(),
            timer_wakes: [(7, vec![wake])].into(),
            interruptions: vec![vec![interruption]],
            ..Timeline::default()
        };
        let symbols = Symbols::default();
        let finder = Finder { timeline: &timeline, symbols: &symbols };
        let [queue, driver] = [70, 80].map(|time| Some(passage(time, 7)));
        let path = finder.path(&[Hop { queue, driver, ..Hop::default() }]).unwrap();
        let expected = [
            (Cause::Blocked(Some("thread 9".to_owned())), 25),
            (Cause::Thread("thread 9".to_owned()), 5),
            (Cause::Earlier, if sleeps { 5 } else { 10 }),
        ];
        assert_eq!(path.parts[..3], expected);
        assert!(path.parts.contains(&(Cause::TimerInterrupt, 5)), "{path:?}");
        assert_eq!((path.from, path.to), (10, 80));
    }
}
