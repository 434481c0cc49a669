//! How busy each CPU was while frames were sent, case by case.

use std::collections::{BTreeMap, BTreeSet};

use teiji_record::Summary;

use crate::units::{Glyphs, number};

/// What the figures are.
pub const HEADING: &str = "CPU utilisation while frames were sent";

/// One case: the utilisation of each CPU, 0 to 1; of several seeds the highest.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuRow<'a> {
    /// The case.
    pub case: &'a str,
    /// By CPU number.
    pub utilisation: BTreeMap<u16, f64>,
}

/// The cases in which somebody looked.
pub fn rows(summary: &Summary) -> Vec<CpuRow<'_>> {
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
pub fn busiest(rows: &[CpuRow<'_>], most: usize) -> BTreeSet<u16> {
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

/// A utilisation as text: `12.3 %`.
pub fn percent(utilisation: Option<&f64>, glyphs: &Glyphs) -> String {
    utilisation.map_or_else(
        || glyphs.none.to_owned(),
        |share| format!("{}{}%", number(share * 100.0, 1, glyphs), glyphs.space),
    )
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
