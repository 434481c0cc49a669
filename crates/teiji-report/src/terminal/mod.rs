//! Results as text for a terminal of a given width.
//!
//! [`render`] tells one run, [`compare`] puts two side by side, [`causes`] shows what delayed frames,
//! [`diagnosis`] what keeps a machine from being ready. All are pure: what the terminal can do is the caller's to find out. Text that comes from
//! files (names, questions, warnings) never reaches the terminal with control
//! characters in it.

mod block;
mod causes;
mod compare;
mod delays;
mod diagnosis;
mod figures;
mod frames;
mod periodic;
mod requirements;
mod rounds;
mod screen;
mod table;

use teiji_experiment::JudgeBy;
use teiji_record::Summary;
use teiji_record::summary::Testbed;

use crate::answer::answer;
use crate::comparison::{Comparison, flows, measure, round_trips};
use crate::delay;
use crate::facts::facts;
use crate::paper::Paper;
use crate::ranking;
use crate::verdicts::{self, REQUIREMENTS};
use crate::{directions, topics, wording};
use screen::{Screen, Style, cells};

pub use causes::causes;
pub use compare::compare;
pub use diagnosis::diagnosis;

/// CPUs with a column; all are in the page.
const CPUS: usize = 8;

/// What the terminal can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns.
    pub width: usize,
    /// Escape sequences for colour are understood.
    pub color: bool,
    /// More than ASCII can be shown.
    pub unicode: bool,
}

/// The result of one run: what became of the frames, the figures with the
/// paper's beside them, the answer, and what a reader must know. Ends with a
/// newline.
pub fn render(summary: &Summary, options: &Options) -> String {
    let mut screen = Screen::new(*options);
    let paper = summary.paper.as_deref().and_then(|key| Paper::load(key).ok());
    let comparisons: Vec<Comparison<'_>> = flows(summary)
        .into_iter()
        .map(|flow| Comparison::of(summary, flow, measure(summary), paper.as_ref()))
        .collect();
    headline(summary, &comparisons, &mut screen);
    periodic::periodic(summary, &mut screen);
    let label = label_width(summary, &screen);
    let glyphs = screen.glyphs();
    let above = topics::above(summary, glyphs);
    for topic in &above {
        block::print(topic, label, &mut screen);
    }
    if !above.is_empty() {
        screen.blank();
    }
    let rounds = round_trips(summary);
    delays::delays(summary, label, &mut screen);
    let unmeasured = comparisons.is_empty() && rounds.is_empty();
    if unmeasured && delay::flows(summary).is_empty() {
        frames::unmeasured(summary, label, &mut screen);
    }
    for comparison in &comparisons {
        if comparisons.len() + rounds.len() > 1 {
            screen.blank();
            let flow = screen.foreign(comparison.flow);
            screen.line(&screen.paint(&flow, Style::Bold));
        }
        frames::bars(summary, comparison, label, &mut screen);
        frames::advice(comparison, &mut screen);
        // How regular a flow is that was sent as fast as it went says nothing.
        if summary.judge.by != JudgeBy::Loss {
            figures::figures(comparison, paper.as_ref(), label, &mut screen);
        }
        if let Some(found) = directions::block(comparison, paper.as_ref(), glyphs) {
            block::print(&found, label, &mut screen);
        }
    }
    rounds::rounds(summary, paper.as_ref(), label, &mut screen);
    for topic in topics::below(summary, glyphs, CPUS) {
        block::print(&topic, label, &mut screen);
    }
    conclusion(summary, &mut screen);
    recommendation(summary, &mut screen);
    published(summary, paper.as_ref(), &mut screen);
    remarks(summary, &comparisons, &mut screen);
    screen.finish()
}

/// The first column, so that the bars and the figures stand below each other.
fn label_width(summary: &Summary, screen: &Screen) -> usize {
    let names = summary.cases.iter().map(|case| cells(&screen.foreign(&case.name)));
    names.chain([figures::widest_label(screen)]).max().unwrap_or(0)
}

/// `etf · virtual laboratory, every 1 ms, 60 000 frames per case, seed 1`.
fn headline(summary: &Summary, comparisons: &[Comparison<'_>], screen: &mut Screen) {
    let facts = screen.foreign(&facts(summary, comparisons, screen.glyphs()));
    let name = screen.foreign(&summary.experiment);
    let name = screen.paint(&name, Style::Bold);
    let dot = screen.glyphs().dot;
    screen.wrapped(&format!("{name} {dot} {facts}"), 0, 2);
    if let Some(headline) = verdicts::headline(&summary.verdicts, REQUIREMENTS, screen.glyphs()) {
        requirements::headline(&headline, screen);
        screen.blank();
    }
}

/// The question, the verdict on what was required, and the answer.
fn conclusion(summary: &Summary, screen: &mut Screen) {
    screen.blank();
    if !summary.question.is_empty() && summary.testbed != Testbed::Capture {
        let question = screen.foreign(&summary.question);
        screen.wrapped_in(&question, 0, 0, Style::Dim);
    }
    requirements::list(&summary.verdicts, screen);
    let answer = answer(summary, screen.glyphs());
    let sentence = screen.foreign(&answer.sentence);
    match answer.lead {
        Some(lead) => {
            let lead = screen.paint(&format!("{lead}:"), Style::Bold);
            screen.wrapped(&format!("{lead} {sentence}"), 0, 0);
        }
        None => screen.wrapped(&sentence, 0, 0),
    }
}

/// The case to use, where cases are ranked.
fn recommendation(summary: &Summary, screen: &mut Screen) {
    if let Some(ranking) = &summary.ranking {
        let advice = screen.foreign(&ranking::advice(ranking, screen.glyphs()));
        let lead = screen.paint("On this machine:", Style::Bold);
        screen.wrapped(&format!("{lead} {advice}"), 0, 0);
    }
}

/// What the study published beside the cases, where that has no column of its own.
fn published(summary: &Summary, paper: Option<&Paper>, screen: &mut Screen) {
    let Some(paper) = paper else { return };
    let figures = paper.beside(summary);
    if !figures.is_empty() {
        screen.blank();
    }
    for figure in figures {
        screen.wrapped(&format!("The study ({}): {figure}.", paper.short), 0, 2);
    }
    if !summary.paper_differences.is_empty() {
        screen.blank();
        let differences = screen.foreign(&summary.paper_differences.join(" "));
        screen.wrapped(&format!("Differences from the study's set-up: {differences}"), 0, 2);
    }
}

/// What a reader must know before believing the figures.
fn remarks(summary: &Summary, comparisons: &[Comparison<'_>], screen: &mut Screen) {
    let mut notes: Vec<String> = Vec::new();
    let caveats = comparisons.iter().flat_map(|c| wording::point_caveats(c, screen.glyphs()));
    for sentence in caveats.chain(summary.warnings.iter().cloned()) {
        if !notes.contains(&sentence) {
            notes.push(sentence);
        }
    }
    if !notes.is_empty() {
        screen.blank();
    }
    for sentence in notes {
        screen.remark(&sentence);
    }
}
