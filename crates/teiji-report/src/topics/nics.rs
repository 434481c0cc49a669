//! What NICs, queues and sockets counted of frames that were not transmitted or received as
//! planned, in sentences.

use teiji_record::nic_count::{NicCount, NicProblem};
use teiji_record::{CaseSummary, Summary};

use super::waits;
use crate::block::{Block, Body};
use crate::units::{Glyphs, count};

/// The sentences of each case with trouble; none without.
pub fn block(summary: &Summary, glyphs: &Glyphs) -> Option<Block> {
    let sentences = sentences(summary, glyphs);
    let heading = "What NICs, queues and sockets counted";
    (!sentences.is_empty()).then(|| Block::of("nics", "NICs", heading, Body::Sentences(sentences)))
}

fn sentences(summary: &Summary, glyphs: &Glyphs) -> Vec<(String, Vec<String>)> {
    let waited = waits::rows(summary);
    let of_case = |case: &CaseSummary| {
        let explained: u64 =
            waited.iter().filter(|row| row.case == case.name).map(|row| row.count).sum();
        let counts = over_seeds(case);
        let delayed: u64 = counts
            .iter()
            .filter(|count| count.trouble == NicProblem::LaunchDelayed)
            .map(|count| count.frames)
            .sum();
        // Which frame waited for which is told elsewhere, if it is known of all.
        let is_explained =
            |c: &NicCount| c.trouble == NicProblem::LaunchDelayed && explained >= delayed;
        let sentences: Vec<String> =
            counts.iter().filter(|c| !is_explained(c)).map(|c| sentence(c, glyphs)).collect();
        (case.name.clone(), sentences)
    };
    summary.cases.iter().map(of_case).filter(|(_, sentences)| !sentences.is_empty()).collect()
}

/// The counts of a case, of all its seeds together.
fn over_seeds(case: &CaseSummary) -> Vec<NicCount> {
    let mut all: Vec<NicCount> = Vec::new();
    for count in case.members.iter().flat_map(|member| &member.nic_counts) {
        let same = |other: &&mut NicCount| {
            (&other.host, &other.wire, other.trouble) == (&count.host, &count.wire, count.trouble)
        };
        match all.iter_mut().find(same) {
            Some(sum) => {
                sum.frames += count.frames;
                sum.queues.extend(&count.queues);
                sum.queues.sort_unstable();
                sum.queues.dedup();
            }
            None => all.push(count.clone()),
        }
    }
    all
}

fn sentence(c: &NicCount, glyphs: &Glyphs) -> String {
    let queues: Vec<String> = c.queues.iter().map(u16::to_string).collect();
    let of_queue = match queues.as_slice() {
        [] => String::new(),
        [one] => format!(" (queue {one})"),
        several => format!(" (queues {})", several.join(", ")),
    };
    let frames = if c.frames == 1 { "frame" } else { "frames" };
    format!(
        "{} on {}: {} {frames} {}{of_queue}.",
        c.host,
        c.wire,
        count(c.frames, glyphs),
        meaning(c.trouble)
    )
}

const fn meaning(trouble: NicProblem) -> &'static str {
    match trouble {
        NicProblem::LaunchLate => {
            "late in the NIC: handed to it after the launch time, transmitted at once"
        }
        NicProblem::LaunchDelayed => "transmitted after the launch time, because the wire was busy",
        NicProblem::LaunchHorizon => "dropped by the NIC: the launch time was beyond its horizon",
        NicProblem::GateNever => "queued in the NIC: no gate is open long enough",
        NicProblem::NoMemory => "dropped by the driver: no memory",
        NicProblem::Timeouts => "dropped by the NIC: the queue was stuck",
        NicProblem::RxOverrun => "dropped by the receiving NIC: its ring was full",
        NicProblem::RxCrcErrors => "dropped by the receiving NIC: wrong FCS",
        NicProblem::RxDown => "dropped by the receiving NIC: the port was down",
        NicProblem::QueueFull => "dropped by the sender's qdisc, which was full",
        NicProblem::QueueDelay => {
            "dropped by the sender's qdisc (fq_codel): queued for too long, or the qdisc was full"
        }
        NicProblem::SocketFull => "dropped by the listener's socket, whose buffer was full",
    }
}
