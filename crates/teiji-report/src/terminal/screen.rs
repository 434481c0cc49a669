//! The terminal: its characters, colours and width, and lines broken to fit.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Options;
use crate::units::Glyphs;

/// Numbers and their units stay on one line: this space is not broken, and
/// becomes an ordinary one when the text is finished.
const UNBROKEN: &str = "\u{a0}";

const UNICODE: Glyphs = Glyphs { group: UNBROKEN, space: UNBROKEN, ..Glyphs::UNICODE };
const ASCII: Glyphs = Glyphs { group: UNBROKEN, space: UNBROKEN, ..Glyphs::ASCII };

/// Lines narrower than this cannot be read; the terminal breaks them instead.
const NARROWEST: usize = 40;

/// How a text stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
}

impl Style {
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Dim => Some("2"),
            Self::Green => Some("32"),
            Self::Yellow => Some("33"),
            Self::Red => Some("31"),
        }
    }
}

/// Text on its way to the terminal.
pub struct Screen {
    options: Options,
    text: String,
}

impl Screen {
    pub fn new(options: Options) -> Self {
        let width = options.width.max(NARROWEST);
        Self { options: Options { width, ..options }, text: String::new() }
    }

    pub fn width(&self) -> usize {
        self.options.width
    }

    pub fn glyphs(&self) -> &'static Glyphs {
        if self.options.unicode { &UNICODE } else { &ASCII }
    }

    /// The full and the empty part of a bar.
    pub fn blocks(&self) -> (&'static str, &'static str) {
        if self.options.unicode { ("█", "░") } else { ("#", ".") }
    }

    /// `text` in a style, if the terminal has colours.
    pub fn paint(&self, text: &str, style: Style) -> String {
        match style.code().filter(|_| self.options.color && !text.is_empty()) {
            Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
            None => text.to_owned(),
        }
    }

    /// Text from a file or an error, made harmless: control characters become
    /// spaces, and what the terminal cannot show becomes ASCII.
    pub fn foreign(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                c if c.is_control() => out.push(' '),
                c if c.is_ascii() || self.options.unicode || c == '\u{a0}' => out.push(c),
                c => out.push_str(ascii(c)),
            }
        }
        out
    }

    /// One line as it is.
    pub fn line(&mut self, text: &str) {
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    /// An empty line, unless there is one already or nothing above it.
    pub fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A sentence broken between words: the first line is indented by `first`
    /// columns, the others by `rest`.
    pub fn wrapped(&mut self, text: &str, first: usize, rest: usize) {
        self.wrapped_in(text, first, rest, Style::Plain);
    }

    /// The same with every line in `style`.
    pub fn wrapped_in(&mut self, text: &str, first: usize, rest: usize, style: Style) {
        let mut indent = first;
        let mut line = String::new();
        for word in text.split(|c: char| c.is_ascii_whitespace()).filter(|w| !w.is_empty()) {
            if !line.is_empty() && indent + cells(&line) + 1 + cells(word) > self.width() {
                self.indented(&line, indent, style);
                line.clear();
                indent = rest;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            for c in word.chars() {
                // Only scripts without spaces are broken inside a word.
                let wide = c.width().unwrap_or(0) > 1;
                if wide && indent + cells(&line) + 2 > self.width() {
                    self.indented(&line, indent, style);
                    line.clear();
                    indent = rest;
                }
                line.push(c);
            }
        }
        if !line.is_empty() {
            self.indented(&line, indent, style);
        }
    }

    /// A sentence that a reader must know. Further lines, which quote a
    /// console, stay as they are.
    pub fn remark(&mut self, sentence: &str) {
        let mut lines = sentence.lines().map(|line| self.foreign(line)).collect::<Vec<_>>();
        if lines.is_empty() {
            return;
        }
        let quoted = lines.split_off(1);
        let mark = self.paint("!", Style::Yellow);
        self.wrapped(&format!("{mark} {}", lines[0]), 0, 2);
        for line in quoted {
            self.line(&format!("  {line}"));
        }
    }

    fn indented(&mut self, line: &str, indent: usize, style: Style) {
        let line = format!("{:indent$}{}", "", self.paint(line, style));
        self.line(&line);
    }

    /// All lines.
    pub fn finish(self) -> String {
        self.text.replace(UNBROKEN, " ")
    }
}

/// What stands for `c` where only ASCII can be shown.
fn ascii(c: char) -> &'static str {
    match c {
        'µ' | 'μ' => "u",
        'σ' => "sigma",
        '−' | '–' | '—' | '‐' | '‑' | '·' => "-",
        '×' | '✗' => "x",
        '…' => "...",
        '→' => "->",
        '←' => "<-",
        '≥' => ">=",
        '≤' => "<=",
        '“' | '”' | '„' => "\"",
        '‘' | '’' => "'",
        '\u{2009}' | '\u{202f}' => " ",
        _ => "?",
    }
}

/// Columns that `text` takes; colours take none.
pub fn cells(text: &str) -> usize {
    let mut columns = 0;
    let mut rest = text;
    while let Some(start) = rest.find("\x1b[") {
        columns += rest[..start].width();
        let escape = &rest[start..];
        rest = escape.find('m').map_or("", |end| &escape[end + 1..]);
    }
    columns + rest.width()
}

/// `text` at the left of `columns`.
pub fn left(text: &str, columns: usize) -> String {
    format!("{text}{:1$}", "", columns.saturating_sub(cells(text)))
}

/// `text` at the right of `columns`.
pub fn right(text: &str, columns: usize) -> String {
    format!("{:1$}{text}", "", columns.saturating_sub(cells(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(width: usize, unicode: bool) -> Screen {
        Screen::new(Options { width, color: true, unicode })
    }

    #[test]
    fn a_number_is_not_torn_from_its_unit() {
        let mut screen = screen(40, true);
        screen.wrapped(&format!("{} 12\u{a0}000\u{a0}µs", "x".repeat(33)), 0, 2);
        assert_eq!(screen.finish(), format!("{}\n  12 000 µs\n", "x".repeat(33)));
    }

    #[test]
    fn colours_take_no_columns() {
        let screen = screen(40, true);
        assert_eq!(cells(&screen.paint("σ 1", Style::Red)), 3);
        assert_eq!(cells(&right(&screen.paint("1", Style::Red), 4)), 4);
    }

    #[test]
    fn text_without_spaces_is_broken_where_its_script_allows() {
        let mut screen = screen(40, true);
        screen.wrapped(&"周期".repeat(15), 0, 0);
        let text = screen.finish();
        assert_eq!(text.lines().map(cells).collect::<Vec<_>>(), [40, 20]);
    }

    #[test]
    fn escape_sequences_from_files_do_not_reach_the_terminal() {
        assert_eq!(screen(40, true).foreign("a\x1b[31mb\nc\u{9b}d"), "a [31mb c d");
    }

    #[test]
    fn without_unicode_everything_becomes_ascii() {
        let text = screen(40, false).foreign("margin ≥ 200 µs → “ok” 周");
        assert_eq!(text, "margin >= 200 us -> \"ok\" ?");
    }
}
