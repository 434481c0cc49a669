//! Logs with every kind of trouble, joined.

use super::*;
use proptest::prelude::*;
use teiji::{ReceiveHeadroom, TxError, TxRecord};
use teiji_core::reception::Reception;
use teiji_core::time::Tai;
use teiji_experiment::SendMode;

fn plan(flow: u16, frames: u64) -> FlowPlan {
    FlowPlan {
        flow,
        name: format!("flow-{flow}"),
        frames,
        base: Instant::from_ns(1_000_000_000),
        period: Span::from_millis(1),
        mode: SendMode::OnWakeUp,
        tx_stamps: true,
    }
}

fn tx(plan: &FlowPlan, seq: u64) -> TxRecord {
    let scheduled = plan.departure(seq);
    TxRecord {
        seq,
        scheduled,
        woke: scheduled,
        handed_over: scheduled + Span::from_micros(3),
        tx_sched: None,
        tx_kernel: Some(scheduled + Span::from_micros(2)),
        tx_hardware: None,
        tx_error: None,
    }
}

fn rx(plan: &FlowPlan, seq: u64, at_ns: i64) -> RxRecord {
    let scheduled = plan.departure(seq);
    let rx_kernel = Some(Instant::<Tai>::from_ns(at_ns));
    RxRecord {
        flow: plan.flow,
        seq,
        scheduled,
        rx_kernel,
        rx_hardware: None,
        taken: Instant::from_ns(at_ns + 5),
        reception: Reception { woken: Some(Instant::from_ns(at_ns + 3)), ..Reception::UNKNOWN },
    }
}

fn talker(plan: &FlowPlan, seqs: impl IntoIterator<Item = u64>) -> TalkerLog {
    TalkerLog {
        flow: plan.flow,
        frames: seqs.into_iter().map(|seq| tx(plan, seq)).collect(),
        interrupted: false,
        stamps_requested: true,
    }
}

fn listener(arrivals: Vec<RxRecord>) -> ListenerLog {
    ListenerLog { arrivals, ..ListenerLog::default() }
}

#[test]
fn a_frame_is_one_row_with_all_that_was_seen_of_it() {
    let plan = plan(0, 2);
    let sighting = Sighting { flow: 0, seq: 1, at: Instant::from_ns(77) };
    let log = listener(vec![rx(&plan, 1, 5), rx(&plan, 0, 6)]);
    let joined = join(std::slice::from_ref(&plan), &[talker(&plan, [0, 1])], &[log], [sighting]);
    let row = &joined.rows[1];
    assert_eq!((row.flow, row.seq, row.scheduled), (0, 1, plan.departure(1)));
    assert_eq!(row.woke, Some(plan.departure(1)));
    assert_eq!(row.wire, Some(Instant::from_ns(77)));
    assert_eq!((row.arrival, row.copies), (Some(0), 1));
    let since = |at: Option<Instant<Tai>>| (at.unwrap() - row.rx_kernel.unwrap()).as_ns();
    assert_eq!((since(row.reception.woken), since(row.taken)), (3, 5));
    assert_eq!(joined.rows[0].arrival, Some(1));
    assert!(joined.facts.interrupted.is_empty());
}

#[test]
fn a_frame_never_attempted_is_a_row_with_its_schedule_only() {
    let plan = plan(0, 3);
    let mut log = talker(&plan, [0]);
    log.interrupted = true;
    let joined = join(std::slice::from_ref(&plan), &[log], &[], []);
    assert_eq!(joined.rows.len(), 3);
    assert_eq!(joined.rows[2], unsent(&plan, 2));
    assert_eq!(joined.facts.interrupted, BTreeSet::from([0]));
}

#[test]
fn a_flow_without_talker_log_still_has_all_its_rows() {
    let joined = join(&[plan(4, 2)], &[], &[], []);
    assert_eq!(joined.rows.len(), 2);
    assert_eq!(joined.facts.interrupted, BTreeSet::from([4]));
}

#[test]
fn duplicates_are_counted_and_the_first_copy_kept() {
    let plan = plan(0, 1);
    let log = listener(vec![rx(&plan, 0, 5), rx(&plan, 0, 9)]);
    let sighting = |ns| Sighting { flow: 0, seq: 0, at: Instant::from_ns(ns) };
    let joined = join(&[plan], &[], &[log], [sighting(1), sighting(2)]);
    assert_eq!((joined.rows[0].copies, joined.rows[0].rx_kernel), (2, Some(Instant::from_ns(5))));
    assert_eq!(joined.rows[0].wire, Some(Instant::from_ns(1)));
    assert_eq!(joined.facts.wire_copies, 1);
}

#[test]
fn what_belongs_to_no_planned_frame_is_foreign() {
    let ours = plan(0, 2);
    let other_flow = rx(&plan(9, 10), 1, 5);
    let beyond_the_end = rx(&ours, 2, 5);
    let straggler = RxRecord { scheduled: Instant::from_ns(3), ..rx(&ours, 1, 5) };
    let pause = PeerPause { requested: Instant::from_ns(7), resumed: Instant::from_ns(8) };
    let log = ListenerLog {
        arrivals: vec![other_flow, beyond_the_end, straggler],
        foreign: 10,
        socket_drops: 4,
        pauses: vec![pause],
        headroom: Some(ReceiveHeadroom {
            buffer: 9,
            high: 5,
            headroom: 4,
            frames: 1,
            pause_requests: 2,
            fullest: 7,
        }),
    };
    let late_talker = talker(&ours, [0, 1, 2]);
    let joined = join(&[ours], &[late_talker], &[log], []);
    assert_eq!((joined.facts.foreign(0), joined.facts.unplanned), (13, 1));
    let listener = &joined.facts.listeners[0];
    assert_eq!((listener.socket_drops, &listener.pauses[..]), (4, &[pause][..]));
    assert_eq!(listener.headroom.map(|headroom| headroom.fullest), Some(7));
    let written = serde_json::to_value(listener).unwrap();
    assert_eq!(written["silences"][0]["asked"], 7, "as docs/records.md has it");
    assert!(joined.rows.iter().all(|row| row.copies == 0));
}

#[test]
fn foreign_packets_count_for_the_flows_of_that_socket() {
    let plans = [plan(0, 1), plan(1, 1)];
    let receives = |p: &FlowPlan, foreign| ListenerLog { foreign, ..listener(vec![rx(p, 0, 5)]) };
    let joined = join(&plans, &[], &[receives(&plans[0], 3), receives(&plans[1], 5)], []);
    assert_eq!([0, 1, 2].map(|flow| joined.facts.foreign(flow)), [3, 5, 8]);
}

#[test]
fn the_senders_complaint_is_kept() {
    let plan = plan(0, 1);
    let mut log = talker(&plan, [0]);
    log.frames[0].tx_error = Some(TxError::Missed);
    let joined = join(&[plan], &[log], &[], []);
    assert_eq!(joined.rows[0].tx_error, Some(TxError::Missed));
}

proptest! {
    #[test]
    fn every_received_frame_is_counted(
        arrivals in proptest::collection::vec((0_u16..4, 0_u64..12), 0..100), frames in 0_u64..10,
    ) {
        let plans = [plan(2, frames), plan(0, frames)];
        let log = arrivals
            .iter()
            .zip(0..)
            .map(|((flow, seq), at)| rx(&plan(*flow, 0), *seq, at))
            .collect();
        let joined = join(&plans, &[], &[listener(log)], []);
        prop_assert_eq!(joined.rows.len() as u64, 2 * frames);
        prop_assert!(joined.rows.is_sorted_by_key(|r| (r.flow, r.seq)));
        let copies: u64 = joined.rows.iter().map(|r| u64::from(r.copies)).sum();
        let foreign = joined.facts.listeners[0].foreign;
        prop_assert_eq!(copies + foreign, arrivals.len() as u64);
        for row in &joined.rows {
            let mine = arrivals.iter().zip(0..).filter(|((f, s), _)| (*f, *s) == (row.flow, row.seq));
            prop_assert_eq!(row.arrival, mine.clone().map(|(_, at)| at).next());
            prop_assert_eq!(row.copies as usize, mine.count());
        }
    }
}
