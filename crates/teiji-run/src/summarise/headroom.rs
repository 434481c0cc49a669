//! Warns of flows whose frames came close to using up their transmission margin.

use teiji::margin::{Reading, Watch};
use teiji_core::time::Span;
use teiji_experiment::{Flow, Scenario, SendMode};
use teiji_record::FrameRow;

/// A sentence for a flow with a launch time of which a frame had less than a fifth
/// of its margin left when it was handed over, as [`Watch`] counts them.
pub fn warning(scenario: &Scenario, flow: &Flow, rows: &[FrameRow]) -> Option<String> {
    let SendMode::LaunchTime { margin, .. } = flow.mode else { return None };
    let delta = delta(scenario, flow);
    let watch = Watch::new(margin, delta);
    for row in rows {
        if let Some(handed_over) = row.handed_over {
            watch.note(row.scheduled, handed_over);
        }
    }
    sentence(&flow.name, margin, delta, &watch.reading())
}

/// What of the margin belongs to the ETF that the flow passes.
fn delta(scenario: &Scenario, flow: &Flow) -> Span {
    let qdisc = scenario.port(&flow.from, &flow.wire).and_then(|port| port.qdisc.as_ref());
    qdisc.and_then(|qdisc| qdisc.etf_of(flow.priority)).map_or(Span::ZERO, |etf| etf.delta)
}

fn sentence(name: &str, margin: Span, delta: Span, reading: &Reading) -> Option<String> {
    let least = reading.least.filter(|_| reading.low > 0)?;
    let left = if least > Span::ZERO {
        format!("smallest margin left {least} of {margin}")
    } else {
        format!("nothing left of {margin}, {} too late at worst", Span::ZERO - least)
    };
    let kernel =
        if delta > Span::ZERO { format!(" before ETF's delta of {delta}") } else { String::new() };
    Some(format!(
        "Flow {name} nearly used up its margin: {left}{kernel}; {} of {} frames had less than a \
         fifth left, {} of them nothing. `teiji margin` finds a margin that is long enough.",
        reading.low, reading.frames, reading.used_up
    ))
}

#[cfg(test)]
mod tests {
    use teiji_core::time::Instant;

    use super::*;

    fn warning_of(handed_over_us: &[i64]) -> Option<String> {
        let (margin, delta) = (Span::from_micros(400), Span::from_micros(150));
        let watch = Watch::new(margin, delta);
        for us in handed_over_us {
            // Woken at 600 µs for a launch at 1 ms.
            watch.note(Instant::from_ns(1_000_000), Instant::from_ns(us * 1_000));
        }
        sentence("cycle", margin, delta, &watch.reading())
    }

    #[test]
    fn a_margin_that_lasts_is_not_talked_about() {
        assert_eq!(warning_of(&[]), None);
        assert_eq!(warning_of(&[610, 620, 799]), None);
    }

    #[test]
    fn a_margin_that_is_nearly_used_up_is_reported_with_the_remaining_time() {
        let text = warning_of(&[610, 838]).unwrap();
        assert!(
            text.contains("smallest margin left 12 µs of 400 µs before ETF's delta of 150 µs"),
            "{text}"
        );
        assert!(text.contains("1 of 2 frames had less than a fifth left, 0 of them nothing"));
        let text = warning_of(&[838, 860]).unwrap();
        assert!(text.contains("nothing left of 400 µs, 10 µs too late at worst"), "{text}");
    }
}
