//! The guest's end of the laboratory: measures one case of the job in its file system, by the
//! same measurement as `--on local`, on the guest's emulated NICs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use teiji::StopFlag;
use teiji_core::wire::MacAddr;
use teiji_experiment::{Nic, Scenario};
use teiji_lab::guest::{InitArgs, JOB_PATH, RESULT_PATH};
use teiji_net::{Binding, KeeperProgram};

pub use crate::job::Job;
use crate::measure;

/// How long the emulated NICs may take to appear.
const NICS_PATIENCE: Duration = Duration::from_secs(20);

/// Word for init: instead of measuring, leave the kernel's symbols.
pub const SYMBOLS_WORD: &str = "symbols";

/// The arguments with which init starts this program again.
pub fn measure_arguments(init: &InitArgs) -> Vec<OsString> {
    let word = |key: &str| init.rest.get(key).cloned().unwrap_or_default();
    if init.rest.contains_key(teiji_lab::suite::INIT_WORD) {
        return ["guest-suite".into(), "--seed".into(), word("seed")].map(OsString::from).to_vec();
    }
    if init.rest.contains_key(SYMBOLS_WORD) {
        return ["guest", "--symbols"].map(OsString::from).to_vec();
    }
    ["guest".into(), "--case".into(), word("case"), "--seed".into(), word("seed")]
        .map(OsString::from)
        .to_vec()
}

/// Measures a case of the job that the host left, and leaves the result for it.
///
/// # Errors
/// If the job cannot be read or has no such case, a NIC is missing, the measurement fails, or its
/// result cannot be written.
pub fn measure(case: &str, seed: u64) -> anyhow::Result<()> {
    let job = fs::read(format!("/{JOB_PATH}")).context("cannot read the guest's job")?;
    let job: Job = serde_json::from_slice(&job).context("cannot understand the guest's job")?;
    let Some(experiment) = job.on_emulated_nics() else {
        bail!("cannot understand the experiment")
    };
    let Some(case) = experiment.cases.iter().find(|known| known.name == case) else {
        bail!("the experiment has no case `{case}`");
    };
    let binding = bind_nics(&case.scenario)?;
    let outcome = measure::case(
        &measure::Setup {
            scenario: &case.scenario,
            binding: &binding,
            seed,
            keeper: KeeperProgram::None,
            take: false,
            own_machine: true,
            loads: &job.loads,
            why: None,
            others: None,
            stop: &StopFlag::new(),
        },
        None,
    )?;
    fs::write(RESULT_PATH, outcome.to_bytes()?).context("cannot leave the result")
}

/// Finds the emulated NICs by the MAC addresses the host gave them.
fn bind_nics(scenario: &Scenario) -> anyhow::Result<Binding> {
    let started = Instant::now();
    loop {
        let nics = nics();
        let mut binding = Binding::default();
        let mut missing = None;
        for host in &scenario.hosts {
            for port in host.ports.iter().filter(|port| emulated(scenario, &port.wire)) {
                match nics.get(&port.mac) {
                    Some(name) => binding.bind(scenario, &host.name, Some(&port.wire), name)?,
                    None => missing = Some(format!("{}.{} ({})", host.name, port.wire, port.mac)),
                }
            }
        }
        match missing {
            None => return Ok(binding),
            Some(port) if started.elapsed() > NICS_PATIENCE => {
                let there: Vec<&String> = nics.values().collect();
                bail!("no NIC appeared for {port}; the guest has {there:?}");
            }
            Some(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// True for a wire between NICs that QEMU emulates; the others are made when
/// the case is measured.
fn emulated(scenario: &Scenario, wire: &str) -> bool {
    scenario.wire(wire).is_some_and(|wire| wire.nic != Nic::Vtsn)
}

fn nics() -> BTreeMap<MacAddr, String> {
    let Ok(entries) = fs::read_dir("/sys/class/net") else { return BTreeMap::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let address = fs::read_to_string(entry.path().join("address")).ok()?;
            Some((address.trim().parse().ok()?, entry.file_name().into_string().ok()?))
        })
        .collect()
}

/// Leaves the addresses of the kernel's functions and the layout of its structures for the host:
/// the length of the first in four octets, little-endian, `/proc/kallsyms`, and BTF.
///
/// # Errors
/// If the kernel does not have them, or the result cannot be written.
pub fn symbols() -> anyhow::Result<()> {
    let kallsyms = fs::read("/proc/kallsyms").context("this kernel has no /proc/kallsyms")?;
    let btf = fs::read("/sys/kernel/btf/vmlinux").context("this kernel has no BTF")?;
    let mut all = u32::try_from(kallsyms.len()).context("too many symbols")?.to_le_bytes().to_vec();
    all.extend(kallsyms);
    all.extend(btf);
    fs::write(RESULT_PATH, all).context("cannot leave the symbols")
}
