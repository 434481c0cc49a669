//! JSON files that name their format and version in a field `schema`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::atomic::write_atomically;

/// Why a JSON file of a run could not be written or read.
#[derive(Debug, Error)]
pub enum JsonFileError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its message.
        source: io::Error,
    },
    /// It is not JSON, or lacks what its version promises.
    #[error("{}: not readable as `{expected}`: {source}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The format it should have.
        expected: &'static str,
        /// What is wrong and where.
        source: serde_json::Error,
    },
    /// It is JSON of something else.
    #[error("{}: not a file of Teiji: `schema` should be `{expected}`", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The format it should have.
        expected: &'static str,
    },
    /// A newer Teiji wrote it.
    #[error(
        "{}: made by a newer Teiji (`{found}`, this one reads `{expected}`); \
         update Teiji, or use the version that made it", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format it should have.
        expected: &'static str,
        /// The format it names.
        found: String,
    },
    /// An older Teiji wrote it, in a form this one no longer reads.
    #[error(
        "{}: made by an older Teiji (`{found}`, this one reads `{expected}`); \
         use the version that made it", path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// The format it should have.
        expected: &'static str,
        /// The format it names.
        found: String,
    },
}

/// Writes `value`, indented, whole or not at all.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, value: &impl Serialize) -> Result<(), JsonFileError> {
    write_atomically(path, |file| {
        serde_json::to_writer_pretty(&mut *file, value)?;
        file.write_all(b"\n")
    })
    .map_err(|source| JsonFileError::Io { path: path.to_owned(), source })
}

/// Reads a file whose `schema` must be `expected` (`name/version`).
///
/// # Errors
/// If the file cannot be read, is not JSON of this form, or has another `schema`.
pub fn read<T: DeserializeOwned>(path: &Path, expected: &'static str) -> Result<T, JsonFileError> {
    let text = std::fs::read(path)
        .map_err(|source| JsonFileError::Io { path: path.to_owned(), source })?;
    let invalid = |source| JsonFileError::Invalid { path: path.to_owned(), expected, source };
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(invalid)?;
    check(path, expected, value.get("schema").and_then(serde_json::Value::as_str))?;
    serde_json::from_value(value).map_err(invalid)
}

fn check(path: &Path, expected: &'static str, found: Option<&str>) -> Result<(), JsonFileError> {
    let path = path.to_owned();
    let version = |schema: &str| -> Option<(String, u32)> {
        let (name, version) = schema.split_once('/')?;
        Some((name.to_owned(), version.parse().ok()?))
    };
    let (Some(text), Some((name, number))) = (found, found.and_then(version)) else {
        return Err(JsonFileError::Foreign { path, expected });
    };
    let found = text.to_owned();
    match version(expected) {
        Some((ours, _)) if ours != name => Err(JsonFileError::Foreign { path, expected }),
        Some((_, ours)) if number > ours => Err(JsonFileError::Newer { path, expected, found }),
        Some((_, ours)) if number < ours => Err(JsonFileError::Older { path, expected, found }),
        _ => Ok(()),
    }
}
