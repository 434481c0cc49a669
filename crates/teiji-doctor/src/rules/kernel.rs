//! What the kernel is and was built with.

use crate::facts::Facts;
use crate::finding::{Feature, Finding, Fix, LAUNCH, PRIORITIES, TIMING, Weight, finding};

/// Options that make every step of the kernel slower, by a multiple.
const SLOW: [&str; 8] = [
    "KASAN",
    "KCSAN",
    "PROVE_LOCKING",
    "DEBUG_LOCK_ALLOC",
    "LOCK_STAT",
    "DEBUG_OBJECTS",
    "DEBUG_KMEMLEAK",
    "SLUB_DEBUG_ON",
];

pub(super) fn machine(facts: &Facts) -> Vec<Finding> {
    let machine = &facts.machine;
    let Some(release) = machine.kernel_release.as_deref() else {
        return vec![finding(
            "kernel-unknown",
            &Feature::ALL,
            Weight::Note,
            "/proc is not there, or does not show the kernel: what it can do is not known",
            Fix::advice("mount it (mount -t proc proc /proc); in a container, look from its host"),
        )];
    };
    let mut found = Vec::new();
    if !machine.preempt_rt {
        found.push(finding(
            "preempt-rt",
            PRIORITIES,
            Weight::Blocks,
            format!(
                "the kernel {release} is not PREEMPT_RT: interrupts and softirqs run before every \
                 real-time thread, whatever its priority"
            ),
            rt_kernel(release),
        ));
    }
    for (module, option, weight, effect) in [
        ("sch_etf", "NET_SCH_ETF", Weight::Blocks, "nothing honours launch times"),
        (
            "sch_mqprio",
            "NET_SCH_MQPRIO",
            Weight::Costs,
            "frames with launch times share a queue with all others",
        ),
    ] {
        if facts.kernel.has(module, option) == Some(false) {
            let name = module.trim_start_matches("sch_");
            found.push(finding(
                if weight == Weight::Blocks { "etf" } else { "mqprio" },
                LAUNCH,
                weight,
                format!("the kernel {release} has no {name} qdisc: {effect}"),
                Fix::advice(format!(
                    "install the kernel's module {module}, or use a kernel that was built with \
                     CONFIG_{option} (Debian's are)"
                )),
            ));
        }
    }
    found.extend(built_with(facts));
    if has_bh_lock(facts) {
        found.push(finding(
            "bh-lock",
            TIMING,
            Weight::Note,
            "each CPU has one lock for all of its softirqs (removed in 6.18): a sender waits for \
             whatever softirq runs on its CPU (docs/disturbances.md has measured waits)",
            Fix::advice(
                "use a kernel from 6.18 on, or keep other packets away from the CPU of the sender",
            ),
        ));
    }
    if machine.virtual_machine {
        found.push(finding(
            "virtual-machine",
            TIMING,
            Weight::Costs,
            "this is a virtual machine: its hypervisor may stop each CPU, unseen, at any time",
            Fix::advice("measure on the machine itself, or in the laboratory (--on lab)"),
        ));
    }
    found
}

/// The options of its build.
fn built_with(facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    let slow: Vec<&str> = SLOW.into_iter().filter(|name| facts.kernel.is_set(name)).collect();
    if !slow.is_empty() {
        found.push(finding(
            "debug-kernel",
            TIMING,
            Weight::Costs,
            format!(
                "the kernel was built for debugging ({}): each of its steps takes several times as \
                 long",
                slow.join(", ")
            ),
            Fix::advice("use a kernel without these options"),
        ));
    }
    if facts.kernel.option("HIGH_RES_TIMERS") == Some(None) {
        found.push(finding(
            "no-high-resolution-timers",
            TIMING,
            Weight::Blocks,
            "the kernel was built without HIGH_RES_TIMERS: every timer waits for the next tick, up to 10 ms",
            Fix::advice("use a kernel that was built with CONFIG_HIGH_RES_TIMERS (Debian's are)"),
        ));
    }
    if facts.kernel.is_set("RT_GROUP_SCHED") {
        found.push(finding(
            "rt-group-sched",
            PRIORITIES,
            Weight::Costs,
            "the kernel schedules real-time threads by control group (RT_GROUP_SCHED): a group \
             without cpu.rt_runtime_us may have none",
            Fix::advice(
                "give the group of the program a share: cpu.rt_runtime_us (control groups, version 1)",
            ),
        ));
    }
    found
}

/// How Debian's kernel with `PREEMPT_RT` is installed; `release` names the architecture.
fn rt_kernel(release: &str) -> Fix {
    let arch = [("amd64", "amd64"), ("arm64", "arm64"), ("armmp", "armmp")]
        .into_iter()
        .find_map(|(part, package)| release.split('-').any(|word| word == part).then_some(package));
    match arch {
        Some(arch) => Fix::command(format!("apt install linux-image-rt-{arch} && reboot")),
        None => Fix::advice(
            "use a kernel with PREEMPT_RT: your distribution's (Debian: linux-image-rt-amd64, -arm64), \
             or one built with CONFIG_PREEMPT_RT=y",
        ),
    }
}

/// The kernel has the lock that 3253cb49cbad (6.18) made optional.
fn has_bh_lock(facts: &Facts) -> bool {
    let old = facts.machine.kernel_version_number().is_some_and(|version| version < (6, 18));
    facts.machine.preempt_rt && (old || facts.kernel.is_set("PREEMPT_RT_NEEDS_BH_LOCK"))
}
