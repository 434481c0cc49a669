//! What a plan changes of the machine, looked at before and after.

use std::collections::BTreeMap;

use teiji_sys::sched::{self, Capability};

use super::{Action, Plan};
use crate::before::KernelBefore;
use crate::system::{SystemRefusal, SystemSetting};
use crate::{cpus, free_pages, receive_trace, threads};

impl Plan {
    /// Looks whether this machine has what the plan changes of it, and remembers that.
    /// Works in the calling thread's namespace.
    pub(crate) fn inspect_system(&self) -> Result<KernelBefore, SystemRefusal> {
        let mut before = system(self.steps.iter().map(|step| &step.action))?;
        if self.traced {
            before.remember_trace(receive_trace::instance_name());
        }
        for name in &self.traces {
            before.remember_trace(name.clone());
        }
        Ok(before)
    }

    /// What the kernel says of the settings that the plan makes.
    pub(crate) fn observe_system(&self) -> BTreeMap<String, String> {
        observe_system(&self.steps.iter().map(|step| &step.action))
    }
}

/// Looks whether this machine has what these change of its kernel, and remembers that.
pub(crate) fn system<'a>(
    actions: impl Iterator<Item = &'a Action> + Clone,
) -> Result<KernelBefore, SystemRefusal> {
    let mut before = KernelBefore::default();
    let schedules = actions.clone().any(|action| match action {
        Action::System { setting } => matches!(setting, SystemSetting::Threads { .. }),
        Action::Processing { setting, .. } => setting.schedules(),
        _ => false,
    });
    if schedules && !sched::has(Capability::SysNice) {
        return Err(SystemRefusal::NoRight);
    }
    inspect_cpus(actions.clone())?;
    let all = if schedules { threads::list() } else { Vec::new() };
    for action in actions {
        if let Action::System { setting } = action {
            setting.inspect(&all, &mut before)?;
        }
    }
    Ok(before)
}

fn inspect_cpus<'a>(actions: impl Iterator<Item = &'a Action>) -> Result<(), SystemRefusal> {
    let named = actions.filter_map(|action| match action {
        Action::Processing { setting, .. } => Some(setting.cpus()),
        _ => None,
    });
    let there = cpus::online();
    if there.is_empty() {
        return Ok(());
    }
    match named.flatten().find(|cpu| !there.contains(cpu)) {
        Some(cpu) => Err(SystemRefusal::NoCpu { cpu, online: cpus::list(&there) }),
        None => Ok(()),
    }
}

/// What the kernel says of the settings that these make.
pub(crate) fn observe_system<'a>(
    actions: &(impl Iterator<Item = &'a Action> + Clone),
) -> BTreeMap<String, String> {
    let settings = || {
        actions.clone().filter_map(|action| match action {
            Action::System { setting } => Some(setting),
            _ => None,
        })
    };
    let schedules = settings().any(|s| matches!(s, SystemSetting::Threads { .. }));
    let all = if schedules { threads::list() } else { Vec::new() };
    let mut values: BTreeMap<_, _> =
        settings().filter_map(|setting| setting.observe(&all)).collect();
    if actions.clone().any(|action| *action == Action::ShortFreeLists) {
        let pages = free_pages::longest().map(|pages| pages.to_string());
        values.extend(pages.map(|pages| (free_pages::LONGEST_AT_START.to_owned(), pages)));
    }
    values
}
