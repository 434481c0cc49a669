//! The sentences for a failed step: what failed, the kernel's words, what to do next.

use teiji_core::errno::{
    EACCES, EADDRNOTAVAIL, EEXIST, EINVAL, EIO, ENODEV, ENOENT, EOPNOTSUPP, EPERM,
};
use teiji_experiment::scenario::Prioflow;

use crate::cause::Cause;
use crate::netlink::KernelError;
use crate::plan::Action;
use crate::processing::ProcessingSetting;
use crate::qdisc::{self, NotOffloaded};
use crate::system::SystemSetting;
use crate::vtsn::Setting;

/// Next step for a NIC that has fewer transmit queues than `mqprio` takes.
const FEW_QUEUES: &str =
    "Use `prio` instead of `mqprio`, other queue ranges, or a NIC with several transmit queues.";

/// Next step where a wire is `vtsn` and the kernel knows no such link.
pub const NO_VTSN: &str = "This kernel has no `vtsn` module: build and load it \
     (kernel/vtsn/README.md), or run with --on lab, which does both.";

/// Next step where the kernel knows no `prioflow`.
const NO_PRIOFLOW: &str = "This kernel has no `prioflow` module: build and load it \
     (kernel/prioflow/README.md), or run with --on lab, which does both.";

/// Next step where the kernel knows no qdisc of this kind.
pub(crate) fn no_qdisc(kind: &str) -> String {
    if kind == Prioflow::KIND {
        return NO_PRIOFLOW.to_owned();
    }
    format!(
        "This kernel has no `{kind}` qdisc: load it with `modprobe sch_{kind}`, or run with --on \
         lab."
    )
}

/// The circumstances of a failed step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed<'a> {
    pub(crate) action: &'a Action,
    pub(crate) command: &'a str,
    pub(crate) ifname: Option<&'a str>,
    pub(crate) driver: Option<&'a str>,
}

/// The sentences for a failed step: what, the kernel's words, what to do next.
pub(crate) fn explain(host: &str, failed: Failed<'_>, cause: &Cause) -> String {
    if let (Some(text), Some(ifname)) = (offload(failed, cause), failed.ifname) {
        let driver = failed.driver.map(|d| format!(" ({d})")).unwrap_or_default();
        return format!("{ifname}{driver} {text}");
    }
    let mut text = format!("{host}: `{}` failed: {cause}.", failed.command);
    let next = match cause {
        Cause::Kernel(error) => next_step(failed, error),
        Cause::Text(_) if matches!(failed.action, Action::Channels { .. }) => {
            Some(FEW_QUEUES.to_owned())
        }
        Cause::Text(_) => None,
    };
    if let Some(next) = next {
        text.push(' ');
        text.push_str(&next);
    }
    text
}

/// The sentence for a NIC whose driver refuses the offload.
fn offload(failed: Failed<'_>, cause: &Cause) -> Option<String> {
    let (Action::Qdisc { qdisc, .. }, Cause::Kernel(error)) = (failed.action, cause) else {
        return None;
    };
    let says_so = error.extack.as_deref().is_some_and(|s| s.contains("offload"));
    if !qdisc.settings.offloaded() || !(error.errno == EOPNOTSUPP || says_so) {
        return None;
    }
    let kernel = match &error.extack {
        Some(extack) => format!("kernel: \"{extack}\""),
        None => error.to_string(),
    };
    let NotOffloaded { lack, instead } = qdisc::not_offloaded(&qdisc.settings)?;
    Some(format!("{lack} was refused by the driver\n  ({kernel}). What works here: {instead}"))
}

fn next_step(failed: Failed<'_>, error: &KernelError) -> Option<String> {
    let extack = error.extack.as_deref().unwrap_or_default();
    let qdisc = match failed.action {
        Action::Qdisc { qdisc, .. } => Some(&qdisc.settings),
        _ => None,
    };
    match (error.errno, qdisc, failed.action) {
        (EPERM, _, Action::System { .. } | Action::Processing { .. }) => Some(
            "This needs CAP_SYS_NICE, and a control group with a real-time budget \
             (cpu.rt_runtime_us): run it with sudo outside of containers, or with --on lab."
                .to_owned(),
        ),
        (EINVAL, None, Action::System { setting: SystemSetting::Sysctl { path, .. } }) => {
            Some(match *path {
                "net/core/netdev_budget_usecs" => {
                    "Newer kernels take two ticks of their timer at least: 8 ms with 250 Hz."
                        .to_owned()
                }
                _ => "The kernel takes no such value; the one before is still there.".to_owned(),
            })
        }
        (EINVAL, None, Action::Setting { setting: Setting::Moderation { .. }, .. }) => Some(
            "The driver does not take these times: many take 0, and 10 µs and more (`ethtool -c` \
             shows what it has)."
                .to_owned(),
        ),
        (ENOENT, None, Action::Processing { setting: ProcessingSetting::Xps(_), .. }) => {
            Some("A NIC with one transmit queue has no XPS: leave `xps` out.".to_owned())
        }
        (ENOENT, None, Action::Processing { .. }) => Some(
            "This kernel does not have this setting: leave it out, or use a newer \
                  kernel."
                .to_owned(),
        ),
        (EIO | EINVAL, None, Action::Processing { .. }) => Some(
            "The driver refuses it, or names a CPU that does not exist: leave it out, or write \
             other CPUs."
                .to_owned(),
        ),
        (EPERM | EACCES, _, _) => {
            Some("This needs root (CAP_NET_ADMIN): run it with sudo, or with --on lab.".to_owned())
        }
        (ENOENT, Some(settings), _) if extack.is_empty() || extack.contains("kind is unknown") => {
            let kind = settings.kind();
            Some(no_qdisc(kind))
        }
        (EOPNOTSUPP | EINVAL, Some(settings), _)
            if settings.kind() == "mqprio" || extack.contains("Multi-queue") =>
        {
            Some(FEW_QUEUES.to_owned())
        }
        (EOPNOTSUPP, None, Action::Pair { .. }) if failed.command.contains(" type vtsn ") => {
            Some(NO_VTSN.to_owned())
        }
        (EOPNOTSUPP, None, Action::Pair { .. }) => Some(
            "This kernel has no veth: load it with `modprobe veth`, or run with --on lab."
                .to_owned(),
        ),
        (EOPNOTSUPP, None, Action::Bridge) => Some(
            "This kernel has no bridges: load them with `modprobe bridge`, or run with --on lab."
                .to_owned(),
        ),
        (ENOENT, None, Action::Setting { setting: Setting::Knob { .. }, .. }) => Some(
            "The loaded vtsn is of another version; unload it and load this one's (kernel/vtsn)."
                .to_owned(),
        ),
        (EEXIST, None, Action::Pair { .. } | Action::Move { .. }) => {
            Some("Two ports of this host would have the same name; rename a wire.".to_owned())
        }
        (EADDRNOTAVAIL, None, Action::Pair { .. }) => {
            Some("A MAC address must be a unicast address and not all zeros.".to_owned())
        }
        (ENODEV, _, _) => Some(
            "The interface was removed during set-up; check `ip link` and try \
                  again."
                .to_owned(),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::{Handle, PlannedQdisc};
    use teiji_core::time::{ClockId, Span};
    use teiji_experiment::scenario::{Etf, Qdisc};

    fn etf(offload: bool) -> Action {
        let settings = Qdisc::Etf(Etf {
            delta: Span::from_micros(150),
            clock: ClockId::Tai,
            offload,
            deadline_mode: false,
            skip_sock_check: false,
        });
        Action::Qdisc {
            port: 0,
            qdisc: PlannedQdisc { parent: Handle::ROOT, handle: None, settings },
        }
    }

    fn text(action: &Action, errno: i32, extack: Option<&str>) -> String {
        let failed =
            Failed { action, command: "tc …", ifname: Some("enp3s0"), driver: Some("r8169") };
        let error = KernelError { errno, extack: extack.map(str::to_owned) };
        explain("talker", failed, &Cause::Kernel(error))
    }

    #[test]
    fn a_nic_without_launch_time_is_distinguished_from_other_failures() {
        let text = text(&etf(true), EOPNOTSUPP, Some("Driver does not support ETF offload"));
        assert!(
            text.starts_with(
                "enp3s0 (r8169) has no launch-time queue: `etf offload` was refused by the driver"
            ),
            "{text}"
        );
        assert!(text.contains("(kernel: \"Driver does not support ETF offload\")"), "{text}");
        assert!(text.contains("`offload = false`"), "{text}");
    }

    #[test]
    fn a_missing_qdisc_names_the_module_to_load() {
        let text = text(&etf(false), ENOENT, Some("Specified qdisc kind is unknown"));
        assert_eq!(
            text,
            "talker: `tc …` failed: No such file or directory (errno 2); kernel: \"Specified qdisc \
             kind is unknown\". This kernel has no `etf` qdisc: load it with `modprobe sch_etf`, \
             or run with --on lab."
        );
    }

    #[test]
    fn missing_privilege_is_reported_with_the_next_step() {
        let text = text(&Action::Namespace, EPERM, None);
        assert!(text.contains("Operation not permitted (errno 1). This needs root"), "{text}");
    }
}
