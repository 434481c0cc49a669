//! Quantities on the command line: read, and shown in one line.

use teiji_core::quantity::parse_span;
use teiji_core::time::Span;
use teiji_stats::Deviation;

/// A duration as people write it, for clap.
pub fn span(text: &str) -> Result<Span, String> {
    parse_span(text).map_err(|error| error.to_string())
}

/// The figures of a series in one line.
#[expect(clippy::cast_possible_truncation, reason = "a mean of i64 nanoseconds fits in one")]
pub fn figures(d: &Deviation) -> String {
    let show = |ns: i64| Span::from_ns(ns).to_string();
    let tail = d.percentiles.last().map_or(String::new(), |p| format!(", p{} {}", p.p, show(p.ns)));
    format!(
        "mean {}, min {}, max {}{tail}",
        show(d.mean_ns.round() as i64),
        show(d.min_ns),
        show(d.max_ns)
    )
}
