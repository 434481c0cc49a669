//! What a run of a case does, as a shell script: what it sets up, the programs that
//! synchronise clocks, what it then measures, and the way back.

use std::fmt::Write as _;
use std::path::Path;

use teiji_core::shell::quote;
use teiji_experiment::{Case, Scenario};
use teiji_net::Plan;
use teiji_net::command::wait_until;

use teiji_run::measure::ptp;
use teiji_run::measure::ptp::program::{self, Program};

/// Where the printed commands keep files; only root writes there.
const FOLDER: &str = "/run/teiji-plan";
/// The end of a file in the script.
const END: &str = "END";

/// The script of one case. The way back is commands with `undo`, and otherwise comments: the
/// set-up of the last case stays.
///
/// Over several machines it is the part of `plan`.
pub fn script(case: &Case, plan: &Plan, undo: bool, several: bool) -> String {
    let scenario = &case.scenario;
    let mut text = plan.setup_script();
    let programs = programs(scenario, plan, several);
    let synchronised = !programs.is_empty();
    text.push_str(&synchronise(&programs));
    text.push_str("# the run now measures:\n");
    for line in measured(scenario) {
        let _ = writeln!(text, "#   {line}");
    }
    let (title, mark) = if undo { ("# undo", "") } else { ("# to undo", "# ") };
    let _ = writeln!(text, "\n{title}");
    if plan.has_nics() {
        text.push_str(
            "# (NICs come back down and without addresses; a run puts back what they had)\n",
        );
    }
    if synchronised {
        let _ = writeln!(text, "{mark}kill $(cat {FOLDER}/pids); rm -r {FOLDER}");
    }
    for command in plan.undo_commands() {
        let _ = writeln!(text, "{mark}{command}");
    }
    text
}

/// The programs of linuxptp, in the order in which they start.
fn programs(scenario: &Scenario, plan: &Plan, several: bool) -> Vec<Program> {
    let folder = Path::new(FOLDER);
    let ports = |host: &str| -> Vec<String> {
        let ports = plan.ports().iter().filter(|port| port.host == host);
        ports.map(|port| port.ifname.clone()).collect()
    };
    let is_here = |host: &str| plan.hosts().iter().any(|here| here == host);
    let hosts = scenario.hosts.iter().filter(|host| is_here(&host.name));
    // What a NIC can timestamp is only known where it is.
    let mut programs: Vec<Program> =
        hosts.flat_map(|host| program::of_host(host, &ports(&host.name), true, folder)).collect();
    if let Some(host) = program::system_clock_host(scenario, is_here, several) {
        if let Some(interface) = ports(&host.name).first() {
            programs.push(program::system_clock(host, interface, ptp::tai_offset_s(), folder));
        }
    }
    programs
}

fn synchronise(programs: &[Program]) -> String {
    let mut text = String::new();
    if programs.is_empty() {
        return text;
    }
    let _ = writeln!(text, "# clock synchronisation\nmkdir -p {FOLDER}");
    for program in programs {
        if let Some((path, settings)) = &program.settings {
            let path = quote(&path.display().to_string());
            let _ = writeln!(text, "cat >{path} <<'{END}'\n{settings}{END}");
        }
    }
    for program in programs {
        if program.name == "phc2sys" {
            text.push_str(&wait(programs));
        }
        let arguments: Vec<String> = program.arguments.iter().map(|word| quote(word)).collect();
        let _ = writeln!(
            text,
            "ip netns exec {} {}{} {} >{} 2>&1 &\necho $! >>{FOLDER}/pids",
            quote(&program.host),
            program.cpu.map(|cpu| format!("taskset -c {cpu} ")).unwrap_or_default(),
            program.name,
            arguments.join(" "),
            quote(&program.log.display().to_string()),
        );
    }
    if !programs.iter().any(|program| program.name == "phc2sys") {
        text.push_str(&wait(programs));
    }
    text.push_str("# (a run goes on when every clock has settled on what it follows)\n\n");
    text
}

/// Waits until each `ptp4l` follows its master.
fn wait(programs: &[Program]) -> String {
    let mut text = String::new();
    for program in programs.iter().filter(|program| program.followers > 0) {
        let log = quote(&program.log.display().to_string());
        let limit = ptp::LIMIT.to_std().unwrap_or_default();
        let _ = writeln!(text, "{}", wait_until(&format!("grep -q 'to SLAVE on' {log}"), limit));
    }
    text
}

/// What is measured, a line each.
fn measured(scenario: &Scenario) -> Vec<String> {
    let flows = scenario.flows.iter().map(|flow| {
        let (name, from, to, period) = (&flow.name, &flow.from, &flow.to, flow.period);
        format!("flow {name}: {} frames from {from} to {to}, every {period}", flow.frames)
    });
    let rounds = scenario.round_trips.iter().map(|rounds| {
        let (name, from, to) = (&rounds.name, &rounds.from, &rounds.to);
        format!("round trips {name}: {} requests from {from} to {to}", rounds.count)
    });
    let loads = scenario.loads.iter().map(|load| format!("with the load {load}"));
    let traced = scenario.is_traced().then(|| {
        "with the receiving kernel's events in ring buffers of the run's own (tracefs)".to_owned()
    });
    flows.chain(rounds).chain(loads).chain(traced).collect()
}
