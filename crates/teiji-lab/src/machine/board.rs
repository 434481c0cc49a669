//! What a machine is besides its wires and files: board, processor and clock, which differ by
//! architecture.
//!
//! Less than 1 ns per instruction: the guest's kernel gets a frequency of its counter that is a multiple
//! of the true one, so that its clock is slower than QEMU's by that factor (docs/determinism.md).

use teiji_experiment::InstructionTime;

use super::{Arguments, Clock, MachineSpec, SLICE_US, Wire};
use crate::arch::Arch;

/// Emulated CPUs that do not depend on the host, old enough to be emulated quickly.
const X86_CPU: &str = "Nehalem";
const ARM64_CPU: &str = "cortex-a72";
const ARMHF_CPU: &str = "cortex-a15";

/// What makes [`X86_CPU`] one that a slower clock of the guest can be told to: the kernel takes the
/// frequency of the timer of a processor of this model (Silvermont) from a register, and does
/// not measure it against the PIT, which runs by QEMU's clock (`apic_needs_pit()` of
/// `arch/x86/kernel/apic/apic.c`, `tsc_msr.c`). The figure is wrong, and `kernel/lapic_freq`
/// puts it right.
const CPU_OF_SLOWER_CLOCK: &str = "model=55,arat=on";

/// What the guest's counter (x86: TSC, ARM: generic timer) counts per second of QEMU's clock: its
/// nanoseconds.
const COUNTER_HZ: u64 = 1_000_000_000;

/// The most that an ARM guest's clock can be slower: its kernel keeps the counter's frequency in 32
/// bits (`arch_timer_rate` of `drivers/clocksource/arm_arch_timer.c`).
const MOST_SLOWDOWN_ARM: u32 = 4;

/// 32-bit ARM unpacks its kernel for more than 2³¹ instructions without a timer of QEMU, and
/// recording counts them with a sign: a timer without effect comes before, so often.
const TICK_US: u32 = 500_000;

/// Why a machine of this architecture cannot have instructions that take so long; `None` if it can.
pub fn cannot_take(arch: Arch, instruction: InstructionTime) -> Option<String> {
    let possible = |time: &InstructionTime| time.slowdown() <= MOST_SLOWDOWN_ARM;
    let shortest = InstructionTime::all().find(possible)?;
    (arch != Arch::X86_64 && !possible(&instruction)).then(|| {
        format!(
            "an instruction of {instruction} is too short for the laboratory's {arch}, whose kernels \
             keep the frequency of their counter in 32 bits: give {shortest} or more, or take a kernel \
             for amd64"
        )
    })
}

/// What the kernel needs to know about the board.
pub(super) fn kernel_words(spec: &MachineSpec) -> Vec<String> {
    let mut words = vec![format!("console={}", spec.arch.names().console)];
    let slowdown = spec.instruction.slowdown();
    if spec.arch == Arch::X86_64 {
        // A kernel that boots in real time while the host is busy may calibrate the counter wrongly,
        // and has to notice; and may miss interrupts of the timer that it tests, and panic.
        let word = if spec.clock == Clock::Real { "no_timer_check" } else { "tsc=reliable" };
        words.push(word.to_owned());
        if slowdown > 1 {
            words.push(format!("tsc_early_khz={}", COUNTER_HZ / 1000 * u64::from(slowdown)));
        }
    }
    if slowdown > 1 {
        words.push(format!("teiji.slowdown={slowdown}"));
    }
    words
}

pub(super) fn add(args: &mut Arguments, spec: &MachineSpec) {
    let slowdown = spec.instruction.slowdown();
    let (board, cpu) = match spec.arch {
        // Of those that are plugged in, too: QEMU takes it for the model's.
        Arch::X86_64 if slowdown > 1 => {
            ("q35,hpet=off", format!("{X86_CPU},{CPU_OF_SLOWER_CLOCK}"))
        }
        Arch::X86_64 => ("q35,hpet=off", X86_CPU.to_owned()),
        arm => {
            let hertz = COUNTER_HZ * u64::from(slowdown);
            // Without LPAE, Debian's kernel for 32-bit ARM does not reach PCI's high windows.
            let (board, model) = match arm {
                Arch::Arm64 => ("virt,gic-version=3", ARM64_CPU),
                _ => ("virt,highmem=off", ARMHF_CPU),
            };
            (board, format!("{model},cntfrq={hertz}"))
        }
    };
    args.pair("-machine", board);
    args.pair("-cpu", &cpu);
    add_cpus(args, spec);
    add_timer(args, spec);
}

/// QEMU refuses to record several CPUs, because replaying them was not tried;
/// those plugged in at the start it does not count. Where none can be plugged in, `lockstep.c` has
/// it not refuse.
fn add_cpus(args: &mut Arguments, spec: &MachineSpec) {
    if spec.arch != Arch::X86_64 || spec.vcpus == 1 || spec.clock == Clock::Real {
        args.pair("-smp", &spec.vcpus.to_string());
        return;
    }
    args.pair("-smp", &format!("cpus=1,sockets={0},maxcpus={0}", spec.vcpus));
    for socket in 1..spec.vcpus {
        let cpu = format!("{X86_CPU}-x86_64-cpu,socket-id={socket},core-id=0,thread-id=0");
        args.pair("-device", &cpu);
    }
}

/// The turns of several CPUs end with each timer of QEMU, so a timer without effect bounds
/// them: that of a packet buffer on a port nobody sends to.
fn add_timer(args: &mut Arguments, spec: &MachineSpec) {
    if spec.clock == Clock::Real {
        // Each CPU has a thread of the host, and nothing counts instructions.
        return;
    }
    let interval = match (spec.vcpus, spec.arch) {
        (1, Arch::Armhf) => TICK_US,
        (1, _) => return,
        _ => SLICE_US,
    };
    let hub = |wire: &Wire| if let Wire::Hub(number) = wire { Some(number + 1) } else { None };
    let unused = spec.nics.iter().filter_map(|nic| hub(&nic.wire)).max().unwrap_or(0);
    args.pair("-netdev", &format!("hubport,id=slices,hubid={unused}"));
    let interval = interval * spec.instruction.slowdown();
    args.pair("-object", &format!("filter-buffer,id=slice,netdev=slices,interval={interval}"));
}

#[cfg(test)]
mod tests {
    use super::super::tests::{spec, with};
    use super::super::{kernel_command_line, qemu_arguments};
    use super::*;

    fn arguments(spec: &MachineSpec) -> Vec<String> {
        qemu_arguments(spec).iter().map(|a| a.to_str().unwrap().to_owned()).collect()
    }

    /// What follows an option.
    fn value(arguments: &[String], option: &str) -> String {
        let at = arguments.iter().position(|argument| argument == option).unwrap();
        arguments[at + 1].clone()
    }

    #[test]
    fn further_cpus_are_plugged_in_where_that_is_possible_and_their_turns_bounded() {
        let args = arguments(&MachineSpec { vcpus: 3, ..spec(1) });
        assert_eq!(args.iter().filter(|a| a.starts_with("Nehalem-x86_64-cpu")).count(), 2);
        assert_eq!(value(&args, "-smp"), "cpus=1,sockets=3,maxcpus=3");
        assert!(args.iter().any(|a| a == "hubport,id=slices,hubid=1"), "wire 0 is used: {args:?}");
        let args = arguments(&MachineSpec { vcpus: 3, arch: Arch::Arm64, ..spec(1) });
        assert_eq!(value(&args, "-smp"), "3");
        assert!(args.iter().any(|a| a.starts_with("filter-buffer")));
    }

    #[test]
    fn cpus_in_real_time_take_no_turns() {
        for arch in Arch::ALL {
            let args = arguments(&MachineSpec { vcpus: 2, arch, clock: Clock::Real, ..spec(1) });
            assert_eq!(value(&args, "-smp"), "2");
            assert!(!args.iter().any(|a| a.starts_with("filter-buffer")), "{args:?}");
        }
    }

    #[test]
    fn one_cpu_needs_no_timer_but_where_the_kernel_unpacks_itself_for_too_long() {
        let timer = |arch| {
            let args = arguments(&MachineSpec { arch, ..spec(1) });
            let timer = args.iter().find(|a| a.starts_with("filter-buffer"))?;
            Some(timer.rsplit_once('=')?.1.to_owned())
        };
        assert_eq!(Arch::ALL.map(timer), [None, None, Some("500000".to_owned())]);
    }

    #[test]
    fn below_the_resolution_of_qemus_clock_the_guests_clock_is_slower() {
        let options = |arch, time| {
            let spec = MachineSpec { arch, vcpus: 2, ..with(time) };
            let args = arguments(&spec);
            let slice = args.iter().find(|a| a.starts_with("filter-buffer")).unwrap();
            let words = kernel_command_line(&spec);
            let khz = words.split(' ').find(|w| w.starts_with("tsc_early_khz")).unwrap_or("none");
            [value(&args, "-cpu"), slice.rsplit_once('=').unwrap().1.into(), khz.to_owned()]
        };
        assert_eq!(options(Arch::X86_64, "1ns"), ["Nehalem", "10", "none"]);
        let slower = ["Nehalem,model=55,arat=on", "40", "tsc_early_khz=4000000"];
        assert_eq!(options(Arch::X86_64, "250ps"), slower);
        assert_eq!(options(Arch::Arm64, "1ns"), ["cortex-a72,cntfrq=1000000000", "10", "none"]);
        assert_eq!(options(Arch::Armhf, "250ps"), ["cortex-a15,cntfrq=4000000000", "40", "none"]);
    }

    #[test]
    fn a_frequency_beyond_a_counter_of_32_bits_is_refused() {
        let time = |text| InstructionTime::parse(text).unwrap();
        for arch in Arch::ALL {
            assert_eq!(cannot_take(arch, time("250ps")), None);
        }
        assert_eq!(cannot_take(Arch::X86_64, time("125ps")), None);
        let why = cannot_take(Arch::Arm64, time("125ps")).unwrap();
        assert!(why.contains("give 250 ps or more"), "{why}");
    }
}
