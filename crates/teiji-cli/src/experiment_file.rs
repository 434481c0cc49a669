//! Experiment files as the command line reads them: from disk, with `--set`,
//! with every mistake told.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context;
use teiji::load::LoadKind;
use teiji_experiment::{Case, Experiment, Reader, reader::Cards};
use teiji_record::Manifest;
use teiji_record::summary::Testbed;

use crate::exit::{Exit, WithExit, mistake};
use crate::output;

/// Values of the experiment overridden on the command line.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Overrides {
    /// Override a value of the experiment in every case, for example
    /// `--set flows.cycle.frames=1000`; may be given several times.
    #[arg(long, value_name = "PATH=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
}

impl Overrides {
    /// Paths and values, in the order given.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.set
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or_else(|| {
        format!("`{text}` sets nothing; write PATH=VALUE, for example flows.cycle.frames=1000")
    })?;
    Ok((path.trim().to_owned(), value.trim().to_owned()))
}

/// A reader with the overrides in it.
pub fn reader(file: &str, overrides: &[(String, String)], cards: Cards) -> Reader {
    overrides
        .iter()
        .fold(Reader::new(file).cards(cards), |reader, (path, value)| reader.set(path, value))
}

/// The text of an experiment file.
pub fn text(path: &Path) -> anyhow::Result<String> {
    toml_text(path, "an experiment")
}

/// The text of a file that is `what`, in TOML; that it cannot be read is a mistake.
pub fn toml_text(path: &Path, what: &str) -> anyhow::Result<String> {
    fs::read_to_string(path).map_err(|error| {
        let path = path.display();
        let sentence = match error.kind() {
            io::ErrorKind::InvalidData => {
                format!("cannot read {path}: it is no text; {what} is a file in TOML")
            }
            _ => format!("cannot read {path}: {error}"),
        };
        WithExit(Exit::Usage, sentence).into()
    })
}

/// Reads an experiment file; mistakes and warnings are printed, mistakes end
/// the command. Gives the experiment and its text.
pub fn load(
    path: &Path,
    overrides: &Overrides,
    cards: Cards,
) -> anyhow::Result<(Experiment, String)> {
    let text = text(path)?;
    let reading = reader(&path.display().to_string(), overrides.pairs(), cards).read(&text);
    if !reading.findings.is_empty() {
        // They name their own places; a word before them would shift their columns.
        output::aside(reading.findings.to_string().trim_end());
    }
    let experiment = reading.experiment.ok_or(WithExit(Exit::Usage, String::new()))?;
    Ok((experiment, text))
}

/// Reads the experiment of a run again, with the overrides it ran with.
pub fn parse(text: &str, file: &str, manifest: &Manifest) -> anyhow::Result<Experiment> {
    let reading = reader_of(manifest, file).read(text);
    reading.experiment.with_context(|| {
        format!("this version no longer understands the run's experiment:\n{}", reading.findings)
    })
}

/// A reader with the overrides that a run ran with.
pub fn reader_of(manifest: &Manifest, file: &str) -> Reader {
    let cards = if manifest.testbed == Testbed::Lab { Cards::Emulated } else { Cards::Own };
    reader(file, &recorded_overrides(manifest), cards)
}

/// What the command line overrode in a run's experiment.
pub fn recorded_overrides(manifest: &Manifest) -> Vec<(String, String)> {
    recorded_arguments(manifest, "--set").iter().filter_map(|set| pair(set).ok()).collect()
}

/// The loads that ran beside a run.
pub fn recorded_loads(manifest: &Manifest) -> Vec<LoadKind> {
    recorded_arguments(manifest, "--load").iter().filter_map(|load| load.parse().ok()).collect()
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
pub fn choose_cases(experiment: &Experiment, names: &[String]) -> anyhow::Result<Vec<Case>> {
    let known = |name: &&String| !experiment.cases.iter().any(|case| case.name == **name);
    if let Some(unknown) = names.iter().find(known) {
        let there: Vec<&str> = experiment.cases.iter().map(|case| case.name.as_str()).collect();
        mistake!("there is no case `{unknown}`; there are {}", there.join(", "));
    }
    let chosen = |case: &&Case| names.is_empty() || names.contains(&case.name);
    Ok(experiment.cases.iter().filter(chosen).cloned().collect())
}
