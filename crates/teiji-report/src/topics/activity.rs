//! What the kernel's packet processing did, case by case: rows for each CPU's softirqs,
//! each port and each thread.

use std::collections::BTreeSet;

use teiji_core::activity::{Activity, ThreadActivity};
use teiji_core::time::Span;
use teiji_record::Summary;

use crate::units::{Glyphs, count, duration};

/// One thing that was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivityRow {
    /// What.
    pub label: String,
    /// For each case, over its seeds; `None` where it is not there.
    pub cells: Vec<Option<String>>,
}

/// All that anything happened to, CPUs first.
pub fn rows(summary: &Summary, glyphs: &Glyphs) -> Vec<ActivityRow> {
    let looks: Vec<Vec<&Activity>> = summary
        .cases
        .iter()
        .map(|case| case.members.iter().map(|member| &member.activity).collect())
        .collect();
    let all = || looks.iter().flatten();
    let mut rows = Vec::new();
    let mut add = |label: String, show: Show, of: &dyn Fn(&Activity) -> Option<u64>| {
        let medians: Vec<Option<u64>> =
            looks.iter().map(|case| median(case.iter().filter_map(|look| of(look)))).collect();
        if medians.iter().flatten().any(|found| *found > 0) {
            let cells = medians.iter().map(|found| found.map(|n| show(n, glyphs))).collect();
            rows.push(ActivityRow { label, cells });
        }
    };
    for cpu in all().flat_map(|look| look.cpus.keys()).collect::<BTreeSet<_>>() {
        let kinds: BTreeSet<&String> =
            all().filter_map(|look| look.cpus.get(cpu)).flat_map(|c| c.softirqs.keys()).collect();
        for kind in kinds {
            add(format!("softirqs {kind} on CPU {cpu}"), count, &|look| {
                look.cpus.get(cpu)?.softirqs.get(kind).copied()
            });
        }
        add(format!("frames received on CPU {cpu}"), count, &|look| {
            Some(look.cpus.get(cpu)?.frames)
        });
        add(format!("polls ended by the budget on CPU {cpu}"), count, &|look| {
            Some(look.cpus.get(cpu)?.squeezed)
        });
        add(format!("frames dropped by the full backlog of CPU {cpu}"), count, &|look| {
            Some(look.cpus.get(cpu)?.dropped)
        });
    }
    for port in all().flat_map(|look| look.requeues.keys()).collect::<BTreeSet<_>>() {
        add(format!("requeues at {port}"), count, &|look| look.requeues.get(port).copied());
    }
    for port in all().flat_map(|look| look.byte_limits.keys()).collect::<BTreeSet<_>>() {
        add(format!("BQL limit of {port} at the end, bytes"), count, &|look| {
            look.byte_limits.get(port).copied()
        });
    }
    let time = |ns: u64, glyphs: &Glyphs| duration(ns as f64, glyphs);
    let ns = |span: Span| u64::try_from(span.as_ns()).unwrap_or(0);
    for name in all().flat_map(|look| look.threads.keys()).collect::<BTreeSet<_>>() {
        let of = |look: &Activity, what: &dyn Fn(&ThreadActivity) -> u64| {
            look.threads.get(name).map(what)
        };
        add(format!("wake-ups of {name}"), count, &|look| of(look, &|thread| thread.wakeups));
        add(format!("run time of {name}"), time, &|look| of(look, &|thread| ns(thread.ran)));
        add(format!("wait time of {name}"), time, &|look| of(look, &|thread| ns(thread.waited)));
    }
    rows
}

/// How a value is written.
type Show = fn(u64, &Glyphs) -> String;

/// The lower median.
fn median(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}
