//! Every frame's deviation, packed for the page's script.
//!
//! A series is a list of zigzag varints in base64: deviations in units of
//! their greatest common divisor (a capture of 1 µs resolution needs one byte
//! a frame), and, where sequence numbers have gaps, their differences.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::escape::json_in_script;
use crate::report::{Points, Report};

#[derive(Serialize)]
struct Series<'a> {
    case: &'a str,
    seed: u64,
    flow: &'a str,
    /// Nanoseconds between two scheduled departures.
    period_ns: i64,
    /// First sequence number.
    first: u64,
    /// Differences of sequence numbers; nothing if all are 1.
    steps: Option<String>,
    /// Nanoseconds per unit of `deviations`.
    quantum_ns: i64,
    deviations: String,
    /// How many deviations the series stands for.
    of: u64,
    count: usize,
}

/// The series as JSON for a `<script>` element.
pub fn json(report: &Report<'_>) -> String {
    let series: Vec<Series<'_>> =
        report.points.iter().map(|points| pack(points, period(report, points))).collect();
    // Strings and numbers only: writing them cannot fail.
    json_in_script(&serde_json::to_string(&series).unwrap_or_else(|_| "[]".to_owned()))
}

fn period(report: &Report<'_>, points: &Points) -> i64 {
    let members = report.summary.cases.iter().filter(|c| c.name == points.case);
    let mut flows = members.flat_map(|c| &c.members).filter_map(|m| m.flows.get(&points.flow));
    flows.next().map_or(1, |flow| flow.period_ns)
}

fn pack(points: &Points, period_ns: i64) -> Series<'_> {
    let quantum = points.deviation_ns.iter().fold(0, |g, d| gcd(g, d.unsigned_abs())).max(1);
    let quantum_ns = i64::try_from(quantum).unwrap_or(1);
    let steps: Vec<i64> = points
        .seq
        .windows(2)
        .map(|pair| i64::try_from(pair[1].wrapping_sub(pair[0])).unwrap_or(0))
        .collect();
    let regular = steps.iter().all(|step| *step == 1);
    Series {
        case: &points.case,
        seed: points.seed,
        flow: &points.flow,
        period_ns,
        first: points.seq.first().copied().unwrap_or(0),
        steps: (!regular).then(|| varints(steps.iter().copied())),
        quantum_ns,
        deviations: varints(points.deviation_ns.iter().map(|d| d / quantum_ns)),
        of: points.of,
        count: points.deviation_ns.len(),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn varints(values: impl Iterator<Item = i64>) -> String {
    let mut bytes = Vec::new();
    for value in values {
        let mut rest = u64::from_ne_bytes(((value << 1) ^ (value >> 63)).to_ne_bytes());
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
    use teiji_stats::Vantage;

    fn points(deviation_ns: Vec<i64>, seq: Vec<u64>) -> Points {
        Points {
            case: "c".into(),
            seed: 1,
            flow: "f".into(),
            vantage: Vantage::Wire,
            t_ns: vec![0; seq.len()],
            of: seq.len() as u64,
            deviation_ns,
            seq,
        }
    }

    #[test]
    fn a_coarse_capture_takes_a_byte_a_frame_and_gaps_are_kept() {
        let regular = points(vec![1000, -2000, 0, 63_000], vec![1, 2, 3, 4]);
        let packed = pack(&regular, 1_000_000);
        assert_eq!((packed.quantum_ns, packed.first, packed.steps.is_none()), (1000, 1, true));
        assert_eq!(STANDARD.decode(&packed.deviations).unwrap(), [2, 3, 0, 126]);
        let gap = points(vec![5, 5, 5], vec![1, 2, 9]);
        let packed = pack(&gap, 1);
        assert_eq!(STANDARD.decode(packed.steps.unwrap()).unwrap(), [2, 14]);
        assert_eq!((packed.quantum_ns, STANDARD.decode(packed.deviations).unwrap().len()), (5, 3));
    }

    #[test]
    fn extreme_values_survive() {
        assert_eq!(STANDARD.decode(varints([i64::MIN].into_iter())).unwrap().len(), 10);
        let extreme = points(vec![i64::MIN, 0], vec![0, 1]);
        let packed = pack(&extreme, 1);
        assert!(packed.quantum_ns > 0);
    }
}
