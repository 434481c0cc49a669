//! Suites of test scripts for kernel modules, run by a shell in one guest.
//!
//! A script is a file of dash with [`LIBRARIES`] at its head; the comment lines before
//! its first command may say what it needs:
//!
//! ```text
//! # module: vtsn          a kernel module to load, Teiji's or the kernel's
//! # package: iproute2     a Debian package whose programs it calls
//! # plugin: prioflow/tc/q_prioflow.c   a plug-in for its tc or ip, from kernel/
//! # cpus: 2               so many processors (all scripts run with the most of any)
//! # instruction: 125ps    how long an instruction takes (all run with the shortest of any)
//! # limit: 300            most seconds of the guest's time (default 600)
//! # long: 140 s of PTP    why it takes long; `--short` leaves it out
//! ```
//!
//! The guest runs all scripts, then looks at its kernel ([`guest`]); the host judges
//! ([`gate`]). What a script did not write down did not happen: one that dies, or
//! leaves early, has failed.

pub mod gate;
pub mod guest;

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What scripts are written with: where it is in the guest, and its text. Scripts begin with
/// `. /suite/lib`; those that have allocations fail go on with `. /suite/failures`. Their perl finds
/// system calls that it lacks in `Calls`.
pub const LIBRARIES: [(&str, &str); 3] = [
    ("suite/lib", include_str!("suite/lib.sh")),
    ("suite/failures", include_str!("suite/failures.sh")),
    ("suite/Calls.pm", include_str!("suite/Calls.pm")),
];
/// Folder of all that a suite needs in the guest; what scripts share lies here.
pub const DIR: &str = "suite";
/// Folder of the scripts in the guest.
pub const SCRIPTS_DIR: &str = "suite/scripts";
/// The word for init that makes a guest run a suite.
pub const INIT_WORD: &str = "suite";

/// Limit of a script that names none.
const DEFAULT_LIMIT: Duration = Duration::from_secs(600);

/// What a script says it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// Kernel modules, in the order of the lines.
    pub modules: Vec<String>,
    /// Debian packages.
    pub packages: Vec<String>,
    /// Sources of plug-ins for iproute2, below `kernel/`.
    pub plugins: Vec<String>,
    /// Processors of the guest.
    pub cpus: u16,
    /// How long an instruction takes, as in an experiment.
    pub instruction: Option<String>,
    /// Most time it may take, in the guest's time.
    pub limit: Duration,
    /// It takes long, in its own words.
    pub long: Option<String>,
}

impl Needs {
    /// Reads the comment at the head of a script.
    pub fn of(script: &str) -> Self {
        let mut needs = Self {
            modules: Vec::new(),
            packages: Vec::new(),
            plugins: Vec::new(),
            cpus: 1,
            instruction: None,
            limit: DEFAULT_LIMIT,
            long: None,
        };
        for line in script.lines().take_while(|line| line.starts_with('#')) {
            let Some((key, value)) = line.trim_start_matches('#').split_once(':') else { continue };
            let value = value.trim().to_owned();
            match key.trim() {
                "module" => needs.modules.push(value),
                "package" => needs.packages.push(value),
                "plugin" => needs.plugins.push(value),
                "cpus" => needs.cpus = value.parse().unwrap_or(1),
                "instruction" => needs.instruction = Some(value),
                "long" => needs.long = Some(value),
                "limit" => needs.limit = value.parse().map_or(DEFAULT_LIMIT, Duration::from_secs),
                _ => {}
            }
        }
        needs
    }
}

/// What a guest found out; the host's [`gate`] judges it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Each script, in the order of running.
    pub scripts: Vec<ScriptReport>,
    /// Modules that could not be unloaded at the end, and why.
    pub stuck_modules: Vec<String>,
    /// The kernel's log from the boot to the end.
    pub kernel_log: String,
    /// `/proc/sys/kernel/tainted`.
    pub tainted: u64,
    /// Whether lockdep still watched at the end; `None` without lockdep.
    pub lockdep_watched: Option<bool>,
    /// What kmemleak reported after two scans; `None` without kmemleak.
    pub leaks: Option<String>,
}

/// What one script did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptReport {
    /// Name of its file.
    pub name: String,
    /// Sentences that were found true.
    pub ok: Vec<String>,
    /// Sentences that were not, with what was found instead.
    pub failed: Vec<String>,
    /// What could not be tried, and why.
    pub skipped: Vec<String>,
    /// How it ended, if not well.
    pub ended_badly: Option<String>,
    /// What it printed.
    pub output: String,
    /// The guest's time it took, in seconds.
    pub seconds: f64,
    /// The time its processors were not idle meanwhile, in seconds: what it costs the host.
    pub busy_seconds: f64,
}

impl ScriptReport {
    /// Reads the lines that the library wrote: `ok …`, `fail …`, `skip …`, `end`.
    fn add_results(&mut self, text: &str) {
        let mut ended = false;
        for line in text.lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("ok", what) => self.ok.push(what.to_owned()),
                ("fail", what) => self.failed.push(what.to_owned()),
                ("skip", what) => self.skipped.push(what.to_owned()),
                ("end", _) => ended = true,
                _ => self.failed.push(format!("unreadable result: {line}")),
            }
        }
        let empty = self.ok.is_empty() && self.failed.is_empty() && self.skipped.is_empty();
        if self.ended_badly.is_none() && !ended {
            self.ended_badly = Some("it left before its `end`".into());
        } else if self.ended_badly.is_none() && empty {
            self.ended_badly = Some("it tested nothing".into());
        }
    }

    /// Whether all it tested was found true, and it came to its end.
    pub fn passed(&self) -> bool {
        self.failed.is_empty() && self.ended_badly.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_script_declares_its_needs() {
        let needs = Needs::of(
            "#!/bin/sh\n# Gates.\n# module: vtsn\n# package: iproute2\n# package: linuxptp\n\
             # limit: 30\n# cpus: 2\n# instruction: 1ns\n# plugin: m/tc/q_m.c\n# long: a soak\n. /suite/lib\n# module: none\n",
        );
        assert_eq!(needs.modules, ["vtsn"]);
        assert_eq!(needs.packages, ["iproute2", "linuxptp"]);
        assert_eq!(needs.plugins, ["m/tc/q_m.c"]);
        assert_eq!((needs.limit, needs.cpus), (Duration::from_secs(30), 2));
        assert_eq!(needs.long.as_deref(), Some("a soak"));
        assert_eq!(needs.instruction.as_deref(), Some("1ns"));
        assert_eq!(Needs::of("true\n").limit, DEFAULT_LIMIT);
    }

    #[test]
    fn only_a_script_that_tested_something_and_ended_has_passed() {
        let passes = |text: &str| {
            let mut report = ScriptReport::default();
            report.add_results(text);
            report.passed()
        };
        assert!(passes("ok a\nskip b\nend\n"));
        assert!(!passes("ok a\nfail b\nend\n"), "a failure");
        assert!(!passes("ok a\n"), "no end");
        assert!(!passes("end\n"), "nothing tested");
        assert!(!passes(""), "silence");
        assert!(!passes("ok a\noh\nend\n"), "an unreadable line");
    }
}
