//! What delayed the frames, by `teiji why`: how much time each cause took, and what the processors
//! did while the slowest frames waited.

use std::collections::BTreeMap;
use std::fmt::Write;

use teiji_why::document::MemberFlow;
use teiji_why::summary::{FlowCauses, FramePath};

use super::axis::{Axis, linear_ticks};
use super::escape::text;
use super::plots::trimmed;
use super::rows::{named, open};
use super::svg::Frame;
use super::{COLOURS, GLYPHS, block};
use crate::block::{Body, Table};
use crate::report::Report;
use crate::topics;
use crate::units::count;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 712.0;
const HEIGHT: f64 = 260.0;
/// Height of a lane, and of the bar in it.
const LANE: f64 = 20.0;
const BAR: f64 = 13.0;
/// Where a timeline begins: right of its lanes' names, of so many letters.
const LANES: f64 = 250.0;
const LETTERS: usize = 36;
/// Lanes beyond are left out: those with the least time.
const MOST_LANES: usize = 14;

/// Whether there is a section.
pub fn is_there(report: &Report<'_>) -> bool {
    report.causes.flows.iter().any(|flow| flow.causes.frames > 0)
}

/// The section; nothing without results of `teiji why`.
pub fn causes(report: &Report<'_>, out: &mut String) {
    let flows = &report.causes.flows;
    if !is_there(report) {
        return;
    }
    open("causes", "Why frames took their time", out);
    let _ = writeln!(
        out,
        "<p class=\"note\">At each instant one cause, so that the parts sum up to the whole. {}</p>",
        if flows.iter().any(|flow| flow.tracing.is_some()) {
            "Found with the tracepoints of the kernel while the run was measured: frames end at the driver, \
             because the NIC is not seen, and tracing itself takes time."
        } else {
            "Found by <code>teiji why</code>, in a repetition whose records are those of the run."
        }
    );
    for flow in flows {
        let Some(topic) = topics::causes::block(flow, GLYPHS) else { continue };
        let colours = Colours::of(&flow.causes);
        let _ = writeln!(
            out,
            "<h3>{}, {}, seed {}: {}, {}</h3>",
            named(report, &flow.case),
            text(&flow.flow),
            flow.seed,
            topic.heading,
            text(&topic.about)
        );
        block::notes(&topic, out);
        stacked(flow, &colours, out);
        if let Body::Table(causes) = &topic.body {
            table(causes, &colours, out);
        }
        for frame in &flow.causes.shown {
            timeline(flow, frame, &colours, out);
        }
    }
    let _ = writeln!(out, "</section>");
}

/// The colours of the causes that take the most; the others share one.
struct Colours {
    /// Indices of causes in the order of the stack: the steady ones at the bottom.
    order: Vec<usize>,
    of: BTreeMap<String, usize>,
}

impl Colours {
    fn of(causes: &FlowCauses) -> Self {
        let most = |index: usize| {
            let times = causes.ranks.iter().filter_map(|rank| rank.mean_ps.get(index));
            times.copied().max().unwrap_or(0)
        };
        let mut order: Vec<usize> = (0..causes.causes.len()).collect();
        order.sort_by_key(|index| -most(*index));
        order.truncate(COLOURS);
        order.sort_by_key(|index| -causes.causes[*index].spread.median_ps);
        let name = |index: &usize| causes.causes[*index].cause.clone();
        let of = order.iter().map(name).zip(0..).collect();
        Self { order, of }
    }

    fn class(&self, cause: &str) -> String {
        self.of.get(cause).map_or("other".to_owned(), |colour| format!("c{colour}"))
    }
}

fn us(ps: i64) -> String {
    topics::causes::microseconds(ps, GLYPHS)
}

/// The mean of each cause, over how slow the frames are.
fn stacked(flow: &MemberFlow, colours: &Colours, out: &mut String) {
    let causes = &flow.causes;
    let all = causes.frames as f64;
    // One of so many frames is slower; the slowest one has a width, too.
    let place = |slower: usize| if slower == 0 { 2.0 * all } else { all / slower as f64 };
    let most = causes.whole.max_ps as f64 / 1e6;
    let frame = Frame {
        left: LEFT,
        right: RIGHT,
        top: 8.0,
        bottom: HEIGHT - 42.0,
        x: Axis::Log(1.0, 2.0 * all),
        y: Axis::Linear(0.0, most),
    };
    let title = format!("The causes in {}, {}", text(&flow.case), text(&flow.flow));
    let _ = writeln!(
        out,
        "<figure>\n<figcaption>Time by cause<span class=\"note\">Frames from the fastest to the \
         slowest: the mean of those at each place.</span></figcaption>\n\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">"
    );
    frame.rows(&linear_ticks(0.0, most, 6.0), &trimmed, out);
    let decades = (0..).map(|power| 10_f64.powi(power));
    let ticks: Vec<f64> = decades.take_while(|tick| *tick <= all).collect();
    frame.columns(&ticks, Some(&percentile), out);
    let mut below = vec![0.0; causes.ranks.len()];
    let others: Vec<usize> =
        (0..causes.causes.len()).filter(|index| !colours.order.contains(index)).collect();
    let layers = colours.order.iter().map(|index| vec![*index]);
    for layer in layers.chain((!others.is_empty()).then_some(others)) {
        let name = match layer[..] {
            [index] => causes.causes[index].cause.as_str(),
            _ => "other causes",
        };
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        let mut from = 1.0;
        for (rank, base) in causes.ranks.iter().zip(&mut below) {
            let own: i64 = layer.iter().filter_map(|index| rank.mean_ps.get(*index)).sum();
            let top = *base + own as f64 / 1e6;
            let to = place(rank.slower);
            upper.extend([(from, top), (to, top)]);
            lower.extend([(from, *base), (to, *base)]);
            *base = top;
            from = to;
        }
        lower.reverse();
        upper.extend(lower);
        let _ = writeln!(
            out,
            "<path class=\"stack {}\" d=\"{}Z\"><title>{}</title></path>",
            colours.class(name),
            frame.path(&upper),
            text(name)
        );
    }
    frame.border(out);
    frame.y_title(14.0, "microseconds", out);
    frame.x_title(HEIGHT - 4.0, "share of the frames that are faster", out);
    let _ = writeln!(out, "</svg>\n</figure>");
}

/// 1 of 1000 frames is slower: 99.9 %.
fn percentile(one_of: f64) -> String {
    format!("{}{}%", trimmed(100.0 * (1.0 - 1.0 / one_of)), GLYPHS.space)
}

/// The causes with their colours; the first row is of the whole time.
fn table(table: &Table, colours: &Colours, out: &mut String) {
    let _ = write!(out, "<div class=\"wide\"><table>\n<thead><tr><th>in µs</th>");
    for head in &table.columns {
        let _ = write!(out, "<th>{head}</th>");
    }
    let _ = writeln!(out, "</tr></thead>\n<tbody>");
    for (index, row) in table.rows.iter().enumerate() {
        let swatch = match index {
            0 => String::new(),
            _ => format!("<i class=\"swatch {}\"></i>", colours.class(&row.item)),
        };
        let _ =
            write!(out, "<tr><th scope=\"row\" class=\"words\">{swatch}{}</th>", text(&row.item));
        for cell in &row.cells {
            let _ = write!(out, "<td>{cell}</td>");
        }
        let _ = writeln!(out, "</tr>");
    }
    let _ = writeln!(out, "</tbody></table></div>");
}

/// Lanes for the frame and for all that the processors did meanwhile.
fn timeline(flow: &MemberFlow, frame: &FramePath, colours: &Colours, out: &mut String) {
    let mut lanes: Vec<(String, i64)> = Vec::new();
    let several = frame.activity.iter().any(|one| one.cpu > 0);
    let lane = |cpu: u16, context: &str| {
        if several { format!("CPU {cpu}: {context}") } else { context.to_owned() }
    };
    for one in &frame.activity {
        let (name, time) = (lane(one.cpu, &one.context), one.to_ps - one.from_ps);
        match lanes.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += time,
            None => lanes.push((name, time)),
        }
    }
    let left_out = lanes.len().saturating_sub(MOST_LANES);
    for _ in 0..left_out {
        let shortest = (0..lanes.len()).min_by_key(|index| lanes[*index].1);
        shortest.map(|index| lanes.remove(index));
    }
    let from = frame.activity.iter().map(|one| one.from_ps).min().unwrap_or(0).min(0);
    let to = frame.activity.iter().map(|one| one.to_ps).max().unwrap_or(0).max(frame.whole_ps);
    let bottom = LANE * (lanes.len() + 1) as f64 + 4.0;
    let height = bottom + 40.0;
    let x = Axis::Linear(from as f64 / 1e6, to as f64 / 1e6);
    let y = Axis::Linear(0.0, 1.0);
    let picture = Frame { left: LANES, right: RIGHT, top: 2.0, bottom, x, y };
    let above = frame.whole_ps - flow.causes.whole.median_ps;
    let _ = writeln!(
        out,
        "<figure>\n<figcaption>{} #{}: {} µs, {} above the median</figcaption>\n\
         <svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"What happened while frame \
         {} waited\">",
        text(&flow.flow),
        count(frame.seq, GLYPHS),
        us(frame.whole_ps),
        us(above),
        frame.seq
    );
    let (low, high) = x.bounds();
    picture.columns(&linear_ticks(low, high, 8.0), Some(&trimmed), out);
    let mut bar = |row: usize, class: &str, from: i64, to: i64, what: &str| {
        let (start, _) = picture.at(from as f64 / 1e6, 0.0);
        let (end, _) = picture.at(to as f64 / 1e6, 0.0);
        let _ = writeln!(
            out,
            "<rect class=\"stack {class}\" x=\"{start:.2}\" y=\"{:.1}\" width=\"{:.2}\" \
             height=\"{BAR}\"><title>{}, {} µs</title></rect>",
            4.0 + LANE * row as f64,
            (end - start).max(0.4),
            text(what),
            us(to - from)
        );
    };
    let mut at = 0;
    for part in &frame.parts {
        bar(0, &colours.class(&part.cause), at, at + part.time_ps, &part.cause);
        at += part.time_ps;
    }
    for one in &frame.activity {
        let name = lane(one.cpu, &one.context);
        if let Some(row) = lanes.iter().position(|(known, _)| *known == name) {
            bar(row + 1, "other", one.from_ps, one.to_ps, &one.context);
        }
    }
    let names = ["the frame"].into_iter().chain(lanes.iter().map(|(name, _)| name.as_str()));
    for (row, name) in names.enumerate() {
        let short: String = name.chars().take(LETTERS).collect();
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LANES - 6.0,
            4.0 + LANE * row as f64 + 11.0,
            text(&short)
        );
    }
    picture.border(out);
    picture.x_title(
        height - 4.0,
        if flow.round_trips {
            "time since the request in µs"
        } else {
            "time since the timer’s expiry in µs"
        },
        out,
    );
    let _ = writeln!(out, "</svg>");
    if left_out > 0 {
        let _ =
            writeln!(out, "<p class=\"note\">{left_out} lanes with little time are left out.</p>");
    }
    ordered(frame, colours, out);
    let _ = writeln!(out, "</figure>");
}

/// The frame's parts in order, those above the median of their cause marked.
fn ordered(frame: &FramePath, colours: &Colours, out: &mut String) {
    let (parts, note) = topics::causes::way(frame, GLYPHS);
    let _ = write!(out, "<ol class=\"way\">");
    let longest = parts.iter().map(|part| part.above_median_ps).max().unwrap_or(0);
    for part in &parts {
        let class =
            if longest > 0 && part.above_median_ps == longest { " class=\"longest\"" } else { "" };
        let above = match part.above_median_ps {
            more if more > 0 => format!(" (+{})", us(more)),
            _ => String::new(),
        };
        let _ = write!(
            out,
            "<li{class}><i class=\"swatch {}\"></i><b>{}</b> {} µs{above}</li>",
            colours.class(&part.cause),
            text(&part.cause),
            us(part.time_ps)
        );
    }
    let _ = writeln!(out, "</ol>");
    if let Some(note) = note {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", text(&note));
    }
}
