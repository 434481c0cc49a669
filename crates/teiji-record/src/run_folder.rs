//! The folder a run leaves behind: creating it, finding it, and where in it
//! everything is.
//!
//! ```text
//! runs/<time>-<experiment>/
//!   manifest.json                    what was run, by whom, on what
//!   experiment.toml                  the question, as it was asked
//!   records/<case>-s<seed>.parquet   one row per frame
//!   captures/<case>-s<seed>.pcap     the wire
//!   console/<case>-s<seed>.log       the guest's console
//!   summary.json                     the result for machines
//!   report.html                      the result for people
//! runs/latest -> <time>-<experiment>
//! ```

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::atomic::write_atomically;
use crate::json::JsonFileError;
use crate::{Manifest, Records, RecordsError, RoundRecords, Summary};

/// Name of the link to the newest run.
pub const LATEST: &str = "latest";

const MANIFEST: &str = "manifest.json";
const SUMMARY: &str = "summary.json";
const EXPERIMENT: &str = "experiment.toml";
const FOLDERS: [&str; 3] = ["records", "captures", "console"];

/// How many runs of one experiment may begin in the same second.
const SAME_SECOND: u32 = 1_000;

/// Why a run folder could not be made or opened.
#[derive(Debug, Error)]
pub enum RunFolderError {
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Its message.
        source: io::Error,
    },
    /// There is nothing of that name.
    #[error("{}: there is no such run{}", path.display(), beside(path))]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// No run was finished here yet.
    #[error("{}: no run yet; `teiji run experiments/etf.toml` makes one", path.display())]
    NoLatest {
        /// The path.
        path: PathBuf,
    },
    /// It is something else.
    #[error("{}: not a run folder, which has a {MANIFEST}{}", path.display(), hint(path))]
    NotARun {
        /// The path.
        path: PathBuf,
    },
    /// Its manifest is missing although the rest is there.
    #[error(
        "{}: its {MANIFEST} is missing; the records can still be read one by one \
         (records/*.parquet), but not as a run", path.display()
    )]
    NoManifest {
        /// The path.
        path: PathBuf,
    },
    /// Its summary is missing although the rest is there.
    #[error(
        "{}: the run was not summed up: it was killed, the disk was full, or it is still going on; \
         `teiji report {}` sums up the records there are", path.display(), path.display()
    )]
    NoSummary {
        /// The path.
        path: PathBuf,
    },
    /// Its manifest or summary cannot be read.
    #[error(transparent)]
    Json(#[from] JsonFileError),
}

/// How to find the runs there are, where something of that name could be.
fn beside(path: &Path) -> String {
    match path
        .parent()
        .map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
    {
        Some(parent) if parent.is_dir() => {
            format!("; `ls {}` shows what there is", parent.display())
        }
        _ => "; `teiji run` says where it leaves one, by default in runs/".to_owned(),
    }
}

fn hint(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|e| e.to_str());
    match extension {
        Some("pcap" | "pcapng" | "cap") => "; to analyse a capture: teiji analyze",
        _ => "",
    }
}

/// A run folder that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes a new, empty run folder in `root` (made too, if need be).
    ///
    /// `time` is part of the name, as the caller likes to write it. If two
    /// runs begin at the same time, the later one's name gets `-2`, `-3` …
    ///
    /// # Errors
    /// If a folder cannot be made, or too many runs began in the same second.
    pub fn create(root: &Path, time: &str, experiment: &str) -> Result<Self, RunFolderError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| RunFolderError::Io { action: "create the folder", path, source }
        };
        fs::create_dir_all(root).map_err(io(root))?;
        let name = safe_name(&format!("{time}-{experiment}"));
        let mut attempt = 1;
        let path = loop {
            let path =
                root.join(if attempt == 1 { name.clone() } else { format!("{name}-{attempt}") });
            match fs::create_dir(&path) {
                Ok(()) => break path,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < SAME_SECOND => {
                    attempt += 1;
                }
                Err(e) => return Err(io(&path)(e)),
            }
        };
        for folder in FOLDERS.map(|name| path.join(name)) {
            fs::create_dir(&folder).map_err(io(&folder))?;
        }
        Ok(Self { path })
    }

    /// Opens an existing run folder (or a link to one, such as `runs/latest`)
    /// with its manifest.
    ///
    /// # Errors
    /// If there is no folder, it has no manifest, or the manifest cannot be read or has another
    /// version.
    pub fn open(path: &Path) -> Result<(Self, Manifest), RunFolderError> {
        let found = path.canonicalize().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound if path.file_name().is_some_and(|n| n == LATEST) => {
                RunFolderError::NoLatest { path: path.to_owned() }
            }
            io::ErrorKind::NotFound => RunFolderError::Missing { path: path.to_owned() },
            _ => RunFolderError::Io { action: "open", path: path.to_owned(), source },
        })?;
        let folder = Self { path: found };
        if !folder.manifest_path().is_file() {
            let path = path.to_owned();
            let was_one = folder.path.join(FOLDERS[0]).is_dir();
            return Err(if was_one {
                RunFolderError::NoManifest { path }
            } else {
                RunFolderError::NotARun { path }
            });
        }
        let manifest = Manifest::read(&folder.manifest_path())?;
        Ok((folder, manifest))
    }

    /// Makes `latest`, beside the folder, point to it.
    ///
    /// # Errors
    /// If the link cannot be made or renamed.
    pub fn mark_latest(&self) -> Result<(), RunFolderError> {
        let (Some(root), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Ok(());
        };
        let link = root.join(LATEST);
        let temporary = root.join(format!(".{LATEST}.{}", std::process::id()));
        // Left by a process of the same number that was killed here.
        drop(fs::remove_file(&temporary));
        std::os::unix::fs::symlink(name, &temporary)
            .and_then(|()| fs::rename(&temporary, &link))
            .map_err(|source| RunFolderError::Io { action: "set the link", path: link, source })
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `manifest.json`.
    pub fn manifest_path(&self) -> PathBuf {
        self.path.join(MANIFEST)
    }

    /// `experiment.toml`.
    pub fn experiment_path(&self) -> PathBuf {
        self.path.join(EXPERIMENT)
    }

    /// `summary.json`.
    pub fn summary_path(&self) -> PathBuf {
        self.path.join(SUMMARY)
    }

    /// `report.html`.
    pub fn report_path(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// `margin.json`, in the run that a search for a margin ended with.
    pub fn margin_path(&self) -> PathBuf {
        self.path.join("margin.json")
    }

    /// `causes.json`, which `teiji why` leaves.
    pub fn causes_path(&self) -> PathBuf {
        self.path.join("causes.json")
    }

    /// Where the records of a case at a seed belong, relative to the folder.
    pub fn records_name(case: &str, seed: u64) -> String {
        member_file("records", case, seed, "parquet")
    }

    /// Where the round trips of a case at a seed belong, relative to the folder.
    pub fn rounds_name(case: &str, seed: u64) -> String {
        member_file("records", case, seed, "rounds.parquet")
    }

    /// Where the capture belongs, relative to the folder.
    pub fn capture_name(case: &str, seed: u64) -> String {
        member_file("captures", case, seed, "pcap")
    }

    /// Where the guest's console log belongs, relative to the folder.
    pub fn console_name(case: &str, seed: u64) -> String {
        member_file("console", case, seed, "log")
    }

    /// Keeps the experiment's text.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_experiment(&self, text: &str) -> Result<(), RunFolderError> {
        let path = self.experiment_path();
        write_atomically(&path, |file| file.write_all(text.as_bytes()))
            .map_err(|source| RunFolderError::Io { action: "write", path, source })
    }

    /// The experiment's text.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_experiment(&self) -> Result<String, RunFolderError> {
        let path = self.experiment_path();
        fs::read_to_string(&path).map_err(|source| RunFolderError::Io {
            action: "read",
            path,
            source,
        })
    }

    /// Writes or replaces the manifest.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), JsonFileError> {
        manifest.write(&self.manifest_path())
    }

    /// Writes or replaces the summary.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), JsonFileError> {
        summary.write(&self.summary_path())
    }

    /// Reads the summary.
    ///
    /// # Errors
    /// [`RunFolderError::NoSummary`] if there is none; otherwise if it cannot be read or has
    /// another version.
    pub fn read_summary(&self) -> Result<Summary, RunFolderError> {
        let path = self.summary_path();
        if !path.exists() {
            return Err(RunFolderError::NoSummary { path: self.path.clone() });
        }
        Ok(Summary::read(&path)?)
    }

    /// Writes the records of a case and returns their name relative to the
    /// folder.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_records(&self, records: &Records) -> Result<String, RecordsError> {
        let name = Self::records_name(&records.about.case, records.about.seed);
        records.write(&self.path.join(&name))?;
        Ok(name)
    }

    /// Writes the round trips of a case and returns their name relative to the folder.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_rounds(&self, rounds: &RoundRecords) -> Result<String, RecordsError> {
        let name = Self::rounds_name(&rounds.about.case, rounds.about.seed);
        rounds.write(&self.path.join(&name))?;
        Ok(name)
    }

    /// Reads the round trips of a case at a seed; `None` if it has none.
    ///
    /// # Errors
    /// If the file exists and cannot be read, or has another version.
    pub fn read_rounds(&self, case: &str, seed: u64) -> Result<Option<RoundRecords>, RecordsError> {
        let path = self.path.join(Self::rounds_name(case, seed));
        path.exists().then(|| RoundRecords::read(&path)).transpose()
    }

    /// Reads the records of a case at a seed.
    ///
    /// # Errors
    /// If the file cannot be read, or has another version.
    pub fn read_records(&self, case: &str, seed: u64) -> Result<Records, RecordsError> {
        Records::read(&self.path.join(Self::records_name(case, seed)))
    }
}

/// A file of a case at a seed, relative to the run folder.
fn member_file(folder: &str, case: &str, seed: u64, extension: &str) -> String {
    format!("{folder}/{}-s{seed}.{extension}", safe_name(case))
}

/// `text` with everything replaced that is awkward in a file name.
fn safe_name(text: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let name: String = text.chars().map(|c| if safe(c) { c } else { '-' }).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "unnamed".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
#[path = "run_folder_tests.rs"]
mod tests;
