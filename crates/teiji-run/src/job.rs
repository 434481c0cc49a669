//! What a guest, or another machine, is given to measure.

use serde::{Deserialize, Serialize};
use teiji::load::LoadKind;
use teiji_experiment::Experiment;
use teiji_experiment::reader::NicSource;

use crate::experiment_file;

/// The experiment as the user wrote it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The experiment file.
    pub text: String,
    /// What the command line overrides in it.
    pub set: Vec<(String, String)>,
    /// Background load.
    pub loads: Vec<LoadKind>,
}

impl Job {
    /// The experiment, on NICs that the laboratory emulates.
    pub(crate) fn on_emulated_nics(&self) -> Option<Experiment> {
        self.with(NicSource::Emulated)
    }

    /// The experiment, on a machine's own NICs.
    pub(crate) fn on_own_nics(&self) -> Option<Experiment> {
        self.with(NicSource::Own)
    }

    fn with(&self, nics: NicSource) -> Option<Experiment> {
        experiment_file::reader("experiment", &self.set, nics).read(&self.text).experiment
    }
}
