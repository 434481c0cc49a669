//! Requirements: a small language, `FIGURE [of NAME] RELATION BOUND [with lost <= LOSS]`.

use teiji_core::figure::{Figure, UnknownFigure};
use teiji_core::quantity::{Rate, parse_span};

use crate::fields::Fields;
use crate::keys::file::REQUIRE;
use crate::log::Log;
use crate::scenario::{AllowedLoss, Relation, RequiredCount, RequiredFigure};
use crate::suggest::did_you_mean;
use crate::tree::{Node, Origin, Value};

/// A requirement as far as it can be read without its case.
pub(crate) struct RequirementDraft {
    pub at: Origin,
    pub text: String,
    pub figure: RequiredFigure,
    pub of: Option<String>,
    pub relation: Relation,
    pub bound: i64,
    pub allowed_loss: AllowedLoss,
}

/// None if `require` was wrong, and in the place of each requirement that was: the names in
/// the others are looked at too, so that all mistakes are reported.
pub(super) fn read(file: &Fields<'_>, log: &Log) -> Option<Vec<Option<RequirementDraft>>> {
    let found = file.items(&REQUIRE);
    let read = found.map(|items| items.iter().map(|item| read_one(item, log)).collect());
    read.or_default(Vec::new())
}

fn read_one(item: &Node, log: &Log) -> Option<RequirementDraft> {
    let text = match &item.value {
        Value::Text(text) => text.as_str(),
        Value::Broken => return None,
        other => {
            let message = format!("a requirement is text, not {}", other.kind());
            log.mistake(
                item.at,
                message,
                format!("Write for example require = {}", REQUIRE.limits.example),
            );
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
pub(crate) type Wrong = (String, String);

fn parse(text: &str, at: Origin) -> Result<RequirementDraft, Wrong> {
    let Statement { figure, of, relation, bound, condition } = statement(text)?;
    let bound = bound_of(figure, relation, bound)?;
    let allowed_loss =
        condition.map_or(Ok(AllowedLoss::NONE), |condition| allowed_loss(figure, condition))?;
    Ok(RequirementDraft { at, text: text.to_owned(), figure, of, relation, bound, allowed_loss })
}

/// `FIGURE [of NAME] RELATION BOUND [with CONDITION]`, whatever bound and condition are.
pub(crate) struct Statement<'a> {
    pub figure: RequiredFigure,
    pub of: Option<String>,
    pub relation: Relation,
    pub bound: &'a str,
    pub condition: Option<&'a str>,
}

/// Takes `text` apart.
pub(crate) fn statement(text: &str) -> Result<Statement<'_>, Wrong> {
    let example = || {
        "Write FIGURE, of NAME if there are several, and a bound: range <= 20us, p99.99 rtt of ask <= 1ms, lost = 0, rate of load >= 50Mbit/s".to_owned()
    };
    let cut = Relation::SIGNS
        .iter()
        .filter_map(|(sign, relation)| Some((text.find(sign)?, *sign, *relation)))
        .min_by_key(|(place, sign, _)| (*place, usize::MAX - sign.len()));
    let Some((place, sign, relation)) = cut else {
        return Err(("there is no <=, <, >=, > or = in it".to_owned(), example()));
    };
    let (left, right) = (&text[..place], &text[place + sign.len()..]);
    let (bound, condition) = match right.split_once(" with ") {
        Some((bound, condition)) => (bound.trim(), Some(condition.trim())),
        None => (right.trim(), None),
    };
    let words: Vec<&str> = left.split_whitespace().collect();
    let (words, of) = match words.as_slice() {
        [figure @ .., "of", name] => (figure, Some((*name).to_owned())),
        all => (all, None),
    };
    let (figure, of) = match (words, of) {
        // Whether the name is a flow's or a load's, its case says.
        (["rate"], of) => (RequiredFigure::FlowRate, of),
        (["lost", "in", "a", "row"], of) => (plain(LOST_IN_A_ROW)?, of),
        ([name], of) => (plain(name)?, of),
        ([name, "rtt"] | ["rtt", name], of) => (RequiredFigure::RoundTrip(measured(name)?), of),
        _ => return Err((format!("`{}` names no figure", left.trim()), example())),
    };
    Ok(Statement { figure, of, relation, bound, condition })
}

/// `lost <= 3`, or `lost <= 0.1%` of what is planned.
fn allowed_loss(figure: RequiredFigure, condition: &str) -> Result<AllowedLoss, Wrong> {
    if !figure.is_time() {
        return Err((
            "only a time stands `with` an allowed loss".to_owned(),
            "Counts and rates have what is lost in them: leave `with` out.".to_owned(),
        ));
    }
    let wrong = || {
        (
            format!("`with {condition}` is no allowed loss"),
            "Write `with lost <= 3`, or `with lost <= 0.1%` of the planned frames or requests."
                .to_owned(),
        )
    };
    let most = condition.strip_prefix("lost").and_then(|rest| rest.trim_start().strip_prefix("<="));
    let most = most.ok_or_else(wrong)?.trim();
    let Some(percent) = most.strip_suffix('%') else {
        return most.parse().map(AllowedLoss::Count).map_err(|_| wrong());
    };
    let percent: f64 = percent.trim_end().parse().map_err(|_| wrong())?;
    if !(0.0..=100.0).contains(&percent) {
        return Err(wrong());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 10⁹")]
    let per_billion = (percent * 1e7).round() as u64;
    Ok(AllowedLoss::PerBillion(per_billion))
}

const LOST_IN_A_ROW: &str = "lost in a row";

/// What is counted, by its words.
const COUNTS: [(&str, RequiredCount); 4] = [
    ("lost", RequiredCount::Lost),
    (LOST_IN_A_ROW, RequiredCount::LostInARow),
    ("late", RequiredCount::Late),
    ("dropped", RequiredCount::Dropped),
];

fn plain(name: &str) -> Result<RequiredFigure, Wrong> {
    let count = COUNTS.iter().find(|(word, _)| *word == name);
    match count {
        Some((_, count)) => Ok(RequiredFigure::Count(*count)),
        None => measured(name).map(RequiredFigure::Interval),
    }
}

fn measured(name: &str) -> Result<Figure, Wrong> {
    name.parse().map_err(|UnknownFigure| {
        let figures: Vec<String> = Figure::all().map(|figure| figure.to_string()).collect();
        let others = COUNTS.map(|(word, _)| word).into_iter().chain(["rate"]);
        let guess = did_you_mean(name, figures.iter().map(String::as_str).chain(others.clone()));
        let all: Vec<&str> = figures.iter().map(String::as_str).chain(others).collect();
        let help = format!("There is {}; with rtt, of round trips.", all.join(", "));
        (format!("there is no figure `{name}`{guess}"), help)
    })
}

fn bound_of(figure: RequiredFigure, relation: Relation, bound: &str) -> Result<i64, Wrong> {
    let help = || {
        let example = match figure {
            RequiredFigure::Count(_) => "lost = 0",
            RequiredFigure::FlowRate | RequiredFigure::LoadRate(_) => "rate of load >= 50Mbit/s",
            RequiredFigure::Interval(_) | RequiredFigure::RoundTrip(_) => "range <= 20us",
        };
        format!("Write for example {example}")
    };
    match figure {
        RequiredFigure::Count(_) => bound
            .parse()
            .ok()
            .filter(|n: &i64| *n >= 0)
            .ok_or_else(|| (format!("`{bound}` is no count"), help())),
        _ if relation == Relation::Equal => {
            Err(("a time or rate is never met exactly".to_owned(), help()))
        }
        RequiredFigure::FlowRate | RequiredFigure::LoadRate(_) => Rate::parse(bound)
            .map_err(|why| why.to_string())
            .and_then(|rate| {
                let too_much = |_| format!("`{bound}` is more than any wire has");
                i64::try_from(rate.as_bps()).map_err(too_much)
            })
            .map_err(|why| (why, help())),
        RequiredFigure::Interval(_) | RequiredFigure::RoundTrip(_) => parse_span(bound)
            .map(teiji_core::time::Span::as_ns)
            .map_err(|why| (why.to_string(), help())),
    }
}
