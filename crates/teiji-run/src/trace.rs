//! Repeats a member of a run while recording what its kernel does, and checks that the recording
//! has changed nothing.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use teiji::StopFlag;
use teiji_core::time::Span;
use teiji_experiment::{Case, Experiment};
use teiji_lab::kernel::KernelSpec;
use teiji_lab::machine;
use teiji_lab::recorder::Recording;
use teiji_record::summary::Testbed;
use teiji_record::{Manifest, RunFolder, json};
use teiji_why::document::{Causes, MemberFlow};
use teiji_why::hooks::{self, Hook};
use teiji_why::stream::{Clock, Stream};
use teiji_why::{Btf, Symbols};

use crate::experiment_file;
use crate::lab::{Hosting, Lab};
use crate::member::{self, MemberFiles};
use crate::progress::{CacheSteps, Progress};
use crate::replay;
use crate::report;
use crate::run::digest;

/// A run of the laboratory that can be repeated here.
pub struct Repeat {
    folder: RunFolder,
    manifest: Manifest,
    experiment: Experiment,
    lab: Lab,
}

/// What a recorded member did.
pub struct Trace {
    /// The functions of its kernel.
    pub symbols: Symbols,
    /// The places that were watched.
    pub hooks: Vec<Hook>,
    file: PathBuf,
    clock: Clock,
}

impl Trace {
    /// Its events, from the beginning.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn stream(&self) -> anyhow::Result<Stream<BufReader<File>>> {
        let file = File::open(&self.file)
            .with_context(|| format!("cannot read {}", self.file.display()))?;
        Ok(Stream::new(BufReader::with_capacity(1 << 20, file), self.clock))
    }
}

/// What was found about a run so far.
///
/// # Errors
/// If `causes.json` cannot be read.
pub fn causes(folder: &RunFolder) -> anyhow::Result<Causes> {
    let path = folder.causes_path();
    if !path.exists() {
        return Ok(Causes::default());
    }
    json::read(&path, Causes::SCHEMA).context("remove the file, and run `teiji why` again")
}

/// The files with records of a case at a seed, of which one may be missing.
fn record_names(case: &Case, seed: u64) -> [String; 2] {
    [RunFolder::records_name(&case.name, seed), RunFolder::rounds_name(&case.name, seed)]
}

impl Repeat {
    /// Prepares the laboratory as it was for the run.
    ///
    /// # Errors
    /// If it was no run of the laboratory, or what it needs cannot be fetched.
    pub fn prepare(run: &Path, progress: &dyn Progress) -> anyhow::Result<Self> {
        let (folder, manifest) = RunFolder::open(run)?;
        if manifest.testbed != Testbed::Lab {
            bail!(
                "{} was not measured in the laboratory, so it cannot be repeated to the last bit",
                run.display()
            );
        }
        let measured_by = manifest.lab.as_ref().and_then(|lab| lab.program_sha256.clone());
        if measured_by.is_some() && measured_by != digest("/proc/self/exe".as_ref()) {
            bail!(
                "{} was measured by another build of teiji, whose guests execute other \
                 instructions: measure again with this one, then ask",
                run.display()
            );
        }
        let (experiment, job) = replay::recorded(&folder, &manifest, &[])?;
        let recorded = |key: &str| experiment_file::recorded_argument(&manifest, key);
        let (kernel, modules) = (recorded("--kernel"), recorded("--modules").map(PathBuf::from));
        let kernel = KernelSpec::from_options(kernel.as_deref(), modules.as_deref())?;
        let mut steps = CacheSteps::new(progress);
        let lab = Lab::prepare(&experiment, &job, &kernel, None, &mut steps)?;
        Ok(Self { folder, manifest, experiment, lab })
    }

    /// The cases of the run.
    pub fn cases(&self) -> &[Case] {
        &self.experiment.cases
    }

    /// The seeds of the run.
    pub fn seeds(&self) -> &[u64] {
        &self.manifest.seeds
    }

    /// Repeats a member and records it, into `dir`.
    ///
    /// # Errors
    /// If the records are not those of the run: then the recording would explain another one.
    pub fn record(
        &self,
        case: &Case,
        seed: u64,
        dir: &Path,
        stop: &StopFlag,
        progress: &dyn Progress,
    ) -> anyhow::Result<Trace> {
        if !record_names(case, seed).iter().any(|name| self.folder.path().join(name).is_file()) {
            bail!(
                "{} has no records of {} seed {seed} (interrupted?)",
                self.folder.path().display(),
                case.name
            );
        }
        let raw = self.lab.symbols(case, seed, stop)?;
        let (length, rest) = raw.split_first_chunk().context("the guest has left no symbols")?;
        let length = u32::from_le_bytes(*length) as usize;
        let (kallsyms, btf) = rest.split_at_checked(length).context("its symbols end early")?;
        let symbols = Symbols::parse(&String::from_utf8_lossy(kallsyms));
        let hooks = hooks::hooks(&symbols, &Btf::parse(btf)?)?;
        let recording = Recording { hooks: dir.join("hooks"), out: dir.join("trace") };
        fs::write(&recording.hooks, hooks::text(&hooks, &symbols))
            .context("cannot write the hooks")?;
        let folder = RunFolder::create(dir, "repeated", &self.experiment.name)?;
        let files = MemberFiles::of(&folder, case, seed);
        let bar = progress.step(&format!("{} seed {seed}, recorded", case.name), 1);
        let hosting = Hosting { recording: Some(&recording), ..Hosting::default() };
        let outcome = self.lab.measure(case, seed, &files, hosting, stop, &mut || {})?;
        let resolution = Span::from_ns(machine::CAPTURE_RESOLUTION_NS);
        let captures = &files.captures;
        member::record(&folder, &self.experiment, case, seed, outcome, captures, Some(resolution))?;
        bar.set(1);
        self.compare(&folder, case, seed)?;
        let clock = Clock {
            instruction_ps: i64::from(case.instruction.as_ps()),
            ticks_per_ns: i64::from(case.instruction.slowdown()),
        };
        Ok(Trace { symbols, hooks, file: recording.out, clock })
    }

    /// Keeps what was found in the run folder, and writes its report again.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn keep(&self, found: &[MemberFlow]) -> anyhow::Result<()> {
        let mut causes = causes(&self.folder)?;
        for flow in found {
            causes.put(flow.clone());
        }
        json::write(&self.folder.causes_path(), &causes)?;
        report::write(&self.folder, &self.manifest, &self.folder.read_summary()?)
    }

    /// Whether the records are those of the run.
    fn compare(&self, repeated: &RunFolder, case: &Case, seed: u64) -> anyhow::Result<()> {
        let of = |folder: &RunFolder| {
            record_names(case, seed).map(|name| digest(&folder.path().join(&name)))
        };
        if of(&self.folder) != of(repeated) {
            bail!(
                "the repeated run of {} seed {seed} has other records than {}: it was made with \
                 another kernel or QEMU, so its frames cannot be explained; measure again",
                case.name,
                self.folder.path().display()
            );
        }
        Ok(())
    }
}
