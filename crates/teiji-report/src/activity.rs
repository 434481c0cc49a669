//! What the kernel's packet processing did, case by case: one row for each CPU's softirqs,
//! each thread and each port.

use std::collections::BTreeSet;

use teiji_core::activity::{Activity, ThreadActivity};
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
    let mut add = |label: String, of: &dyn Fn(&Activity) -> Option<u64>| {
        let medians: Vec<Option<u64>> =
            looks.iter().map(|case| median(case.iter().filter_map(|look| of(look)))).collect();
        if medians.iter().flatten().any(|count| *count > 0) {
            let cells = medians.iter().map(|n| n.map(|n| count(n, glyphs))).collect();
            rows.push(ActivityRow { label, cells });
        }
    };
    for cpu in all().flat_map(|look| look.cpus.keys()).collect::<BTreeSet<_>>() {
        let kinds: BTreeSet<&String> =
            all().filter_map(|look| look.cpus.get(cpu)).flat_map(|c| c.softirqs.keys()).collect();
        for kind in kinds {
            add(format!("softirqs {kind} on CPU {cpu}"), &|look| {
                look.cpus.get(cpu)?.softirqs.get(kind).copied()
            });
        }
        add(format!("frames received on CPU {cpu}"), &|look| Some(look.cpus.get(cpu)?.frames));
        add(format!("receiving ended by its budget on CPU {cpu}"), &|look| {
            Some(look.cpus.get(cpu)?.squeezed)
        });
        add(format!("frames dropped, the backlog of CPU {cpu} was full"), &|look| {
            Some(look.cpus.get(cpu)?.dropped)
        });
    }
    for port in all().flat_map(|look| look.requeues.keys()).collect::<BTreeSet<_>>() {
        add(format!("given back to the qdisc by {port}"), &|look| look.requeues.get(port).copied());
    }
    for name in all().flat_map(|look| look.threads.keys()).collect::<BTreeSet<_>>() {
        let of_case = |case: &Vec<&Activity>| {
            let of = |what: fn(&ThreadActivity) -> u64| {
                median(case.iter().filter_map(|look| look.threads.get(name)).map(what))
            };
            Some([
                of(|thread| thread.wakeups)?,
                of(|thread| u64::try_from(thread.ran.as_ns()).unwrap_or(0))?,
                of(|thread| u64::try_from(thread.waited.as_ns()).unwrap_or(0))?,
            ])
        };
        let found: Vec<Option<[u64; 3]>> = looks.iter().map(of_case).collect();
        if found.iter().flatten().any(|[_, ran, _]| *ran > 0) {
            let cell = |[wakeups, ran, waited]: [u64; 3]| {
                format!(
                    "woken {} times, ran {}, waited {}",
                    count(wakeups, glyphs),
                    duration(ran as f64, glyphs),
                    duration(waited as f64, glyphs)
                )
            };
            let cells = found.into_iter().map(|found| found.map(cell)).collect();
            rows.push(ActivityRow { label: name.clone(), cells });
        }
    }
    rows
}

/// The lower median.
fn median(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}
