//! Measures members of an experiment in the laboratory: prepares what all
//! members share, then boots one virtual machine per member.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use teiji::StopFlag;
use teiji::listener::FRAMES_PER_CALL;
use teiji_core::time::Span;
use teiji_experiment::{Case, Experiment, Flow, InstructionTime, Nic, Scenario, Transport};
use teiji_lab::cache::{self, Cache};
use teiji_lab::guest::JOB_PATH;
use teiji_lab::guest_modules::GuestModules;
use teiji_lab::initramfs::Initramfs;
use teiji_lab::kernel::{Kernel, KernelSpec, ModuleSource};
use teiji_lab::machine::{self, Clock, Console, MachineSpec, NicSpec, Wire, qemu_arguments};
use teiji_lab::protocol::{Kind, Message};
use teiji_lab::qemu_install::Qemu;
use teiji_lab::recorder::Recording;
use teiji_lab::vm::{self, Supervision, VmError};

use crate::guest_program;
use crate::interruption;
use crate::job::Job;
use crate::measure::Outcome;
use crate::measure::ptp;
use crate::member::MemberFiles;

/// What every guest loads: the way to the host.
const TO_HOST: [&str; 2] = ["virtio_pci", "virtio_console"];
/// The emulated watchdog's driver, which not every kernel has.
const WATCHDOG: &str = "i6300esb";
/// Memory of a guest: the kernel, this program and a million frames' records.
const MEMORY_MIB: u32 = 512;
/// Real time for booting, beside the measurement.
const BOOT_LIMIT: Duration = Duration::from_secs(180);
/// Most real time for 500 million instructions, a second of the usual processor's, before a
/// guest is given up.
const SLOWEST: Duration = Duration::from_secs(20);
/// No reader is waited for longer.
const LONGEST_DELAY: Span = Span::from_secs(24 * 3_600);
/// Virtual time beyond the experiment's own before init gives up.
const VIRTUAL_SLACK: Span = Span::from_secs(60);

/// The word for init that ends a guest; one letter longer than that for symbols.
const DEADLINE: &str = "teiji.deadline=";

/// What all members of a run share.
pub struct Lab {
    /// One for each kernel that a case runs on; never empty.
    guests: Vec<Guest>,
    /// Keeps the guests' file systems until the run is over.
    _scratch: tempfile::TempDir,
    wall_limit: Option<Duration>,
}

/// What the host adds to a member, without effect on what is measured.
#[derive(Clone, Copy, Default)]
pub struct Hosting<'a> {
    /// The CPU that QEMU runs on.
    pub cpu: Option<u16>,
    /// Record what the kernel does.
    pub recording: Option<&'a Recording>,
}

/// A kernel and the file system that goes with it.
struct Guest {
    /// The kernel's name in the cases that request it; `None` for the others.
    name: Option<String>,
    kernel: Kernel,
    qemu: Qemu,
    /// Its init.
    program: PathBuf,
    /// What QEMU boots of it.
    boots: PathBuf,
    initramfs: PathBuf,
}

impl Lab {
    /// Fetches what is missing and builds the guest's file system.
    ///
    /// # Errors
    /// If a case has too many CPUs, or kernel, modules, packages or QEMU cannot be fetched, built
    /// or written.
    pub fn prepare(
        experiment: &Experiment,
        job: &Job,
        spec: &KernelSpec,
        sources: &[PathBuf],
        wall_limit: Option<Duration>,
        progress: &mut dyn cache::Progress,
    ) -> anyhow::Result<Self> {
        if let Some(case) =
            experiment.cases.iter().find(|case| vcpus(&case.scenario) > machine::MOST_VCPUS)
        {
            bail!(
                "the case `{}` names CPU {}; the laboratory has at most {} (0 to {})",
                case.name,
                vcpus(&case.scenario) - 1,
                machine::MOST_VCPUS,
                machine::MOST_VCPUS - 1
            );
        }
        let cache = Cache::open()?;
        let synchronises = experiment.cases.iter().any(|case| case.scenario.uses_ptp());
        let packages: &[&str] = if synchronises { &["linuxptp"] } else { &[] };
        let scratch = tempfile::Builder::new()
            .prefix("teiji-lab-")
            .tempdir()
            .context("cannot make a temporary folder; is there space in $TMPDIR or /tmp?")?;
        interruption::prepare_in(scratch.path());
        let job = serde_json::to_vec(job).context("cannot write down the experiment")?;
        let sources = sources.iter().map(|dir| ModuleSource::read(dir));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<Option<String>> = Vec::new();
        for case in &experiment.cases {
            if !names.contains(&case.kernel) {
                names.push(case.kernel.clone());
            }
        }
        let mut guests = Vec::new();
        for (index, name) in names.into_iter().enumerate() {
            let own = name.as_deref().map(|name| KernelSpec::from_options(Some(name), None));
            let mut kernel = cache.kernel(own.transpose()?.as_ref().unwrap_or(spec), progress)?;
            let arch = kernel.arch;
            let cases = experiment.cases.iter().filter(|case| case.kernel == name);
            for case in cases {
                if let Some(why) = machine::cannot_take(arch, case.instruction) {
                    bail!("the case `{}`: {why}", case.name);
                }
            }
            let program = guest_program::find(arch)?;
            let trees = cache.guest_packages(packages, arch, progress)?;
            let mut modules: Vec<&str> = modules(experiment, &kernel);
            cache.add_modules(&mut kernel, &modules, progress)?;
            for source in &sources {
                let module = cache.module(&kernel, source, progress)?;
                kernel.add_module(&module);
                if !modules.contains(&source.name()) {
                    modules.push(source.name());
                }
            }
            let initramfs = scratch.path().join(format!("initramfs{index}"));
            let contents = GuestContents {
                loaded: &modules,
                job: &job,
                trees: &trees,
                ..GuestContents::default()
            };
            write_initramfs(&initramfs, &kernel, &contents)?;
            let boots = kernel.unpacked(scratch.path())?;
            let qemu = cache.qemu(arch, progress)?;
            guests.push(Guest { name, kernel, qemu, program, boots, initramfs });
        }
        Ok(Self { guests, _scratch: scratch, wall_limit })
    }

    fn guest(&self, case: &Case) -> &Guest {
        // There is one for each case of the experiment.
        self.guests.iter().find(|guest| guest.name == case.kernel).unwrap_or(&self.guests[0])
    }

    /// The kernel that a case runs on.
    pub fn kernel(&self, case: &Case) -> &Kernel {
        &self.guest(case).kernel
    }

    /// The QEMU that a case's guest runs on.
    pub fn qemu(&self, case: &Case) -> &Qemu {
        &self.guest(case).qemu
    }

    /// The program that is the init of a case's guest.
    pub fn program(&self, case: &Case) -> &Path {
        &self.guest(case).program
    }

    /// The file system that a case's guest begins with.
    pub fn initramfs(&self, case: &Case) -> &Path {
        &self.guest(case).initramfs
    }

    /// The machine of one member.
    pub fn machine(
        &self,
        case: &Case,
        seed: u64,
        files: &MemberFiles,
        results: &Path,
    ) -> MachineSpec {
        let slower = (case.instruction.as_ps() / InstructionTime::default().as_ps()).max(1);
        let deadline = virtual_time(&case.scenario) + VIRTUAL_SLACK * i64::from(slower);
        MachineSpec {
            arch: self.kernel(case).arch,
            kernel: self.guest(case).boots.clone(),
            initramfs: self.initramfs(case).to_owned(),
            init_args: [
                format!("teiji.case={}", case.name),
                format!("teiji.seed={seed}"),
                format!("{DEADLINE}{}", deadline.as_ns() / 1_000_000_000),
            ]
            .into_iter()
            .chain(self.kernel(case).command_line().iter().map(|word| (*word).to_owned()))
            .collect(),
            memory_mib: self.kernel(case).memory_mib(MEMORY_MIB),
            vcpus: vcpus(&case.scenario),
            seed,
            clock: Clock::Virtual,
            instruction: case.instruction,
            console: Console::File(files.console.clone()),
            results: results.to_owned(),
            nics: nics(&case.scenario, &files.captures),
            management: None,
        }
    }

    /// QEMU's command line for a member, for the manifest: with bare file names,
    /// because the folders differ from run to run.
    pub fn command_line(&self, case: &Case, seed: u64) -> Vec<String> {
        let files = MemberFiles {
            console: "console.log".into(),
            captures: case
                .scenario
                .wires
                .iter()
                .map(|w| (w.nic != Nic::Vtsn).then(|| format!("{}.pcap", w.name).into()))
                .collect(),
        };
        let mut spec = self.machine(case, seed, &files, Path::new("results"));
        let own = spec.kernel == self.kernel(case).image;
        spec.kernel = if own { "vmlinuz" } else { "vmlinux" }.into();
        spec.initramfs = "initramfs".into();
        qemu_arguments(&spec).iter().map(|a| a.to_string_lossy().into_owned()).collect()
    }

    /// Boots a case's machine and asks its kernel for the addresses of its functions, which are
    /// the same in each member.
    ///
    /// # Errors
    /// If the machine cannot be started, is interrupted, or ends without a result.
    pub fn symbols(&self, case: &Case, seed: u64, stop: &StopFlag) -> anyhow::Result<Vec<u8>> {
        let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
        let files = MemberFiles {
            console: scratch.path().join("console"),
            captures: vec![None; case.scenario.wires.len()],
        };
        let mut spec = self.machine(case, seed, &files, &scratch.path().join("results"));
        // In the place of the deadline, and as long: where a module lies depends on whether what others
        // needed at their start is free already, and so on all that the boot does.
        for word in spec.init_args.iter_mut().filter(|word| word.starts_with(DEADLINE)) {
            let value = word.len() - DEADLINE.len() + 1;
            *word = format!("teiji.{}={:0<value$}", crate::guest::SYMBOLS_WORD, "");
        }
        let mut messages = Vec::new();
        vm::run(
            self.qemu(case).command(),
            &spec,
            &scratch.path().join("qemu.log"),
            Supervision {
                wall_limit: self.wall_limit.unwrap_or(BOOT_LIMIT),
                cpu: None,
                stop: &|| stop.is_stopped(),
                tick: &mut || {},
                recording: None,
                ready: &mut || {},
            },
            &mut messages,
        )?;
        let result = messages.into_iter().find(|message| message.kind == Kind::Result);
        Ok(result.context("the guest ended without its symbols")?.payload)
    }

    /// Boots a machine, measures one member, and returns what it measured.
    ///
    /// # Errors
    /// If the machine cannot be started, is interrupted, or ends without a result.
    pub fn measure(
        &self,
        case: &Case,
        seed: u64,
        files: &MemberFiles,
        hosting: Hosting<'_>,
        stop: &StopFlag,
        tick: &mut dyn FnMut(),
    ) -> anyhow::Result<Outcome> {
        let Hosting { cpu, recording } = hosting;
        let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
        let spec = self.machine(case, seed, files, &scratch.path().join("results"));
        let wall_limit = self.wall_limit.unwrap_or_else(|| default_wall_limit(case));
        let mut messages = Vec::new();
        let ended = vm::run(
            self.qemu(case).command(),
            &spec,
            &scratch.path().join("qemu.log"),
            Supervision {
                wall_limit,
                cpu,
                stop: &|| stop.is_stopped(),
                tick,
                recording,
                ready: &mut || {},
            },
            &mut messages,
        );
        let outcome = outcome(&messages);
        match (ended, outcome) {
            (Ok(()), Some(outcome)) => outcome,
            (Ok(()), None) => bail!("the guest ended without a result"),
            // What was measured counts, even if the machine died afterwards.
            (Err(error), Some(Ok(mut outcome))) if !matches!(error, VmError::Interrupted) => {
                outcome.logs.warnings.push(format!("The guest did not end well: {error}."));
                Ok(outcome)
            }
            (Err(error), _) => Err(error.into()),
        }
    }
}

fn outcome(messages: &[Message]) -> Option<anyhow::Result<Outcome>> {
    let result = messages.iter().find(|message| message.kind == Kind::Result)?;
    Some(Outcome::from_bytes(&result.payload))
}

fn default_wall_limit(case: &Case) -> Duration {
    let delay = case.scenario.flows.iter().map(processing_delay).max().unwrap_or(Span::ZERO);
    let seconds = virtual_time(&case.scenario).as_secs_f64() + delay.as_secs_f64();
    let slower =
        f64::from(InstructionTime::default().as_ps()) / f64::from(case.instruction.as_ps());
    // Virtual CPUs take turns.
    (BOOT_LIMIT + SLOWEST.mul_f64(seconds * slower)) * u32::from(vcpus(&case.scenario))
}

/// How long a scenario takes at most: its flows, what then waits in bridges, and clocks that
/// settle before.
fn virtual_time(scenario: &Scenario) -> Span {
    // The NICs' clocks and then the system's.
    let settling = if scenario.uses_ptp() { ptp::LIMIT * 2 } else { Span::ZERO };
    let draining = if scenario.has_bridges() { scenario.longest_wait() } else { Span::ZERO };
    scenario.duration() + settling + draining
}

/// The processing delays of a flow's reader, for which its sender may have to wait.
fn processing_delay(flow: &Flow) -> Span {
    let looks = i64::try_from(flow.frames / u64::from(FRAMES_PER_CALL)).unwrap_or(i64::MAX);
    let pause = flow.listener_pause.unwrap_or(Span::ZERO);
    Span::from_ns(pause.as_ns().saturating_mul(looks)).min(LONGEST_DELAY)
}

/// As many virtual CPUs as hosts, ports and flows name, counting from 0.
pub fn vcpus(scenario: &Scenario) -> u16 {
    let ports = scenario.hosts.iter().flat_map(|host| &host.ports);
    let named = scenario.flows.iter().filter_map(|flow| flow.cpu).chain(scenario.cpus());
    let ptp = scenario.hosts.iter().filter_map(|host| host.ptp?.cpu);
    named
        .chain(ptp)
        .chain(ports.flat_map(|port| port.processing.cpus()))
        .max()
        .map_or(1, |last| last.saturating_add(1))
}

/// One NIC per port, wire by wire; each wire is captured at its second end.
/// The guest makes `vtsn` wires itself.
fn nics(scenario: &Scenario, captures: &[Option<PathBuf>]) -> Vec<NicSpec> {
    let mut nics = Vec::new();
    for (index, wire) in scenario.wires.iter().enumerate().filter(|(_, w)| w.nic != Nic::Vtsn) {
        for (end, host) in wire.between.iter().enumerate() {
            let Some(port) = scenario.port(host, &wire.name) else { continue };
            let capture = if end == 1 { captures.get(index).cloned().flatten() } else { None };
            nics.push(NicSpec { model: wire.nic, mac: port.mac, wire: Wire::Hub(index), capture });
        }
    }
    nics
}

/// What a guest of this kernel loads before its own modules: what its clock needs where the
/// shortest instruction is such, the way to the host, and the watchdog.
pub fn base_modules(kernel: &Kernel, instruction: InstructionTime) -> Vec<&'static str> {
    let mut names = Vec::new();
    if ModuleSource::is_for(ModuleSource::SLOWER_CLOCK, kernel.arch) && instruction.slowdown() > 1 {
        // First: until it is loaded, each timer costs a hundred times what it should.
        names.push(ModuleSource::SLOWER_CLOCK);
    }
    names.extend(TO_HOST);
    names.extend(kernel.has_module(WATCHDOG).then_some(WATCHDOG));
    names
}

/// The kernel modules that an experiment's cases need.
fn modules(experiment: &Experiment, kernel: &Kernel) -> Vec<&'static str> {
    let instructions = experiment.cases.iter().map(|case| case.instruction);
    let shortest = instructions.min_by_key(|time| time.as_ps()).unwrap_or_default();
    let mut names = base_modules(kernel, shortest);
    let mut need = |name| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    for case in &experiment.cases {
        for wire in &case.scenario.wires {
            need(wire.nic.module());
        }
        if case.scenario.has_bridges() {
            need("bridge");
        }
        let ethernet = |f: &Flow| matches!(f.transport, Transport::Ethernet { .. });
        if case.scenario.flows.iter().any(ethernet) || case.scenario.uses_ptp() {
            need("af_packet");
        }
        for port in case.scenario.hosts.iter().flat_map(|host| &host.ports) {
            for module in port.qdisc.iter().flat_map(teiji_net::qdisc::modules) {
                need(module);
            }
        }
    }
    names
}

/// A file of the guest: path, mode, contents.
pub type GuestFile = (String, u32, Vec<u8>);

/// What a guest's file system holds beside this program, which is its init.
#[derive(Default)]
pub struct GuestContents<'a> {
    /// Modules to load.
    pub loaded: &'a [&'a str],
    /// Modules to have at hand for modprobe.
    pub at_hand: &'a [&'a str],
    /// What the measuring program is told.
    pub job: &'a [u8],
    /// Single files.
    pub files: &'a [GuestFile],
    /// Folders whose files lie at the root of the guest; single files go before.
    pub trees: &'a [PathBuf],
}

/// Writes the guest's file system.
///
/// # Errors
/// If this program or a module cannot be read, or the file cannot be written.
pub fn write_initramfs(
    path: &Path,
    kernel: &Kernel,
    contents: &GuestContents<'_>,
) -> anyhow::Result<()> {
    let program = guest_program::find(kernel.arch)?;
    let program = fs::read(&program)
        .with_context(|| format!("cannot read this program, {}", program.display()))?;
    let modules = GuestModules::new(kernel, contents.loaded, contents.at_hand)?;
    let failed = || format!("cannot write {}", path.display());
    let file = File::create(path).with_context(failed)?;
    let write = || -> std::io::Result<()> {
        let mut archive = Initramfs::new(BufWriter::new(file.try_clone()?));
        archive.character_device("dev/console", 5, 1)?;
        archive.file("init", 0o755, &program)?;
        modules.write_to(&mut archive)?;
        archive.file(JOB_PATH, 0o644, contents.job)?;
        for (path, mode, bytes) in contents.files {
            archive.file(path, *mode, bytes)?;
        }
        for tree in contents.trees {
            archive.tree(tree)?;
        }
        archive.finish()?;
        Ok(())
    };
    write().map_err(|error| match error.kind() {
        std::io::ErrorKind::StorageFull => {
            let room = "make room there, or set TMPDIR to a folder with 500 MB";
            anyhow::anyhow!("{}: the disk is full; {room}", failed())
        }
        _ => anyhow::Error::new(error).context(failed()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_limit_of_a_guest_includes_pauses_of_readers_and_grows_with_shorter_instructions() {
        let text = include_str!("../../../experiments/loss.toml");
        let experiment = Experiment::parse(text, "loss.toml").unwrap();
        let mut case =
            experiment.cases.iter().find(|case| case.name == "at-random").unwrap().clone();
        let flow = &mut case.scenario.flows[0];
        flow.frames = 64_000;
        flow.listener_pause = None;
        let without = default_wall_limit(&case);
        // 2 000 looks of 32 frames: ten seconds of rest, on two processors.
        case.scenario.flows[0].listener_pause = Some(Span::from_millis(5));
        let with = default_wall_limit(&case);
        assert_eq!(with, without + SLOWEST * 10 * 2);
        let shorter = Case { instruction: InstructionTime::parse("1ns").unwrap(), ..case };
        assert_eq!(default_wall_limit(&shorter) + BOOT_LIMIT * 2, with * 2);
    }
}
