//! The report's tables.

use std::fmt::Write;

use teiji_stats::Deviation;

use super::GLYPHS;
use super::escape::text;
use crate::comparison::{Comparison, Figure, Spread};
use crate::paper::Paper;
use crate::report::Outlier;
use crate::units::{Scale, count, duration, number};

/// Measured figures, the published ones beside them, and their ratio.
pub fn figures(comparison: &Comparison<'_>, paper: Option<&Paper>, out: &mut String) {
    let beside = comparison.has_paper();
    let _ = write!(out, "<div class=\"wide\"><table class=\"figures\">\n<thead><tr><th></th>");
    for (color, view) in comparison.cases.iter().enumerate() {
        let name = text(&view.case.name);
        let _ = write!(out, "<th><i class=\"c{color}\"></i>{name}</th>");
        if beside {
            let _ = write!(out, "<th class=\"paper\">paper</th><th class=\"paper\">ratio</th>");
        }
    }
    let _ = writeln!(out, "</tr></thead>\n<tbody>");
    let mut rows = vec![
        ("mean".to_owned(), Figure::Mean),
        ("min".to_owned(), Figure::Min),
        ("max".to_owned(), Figure::Max),
        ("range".to_owned(), Figure::Range),
        (GLYPHS.sigma.to_owned(), Figure::Stddev),
    ];
    rows.extend(
        comparison
            .percentiles()
            .into_iter()
            .map(|p| (format!("p{p} of the absolute deviation"), Figure::Percentile(p))),
    );
    for (name, figure) in rows {
        let class = if figure == Figure::Range { " class=\"main\"" } else { "" };
        let _ = write!(out, "<tr{class}><th>{}</th>", text(&name));
        for view in &comparison.cases {
            let measured = view.figure(figure);
            let _ = write!(out, "<td>{}</td>", measured.map_or(GLYPHS.none.to_owned(), spread));
            if beside {
                let published = view.paper.as_ref().and_then(|paper| figure.published(paper));
                let value =
                    published.map_or(GLYPHS.none.to_owned(), |ns| text(&duration(ns, GLYPHS)));
                // A ratio of means or extremes, which lie around zero, says nothing.
                let width = matches!(figure, Figure::Range | Figure::Stddev);
                let ratio = measured
                    .zip(published)
                    .filter(|_| width)
                    .and_then(|(measured, paper)| ratio(measured.median, paper));
                let _ = write!(
                    out,
                    "<td class=\"paper\">{value}</td><td class=\"paper\">{}</td>",
                    ratio.unwrap_or_default()
                );
            }
        }
        let _ = writeln!(out, "</tr>");
    }
    let _ = writeln!(out, "</tbody></table></div>");
    if let Some(paper) = paper.filter(|_| beside) {
        let _ = writeln!(
            out,
            "<p class=\"seen\">Paper: {} ({}), on {}.</p>",
            text(&paper.authors),
            text(&paper.year),
            text(&paper.short)
        );
    }
    if comparison.members() > 1 {
        let _ = writeln!(
            out,
            "<p class=\"seen\">Median over {} seeds, in brackets the smallest and the largest.</p>",
            comparison.members()
        );
    }
}

fn spread(spread: Spread) -> String {
    let middle = text(&duration(spread.median, GLYPHS));
    if spread.members < 2 {
        return middle;
    }
    let scale = Scale::fitting([spread.min, spread.max]);
    let range = scale.interval(spread.min, spread.max, GLYPHS);
    format!("{middle} <small>[{}]</small>", text(&range))
}

/// How many times the published figure, where signs and sizes allow one.
fn ratio(measured: f64, published: f64) -> Option<String> {
    let ratio = measured / published;
    if !ratio.is_finite() || ratio <= 0.0 {
        return None;
    }
    let decimals = if ratio < 10.0 { 2 } else { 0 };
    Some(format!("{}{}", GLYPHS.times, number(ratio, decimals, GLYPHS)))
}

/// What became of the frames.
pub fn counts(comparison: &Comparison<'_>, out: &mut String) {
    let _ = writeln!(
        out,
        "<div class=\"wide\"><table>\n<thead><tr><th>frames</th><th>planned</th><th>sent</th>\
         <th>received</th><th>lost</th><th>late</th><th>dropped by ETF</th></tr></thead>\n<tbody>"
    );
    for (color, view) in comparison.cases.iter().enumerate() {
        let c = view.counts();
        let name = text(&view.case.name);
        let _ = write!(out, "<tr><th><i class=\"c{color}\"></i>{name}</th>");
        let dropped = c.dropped_missed + c.dropped_invalid;
        for n in [c.planned, c.sent, c.received, c.lost, c.late, dropped] {
            let _ = write!(out, "<td>{}</td>", count(n, GLYPHS));
        }
        let _ = writeln!(out, "</tr>");
    }
    let _ = writeln!(out, "</tbody></table></div>");
}

/// Where the time goes on the sender, by the first member.
pub fn stations(comparison: &Comparison<'_>, out: &mut String) {
    let mut rows = String::new();
    for (color, view) in comparison.cases.iter().enumerate() {
        let Some(member) = view.members.first() else { continue };
        for (what, deviation) in
            [("wake-up latency", &member.flow.wake_up), ("send call", &member.flow.hand_over)]
        {
            let Some(d) = deviation else { continue };
            let name = text(&view.case.name);
            let _ = write!(rows, "<tr><th><i class=\"c{color}\"></i>{name}: {what}</th>");
            for ns in [d.mean_ns, d.min_ns as f64, percentile(d, 50.0), percentile(d, 99.9)] {
                let _ = write!(rows, "<td>{}</td>", text(&duration(ns, GLYPHS)));
            }
            let _ = writeln!(rows, "<td>{}</td></tr>", text(&duration(d.max_ns as f64, GLYPHS)));
        }
    }
    if !rows.is_empty() {
        let _ = writeln!(
            out,
            "<h3>Where the time goes</h3>\n<div class=\"wide\"><table>\n<thead><tr><th></th>\
             <th>mean</th><th>min</th><th>p50</th><th>p99.9</th><th>max</th></tr></thead>\n\
             <tbody>{rows}</tbody></table></div>"
        );
    }
}

fn percentile(deviation: &Deviation, p: f64) -> f64 {
    let found = deviation.percentiles.iter().find(|q| (q.p - p).abs() < 1e-9);
    found.map_or(f64::NAN, |q| q.ns as f64)
}

/// The worst frames and their ways.
pub fn outliers(outliers: &[Outlier], out: &mut String) {
    let _ = writeln!(
        out,
        "<div class=\"wide\"><table class=\"outliers\">\n<thead><tr><th>case</th><th>frame</th>\
         <th>deviation</th><th>stations</th></tr></thead>\n<tbody>"
    );
    for outlier in outliers {
        let stations: Vec<String> = outlier
            .stamps
            .iter()
            .map(|stamp| {
                format!(
                    "{} <b>{}</b>",
                    text(&stamp.station),
                    text(&duration(stamp.ns as f64, GLYPHS))
                )
            })
            .collect();
        let note = outlier.note.as_deref().map_or(String::new(), |n| format!("<br>{}", text(n)));
        let deviation = outlier
            .deviation_ns
            .map_or(GLYPHS.none.to_owned(), |ns| text(&duration(ns as f64, GLYPHS)));
        let _ = writeln!(
            out,
            "<tr><th>{}<br><small>{}, seed {}</small></th><td>#{}</td><td>{deviation}</td>\
             <td>{}{note}</td></tr>",
            text(&outlier.case),
            text(&outlier.flow),
            outlier.seed,
            count(outlier.seq, GLYPHS),
            stations.join(" → ")
        );
    }
    let _ = writeln!(out, "</tbody></table></div>");
}
