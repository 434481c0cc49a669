//! What cards, queues and sockets counted of frames that did not leave or arrive as they
//! were meant to, in sentences.

use teiji_record::card::{CardCount, CardTrouble};
use teiji_record::{CaseSummary, Summary};

use crate::units::{Glyphs, count};
use crate::waits;

/// For each case with trouble, its name and its sentences.
pub fn sentences<'a>(summary: &'a Summary, glyphs: &Glyphs) -> Vec<(&'a str, Vec<String>)> {
    let waited = waits::rows(summary);
    let of_case = |case: &'a CaseSummary| {
        let explained: u64 =
            waited.iter().filter(|row| row.case == case.name).map(|row| row.count).sum();
        let counts = over_seeds(case);
        let delayed: u64 = counts
            .iter()
            .filter(|count| count.trouble == CardTrouble::LaunchDelayed)
            .map(|count| count.frames)
            .sum();
        // Which frame waited for which is told elsewhere, if it is known of all.
        let told = |c: &CardCount| c.trouble == CardTrouble::LaunchDelayed && explained >= delayed;
        let said: Vec<String> =
            counts.iter().filter(|c| !told(c)).map(|c| sentence(c, glyphs)).collect();
        (case.name.as_str(), said)
    };
    summary.cases.iter().map(of_case).filter(|(_, said)| !said.is_empty()).collect()
}

/// The counts of a case, of all its seeds together.
fn over_seeds(case: &CaseSummary) -> Vec<CardCount> {
    let mut all: Vec<CardCount> = Vec::new();
    for count in case.members.iter().flat_map(|member| &member.cards) {
        let same = |other: &&mut CardCount| {
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

fn sentence(c: &CardCount, glyphs: &Glyphs) -> String {
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

const fn meaning(trouble: CardTrouble) -> &'static str {
    match trouble {
        CardTrouble::LaunchLate => {
            "late in the card: handed to it after the launch time, sent at once"
        }
        CardTrouble::LaunchDelayed => {
            "left the card after the launch time, because the wire was busy"
        }
        CardTrouble::LaunchHorizon => "dropped by the card: the launch time lay beyond its horizon",
        CardTrouble::GateNever => "dropped by the card: no gate is open long enough",
        CardTrouble::NoMemory => "dropped by the card's driver for want of memory",
        CardTrouble::Timeouts => "dropped by the card: the queue was stuck",
        CardTrouble::RxOverrun => "lost by the receiving card: its ring was full",
        CardTrouble::RxCrcErrors => "arrived damaged and dropped by the card",
        CardTrouble::RxDown => "arrived while the port was down",
        CardTrouble::QueueFull => "dropped by the sender's queue, which was full",
        CardTrouble::QueueDelay => {
            "dropped by the sender's queue (fq_codel), where they had waited too long or which was full"
        }
        CardTrouble::SocketFull => "dropped by the listener's socket, whose buffer was full",
    }
}
