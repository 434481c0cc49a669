//! Repeats a member of a run while recording what its kernel does, and checks that the recording
//! has changed nothing.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use teiji::StopFlag;
use teiji_core::time::Span;
use teiji_experiment::{Case, Experiment};
use teiji_lab::arch::Arch;
use teiji_lab::cache::available_bytes;
use teiji_lab::kernel::KernelSpec;
use teiji_lab::machine;
use teiji_lab::recorder::Recording;
use teiji_record::summary::Testbed;
use teiji_record::{Manifest, RunFolder};
use teiji_why::document::MemberFlow;
use teiji_why::hooks::{self, Hook};
use teiji_why::path::Finder;
use teiji_why::perfetto::{self, FlowPaths};
use teiji_why::recorded::Builder;
use teiji_why::stream::{Clock, Stream};
use teiji_why::summary::Shown;
use teiji_why::timeline::Timeline;
use teiji_why::{Btf, Symbols};

use crate::causes::{self, subjects, sum_up};
use crate::experiment_file;
use crate::lab::{Hosting, Lab};
use crate::member::{self, MemberFiles};
use crate::progress::{CacheSteps, Progress};
use crate::replay;
use crate::report;
use crate::run::{digest, lab_manifest};

/// What a guest, its files and the recording of its start need on the disk, and what is recorded in a
/// second of a case: about twice of what was seen.
const GUEST_BYTES: u64 = 320_000_000;
const TRACE_BYTES_A_SECOND: u64 = 12_000_000;

/// A disk with less space than this is full.
const RESERVE: u64 = 1_000_000;

/// A run of the laboratory that can be repeated here.
pub struct Repeat {
    folder: RunFolder,
    manifest: Manifest,
    experiment: Experiment,
    lab: Lab,
}

/// Which frames of a member are explained, and where.
pub struct Question<'a> {
    /// Only those of this flow, or of these round trips.
    pub flow: Option<&'a str>,
    /// The frames that are shown.
    pub shown: Shown,
    /// Where a trace for Perfetto is written.
    pub perfetto: Option<&'a Path>,
}

/// What a recorded member did.
struct Trace {
    /// The functions of its kernel.
    symbols: Symbols,
    /// The places that were watched.
    hooks: Vec<Hook>,
    file: PathBuf,
    clock: Clock,
}

impl Trace {
    /// What the processors did.
    fn timeline(&self) -> anyhow::Result<Timeline> {
        let file = File::open(&self.file)
            .with_context(|| format!("cannot read {}", self.file.display()))?;
        let mut builder = Builder::new(&self.hooks, &self.symbols);
        for events in Stream::new(BufReader::with_capacity(1 << 20, file), self.clock) {
            for event in &events.context("the trace cannot be read")? {
                builder.add(event);
            }
        }
        Ok(builder.finish())
    }
}

/// Refuses when the trace of a case may not fit into `dir`.
fn require_space(case: &Case, dir: &Path) -> anyhow::Result<()> {
    const MEGABYTE: u64 = 1_000_000;
    let seconds = case.scenario.duration().as_ns().unsigned_abs() / 1_000_000_000;
    let needed = (GUEST_BYTES + TRACE_BYTES_A_SECOND * seconds) / MEGABYTE;
    // A file system that does not tell is trusted.
    match available_bytes(dir).map(|bytes| bytes / MEGABYTE) {
        Some(free) if free < needed => bail!(
            "recording {} needs {needed} MB in {}, {free} MB are free: make room, or set TMPDIR to a \
             folder on a larger disk",
            case.name,
            dir.parent().unwrap_or(dir).display()
        ),
        _ => Ok(()),
    }
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
        let (experiment, job) = replay::recorded(&folder, &manifest, &[])?;
        let recorded = |key: &str| experiment_file::recorded_argument(&manifest, key);
        let (kernel, modules) = (recorded("--kernel"), recorded("--modules").map(PathBuf::from));
        let kernel = KernelSpec::from_options(kernel.as_deref(), modules.as_deref())?;
        let sources = experiment_file::recorded_sources(&manifest);
        let mut steps = CacheSteps::new(progress);
        let lab = Lab::prepare(&experiment, &job, &kernel, &sources, None, &mut steps)?;
        for case in &experiment.cases {
            let arch = lab.kernel(case).arch;
            if arch != Arch::X86_64 {
                bail!(
                    "the recorder knows guests of amd64 only, and the case `{}` ran on {arch}: measure \
                     it with a kernel for amd64, then ask",
                    case.name
                );
            }
        }
        let here = lab_manifest(&experiment, &manifest.seeds, &lab);
        if let (Some(before), Some(here)) = (&manifest.lab, &here) {
            let other = replay::differences(before, here);
            if !other.is_empty() {
                bail!(
                    "{} cannot be repeated to the last bit: {}; measure again, then ask `why`",
                    run.display(),
                    other.join("; ")
                );
            }
        }
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

    /// Repeats a member and records it: what delayed the frames of its flows and round trips.
    ///
    /// # Errors
    /// If the records are not those of the run: then the recording would explain another one. If
    /// the frame in question has no path, or a file cannot be written.
    pub fn explain(
        &self,
        case: &Case,
        seed: u64,
        question: &Question<'_>,
        stop: &StopFlag,
        progress: &dyn Progress,
    ) -> anyhow::Result<Vec<MemberFlow>> {
        let Question { flow, shown, perfetto } = *question;
        let dir = tempfile::tempdir().context("cannot make a temporary folder")?;
        let trace = self.record(case, seed, dir.path(), stop, progress)?;
        let finder = Finder { timeline: &trace.timeline()?, symbols: &trace.symbols };
        let mut found = Vec::new();
        let mut paths = Vec::new();
        for subject in subjects(&case.scenario) {
            if flow.is_some_and(|flow| flow != subject.name) {
                continue;
            }
            let frames = subject.paths(&finder);
            let mut causes = sum_up(&finder, &frames, shown);
            // Those that the recording has not seen at all.
            let planned = usize::try_from(subject.planned).unwrap_or(0);
            causes.unknown += planned.saturating_sub(frames.len());
            paths.push((subject.name, frames));
            found.push(MemberFlow {
                case: case.name.clone(),
                seed,
                flow: subject.name.to_owned(),
                round_trips: subject.round_trips,
                tracing: None,
                causes,
            });
        }
        if let Some(file) = perfetto {
            let flows: Vec<FlowPaths<'_>> =
                paths.iter().map(|(name, frames)| (*name, frames.as_slice())).collect();
            let written = File::create(file).and_then(|created| {
                let mut out = BufWriter::new(created);
                perfetto::write(&mut out, &finder, &flows)?;
                out.flush()
            });
            written.with_context(|| format!("cannot write {}", file.display()))?;
        }
        let nothing = found.iter().all(|one| one.causes.shown.is_empty());
        if let (Some(flow), Shown::Number(number), true) = (flow, shown, nothing) {
            bail!(
                "{flow}:{number} of {} has no path: it was not sent, it was lost, or no timer woke its sender",
                case.name
            )
        }
        Ok(found)
    }

    /// Repeats a member and records it, into `dir`.
    fn record(
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
        require_space(case, dir)?;
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
        let outcome = self.lab.measure(case, seed, &files, hosting, stop, &mut || {});
        let full = available_bytes(dir).is_some_and(|free| free < RESERVE);
        let outcome = if full {
            outcome.with_context(|| format!("the disk of {} is full", dir.display()))?
        } else {
            outcome?
        };
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
        causes::keep(&self.folder, found)?;
        report::write(&self.folder, &self.manifest, &self.folder.read_summary()?)
    }

    /// Whether the records are those of the run.
    fn compare(&self, repeated: &RunFolder, case: &Case, seed: u64) -> anyhow::Result<()> {
        let of = |folder: &RunFolder| {
            record_names(case, seed).map(|name| digest(&folder.path().join(&name)))
        };
        if of(&self.folder) != of(repeated) {
            bail!(
                "the repeated run of {} seed {seed} has other records than {}: they were changed, or made \
                 with another module, so its frames cannot be explained; measure again",
                case.name,
                self.folder.path().display()
            );
        }
        Ok(())
    }
}
