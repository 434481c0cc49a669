//! What becomes of a run's figures: verdicts on each case, and a ranking of all. Both take
//! what the loads did, which is in what was observed.

use teiji::load::LoadReport;
use teiji_experiment::{Case, Judge};
use teiji_record::{MemberSummary, ObservedCase, Ranking, Verdict, ranking, verdicts};

/// A case with its members, each with what was observed during it, if that is known.
pub type Measured<'a> = (&'a Case, Vec<(&'a MemberSummary, Option<&'a ObservedCase>)>);

/// The verdicts on all cases, and their ranking if `judge` requests it.
pub fn of(judge: &Judge, cases: &[Measured<'_>]) -> (Vec<Verdict>, Option<Ranking>) {
    let mut all = Vec::new();
    let mut remedies = Vec::new();
    for (case, members) in cases {
        let members: Vec<(&MemberSummary, &[LoadReport])> = members
            .iter()
            .map(|(member, observed)| (*member, observed.map_or(&[][..], |seen| &seen.loads)))
            .collect();
        all.extend(verdicts(case, &members));
        remedies.push((case.name.as_str(), members));
    }
    (all, ranking(judge, &remedies))
}
