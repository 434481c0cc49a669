//! A margin that `teiji margin` measured, as the small file it leaves.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;
use thiserror::Error;

/// The form of the file; another one is an error that says so.
pub const SCHEMA: &str = "teiji-margin/1";
/// Where the file is if `TEIJI_MARGIN` does not say.
pub const DEFAULT_PATH: &str = "teiji-margin.json";

/// What was recommended, for which machine, and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// [`SCHEMA`].
    pub schema: String,
    /// `"local"`, or `"lab"`: good for that laboratory's kernel only.
    pub testbed: String,
    /// The kernel it was measured on, as `uname -r` says.
    pub kernel: Option<String>,
    /// What sent: an interface, or experiment, case and flow.
    pub subject: String,
    /// Names of the loads it was measured under.
    pub loads: Vec<String>,
    /// The recommended transmission margin, in nanoseconds.
    pub margin_ns: i64,
    /// The recommended ETF `delta`, in nanoseconds.
    pub delta_ns: i64,
    /// The probability of a miss it was made for.
    pub probability: f64,
    /// Frames it was estimated from.
    pub samples: u64,
    /// The longest time from planned wake-up to the qdisc among them, in
    /// nanoseconds.
    pub worst_ns: i64,
    /// A check run at this margin did not contradict it.
    pub confirmed: bool,
}

/// Why a saved margin cannot be used.
#[derive(Debug, Error)]
pub enum CalibrationError {
    /// No file.
    #[error(
        "cannot read {path}: {error}; measure a margin with `teiji margin`, or say in TEIJI_MARGIN where it is"
    )]
    Read {
        /// The file.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Not what `teiji margin` writes.
    #[error("{path} is no margin that `teiji margin` saved: {error}")]
    Form {
        /// The file.
        path: String,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// Another version's file.
    #[error(
        "{path} is of the form `{schema}`; this version reads `{SCHEMA}`. Measure again with `teiji margin`"
    )]
    Schema {
        /// The file.
        path: String,
        /// What it says.
        schema: String,
    },
    /// Of another kernel, or of the laboratory.
    #[error(
        "{path} was measured on {measured_on}, and this is {here}: measure again with `teiji margin`"
    )]
    Elsewhere {
        /// The file.
        path: String,
        /// The machine in the file.
        measured_on: String,
        /// This machine.
        here: String,
    },
    /// The check failed.
    #[error(
        "the margin in {path} did not pass its check run: measure again with `teiji margin`, with more frames"
    )]
    Unconfirmed {
        /// The file.
        path: String,
    },
    /// The file cannot be written.
    #[error("cannot write {path}: {error}")]
    Write {
        /// The file.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
}

impl Calibration {
    /// Where the file is: `TEIJI_MARGIN`, or else `teiji-margin.json` in the
    /// working folder.
    pub fn path() -> PathBuf {
        std::env::var_os("TEIJI_MARGIN").map_or_else(|| DEFAULT_PATH.into(), PathBuf::from)
    }

    /// Reads a file, of whatever machine.
    ///
    /// # Errors
    /// If it cannot be read or is not of this form.
    pub fn read(path: &Path) -> Result<Self, CalibrationError> {
        let shown = || path.display().to_string();
        let text = fs::read_to_string(path)
            .map_err(|error| CalibrationError::Read { path: shown(), error })?;
        // The form first: another version may have other fields.
        let form = |error| CalibrationError::Form { path: shown(), error };
        let value: serde_json::Value = serde_json::from_str(&text).map_err(form)?;
        match value.get("schema").and_then(serde_json::Value::as_str) {
            Some(schema) if schema != SCHEMA => {
                Err(CalibrationError::Schema { path: shown(), schema: schema.to_owned() })
            }
            _ => serde_json::from_value(value).map_err(form),
        }
    }

    /// Reads a file and refuses a margin that does not hold here: of another
    /// kernel, of the laboratory, or not confirmed by its check run.
    ///
    /// # Errors
    /// Which of these it is.
    pub fn read_for_this_machine(path: &Path) -> Result<Self, CalibrationError> {
        let calibration = Self::read(path)?;
        let shown = path.display().to_string();
        let here = running_kernel();
        if calibration.testbed != "local" || calibration.kernel != here {
            let kernel = |release: Option<&str>| release.unwrap_or("an unknown kernel").to_owned();
            let place = if calibration.testbed == "local" { "" } else { " in the laboratory" };
            let measured_on = kernel(calibration.kernel.as_deref()) + place;
            return Err(CalibrationError::Elsewhere {
                path: shown,
                measured_on,
                here: kernel(here.as_deref()),
            });
        }
        if !calibration.confirmed {
            return Err(CalibrationError::Unconfirmed { path: shown });
        }
        Ok(calibration)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, path: &Path) -> Result<(), CalibrationError> {
        let failed = |error| CalibrationError::Write { path: path.display().to_string(), error };
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(error.into()))?;
        fs::write(path, text + "\n").map_err(failed)
    }

    /// The margin.
    pub fn margin(&self) -> Span {
        Span::from_ns(self.margin_ns)
    }

    /// ETF's `delta`.
    pub fn delta(&self) -> Span {
        Span::from_ns(self.delta_ns)
    }
}

/// What `uname -r` says.
pub fn running_kernel() -> Option<String> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(release.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration() -> Calibration {
        Calibration {
            schema: SCHEMA.to_owned(),
            testbed: "local".to_owned(),
            kernel: running_kernel(),
            subject: "eth0".to_owned(),
            loads: vec!["cpu".to_owned()],
            margin_ns: 460_000,
            delta_ns: 150_000,
            probability: 1e-6,
            samples: 60_000,
            worst_ns: 88_000,
            confirmed: true,
        }
    }

    #[test]
    fn a_margin_is_read_as_it_was_written_and_refused_elsewhere() {
        let folder = std::env::temp_dir().join(format!("teiji-margin-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("margin.json");
        let refused = |calibration: &Calibration| {
            calibration.write(&path).unwrap();
            Calibration::read_for_this_machine(&path).unwrap_err().to_string()
        };
        calibration().write(&path).unwrap();
        assert_eq!(Calibration::read_for_this_machine(&path).unwrap(), calibration());
        let other = Calibration { kernel: Some("2.4.27".to_owned()), ..calibration() };
        assert!(refused(&other).contains("was measured on 2.4.27"));
        let lab = Calibration { testbed: "lab".to_owned(), ..calibration() };
        assert!(refused(&lab).contains("in the laboratory"));
        let failed = Calibration { confirmed: false, ..calibration() };
        assert!(refused(&failed).contains("did not pass its check run"));
        let later = Calibration { schema: "teiji-margin/9".to_owned(), ..calibration() };
        assert!(refused(&later).contains("of the form `teiji-margin/9`"));
        fs::write(&path, "{}").unwrap();
        assert!(matches!(Calibration::read(&path), Err(CalibrationError::Form { .. })));
        fs::remove_dir_all(&folder).unwrap();
        assert!(Calibration::read(&path).unwrap_err().to_string().contains("teiji margin"));
    }
}
