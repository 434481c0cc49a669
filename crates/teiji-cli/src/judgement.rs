//! What becomes of a run's figures: verdicts on each case, and a ranking of all. Both take
//! what the loads did, which is in what was observed.

use teiji::load::LoadReport;
use teiji_experiment::{Case, Judge};
use teiji_record::{MemberSummary, Ranking, Verdict, ranking, verdicts};

use crate::setup::ObservedCase;

/// A case with its members, each with what was observed of it (the manifest's JSON).
pub type Measured<'a> = (&'a Case, Vec<(&'a MemberSummary, &'a serde_json::Value)>);

/// The verdicts on all cases, and their ranking if `judge` asks for it.
pub fn of(judge: &Judge, cases: &[Measured<'_>]) -> (Vec<Verdict>, Option<Ranking>) {
    let loads: Vec<Vec<Vec<LoadReport>>> = cases
        .iter()
        .map(|(_, members)| members.iter().map(|(_, observed)| loads(observed)).collect())
        .collect();
    let mut all = Vec::new();
    let mut remedies = Vec::new();
    for ((case, members), loads) in cases.iter().zip(&loads) {
        let members: Vec<(&MemberSummary, &[LoadReport])> = members
            .iter()
            .zip(loads)
            .map(|((member, _), loads)| (*member, loads.as_slice()))
            .collect();
        all.extend(verdicts(case, &members));
        remedies.push((case.name.as_str(), members));
    }
    (all, ranking(judge, &remedies))
}

fn loads(observed: &serde_json::Value) -> Vec<LoadReport> {
    let observed = serde_json::from_value::<ObservedCase>(observed.clone());
    observed.map(|observed| observed.loads).unwrap_or_default()
}
