//! Run folders made, found again, and things that are none.

use super::*;
use crate::summary::Testbed;
use crate::{FlowPlan, join, manifest};
use teiji_core::time::{Instant, Span};

fn manifest() -> Manifest {
    Manifest {
        schema: manifest::SCHEMA.to_owned(),
        teiji: "0.1.0".to_owned(),
        experiment: "etf".to_owned(),
        experiment_sha256: manifest::sha256_of(b"abc"),
        command: vec!["teiji".to_owned(), "run".to_owned()],
        testbed: Testbed::Lab,
        seeds: vec![1],
        cases: vec!["normal".to_owned()],
        started: "2026-11-21T09:30:00Z".to_owned(),
        finished: None,
        interrupted: false,
        missing: Vec::new(),
        lab: None,
        observed: crate::ObservedCases::default(),
        replay: None,
    }
}

fn summary() -> Summary {
    let flow = FlowPlan {
        flow: 0,
        name: "cycle".to_owned(),
        frames: 7,
        base: Instant::from_ns(0),
        period: Span::from_ns(1_000_003),
        mode: teiji_experiment::SendMode::OnWakeUp,
        tx_stamps: false,
    };
    let sighting = |seq: u64, at| crate::Sighting { flow: 0, seq, at: Instant::from_ns(at) };
    let seen = [(0, 1), (1, 1_000_010), (2, 2_000_000), (3, 2_999_000)];
    let joined =
        join(std::slice::from_ref(&flow), &[], &[], seen.map(|(seq, at)| sighting(seq, at)));
    let about = crate::About {
        experiment: "etf".to_owned(),
        case: "normal".to_owned(),
        seed: 1,
        flows: vec![flow],
    };
    let records = Records { about, facts: joined.facts, rows: joined.rows };
    let member = crate::MemberSummary {
        seed: 1,
        records: Some(RunFolder::records_name("normal", 1)),
        flows: records.statistics(),
        incomplete: true,
        ..crate::MemberSummary::default()
    };
    let case = crate::CaseSummary::new("normal", vec![member]);
    Summary { question: "Is it?".to_owned(), ..Summary::new("etf", Testbed::Lab, vec![case]) }
}

#[test]
fn a_run_is_found_by_its_name_and_as_the_latest() {
    let root = tempfile::tempdir().unwrap();
    let first = RunFolder::create(root.path(), "2026-11-21T09-30-00", "etf").unwrap();
    let second = RunFolder::create(root.path(), "2026-11-21T09-30-00", "etf").unwrap();
    assert!(first.path().ends_with("2026-11-21T09-30-00-etf"));
    assert!(second.path().ends_with("2026-11-21T09-30-00-etf-2"), "names are unique");
    for folder in [&first, &second] {
        folder.write_manifest(&manifest()).unwrap();
        folder.mark_latest().unwrap();
    }
    let (latest, read) = RunFolder::open(&root.path().join(LATEST)).unwrap();
    assert_eq!(latest.path(), second.path().canonicalize().unwrap());
    assert_eq!(read, manifest());
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3, "two runs and the link");
    let link = fs::read_link(root.path().join(LATEST)).unwrap();
    assert!(link.is_relative(), "the whole folder can be moved");
}

#[test]
fn what_is_written_reads_back() {
    let root = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(root.path(), "now", "etf").unwrap();
    folder.write_experiment("name = \"etf\"\n").unwrap();
    folder.write_summary(&summary()).unwrap();
    assert_eq!(folder.read_experiment().unwrap(), "name = \"etf\"\n");
    assert_eq!(folder.read_summary().unwrap(), summary());
}

fn open_error(path: &Path) -> String {
    RunFolder::open(path).unwrap_err().to_string()
}

#[test]
fn what_is_no_run_is_an_error_with_the_next_step() {
    let root = tempfile::tempdir().unwrap();
    let missing = open_error(&root.path().join("nothing"));
    assert!(missing.contains("there is no such run; `ls "), "{missing}");
    let latest = open_error(&root.path().join(LATEST));
    assert!(latest.contains("no run yet"), "{latest}");
    assert!(open_error(root.path()).contains("not a run folder"));
    let capture = root.path().join("tap.pcap");
    fs::write(&capture, b"").unwrap();
    assert!(open_error(&capture).contains("teiji analyze"));
    let folder = RunFolder::create(root.path(), "now", "etf").unwrap();
    assert!(open_error(folder.path()).contains("manifest.json is missing"));
}

#[test]
fn the_version_of_a_manifest_decides() {
    let root = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(root.path(), "now", "etf").unwrap();
    let with_schema = |schema: &str| {
        let manifest = Manifest { schema: schema.to_owned(), ..manifest() };
        folder.write_manifest(&manifest).unwrap();
        open_error(folder.path())
    };
    assert!(with_schema("teiji-run/2").contains("made by a newer Teiji (`teiji-run/2`"));
    assert!(with_schema("teiji-run/0").contains("made by an older Teiji"));
    assert!(with_schema("someone/1").contains("not a file of Teiji"));
    fs::write(folder.manifest_path(), "{").unwrap();
    assert!(open_error(folder.path()).contains("not readable as `teiji-run/1`: EOF"));
    fs::write(folder.manifest_path(), "{\"schema\": \"teiji-run/1\"}").unwrap();
    assert!(open_error(folder.path()).contains("missing field `teiji`"));
}

#[test]
fn names_cannot_leave_the_folder() {
    assert_eq!(RunFolder::records_name("../../etc/x", 3), "records/etc-x-s3.parquet");
    let root = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(root.path(), "..", "a/b c.pcap").unwrap();
    assert_eq!(folder.path(), root.path().join("a-b-c.pcap"));
}

#[test]
fn sha256_is_that_of_fips_180() {
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(manifest::sha256_of(b"abc"), abc);
}
