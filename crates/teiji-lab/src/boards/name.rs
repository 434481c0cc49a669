//! Names of boards and wires: words that are safe in file names, host names and SSH configurations.

use std::fmt;
use std::str::FromStr;

/// The most characters of a name.
const LONGEST: usize = 32;
/// Files of the folder of boards.
const RESERVED: [&str; 1] = ["config"];

/// A name of a board, or of a wire between boards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if text.is_empty() || text.len() > LONGEST || !text.chars().all(allowed) {
            return Err(format!(
                "a name has 1 to {LONGEST} characters of a-z, 0-9 and `-`: choose one such as `left`"
            ));
        }
        if text.starts_with('-') {
            return Err("a name does not begin with `-`: choose one such as `left`".to_owned());
        }
        if RESERVED.contains(&text) {
            return Err(format!(
                "`{text}` is the SSH configuration of all boards: choose another name"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_short_word_of_small_letters_digits_and_hyphens() {
        for good in ["a", "left", "board-2", "0", &"x".repeat(LONGEST)] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
        for bad in ["", "A", "a b", "a.b", "../a", "ä", "-a", "config", &"x".repeat(LONGEST + 1)] {
            let why = bad.parse::<Name>().unwrap_err();
            assert!(why.contains("choose"), "{bad}: {why}");
        }
    }
}
