//! Writing a file so that it is either whole or not there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes `path` through a temporary file beside it, flushed to the disk and
/// renamed over it at the end. A failure leaves what was there before.
///
/// # Errors
/// If the file cannot be created, written, flushed or renamed, or if `write` fails.
pub fn write_atomically<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut temporary_name = name.to_owned();
    temporary_name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(temporary_name);
    let attempt = || {
        let mut writer = BufWriter::with_capacity(1 << 17, File::create(&temporary)?);
        write(&mut writer)?;
        writer.flush()?;
        writer.get_ref().sync_all()?;
        fs::rename(&temporary, path)?;
        Ok(())
    };
    let result = attempt();
    if result.is_err() {
        // Best effort: the error that matters is the first one.
        drop(fs::remove_file(&temporary));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write_atomically::<io::Error>(&path, |w| w.write_all(b"old")).unwrap();
        let failed = write_atomically::<io::Error>(&path, |w| {
            w.write_all(b"new")?;
            Err(io::Error::other("disk on fire"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "disk on fire");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
