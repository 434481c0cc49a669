//! The records of frames of one case as a Parquet file: one row per frame. Columns are
//! documented in `docs/records.md`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::table::{RecordsError, Table};
use crate::{Facts, FlowPlan, FrameRow};

/// Format name and version of the files this crate writes.
pub const FORMAT: &str = "teiji-frames/2";

/// The records of one case at one seed: all that its statistics are computed
/// from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// Which case of which experiment, and its flows as planned.
    pub about: About,
    /// What is known beside the rows.
    pub facts: Facts,
    /// One row for each planned frame, by flow, then by sequence number.
    pub rows: Vec<FrameRow>,
}

/// Which case a file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Name of the experiment.
    pub experiment: String,
    /// Name of the case.
    pub case: String,
    /// The seed it ran with.
    pub seed: u64,
    /// The flows as they were meant to be sent.
    pub flows: Vec<FlowPlan>,
}

impl Records {
    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), RecordsError> {
        Table { about: &self.about, facts: &self.facts, rows: &*self.rows }.write(path)
    }

    /// Reads the file.
    ///
    /// # Errors
    /// If the file cannot be read, is not Parquet, or has another version or other columns.
    pub fn read(path: &Path) -> Result<Self, RecordsError> {
        let Table { about, facts, rows } = Table::read(path)?;
        Ok(Self { about, facts, rows })
    }
}

#[cfg(test)]
#[path = "parquet_tests.rs"]
mod tests;
