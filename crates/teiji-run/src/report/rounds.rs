//! What the report shows of single round trips: every one as a point, and the worst
//! with their ways.

use teiji_core::time::{Instant, Tai};
use teiji_record::{RoundRow, RunFolder, Summary};
use teiji_report::report::round_station;
use teiji_report::{Outlier, Points, Stamp};

use crate::report::outliers::{EACH, largest};

/// Adds the points (at most about `limit` a member) and outliers of all members'
/// round trips.
pub fn add(
    folder: &RunFolder,
    summary: &Summary,
    limit: usize,
    points: &mut Vec<Points>,
    outliers: &mut Vec<Outlier>,
) -> anyhow::Result<()> {
    for case in &summary.cases {
        for member in case.members.iter().filter(|member| !member.round_trips.is_empty()) {
            let Some(records) = folder.read_rounds(&case.name, member.seed)? else { continue };
            for plan in &records.about.round_trips {
                let rows = records.rows_of(plan.flow);
                let mut one = points_of(rows);
                one.case.clone_from(&case.name);
                one.seed = member.seed;
                one.flow.clone_from(&plan.name);
                let lost = rows.iter().filter(|row| row.round.received.is_none()).take(EACH);
                let slow = largest(&one, 0).into_iter();
                let slow = slow.filter_map(|at| rows.get(usize::try_from(one.seq[at]).ok()?));
                outliers.extend(lost.chain(slow).map(|row| outlier(&one, row)));
                one.thin(limit);
                points.push(one);
            }
        }
    }
    Ok(())
}

fn points_of(rows: &[RoundRow]) -> Points {
    let start = rows.first().map_or(0, |row| row.round.sent.as_ns());
    let answered = || rows.iter().filter_map(|row| Some((row, row.round.time()?)));
    Points {
        case: String::new(),
        seed: 0,
        flow: String::new(),
        point: None,
        t_ns: answered().map(|(row, _)| row.round.sent.as_ns() - start).collect(),
        deviation_ns: answered().map(|(_, time)| time.as_ns()).collect(),
        seq: answered().map(|(row, _)| row.round.seq).collect(),
        of: answered().count() as u64,
    }
}

fn outlier(points: &Points, row: &RoundRow) -> Outlier {
    let round = &row.round;
    let stations: [(&str, Option<Instant<Tai>>); 5] = [
        (round_station::SENT, Some(round.sent)),
        (round_station::ARRIVED, round.reflector_arrived),
        (round_station::LEFT, round.reflector_sent),
        (round_station::BACK, round.reply_kernel),
        (round_station::RECEIVED, round.received),
    ];
    let stamps = stations.into_iter().filter_map(|(station, at)| {
        Some(Stamp { station: station.to_owned(), ns: (at? - round.sent).as_ns() })
    });
    let note = match (round.received, round.send_failed) {
        (Some(_), _) => None,
        (None, Some(_)) => Some("The kernel did not take the request.".to_owned()),
        (None, None) => Some("No reply was received.".to_owned()),
    };
    Outlier {
        case: points.case.clone(),
        seed: points.seed,
        flow: points.flow.clone(),
        seq: round.seq,
        deviation_ns: round.time().map(teiji_core::time::Span::as_ns),
        stamps: stamps.collect(),
        note,
    }
}
