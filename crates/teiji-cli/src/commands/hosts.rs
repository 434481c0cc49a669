//! `teiji hosts`: the NICs that have names, and whether an experiment can be run there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use teiji_remote::{Destination, SshOptions};
use teiji_run::machines::{Port, PortPlace, Shell};

use super::bind::NamesFile;
use crate::exit::{Exit, mistake};
use crate::output;

/// List the NICs that have names, with driver, link and kernel.
///
/// A file gives names to NICs of this machine and of others, so that `teiji run --bind talker=left`
/// is enough:
///
///     left = "ssh:root@board/enp1s0"
///     desk = "enp3s0"
///
/// Exits with 4 if an experiment cannot be run over one of them.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    names: NamesFile,
    /// Use this configuration of ssh instead of yours.
    #[arg(long, value_name = "FILE")]
    ssh_config: Option<PathBuf>,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'n> {
    version: u32,
    hosts: Vec<Found<'n>>,
}

#[derive(Serialize)]
struct Found<'n> {
    name: &'n str,
    #[serde(skip)]
    place: &'n PortPlace,
    /// Missing: this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    interface: &'n str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preempt_rt: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
    /// RFC 2863.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mbit_s: Option<u32>,
    /// Why an experiment cannot be run there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    obstacles: Vec<String>,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let names = args.names.read()?;
    if names.iter().next().is_none() {
        let file =
            args.names.path().map_or_else(|| "a file".to_owned(), |p| p.display().to_string());
        mistake!(
            "no NIC has a name: write for example `left = \"ssh:root@board/enp1s0\"` into {file}"
        );
    }
    let ssh = SshOptions { config: args.ssh_config.clone() };
    // One after the other: each may request a password.
    let mut shells: BTreeMap<Option<&Destination>, Result<Shell, String>> = BTreeMap::new();
    let mut hosts = Vec::new();
    for (name, place) in names.iter() {
        let to = place.machine.as_ref();
        let shell = shells
            .entry(to)
            .or_insert_with(|| Shell::open(to, &ssh).map_err(|error| error.to_string()));
        let port = match shell {
            Ok(shell) => shell.port(place).map_err(|error| error.to_string()),
            Err(why) => Err(why.clone()),
        };
        hosts.push(found(name, place, port));
    }
    let good = hosts.iter().all(|host| host.obstacles.is_empty());
    if args.json {
        output::json(&Document { version: 1, hosts })?;
    } else {
        print(&hosts)?;
    }
    Ok(if good { Exit::Success } else { Exit::Unfulfilled })
}

fn found<'n>(name: &'n str, place: &'n PortPlace, port: Result<Port, String>) -> Found<'n> {
    let mut found = Found {
        name,
        place,
        machine: place.machine.as_ref().map(Destination::to_string),
        interface: &place.interface,
        kernel: None,
        preempt_rt: None,
        processor: None,
        driver: None,
        state: None,
        mbit_s: None,
        obstacles: Vec::new(),
    };
    match port {
        Err(why) => found.obstacles.push(why),
        Ok(port) => {
            found.obstacles = port.obstacles(place);
            found.kernel = Some(port.kernel);
            found.preempt_rt = Some(port.preempt_rt);
            found.processor = Some(port.processor);
            if let Ok(nic) = port.nic {
                found.driver = nic.driver;
                found.state = Some(nic.state);
                found.mbit_s = nic.mbit_s;
            }
        }
    }
    found
}

fn print(hosts: &[Found<'_>]) -> anyhow::Result<()> {
    let place = |host: &Found<'_>| host.place.to_string();
    let widest = |text: &dyn Fn(&Found<'_>) -> usize| hosts.iter().map(text).max().unwrap_or(0);
    let (names, places) = (widest(&|host| host.name.len()), widest(&|host| place(host).len()));
    for host in hosts {
        let line = format!("{:names$}  {:places$}  {}", host.name, place(host), facts(host));
        output::line(line.trim_end())?;
        for obstacle in &host.obstacles {
            output::line(format_args!("{:names$}  ! {obstacle}", ""))?;
        }
    }
    Ok(())
}

/// `igb, up, 1000 Mbit/s; Linux 6.12.95, aarch64, PREEMPT_RT`
fn facts(host: &Found<'_>) -> String {
    let nic =
        [host.driver.clone(), host.state.clone(), host.mbit_s.map(|rate| format!("{rate} Mbit/s"))];
    let kernel = [
        host.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
        host.processor.clone(),
        host.preempt_rt.filter(|rt| *rt).map(|_| "PREEMPT_RT".to_owned()),
    ];
    let list =
        |facts: [Option<String>; 3]| facts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    [list(nic), list(kernel)]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}
