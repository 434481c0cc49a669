//! A margin measured on a flow of an experiment, through the same path as
//! `teiji run`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use teiji::StopFlag;
use teiji::load::{LoadKind, LoadReport};
use teiji_core::time::Span;
use teiji_experiment::{Case, Experiment, Flow, SendMode, reader::NicSource};
use teiji_lab::kernel::KernelSpec;
use teiji_net::Binding;
use teiji_record::nic_count::NicProblem;
use teiji_record::{ObservedCase, RunFolder};
use teiji_stats::{Misses, Stations};

use super::text::{checks, ns, place, recommendation};
use super::{Bench, Etf, Findings, Member, Trial};
use crate::Interrupted;
use crate::experiment_file;
use crate::progress::Progress;
use crate::report;
use crate::run::{self, Ended, Finished, On, Request};
use crate::summarise::nics;

/// Members of a run. One is one sample of how a machine starts and settles: its
/// frames say little of another one's.
const MEMBERS: u64 = 4;

/// A flow with a launch time, the case it is in, and where that runs.
pub struct FlowBench<'a> {
    wanted: Wanted<'a>,
    seeds: Vec<u64>,
    chosen: Chosen,
    /// The folder of the last run of the search.
    last: RefCell<Option<PathBuf>>,
}

/// What the file says about the flow.
struct Chosen {
    experiment: String,
    case: Case,
    flow: Flow,
    id: u16,
    delta: Span,
    /// Where the ETF's delta is written, and where the flow's keys are.
    delta_path: String,
    flow_path: String,
    seed: u64,
}

impl Chosen {
    /// The flow to measure: the named one, or the first that has a launch time.
    fn from(
        experiment: &Experiment,
        case: Option<&str>,
        flow: Option<&str>,
    ) -> anyhow::Result<Self> {
        let cases = experiment_file::choose_cases(
            experiment,
            &case.map(str::to_owned).into_iter().collect::<Vec<_>>(),
        )?;
        for case in &cases {
            for (id, candidate) in (0..).zip(&case.scenario.flows) {
                let named = flow.is_none_or(|name| name == candidate.name);
                let timed = matches!(candidate.mode, SendMode::LaunchTime { .. });
                if let (true, true, Some((delta, path))) = (named, timed, etf(case, candidate)) {
                    let alone = experiment.cases.len() == 1 && case.name == "default";
                    let prefix =
                        if alone { String::new() } else { format!("cases.{}.", case.name) };
                    return Ok(Self {
                        experiment: experiment.name.clone(),
                        case: case.clone(),
                        flow: candidate.clone(),
                        id,
                        delta,
                        delta_path: format!("{prefix}{path}.delta"),
                        flow_path: format!("{prefix}flows.{}", candidate.name),
                        seed: experiment.seed,
                    });
                }
            }
        }
        bail!(
            "no flow here has a launch time and passes an ETF, so it has no margin; write \
             `mode = \"launch-time\"` and a class of `kind = \"etf\"` (docs/experiments.md)"
        )
    }
}

/// The delta of the ETF that a flow passes, and the path of its table.
fn etf(case: &Case, flow: &Flow) -> Option<(Span, String)> {
    let port = case.scenario.port(&flow.from, &flow.wire)?;
    let qdisc = port.qdisc.as_ref()?;
    let etf = qdisc.etf_of(flow.priority)?;
    let table = format!("hosts.{}.ports.{}.qdisc", flow.from, flow.wire);
    let path = match qdisc.class_of(flow.priority) {
        None => table,
        Some(class) => format!("{table}.classes.{class}"),
    };
    Some((etf.delta, path))
}

/// How a bench is requested.
pub struct Wanted<'a> {
    /// What the file is called in messages.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Values that are overridden in it: paths and values.
    pub overrides: Vec<(String, String)>,
    /// The case; `None`: the first that has such a flow.
    pub case: Option<String>,
    /// The flow; `None`: the first with a launch time.
    pub flow: Option<String>,
    /// Frames of each run, shared out among its members.
    pub frames: Option<u64>,
    /// `None`: in the laboratory; otherwise on this machine with these bindings.
    pub bind: Option<String>,
    /// Take also NICs that are in use.
    pub take: bool,
    /// The guest's kernel; `None`: the usual one.
    pub kernel: Option<String>,
    /// One member for each; if there is none, four members with the experiment's seed and the
    /// following ones.
    pub seeds: Vec<u64>,
    /// Background load.
    pub loads: Vec<LoadKind>,
    /// The folder of run folders.
    pub out: PathBuf,
    /// Ends it early.
    pub stop: StopFlag,
    /// Who watches.
    pub progress: &'a dyn Progress,
}

impl<'a> FlowBench<'a> {
    /// Finds the flow in the experiment that was read from the text.
    ///
    /// # Errors
    /// If the experiment has no such case, or the flow to search for cannot be chosen.
    pub fn new(wanted: Wanted<'a>, experiment: &Experiment) -> anyhow::Result<Self> {
        let chosen = Chosen::from(experiment, wanted.case.as_deref(), wanted.flow.as_deref())?;
        let seeds = if wanted.seeds.is_empty() {
            (0..MEMBERS).map(|k| chosen.seed.wrapping_add(k)).collect()
        } else {
            wanted.seeds.clone()
        };
        Ok(Self { wanted, seeds, chosen, last: RefCell::new(None) })
    }

    /// What is measured, for people.
    pub fn subject(&self) -> String {
        let Chosen { experiment, case, flow, .. } = &self.chosen;
        format!("{experiment}, case {}, flow {}, every {}", case.name, flow.name, flow.period)
    }

    /// Frames of each run, all members together.
    pub fn frames(&self) -> u64 {
        self.wanted.frames.unwrap_or(self.chosen.flow.frames)
    }

    /// What was measured as a profile of the sender's machine, with the margin and delta of the last check; `None`
    /// if no interface of this machine was measured. `saved` is the file of the margin.
    ///
    /// # Errors
    /// What a profile cannot say, such as the bandwidth of `cbs`.
    pub fn profile(&self, findings: &Findings, saved: &Path) -> anyhow::Result<Option<String>> {
        let Wanted { name, text, overrides, bind: Some(bind), .. } = &self.wanted else {
            return Ok(None);
        };
        let Chosen { case, flow, delta, delta_path, flow_path, .. } = &self.chosen;
        let binding = Binding::parse(bind, &case.scenario)?;
        let host = &flow.from;
        let Some(interface) = binding.interface(host, &flow.wire) else { return Ok(None) };
        let delta = findings.check.delta_ns.unwrap_or_else(|| delta.as_ns());
        let mut set = overrides.clone();
        set.push((delta_path.clone(), in_file(delta)));
        // The file's may be shorter than the delta.
        set.push((format!("{flow_path}.margin"), in_file(findings.check.margin_ns)));
        let reader = experiment_file::reader(name, &set, NicSource::Own);
        let found =
            reader.host_profile(text, &case.name, host, |wire| binding.interface(host, wire));
        let Some(found) = found else { return Ok(None) };
        let found = found.map_err(|mistakes| anyhow!("{}", mistakes.to_string().trim_end()))?;
        let mut head = vec![format!(
            "Profile of `{host}`, {interface} of this machine, for `teiji apply`; made by `teiji margin`."
        )];
        head.push(format!("Measured: {}, {}", findings.subject, place(findings)));
        head.extend(findings.loads.iter().map(|load| format!("  under {load}")));
        head.extend(recommendation(findings).lines().map(str::to_owned));
        head.extend(checks(findings).lines().map(str::to_owned));
        head.push(format!(
            "The margin of {} is the program's: Margin::calibrated() reads it from {}; `teiji talk --margin {}`.",
            ns(findings.check.margin_ns),
            saved.display(),
            in_file(findings.check.margin_ns)
        ));
        if !found.left_out.is_empty() {
            head.push(format!("Not in a profile: {}.", found.left_out.join(", ")));
        }
        let head = head.iter().filter(|line| !line.trim().is_empty());
        let head: Vec<String> = head.map(|line| format!("# {line}")).collect();
        Ok(Some(format!("{}\n\n{}", head.join("\n"), found.text)))
    }

    /// The experiment's values that a run overrides.
    fn overrides(&self, margin: Span, delta: Span) -> Vec<(String, String)> {
        let Chosen { flow_path, delta_path, .. } = &self.chosen;
        let mut set = self.wanted.overrides.clone();
        let mut put = |path: String, value: String| set.push((path, value));
        put(format!("{flow_path}.margin"), format!("{}ns", margin.as_ns()));
        put(format!("{flow_path}.tx-stamps"), "true".to_owned());
        put(delta_path.clone(), format!("{}ns", delta.as_ns()));
        let each = self.frames().div_ceil(self.seeds.len() as u64);
        put(format!("{flow_path}.frames"), each.to_string());
        set
    }

    fn request(&self, margin: Span, delta: Span, round: u64) -> anyhow::Result<Request> {
        let set = self.overrides(margin, delta);
        let Wanted { name, text, .. } = &self.wanted;
        let reading =
            experiment_file::reader(name, &set, nics(self.wanted.bind.as_deref())).read(text);
        let Some(mut experiment) = reading.experiment else {
            bail!("with a margin of {margin} and a delta of {delta}:\n{}", reading.findings)
        };
        experiment.cases.retain(|case| case.name == self.chosen.case.name);
        let mut arguments = Vec::new();
        let mut pair = |key: &str, value: String| arguments.extend([key.to_owned(), value]);
        for (path, value) in &set {
            pair("--set", format!("{path}={value}"));
        }
        for load in &self.wanted.loads {
            pair("--load", load.name().to_owned());
        }
        if let Some(kernel) = &self.wanted.kernel {
            pair("--kernel", kernel.clone());
        }
        if let Some(bind) = self.wanted.bind.as_ref().filter(|bind| !bind.is_empty()) {
            pair("--bind", bind.clone());
        }
        let testbed = match &self.wanted.bind {
            Some(bind) => On::Local { bind: bind.clone(), take: self.wanted.take, why: None },
            None => On::Lab {
                kernel: KernelSpec::from_options(self.wanted.kernel.as_deref(), None)?,
                sources: Vec::new(),
                wall_limit: None,
            },
        };
        Ok(Request {
            experiment,
            text: text.clone(),
            set,
            testbed,
            loads: self.wanted.loads.clone(),
            // Other seeds in each round: a check is to be independent of what it checks.
            seeds: self.seeds.iter().map(|seed| seed.wrapping_add(round * 10_000)).collect(),
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            out: self.wanted.out.clone(),
            arguments,
            replay_of: None,
        })
    }
}

impl FlowBench<'_> {
    /// An interrupted run is not the whole of a search that has measured before.
    fn interrupted_later(&self, error: anyhow::Error) -> anyhow::Error {
        match &*self.last.borrow() {
            Some(folder) if error.is::<Interrupted>() => Interrupted(format!(
                "interrupted before the search had its answer; the last complete run is in {}",
                report::shown(folder)
            ))
            .into(),
            _ => error,
        }
    }
}

/// A duration as one writes it in a file.
fn in_file(ns: i64) -> String {
    if ns % 1_000 == 0 { format!("{}us", ns / 1_000) } else { format!("{ns}ns") }
}

fn nics(bind: Option<&str>) -> NicSource {
    if bind.is_some() { NicSource::Own } else { NicSource::Emulated }
}

impl Bench for FlowBench<'_> {
    fn run(&self, margin: Span, delta: Span, round: u64) -> anyhow::Result<Trial> {
        let request = self.request(margin, delta, round)?;
        let Finished { folder, ended } =
            run::run(&request, &self.wanted.stop, self.wanted.progress)
                .map_err(|error| self.interrupted_later(error))?;
        self.last.replace(Some(folder.path().to_owned()));
        let (_, manifest) = RunFolder::open(folder.path())?;
        report::write(&folder, &manifest, &folder.read_summary()?)?;
        let mut trial = Trial {
            members: Vec::new(),
            loads: Vec::new(),
            folder: Some(folder.path().to_owned()),
            kernel: None,
            incomplete: ended != Ended::Complete,
        };
        let Chosen { case, flow, id, .. } = &self.chosen;
        for seed in &request.seeds {
            let records = match folder.read_records(&case.name, *seed) {
                Err(_) if ended == Ended::Interrupted => {
                    let kept = report::shown(folder.path());
                    return Err(Interrupted(format!(
                        "interrupted; what was measured is in {kept}"
                    ))
                    .into());
                }
                // The others go on; `incomplete` is in the findings.
                Err(_) if manifest.observed.get(&case.name, *seed).is_none() => {
                    let kept = report::shown(folder.path());
                    self.wanted.progress.line(&format!(
                        "  case {} seed {seed} was not measured; {kept} has the reason",
                        case.name
                    ));
                    continue;
                }
                records => records.with_context(|| format!("case {} seed {seed}", case.name))?,
            };
            let rows = records.rows_of(*id);
            let stations = Stations::of(rows, margin, Some(delta));
            let mut misses = Misses::of(rows);
            if let Some(observed) = manifest.observed.get(&case.name, *seed) {
                misses.late = misses.late.max(late_in_the_nic(observed, flow));
                trial.loads = together(std::mem::take(&mut trial.loads), observed.loads.clone());
                trial.kernel.clone_from(&observed.machine.kernel_release);
            }
            trial.members.push(Member { stations, misses });
        }
        Ok(trial)
    }

    fn generous(&self) -> (Span, Span) {
        let Chosen { flow, delta, .. } = &self.chosen;
        let delta = (*delta * 4).max(Span::from_millis(1));
        // Half a period apart, so that the wake-up of one frame does not disturb the
        // release of another.
        let half = Span::from_ns(flow.period.as_ns() / 2);
        let mut apart = half;
        while apart < Span::from_millis(2) {
            apart = apart + flow.period;
        }
        (apart + delta, delta)
    }

    fn period(&self) -> Span {
        self.chosen.flow.period
    }

    fn etf(&self) -> Etf {
        Etf::Ours
    }
}

/// What the loads did beside two or more members, each load once.
fn together(sum: Vec<LoadReport>, more: Vec<LoadReport>) -> Vec<LoadReport> {
    if sum.is_empty() {
        return more;
    }
    sum.into_iter().zip(more).map(|(one, other)| one.plus(other)).collect()
}

/// Frames that a `vtsn` NIC says came to it after their launch time.
fn late_in_the_nic(observed: &ObservedCase, flow: &Flow) -> u64 {
    let counted = observed.network.port(&flow.from, &flow.wire).map(nics::of_port);
    let late =
        counted.into_iter().flatten().filter(|count| count.trouble == NicProblem::LaunchLate);
    late.map(|count| count.frames).sum()
}
