//! What hosts ask of their kernel: it must agree, because they share one, and should not end in a
//! standstill.

use std::fmt::Display;

use teiji_core::domain::RtPriority;
use teiji_core::quantity::format_span;

use super::Places;
use crate::draft::{HostDraft, ScenarioDraft};
use crate::fields::Found;
use crate::log::Log;
use crate::scenario::{Policy, RtRuntime, System};

/// The real-time priority of the kernel's RCU threads, `rcu_preempt`, `rcub/N` and `rcuc/N`: 1 unless
/// `rcutree.kthread_prio` on its command line says otherwise (`CONFIG_RCU_BOOST`, on with
/// PREEMPT_RT).
const RCU_PRIORITY: RtPriority = RtPriority::new(1).expect("from 1 to 99");

pub(super) fn check(draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    for (index, host) in draft.hosts.iter().enumerate() {
        let ksoftirqd =
            draft.systems.get(&host.name).and_then(|system| system.as_value()?.ksoftirqd);
        let priority = ksoftirqd.and_then(|policy| match policy {
            Policy::Fifo(priority) | Policy::Rr(priority) => Some(priority),
            Policy::Other => None,
        });
        if let Some(priority) = priority.filter(|priority| *priority > RCU_PRIORITY) {
            log.warning(
                places.at(&["hosts", &host.name, "system", "ksoftirqd", "priority"]),
                format!(
                    "`ksoftirqd` of `{}` at priority {priority} is above the kernel's RCU threads, \
                     which have {RCU_PRIORITY}",
                    host.name
                ),
                "Softirqs that never end then keep RCU from ending its grace periods, and machines \
                 came to a standstill (ni/meta-nilrt#722). Write priority = 1, or start the kernel with a \
                 higher rcutree.kthread_prio.",
            );
        }
        for earlier in &draft.hosts[..index] {
            let system = |host: &HostDraft| draft.systems.get(&host.name)?.as_value().copied();
            let (Some(before), Some(this)) = (system(earlier), system(host)) else { continue };
            let agree = Agree { names: [&earlier.name, &host.name], places, log };
            // A host without a CPU of its own runs on all of them.
            let own_cpus = match (earlier.cpu, host.cpu) {
                (Found::Value(a), Found::Value(b)) => a != b,
                _ => false,
            };
            if !own_cpus {
                agree.on("ksoftirqd", before.ksoftirqd, this.ksoftirqd);
                agree.on("ktimers", before.ktimers, this.ktimers);
                let idle = |system: System| system.idle_latency.map(format_span);
                agree.on("idle-latency", idle(before), idle(this));
            }
            agree.on("netdev-budget", before.netdev_budget, this.netdev_budget);
            let time = |system: System| system.netdev_budget_time.map(format_span);
            agree.on("netdev-budget-time", time(before), time(this));
            agree.on("dev-weight", before.dev_weight, this.dev_weight);
            let runtime = |system: System| {
                Some(match system.rt_runtime? {
                    RtRuntime::Unlimited => "unlimited".to_owned(),
                    RtRuntime::Limited(span) => format_span(span),
                })
            };
            agree.on("rt-runtime", runtime(before), runtime(this));
            let fraction = |system: System| system.pagelist_high_fraction;
            agree.on("pagelist-high-fraction", fraction(before), fraction(this));
        }
    }
}

struct Agree<'a> {
    names: [&'a str; 2],
    places: &'a Places<'a>,
    log: &'a Log,
}

impl Agree<'_> {
    fn on<T: PartialEq + Display>(&self, key: &str, before: Option<T>, this: Option<T>) {
        let [earlier, host] = self.names;
        match (before, this) {
            (Some(before), Some(this)) if before != this => self.log.mistake(
                self.places.at(&["hosts", host, "system", key]),
                format!("`{earlier}` wants {key} {before} and `{host}` {this}"),
                "Hosts share one kernel: write it at one of them. (`ksoftirqd`, `ktimers` and \
                 `idle-latency` may differ where both hosts have a `cpu` of their own.)",
            ),
            _ => {}
        }
    }
}
