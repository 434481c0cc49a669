//! What was required, and whether it holds: the words for terminal and page.

use teiji_record::Verdict;

use crate::units::{Glyphs, count};

/// Failing requirements that the headline quotes; the list below it has all.
const QUOTED: usize = 3;

/// The verdict on all requirements of a run: its headline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// Whether all hold.
    pub holds: bool,
    /// Which do not, or how many do. Ends with a full stop.
    pub sentence: String,
}

/// `None` where nothing is required. `many` is what several of them are called.
pub fn headline(verdicts: &[Verdict], many: &str, glyphs: &Glyphs) -> Option<Headline> {
    let failing: Vec<&Verdict> = verdicts.iter().filter(|verdict| !verdict.holds).collect();
    let all = count(verdicts.len() as u64, glyphs);
    let quoted: Vec<String> =
        failing.iter().take(QUOTED).map(|verdict| sentence(verdict)).collect();
    let more = match failing.len().saturating_sub(QUOTED) {
        0 => String::new(),
        n => format!("; and {} more", count(n as u64, glyphs)),
    };
    let sentence = match (failing.len(), verdicts) {
        (_, []) => return None,
        (0, [only]) => format!("{}.", sentence(only)),
        (0, _) => format!("all {all} {many} hold."),
        (1, [_]) => format!("{}.", quoted[0]),
        (n, _) => {
            let n = count(n as u64, glyphs);
            format!("{n} of {all} {many}: {}{more}.", quoted.join("; "))
        }
    };
    Some(Headline { holds: failing.is_empty(), sentence })
}

/// What the limits on the difference of two runs are called.
pub const LIMITS: &str = "limits";

/// What the requirements of an experiment are called.
pub const REQUIREMENTS: &str = "requirements";

/// The word that a verdict begins with: whoever scans a list looks for `FAIL`.
pub const fn word(holds: bool) -> &'static str {
    if holds { "pass" } else { "FAIL" }
}

/// The same word where it is the headline.
pub const fn heading(holds: bool) -> &'static str {
    if holds { "PASS" } else { "FAIL" }
}

/// `normal: range <= 20us (cycle: 62 µs)`.
pub fn sentence(verdict: &Verdict) -> String {
    format!("{}: {} ({})", verdict.case, verdict.requirement, verdict.measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(case: &str, holds: bool) -> Verdict {
        Verdict {
            case: case.to_owned(),
            requirement: "range <= 20us".to_owned(),
            holds,
            measured: "cycle: 2 µs".to_owned(),
        }
    }

    fn headline_of(holds: &[bool]) -> Option<String> {
        let verdicts: Vec<Verdict> = holds.iter().map(|holds| verdict("etf", *holds)).collect();
        headline(&verdicts, REQUIREMENTS, &Glyphs::UNICODE)
            .map(|headline| format!("{}: {}", heading(headline.holds), headline.sentence))
    }

    #[test]
    fn the_headline_quotes_what_fails_and_counts_what_holds() {
        let one = "etf: range <= 20us (cycle: 2 µs)";
        assert_eq!(headline_of(&[]), None);
        assert_eq!(headline_of(&[true]).unwrap(), format!("PASS: {one}."));
        assert_eq!(headline_of(&[true, true]).unwrap(), "PASS: all 2 requirements hold.");
        assert_eq!(headline_of(&[false]).unwrap(), format!("FAIL: {one}."));
        assert_eq!(
            headline_of(&[true, false]).unwrap(),
            format!("FAIL: 1 of 2 requirements: {one}.")
        );
        let many = format!("FAIL: 5 of 6 requirements: {one}; {one}; {one}; and 2 more.");
        assert_eq!(headline_of(&[false, false, true, false, false, false]).unwrap(), many);
    }
}
