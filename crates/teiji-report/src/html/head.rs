//! The top of the page: question, verdict, answer, and what to look at before trusting
//! it.

use std::fmt::Write;

use super::escape::text;
use super::{GLYPHS, causes, requirements};
use crate::answer::answer;
use crate::block::Block;
use crate::report::{Report, SetupEntry};
use crate::topics::activity;
use crate::units::count;
use crate::verdicts::{REQUIREMENTS, headline};
use crate::wording;

/// From the first line to the links to the sections; `above` and `below` the figures of flows are
/// these blocks.
pub fn head(report: &Report<'_>, above: &[Block], below: &[Block], out: &mut String) {
    let summary = report.summary;
    let created = report
        .created
        .as_deref()
        .map_or(String::new(), |at| format!(" · <time>{}</time>", text(&readable(at))));
    let _ = writeln!(
        out,
        "<header>\n<div class=\"kicker\"><p><b>Teiji</b> · {} · {}{created}</p>\
         <button id=\"theme\" type=\"button\" class=\"screen\" hidden>Dark</button></div>",
        text(&summary.experiment),
        wording::testbed(summary.testbed),
    );
    if let Some(notice) = &report.notice {
        let _ = writeln!(out, "<p class=\"notice\" role=\"note\">{}</p>", text(notice));
    }
    let answer = answer(summary, GLYPHS);
    let lead = answer.lead.map_or(String::new(), |word| format!("<strong>{word}:</strong> "));
    let _ = writeln!(out, "<h1>{}</h1>", text(&summary.question));
    if let Some(headline) = headline(&summary.verdicts, REQUIREMENTS, GLYPHS) {
        requirements::headline(&headline, out);
    }
    let _ = writeln!(out, "<p class=\"answer\">{lead}{}</p>", text(&answer.sentence));
    contents(report, above, below, out);
    let _ = writeln!(out, "</header>");
}

/// `2026-01-31T12:00:00Z` as people write it; anything else as it is.
fn readable(time: &str) -> String {
    match time.split_once('T') {
        Some((day, clock)) if day.len() == 10 && clock.len() == 9 && clock.ends_with('Z') => {
            format!("{day} {} UTC", &clock[..8])
        }
        _ => time.to_owned(),
    }
}

/// Links to the parts that are there, with counts where a count warns.
fn contents(report: &Report<'_>, above: &[Block], below: &[Block], out: &mut String) {
    let differing = report.setup.iter().flat_map(|s| &s.entries).filter(|e| SetupEntry::differs(e));
    let setup = match differing.count() {
        0 => "Set-up".to_owned(),
        1 => "Set-up (1 setting not as configured)".to_owned(),
        n => format!("Set-up ({} settings not as configured)", count(n as u64, GLYPHS)),
    };
    let warnings = match report.summary.warnings.len() {
        1 => "1 warning".to_owned(),
        n => format!("{} warnings", count(n as u64, GLYPHS)),
    };
    let blocks = |blocks: &[Block]| -> Vec<(&str, String, bool)> {
        blocks.iter().map(|block| (block.id, block.link.to_owned(), true)).collect()
    };
    let mut links = vec![
        ("requirements", "Requirements".to_owned(), !report.summary.verdicts.is_empty()),
        ("margin", "Margin".to_owned(), report.margin.is_some()),
        ("periodic", "Flows".to_owned(), report.summary.periodic.len() > 1),
    ];
    links.extend(blocks(above));
    links.push(("results", "Figures".to_owned(), !report.summary.cases.is_empty()));
    links.extend(blocks(below));
    links.extend([
        ("activity", "Kernel".to_owned(), !activity::rows(report.summary, GLYPHS).is_empty()),
        ("causes", "Causes".to_owned(), causes::is_there(report)),
        ("outliers", "Outliers".to_owned(), !report.outliers.is_empty()),
        ("setup", setup, !report.setup.is_empty()),
        ("warnings", warnings, !report.summary.warnings.is_empty()),
        ("replay", "Replay".to_owned(), report.replay.is_some()),
        ("limits", "Limits".to_owned(), !report.limits.is_empty()),
    ]);
    let _ = write!(out, "<nav class=\"contents screen\" aria-label=\"Contents\">");
    for (id, label, _) in links.iter().filter(|(_, _, there)| *there) {
        let _ = write!(out, "<a href=\"#{id}\">{label}</a> ");
    }
    let _ = writeln!(out, "</nav>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_for_people_and_other_text_is_left_alone() {
        assert_eq!(readable("2026-01-31T12:00:00Z"), "2026-01-31 12:00:00 UTC");
        assert_eq!(readable("Tuesday"), "Tuesday");
        assert_eq!(readable("ÄÖÜäö-1234TÄÖ:00:0Z"), "ÄÖÜäö-1234TÄÖ:00:0Z");
    }
}
