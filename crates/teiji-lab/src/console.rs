//! Reads the guest's console after the fact: its last lines, and whether its
//! kernel panicked.

use std::fs;
use std::path::Path;

/// The last `count` lines of the console, without carriage returns and colour.
pub fn last_lines(path: &Path, count: usize) -> Vec<String> {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>())
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(count)..].to_vec()
}

/// The kernel's own words, if it panicked.
pub fn panic_line(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    String::from_utf8_lossy(&bytes)
        .lines()
        .find_map(|line| line.split_once("Kernel panic - ").map(|(_, rest)| rest.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_console_is_readable_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("console");
        fs::write(&path, "a\r\n\r\nb\r\n[  1.0] Kernel panic - not syncing: No init\r\n").unwrap();
        assert_eq!(last_lines(&path, 2), ["b", "[  1.0] Kernel panic - not syncing: No init"]);
        assert_eq!(panic_line(&path).as_deref(), Some("not syncing: No init"));
        assert!(last_lines(&dir.path().join("none"), 3).is_empty());
    }
}
