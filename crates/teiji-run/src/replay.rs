//! Repeating a run: from what, and whether it gave the same records.

use anyhow::Context;
use teiji_experiment::Experiment;
use teiji_record::manifest::sha256_of;
use teiji_record::{LabManifest, Manifest, RunFolder, Summary};

use crate::experiment_file;
use crate::job::Job;
use crate::report;

/// What a run measured: its experiment, with these of its cases (none: all), and what was given to its
/// guests.
///
/// # Errors
/// If the run folder has no experiment file, or that cannot be understood, or has no such case.
pub fn recorded(
    folder: &RunFolder,
    manifest: &Manifest,
    cases: &[String],
) -> anyhow::Result<(Experiment, Job)> {
    let text = folder.read_experiment()?;
    let file = report::shown(&folder.path().join("experiment.toml"));
    let mut experiment = experiment_file::parse(&text, &file, manifest)?;
    let cases = if cases.is_empty() { &manifest.cases } else { cases };
    experiment.cases = experiment_file::choose_cases(&experiment, cases)?;
    let job = Job {
        text,
        set: experiment_file::recorded_overrides(manifest),
        loads: experiment_file::recorded_loads(manifest),
    };
    Ok((experiment, job))
}

/// What comparing two runs gave.
pub struct Verdict {
    /// All records are equal, byte for byte.
    pub identical: bool,
    /// The same in words, with what differs.
    pub sentence: String,
}

/// Compares the records of `new` with those of the same members of `original`,
/// byte for byte.
///
/// # Errors
/// If a records file of either run cannot be read.
pub fn compare(
    original: &RunFolder,
    new: &RunFolder,
    summary: &Summary,
    (before, after): (&Manifest, &Manifest),
) -> anyhow::Result<Verdict> {
    let mut compared = 0;
    let mut different = Vec::new();
    for case in &summary.cases {
        for member in &case.members {
            let has_rounds = !member.round_trips.is_empty();
            let rounds = has_rounds.then(|| RunFolder::rounds_name(&case.name, member.seed));
            for name in member.records.iter().chain(&rounds) {
                let read = |folder: &RunFolder| {
                    let path = folder.path().join(name);
                    std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
                };
                compared += 1;
                if sha256_of(&read(original)?) != sha256_of(&read(new)?) {
                    let what = if rounds.as_ref() == Some(name) { " (round trips)" } else { "" };
                    different.push(format!("{} seed {}{what}", case.name, member.seed));
                }
            }
        }
    }
    let identical = different.is_empty() && compared > 0;
    let sentence = if identical {
        format!("identical to the last bit: {compared} of {compared} records files are equal")
    } else {
        format!(
            "different records in {} of {compared}: {}. {}",
            different.len(),
            different.join(", "),
            why(before, after)
        )
    };
    Ok(Verdict { identical, sentence })
}

/// What of that which determines the records is not the same.
fn why(before: &Manifest, after: &Manifest) -> String {
    let (Some(before), Some(after)) = (&before.lab, &after.lab) else {
        return "In real time runs always differ.".to_owned();
    };
    match &differences(before, after)[..] {
        [] => "Program, guest, kernel and QEMU are the same: please report this, with both run folders."
            .to_owned(),
        other => format!("What made them differs: {}.", other.join("; ")),
    }
}

/// What of that which determines the records of the laboratory is not the same, each as a clause.
pub(crate) fn differences(before: &LabManifest, after: &LabManifest) -> Vec<String> {
    let mut other = Vec::new();
    if before.program_sha256 != after.program_sha256 {
        other.push("teiji is another build".to_owned());
    }
    let (program, kernel) = (&before.program_sha256, &before.kernel.sha256);
    if (program, kernel) == (&after.program_sha256, &after.kernel.sha256)
        && before.initramfs_sha256 != after.initramfs_sha256
    {
        // Both are in there, and are named by themselves.
        other.push("modules or programs in the guest's file system are others".to_owned());
    }
    if before.kernel.sha256 != after.kernel.sha256 {
        other
            .push(format!("the kernel is {}, not {}", after.kernel.release, before.kernel.release));
    }
    if before.qemu != after.qemu {
        other.push(format!("QEMU is {}, not {}", after.qemu, before.qemu));
    }
    if before.qemu_command != after.qemu_command {
        other.push("QEMU's command line is another".to_owned());
    }
    other
}

#[cfg(test)]
mod tests {

    use teiji_record::manifest::KernelManifest;
    use teiji_record::summary::Testbed;

    use super::*;

    fn manifest(lab: Option<LabManifest>) -> Manifest {
        Manifest {
            schema: String::new(),
            teiji: "1.0.0".to_owned(),
            experiment: String::new(),
            experiment_sha256: String::new(),
            command: Vec::new(),
            testbed: Testbed::Lab,
            seeds: vec![1],
            cases: Vec::new(),
            started: String::new(),
            finished: None,
            interrupted: false,
            missing: Vec::new(),
            lab,
            observed: teiji_record::ObservedCases::default(),
            replay: None,
        }
    }

    #[test]
    fn what_made_the_records_differ_is_named() {
        let lab = LabManifest {
            kernel: KernelManifest {
                package: None,
                release: "6.12.1-rt".to_owned(),
                sha256: "11".to_owned(),
            },
            qemu: "10.0.2".to_owned(),
            program_sha256: Some("22".to_owned()),
            initramfs_sha256: Some("55".to_owned()),
            qemu_command: Vec::new(),
            cpus: 1,
            icount_shift: 1,
            slowdown: 1,
            seed_meaning: String::new(),
        };
        let before = manifest(Some(lab.clone()));
        assert!(why(&before, &before).contains("please report"), "{}", why(&before, &before));
        let mut other = LabManifest { initramfs_sha256: Some("66".to_owned()), ..lab };
        let reason = why(&before, &manifest(Some(other.clone())));
        assert!(reason.contains("in the guest's file system"), "{reason}");
        other.program_sha256 = Some("33".to_owned());
        other.kernel.sha256 = "44".to_owned();
        other.kernel.release = "6.12.2-rt".to_owned();
        assert_eq!(
            why(&before, &manifest(Some(other))),
            "What made them differs: teiji is another build; the kernel is 6.12.2-rt, not 6.12.1-rt."
        );
        assert_eq!(why(&before, &manifest(None)), "In real time runs always differ.");
    }
}
