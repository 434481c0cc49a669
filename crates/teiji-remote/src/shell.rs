//! Words for the shell of another host, which ssh gives one string.

/// A word that any POSIX shell takes as it is.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

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
    use std::process::Command;

    #[test]
    fn a_shell_gets_each_word_as_it_was() {
        for word in ["eth0", "", "a b", "it's", "$(reboot)", "`x`", "a\nb", "*", "ü\\"] {
            let line = format!("printf %s {}", shell_word(word));
            let output = Command::new("sh").arg("-c").arg(&line).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word, "{line}");
        }
        assert_eq!(shell_word("root@a:2222"), "root@a:2222");
    }

    #[test]
    fn output_of_a_host_is_shown_as_one_line_without_control_characters() {
        assert_eq!(last_words("a\n\nb\u{1b}[2J\r\n c \n"), "b [2J; c");
        assert_eq!(last_words("\n"), "it gave no reason");
    }
}
