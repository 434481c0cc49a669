//! Bars, emphasis and line breaks for a terminal.

/// How much a terminal shows.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub color: bool,
    pub unicode: bool,
}

impl Style {
    /// The text in bold.
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// The text in the background.
    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// The text as something that went wrong.
    pub fn warn(self, text: &str) -> String {
        self.wrap("33", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// A bar of `width` columns, filled by `share`. Full only if nothing is
    /// missing, empty only if nothing is there.
    pub fn bar(self, share: f64, width: usize) -> String {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to the width"
        )]
        let mut filled = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
        if share < 1.0 {
            filled = filled.min(width - 1);
        }
        if share > 0.0 {
            filled = filled.max(1);
        }
        let (full, empty) = if self.unicode { ("█", "░") } else { ("#", "-") };
        format!("{}{}", full.repeat(filled), empty.repeat(width - filled))
    }
}

/// The text broken into lines of at most `width` columns, where words allow.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    // A sentence may quote a console, whose lines stay as they are.
    for paragraph in text.lines() {
        let indent: String = paragraph.chars().take_while(|c| *c == ' ').collect();
        let mut line = indent.clone();
        // Not at non-breaking spaces, which keep numbers and units together.
        for word in paragraph.trim_start().split(' ') {
            let room = line.chars().count() + 1 + word.chars().count() <= width.max(20);
            if line.trim().is_empty() {
                line.push_str(word);
            } else if room {
                line.push(' ');
                line.push_str(word);
            } else {
                lines.push(std::mem::replace(&mut line, format!("{indent}{word}")));
            }
        }
        lines.push(line);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style { color: false, unicode: false };

    #[test]
    fn a_bar_is_full_only_if_nothing_is_missing() {
        assert_eq!(PLAIN.bar(1.0, 8), "########");
        assert_eq!(PLAIN.bar(0.9999, 8), "#######-");
        assert_eq!(PLAIN.bar(0.0001, 8), "#-------");
        assert_eq!(PLAIN.bar(0.0, 8), "--------");
    }

    #[test]
    fn long_sentences_are_broken_between_words() {
        let text = wrapped("one two three four five six seven", 20);
        assert_eq!(text, "one two three four\nfive six seven");
        assert_eq!(wrapped("first\n  second", 20), "first\n  second");
    }

    #[test]
    fn colour_is_used_only_where_it_is_understood() {
        assert_eq!(PLAIN.bold("x"), "x");
        assert_eq!(Style { color: true, ..PLAIN }.bold("x"), "\x1b[1mx\x1b[0m");
    }
}
