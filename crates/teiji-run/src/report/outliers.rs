//! Chooses the frames that the report shows one by one: those that never
//! arrived, and those whose intervals differ most, each with its way and what
//! is known of the reason.

use std::cmp::Reverse;
use std::fmt::Write;
use std::io;

use teiji::TxError;
use teiji_core::time::{Instant, Span, Tai};
use teiji_experiment::{Case, SendMode};
use teiji_record::{FlowPlan, FrameRow, Records, wire_clock_is_tai};
use teiji_report::report::station;
use teiji_report::{Outlier, Points};
use teiji_stats::TimestampPoint;

/// Frames of each kind, per flow of a member.
pub const EACH: usize = 3;

/// Frames before and after one that say what is usual there: clocks that drift
/// apart by 1 ppm differ by less than a microsecond over them.
const AROUND: usize = 100;

/// The outliers of one flow in one member of `case`; `points` are all its deviations, seen
/// at `timestamp point`. Where the case is unknown, so is the wire's clock, and no instant on the
/// wire is shown.
pub fn of(
    case: Option<&Case>,
    records: &Records,
    plan: &FlowPlan,
    point: TimestampPoint,
    points: &Points,
) -> Vec<Outlier> {
    let one_clock = case.map(|case| wire_clock_is_tai(case, records, plan.flow));
    let rows = records.rows_of(plan.flow);
    let noise_ns = match (point, records.facts.wire_resolution) {
        // An interval has two stamps.
        (TimestampPoint::Wire, Some(resolution)) => 2 * resolution.as_ns().unsigned_abs(),
        _ => 0,
    };
    let apart = records.facts.apart.contains(&plan.flow);
    let outlier = |row: &FrameRow, deviation_ns: Option<i64>, note: Option<String>| {
        let of_sender = FrameRow { rx_kernel: row.rx_kernel.filter(|_| !apart), ..*row };
        let mut outlier =
            Outlier::from_frame(&points.case, points.seed, &points.flow, deviation_ns, &of_sender);
        let after_schedule =
            row.wire.map(|wire| wire.as_ns().saturating_sub(row.scheduled.as_ns()));
        let estimate = || wire_offset(around(rows, row), plan.mode);
        match (after_schedule, one_clock) {
            (Some(ns), Some(true)) => outlier.add(station::WIRE, ns),
            (Some(ns), Some(false)) => {
                if let Some(offset) = estimate() {
                    outlier.add(station::WIRE_ESTIMATED, ns.saturating_sub(offset));
                }
            }
            (None, _) | (_, None) => {}
        }
        outlier.note = note;
        outlier
    };
    let absent = rows.iter().filter_map(|row| Some(outlier(row, None, Some(absence(row, plan)?))));
    let deviating = largest(points, noise_ns).into_iter().filter_map(|index| {
        let row = rows.get(usize::try_from(points.seq[index]).ok()?)?;
        Some(outlier(row, Some(points.deviation_ns[index]), reason(rows, row, point, plan)))
    });
    absent.take(EACH).chain(deviating).collect()
}

/// The frames around one, itself included.
fn around<'a>(rows: &'a [FrameRow], row: &FrameRow) -> &'a [FrameRow] {
    let at = usize::try_from(row.seq).unwrap_or(usize::MAX);
    let to = at.saturating_add(AROUND).min(rows.len());
    &rows[at.saturating_sub(AROUND).min(to)..to]
}

/// The indices of the largest deviations above the stamps' own noise, worst
/// first. The intervals before and
/// after one late frame both deviate: the larger one tells of it.
pub fn largest(points: &Points, noise_ns: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.seq.len())
        .filter(|&i| points.deviation_ns[i].unsigned_abs() > noise_ns)
        .collect();
    // Stable: of equals the earlier frame comes first.
    order.sort_by_key(|&i| Reverse(points.deviation_ns[i].unsigned_abs()));
    let mut chosen: Vec<usize> = Vec::new();
    for index in order {
        if chosen.iter().all(|other| points.seq[*other].abs_diff(points.seq[index]) > 1) {
            chosen.push(index);
            if chosen.len() == EACH {
                break;
            }
        }
    }
    chosen
}

/// Why a frame is not there, as sentences.
fn absence(row: &FrameRow, plan: &FlowPlan) -> Option<String> {
    let mut note = match row.tx_error {
        Some(TxError::Missed) => {
            "Dropped by ETF as \"missed\": its launch time had passed.".to_owned()
        }
        Some(TxError::Invalid) => {
            "Dropped by ETF as \"invalid\": no launch time, or one already past.".to_owned()
        }
        Some(TxError::SendFailed(errno)) => {
            format!("The send call failed: {}.", io::Error::from_raw_os_error(errno))
        }
        None if row.handed_over.is_some() && row.copies == 0 => "Lost on the way.".to_owned(),
        None => return None,
    };
    if let Some(late) = wake_up_latency(row, plan).filter(|late| *late > 0) {
        let _ = write!(note, " Its sender woke {} late.", Span::from_ns(late));
    }
    Some(note)
}

/// How late the sender woke, in ns.
fn wake_up_latency(row: &FrameRow, plan: &FlowPlan) -> Option<i64> {
    Some((row.woke? - plan.mode.planned_wake(row.scheduled)).as_ns())
}

/// From its schedule until a frame was seen, in ns; the clocks may differ.
fn delay(row: &FrameRow, point: TimestampPoint) -> Option<i64> {
    Some(point.stamp_ns(row)?.saturating_sub(row.scheduled.as_ns()))
}

/// Which of two frames made the interval what it is, and whether waking did.
fn reason(
    rows: &[FrameRow],
    row: &FrameRow,
    point: TimestampPoint,
    plan: &FlowPlan,
) -> Option<String> {
    let before = rows.get(usize::try_from(row.seq.checked_sub(1)?).ok()?)?;
    let usual = |of: &dyn Fn(&FrameRow) -> Option<i64>| {
        teiji_stats::median(&mut around(rows, row).iter().filter_map(of).collect::<Vec<_>>())
    };
    let usual_delay = usual(&|row| delay(row, point))?;
    let off = |row: &FrameRow| Some(delay(row, point)?.saturating_sub(usual_delay));
    let (own, earlier) = (off(row)?, off(before)?);
    let (whose, off, culprit) = if earlier.unsigned_abs() > own.unsigned_abs() {
        ("The frame before it", earlier, before)
    } else {
        ("It", own, row)
    };
    let side = if off < 0 { "earlier" } else { "later" };
    let mut note = format!("{whose} was {} {side} than usual", Span::from_ns(off.saturating_abs()));
    let latency = |row: &FrameRow| wake_up_latency(row, plan);
    if let (Some(woke), Some(usual)) = (latency(culprit), usual(&latency)) {
        // Waking is a reason if it makes up most of the difference.
        if off > 0 && woke.saturating_sub(usual) > off / 2 {
            let (woke, usual) = (Span::from_ns(woke), Span::from_ns(usual));
            let _ = write!(note, ": its sender woke {woke} late (usually {usual})");
        }
    }
    Some(note + ".")
}

/// What to take from a wire's clock of its own to have the schedule's, in ns, by an estimate:
/// the fastest of these frames takes no time from the wire to the receiver, or from the driver
/// to the wire. The latter is first where a NIC sends at once what its driver hands over.
fn wire_offset(rows: &[FrameRow], mode: SendMode) -> Option<i64> {
    let ahead = |row: &FrameRow, of: Option<Instant<Tai>>| {
        Some(row.wire?.as_ns().saturating_sub(of?.as_ns()))
    };
    let from_driver = || rows.iter().filter_map(|row| ahead(row, row.tx_kernel)).min();
    let to_receiver = || rows.iter().filter_map(|row| ahead(row, row.rx_kernel)).max();
    match mode {
        SendMode::LaunchTime { .. } => to_receiver().or_else(from_driver),
        SendMode::OnWakeUp | SendMode::BackToBack => from_driver().or_else(to_receiver),
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use teiji_experiment::Experiment;
    use teiji_record::{About, Facts};

    const MS: i64 = 1_000_000;
    const COMPUTED: Option<Span> = Some(Span::from_ns(1));

    /// A case whose wire is of NICs of this kind; `more` is said beside.
    fn case(nic: &str, more: &str) -> Case {
        let text = format!(
            "name = \"e\"\nquestion = \"?\"\n{more}\n\
             wires.line = {{ between = [\"a\", \"b\"], nic = \"{nic}\" }}\n\
             flows.cycle = {{ from = \"a\", to = \"b\", period = \"1ms\", frames = 9 }}\n"
        );
        Experiment::parse(&text, "e.toml").unwrap().cases.remove(0)
    }

    fn at(outlier: &Outlier, station: &str) -> Option<i64> {
        outlier.stamps.iter().find(|stamp| stamp.station == station).map(|stamp| stamp.ns)
    }

    /// A flow of these delays, in ns; `None` is a frame that ETF dropped.
    fn flow(delays: &[Option<i64>]) -> (Records, FlowPlan, Points) {
        let plan = FlowPlan {
            flow: 0,
            name: "cycle".to_owned(),
            frames: delays.len() as u64,
            base: Instant::from_ns(0),
            period: Span::from_ns(MS),
            mode: SendMode::OnWakeUp,
            tx_stamps: true,
        };
        let tai = |ns| Some(Instant::<Tai>::from_ns(ns));
        let rows: Vec<FrameRow> = (0..)
            .zip(delays)
            .map(|(seq, delay)| {
                let scheduled = seq * MS;
                FrameRow {
                    woke: tai(scheduled + delay.unwrap_or(800) / 4 * 3),
                    handed_over: tai(scheduled + delay.unwrap_or(700)),
                    tx_kernel: delay.and_then(|delay| tai(scheduled + delay)),
                    // The capture's clock is 5 s ahead and the wire 100 ns away, or more.
                    wire: delay.map(|d| Instant::from_ns(scheduled + d + 5_000_000_100)),
                    copies: u32::from(delay.is_some()),
                    tx_error: delay.is_none().then_some(TxError::Missed),
                    ..FrameRow::planned(0, seq.unsigned_abs(), Instant::from_ns(scheduled))
                }
            })
            .collect();
        let intervals =
            teiji_stats::fold::interval_deviations(plan.period, TimestampPoint::Wire, &rows);
        let (seq, deviation_ns): (Vec<u64>, Vec<i64>) = intervals.unzip();
        let points = Points {
            case: "c".to_owned(),
            seed: 1,
            flow: "cycle".to_owned(),
            point: Some(TimestampPoint::Wire),
            t_ns: seq.iter().map(|seq| i64::try_from(*seq).unwrap() * MS).collect(),
            of: seq.len() as u64,
            deviation_ns,
            seq,
        };
        let about = About {
            experiment: String::new(),
            case: "c".to_owned(),
            seed: 1,
            flows: vec![plan.clone()],
        };
        (Records { about, facts: Facts::default(), rows }, plan, points)
    }

    #[test]
    fn a_late_frame_is_listed_once_with_its_reason_and_frames_on_time_are_not() {
        let delays: Vec<Option<i64>> =
            (0..50).map(|i| Some(if i == 20 { 40_000 } else { 200 })).collect();
        let (records, plan, points) = flow(&delays);
        let case = case("igb", "");
        let outliers = of(Some(&case), &records, &plan, TimestampPoint::Wire, &points);
        assert_eq!(outliers.len(), 1, "{outliers:?}");
        let found = &outliers[0];
        assert_eq!((found.seq, found.deviation_ns), (20, Some(39_800)));
        assert_eq!(
            found.note.as_deref(),
            Some("It was 39.8 µs later than usual: its sender woke 30 µs late (usually 150 ns).")
        );
        let coarse = Facts { wire_resolution: Some(Span::from_ns(20_000)), ..Facts::default() };
        assert!(
            of(
                Some(&case),
                &Records { facts: coarse, ..records.clone() },
                &plan,
                TimestampPoint::Wire,
                &points
            )
            .is_empty()
        );
        assert_eq!(at(found, station::WIRE_ESTIMATED), Some(40_000), "the fastest takes no time");
        assert_eq!(at(found, station::WIRE), None);
    }

    #[test]
    fn every_instant_shown_is_that_of_the_records_where_the_wire_has_the_schedules_clock() {
        let delays: Vec<Option<i64>> =
            (0..50).map(|i| Some(if i == 20 { 40_000 } else { 200 })).collect();
        let (mut records, plan, points) = flow(&delays);
        records.facts.wire_resolution = COMPUTED;
        for row in &mut records.rows {
            // Handed over when the frame had long been on the wire, which is 564 ns long.
            let left = row.tx_kernel.unwrap();
            row.wire = Some(Instant::from_ns(left.as_ns() + 564));
            row.handed_over = Some(left + Span::from_ns(6_000));
            row.rx_kernel = Some(left + Span::from_ns(26_000));
        }
        let found = of(Some(&case("vtsn", "")), &records, &plan, TimestampPoint::Wire, &points);
        assert_eq!(found[0].seq, 20);
        let row = &records.rows[20];
        let after = |at: Option<i64>| Some(at? - row.scheduled.as_ns());
        let of_row = [
            (station::WOKE, row.woke.map(Instant::as_ns)),
            (station::NIC, row.tx_kernel.map(Instant::as_ns)),
            (station::WIRE, row.wire.map(Instant::as_ns)),
            (station::HANDED_OVER, row.handed_over.map(Instant::as_ns)),
            (station::ARRIVED, row.rx_kernel.map(Instant::as_ns)),
        ];
        for (station, instant) in of_row {
            assert_eq!(at(&found[0], station), after(instant), "{station}");
        }
        assert!(found[0].stamps.is_sorted_by_key(|stamp| stamp.ns), "{found:?}");
    }

    #[test]
    fn a_wire_whose_clock_is_set_otherwise_has_estimated_instants() {
        let (mut records, plan, points) = flow(&[Some(200), Some(200), Some(9_000), Some(200)]);
        records.facts.wire_resolution = COMPUTED;
        let wrong = "hosts.b.ports.line.phc.offset = \"5s\"";
        let found = of(Some(&case("vtsn", wrong)), &records, &plan, TimestampPoint::Wire, &points);
        assert_eq!(at(&found[0], station::WIRE_ESTIMATED), Some(9_000));
        // What the records do not claim to be computed is not, whatever the NICs are.
        records.facts.wire_resolution = None;
        let found = of(Some(&case("vtsn", "")), &records, &plan, TimestampPoint::Wire, &points);
        assert_eq!(at(&found[0], station::WIRE), None);
        let found = of(None, &records, &plan, TimestampPoint::Wire, &points);
        assert!(found[0].stamps.iter().all(|stamp| !stamp.station.starts_with(station::WIRE)));
    }

    #[test]
    fn with_launch_times_the_wires_clock_is_estimated_by_the_receiver() {
        // Given to the NIC 300 µs early; 100 ns from the wire to the receiver.
        let (records, ..) = flow(&[Some(200), Some(250)]);
        let early = |row: &FrameRow| FrameRow {
            tx_kernel: Some(row.scheduled - Span::from_ns(300_000)),
            rx_kernel: Some(row.scheduled + Span::from_ns(300)),
            wire: Some(Instant::from_ns(row.scheduled.as_ns() + 200 + 5 * MS)),
            ..*row
        };
        let rows: Vec<FrameRow> = records.rows.iter().map(early).collect();
        let margin = Span::from_ns(400_000);
        let launched = SendMode::LaunchTime { margin, deadline: false };
        assert_eq!(wire_offset(&rows, launched), Some(5 * MS - 100));
        assert_eq!(wire_offset(&rows, SendMode::OnWakeUp), Some(5 * MS + 300_200));
    }

    #[test]
    fn dropped_frames_come_first_and_name_the_qdisc() {
        let mut delays = vec![Some(200); 30];
        delays[7] = None;
        delays[20] = Some(9_200);
        let (records, plan, points) = flow(&delays);
        let outliers = of(Some(&case("igb", "")), &records, &plan, TimestampPoint::Wire, &points);
        let numbers: Vec<u64> = outliers.iter().map(|outlier| outlier.seq).collect();
        assert_eq!(numbers, [7, 20]);
        let note = outliers[0].note.as_deref().unwrap();
        assert!(note.starts_with("Dropped by ETF as \"missed\""), "{note}");
        assert!(note.ends_with("Its sender woke 600 ns late."), "{note}");
    }
}
