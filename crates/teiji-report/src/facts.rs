//! Where and how a run was made, in one line.

use teiji_record::Summary;
use teiji_record::summary::Testbed;

use crate::comparison::Comparison;
use crate::delay;
use crate::units::{Glyphs, count, duration};
use crate::wording;

/// Where and how a run was made, as far as its summary says.
pub fn facts(summary: &Summary, comparisons: &[Comparison<'_>], glyphs: &Glyphs) -> String {
    if !delay::flows(summary).is_empty() {
        return "two captures of the same frames".to_owned();
    }
    let mut facts = vec![wording::testbed(summary.testbed).to_owned()];
    let members = || summary.cases.iter().flat_map(|case| &case.members);
    if let [comparison] = comparisons {
        if summary.testbed == Testbed::Capture {
            facts.push(comparison.flow.to_owned());
        }
        if let Some(period) = comparison.common_period_ns() {
            facts.push(format!("every {}", duration(period as f64, glyphs)));
        }
        let mut planned = comparison
            .cases
            .iter()
            .flat_map(|c| &c.members)
            .filter_map(|m| Some(m.flow?.counts.planned));
        if let Some(frames) = planned.next().filter(|first| planned.all(|p| p == *first)) {
            let each = match (summary.testbed, comparison.members()) {
                (Testbed::Capture, _) => "",
                (_, 0 | 1) => " per case",
                _ => " per case and seed",
            };
            facts.push(format!("{}{}frames{each}", count(frames, glyphs), glyphs.space));
        }
    }
    if summary.testbed != Testbed::Capture {
        let mut seeds: Vec<u64> = members().map(|member| member.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        match seeds.as_slice() {
            [] => {}
            [one] => facts.push(format!("seed{}{one}", glyphs.space)),
            [first, .., last] if last - first + 1 == seeds.len() as u64 => facts.push(format!(
                "seeds{s}{first}{s}{}{s}{last}",
                glyphs.ellipsis,
                s = glyphs.space
            )),
            many => facts.push(format!("{}{}seeds", many.len(), glyphs.space)),
        }
    }
    facts.join(", ")
}
