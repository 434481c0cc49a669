//! What a run left behind.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::run_folder;

/// What came of the only run below `out`.
pub fn summary(out: &Path) -> Value {
    read(out, "summary.json")
}

/// What the only run below `out` was.
pub fn manifest(out: &Path) -> Value {
    read(out, "manifest.json")
}

/// Why its frames took their time.
#[allow(dead_code, reason = "not every test program asks why")]
pub fn causes(out: &Path) -> Value {
    read(out, "causes.json")
}

fn read(out: &Path, name: &str) -> Value {
    let text = fs::read_to_string(run_folder(out).join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The statistics of a flow, in the member of a case that has this index.
pub fn flow<'a>(summary: &'a Value, case: &str, member: usize, flow: &str) -> &'a Value {
    let cases = summary["cases"].as_array().unwrap();
    let case = cases.iter().find(|c| c["name"] == case).unwrap();
    &case["members"][member]["flows"][flow]
}

/// One of its counts.
pub fn count(flow: &Value, what: &str) -> u64 {
    flow["counts"][what].as_u64().unwrap()
}
