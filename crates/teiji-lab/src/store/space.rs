//! Room on the disk, looked at before something large is fetched.

use std::path::Path;

use super::error::StoreError;

/// Bytes in the megabyte that messages speak of.
const MEGABYTE: u64 = 1_000_000;

/// Bytes that this user may still write on the file system of `path`.
pub fn available_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Refuses when `what` needs more bytes in `dir` than are free. A file system
/// that does not tell is trusted: writing will fail with its own error.
pub(crate) fn require(dir: &Path, what: &str, needed_bytes: u64) -> Result<(), StoreError> {
    match available_bytes(dir) {
        Some(available) if available < needed_bytes => Err(StoreError::NoSpace {
            what: what.to_owned(),
            dir: dir.to_owned(),
            needed_mb: needed_bytes.div_ceil(MEGABYTE),
            available_mb: available / MEGABYTE,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_any_disk_holds_is_refused_with_both_figures() {
        let dir = tempfile::tempdir().unwrap();
        let refused = require(dir.path(), "the universe", u64::MAX).unwrap_err();
        let StoreError::NoSpace { needed_mb, available_mb, .. } = refused else {
            panic!("{refused}")
        };
        assert!(needed_mb > available_mb);
        require(dir.path(), "a byte", 1).unwrap();
    }
}
