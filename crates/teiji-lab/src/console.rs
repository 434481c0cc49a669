//! Reads the guest's console after the fact: its last lines, and whether its
//! kernel panicked.

use std::fs;
use std::path::Path;

/// Marks the first line of a kernel's last words.
const PANIC: &str = "Kernel panic - ";

/// The console as readable lines.
fn lines(path: &Path) -> Vec<String> {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines()
        .map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>())
        .filter(|line| !line.trim().is_empty())
        .collect()
}

/// The last `count` lines of the console; of a kernel that panicked those that
/// end with its words, without the registers that follow.
pub fn last_lines(path: &Path, count: usize) -> Vec<String> {
    let lines = lines(path);
    let panic = lines.iter().position(|line| line.contains(PANIC));
    let end = panic.map_or(lines.len(), |at| at + 1);
    lines[end.saturating_sub(count)..end].to_vec()
}

/// The whole console as readable lines.
pub fn text(path: &Path) -> String {
    lines(path).join("\n")
}

/// The kernel's own words, if it panicked.
pub fn panic_line(path: &Path) -> Option<String> {
    lines(path).iter().find_map(|line| Some(line.split_once(PANIC)?.1.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_console_is_readable_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("console");
        let panic = "[  1.0] Kernel panic - not syncing: No init\r\n[  1.1] RIP: 0033\r\n";
        fs::write(&path, format!("a\r\n\r\nb\r\n{panic}")).unwrap();
        assert_eq!(last_lines(&path, 2), ["b", "[  1.0] Kernel panic - not syncing: No init"]);
        assert_eq!(panic_line(&path).as_deref(), Some("not syncing: No init"));
        assert!(last_lines(&dir.path().join("none"), 3).is_empty());
    }
}
