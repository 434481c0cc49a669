//! What was required, and whether it holds.

use teiji_record::Summary;

use super::screen::{Screen, Style};

/// A line for each requirement; nothing if there are none.
pub fn verdicts(summary: &Summary, screen: &mut Screen) {
    if summary.verdicts.is_empty() {
        return;
    }
    screen.blank();
    screen.line(&screen.paint("Requirements", Style::Bold));
    for verdict in &summary.verdicts {
        let (word, style) =
            if verdict.holds { ("pass", Style::Green) } else { ("FAIL", Style::Red) };
        let said = format!("{}: {} ({})", verdict.case, verdict.requirement, verdict.measured);
        let said = screen.foreign(&said);
        screen.wrapped(&format!("{} {said}", screen.paint(word, style)), 2, 7);
    }
}
