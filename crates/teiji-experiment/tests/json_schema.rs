//! The JSON Schema of experiment files against a validator that Teiji has nothing to do with.
//! Needs Python with jsonschema: `$TEIJI_PYTHON`, or `python3`.

mod mistake_files;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use teiji_experiment::keys;

const NOT_INSTALLED: i32 = 77;

/// Mistakes of a single value, of its type or range, or of a key's name. All others are between
/// values, which no schema knows.
const REFUSED: [&str; 41] = [
    "bad-addresses",
    "bad-names",
    "case-kernel",
    "case-unknown-key",
    "class-kind",
    "duration-units",
    "etf-clock",
    "etf-delta",
    "host-cpu",
    "instruction",
    "judge-unknown-figure",
    "loads",
    "margin-negative",
    "mqprio-map-too-short",
    "mqprio-queues-malformed",
    "negative-seed",
    "paper-differences",
    "payload-over-mtu",
    "payload-too-small",
    "period-negative",
    "port-out-of-range",
    "priority-out-of-range",
    "section-is-no-table",
    "system-limits",
    "taprio-empty",
    "taprio-table",
    "thread-priorities",
    "unknown-key",
    "unknown-key-far-from-all",
    "unknown-mode",
    "unknown-nic",
    "unknown-paper",
    "unknown-qdisc",
    "unknown-section",
    "unknown-transport",
    "vlan-out-of-range",
    "vtsn-settings-out-of-range",
    "wire-is-no-table",
    "wire-with-one-host",
    "wrong-types",
    "zero-frames",
];

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files
}

/// What the validator says, by file; nothing where there is none.
fn validate(files: &[PathBuf]) -> Option<Vec<(String, String)>> {
    let schema = tempfile::NamedTempFile::new().unwrap();
    fs::write(schema.path(), keys::json_schema().to_string()).unwrap();
    let python = std::env::var("TEIJI_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/json_schema.py");
    let output = match Command::new(&python).arg(script).arg(schema.path()).args(files).output() {
        Ok(output) => output,
        Err(error) => {
            println!("SKIP: cannot start {python}: {error}");
            return None;
        }
    };
    let stdout = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(NOT_INSTALLED) {
        println!("SKIP: {python}: {stdout}");
        return None;
    }
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    let pairs = stdout.lines().filter_map(|line| line.split_once('\t'));
    Some(pairs.map(|(file, verdict)| (file.to_owned(), verdict.to_owned())).collect())
}

#[test]
fn every_experiment_of_the_repository_is_valid() {
    let files = files("../../experiments");
    let Some(verdicts) = validate(&files) else { return };
    assert_eq!(verdicts.len(), files.len());
    for (file, verdict) in verdicts {
        assert_eq!(verdict, "valid", "{file}");
    }
}

#[test]
fn a_value_of_a_wrong_type_or_out_of_range_is_refused() {
    let whole = tempfile::tempdir().unwrap();
    let files = REFUSED.map(|name| {
        let file = format!("{name}.toml");
        let path = whole.path().join(&file);
        fs::write(&path, mistake_files::read(&mistake_files::folder().join(file))).unwrap();
        path
    });
    let Some(verdicts) = validate(&files) else { return };
    assert_eq!(verdicts.len(), files.len());
    for (file, verdict) in verdicts {
        assert_ne!(verdict, "valid", "{file}");
    }
}
