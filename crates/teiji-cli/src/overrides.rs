//! Experiment files on the command line: `--set`, and every mistake printed.

use std::path::Path;

use teiji_experiment::Experiment;
use teiji_experiment::reader::NicSource;
use teiji_run::experiment_file::{pair, reader, text};

use crate::exit::{Exit, WithExit};
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

/// Reads an experiment file; mistakes and warnings are printed, mistakes end
/// the command. Gives the experiment and its text.
pub fn load(
    path: &Path,
    overrides: &Overrides,
    nics: NicSource,
) -> anyhow::Result<(Experiment, String)> {
    let text = text(path)?;
    let reading = reader(&path.display().to_string(), overrides.pairs(), nics).read(&text);
    if !reading.findings.is_empty() {
        // They name their own places; a word before them would shift their columns.
        output::aside(reading.findings.to_string().trim_end());
    }
    let experiment = reading.experiment.ok_or(WithExit(Exit::Usage, String::new()))?;
    Ok((experiment, text))
}
