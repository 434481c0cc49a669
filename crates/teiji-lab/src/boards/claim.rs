//! Something that one process at a time has: a locked file, which goes with the process.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::store::lock;

use super::error::BoardError;

/// Held until it is dropped, or the process ends in whatever way.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    _file: File,
}

/// What came of an attempt.
pub(super) enum Taken {
    /// This process has it.
    Mine(Claim),
    /// Another one has it.
    Held {
        /// What it wrote about itself.
        by: String,
    },
}

impl Claim {
    /// Takes what the file stands for; `holder` tells others who has it.
    pub(super) fn take(path: &Path, holder: &str) -> Result<Taken, BoardError> {
        loop {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .map_err(|e| BoardError::io("write", path, e))?;
            if !lock::lock_soon(&file, path)? {
                let mut by = String::new();
                // Who it is only makes the message better.
                let _ = file.read_to_string(&mut by);
                return Ok(Taken::Held { by: by.trim().to_owned() });
            }
            // Its holder may have removed it after it was opened here.
            let own = file.metadata().map_err(|e| BoardError::io("read", path, e))?.ino();
            if fs::metadata(path).is_ok_and(|there| there.ino() == own) {
                // As above.
                let _ = file
                    .set_len(0)
                    .and_then(|()| file.seek(SeekFrom::Start(0)))
                    .and_then(|_| writeln!(file, "{holder}"));
                return Ok(Taken::Mine(Self { path: path.to_owned(), _file: file }));
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Before the lock goes, so that nobody else's file is removed. Without success it is an unlocked file.
        let _ = fs::remove_file(&self.path);
    }
}
