//! Every frame's deviation, packed for the page's script
//! (`assets/js/data.js` unpacks it).
//!
//! A series is a list of zigzag varints in base64: deviations in units of
//! their greatest common divisor (a capture of 1 µs resolution needs one byte
//! a frame). Sequence numbers are written where they have gaps. Times are
//! written where they do not follow from period, gaps and deviations.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::colour;
use super::escape::json_in_script;
use super::samples::gcd;
use crate::comparison::Measure;
use crate::report::{Band, Points, Report};

#[derive(Serialize)]
struct Series<'a> {
    case: &'a str,
    /// One line about the case.
    about: &'a str,
    seed: u64,
    flow: &'a str,
    /// What a point is of, and what it shows: "frame", "deviation".
    one: &'static str,
    value: &'static str,
    colour: usize,
    /// Nanoseconds between two scheduled departures.
    period_ns: i64,
    /// First sequence number.
    first: u64,
    /// Time of the first frame.
    first_ns: i64,
    /// Differences of sequence numbers; nothing if all are 1.
    steps: Option<String>,
    /// By how much the time from one frame to the next differs from the period
    /// (times the step), plus the deviation if the step is 1, in units of
    /// `jump_ns`; nothing if it never does.
    jumps: Option<String>,
    jump_ns: i64,
    /// Nanoseconds per unit of `deviations`.
    quantum_ns: i64,
    deviations: String,
    /// How many deviations the series stands for.
    of: u64,
    count: usize,
    /// What ran beside it.
    loads: Vec<Load<'a>>,
}

#[derive(Serialize)]
struct Load<'a> {
    name: &'a str,
    /// Whether bits are counted, or something else.
    bits: bool,
    /// On the time of the series.
    from_ns: i64,
    step_ns: i64,
    /// In each step.
    per_s: Vec<u64>,
}

impl<'a> Load<'a> {
    fn of(band: &'a Band) -> Self {
        let bits = band.bits_a_unit();
        let unit = f64::from(bits.unwrap_or(1));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "of u64s")]
        let whole = |per_s: f64| (per_s * unit).round() as u64;
        Self {
            name: &band.load,
            bits: bits.is_some(),
            from_ns: band.from_ns,
            step_ns: band.step_ns,
            per_s: band.per_s().map(whole).collect(),
        }
    }
}

/// The series as JSON for a `<script>` element.
pub fn json(report: &Report<'_>) -> String {
    let series: Vec<Series<'_>> = report
        .points
        .iter()
        .map(|points| {
            let mut packed = pack(points, period(report, points), measure(report, points));
            packed.colour = colour(report.summary, &points.case);
            packed.about = about(report, points);
            let same = |band: &&Band| (&band.case, band.seed) == (&points.case, points.seed);
            packed.loads = report.bands.iter().filter(same).map(Load::of).collect();
            packed
        })
        .collect();
    // Strings and numbers only: writing them cannot fail.
    json_in_script(&serde_json::to_string(&series).unwrap_or_else(|_| "[]".to_owned()))
}

fn about<'a>(report: &Report<'a>, points: &Points) -> &'a str {
    let case = report.summary.cases.iter().find(|case| case.name == points.case);
    case.map_or("", |case| case.about.as_str())
}

fn period(report: &Report<'_>, points: &Points) -> i64 {
    let members = report.summary.cases.iter().filter(|c| c.name == points.case);
    let mut flows = members.flat_map(|c| &c.members).filter_map(|m| m.flows.get(&points.flow));
    flows.next().map_or(1, |flow| flow.period_ns)
}

/// What the points show.
fn measure(report: &Report<'_>, points: &Points) -> Measure {
    if points.point.is_some() {
        return Measure::Interval;
    }
    let mut members = report.summary.cases.iter().flat_map(|case| &case.members);
    let delay = members.any(|member| member.delays.contains_key(&points.flow));
    if delay { Measure::Delay } else { Measure::RoundTrip }
}

fn pack(points: &Points, period_ns: i64, measure: Measure) -> Series<'_> {
    let steps: Vec<i64> = points
        .seq
        .windows(2)
        .map(|pair| i64::try_from(pair[1].wrapping_sub(pair[0])).unwrap_or(0))
        .collect();
    let jumps: Vec<i64> = points
        .t_ns
        .windows(2)
        .zip(&steps)
        .zip(points.deviation_ns.iter().skip(1))
        .map(|((pair, step), deviation)| {
            let follows = step.saturating_mul(period_ns).saturating_add(match step {
                1 => *deviation,
                _ => 0,
            });
            pair[1].saturating_sub(pair[0]).saturating_sub(follows)
        })
        .collect();
    let [one, value] = measure.one_and_value();
    let (jump_ns, quantum_ns) = (quantum(&jumps), quantum(&points.deviation_ns));
    let regular = steps.iter().all(|step| *step == 1);
    let follows = jumps.iter().all(|jump| *jump == 0);
    Series {
        case: &points.case,
        about: "",
        seed: points.seed,
        flow: &points.flow,
        one,
        value,
        colour: 0,
        period_ns,
        first: points.seq.first().copied().unwrap_or(0),
        first_ns: points.t_ns.first().copied().unwrap_or(0),
        steps: (!regular).then(|| varints(steps.iter().copied())),
        jumps: (!follows).then(|| varints(jumps.iter().map(|jump| jump / jump_ns))),
        jump_ns,
        quantum_ns,
        deviations: varints(points.deviation_ns.iter().map(|d| d / quantum_ns)),
        of: points.of,
        count: points.deviation_ns.len(),
        loads: Vec::new(),
    }
}

/// The largest step that all values are multiples of.
fn quantum(values: &[i64]) -> i64 {
    let common = values.iter().fold(0, |g, value| gcd(g, value.unsigned_abs())).max(1);
    i64::try_from(common).unwrap_or(1)
}

fn varints(values: impl Iterator<Item = i64>) -> String {
    let mut bytes = Vec::new();
    for value in values {
        #[expect(clippy::cast_sign_loss, reason = "zigzag: the sign is the lowest bit now")]
        let mut rest = ((value << 1) ^ (value >> 63)) as u64;
        while rest >= 0x80 {
            bytes.push((rest & 0x7F) as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push((rest & 0x7F) as u8);
    }
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_stats::TimestampPoint;

    /// Frames whose times follow from period and deviations.
    fn points(deviation_ns: Vec<i64>, seq: Vec<u64>, period_ns: i64) -> Points {
        let mut at = 0;
        let t_ns = deviation_ns.iter().map(|d| {
            at += period_ns.saturating_add(*d);
            at
        });
        Points {
            case: "c".into(),
            seed: 1,
            flow: "f".into(),
            point: Some(TimestampPoint::Wire),
            t_ns: t_ns.collect(),
            of: seq.len() as u64,
            deviation_ns,
            seq,
        }
    }

    #[test]
    fn a_coarse_capture_takes_a_byte_a_frame() {
        let regular = points(vec![1000, -2000, 0, 63_000], vec![1, 2, 3, 4], 1_000_000);
        let packed = pack(&regular, 1_000_000, Measure::Interval);
        assert_eq!((packed.quantum_ns, packed.first, packed.first_ns), (1000, 1, 1_001_000));
        assert!(packed.steps.is_none() && packed.jumps.is_none());
        assert_eq!(STANDARD.decode(&packed.deviations).unwrap(), [2, 3, 0, 126]);
    }

    #[test]
    fn gaps_and_the_time_lost_in_them_are_kept() {
        let mut gap = points(vec![5, 5, 5], vec![1, 2, 9], 100);
        gap.t_ns = vec![105, 210, 210 + 7 * 100 + 8];
        let packed = pack(&gap, 100, Measure::Interval);
        assert_eq!(STANDARD.decode(packed.steps.unwrap()).unwrap(), [2, 14]);
        assert_eq!(packed.jump_ns, 8);
        assert_eq!(STANDARD.decode(packed.jumps.unwrap()).unwrap(), [0, 2]);
        assert_eq!((packed.quantum_ns, STANDARD.decode(packed.deviations).unwrap().len()), (5, 3));
    }

    #[test]
    fn extreme_values_survive() {
        assert_eq!(STANDARD.decode(varints([i64::MIN].into_iter())).unwrap().len(), 10);
        let mut extreme = points(vec![0, 0], vec![0, 1], 1);
        extreme.deviation_ns = vec![i64::MIN, 0];
        extreme.t_ns = vec![i64::MIN, i64::MAX];
        assert!(pack(&extreme, 1, Measure::Interval).quantum_ns > 0);
    }
}
