//! The terminal's abilities, and results printed on it.

use std::io::IsTerminal;

use teiji_record::Summary;
use teiji_report::terminal::{self, Options};

fn options() -> Options {
    let terminal = std::io::stdout().is_terminal();
    let color = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let unicode = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .is_none_or(|value| value.to_uppercase().replace('-', "").contains("UTF8"));
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    Options { width: columns.unwrap_or(100), color, unicode }
}

/// The table of a run.
pub fn table(summary: &Summary) -> String {
    terminal::render(summary, &options())
}

/// Two runs side by side.
pub fn compare(before: &Summary, after: &Summary) -> String {
    terminal::compare(before, after, &options())
}
