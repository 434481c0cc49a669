//! The virtual machine as a QEMU command line: pure, so that the same machine
//! is built for the same specification everywhere.
//!
//! Wires between machines are in `machine/netdev.rs`.
//!
//! Virtual time: `-icount shift=1` lets each guest instruction take 2 ns (0: 1 ns);
//! `sleep=off` skips idle time; `rr=record` keeps QEMU's threads in step; the
//! clock starts at a fixed date. Nothing of the host's clock reaches the guest,
//! unless it is a board ([`Clock::Real`]).

mod board;
mod netdev;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use teiji_core::wire::MacAddr;
use teiji_experiment::{InstructionTime, Nic};

use crate::arch::Arch;
use crate::protocol;

pub use board::cannot_take;
pub use netdev::{MANAGEMENT_ADDRESS, Management, Wire, WireEnd};

/// Recording makes QEMU's main loop wait while the guest's thread runs, until
/// that thread has counted its instructions. Without it the main loop may skip
/// idle time in between, which shifts the clock (docs/determinism.md). Nobody
/// needs what is recorded.
const LOCKSTEP: &str = "rr=record,rrfile=/dev/null";

/// More virtual CPUs would share the instructions of one, and gain nothing.
pub const MOST_VCPUS: u16 = 16;

/// How long a virtual CPU may keep the others waiting, in microseconds of virtual
/// time: what an interrupt from one to another waits for while both are busy.
/// Measured by a round trip between two busy ones (docs/determinism.md): 5 µs
/// gain little and cost twice the real time.
pub const SLICE_US: u32 = 10;

/// Resolution of QEMU's own capture (`filter-dump`), in nanoseconds.
pub const CAPTURE_RESOLUTION_NS: i64 = 1_000;

/// How the guest's clock runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Deterministic: time is the number of instructions, idle time is skipped.
    Virtual,
    /// For people at a shell: virtual time that waits for real time when idle.
    Paced,
    /// For boards: the host's clock, and as many instructions as the host can emulate.
    Real,
}

/// Where the guest's first serial line goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Console {
    /// Into a file.
    File(PathBuf),
    /// To the terminal Teiji runs in.
    Terminal,
}

/// A NIC of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NicSpec {
    /// The emulated model.
    pub model: Nic,
    /// Its MAC address, by which the guest finds it.
    pub mac: MacAddr,
    /// What it is connected to.
    pub wire: Wire,
    /// Record what this NIC sends and receives, in virtual time.
    pub capture: Option<PathBuf>,
}

/// A complete virtual machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSpec {
    /// The processors.
    pub arch: Arch,
    /// Kernel image.
    pub kernel: PathBuf,
    /// Initial file system.
    pub initramfs: PathBuf,
    /// Words for init, appended to the kernel's command line.
    pub init_args: Vec<String>,
    /// Guest memory in MiB.
    pub memory_mib: u32,
    /// Virtual CPUs, at least 1. QEMU runs several in turn, in slices of
    /// [`SLICE_US`], and they share the instructions of one.
    pub vcpus: u16,
    /// Seed of everything random: QEMU's generators and the slot the first
    /// NIC sits in. The same seed gives the same run, bit for bit.
    pub seed: u64,
    /// How time passes.
    pub clock: Clock,
    /// How much of it an instruction takes.
    pub instruction: InstructionTime,
    /// Console output.
    pub console: Console,
    /// Where the guest's messages go.
    pub results: PathBuf,
    /// The NICs, in the order of the bus.
    pub nics: Vec<NicSpec>,
    /// A further NIC, through which this host reaches the guest.
    pub management: Option<Management>,
}

/// The kernel's command line.
pub fn kernel_command_line(spec: &MachineSpec) -> String {
    let board = board::kernel_words(spec);
    let mut words = vec![
        // Warnings and worse reach the console; chatter would cost virtual time.
        "loglevel=5",
        // A dead guest stops the machine instead of waiting for a person.
        "panic=-1",
        "oops=panic",
        "nokaslr",
        "norandmaps",
        "random.trust_cpu=off",
        // TCG does not speculate; defences would model one particular silicon.
        "mitigations=off",
        // Half of the boot is what nobody here has a use for: self-tests of ciphers, the
        // certificates that modules are signed with, congestion control written in BPF.
        "cryptomgr.notests",
        "initcall_blacklist=load_system_certificate_list,jent_mod_init,bpf_tcp_ca_kfunc_init,\
         bpf_dummy_struct_ops_init",
    ];
    words.extend(board.iter().map(String::as_str));
    words.extend(spec.init_args.iter().map(String::as_str));
    words.join(" ")
}

/// QEMU's arguments for `spec`.
pub fn qemu_arguments(spec: &MachineSpec) -> Vec<OsString> {
    let mut args = Arguments::default();
    args.pair("-name", "teiji");
    board::add(&mut args, spec);
    args.pair("-accel", "tcg");
    add_clock(&mut args, spec);
    args.pair("-m", &format!("{}M", spec.memory_mib));
    args.flag("-nodefaults");
    args.flag("-no-user-config");
    args.flag("-no-reboot");
    args.pair("-display", "none");
    match &spec.console {
        Console::File(path) => args.path("-serial", "file:", path),
        Console::Terminal => args.pair("-serial", "stdio"),
    }
    args.path("-kernel", "", &spec.kernel);
    args.path("-initrd", "", &spec.initramfs);
    args.pair("-append", &kernel_command_line(spec));
    // Without ioeventfd the guest's notifications are handled there and then,
    // not by another thread whenever the host runs it.
    args.pair("-device", "virtio-serial-pci,addr=0x2,ioeventfd=off");
    args.path("-chardev", "file,id=results,path=", &spec.results);
    args.pair("-device", &format!("virtserialport,chardev=results,name={}", protocol::PORT_NAME));
    // A watchdog in virtual time for a guest whose kernel hangs.
    args.pair("-device", "i6300esb,addr=0x3");
    args.pair("-action", "watchdog=poweroff");
    for (index, nic) in spec.nics.iter().enumerate() {
        add_nic(&mut args, index, nic, first_slot(spec.seed));
    }
    if let Some(management) = &spec.management {
        netdev::add_management(&mut args, management);
    }
    args.0
}

fn add_clock(args: &mut Arguments, spec: &MachineSpec) {
    let shift = spec.instruction.shift();
    match spec.clock {
        Clock::Virtual => args.pair("-icount", &format!("shift={shift},sleep=off,{LOCKSTEP}")),
        Clock::Paced => args.pair("-icount", &format!("shift={shift},sleep=on")),
        Clock::Real => {
            args.pair("-rtc", "base=utc,clock=host");
            // Without `-seed`, they are the host's.
            args.pair("-device", "virtio-rng-pci,addr=0x10");
            return;
        }
    }
    args.pair("-rtc", "base=2026-01-01,clock=vm");
    args.pair("-seed", &(spec.seed % (1 << 32)).to_string());
}

/// The slot of the first NIC: the layout of the bus is part of the seed,
/// because it moves the NIC's interrupt and memory and with them the worst case.
fn first_slot(seed: u64) -> usize {
    4 + (seed % 8) as usize
}

fn add_nic(args: &mut Arguments, index: usize, nic: &NicSpec, first_slot: usize) {
    let slot = first_slot + index;
    netdev::add_wire(args, &format!("port{index}"), &nic.wire);
    let bus = if nic.model == Nic::Rtl8139 {
        // Conventional PCI: sits on the root bus itself.
        format!("addr={slot:#x}")
    } else {
        // A bus of its own: igb reserves sixteen slots for virtual functions.
        args.pair(
            "-device",
            &format!("pcie-root-port,id=root{index},chassis={},addr={slot:#x}", index + 1),
        );
        format!("bus=root{index}")
    };
    args.pair(
        "-device",
        // No boot ROM: nobody boots from this network, and it takes seconds.
        &format!("{},netdev=port{index},mac={},{bus},romfile=", nic.model, nic.mac),
    );
    if let Some(path) = &nic.capture {
        args.path(
            "-object",
            &format!("filter-dump,id=dump{index},netdev=port{index},maxlen=256,file="),
            path,
        );
    }
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn flag(&mut self, name: &str) {
        self.0.push(name.into());
    }

    fn pair(&mut self, name: &str, value: &str) {
        self.flag(name);
        self.0.push(value.into());
    }

    /// QEMU splits option lists at commas; a doubled comma stands for one.
    fn path(&mut self, name: &str, prefix: &str, path: &Path) {
        self.flag(name);
        let mut value = OsString::from(prefix);
        let splits = prefix.ends_with('=');
        match path.to_str() {
            Some(text) if splits => value.push(text.replace(',', ",,")),
            _ => value.push(path),
        }
        self.0.push(value);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn spec(seed: u64) -> MachineSpec {
        MachineSpec {
            arch: Arch::X86_64,
            kernel: "k".into(),
            initramfs: "i".into(),
            init_args: vec!["teiji.case=etf".into()],
            memory_mib: 512,
            vcpus: 1,
            seed,
            clock: Clock::Virtual,
            instruction: InstructionTime::default(),
            console: Console::File("c".into()),
            results: "r,1".into(),
            nics: [Nic::Igb, Nic::Rtl8139]
                .into_iter()
                .map(|model| NicSpec {
                    model,
                    mac: MacAddr([2, 0, 0, 0, 0, 1]),
                    wire: Wire::Hub(0),
                    capture: None,
                })
                .collect(),
            management: None,
        }
    }

    fn line(seed: u64) -> String {
        let args = qemu_arguments(&spec(seed));
        args.iter().map(|a| a.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_same_specification_gives_the_same_machine() {
        assert_eq!(line(7), line(7));
    }

    #[test]
    fn an_instruction_takes_the_configured_time() {
        let shift = |time| {
            let args = qemu_arguments(&with(time));
            let at = args.iter().position(|a| a == "-icount").unwrap();
            args[at + 1].to_str().unwrap().split_once(',').unwrap().0.to_owned()
        };
        assert_eq!([shift("1ns"), shift("2ns"), shift("16ns")], ["shift=0", "shift=1", "shift=4"]);
        assert_eq!(shift("125ps"), "shift=0");
    }

    pub(crate) fn with(time: &str) -> MachineSpec {
        MachineSpec { instruction: InstructionTime::parse(time).unwrap(), ..spec(1) }
    }

    #[test]
    fn a_seed_moves_the_nics_on_the_bus() {
        assert_ne!(line(1).replace("-seed 1", ""), line(2).replace("-seed 2", ""));
    }

    #[test]
    fn a_machine_in_real_time_has_the_hosts_clock_and_random_numbers() {
        let spec = MachineSpec { clock: Clock::Real, ..spec(1) };
        let args = qemu_arguments(&spec);
        let has = |wanted: &str| args.iter().any(|a| a == wanted);
        assert!(has("base=utc,clock=host") && has("virtio-rng-pci,addr=0x10"), "{args:?}");
        assert!(!has("-icount") && !has("-seed"), "{args:?}");
        let words = kernel_command_line(&spec);
        assert!(!words.contains("tsc=reliable") && words.contains("no_timer_check"), "{words}");
    }

    #[test]
    fn commas_in_paths_do_not_split_options() {
        assert!(line(1).contains("path=r,,1"));
    }

    #[test]
    fn words_for_init_reach_the_kernel_command_line() {
        let words = kernel_command_line(&spec(1));
        assert!(words.ends_with(" teiji.case=etf") && words.contains(" console=ttyS0 "), "{words}");
    }
}
