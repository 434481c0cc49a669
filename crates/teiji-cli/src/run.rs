//! Runs an experiment: every case at every seed, on the chosen testbed, into a
//! run folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use teiji::StopFlag;
use teiji::load::LoadKind;
use teiji_core::time::Span;
use teiji_experiment::{Case, Experiment, Nic};
use teiji_lab::kernel::KernelSpec;
use teiji_lab::machine;
use teiji_net::{Binding, KeeperProgram, SshConnection, card};
use teiji_record::capture::CaptureTail;
use teiji_record::manifest::{self, KernelManifest, Manifest, Replay};
use teiji_record::summary::{self, Testbed};
use teiji_record::{CaseSummary, LabManifest, MemberSummary, RunFolder, Summary};

use crate::exit::{Exit, WithExit};
use crate::guest::Job;
use crate::judgement;
use crate::lab::{Lab, MemberFiles, vcpus};
use crate::limits;
use crate::measure::{self, Setup};
use crate::member;
use crate::outcome::Outcome;
use crate::progress::{PARTS, Progress, parts};
use crate::publish;
use crate::saturation;

/// What to run.
pub struct Request {
    pub experiment: Experiment,
    /// The file's text, kept in the run folder.
    pub text: String,
    /// What the command line overrides in it.
    pub set: Vec<(String, String)>,
    pub testbed: On,
    /// Background load.
    pub loads: Vec<LoadKind>,
    pub seeds: Vec<u64>,
    /// Members at a time, in the laboratory.
    pub jobs: usize,
    /// The folder of run folders.
    pub out: PathBuf,
    /// Arguments that repeat the run, without the experiment file.
    pub arguments: Vec<String>,
    /// The run folder this run replays.
    pub replay_of: Option<String>,
}

/// Where to run.
pub enum On {
    /// In the laboratory.
    Lab { kernel: KernelSpec, wall_limit: Option<Duration> },
    /// On this machine; with `bind` on its cards, with `take` also on those in use.
    Local { bind: String, take: bool },
}

/// What came of it.
pub struct Finished {
    pub folder: RunFolder,
    pub exit: Exit,
}

/// One case at one seed.
#[derive(Clone, Copy)]
struct Member<'a> {
    index: usize,
    case: &'a Case,
    seed: u64,
}

impl Member<'_> {
    fn name(&self, alone: bool) -> String {
        if alone {
            self.case.name.clone()
        } else {
            format!("{} seed {}", self.case.name, self.seed)
        }
    }
}

/// What a member left: its summary, what was observed, and warnings.
struct Measured {
    summary: MemberSummary,
    observed: serde_json::Value,
    warnings: Vec<String>,
}

/// Runs the experiment. What was measured is in the run folder however this
/// ends; an error means that nothing was.
pub fn run(request: &Request, stop: &StopFlag, progress: &Progress) -> anyhow::Result<Finished> {
    let experiment = &request.experiment;
    let started = SystemTime::now();
    let new = !request.out.exists();
    // First of all: where nothing can be written, nothing is fetched.
    let folder = RunFolder::create(&request.out, &folder_time(started), &experiment.name)?;
    let bench = match Bench::prepare(request, progress) {
        Ok(bench) => bench,
        Err(error) => {
            // What is refused leaves nothing behind; the error says why, which counts more.
            let _ = fs::remove_dir_all(folder.path());
            if new {
                let _ = fs::remove_dir(&request.out);
            }
            return Err(error);
        }
    };
    folder.write_experiment(&request.text)?;
    let mut manifest = first_manifest(request, &bench, started);
    folder.write_manifest(&manifest)?;
    let members: Vec<Member<'_>> = experiment
        .cases
        .iter()
        .flat_map(|case| request.seeds.iter().map(move |&seed| (case, seed)))
        .enumerate()
        .map(|(index, (case, seed))| Member { index, case, seed })
        .collect();
    let results = measure_all(request, &bench, &folder, &members, stop, progress);
    let mut failures = Vec::new();
    let mut measured = BTreeMap::new();
    for (member, result) in members.iter().zip(results) {
        match result {
            Some(Ok(result)) => {
                manifest.observed.insert(
                    format!("{}-s{}", member.case.name, member.seed),
                    result.observed.clone(),
                );
                measured.insert(member.index, result);
            }
            Some(Err(error)) => failures.push((member.name(false), error)),
            None => failures.push((member.name(false), anyhow!("not run"))),
        }
    }
    if measured.is_empty() {
        return Err(nothing_measured(&bench, &folder, failures, stop.is_stopped()));
    }
    manifest.finished = Some(rfc3339(SystemTime::now()));
    folder.write_manifest(&manifest)?;
    let complete = failures.is_empty() && measured.values().all(|m| !m.summary.incomplete);
    let summary = summarise(request, &bench, measured, &failures, stop.is_stopped());
    folder.write_summary(&summary)?;
    folder.mark_latest()?;
    let exit = if stop.is_stopped() {
        Exit::Interrupted
    } else if !complete {
        Exit::Incomplete
    } else if summary.verdicts.iter().any(|verdict| !verdict.holds) {
        Exit::Unfulfilled
    } else {
        Exit::Success
    };
    Ok(Finished { folder, exit })
}

/// Why there is no result. A laboratory's consoles, which tell more, are kept.
fn nothing_measured(
    bench: &Bench,
    folder: &RunFolder,
    failures: Vec<(String, anyhow::Error)>,
    stopped: bool,
) -> anyhow::Error {
    let kept = match bench {
        Bench::Lab(_) => format!("; the guests' consoles are in {}", publish::shown(folder.path())),
        Bench::Local { .. } => match fs::remove_dir_all(folder.path()) {
            Ok(()) => String::new(),
            Err(error) => format!("; cannot remove {}: {error}", folder.path().display()),
        },
    };
    if stopped {
        let sentence = format!("interrupted before anything was measured{kept}");
        return WithExit(Exit::Interrupted, sentence).into();
    }
    let (name, error) =
        failures.into_iter().next().unwrap_or_else(|| (String::new(), anyhow!("no members")));
    error.context(format!("case {name} failed{kept}"))
}

/// The prepared testbed.
enum Bench {
    Lab(Box<Lab>),
    Local { bindings: Vec<Binding>, emulated: bool, take: bool },
}

impl Bench {
    fn prepare(request: &Request, progress: &Progress) -> anyhow::Result<Self> {
        match &request.testbed {
            On::Lab { kernel, wall_limit } => {
                let mut steps = progress.cache_steps();
                let job = Job {
                    text: request.text.clone(),
                    set: request.set.clone(),
                    loads: request.loads.clone(),
                };
                let lab = Lab::prepare(&request.experiment, &job, kernel, *wall_limit, &mut steps)?;
                Ok(Self::Lab(Box::new(lab)))
            }
            On::Local { bind, take } => {
                let bindings = request
                    .experiment
                    .cases
                    .iter()
                    .map(|case| Binding::parse(bind, &case.scenario))
                    .collect::<Result<Vec<Binding>, _>>()?;
                let ssh = SshConnection::current();
                for interface in bindings.iter().flat_map(Binding::interfaces) {
                    card::look(interface, *take, ssh.as_ref())?;
                }
                Ok(Self::Local { bindings, emulated: bind.is_empty(), take: *take })
            }
        }
    }

    fn testbed(&self) -> Testbed {
        match self {
            Self::Lab(_) => Testbed::Lab,
            Self::Local { .. } => Testbed::Local,
        }
    }
}

/// Measures all members, several at a time in the laboratory. `None`: not
/// begun, because somebody asked to stop.
fn measure_all(
    request: &Request,
    bench: &Bench,
    folder: &RunFolder,
    members: &[Member<'_>],
    stop: &StopFlag,
    progress: &Progress,
) -> Vec<Option<anyhow::Result<Measured>>> {
    let workers = match bench {
        Bench::Lab(_) => request.jobs.clamp(1, members.len().max(1)),
        Bench::Local { .. } => 1,
    };
    let cpus = teiji_sys::sched::allowed_cpus();
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<anyhow::Result<Measured>>>> =
        Mutex::new(members.iter().map(|_| None).collect());
    thread::scope(|scope| {
        for worker in 0..workers {
            // Each worker's machines have a CPU of their own.
            let cpu = cpus.get(worker % cpus.len().max(1)).copied();
            let (next, results) = (&next, &results);
            scope.spawn(move || {
                while let Some(member) = members.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if stop.is_stopped() {
                        return;
                    }
                    let result = measure_one(request, bench, folder, *member, cpu, stop, progress);
                    if let Ok(mut results) = results.lock() {
                        results[member.index] = Some(result);
                    }
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn measure_one(
    request: &Request,
    bench: &Bench,
    folder: &RunFolder,
    member: Member<'_>,
    cpu: Option<u16>,
    stop: &StopFlag,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    let Member { case, seed, .. } = member;
    let frames: u64 = case.scenario.flows.iter().map(|flow| flow.frames).sum::<u64>().max(1);
    let name = member.name(request.seeds.len() == 1);
    let (outcome, captures, resolution): (_, Vec<Option<PathBuf>>, _) = match bench {
        Bench::Lab(lab) => {
            let files = member_files(folder, member);
            let bar = progress.step(&name, frames);
            let mut tails: Vec<CaptureTail> =
                files.captures.iter().flatten().map(|path| CaptureTail::new(path)).collect();
            let mut tick = || {
                // A capture that cannot be read shows no progress; the import
                // afterwards says why.
                bar.set(tails.iter_mut().map(|t| t.poll().unwrap_or(0)).sum());
            };
            let outcome = lab.measure(case, seed, &files, cpu, stop, &mut tick)?;
            let resolution = Span::from_ns(machine::CAPTURE_RESOLUTION_NS);
            (outcome, files.captures, Some(resolution))
        }
        Bench::Local { bindings, take, .. } => {
            let at = request.experiment.cases.iter().position(|c| c.name == case.name).unwrap_or(0);
            let bar = progress.step(&name, PARTS);
            let setup = Setup {
                scenario: &case.scenario,
                binding: &bindings[at],
                seed,
                keeper: KeeperProgram::ThisProgram,
                take: *take,
                own_machine: false,
                loads: &request.loads,
                stop,
            };
            let outcome = measure::case(&setup, Some(&mut |done| bar.set(parts(done))))?;
            (outcome, Vec::new(), None)
        }
    };
    finish(request, folder, bench.testbed(), member, &outcome, &captures, resolution)
}

fn finish(
    request: &Request,
    folder: &RunFolder,
    testbed: Testbed,
    member: Member<'_>,
    outcome: &Outcome,
    captures: &[Option<PathBuf>],
    resolution: Option<Span>,
) -> anyhow::Result<Measured> {
    let (summary, mut warnings) = member::record(
        folder,
        &request.experiment,
        member.case,
        member.seed,
        outcome,
        captures,
        resolution,
    )?;
    let loads = outcome.observed()?.loads;
    warnings.extend(saturation::warning(member.case, &summary, &loads, testbed));
    let case = &member.case.name;
    warnings.extend(outcome.warnings.iter().map(|said| format!("Case {case}: {said}")));
    warnings.extend(outcome.differences.iter().map(|said| format!("Case {case}: {said}.")));
    Ok(Measured { summary, observed: outcome.observed_value()?, warnings })
}

fn member_files(folder: &RunFolder, member: Member<'_>) -> MemberFiles {
    let Member { case, seed, .. } = member;
    let path = |name: String| folder.path().join(name);
    let wires = &case.scenario.wires;
    let captures = wires
        .iter()
        .enumerate()
        .map(|(index, wire)| match (wire.nic, index) {
            (Nic::Vtsn, _) => None,
            (_, 0) => Some(path(RunFolder::capture_name(&case.name, seed))),
            _ => Some(path(RunFolder::capture_name(&format!("{}-{}", case.name, wire.name), seed))),
        })
        .collect();
    MemberFiles { console: path(RunFolder::console_name(&case.name, seed)), captures }
}

fn summarise(
    request: &Request,
    bench: &Bench,
    mut measured: BTreeMap<usize, Measured>,
    failures: &[(String, anyhow::Error)],
    stopped: bool,
) -> Summary {
    let experiment = &request.experiment;
    let mut warnings = Vec::new();
    if stopped {
        warnings.push("The run was interrupted; it shows what was measured until then.".to_owned());
    }
    for (name, error) in failures {
        let why = format!("{error:#}");
        // Some errors are several sentences.
        warnings.push(format!("Case {name} is missing: {}.", why.trim_end_matches('.')));
    }
    for member in measured.values_mut() {
        for warning in member.warnings.drain(..) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    let emulated = matches!(bench, Bench::Local { emulated: true, .. });
    warnings.push(limits::caveat(bench.testbed() == Testbed::Lab, emulated.then_some(experiment)));
    let per_case = request.seeds.len();
    let members_of = |case_index: usize| {
        let first = case_index * per_case;
        measured.range(first..first + per_case).map(|(_, m)| (&m.summary, &m.observed))
    };
    let judged: Vec<judgement::Measured<'_>> = experiment
        .cases
        .iter()
        .enumerate()
        .map(|(index, case)| (case, members_of(index).collect()))
        .collect();
    let (verdicts, ranking) = judgement::of(&experiment.judge, &judged);
    let cases = experiment
        .cases
        .iter()
        .enumerate()
        .map(|(case_index, case)| CaseSummary {
            name: case.name.clone(),
            about: case.about.clone(),
            paper_result: case.paper_result.clone(),
            members: (0..per_case)
                .filter_map(|seed| measured.remove(&(case_index * per_case + seed)))
                .map(|member| member.summary)
                .collect(),
        })
        .collect();
    Summary {
        schema: summary::SCHEMA.to_owned(),
        experiment: experiment.name.clone(),
        question: experiment.question.clone(),
        judge: experiment.judge.clone(),
        background: experiment.background(),
        paper: experiment.paper.clone(),
        paper_differences: experiment.paper_differences.clone(),
        testbed: bench.testbed(),
        cases,
        periodic: Vec::new(),
        warnings,
        verdicts,
        ranking,
    }
}

fn first_manifest(request: &Request, bench: &Bench, started: SystemTime) -> Manifest {
    let lab = match bench {
        Bench::Lab(lab) => lab_manifest(request, lab),
        Bench::Local { .. } => None,
    };
    Manifest {
        schema: manifest::SCHEMA.to_owned(),
        teiji: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: request.experiment.name.clone(),
        experiment_sha256: manifest::sha256_of(request.text.as_bytes()),
        command: std::env::args().collect(),
        testbed: bench.testbed(),
        seeds: request.seeds.clone(),
        cases: request.experiment.cases.iter().map(|case| case.name.clone()).collect(),
        started: rfc3339(started),
        finished: None,
        lab,
        settings: BTreeMap::new(),
        observed: BTreeMap::new(),
        replay: Some(Replay {
            arguments: request.arguments.clone(),
            of: request.replay_of.clone(),
        }),
    }
}

fn digest(file: &Path) -> Option<String> {
    std::fs::read(file).ok().map(|bytes| manifest::sha256_of(&bytes))
}

/// Of the first case; what differs in the others is among what was observed.
fn lab_manifest(request: &Request, lab: &Lab) -> Option<LabManifest> {
    let first = request.experiment.cases.first()?;
    let kernel = lab.kernel(first);
    let seed = request.seeds.first();
    let qemu_command = seed.map(|&seed| lab.command_line(first, seed)).unwrap_or_default();
    Some(LabManifest {
        kernel: KernelManifest {
            package: kernel.package.as_ref().map(|p| format!("{} {}", p.name, p.version)),
            release: kernel.release.clone(),
            sha256: kernel.image_sha256.clone(),
        },
        qemu: lab.qemu.version.to_string(),
        program_sha256: digest("/proc/self/exe".as_ref()),
        initramfs_sha256: digest(lab.initramfs(first)),
        qemu_command,
        cpus: request.experiment.cases.iter().map(|c| vcpus(&c.scenario)).max().unwrap_or(1),
        icount_shift: first.instruction.shift(),
        slowdown: first.instruction.slowdown(),
        seed_meaning: "phase of the first departure within the kernel's tick, slots of the cards \
                       on the bus, QEMU's random numbers"
            .to_owned(),
    })
}

fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

/// `2026-11-21T09-30-05`, sorts by time and needs no quoting.
fn folder_time(time: SystemTime) -> String {
    rfc3339(time).trim_end_matches('Z').replace(':', "-")
}
