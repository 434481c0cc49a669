//! Experiment files as a run reads them: from disk, with values overridden, and again from a run
//! folder as they were then.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use teiji::load::LoadKind;
use teiji_experiment::{Case, Experiment, Reader, reader::NicSource};
use teiji_record::Manifest;
use teiji_record::summary::Testbed;

use crate::{Mistake, mistake};

/// Path and value of an override, `PATH=VALUE`.
///
/// # Errors
/// There is no `=`.
pub fn pair(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or_else(|| {
        format!("`{text}` sets nothing; write PATH=VALUE, for example flows.cycle.frames=1000")
    })?;
    Ok((path.trim().to_owned(), value.trim().to_owned()))
}

/// A reader with the overrides in it.
pub fn reader(file: &str, overrides: &[(String, String)], nics: NicSource) -> Reader {
    overrides
        .iter()
        .fold(Reader::new(file).nics(nics), |reader, (path, value)| reader.set(path, value))
}

/// The text of an experiment file.
///
/// # Errors
/// [`Mistake`] if the file cannot be read or is not text.
pub fn text(path: &Path) -> anyhow::Result<String> {
    toml_text(path, "an experiment")
}

/// The text of a file that is `what`, in TOML; that it cannot be read is a mistake.
///
/// # Errors
/// [`Mistake`] if the file cannot be read or is not text.
pub fn toml_text(path: &Path, what: &str) -> anyhow::Result<String> {
    fs::read_to_string(path).map_err(|error| {
        let path = path.display();
        let sentence = match error.kind() {
            io::ErrorKind::InvalidData => {
                format!("cannot read {path}: it is no text; {what} is a file in TOML")
            }
            _ => format!("cannot read {path}: {error}"),
        };
        Mistake(sentence).into()
    })
}

/// Reads the experiment of a run again, with the overrides it ran with.
///
/// # Errors
/// If this version refuses the text, with the mistakes.
pub fn parse(text: &str, file: &str, manifest: &Manifest) -> anyhow::Result<Experiment> {
    let reading = reader_of(manifest, file).read(text);
    reading.experiment.with_context(|| {
        format!("this version no longer understands the run's experiment:\n{}", reading.findings)
    })
}

/// A reader with the overrides that a run ran with.
pub fn reader_of(manifest: &Manifest, file: &str) -> Reader {
    let nics = if manifest.testbed == Testbed::Lab { NicSource::Emulated } else { NicSource::Own };
    reader(file, &recorded_overrides(manifest), nics)
}

/// What the command line overrode in a run's experiment.
pub fn recorded_overrides(manifest: &Manifest) -> Vec<(String, String)> {
    recorded_arguments(manifest, "--set").iter().filter_map(|set| pair(set).ok()).collect()
}

/// The loads that ran beside a run.
pub fn recorded_loads(manifest: &Manifest) -> Vec<LoadKind> {
    recorded_arguments(manifest, "--load").iter().filter_map(|load| load.parse().ok()).collect()
}

/// The folders of kernel modules that were built for a run's guests.
pub fn recorded_sources(manifest: &Manifest) -> Vec<PathBuf> {
    recorded_arguments(manifest, "--source").into_iter().map(PathBuf::from).collect()
}

/// The values of an option among a run's recorded arguments.
fn recorded_arguments(manifest: &Manifest, option: &str) -> Vec<String> {
    let Some(replay) = &manifest.replay else { return Vec::new() };
    replay
        .arguments
        .chunks(2)
        .filter(|pair| pair[0] == option)
        .filter_map(|pair| pair.get(1).cloned())
        .collect()
}

/// The value of an option among a run's recorded arguments.
pub fn recorded_argument(manifest: &Manifest, option: &str) -> Option<String> {
    recorded_arguments(manifest, option).into_iter().next()
}

/// The named cases in the experiment's order; all if none is named.
///
/// # Errors
/// [`Mistake`] if the experiment has no case of a name.
pub fn choose_cases(experiment: &Experiment, names: &[String]) -> anyhow::Result<Vec<Case>> {
    let known = |name: &&String| !experiment.cases.iter().any(|case| case.name == **name);
    if let Some(unknown) = names.iter().find(known) {
        let there: Vec<&str> = experiment.cases.iter().map(|case| case.name.as_str()).collect();
        mistake!("there is no case `{unknown}`; there are {}", there.join(", "));
    }
    let chosen = |case: &&Case| names.is_empty() || names.contains(&case.name);
    Ok(experiment.cases.iter().filter(chosen).cloned().collect())
}
