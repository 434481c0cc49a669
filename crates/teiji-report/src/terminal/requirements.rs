//! What was required, and whether it holds.

use teiji_record::Verdict;

use super::screen::{Screen, Style};
use crate::verdicts::{Headline, heading, sentence, word};

const fn colour(holds: bool) -> Style {
    if holds { Style::Green } else { Style::Red }
}

/// The verdict on all of them in one sentence.
pub fn headline(headline: &Headline, screen: &mut Screen) {
    let word = screen.paint(heading(headline.holds), colour(headline.holds));
    let sentence = screen.foreign(&headline.sentence);
    screen.wrapped(&format!("{word} {sentence}"), 2, 7);
}

/// A line for each requirement.
pub fn list(verdicts: &[Verdict], screen: &mut Screen) {
    for verdict in verdicts {
        let word = screen.paint(word(verdict.holds), colour(verdict.holds));
        let sentence = screen.foreign(&sentence(verdict));
        screen.wrapped(&format!("{word} {sentence}"), 2, 7);
    }
}
