//! Where the time goes: how long each stretch of a frame's or a round trip's path took.

use teiji_stats::{Deviation, Part, Station};

use crate::comparison::{Comparison, Figure, MemberView, Spread};
use crate::wording;

/// Its heading.
pub const HEADING: &str = "Where the time goes";

/// Stretches that together are a path, or a part of one.
#[derive(Debug)]
pub struct Stretches<'a> {
    /// One after the other, each with its cases.
    pub rows: Vec<Row<'a>>,
    /// What they are.
    pub note: String,
}

/// One stretch in one case, in nanoseconds: over several seeds the smallest and the largest of
/// all, else the median of the seeds.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Its name.
    pub stretch: &'static str,
    /// The case.
    pub case: &'a str,
    /// The shortest.
    pub min: Option<f64>,
    /// Half are shorter.
    pub median: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// 99.9 % are shorter; `None` if there are too few.
    pub p99_9: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
}

/// Those of a flow's frames; `None` if nothing is known.
pub fn of_frames<'a>(comparison: &Comparison<'a>) -> Option<Stretches<'a>> {
    let mut rows = rows(comparison, "wake-up latency", |member| member.flow?.wake_up.as_ref());
    rows.extend(self::rows(comparison, "hand-over", |member| member.flow?.hand_over.as_ref()));
    let mut notes = vec![wording::SENDER.to_owned()];
    let by_sender = rows.len();
    for station in Station::ALL {
        let pick = |member: &MemberView<'a>| member.wire?.stations.get(&station);
        rows.extend(self::rows(comparison, wording::station(station), pick));
    }
    if rows.len() > by_sender {
        notes.push(wording::STATIONS.to_owned());
    }
    if comparison.members() > 1 {
        notes.push(format!(
            "Over {} seeds: the smallest and the largest of all, else the seeds' median.",
            comparison.members()
        ));
    }
    (!rows.is_empty()).then(|| Stretches { rows, note: notes.join(" ") })
}

/// Those of round trips: of the whole path, and those within the responder; none if nothing is known.
pub fn of_round_trips<'a>(comparison: &Comparison<'a>) -> Vec<Stretches<'a>> {
    let of = |(parts, note): ([Part; 4], &str)| {
        let of_part = |part: Part| {
            rows(comparison, wording::part(part), move |member| member.rounds?.parts.get(&part))
        };
        let rows: Vec<Row<'a>> = parts.into_iter().flat_map(of_part).collect();
        (!rows.is_empty()).then(|| Stretches { rows, note: note.to_owned() })
    };
    let all = [(Part::WHOLE, wording::PARTS), (Part::WITHIN, wording::PARTS_WITHIN)];
    all.into_iter().filter_map(of).collect()
}

/// A row for each case with members that have it.
fn rows<'a>(
    comparison: &Comparison<'a>,
    stretch: &'static str,
    pick: impl Fn(&MemberView<'a>) -> Option<&'a Deviation>,
) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for view in &comparison.cases {
        let all: Vec<&Deviation> = view.members.iter().filter_map(&pick).collect();
        if all.is_empty() {
            continue;
        }
        let over = |figure| Spread::over(all.iter().filter_map(|d| d.figure(figure)));
        let median = |figure| over(figure).map(|spread| spread.median);
        rows.push(Row {
            stretch,
            case: &view.case.name,
            min: over(Figure::Min).map(|spread| spread.min),
            median: median(Figure::Percentile(50.0)),
            mean: median(Figure::Mean),
            p99_9: median(Figure::Percentile(99.9)),
            max: over(Figure::Max).map(|spread| spread.max),
        });
    }
    rows
}
