//! How busy each CPU was while frames were sent, case by case.

use std::collections::{BTreeMap, BTreeSet};

use teiji_record::Summary;

use crate::block::{Block, Row, Table, or_none};
use crate::units::{Glyphs, number};

/// One case: the utilisation of each CPU, 0 to 1; of several seeds the highest.
#[derive(Clone, Debug, PartialEq)]
struct CpuRow<'a> {
    /// The case.
    case: &'a str,
    /// By CPU number.
    utilisation: BTreeMap<u16, f64>,
}

/// The cases in which somebody looked.
fn rows(summary: &Summary) -> Vec<CpuRow<'_>> {
    let row = |case: &'_ teiji_record::CaseSummary| {
        let mut utilisation: BTreeMap<u16, f64> = BTreeMap::new();
        for (cpu, time) in case.members.iter().flat_map(|member| &member.cpu_time) {
            let highest = utilisation.entry(*cpu).or_default();
            *highest = highest.max(time.utilisation());
        }
        utilisation
    };
    let rows = summary.cases.iter().map(|case| CpuRow { case: &case.name, utilisation: row(case) });
    rows.filter(|row| !row.utilisation.is_empty()).collect()
}

/// The CPUs of all rows in order of their numbers; where there are more than `most`, the
/// busiest ones.
fn busiest(rows: &[CpuRow<'_>], most: usize) -> BTreeSet<u16> {
    let mut highest: BTreeMap<u16, f64> = BTreeMap::new();
    for (cpu, utilisation) in rows.iter().flat_map(|row| &row.utilisation) {
        let found = highest.entry(*cpu).or_default();
        *found = found.max(*utilisation);
    }
    let mut cpus: Vec<(u16, f64)> = highest.into_iter().collect();
    // Of equals the first: sorting is stable.
    cpus.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    cpus.into_iter().take(most).map(|(cpu, _)| cpu).collect()
}

/// The table, with at most `most` CPUs; none where nobody looked.
pub fn block(summary: &Summary, glyphs: &Glyphs, most: usize) -> Option<Block> {
    let rows = rows(summary);
    let shown = busiest(&rows, most);
    let all = busiest(&rows, usize::MAX).len();
    let percent = |share: &f64| format!("{}{}%", number(share * 100.0, 1, glyphs), glyphs.space);
    let row = |row: &CpuRow<'_>| Row {
        case: row.case.to_owned(),
        item: String::new(),
        cells: shown
            .iter()
            .map(|cpu| or_none(row.utilisation.get(cpu).map(percent), glyphs))
            .collect(),
    };
    let table = Table {
        item: "",
        columns: shown.iter().map(|cpu| format!("CPU {cpu}")).collect(),
        rows: rows.iter().map(row).collect(),
    };
    let several = summary.cases.iter().any(|case| case.members.len() > 1);
    let members = if several { " Of the seeds, the highest." } else { "" };
    let heading = "CPU utilisation while frames were sent";
    let block = Block::table("cpu-time", "CPUs", heading, table)?.explained(format!(
        "The share of the time in which each CPU was not idle, by the kernel's account, from just \
         before the first wake-up to just after the last departure.{members}"
    ));
    let left_out = (shown.len() < all)
        .then(|| format!("The busiest {} of {all} CPUs; all of them: the report.", shown.len()));
    Some(block.notes(left_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_cpus_the_busiest_are_shown_in_their_order() {
        let row = |case, shares: &[(u16, f64)]| CpuRow {
            case,
            utilisation: shares.iter().copied().collect(),
        };
        let rows = [row("a", &[(0, 0.1), (1, 0.9), (2, 0.1)]), row("b", &[(0, 0.5), (9, 0.2)])];
        assert_eq!(busiest(&rows, 3), [0, 1, 9].into());
        assert_eq!(busiest(&rows, 9).len(), 4);
        assert_eq!(busiest(&[row("a", &[(3, 0.0), (4, 0.0)])], 1), [3].into());
    }
}
