//! How machines end: in a panic, by the watchdog in virtual time, refused by
//! QEMU. Each guest here is a shell script as init, or has no init at all.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use teiji_experiment::InstructionTime;
use teiji_lab::arch::Arch;
use teiji_lab::cache::{Cache, CacheError, FetchError};
use teiji_lab::initramfs::Initramfs;
use teiji_lab::kernel::{Kernel, KernelSpec};
use teiji_lab::machine::{Clock, Console, MachineSpec};
use teiji_lab::qemu_install::Qemu;
use teiji_lab::vm::{self, Supervision, VmError};

struct Bench {
    dir: tempfile::TempDir,
    kernel: Kernel,
    qemu: Qemu,
    busybox: Vec<u8>,
}

impl Bench {
    fn new() -> Result<Self, CacheError> {
        let cache = Cache::open()?;
        let kernel = cache.kernel(&KernelSpec::default(), &mut ())?;
        let qemu = cache.qemu(Arch::X86_64, &mut ())?;
        let package = cache.package("busybox-static", Arch::X86_64, &mut ())?;
        let path = ["bin/busybox", "usr/bin/busybox"].map(|name| package.join(name));
        let busybox = path.iter().find_map(|path| fs::read(path).ok()).unwrap();
        Ok(Self { dir: tempfile::tempdir().unwrap(), kernel, qemu, busybox })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A machine whose init is this script, with these modules in `/`.
    fn machine(&self, init: Option<&str>, modules: &[&str]) -> MachineSpec {
        let mut archive = Initramfs::new(Vec::new());
        archive.character_device("dev/console", 5, 1).unwrap();
        if let Some(script) = init {
            archive.file("bin/sh", 0o755, &self.busybox).unwrap();
            for name in ["mount", "insmod", "sleep", "poweroff"] {
                archive.symlink(&format!("bin/{name}"), "sh").unwrap();
            }
            archive.file("init", 0o755, script.as_bytes()).unwrap();
        }
        for module in self.kernel.modules_for(modules).unwrap() {
            archive.file(&format!("{}.ko", module.name), 0o644, &module.bytes).unwrap();
        }
        fs::write(self.path("initramfs"), archive.finish().unwrap()).unwrap();
        MachineSpec {
            arch: Arch::X86_64,
            kernel: self.kernel.image.clone(),
            initramfs: self.path("initramfs"),
            init_args: Vec::new(),
            memory_mib: 256,
            vcpus: 1,
            seed: 1,
            clock: Clock::Virtual,
            instruction: InstructionTime::default(),
            console: Console::File(self.path("console")),
            results: self.path("results"),
            nics: Vec::new(),
            management: None,
        }
    }

    fn run(&self, spec: &MachineSpec) -> Result<(), VmError> {
        let supervision = Supervision {
            recording: None,
            wall_limit: Duration::from_secs(300),
            cpu: None,
            stop: &|| false,
            tick: &mut || {},
            ready: &mut || {},
        };
        let log = self.path("qemu.log");
        vm::run(self.qemu.command(), spec, &log, supervision, &mut Vec::new())
    }
}

/// The laboratory, or the reason why the test is skipped.
fn bench() -> Option<Bench> {
    match Bench::new() {
        Ok(bench) => Some(bench),
        Err(
            why @ CacheError::Fetch(
                FetchError::NoNetwork { .. }
                | FetchError::NotDebian { .. }
                | FetchError::NoKeyring { .. },
            ),
        ) => {
            println!("SKIP: no laboratory: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn a_panic_is_reported_with_the_kernels_message_and_the_end_of_its_console() {
    let Some(bench) = bench() else { return };
    match bench.run(&bench.machine(None, &[])) {
        Err(VmError::GuestPanic { message, console }) => {
            assert!(message.contains("not syncing"), "{message}");
            assert!(console.iter().any(|line| line.contains("Kernel panic")), "{console:#?}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_guest_that_hangs_is_ended_by_the_watchdog_in_virtual_time() {
    let Some(bench) = bench() else { return };
    // An hour of sleep passes in no time: idle virtual time is skipped.
    let init = "#!/bin/sh\n\
                mount -t devtmpfs dev /dev\n\
                insmod /watchdog.ko\n\
                insmod /i6300esb.ko heartbeat=60\n\
                echo started\n\
                exec 3>/dev/watchdog\n\
                echo . >&3\n\
                sleep 3600\n\
                echo never\n";
    match bench.run(&bench.machine(Some(init), &["i6300esb"])) {
        Err(VmError::NoResult { console }) => {
            assert!(console.iter().any(|line| line.contains("started")), "{console:#?}");
            assert!(!console.iter().any(|line| line.contains("never")), "{console:#?}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_machine_whose_cpus_are_never_all_idle_can_switch_itself_off() {
    let Some(bench) = bench() else { return };
    // One of them computes, also while the kernel waits for the power to go.
    let init = "#!/bin/sh\n\
                while :; do :; done &\n\
                echo started\n\
                poweroff -f\n";
    match bench.run(&MachineSpec { vcpus: 2, ..bench.machine(Some(init), &[]) }) {
        Err(VmError::NoResult { console }) => {
            assert!(console.iter().any(|line| line.contains("started")), "{console:#?}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_machine_without_memory_is_refused_in_qemus_words() {
    let Some(bench) = bench() else { return };
    // More than any machine's address space: the allocation fails at once.
    let spec = MachineSpec { memory_mib: u32::MAX, ..bench.machine(None, &[]) };
    match bench.run(&spec) {
        Err(VmError::QemuEnded { stderr, .. }) => assert!(!stderr.trim().is_empty()),
        other => panic!("{other:?}"),
    }
}
