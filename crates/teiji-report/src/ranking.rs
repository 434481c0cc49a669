//! Cases as remedies for one situation: what each is good for, and what to do, in words.

use teiji_record::ranking::{Against, MOST_LOST, MUCH, RankedCase, Ranking};
use teiji_record::{CaseSummary, Summary};

use crate::block::{Row, Table, or_none};
use crate::units::{Glyphs, bit_rate, duration, number};

/// The name of the file that holds the best case, in the run folder.
pub const FILE: &str = "recommended.toml";

/// A column: its head, and what it says of a case.
type Column<'a> = (String, Box<dyn Fn(&RankedCase) -> Option<String> + 'a>);

/// A row for each case, best first, with its figures and ranks.
pub fn table(ranking: &Ranking, glyphs: &Glyphs) -> Table {
    let columns = columns(ranking, glyphs);
    let row = |case: &RankedCase| Row {
        case: case.case.clone(),
        item: String::new(),
        cells: columns.iter().map(|(_, figure)| or_none(figure(case), glyphs)).collect(),
    };
    let rows = ranking.cases.iter().map(row).collect();
    Table { item: "", columns: columns.into_iter().map(|(head, _)| head).collect(), rows }
}

/// The columns that have a figure of any case.
fn columns<'a>(ranking: &'a Ranking, glyphs: &'a Glyphs) -> Vec<Column<'a>> {
    let ns = move |ns: i64| duration(ns as f64, glyphs);
    let mut all: Vec<Column<'a>> = vec![(
        "range".to_owned(),
        Box::new(move |c| c.jitter.as_ref().map(|j| format!("{} ({})", ns(j.range_ns), j.rank))),
    )];
    if let Some(p) = ranking.percentile {
        all.push((
            format!("p{p}"),
            Box::new(move |c| c.jitter.as_ref().and_then(|j| j.percentile_ns).map(ns)),
        ));
    }
    let p99 = move |c: &RankedCase| {
        let rounds = c.round_trips.as_ref()?;
        Some(format!("{} ({})", rounds.p99_ns.map_or(glyphs.none.to_owned(), ns), rounds.rank))
    };
    let longest = move |c: &RankedCase| c.round_trips.as_ref()?.longest_ns.map(ns);
    let carried = move |c: &RankedCase| {
        c.throughput.as_ref().map(|t| format!("{} ({})", bit_rate(t.bps, glyphs), t.rank))
    };
    let cost = move |c: &RankedCase| c.throughput.as_ref().map(|t| percent(t.lost, glyphs));
    let against = |c: &RankedCase| {
        let words: Vec<&str> = c.against.iter().map(|what| word(*what)).collect();
        Some(words.join(", ")).filter(|words| !words.is_empty())
    };
    all.push(("round trips p99".to_owned(), Box::new(p99)));
    all.push(("longest".to_owned(), Box::new(longest)));
    all.push(("TCP".to_owned(), Box::new(carried)));
    all.push(("lost".to_owned(), Box::new(cost)));
    all.push(("against it".to_owned(), Box::new(against)));
    all.retain(|(_, say)| ranking.cases.iter().any(|case| say(case).is_some()));
    all
}

/// What the ranks and the choice mean. Full sentences.
pub fn rule(ranking: &Ranking, glyphs: &Glyphs) -> String {
    let share = |share: f64| percent(share, glyphs);
    format!(
        "Ranks are in parentheses; the worst seed counts. The choice is the first case \
         that loses no more frames and requests than {}, is at most {} worse in range and round \
         trips, and keeps all but {} of the throughput.",
        ranking.baseline,
        share(MUCH),
        share(MOST_LOST)
    )
}

/// The case to use and its figures beside the baseline's: one line.
pub fn advice(ranking: &Ranking, glyphs: &Glyphs) -> String {
    let Some(best) = chosen(ranking) else {
        return "no case is better without being worse in something else".to_owned();
    };
    if best.case == ranking.baseline {
        return format!("{}: no other case is better without being worse elsewhere", best.case);
    }
    let figures = figures(best, before(ranking), glyphs).join(", ");
    format!("{} ({figures}); as a file: {FILE}", best.case)
}

/// What to do and what it trades. Full sentences; the first names the case.
pub fn sentences(summary: &Summary, ranking: &Ranking, glyphs: &Glyphs) -> Vec<String> {
    let Some(best) = chosen(ranking) else {
        return vec!["Nothing: each case is worse than the baseline in some figure.".to_owned()];
    };
    let about = |name: &str| {
        let found = summary.cases.iter().find(|case| case.name == name);
        let about = found.map(|case: &CaseSummary| case.about.as_str()).unwrap_or_default();
        if about.is_empty() { name.to_owned() } else { format!("{name}: {about}") }
    };
    let mut sentences = vec![format!("{}.", about(&best.case))];
    if best.case == ranking.baseline {
        sentences.push("Each other case is better in one figure and worse in another.".to_owned());
    } else {
        let figures = figures(best, before(ranking), glyphs);
        sentences.push(format!("Against {}: {}.", ranking.baseline, figures.join("; ")));
    }
    let first = |rank: &dyn Fn(&RankedCase) -> Option<usize>| {
        let other = ranking.cases.iter().find(|case| rank(case) == Some(1))?;
        (rank(best)? > 1).then_some(other.case.as_str())
    };
    let trades = [
        ("the smallest range", first(&|c| Some(c.jitter.as_ref()?.rank))),
        ("the shortest round trips", first(&|c| Some(c.round_trips.as_ref()?.rank))),
        ("the most throughput", first(&|c| Some(c.throughput.as_ref()?.rank))),
    ];
    let better: Vec<String> = trades
        .iter()
        .filter_map(|(what, other)| Some(format!("{} has {what}", (*other)?)))
        .collect();
    if !better.is_empty() {
        sentences.push(format!("Trade-off: {}.", better.join("; ")));
    }
    sentences
}

fn chosen(ranking: &Ranking) -> Option<&RankedCase> {
    ranking.cases.iter().find(|case| Some(&case.case) == ranking.best.as_ref())
}

fn before(ranking: &Ranking) -> Option<&RankedCase> {
    ranking.cases.iter().find(|case| case.case == ranking.baseline)
}

/// Each figure that both have, one instead of the other.
fn figures(best: &RankedCase, before: Option<&RankedCase>, glyphs: &Glyphs) -> Vec<String> {
    let Some(before) = before else { return Vec::new() };
    let ns = |ns: i64| duration(ns as f64, glyphs);
    let both = |what: &str, of: &dyn Fn(&RankedCase) -> Option<String>| {
        Some(format!("{what} {} instead of {}", of(best)?, of(before)?))
    };
    let longest = |c: &RankedCase| c.round_trips.as_ref()?.longest_ns.map(ns);
    let p99 = |c: &RankedCase| c.round_trips.as_ref()?.p99_ns.map(ns);
    let figures = [
        both("range", &|c| c.jitter.as_ref().map(|jitter| ns(jitter.range_ns))),
        both("round trips p99", &p99).or_else(|| both("longest round trip", &longest)),
        both("TCP", &|c| c.throughput.as_ref().map(|t| bit_rate(t.bps, glyphs))),
    ];
    figures.into_iter().flatten().collect()
}

const fn word(against: Against) -> &'static str {
    match against {
        Against::Losses => "losses",
        Against::Jitter => "range",
        Against::RoundTrips => "round trips",
        Against::Throughput => "throughput",
    }
}

fn percent(share: f64, glyphs: &Glyphs) -> String {
    format!(
        "{}{}%",
        number(share * 100.0, usize::from(share.abs() < 0.1 && share != 0.0), glyphs),
        glyphs.space
    )
}
