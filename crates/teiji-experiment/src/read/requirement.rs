//! Requirements: a small language, `FIGURE [of NAME] RELATION BOUND`.

use teiji_core::load::LoadKind;
use teiji_core::quantity::{Rate, parse_span};

use crate::fields::Fields;
use crate::log::Log;
use crate::scenario::{Measured, Relation, RequiredCount, RequiredFigure};
use crate::suggest::{did_you_mean, list};
use crate::tree::{Node, Origin, Value};

const EXAMPLE: &str = "[\"range <= 20us\", \"lost = 0\"]";
const FIGURES: [&str; 8] = ["mean", "min", "max", "range", "stddev", "p99.9", "lost", "late"];

/// A requirement as far as it can be read without its case.
pub(crate) struct RequirementDraft {
    pub at: Origin,
    pub text: String,
    pub figure: RequiredFigure,
    pub of: Option<String>,
    pub relation: Relation,
    pub bound: i64,
}

/// None if `require` was wrong.
pub(super) fn read(file: &Fields<'_>, log: &Log) -> Option<Vec<RequirementDraft>> {
    let found = file.array("require", EXAMPLE).and_then(|items| {
        // All are looked at, so that all mistakes are told.
        let read: Vec<Option<RequirementDraft>> =
            items.iter().map(|item| read_one(item, log)).collect();
        read.into_iter().collect()
    });
    found.or_default(Vec::new())
}

fn read_one(item: &Node, log: &Log) -> Option<RequirementDraft> {
    let text = match &item.value {
        Value::Text(text) => text.as_str(),
        Value::Broken => return None,
        other => {
            let message = format!("a requirement is text, not {}", other.kind());
            log.mistake(item.at, message, format!("Write for example require = {EXAMPLE}"));
            return None;
        }
    };
    parse(text, item.at)
        .map_err(|(why, help)| {
            log.mistake(item.at, format!("`{text}`: {why}"), help);
        })
        .ok()
}

/// What is wrong, and what to write instead.
type Wrong = (String, String);

fn parse(text: &str, at: Origin) -> Result<RequirementDraft, Wrong> {
    let example = || {
        "Write FIGURE, of NAME if it must be said, and a bound: range <= 20us, p99.99 rtt of ask <= 1ms, lost = 0, rate of tcp-tx >= 50Mbit/s".to_owned()
    };
    let cut = Relation::SIGNS
        .iter()
        .filter_map(|(sign, relation)| Some((text.find(sign)?, *sign, *relation)))
        .min_by_key(|(place, sign, _)| (*place, usize::MAX - sign.len()));
    let Some((place, sign, relation)) = cut else {
        return Err(("there is no <=, <, >=, > or = in it".to_owned(), example()));
    };
    let (left, bound) = (&text[..place], text[place + sign.len()..].trim());
    let words: Vec<&str> = left.split_whitespace().collect();
    let (words, of) = match words.as_slice() {
        [figure @ .., "of", name] => (figure, Some((*name).to_owned())),
        all => (all, None),
    };
    let (figure, of) = match (words, of) {
        (["rate"], Some(load)) => (RequiredFigure::Rate(load_called(&load)?), None),
        (["rate"], None) => return Err(("rate of which load?".to_owned(), example())),
        ([name], of) => (plain(name)?, of),
        ([name, "rtt"] | ["rtt", name], of) => (RequiredFigure::RoundTrip(measured(name)?), of),
        _ => return Err((format!("`{}` names no figure", left.trim()), example())),
    };
    let bound = bound_of(figure, relation, bound)?;
    Ok(RequirementDraft { at, text: text.to_owned(), figure, of, relation, bound })
}

fn plain(name: &str) -> Result<RequiredFigure, Wrong> {
    Ok(match name {
        "lost" => RequiredFigure::Count(RequiredCount::Lost),
        "late" => RequiredFigure::Count(RequiredCount::Late),
        "dropped" => RequiredFigure::Count(RequiredCount::Dropped),
        other => RequiredFigure::Interval(measured(other)?),
    })
}

fn measured(name: &str) -> Result<Measured, Wrong> {
    Ok(match name {
        "mean" => Measured::Mean,
        "min" => Measured::Min,
        "max" => Measured::Max,
        "range" => Measured::Range,
        "stddev" => Measured::Stddev,
        _ => {
            let percent = name.strip_prefix('p').and_then(|p| p.parse::<f64>().ok());
            let known = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999];
            let is_known = |p: &f64| known.iter().any(|k| (k - p).abs() < 1e-9);
            let Some(percent) = percent.filter(is_known) else {
                let guess = did_you_mean(name, FIGURES.iter().copied());
                let help = "There is mean, min, max, range, stddev, lost, late, dropped, rate, and p50, \
                            p90, p99 … p99.9999; with rtt, of round trips.";
                return Err((format!("there is no figure `{name}`{guess}"), help.to_owned()));
            };
            Measured::Percentile(percent)
        }
    })
}

fn load_called(name: &str) -> Result<LoadKind, Wrong> {
    let names = LoadKind::ALL.map(LoadKind::name);
    let kind: Option<LoadKind> = name.parse().ok();
    let streams = [LoadKind::TcpTx, LoadKind::TcpRx];
    match kind {
        Some(kind) if streams.contains(&kind) => Ok(kind),
        Some(kind) => Err((
            format!("the load `{kind}` is not counted in bits per second"),
            "There is a rate of tcp-tx and tcp-rx.".to_owned(),
        )),
        None => {
            let guess = did_you_mean(name, names.iter().copied());
            Err((
                format!("there is no load `{name}`{guess}"),
                format!("There is {}.", list(&names)),
            ))
        }
    }
}

fn bound_of(figure: RequiredFigure, relation: Relation, bound: &str) -> Result<i64, Wrong> {
    let help = |example: &str| format!("Write for example {example}");
    match figure {
        RequiredFigure::Count(_) => bound
            .parse()
            .ok()
            .filter(|n: &i64| *n >= 0)
            .ok_or_else(|| (format!("`{bound}` is no count"), help("lost = 0"))),
        _ if relation == Relation::Equal => {
            Err(("a time or rate is never met exactly".to_owned(), help("range <= 20us")))
        }
        RequiredFigure::Rate(_) => Rate::parse(bound)
            .ok()
            .and_then(|rate| i64::try_from(rate.as_bps()).ok())
            .ok_or_else(|| (format!("`{bound}` is no rate"), help("rate of tcp-tx >= 50Mbit/s"))),
        RequiredFigure::Interval(_) | RequiredFigure::RoundTrip(_) => parse_span(bound)
            .map(teiji_core::time::Span::as_ns)
            .map_err(|why| (why.to_string(), help("range <= 20us"))),
    }
}
