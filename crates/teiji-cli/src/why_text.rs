//! What delayed frames, as tables for the terminal.

use std::fmt::Write as _;

use teiji_report::units::{Glyphs, count, number};
use teiji_why::document::{MemberFlow, Tracing};
use teiji_why::summary::{FlowCauses, FramePath, Spread};

/// Causes in a table: those with the largest maxima.
const MOST_CAUSES: usize = 20;

/// Cells: picoseconds as microseconds.
fn cell(time_ps: i64, glyphs: &Glyphs) -> String {
    number(time_ps as f64 / 1e6, 3, glyphs)
}

/// What was found of a flow, as tables.
pub fn flow(found: &MemberFlow, glyphs: &Glyphs) -> String {
    let MemberFlow { case, seed, flow, round_trips, tracing, causes } = found;
    let mut text = String::new();
    let about = if *round_trips {
        "round trips, from the request's way into the qdisc until the requester ran"
    } else if tracing.is_some() {
        "frames, from the expiry of the sender's timer to the driver"
    } else {
        "frames, from the expiry of the sender's timer to the wire"
    };
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "\n{case} seed {seed}, {flow}: {} {about}, in microseconds",
        count(causes.frames as u64, glyphs)
    );
    if causes.frames == 0 {
        text.push_str(if tracing.is_some() {
            "  none has a path: no frame came to the driver while the kernel was traced\n"
        } else {
            "  none has a path: no timer wakes a sender that goes back to back, and only vtsn's \
                 wire is watched\n"
        });
        return text;
    }
    let head = ["frames", "median", "p99", "p99.9", "maximum"];
    let row = |frames: usize, spread: &Spread| {
        let Spread { median_ps, p99_ps, p999_ps, max_ps } = *spread;
        let mut cells = vec![count(frames as u64, glyphs)];
        let times = [Some(median_ps), p99_ps, p999_ps, Some(max_ps)];
        // Too few frames for a percentile.
        let shown = |time: Option<i64>| time.map_or(glyphs.none.to_owned(), |ps| cell(ps, glyphs));
        cells.extend(times.map(shown));
        cells
    };
    let mut rows = vec![(row(causes.frames, &causes.whole), "all")];
    let (shown, rest) = causes.causes.split_at(causes.causes.len().min(MOST_CAUSES));
    rows.extend(shown.iter().map(|one| (row(one.frames, &one.spread), &*one.cause)));
    line(&mut text, &head.map(str::to_owned), "");
    for (cells, name) in &rows {
        line(&mut text, cells, name);
    }
    if let [first, ..] = rest {
        let _ = writeln!(
            text,
            "  {} more causes, {} at most (--json has all)",
            count(rest.len() as u64, glyphs),
            cell(first.spread.max_ps, glyphs)
        );
    }
    if causes.unknown > 0 {
        let _ = writeln!(text, "  {} frames have no path", count(causes.unknown as u64, glyphs));
    }
    if let Some(tracing) = tracing {
        traced(&mut text, found, tracing, glyphs);
    }
    for frame in &causes.shown {
        one_frame(&mut text, flow, frame, causes, glyphs);
    }
    text
}

/// What tracing has cost, and where it ended.
fn traced(text: &mut String, found: &MemberFlow, tracing: &Tracing, glyphs: &Glyphs) {
    let Tracing { untraced, traced, ended_at } = tracing;
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "  tracing: half of the {} within {} us (of {}), and within {} us while the kernel was traced (of {})",
        if found.round_trips { "round trips were over" } else { "frames were handed over" },
        cell(untraced.median_ps, glyphs),
        count(untraced.count as u64, glyphs),
        cell(traced.median_ps, glyphs),
        count(traced.count as u64, glyphs),
    );
    if let Some(late) = ended_at {
        let _ = writeln!(
            text,
            "  it ended at {}:{}, whose sending call returned {} us after the timer",
            found.flow,
            late.seq,
            cell(late.handed_over_ps, glyphs)
        );
    }
}

fn line(text: &mut String, cells: &[String], name: &str) {
    text.push(' ');
    for cell in cells {
        let _ = write!(text, " {cell:>9}");
    }
    let _ = writeln!(text, "  {name}");
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
        "\n  {flow}:{}  {} us, {} above the median",
        frame.seq,
        cell(frame.whole_ps, glyphs),
        cell(above, glyphs)
    );
    for part in &frame.parts {
        let above = match part.above_median_ps {
            0 => String::new(),
            more if more > 0 => format!("+{}", cell(more, glyphs)),
            less => cell(less, glyphs),
        };
        let _ = writeln!(text, "    {:>9} {above:>10}  {}", cell(part.time_ps, glyphs), part.cause);
    }
}
