//! What delayed the frames of a flow, by `teiji why`: the time of each cause, and what tracing costs.

use teiji_why::document::{MemberFlow, Spans, Tracing};
use teiji_why::summary::{FramePath, Part, Spread};

use crate::block::{Block, Table, or_none};
use crate::units::{Glyphs, count, number};

/// Picoseconds as microseconds, without the unit.
pub fn microseconds(time_ps: i64, glyphs: &Glyphs) -> String {
    number(time_ps as f64 / 1e6, 3, glyphs)
}

/// The table, in microseconds; its first row is the whole time. None if no frame has a path.
pub fn block(found: &MemberFlow, glyphs: &Glyphs) -> Option<Block> {
    let causes = &found.causes;
    if causes.frames == 0 {
        return None;
    }
    let row = |cause: &str, frames: usize, spread: &Spread| {
        let Spread { median_ps, p99_ps, p999_ps, max_ps } = *spread;
        // Too few frames have no such percentile.
        let cell = |time: Option<i64>| or_none(time.map(|time| microseconds(time, glyphs)), glyphs);
        let [median, p99, p999, max] = [Some(median_ps), p99_ps, p999_ps, Some(max_ps)].map(cell);
        let cells = [count(frames as u64, glyphs), median, p99, p999, max];
        (found.case.clone(), cause.to_owned(), cells)
    };
    let rows = causes.causes.iter().map(|one| row(&one.cause, one.frames, &one.spread));
    let table = Table::of(
        "cause",
        ["frames", "median", "p99", "p99.9", "maximum"],
        [row("all", causes.frames, &causes.whole)].into_iter().chain(rows),
    );
    let what = if found.round_trips { "round trips" } else { "frames" };
    let heading = format!("{} {what}", count(causes.frames as u64, glyphs));
    let cost = found.tracing.iter().map(|tracing| cost(tracing, found.round_trips, glyphs));
    let notes = unseen(found).into_iter().chain(cost);
    Some(Block::table("causes", "Causes", heading, table)?.about(stretch(found)).notes(notes))
}

/// What the kernel cannot show.
pub fn unseen(found: &MemberFlow) -> Option<String> {
    let unseen = &found.causes.unseen;
    (!unseen.is_empty()).then(|| {
        format!(
            "This kernel does not show {}. What they take is part of other causes.",
            unseen.join(", ")
        )
    })
}

/// From where to where the time is.
pub fn stretch(found: &MemberFlow) -> &'static str {
    if found.round_trips {
        "from the request's way into the qdisc until the requester ran"
    } else if found.tracing.is_some() {
        "from the expiry of the sender's timer to the driver"
    } else {
        "from the expiry of the sender's timer to the wire"
    }
}

fn cost(tracing: &Tracing, round_trips: bool, glyphs: &Glyphs) -> String {
    let within = |of: &Spans| {
        let (median, count) = (microseconds(of.median_ps, glyphs), count(of.count as u64, glyphs));
        format!("{median}{}{}s (of {count})", glyphs.space, glyphs.micro)
    };
    format!(
        "What tracing costs: half of the {} within {}, and within {} while the kernel was traced.",
        if round_trips { "round trips were over" } else { "frames were handed over" },
        within(&tracing.untraced),
        within(&tracing.traced)
    )
}

/// Parts of a frame's path that people follow in order.
const MOST_PARTS: usize = 60;

/// What is shown of a frame's path: its parts in order, or those of a cause together, the longest first, with a
/// note that says so.
pub fn way(frame: &FramePath, glyphs: &Glyphs) -> (Vec<Part>, Option<String>) {
    let parts = &frame.parts;
    if parts.len() <= MOST_PARTS {
        return (parts.clone(), None);
    }
    let mut causes: Vec<Part> = Vec::new();
    for part in parts {
        match causes.iter_mut().find(|one| one.cause == part.cause) {
            Some(one) => {
                one.time_ps += part.time_ps;
                one.above_median_ps += part.above_median_ps;
            }
            None => causes.push(part.clone()),
        }
    }
    causes.sort_by_key(|one| std::cmp::Reverse(one.time_ps));
    let count = count(parts.len() as u64, glyphs);
    (
        causes,
        Some(format!(
            "{count} parts; those of a cause are together (teiji why --json has them in order)"
        )),
    )
}
