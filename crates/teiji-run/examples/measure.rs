//! Measures a scenario with `teiji-run` as a library: two cases of a periodic flow over a veth pair
//! between two network namespaces of this machine. Needs root, and neither the laboratory nor a NIC.
//!
//!     sudo -E cargo run -p teiji-run --example measure -- /tmp/runs
//!
//! It prints for each case the range of the intervals' deviations, and where the report is.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use teiji::StopFlag;
use teiji_experiment::{Reader, reader::NicSource};
use teiji_net::keeper;
use teiji_record::RunFolder;
use teiji_run::{On, Request, Unwatched, report, run, summarise};

/// The scenario. docs/experiments.md describes the format.
const SCENARIO: &str = r#"
name = "wake-up"
question = "Does a real-time priority make the intervals of a flow more regular?"
[wires.line]
between = ["talker", "listener"]
[flows.cycle]
from = "talker"
to = "listener"
period = "1ms"
frames = 1000
payload = 64
[cases.ordinary]
[cases.real-time]
flows.cycle.realtime = 80
flows.cycle.listener-realtime = 80
"#;

fn main() -> anyhow::Result<ExitCode> {
    // Before a run changes a NIC or a setting of the kernel, it starts this program a second time to
    // restore them if the first is killed. On a veth pair nothing has to be restored.
    if std::env::args().nth(1).as_deref() == Some(keeper::SUBCOMMAND) {
        return Ok(keeper::main());
    }
    let out: PathBuf = std::env::args_os().nth(1).context("usage: measure FOLDER")?.into();

    let reading = Reader::new("wake-up.toml").nics(NicSource::Own).read(SCENARIO);
    let experiment = reading.experiment.with_context(|| reading.findings.to_string())?;
    let request = Request {
        seeds: vec![experiment.seed],
        experiment,
        text: SCENARIO.to_owned(),
        set: Vec::new(),
        testbed: On::Local { bind: String::new(), take: false, why: None },
        loads: Vec::new(),
        jobs: 1,
        out,
        arguments: Vec::new(),
        replay_of: None,
    };
    // Another thread may set the flag: the run ends early, and what it measured stays.
    let finished = run(&request, &StopFlag::new(), &Unwatched)?;

    let (folder, manifest) = RunFolder::open(finished.folder.path())?;
    let summary = summarise::read(&folder, &manifest)?.summary;
    for case in &summary.cases {
        for member in &case.members {
            let cycle = &member.flows["cycle"];
            let point = cycle.timestamp_point.context("no frame has a timestamp")?;
            let interval = cycle.timestamp_points[&point].interval.as_ref();
            let range_ns = interval.context("fewer than two frames arrived")?.range_ns;
            let lost = cycle.counts.lost;
            println!("{}: range {range_ns} ns ({point:?}), {lost} frames lost", case.name);
        }
    }
    report::write(&folder, &manifest, &summary)?;
    println!("report: {}", folder.path().join("report.html").display());
    Ok(ExitCode::SUCCESS)
}
