//! What frames did on a wire whose time is computed, and what the load was.

use std::fmt::Write;

use super::escape::text;
use super::rows::{open, table};
use super::{GLYPHS, list};
use crate::report::Report;
use crate::units::{bit_rate, count, duration};
use crate::{cards, gates, load, rooms, shaping, silence, waits, wording};

/// Frames against the gates of their class.
pub fn gates(report: &Report<'_>, out: &mut String) {
    let rows = gates::rows(report.summary);
    if rows.is_empty() {
        return;
    }
    open("gates", "Frames outside the gates of their class", out);
    table(
        &["flow", "outside", "of", "how far at worst"],
        rows.iter().map(|row| {
            let worst = match row.outside {
                0 => GLYPHS.none.to_owned(),
                _ => duration(row.worst_ns as f64, GLYPHS),
            };
            let cells =
                [row.flow.to_owned(), count(row.outside, GLYPHS), count(row.frames, GLYPHS), worst];
            (row.case, cells)
        }),
        report,
        out,
    );
    list("caveats", gates::notes(&rows).iter().map(|note| text(note)), out);
    let _ = writeln!(out, "</section>");
}

/// Shaped classes against their reservations.
pub fn shaping(report: &Report<'_>, out: &mut String) {
    let rows = shaping::rows(report.summary);
    if rows.is_empty() {
        return;
    }
    open("shaping", "Bandwidth and burst of shaped classes", out);
    table(
        &["class of", "bandwidth", "reserved", "burst, bytes", "bound, bytes"],
        rows.iter().map(|row| {
            let s = &row.shaping;
            let cells = [
                row.flow.to_owned(),
                bit_rate(s.bandwidth_bps, GLYPHS),
                bit_rate(s.reserved_bps, GLYPHS),
                count(s.burst_bytes, GLYPHS),
                count(s.bound_bytes, GLYPHS),
            ];
            (row.case, cells)
        }),
        report,
        out,
    );
    list("caveats", shaping::notes(&rows).iter().map(|note| text(note)), out);
    let _ = writeln!(out, "</section>");
}

/// Room for what still comes after silence was asked for.
pub fn rooms(report: &Report<'_>, out: &mut String) {
    if !rooms::any(report.summary) {
        return;
    }
    let (sockets, ports) = (rooms::rows(report.summary), rooms::bridge_rows(report.summary));
    open("rooms", "Room for what still comes", out);
    if !sockets.is_empty() {
        let [buffer, high, headroom, asked, fullest] = rooms::HEADINGS;
        table(
            &["flow", buffer, high, headroom, asked, fullest],
            sockets.iter().map(|row| {
                let [buffer, high, headroom, asked, fullest] = row.cells(GLYPHS);
                (row.case, [row.flow.to_owned(), buffer, high, headroom, asked, fullest])
            }),
            report,
            out,
        );
        let _ = writeln!(out, "<p class=\"note\">{}</p>", text(wording::ROOMS));
    }
    if !ports.is_empty() {
        let [room, headroom, asked, most, beyond] = rooms::BRIDGE_HEADINGS;
        table(
            &["bridge's port", room, headroom, asked, most, beyond],
            ports.iter().map(|row| {
                let [room, headroom, asked, most, beyond] = row.cells(GLYPHS);
                (row.case, [row.port(), room, headroom, asked, most, beyond])
            }),
            report,
            out,
        );
        let _ = writeln!(out, "<p class=\"note\">{}</p>", text(wording::BRIDGE_ROOMS));
    }
    let _ = writeln!(out, "</section>");
}

/// What still came after silence was asked for.
pub fn silence(report: &Report<'_>, out: &mut String) {
    let rows = silence::rows(report.summary);
    if rows.is_empty() {
        return;
    }
    open("silence", "From asking for silence to silence", out);
    table(
        &["flow", "asked", "frames after it, at most", "until the last one's end, at most"],
        rows.iter().map(|row| {
            let longest = row.longest_ns.map(|ns| duration(ns as f64, GLYPHS));
            let cells = [
                row.flow.to_owned(),
                count(row.asks, GLYPHS),
                count(row.most_frames, GLYPHS),
                longest.unwrap_or_else(|| GLYPHS.none.to_owned()),
            ];
            (row.case, cells)
        }),
        report,
        out,
    );
    let _ = writeln!(out, "<p class=\"note\">{}</p>\n</section>", text(wording::SILENCE));
}

/// Which flow waited for which.
pub fn waits(report: &Report<'_>, out: &mut String) {
    let rows = waits::rows(report.summary);
    if rows.is_empty() {
        return;
    }
    open("waits", "Frames that waited for the wire", out);
    let _ = writeln!(
        out,
        "<p class=\"note\">Due at their launch time, and begun one inter-frame gap after \
         another frame, which was on the wire.</p>"
    );
    table(
        &["flow", "waited for", "times", "median", "longest"],
        rows.iter().map(|row| {
            let cells = [
                row.flow.to_owned(),
                row.waited_for.to_owned(),
                count(row.count, GLYPHS),
                duration(row.median_ns as f64, GLYPHS),
                duration(row.longest_ns as f64, GLYPHS),
            ];
            (row.case, cells)
        }),
        report,
        out,
    );
    let _ = writeln!(out, "</section>");
}

/// Frames that the cards counted as late or dropped.
pub fn cards(report: &Report<'_>, out: &mut String) {
    let all = cards::sentences(report.summary, GLYPHS);
    if all.is_empty() {
        return;
    }
    open("cards", "What the cards counted", out);
    let said = all.iter().flat_map(|(case, sentences)| {
        sentences.iter().map(move |said| format!("<b>{}:</b> {}", text(case), text(said)))
    });
    list("shortfalls", said, out);
    let _ = writeln!(out, "</section>");
}

/// Flows that are load.
pub fn load(report: &Report<'_>, out: &mut String) {
    let rows = load::rows(report.summary);
    if rows.is_empty() {
        return;
    }
    open("load", "Load", out);
    table(
        &["flow", "sent", "received", "on the wire"],
        rows.iter().map(|row| {
            let rate =
                row.rate_bps.map_or_else(|| GLYPHS.none.to_owned(), |bps| bit_rate(bps, GLYPHS));
            let cells =
                [row.flow.to_owned(), count(row.sent, GLYPHS), count(row.received, GLYPHS), rate];
            (row.case, cells)
        }),
        report,
        out,
    );
    let _ = writeln!(out, "</section>");
}
