//! Standard output and standard error, either of which may have a reader that
//! goes away, as `head` does.

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;
use thiserror::Error;

/// Why a result could not be printed.
#[derive(Debug, Error)]
pub enum OutputError {
    /// Nobody reads any more. [`main`](crate) ends without a word then.
    #[error("nobody reads the output any more")]
    ReaderGone,
    /// The operating system refused, most likely because a disk is full.
    #[error("cannot write the result to standard output: {0}")]
    Refused(io::Error),
    /// A value has no form in JSON.
    #[error("cannot write the result as JSON: {0}")]
    Json(serde_json::Error),
}

/// Prints a result, which brings its own line ends.
pub fn text(text: impl Display) -> Result<(), OutputError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    write!(out, "{text}").and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => OutputError::ReaderGone,
        _ => OutputError::Refused(error),
    })
}

/// Prints a result and ends its line.
pub fn line(line: impl Display) -> Result<(), OutputError> {
    text(format_args!("{line}\n"))
}

/// Prints a result for machines.
pub fn json(value: &impl Serialize) -> Result<(), OutputError> {
    line(serde_json::to_string_pretty(value).map_err(OutputError::Json)?)
}

/// The same in one line, for results that come one after the other.
pub fn json_line(value: &impl Serialize) -> Result<(), OutputError> {
    line(serde_json::to_string(value).map_err(OutputError::Json)?)
}

/// Says something beside the result, on standard error. If nobody reads it,
/// the work goes on.
pub fn aside(words: impl Display) {
    drop(writeln!(io::stderr(), "{words}"));
}
