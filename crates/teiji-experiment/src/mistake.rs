//! What is wrong with an experiment file: where, why, and what to write
//! instead.

use std::fmt;

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The experiment cannot run, or would not measure what it says.
    Mistake,
    /// It can run, but probably not as meant.
    Warning,
}

/// Where a finding is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Place {
    /// In a value given on the command line (`--set PATH=VALUE`).
    CommandLine {
        /// The override as it was given, `PATH=VALUE`.
        set: String,
    },
    /// In the file, both counted from 1; the column counts characters.
    File {
        /// Line.
        line: usize,
        /// Column.
        column: usize,
    },
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// Where the offending value stands, even when a case inherited it.
    #[serde(flatten)]
    pub place: Place,
    /// Fatal or not.
    pub severity: Severity,
    /// What is wrong, one sentence.
    pub message: String,
    /// What to write instead, or why it is wrong.
    pub help: Option<String>,
    /// The cases in which it is wrong, if it is not wrong in all of them.
    pub cases: Vec<String>,
}

/// Everything found in one file, in the order of the file.
///
/// Displays as `teiji check` prints it, with a summary as last line:
///
/// ```
/// use teiji_experiment::Experiment;
/// let text = "name = \"demo\"\nquestion = \"?\"\n[wires.a]\nbetween = [\"x\", \"x\"]\n";
/// let mistakes = Experiment::parse(text, "demo.toml").unwrap_err();
/// assert_eq!(
///     mistakes.to_string(),
///     "demo.toml:1:1   there is no flow, so nothing would be sent\n\
///      \x20               Write at least one table [flows.NAME] with from, to, period and frames, or [round-trips.NAME] with from, to and count.\n\
///      demo.toml:4:17  the wire `a` joins `x` with itself\n\
///      \x20               Name two different hosts; both are defined by being named here.\n\
///      2 mistakes\n"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistakes {
    /// The name of the file, as given to the reader.
    pub file: String,
    /// The findings.
    pub findings: Vec<Mistake>,
}

impl Mistakes {
    /// How many findings are fatal.
    pub fn mistakes(&self) -> usize {
        self.findings.iter().filter(|m| m.severity == Severity::Mistake).count()
    }

    /// How many findings are warnings.
    pub fn warnings(&self) -> usize {
        self.findings.len() - self.mistakes()
    }

    /// True if nothing was found, not even a warning.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// The last line: `2 mistakes, 1 warning`.
    pub fn summary(&self) -> String {
        let plural = |n: usize, one: &str| match n {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{n} {one}s")),
        };
        let parts: Vec<String> =
            [plural(self.mistakes(), "mistake"), plural(self.warnings(), "warning")]
                .into_iter()
                .flatten()
                .collect();
        if parts.is_empty() { "no mistakes".to_owned() } else { parts.join(", ") }
    }

    fn place(&self, place: &Place) -> String {
        match place {
            Place::CommandLine { set } => format!("--set {set}"),
            Place::File { line, column } => format!("{}:{line}:{column}", self.file),
        }
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<String> = self.findings.iter().map(|m| self.place(&m.place)).collect();
        let width = places.iter().map(|p| p.chars().count()).max().unwrap_or(0) + 2;
        for (mistake, place) in self.findings.iter().zip(&places) {
            let kind = if mistake.severity == Severity::Warning { "warning: " } else { "" };
            write!(f, "{place:width$}{kind}{}", mistake.message)?;
            match mistake.cases.as_slice() {
                [] => writeln!(f)?,
                [case] => writeln!(f, " (case `{case}`)")?,
                cases => writeln!(f, " (cases `{}`)", cases.join("`, `"))?,
            }
            for line in mistake.help.iter().flat_map(|help| help.lines()) {
                writeln!(f, "{:width$}{line}", "")?;
            }
        }
        writeln!(f, "{}", self.summary())
    }
}

impl std::error::Error for Mistakes {}
