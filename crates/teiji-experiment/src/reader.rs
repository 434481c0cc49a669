//! From text to [`Experiment`], step by step.

use crate::cases::{self, ResolvedCase};
use crate::check;
use crate::fields::{Fields, Found, valid_name};
use crate::keys::file::{self as keys, FILE, PAPERS};
use crate::log::{CaseLabel, Log};
use crate::mistake::Mistakes;
pub use crate::nic_source::NicSource;
use crate::overrides;
use crate::read;
use crate::read::judge::JudgeDraft;
use crate::scenario::{Case, Experiment};
use crate::suggest::{did_you_mean, list};
use crate::syntax;
use crate::tree::{Node, Origin, Value};

/// Reads experiment files. The short forms are [`Experiment::parse`] and
/// [`Experiment::parse_with`].
///
/// ```
/// use teiji_experiment::Reader;
/// let text = include_str!("../../../experiments/etf.toml");
/// let reading = Reader::new("etf.toml").set("flows.cycle.frames", "1000").read(text);
/// assert!(reading.findings.is_empty(), "{}", reading.findings);
/// let experiment = reading.experiment.unwrap();
/// assert!(experiment.cases.iter().all(|c| c.scenario.flows[0].frames == 1000));
/// ```
#[derive(Clone, Debug)]
pub struct Reader {
    file: String,
    overrides: Vec<(String, String)>,
    nics: NicSource,
}

/// What reading a file gave.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The experiment, unless something fatal was found.
    pub experiment: Option<Experiment>,
    /// Everything that was found, warnings included.
    pub findings: Mistakes,
}

impl Reader {
    /// A reader that calls the file `file` in its findings.
    pub fn new(file: impl Into<String>) -> Self {
        Self { file: file.into(), overrides: Vec::new(), nics: NicSource::Emulated }
    }

    /// Overrides the value at `path` (`flows.cycle.frames`) in the file and in
    /// every case. `value` is TOML; what is no TOML is text, so that `400us`
    /// needs no quotes.
    #[must_use]
    pub fn set(mut self, path: impl Into<String>, value: impl Into<String>) -> Self {
        self.overrides.push((path.into(), value.into()));
        self
    }

    /// Whose NICs the experiment will run on; emulated by default.
    #[must_use]
    pub const fn nics(mut self, nics: NicSource) -> Self {
        self.nics = nics;
        self
    }

    /// What was overridden, in order.
    pub(crate) fn overrides(&self) -> &[(String, String)] {
        &self.overrides
    }

    /// Reads `text`. Never panics; everything that is wrong is in the findings.
    pub fn read(&self, text: &str) -> Reading {
        let log = Log::default();
        let (experiment, labels) = self.read_into(text, &log);
        let fatal = log.is_fatal();
        let findings = log.finish(&self.file, text, &self.overrides, &labels);
        Reading { experiment: experiment.filter(|_| !fatal), findings }
    }

    fn read_into(&self, text: &str, log: &Log) -> (Option<Experiment>, Vec<CaseLabel>) {
        let Some(mut root) = syntax::parse(text, log) else { return (None, Vec::new()) };
        let overlay = overrides::overlay(&root, &self.overrides, log);
        root.merge(&overlay);
        let top = Origin::File { start: 0, end: 0 };
        let file = Fields::new(&root, top, &FILE, "the file", log);
        let head = read_head(&file, log);
        let resolved = cases::resolve(&file, &root, &overrides::for_cases(&overlay), log);
        let mut cases = Vec::new();
        for (index, case) in resolved.iter().enumerate() {
            log.enter_case(Some(index));
            cases.push(self.read_case(case, &head.paper, log));
        }
        log.enter_case(None);
        let cases: Option<Vec<Case>> = cases.into_iter().collect();
        let labels = resolved.into_iter().map(|case| case.label).collect();
        (head.experiment(cases, self.nics, log), labels)
    }

    fn read_case(&self, case: &ResolvedCase, paper: &Found<String>, log: &Log) -> Option<Case> {
        if let Some(key) = &case.paper {
            check_result(key, case.paper_at, paper, log);
        }
        let top = Origin::File { start: 0, end: 0 };
        let label = "the case";
        let file = Fields::new(&case.table, top, &FILE, label, log);
        let draft = read::scenario(&file, log);
        check::scenario(&draft, &case.table, self.nics, log);
        let requirements = check::requirement::resolve(read::requirements(&file, log), &draft, log);
        let instruction = file.settled(&keys::INSTRUCTION);
        check::instruction::check(instruction, &draft, &case.table, self.nics, log);
        Some(Case {
            name: case.label.name.clone(),
            about: case.about.clone(),
            paper_result: case.paper.clone(),
            kernel: case.kernel.clone(),
            instruction: instruction?,
            scenario: draft.finish()?,
            requirements: requirements?,
        })
    }
}

/// Whether the experiment's paper has figures of that name.
fn check_result(key: &str, at: Origin, paper: &Found<String>, log: &Log) {
    let paper = match paper {
        Found::Absent => {
            log.mistake(
                at,
                format!("paper = \"{key}\", but the experiment names no paper"),
                "Write for example paper = \"etf\" at the top of the file.",
            );
            return;
        }
        Found::Wrong => return,
        Found::Value(paper) => paper,
    };
    let results = PAPERS.iter().find(|(name, _)| name == paper).map(|(_, results)| *results);
    let results = results.unwrap_or_default();
    if !results.contains(&key) {
        let guess = did_you_mean(key, results.iter().copied());
        log.mistake(
            at,
            format!("the paper `{paper}` has no figures `{key}`{guess}"),
            format!("There is {}.", list(results)),
        );
    }
}

/// The values at the top of the file; `None` what could not be read.
struct Head {
    name: Option<String>,
    question: Option<String>,
    paper: Found<String>,
    paper_differences: Option<Vec<String>>,
    seed: Option<u64>,
    judge: Option<JudgeDraft>,
}

impl Head {
    fn experiment(
        self,
        cases: Option<Vec<Case>>,
        nics: NicSource,
        log: &Log,
    ) -> Option<Experiment> {
        let cases = cases?;
        let judge = check::judge::resolve(self.judge?, &cases, nics, log);
        Some(Experiment {
            name: self.name?,
            question: self.question?,
            paper: self.paper.settle().ok()?,
            paper_differences: self.paper_differences?,
            seed: self.seed?,
            judge,
            cases,
        })
    }
}

fn read_head(file: &Fields<'_>, log: &Log) -> Head {
    let name = file.settled(&keys::NAME);
    Head {
        name: name.filter(|name| valid_name(name, file.place("name"), "an experiment", log)),
        question: file.settled(&keys::QUESTION),
        paper: file.take(&keys::PAPER).map(str::to_owned),
        paper_differences: read_differences(file, log),
        seed: file.settled(&keys::SEED),
        judge: read::judge::read(file, log),
    }
}

fn read_differences(file: &Fields<'_>, log: &Log) -> Option<Vec<String>> {
    const KEY: &str = keys::PAPER_DIFFERENCES.name;
    let example = keys::PAPER_DIFFERENCES.limits.example;
    let text = |item: &Node| match &item.value {
        Value::Text(text) => Some(text.clone()),
        Value::Broken => None,
        other => {
            let message = format!("a difference is text, not {}", other.kind());
            log.mistake(item.at, message, format!("Write for example {KEY} = {example}"));
            None
        }
    };
    let found =
        file.items(&keys::PAPER_DIFFERENCES).and_then(|items| items.iter().map(text).collect());
    if file.has(KEY) && !file.has("paper") {
        log.mistake(
            file.place(KEY),
            format!("`{KEY}`, but the experiment names no paper"),
            "Write for example paper = \"etf\" at the top of the file, or leave it out.",
        );
    }
    found.or_default(Vec::new())
}

impl Experiment {
    /// Reads an experiment file. Warnings are dropped; [`Reader`] keeps them.
    ///
    /// # Errors
    /// All mistakes of the file, each with its place.
    pub fn parse(text: &str, file: &str) -> Result<Self, Mistakes> {
        Self::parse_with(text, file, &[])
    }

    /// Reads an experiment file with overrides `(path, value)` from the command
    /// line, see [`Reader::set`].
    ///
    /// # Errors
    /// All mistakes of the file and of the overrides, each with its place.
    pub fn parse_with(
        text: &str,
        file: &str,
        overrides: &[(&str, &str)],
    ) -> Result<Self, Mistakes> {
        let reader =
            overrides.iter().fold(Reader::new(file), |r, (path, value)| r.set(*path, *value));
        let Reading { experiment, findings } = reader.read(text);
        experiment.ok_or(findings)
    }
}
