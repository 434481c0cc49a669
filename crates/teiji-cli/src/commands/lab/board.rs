//! `teiji lab board`: a guest that is reached by SSH, as a board on a desk is.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use teiji::StopFlag;
use teiji_core::shell::quote;
use teiji_experiment::{InstructionTime, Nic};
use teiji_lab::boards::{
    self, Access, Board, Boards, GUEST_PACKAGES, MANAGEMENT_NIC, Name, Userland, WIRE_NIC,
};
use teiji_lab::cache::{Cache, CacheError, Progress as _, available_bytes};
use teiji_lab::console;
use teiji_lab::guest::BOARD_WORD;
use teiji_lab::kernel::Kernel;
use teiji_lab::machine::{Clock, Console, MOST_VCPUS, MachineSpec, Management, NicSpec};
use teiji_lab::qemu_install::Qemu;
use teiji_lab::vm::{self, Supervision, VmError};
use teiji_run::Progress as _;
use teiji_run::lab::{GuestContents, GuestFile, write_initramfs};

use super::KernelArgs;
use super::guest_programs::{GuestPrograms, QDISCS, at_hand, emulated_nic, files_inside};
use crate::exit::Exit;
use crate::interrupt;
use crate::output;
use crate::progress::Progress;

/// Half of it is the most that the files on the board can take.
const MEMORY_MIB: u32 = 1024;
/// Real time until sshd listens: emulated, and beside other work.
const BOOT_LIMIT: Duration = Duration::from_secs(300);
/// Room for the unpacked kernel and the root file system (measured: 130 without `--package` and `--file`).
const BOOT_FILES_MB: u64 = 250;
/// A free port can be taken by another program before QEMU has it.
const PORT_TRIES: u32 = 3;
/// What QEMU says of a port that it cannot have.
const PORT_IN_USE: &str = "Could not set up host forwarding rule";
/// Files of a board's folder.
const CONSOLE: &str = "console.log";
const QEMU_LOG: &str = "qemu.log";
const RESULTS: &str = "results";
/// How many of the kernel's last messages an error quotes.
const CONSOLE_LINES: usize = 12;
/// Teiji's modules, at hand where they can be built.
const OWN_MODULES: [&str; 2] = ["vtsn", "prioflow"];
/// What every board loads, beside its NIC's driver: the ways to the host, random numbers, frames.
const LOADED: [&str; 5] = ["virtio_pci", "virtio_console", "virtio_net", "virtio_rng", "af_packet"];

/// Start a board: a guest in real time that is reached by SSH.
///
/// It runs until Ctrl-C, or until `poweroff` on the board. Two boards of one wire reach each other
/// through their NIC wire0. docs/boards.md.
#[derive(clap::Args)]
pub struct Args {
    /// The board's name: a-z, 0-9 and `-`.
    name: Name,
    #[command(flatten)]
    kernel: KernelArgs,
    /// The NIC on the wire.
    #[arg(long, default_value = "igb", value_parser = emulated_nic)]
    nic: Nic,
    /// The wire, which two boards share.
    #[arg(long, value_name = "NAME", default_value = "line")]
    wire: Name,
    /// Virtual CPUs.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_VCPUS)))]
    cpus: u16,
    /// Put the programs of this Debian package on the board, with the libraries they need; may be
    /// given several times.
    #[arg(long, value_name = "NAME")]
    package: Vec<String>,
    /// Put this file into the board's /root; may be given several times.
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
}

/// What is fetched and built before anything of the board is on this machine.
struct Parts {
    kernel: Kernel,
    qemu: Qemu,
    programs: GuestPrograms,
    /// Those of [`OWN_MODULES`] that there are for this kernel.
    own_modules: Vec<&'static str>,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    // Before anything is fetched.
    let files = files_inside(&args.file)?;
    Access::possible()?;
    let cache = Cache::open()?;
    let boards = Boards::open(cache.dir())?;
    drop(boards.take(&args.name, &args.wire)?);
    let progress = Progress::new(false);
    let parts = Parts::fetch(args, &cache, &progress)?;
    // From here on Ctrl-C cleans up.
    let stop = interrupt::stop_flag();
    let board = boards.take(&args.name, &args.wire)?;
    let access = Access::make(&board)?;
    boards.write_ssh_config()?;
    // Not in the board's folder, which may lie in memory.
    let scratch = scratch_folder()?;
    let mut machine = parts.machine(args, &board, scratch.path())?;
    parts.write_initramfs(args, &board, &access, files, &machine.initramfs)?;
    let session = Session {
        args,
        boards: &boards,
        board: &board,
        parts: &parts,
        stop: &stop,
        scratch: RefCell::new(Some(scratch)),
        ready: Cell::new(false),
    };
    let mut attempt = 1;
    loop {
        let port = boards::free_port()?;
        board.write_ssh_config(port)?;
        machine.management =
            Some(Management { mac: boards::mac(&board.name, MANAGEMENT_NIC), port });
        match session.attend(&machine, &progress) {
            Err(VmError::QemuEnded { stderr, .. })
                if stderr.contains(PORT_IN_USE) && attempt < PORT_TRIES => {}
            ended => return session.end(ended),
        }
        attempt += 1;
    }
}

/// A folder with room for what the board boots.
fn scratch_folder() -> anyhow::Result<tempfile::TempDir> {
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let free = available_bytes(scratch.path());
    if let Some(free) = free.filter(|free| *free < BOOT_FILES_MB * 1_000_000) {
        bail!(
            "a board needs {BOOT_FILES_MB} MB in {} while it boots, {} MB are free: make room, or \
             set TMPDIR to a folder on a larger disk",
            std::env::temp_dir().display(),
            free / 1_000_000
        );
    }
    Ok(scratch)
}

impl Parts {
    fn fetch(args: &Args, cache: &Cache, progress: &Progress) -> anyhow::Result<Self> {
        let mut steps = progress.cache_steps();
        let mut kernel = cache.kernel(&args.kernel.spec()?, &mut steps)?;
        let mut own_modules = Vec::new();
        for module in OWN_MODULES {
            match cache.add_modules(&mut kernel, &[module], &mut steps) {
                Ok(()) => own_modules.push(module),
                // A board is of use without them, and an image of one's own may have no headers.
                Err(why @ CacheError::Build(_)) => {
                    steps.note(&format!("the board is without {module}: {why}"));
                }
                Err(other) => return Err(other.into()),
            }
        }
        let qemu = cache.qemu(kernel.arch, &mut steps)?;
        let mut packages = GUEST_PACKAGES.to_vec();
        packages.extend(args.package.iter().map(String::as_str));
        let programs = GuestPrograms::fetch(cache, &packages, kernel.arch, &mut steps)?;
        Ok(Self { kernel, qemu, programs, own_modules })
    }

    fn write_initramfs(
        &self,
        args: &Args,
        board: &Board,
        access: &Access,
        mut files: Vec<GuestFile>,
        path: &Path,
    ) -> anyhow::Result<()> {
        let userland = Userland { name: &board.name, access, kernel: &self.kernel.release };
        files.extend(userland.files());
        files.extend(self.programs.files.iter().cloned());
        let contents = GuestContents {
            loaded: &[&LOADED[..], &[args.nic.module()]].concat(),
            at_hand: &[&at_hand(&self.kernel)[..], &QDISCS, &["veth"], &self.own_modules].concat(),
            files: &files,
            trees: &self.programs.trees,
            ..GuestContents::default()
        };
        write_initramfs(path, &self.kernel, &contents)
    }

    fn machine(&self, args: &Args, board: &Board, scratch: &Path) -> anyhow::Result<MachineSpec> {
        let words = [format!("teiji.{BOARD_WORD}")];
        let of_kernel = self.kernel.command_line().iter().map(|word| (*word).to_owned());
        Ok(MachineSpec {
            arch: self.kernel.arch,
            kernel: self.kernel.unpacked(scratch)?,
            initramfs: scratch.join("initramfs"),
            init_args: words.into_iter().chain(of_kernel).collect(),
            memory_mib: self.kernel.memory_mib(MEMORY_MIB),
            vcpus: args.cpus,
            seed: 1,
            clock: Clock::Real,
            instruction: InstructionTime::default(),
            console: Console::File(board.file(CONSOLE)),
            results: board.file(RESULTS),
            nics: vec![NicSpec {
                model: args.nic,
                mac: boards::mac(&board.name, WIRE_NIC),
                wire: board.wire.clone(),
                capture: None,
            }],
            management: None,
        })
    }
}

/// A board from its boot to its end.
struct Session<'a> {
    args: &'a Args,
    boards: &'a Boards,
    board: &'a Board,
    parts: &'a Parts,
    stop: &'a StopFlag,
    /// What QEMU boots, of no use afterwards.
    scratch: RefCell<Option<tempfile::TempDir>>,
    ready: Cell<bool>,
}

impl Session<'_> {
    fn attend(&self, machine: &MachineSpec, progress: &Progress) -> Result<(), VmError> {
        let started = Instant::now();
        let name = &self.board.name;
        let mut booting = Some(progress.step(&format!("board {name} boots"), 0));
        vm::run(
            self.parts.qemu.command(),
            machine,
            &self.board.file(QEMU_LOG),
            Supervision {
                wall_limit: Duration::MAX,
                cpu: None,
                stop: &|| {
                    let late = !self.ready.get() && started.elapsed() > BOOT_LIMIT;
                    late || self.stop.is_stopped()
                },
                tick: &mut || {},
                ready: &mut || {
                    booting = None;
                    self.be_ready(started.elapsed());
                },
                recording: None,
            },
            &mut Vec::new(),
        )
    }

    fn be_ready(&self, after: Duration) {
        self.ready.set(true);
        self.scratch.take();
        let (name, config) = (&self.board.name, self.boards.ssh_config());
        let Args { nic, wire, .. } = self.args;
        // The board goes on, also if nobody reads.
        drop(output::text(format_args!(
            "board {name}: {}, {WIRE_NIC} ({nic}) on the wire {wire}; ready after {:.0} s\n  \
             ssh -F {config} {name}\n  \
             scp -F {config} FILE {name}:\n\
             Ctrl-C here or `poweroff` on the board ends it\n",
            self.parts.kernel.release,
            after.as_secs_f64(),
            config = quote(&config.display().to_string()),
        )));
    }

    fn end(&self, ended: Result<(), VmError>) -> anyhow::Result<Exit> {
        let name = &self.board.name;
        match ended {
            // Ctrl-C is the ordinary way to end a board.
            Err(VmError::Interrupted) if self.ready.get() => Ok(Exit::Success),
            Err(VmError::Interrupted) if self.stop.is_stopped() => Ok(Exit::Interrupted),
            Err(VmError::Interrupted) => bail!(
                "the board {name} was not ready after {} s: end other programs on this machine, or try \
                 another --kernel; the last lines of its console:\n  {}",
                BOOT_LIMIT.as_secs(),
                console::last_lines(&self.board.file(CONSOLE), CONSOLE_LINES).join("\n  ")
            ),
            // Its kernel may also have switched it off without init.
            Ok(()) | Err(VmError::NoResult { .. }) if self.ready.get() => {
                output::line(format_args!("the board {name} was switched off"))?;
                Ok(Exit::Success)
            }
            other => {
                other?;
                Ok(Exit::Success)
            }
        }
    }
}
