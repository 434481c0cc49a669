//! What delayed the frames of a flow, as a table: figures, then the cause.

use std::fmt::Write as _;

use teiji_why::document::MemberFlow;
use teiji_why::summary::{FlowCauses, FramePath};

use crate::block::Body;
use crate::topics::causes::{block, microseconds, stretch, unseen, way};
use crate::units::{Glyphs, count};

/// Causes in a table: those with the largest maxima.
const MOST_CAUSES: usize = 20;

/// What was found of a flow.
pub fn causes(found: &MemberFlow, glyphs: &Glyphs) -> String {
    let MemberFlow { case, seed, flow, tracing, causes, .. } = found;
    let mut text = format!("\n{case} seed {seed}, {flow}: ");
    let Some(block) = block(found, glyphs) else {
        let what = if found.round_trips { "round trips" } else { "frames" };
        let why = if tracing.is_some() {
            "no frame reached the driver while the kernel was traced"
        } else {
            "no timer wakes a sender that goes back to back, and only vtsn's wire is watched"
        };
        let _ = writeln!(text, "0 {what}, {}\n  none has a path: {why}", stretch(found));
        if let Some(note) = unseen(found) {
            let _ = writeln!(text, "  {note}");
        }
        return text;
    };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}, {}, in microseconds", block.heading, block.about);
    if let Body::Table(table) = &block.body {
        line(&mut text, &table.columns, "");
        let (shown, rest) = table.rows.split_at(table.rows.len().min(1 + MOST_CAUSES));
        for row in shown {
            line(&mut text, &row.cells, &row.item);
        }
        if let Some(most) = rest.first().and_then(|row| row.cells.last()) {
            let rest = count(rest.len() as u64, glyphs);
            let _ = writeln!(text, "  {rest} more causes, {most} at most (--json has all)");
        }
    }
    if causes.unknown > 0 {
        let _ = writeln!(text, "  frames without a path: {}", count(causes.unknown as u64, glyphs));
    }
    for note in &block.notes {
        let _ = writeln!(text, "  {note}");
    }
    if let Some(late) = tracing.and_then(|tracing| tracing.ended_at) {
        let _ = writeln!(
            text,
            "  Tracing ended at {flow}:{}, whose sending call returned {} {}s after the timer",
            late.seq,
            microseconds(late.handed_over_ps, glyphs),
            glyphs.micro
        );
    }
    for frame in &causes.shown {
        one_frame(&mut text, flow, frame, causes, glyphs);
    }
    text
}

fn line(text: &mut String, cells: &[String], name: &str) {
    text.push(' ');
    for cell in cells {
        let _ = write!(text, " {cell:>9}");
    }
    let name = if name.is_empty() { String::new() } else { format!("  {name}") };
    let _ = writeln!(text, "{name}");
}

fn one_frame(
    text: &mut String,
    flow: &str,
    frame: &FramePath,
    causes: &FlowCauses,
    glyphs: &Glyphs,
) {
    let above = frame.whole_ps - causes.whole.median_ps;
    let _ = writeln!(
        text,
        "\n  {flow}:{}  {} {}s, {} above the median",
        frame.seq,
        microseconds(frame.whole_ps, glyphs),
        glyphs.micro,
        microseconds(above, glyphs)
    );
    let (parts, note) = way(frame, glyphs);
    for part in &parts {
        let above = match part.above_median_ps {
            0 => String::new(),
            more if more > 0 => format!("+{}", microseconds(more, glyphs)),
            less => microseconds(less, glyphs),
        };
        let _ = writeln!(
            text,
            "    {:>9} {above:>10}  {}",
            microseconds(part.time_ps, glyphs),
            part.cause
        );
    }
    if let Some(note) = note {
        let _ = writeln!(text, "    {note}");
    }
}

#[cfg(test)]
mod tests {
    use teiji_why::document::{Spans, Tracing};
    use teiji_why::summary::{CauseRow, Part, Spread};

    use super::*;

    fn traced(frames: usize) -> MemberFlow {
        let spread = |max_ps| Spread { median_ps: max_ps / 2, max_ps, ..Spread::default() };
        let spans = |count, median_ps| Spans { count, median_ps };
        let causes = [("the sender", 30_000_000), ("interrupts", 20_000_000)];
        MemberFlow {
            case: "normal".to_owned(),
            seed: 1,
            flow: "cycle".to_owned(),
            round_trips: false,
            tracing: Some(Tracing {
                untraced: spans(10, 36_195_000),
                traced: spans(90, 75_587_000),
                ended_at: None,
            }),
            causes: FlowCauses {
                frames,
                unknown: 1,
                unseen: vec!["timers of qdiscs".to_owned(), "spins for locks".to_owned()],
                whole: spread(50_000_000),
                causes: causes
                    .map(|(cause, max)| CauseRow {
                        cause: cause.to_owned(),
                        frames,
                        spread: spread(max),
                    })
                    .to_vec(),
                ranks: Vec::new(),
                shown: Vec::new(),
            },
        }
    }

    #[test]
    fn each_cause_has_a_row_and_tracing_a_sentence() {
        let expected = "
normal seed 1, cycle: 90 frames, from the expiry of the sender's timer to the driver, in microseconds
     frames    median       p99     p99.9   maximum
         90    25.000         -         -    50.000  all
         90    15.000         -         -    30.000  the sender
         90    10.000         -         -    20.000  interrupts
  frames without a path: 1
  This kernel does not show timers of qdiscs, spins for locks. What they take is part of other causes.
  What tracing costs: half of the frames were handed over within 36.195 us (of 10), and within \
                        75.587 us (of 90) while the kernel was traced.
";
        assert_eq!(causes(&traced(90), &Glyphs::ASCII), expected);
    }

    #[test]
    fn a_path_of_many_parts_is_shown_by_cause() {
        let mut found = traced(1);
        let part = |cause: &str, time_us: i64| Part {
            cause: cause.to_owned(),
            time_ps: time_us * 1_000_000,
            above_median_ps: 0,
        };
        let mut show = |pairs| {
            let parts = (0..pairs).flat_map(|_| [part("interrupts", 1), part("the sender", 3)]);
            found.causes.shown = vec![FramePath {
                seq: 7,
                whole_ps: pairs * 4_000_000,
                parts: parts.collect(),
                activity: Vec::new(),
            }];
            let text = causes(&found, &Glyphs::ASCII);
            text.split_once("\n  cycle:7 ").unwrap().1.to_owned()
        };
        assert_eq!(show(30).lines().count(), 61);
        let expected = " 124.000 us, 99.000 above the median
       93.000             the sender
       31.000             interrupts
    62 parts; those of a cause are together (teiji why --json has them in order)
";
        assert_eq!(show(31), expected);
    }

    #[test]
    fn a_flow_without_paths_is_explained() {
        let text = causes(&traced(0), &Glyphs::ASCII);
        assert!(text.contains("none has a path: no frame reached the driver"), "{text}");
        assert!(text.contains("does not show timers of qdiscs"), "{text}");
    }
}
