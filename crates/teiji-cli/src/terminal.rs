//! The terminal's abilities, and results printed on it.

use std::io::IsTerminal;

use teiji_doctor::{Diagnosis, Examination};
use teiji_record::{Summary, Verdict};
use teiji_report::terminal::{self, Options};
use teiji_report::units::Glyphs;

/// Columns where nobody says how many there are: in files and pipes.
const WIDTH_ELSEWHERE: usize = 100;

fn options() -> Options {
    let terminal = std::io::stdout().is_terminal();
    let color = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let unicode = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .is_none_or(|value| value.to_uppercase().replace('-', "").contains("UTF8"));
    Options { width: width(), color, unicode }
}

/// Columns: what `COLUMNS` says, else what the terminal says.
fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0);
    columns
        .filter(|columns| *columns > 0)
        .or_else(|| seen().map(usize::from).filter(|columns| *columns > 0))
        .unwrap_or(WIDTH_ELSEWHERE)
}

/// The signs that the terminal can show.
pub fn glyphs() -> Glyphs {
    if options().unicode { Glyphs::UNICODE } else { Glyphs::ASCII }
}

/// The table of a run.
pub fn table(summary: &Summary) -> String {
    terminal::render(summary, &options())
}

/// What keeps a machine from being ready.
pub fn diagnosis(seen: &Examination, found: &Diagnosis, host: Option<&str>) -> String {
    terminal::diagnosis(seen, found, host, &options())
}

/// Two runs side by side.
pub fn compare(before: &Summary, after: &Summary, limits: &[Verdict]) -> String {
    terminal::compare(before, after, limits, &options())
}
