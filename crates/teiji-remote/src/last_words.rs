//! Why a program of another host failed, from what it wrote.

/// The last lines of what a program wrote, in one line.
pub fn last_words(text: &str) -> String {
    let mut lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).rev().take(2).collect();
    lines.reverse();
    let harmless = |c: char| if c.is_control() { ' ' } else { c };
    let words: String = lines.join("; ").chars().map(harmless).collect();
    if words.is_empty() { "it gave no reason".to_owned() } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_a_host_is_shown_as_one_line_without_control_characters() {
        assert_eq!(last_words("a\n\nb\u{1b}[2J\r\n c \n"), "b [2J; c");
        assert_eq!(last_words("\n"), "it gave no reason");
    }
}
