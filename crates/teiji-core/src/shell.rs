//! Words of a command line for a POSIX shell.

/// A word that any POSIX shell takes as it is; in quotes only if it needs them.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_shell_gets_each_word_as_it_was() {
        for word in ["eth0", "", "a b", "it's", "$(reboot)", "`x`", "a\nb", "*", "ü\\"] {
            let line = format!("printf %s {}", quote(word));
            let output = Command::new("sh").arg("-c").arg(&line).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word, "{line}");
        }
        assert_eq!(quote("root@a:2222"), "root@a:2222");
    }
}
