//! `teiji lab suite`: runs test scripts for kernel modules in one guest, and checks its kernel log.

mod scripts;
mod steps;
mod text;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use teiji_experiment::InstructionTime;
use teiji_lab::cache::Cache;
use teiji_lab::guest::RESULT_PATH;
use teiji_lab::kernel::{Kernel, ModuleSource};
use teiji_lab::machine::{self, Clock, Console, MOST_VCPUS, MachineSpec};
use teiji_lab::protocol::Kind;
use teiji_lab::suite::{self, Needs, Report};
use teiji_lab::vm::{self, Supervision};

use scripts::Script;

use super::KernelArgs;
use super::guest_programs::{GuestPrograms, at_hand, files_inside, plugin_files};
use crate::exit::Exit;
use crate::interrupt;
use crate::progress::Progress;
use teiji_run::lab::{GuestContents, GuestFile, base_modules, write_initramfs};

/// Memory of the guest.
const MEMORY_MIB: u32 = 512;
/// Kernel parameters that turn warnings into failures.
const KERNEL_WORDS: [&str; 2] = ["panic_on_warn=1", "loglevel=5"];

/// Run test scripts for a kernel module in a guest, and check its kernel log.
///
/// CONTRIBUTING.md describes how to write scripts.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    kernel: KernelArgs,
    /// Longest real time for the guest, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    wall_limit: u64,
    /// Virtual CPUs, at least; a script may request more.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_VCPUS)))]
    cpus: u16,
    /// Seed of the kernel's random delays and addresses, and of the scripts' start within a tick.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Build the module in this folder; the folder has the module's name. May be given several
    /// times.
    #[arg(long, value_name = "DIR")]
    source: Vec<PathBuf>,
    /// Put this file into the guest's /root; may be given several times.
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Skip the scripts that are marked as long.
    #[arg(long)]
    short: bool,
    /// Show the whole output of all scripts, not only the end of a failed script's output.
    #[arg(long)]
    show_output: bool,
    /// Scripts, or folders with scripts (`*.sh`). Scripts can source the `*.inc` files of a folder
    /// as /suite/NAME.inc.
    #[arg(required = true, value_name = "SCRIPT")]
    scripts: Vec<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut scripts = scripts::read(&args.scripts)?;
    if args.short {
        scripts = scripts::without_long(scripts)?;
    }
    let needs: Vec<Needs> = scripts.iter().map(|script| Needs::of(&script.text)).collect();
    let instruction = instruction(&needs)?;
    let modules = distinct(needs.iter().flat_map(|needs| &needs.modules));
    let packages = distinct(needs.iter().flat_map(|needs| &needs.packages));
    let plugins = distinct(needs.iter().flat_map(|needs| &needs.plugins));

    // Before anything is fetched.
    let own_files = files_inside(&args.file)?;
    let includes = scripts::includes(&args.scripts)?;
    let progress = Progress::new(false);
    let mut steps = progress.cache_steps();
    let cache = Cache::open()?;
    let mut kernel = cache.kernel(&args.kernel.spec()?, &mut steps)?;
    if let Some(why) = machine::cannot_take(kernel.arch, instruction) {
        bail!("{why}");
    }
    let loaded = [&base_modules(&kernel, instruction), &modules[..]].concat();
    cache.add_modules(&mut kernel, &loaded, &mut steps)?;
    for dir in &args.source {
        let module = cache.module(&kernel, &ModuleSource::read(dir)?, &mut steps)?;
        kernel.add_module(&module);
    }
    let arch = kernel.arch;
    let qemu = cache.qemu(arch, &mut steps)?;
    // The scripts are written for dash, so there is always a package.
    let packages = [&["dash"], &packages[..]].concat();
    let programs = GuestPrograms::fetch(&cache, &packages, arch, &mut steps)?;
    drop(steps);

    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut files = guest_files(&scripts, &includes);
    files.extend(programs.files);
    files.extend(own_files);
    files.extend(plugin_files(&plugins, arch)?);
    let contents = GuestContents {
        loaded: &loaded,
        at_hand: &at_hand(&kernel),
        files: &files,
        trees: &programs.trees,
        ..GuestContents::default()
    };
    let initramfs = scratch.path().join("initramfs");
    write_initramfs(&initramfs, &kernel, &contents)?;
    let vcpus = needs.iter().map(|needs| needs.cpus).fold(args.cpus, u16::max);
    let seconds: u64 = needs.iter().map(|needs| needs.limit.as_secs()).sum::<u64>() + 120;
    let console = scratch.path().join("console");
    let machine = MachineSpec {
        arch,
        kernel: kernel.unpacked(scratch.path())?,
        initramfs,
        init_args: init_args(args.seed, seconds, &kernel),
        memory_mib: kernel.memory_mib(MEMORY_MIB),
        vcpus,
        seed: args.seed,
        clock: Clock::Virtual,
        instruction,
        console: Console::File(console.clone()),
        results: scratch.path().join("results"),
        nics: Vec::new(),
        management: None,
    };
    let stop = interrupt::stop_flag();
    let mut steps = steps::GuestSteps::new(&progress, &console, &scripts);
    let mut messages = Vec::new();
    let ended = vm::run(
        qemu.command(),
        &machine,
        &scratch.path().join("qemu.log"),
        Supervision {
            recording: None,
            wall_limit: Duration::from_secs(args.wall_limit),
            cpu: None,
            stop: &|| stop.is_stopped(),
            tick: &mut || steps.look(),
            ready: &mut || {},
        },
        &mut messages,
    );
    drop(steps);
    let result = messages.iter().find(|message| message.kind == Kind::Result);
    let Some(result) = result else {
        text::death(&console)?;
        ended?;
        bail!("the guest ended without a result");
    };
    let report: Report =
        serde_json::from_slice(&result.payload).context("cannot understand the guest's report")?;
    let passed = text::report(&report, &kernel.release, args.show_output)?;
    ended?;
    if report.scripts.len() != scripts.len() {
        bail!("the guest ran {} of {} scripts", report.scripts.len(), scripts.len());
    }
    Ok(if passed { Exit::Success } else { Exit::Failure })
}

fn init_args(seed: u64, seconds: u64, kernel: &Kernel) -> Vec<String> {
    [
        format!("teiji.{}", suite::INIT_WORD),
        format!("teiji.seed={seed}"),
        format!("teiji.deadline={seconds}"),
    ]
    .into_iter()
    .chain(KERNEL_WORDS.iter().chain(kernel.command_line()).map(|word| (*word).to_owned()))
    .collect()
}

/// The shortest that any script wants; all run with it.
fn instruction(needs: &[Needs]) -> anyhow::Result<InstructionTime> {
    let wanted = needs.iter().filter_map(|needs| needs.instruction.as_deref()).map(|text| {
        InstructionTime::parse(text)
            .with_context(|| format!("`# instruction: {text}`: there is 125ps to 16ns, by twos"))
    });
    let wanted: Vec<InstructionTime> = wanted.collect::<Result<_, _>>()?;
    Ok(wanted.into_iter().min_by_key(|time| time.as_ps()).unwrap_or_default())
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for name in names {
        if !all.contains(&name.as_str()) {
            all.push(name);
        }
    }
    all
}

fn guest_files(scripts: &[Script], includes: &[Script]) -> Vec<GuestFile> {
    let libraries =
        suite::LIBRARIES.map(|(path, text)| (path.to_owned(), 0o644, text.as_bytes().to_vec()));
    let scripts = scripts.iter().map(|script| {
        let path = format!("{}/{}", suite::SCRIPTS_DIR, script.name);
        (path, 0o755, script.text.as_bytes().to_vec())
    });
    let includes = includes.iter().map(|include| {
        (format!("{}/{}", suite::DIR, include.name), 0o644, include.text.as_bytes().to_vec())
    });
    libraries.into_iter().chain(scripts).chain(includes).collect()
}

/// `teiji guest-suite`, hidden: started by init in the guest.
#[derive(clap::Args)]
pub struct GuestArgs {
    /// What the machine's seed is.
    #[arg(long)]
    seed: u64,
}

pub fn run_in_guest(args: &GuestArgs) -> anyhow::Result<Exit> {
    let installed =
        std::process::Command::new("/bin/busybox").args(["--install", "-s", "/bin"]).output();
    installed.context("cannot install busybox's programs")?;
    let report = suite::guest::run(args.seed).context("cannot run the scripts")?;
    let bytes = serde_json::to_vec(&report).context("cannot write down the result")?;
    fs::write(RESULT_PATH, bytes).context("cannot leave the result")?;
    Ok(Exit::Success)
}
