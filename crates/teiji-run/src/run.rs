//! Runs an experiment: every case at every seed, on the chosen testbed, into a
//! run folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use teiji::StopFlag;
use teiji::load::LoadKind;
use teiji_core::time::Span;
use teiji_experiment::{Case, Experiment};
use teiji_lab::kernel::KernelSpec;
use teiji_lab::machine;
use teiji_net::{Binding, KeeperProgram, SshConnection, real_nic};
use teiji_record::capture::CaptureTail;
use teiji_record::manifest::{self, KernelManifest, Manifest, MissingMember, Replay};
use teiji_record::summary::Testbed;
use teiji_record::{LabManifest, ObservedCase, ObservedCases, RunFolder};
use teiji_remote::SshOptions;
use teiji_why::document::MemberFlow;

use crate::Interrupted;
use crate::causes;
use crate::interruption;
use crate::job::Job;
use crate::lab::{Hosting, Lab, vcpus};
use crate::machines::{Machines, Places, Whole};
use crate::measure::kernel_trace::{self, Why};
use crate::measure::{self, Outcome, Setup, TracedFlow, ptp};
use crate::member::{self, MemberFiles};
use crate::progress::{CacheSteps, PARTS, Progress, parts};
use crate::report;
use crate::summarise;

/// What to run.
pub struct Request {
    /// The experiment, with the cases to run.
    pub experiment: Experiment,
    /// The file's text, kept in the run folder.
    pub text: String,
    /// What the command line overrides in it.
    pub set: Vec<(String, String)>,
    /// Where.
    pub testbed: On,
    /// Background load.
    pub loads: Vec<LoadKind>,
    /// One member of each case for each.
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
    Lab {
        /// The guests' kernel, where a case names no other.
        kernel: KernelSpec,
        /// Folders of kernel modules that are built for it and loaded; one of Teiji's name replaces Teiji's.
        sources: Vec<PathBuf>,
        /// When a guest is given up; `None`: by what it has to do.
        wall_limit: Option<Duration>,
    },
    /// On this machine; on wires that are made, or on its NICs.
    Local {
        /// `HOST=INTERFACE,…`; empty: on wires that are made.
        bind: String,
        /// Take interfaces that are in use.
        take: bool,
        /// Trace the kernel meanwhile, to tell what delays the frames.
        why: Option<Why>,
    },
    /// On several machines, each of which has hosts.
    Machines {
        /// Which hosts are where.
        places: Places,
        /// Take interfaces that are in use.
        take: bool,
        /// Each machine traces its kernel meanwhile.
        why: Option<Why>,
        /// How `ssh` is called.
        ssh: SshOptions,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything was measured, and all requirements are fulfilled.
    Complete,
    /// Everything was measured, and a case does not fulfil what is required of it.
    Unfulfilled,
    /// A part is missing.
    Incomplete,
    /// Stopped before its end.
    Interrupted,
}

/// What came of it.
pub struct Finished {
    /// Its run folder.
    pub folder: RunFolder,
    /// How it ended.
    pub ended: Ended,
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

/// Runs the experiment. What was measured is in the run folder however this
/// ends; an error means that nothing was.
///
/// # Errors
/// If no member was measured, or the run folder cannot be made or written.
pub fn run(
    request: &Request,
    stop: &StopFlag,
    progress: &dyn Progress,
) -> anyhow::Result<Finished> {
    let experiment = &request.experiment;
    let started = SystemTime::now();
    let new = !request.out.exists();
    // First of all: where nothing can be written, nothing is fetched.
    let folder = RunFolder::create(&request.out, &folder_time(started), &experiment.name)?;
    let preparation = interruption::prepare(folder.path(), new);
    let bench = Bench::prepare(request, progress).inspect_err(|_| {
        // What is refused leaves nothing behind.
        interruption::abandon_preparation();
    })?;
    drop(preparation);
    folder.write_experiment(&request.text)?;
    let manifest = first_manifest(request, &bench, started);
    folder.write_manifest(&manifest)?;
    let members: Vec<Member<'_>> = experiment
        .cases
        .iter()
        .flat_map(|case| request.seeds.iter().map(move |&seed| (case, seed)))
        .enumerate()
        .map(|(index, (case, seed))| Member { index, case, seed })
        .collect();
    let manifest = Mutex::new(manifest);
    let results = measure_all(request, &bench, &folder, &members, &manifest, stop, progress);
    let mut manifest = manifest.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut failures = Vec::new();
    for (member, result) in members.iter().zip(results) {
        match result {
            Some(Ok(())) => {}
            Some(Err(error)) => failures.push((member, error)),
            None => failures.push((member, anyhow!("not run"))),
        }
    }
    if failures.len() == members.len() {
        return Err(nothing_measured(&bench, &folder, failures, stop.is_stopped()));
    }
    manifest.finished = Some(rfc3339(SystemTime::now()));
    manifest.interrupted = stop.is_stopped();
    let missing = |(member, error): &(&Member<'_>, anyhow::Error)| MissingMember {
        case: member.case.name.clone(),
        seed: member.seed,
        why: format!("{error:#}"),
    };
    manifest.missing = failures.iter().map(missing).collect();
    folder.write_manifest(&manifest)?;
    let summary = summarise::summarise(&folder, &manifest, experiment, None)?;
    folder.write_summary(&summary)?;
    folder.mark_latest()?;
    let members = || summary.cases.iter().flat_map(|case| &case.members);
    let ended = if manifest.interrupted {
        Ended::Interrupted
    } else if !failures.is_empty() || members().any(|member| member.incomplete) {
        Ended::Incomplete
    } else if summary.verdicts.iter().any(|verdict| !verdict.holds) {
        Ended::Unfulfilled
    } else {
        Ended::Complete
    };
    Ok(Finished { folder, ended })
}

/// Why there is no result. A laboratory's consoles, which tell more, are kept.
fn nothing_measured(
    bench: &Bench,
    folder: &RunFolder,
    failures: Vec<(&Member<'_>, anyhow::Error)>,
    stopped: bool,
) -> anyhow::Error {
    let kept = match bench {
        Bench::Lab(_) => format!("; the guests' consoles are in {}", report::shown(folder.path())),
        Bench::Local { .. } | Bench::Machines { .. } => match fs::remove_dir_all(folder.path()) {
            Ok(()) => String::new(),
            Err(error) => format!("; cannot remove {}: {error}", folder.path().display()),
        },
    };
    if stopped {
        let sentence = format!("interrupted before anything was measured{kept}");
        return Interrupted(sentence).into();
    }
    match failures.into_iter().next() {
        Some((member, error)) => error.context(format!("case {} failed{kept}", member.name(false))),
        None => anyhow!("the experiment has no cases"),
    }
}

/// The prepared testbed.
enum Bench {
    Lab(Box<Lab>),
    Local { bindings: Vec<Binding>, take: bool, why: Option<Why> },
    Machines { machines: Box<Mutex<Machines>>, take: bool, why: Option<Why> },
}

impl Bench {
    fn prepare(request: &Request, progress: &dyn Progress) -> anyhow::Result<Self> {
        match &request.testbed {
            On::Lab { kernel, sources, wall_limit } => {
                let mut steps = CacheSteps::new(progress);
                let job = job(request);
                let experiment = &request.experiment;
                let lab = Lab::prepare(experiment, &job, kernel, sources, *wall_limit, &mut steps)?;
                Ok(Self::Lab(Box::new(lab)))
            }
            On::Local { bind, take, why } => {
                let bindings = request
                    .experiment
                    .cases
                    .iter()
                    .map(|case| Binding::parse(bind, &case.scenario))
                    .collect::<Result<Vec<Binding>, _>>()?;
                let ssh = SshConnection::current();
                for interface in bindings.iter().flat_map(Binding::interfaces) {
                    real_nic::look(interface, *take, ssh.as_ref())?;
                }
                for (case, binding) in request.experiment.cases.iter().zip(&bindings) {
                    ptp::check(&case.scenario, binding, false)?;
                }
                if why.is_some() {
                    kernel_trace::check()?;
                }
                Ok(Self::Local { bindings, take: *take, why: *why })
            }
            On::Machines { places, take, why, ssh } => {
                for case in &request.experiment.cases {
                    places.parts(&case.scenario)?;
                }
                let machines = Machines::connect(places, ssh, progress)?;
                let machines = Box::new(Mutex::new(machines));
                Ok(Self::Machines { machines, take: *take, why: *why })
            }
        }
    }

    fn testbed(&self) -> Testbed {
        match self {
            Self::Lab(_) => Testbed::Lab,
            Self::Local { .. } => Testbed::Local,
            Self::Machines { machines, .. } => {
                let machines = machines.lock().unwrap_or_else(PoisonError::into_inner);
                if machines.are_several() { Testbed::Machines } else { Testbed::Machine }
            }
        }
    }
}

/// What measures elsewhere needs of it.
fn job(request: &Request) -> Job {
    Job { text: request.text.clone(), set: request.set.clone(), loads: request.loads.clone() }
}

/// Measures all members, several at a time in the laboratory; records and manifest are written
/// as soon as one has ended. `None`: not begun, because a stop was requested.
fn measure_all(
    request: &Request,
    bench: &Bench,
    folder: &RunFolder,
    members: &[Member<'_>],
    manifest: &Mutex<Manifest>,
    stop: &StopFlag,
    progress: &dyn Progress,
) -> Vec<Option<anyhow::Result<()>>> {
    let workers = match bench {
        Bench::Lab(_) => request.jobs.clamp(1, members.len().max(1)),
        Bench::Local { .. } | Bench::Machines { .. } => 1,
    };
    let cpus = teiji_sys::sched::allowed_cpus();
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<anyhow::Result<()>>>> =
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
                    let result = measure_one(request, bench, folder, *member, cpu, stop, progress)
                        .and_then(|observed| {
                            let mut manifest =
                                manifest.lock().unwrap_or_else(PoisonError::into_inner);
                            manifest.observed.insert(&member.case.name, member.seed, observed);
                            Ok(folder.write_manifest(&manifest)?)
                        });
                    if let Ok(mut results) = results.lock() {
                        results[member.index] = Some(result);
                    }
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Measures one member and writes its records.
fn measure_one(
    request: &Request,
    bench: &Bench,
    folder: &RunFolder,
    member: Member<'_>,
    cpu: Option<u16>,
    stop: &StopFlag,
    progress: &dyn Progress,
) -> anyhow::Result<ObservedCase> {
    let Member { case, seed, .. } = member;
    let frames: u64 = case.scenario.flows.iter().map(|flow| flow.frames).sum::<u64>().max(1);
    let name = member.name(request.seeds.len() == 1);
    let (mut outcome, captures, resolution): (Outcome, Vec<Option<PathBuf>>, _) = match bench {
        Bench::Lab(lab) => {
            let files = MemberFiles::of(folder, case, seed);
            let bar = progress.step(&name, frames);
            let mut tails: Vec<CaptureTail> =
                files.captures.iter().flatten().map(|path| CaptureTail::new(path)).collect();
            let mut tick = || {
                // A capture that cannot be read shows no progress; the import
                // afterwards says why.
                bar.set(tails.iter_mut().map(|t| t.poll().unwrap_or(0)).sum());
            };
            let hosting = Hosting { cpu, ..Hosting::default() };
            let outcome = lab.measure(case, seed, &files, hosting, stop, &mut tick)?;
            let resolution = Span::from_ns(machine::CAPTURE_RESOLUTION_NS);
            (outcome, files.captures, Some(resolution))
        }
        Bench::Local { bindings, take, why } => {
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
                why: *why,
                others: None,
                stop,
            };
            let outcome = measure::case(&setup, Some(&mut |done| bar.set(parts(done))))?;
            (outcome, Vec::new(), None)
        }
        Bench::Machines { machines, take, why } => {
            let bar = progress.step(&name, PARTS);
            let (take, why) = (*take, *why);
            let whole = Whole { job: job(request), case: case.name.clone(), seed, take, why };
            let mut machines = machines.lock().unwrap_or_else(PoisonError::into_inner);
            let mut tick = |done| bar.set(parts(done));
            let outcome = machines.measure(&case.scenario, &whole, stop, &mut tick)?;
            (outcome, Vec::new(), None)
        }
    };
    let found: Vec<MemberFlow> = std::mem::take(&mut outcome.traced)
        .into_iter()
        .map(|TracedFlow { flow, round_trips, tracing, causes }| MemberFlow {
            case: case.name.clone(),
            seed,
            flow,
            round_trips,
            tracing: Some(tracing),
            causes,
        })
        .collect();
    if !found.is_empty() {
        causes::keep(folder, &found)?;
    }
    member::record(folder, &request.experiment, case, seed, outcome, &captures, resolution)
}

fn first_manifest(request: &Request, bench: &Bench, started: SystemTime) -> Manifest {
    let lab = match bench {
        Bench::Lab(lab) => lab_manifest(&request.experiment, &request.seeds, lab),
        Bench::Local { .. } | Bench::Machines { .. } => None,
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
        interrupted: false,
        missing: Vec::new(),
        lab,
        observed: ObservedCases::default(),
        replay: Some(Replay {
            arguments: request.arguments.clone(),
            of: request.replay_of.clone(),
        }),
    }
}

/// Of a file's contents; `None` if it cannot be read.
pub(crate) fn digest(file: &Path) -> Option<String> {
    std::fs::read(file).ok().map(|bytes| manifest::sha256_of(&bytes))
}

/// Of the first case; what differs in the others is among what was observed.
pub(crate) fn lab_manifest(
    experiment: &Experiment,
    seeds: &[u64],
    lab: &Lab,
) -> Option<LabManifest> {
    let first = experiment.cases.first()?;
    let kernel = lab.kernel(first);
    let seed = seeds.first();
    let qemu_command = seed.map(|&seed| lab.command_line(first, seed)).unwrap_or_default();
    Some(LabManifest {
        kernel: KernelManifest {
            package: kernel.package.as_ref().map(|p| format!("{} {}", p.name, p.version)),
            release: kernel.release.clone(),
            sha256: kernel.image_sha256.clone(),
        },
        qemu: lab.qemu(first).version.to_string(),
        program_sha256: digest(lab.program(first)),
        initramfs_sha256: digest(lab.initramfs(first)),
        qemu_command,
        cpus: experiment.cases.iter().map(|c| vcpus(&c.scenario)).max().unwrap_or(1),
        icount_shift: first.instruction.shift(),
        slowdown: first.instruction.slowdown(),
        seed_meaning: "phase of the first departure within the kernel's tick, bus slots of the \
                       NICs, QEMU's random numbers"
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
