//! The worst frames, each with its way in time.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::escape::text;
use super::{GLYPHS, colour};
use crate::report::{Outlier, Report, Stamp, round_station, station};
use crate::units::{count, duration};

/// Width of a timeline in its own units.
const WIDTH: f64 = 1000.0;

/// The section; nothing if there are none.
pub fn outliers(report: &Report<'_>, out: &mut String) {
    // A frame that was on time is no outlier, however few deviate more.
    let late = || report.outliers.iter().filter(|o| o.deviation_ns != Some(0) || o.note.is_some());
    if late().next().is_none() {
        return;
    }
    let estimated = if late().flat_map(|o| &o.stamps).any(|s| s.station == station::WIRE_ESTIMATED)
    {
        " Where the wire is marked as estimated, its stamps are of another clock, which is aligned so \
         that the fastest frame around takes no time from the driver to the wire, or from the wire \
         to the receiver: only differences between frames are exact there."
    } else {
        ""
    };
    let round_trips = late().flat_map(|o| &o.stamps).any(|s| s.station == round_station::SENT);
    let rounds =
        if round_trips { "; requests without reply, and the longest round trips" } else { "" };
    let sent = if round_trips { ", of a request from its send call" } else { "" };
    let _ = writeln!(
        out,
        "<section id=\"outliers\">\n<h2>Outliers</h2>\n<p class=\"note\">Frames that never arrived, \
         and those whose interval differs most{rounds}. Times count from the frame's scheduled \
         departure{sent}; \
         the longest step is marked, except the wait for a launch time. A frame's number leads to \
         its place in the chart.{estimated}</p>"
    );
    let mut named = BTreeSet::new();
    for outlier in late() {
        // An address without a case is of the first: `report.html#48213`.
        let is_first = named.insert(outlier.seq);
        one(outlier, colour(report.summary, &outlier.case), is_first, out);
    }
    let _ = writeln!(out, "</section>");
}

fn one(outlier: &Outlier, colour: usize, is_first: bool, out: &mut String) {
    let is_round = outlier.stamps.iter().any(|s| s.station == round_station::SENT);
    let one = if is_round { "request" } else { "frame" };
    let deviation = outlier.deviation_ns.map_or(GLYPHS.none.to_owned(), |ns| {
        let sign = if ns > 0 && !is_round { "+" } else { "" };
        format!("{sign}{}", text(&duration(ns as f64, GLYPHS)))
    });
    let Outlier { seq, seed, .. } = outlier;
    let (case, flow) = (text(&outlier.case), text(&outlier.flow));
    let id = if is_first { format!(" id=\"{seq}\"") } else { String::new() };
    let _ = writeln!(
        out,
        "<div class=\"outlier c{colour}\"{id}>\n<h4><b><i class=\"swatch\"></i>{case}</b>\
         <b><a href=\"#{seq}\" data-seq=\"{seq}\" data-case=\"{case}\" data-seed=\"{seed}\" \
         data-flow=\"{flow}\" title=\"show it in the chart\">{one} #{}</a></b><b>{deviation}</b>\
         <span>flow {flow}, seed {seed}</span></h4>",
        count(*seq, GLYPHS),
    );
    if let Some(note) = &outlier.note {
        let _ = writeln!(out, "<p>{}</p>", text(note));
    }
    let mut stamps = outlier.stamps.clone();
    stamps.sort_by_key(|stamp| stamp.ns);
    let longest = longest(&stamps);
    timeline(&stamps, longest, out);
    way(&stamps, longest, out);
    let _ = writeln!(out, "</div>");
}

/// The index of the stamp that ends the longest step that nobody intended.
fn longest(stamps: &[Stamp]) -> Option<usize> {
    let steps = stamps.windows(2).enumerate().filter(|(_, pair)| !intended(&pair[1]));
    let steps = steps.map(|(before, pair)| (before, pair[1].ns.saturating_sub(pair[0].ns)));
    let (before, step) = steps.max_by_key(|(_, step)| *step)?;
    (step > 0).then_some(before + 1)
}

/// True if the step to this stamp is the wait for the launch time: until the
/// schedule, or in the qdisc, which lets go shortly before it.
fn intended(to: &Stamp) -> bool {
    let left = [station::NIC, station::WIRE, station::WIRE_ESTIMATED, station::ARRIVED];
    let left = left.contains(&to.station.as_str());
    to.station == station::SCHEDULED || (left && to.ns <= 0)
}

fn timeline(stamps: &[Stamp], longest: Option<usize>, out: &mut String) {
    let (Some(first), Some(last)) = (stamps.first(), stamps.last()) else { return };
    let (from, to) = (first.ns.min(0) as f64, last.ns.max(0) as f64);
    if to <= from {
        return;
    }
    let place = |ns: i64| 2.0 + (ns as f64 - from) / (to - from) * (WIDTH - 4.0);
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} 22\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <line x1=\"2\" x2=\"{:.1}\" y1=\"11\" y2=\"11\"/>",
        WIDTH - 2.0
    );
    if let Some(end) = longest {
        let _ = write!(
            out,
            "<line class=\"longest\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"11\" y2=\"11\"/>",
            place(stamps[end - 1].ns),
            place(stamps[end].ns)
        );
    }
    let stamps = stamps.iter().map(|stamp| (stamp.ns, "stamp", 5, 17));
    for (ns, class, top, bottom) in stamps.chain([(0, "zero", 1, 21)]) {
        let x = place(ns);
        let _ = write!(
            out,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>"
        );
    }
    let _ = writeln!(out, "</svg>");
}

fn way(stamps: &[Stamp], longest: Option<usize>, out: &mut String) {
    if stamps.is_empty() {
        return;
    }
    let _ = write!(out, "<ol class=\"way\">");
    for (index, stamp) in stamps.iter().enumerate() {
        let class = if longest == Some(index) { " class=\"longest\"" } else { "" };
        let step = match index.checked_sub(1).map(|before| &stamps[before]) {
            Some(before) => {
                let ns = stamp.ns.saturating_sub(before.ns);
                format!("<span>{}</span> → ", text(&duration(ns as f64, GLYPHS)))
            }
            None => String::new(),
        };
        let _ = write!(
            out,
            "<li{class}>{step}<b>{}</b> <data value=\"{}\">{}</data></li>",
            text(&stamp.station),
            stamp.ns,
            text(&duration(stamp.ns as f64, GLYPHS))
        );
    }
    let _ = writeln!(out, "</ol>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(times: &[i64]) -> Vec<Stamp> {
        times.iter().map(|ns| Stamp { station: "somewhere".to_owned(), ns: *ns }).collect()
    }

    #[test]
    fn the_longest_step_is_found_and_a_single_stamp_has_none() {
        assert_eq!(longest(&stamps(&[0, 7, 70, 80])), Some(2));
        assert_eq!(longest(&stamps(&[5])), None);
        assert_eq!(longest(&stamps(&[5, 5])), None);
    }

    #[test]
    fn the_wait_for_the_launch_time_is_not_the_longest_step() {
        let way = [
            (station::WOKE, -399_000),
            (station::HANDED_OVER, -390_000),
            (station::NIC, -149_000),
            (station::SCHEDULED, 0),
            (station::WIRE, 2_000),
        ];
        let stamps = way.map(|(at, ns)| Stamp { station: at.to_owned(), ns });
        assert_eq!(longest(&stamps), Some(1), "from waking to handing over");
    }

    #[test]
    fn a_timeline_without_duration_is_left_out() {
        let mut out = String::new();
        timeline(&stamps(&[0]), None, &mut out);
        assert!(out.is_empty());
        timeline(&stamps(&[-400_000]), None, &mut out);
        assert!(out.contains("class=\"zero\""), "{out}");
    }
}
