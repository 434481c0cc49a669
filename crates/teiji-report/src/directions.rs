//! Whether cases differ in the direction that the paper says: for each pair of cases
//! that stand beside one place of the paper, each figure that it tells of both.

use crate::answer::intervals::{Verdict, verdict_of};
use crate::block::{Block, Table};
use crate::comparison::{CaseView, Comparison, Figure, Spread};
use crate::paper::Paper;
use crate::units::{Glyphs, Scale};

/// Where a figure goes from one case to another. Less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// It becomes smaller.
    Better,
    /// It becomes larger.
    Worse,
    /// It stays, as far as can be told.
    Alike,
}

impl Course {
    /// In a word.
    const fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Alike => "alike",
        }
    }
}

/// One figure from one case to another, in the paper and measured.
#[derive(Clone, Debug, PartialEq)]
struct Direction<'a> {
    /// Names of the two cases.
    cases: [&'a str; 2],
    /// `max`, `σ` or `mean`.
    figure: Figure,
    /// What the paper says, in its own words where it gives no figures.
    text: String,
    /// Where the paper's figure goes.
    paper: Course,
    /// The measured figure of both cases, over the members.
    measured: [Spread; 2],
    /// Where it goes: alike where the members of both cases overlap, or single ones
    /// differ by less than a quarter.
    course: Course,
}

impl Direction<'_> {
    /// Whether both go the same way, in words.
    fn agreement(&self) -> &'static str {
        if self.paper == self.course { "agrees" } else { "does not" }
    }

    /// What the figure is called.
    const fn figure(&self, glyphs: &Glyphs) -> &'static str {
        match self.figure {
            Figure::Max => "max",
            Figure::Mean => "mean",
            _ => glyphs.sigma,
        }
    }

    /// The measured figures, from one case to the other.
    fn measured(&self, glyphs: &Glyphs) -> String {
        let spread = |s: &Spread| {
            let scale = Scale::fitting([s.min, s.max]);
            if s.members > 1 {
                scale.interval(s.min, s.max, glyphs)
            } else {
                scale.text(s.median, glyphs)
            }
        };
        let [one, two] = &self.measured;
        format!("{} → {}", spread(one), spread(two))
    }
}

/// The table of what `comparison` compares; none if the paper has no direction for its cases.
pub fn block(comparison: &Comparison<'_>, paper: Option<&Paper>, glyphs: &Glyphs) -> Option<Block> {
    let rows = directions(comparison, paper, glyphs);
    let row = |row: &Direction<'_>| {
        let [before, after] = row.cases;
        let word = row.paper.word();
        let ends_with_word = row.text.ends_with(word);
        let published =
            if ends_with_word { row.text.clone() } else { format!("{}, {word}", row.text) };
        let cells = [
            after.to_owned(),
            row.figure(glyphs).to_owned(),
            published,
            format!("{}, {}", row.measured(glyphs), row.course.word()),
            row.agreement().to_owned(),
        ];
        (before.to_owned(), String::new(), cells)
    };
    let columns = ["to", "figure", "paper", "measured", "direction"];
    let table = Table::of("", columns, rows.iter().map(row));
    let alike = "Alike: the seeds of both cases overlap, or single ones differ by less than a \
                 quarter.";
    Some(
        Block::table("directions", "Directions", "Directions", table)?
            .about("from one case to the other, in the paper and here")
            .notes([alike.to_owned()]),
    )
}

/// The directions of what `comparison` compares; none without a paper.
fn directions<'a>(
    comparison: &Comparison<'a>,
    paper: Option<&Paper>,
    glyphs: &Glyphs,
) -> Vec<Direction<'a>> {
    let Some(paper) = paper else { return Vec::new() };
    let mut found = Vec::new();
    for (index, before) in comparison.cases.iter().enumerate() {
        for after in &comparison.cases[index + 1..] {
            let Some(place) = common_place(before, after) else { continue };
            for figure in [Figure::Mean, Figure::Max, Figure::Stddev] {
                let Some((paper, text)) = published(before, after, place, figure, paper, glyphs)
                else {
                    continue;
                };
                let (Some(one), Some(two)) = (before.figure(figure), after.figure(figure)) else {
                    continue;
                };
                let course = match verdict_of(&one, &two, 0.0) {
                    Verdict::Tighter { .. } => Course::Better,
                    Verdict::Wider { .. } => Course::Worse,
                    Verdict::Alike | Verdict::Unresolved => Course::Alike,
                };
                let cases = [before.case.name.as_str(), after.case.name.as_str()];
                let measured = [one, two];
                found.push(Direction { cases, figure, text, paper, measured, course });
            }
        }
    }
    found
}

/// What the keys of both cases share but for their last parts: `jitter.none`.
fn common_place<'a>(before: &CaseView<'a>, after: &CaseView<'a>) -> Option<&'a str> {
    let place = |view: &CaseView<'a>| Some(view.case.paper_result.as_deref()?.rsplit_once('.')?.0);
    let (one, two) = (place(before)?, place(after)?);
    (one == two).then_some(one)
}

fn published(
    before: &CaseView<'_>,
    after: &CaseView<'_>,
    place: &str,
    figure: Figure,
    paper: &Paper,
    glyphs: &Glyphs,
) -> Option<(Course, String)> {
    let of = |view: &CaseView<'_>| view.paper.as_ref()?.figure(figure);
    if let Some((one, two)) = of(before).zip(of(after)) {
        let course = match two.total_cmp(&one) {
            std::cmp::Ordering::Less => Course::Better,
            std::cmp::Ordering::Greater => Course::Worse,
            std::cmp::Ordering::Equal => Course::Alike,
        };
        let scale = Scale::quoting([one, two]);
        let arrow = if glyphs.ellipsis == "..." { "->" } else { "→" };
        let text = format!("{} {arrow} {}", scale.number(one, glyphs), scale.text(two, glyphs));
        return Some((course, text));
    }
    let word = paper.word(
        place,
        match figure {
            Figure::Mean => "mean",
            Figure::Max => "max",
            _ => "stddev",
        },
    )?;
    let course = match word.rsplit(' ').next()? {
        "better" => Course::Better,
        "worse" => Course::Worse,
        _ => return None,
    };
    Some((course, word))
}

#[cfg(test)]
mod tests {
    use teiji_record::CaseSummary;

    use super::*;
    use crate::comparison::Measure;

    fn case(name: &str, key: &str) -> CaseSummary {
        CaseSummary { paper_result: Some(key.to_owned()), ..CaseSummary::new(name, Vec::new()) }
    }

    /// A case whose deviations reach `max_us`, in each of its members.
    fn courses(cases: [(&CaseSummary, &[i64]); 2]) -> Vec<(Figure, Course, Course)> {
        let paper = Paper::load("ksoftirqd").unwrap();
        let deviations = cases.map(|(_, maxima)| {
            let of = |max: &i64| [0, max * 1_000].into_iter().collect::<teiji_stats::Series>();
            maxima.iter().filter_map(|max| of(max).finish()).collect::<Vec<_>>()
        });
        let views = cases.iter().zip(&deviations).map(|((case, _), deviations)| CaseView {
            case,
            members: (1..)
                .zip(deviations)
                .map(|(seed, deviation)| crate::comparison::MemberView {
                    seed,
                    flow: None,
                    wire: None,
                    rounds: None,
                    deviation: Some(deviation),
                })
                .collect(),
            point: None,
            paper: case.paper_result.as_deref().and_then(|key| paper.figures(key)),
        });
        let comparison = Comparison {
            flow: "f",
            measure: Measure::Interval,
            testbed: teiji_record::summary::Testbed::Lab,
            cases: views.collect(),
        };
        let found = directions(&comparison, Some(&paper), &Glyphs::UNICODE);
        found.iter().map(|d| (d.figure, d.paper, d.course)).collect()
    }

    #[test]
    fn figures_of_the_paper_and_its_words_have_a_direction() {
        let jitter = [case("none", "jitter.none.not_rt"), case("rt1", "jitter.none.rt1")];
        assert_eq!(
            courses([(&jitter[0], &[10]), (&jitter[1], &[20])]),
            [
                (Figure::Max, Course::Worse, Course::Worse),
                (Figure::Stddev, Course::Alike, Course::Worse),
            ]
        );
        let rtt = [case("none", "rtt.none.not_rt"), case("rt1", "rtt.none.rt1")];
        assert_eq!(
            courses([(&rtt[0], &[20]), (&rtt[1], &[10])]),
            [(Figure::Max, Course::Better, Course::Better)]
        );
        assert_eq!(courses([(&jitter[0], &[10]), (&rtt[1], &[20])]), []);
    }

    #[test]
    fn ensembles_that_overlap_have_no_direction() {
        let rtt = [case("none", "rtt.none.not_rt"), case("rt1", "rtt.none.rt1")];
        let course = |after: &[i64]| courses([(&rtt[0], &[10, 20]), (&rtt[1], after)])[0].2;
        assert_eq!(course(&[5, 15]), Course::Alike);
        assert_eq!(course(&[5, 9]), Course::Better);
    }
}
