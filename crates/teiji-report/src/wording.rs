//! Sentences about what became of the frames and where the truth was taken.

use teiji_record::summary::Testbed;
use teiji_stats::{Counts, Part, RoundCounts, Station, Vantage};

use crate::comparison::{CaseView, Comparison, Measure};
use crate::units::{Glyphs, count, duration, number};

/// Where stamps were taken, as part of a sentence.
pub const fn vantage(at: Vantage) -> &'static str {
    match at {
        Vantage::Wire => "on the wire",
        Vantage::RxHardware => "at the receiving card",
        Vantage::TxHardware => "at the sending card",
        Vantage::RxKernel => "in the receiving kernel",
        Vantage::TxKernel => "at the hand-over to the driver",
    }
}

/// A part of a round trip.
pub const fn part(part: Part) -> &'static str {
    match part {
        Part::There => "there",
        Part::Responder => "responder",
        Part::Back => "back",
        Part::WakeUp => "wake-up",
        Part::Softirq => "softirq",
        Part::Polling => "polling",
        Part::Socket => "socket",
        Part::Answer => "answer",
    }
}

/// What the parts of a round trip are.
pub const PARTS: &str = "There: from the send call to the responder's kernel. Responder: from \
                         there to its send call. Back: from there to the asking kernel. Wake-up: \
                         from there until the asking program has the reply.";

/// What of them the trace of the responder's kernel tells.
pub const PARTS_WITHIN: &str = "Of there: softirq, from the responder's interrupt to the softirq \
                                that takes the request from the card, and polling, from then to \
                                the kernel's stamp. Of responder: socket, from there to its \
                                waking, and answer, from then to its send call.";

/// What the sender's own stretches are.
pub const SENDER: &str = "Wake-up latency: from the planned wake-up until the sender runs. \
                          Hand-over: from then until its send call returns.";

/// What the stations of a frame's way are.
pub const STATIONS: &str = "To the wire: from the wake-up to the frame's beginning on the wire, \
                            through send call, queueing discipline and ring; the wait for a launch \
                            time is in it. Of that, with transmit stamps: queueing discipline, from \
                            its entry to the driver, and card, from there to the wire. Received: \
                            from the frame's end at the receiver to its kernel's stamp; of that, \
                            where the kernel was traced: interrupt, to the card's interrupt, if the \
                            frame needed one; softirq, from then to the softirq that takes frames \
                            from the card; polling, from then to the stamp. Delivered: from the \
                            stamp until the program has it; of that, traced: socket, to the \
                            program's waking, and its wake-up, from then on.";

/// A stretch of a frame's way.
pub const fn station(station: Station) -> &'static str {
    match station {
        Station::ToWire => "to the wire",
        Station::Qdisc => "queueing discipline",
        Station::Card => "card",
        Station::Receive => "received",
        Station::Interrupt => "interrupt",
        Station::Softirq => "softirq",
        Station::Polling => "polling",
        Station::Deliver => "delivered",
        Station::Socket => "socket",
        Station::WakeUp => "program's wake-up",
    }
}

/// Where an experiment ran.
pub const fn testbed(testbed: Testbed) -> &'static str {
    match testbed {
        Testbed::Lab => "virtual laboratory",
        Testbed::Local => "this machine, real time",
        Testbed::Capture => "recorded capture",
    }
}

/// What the figures of `comparison` are: `Deviation of each interval from
/// 1 ms`.
pub fn heading(comparison: &Comparison, glyphs: &Glyphs) -> String {
    match (comparison.measure, comparison.common_period_ns()) {
        (Measure::RoundTrip, _) => format!("Round trips of {}", comparison.flow),
        (Measure::Delay, _) => "Delay from the first capture to the second".to_owned(),
        (Measure::Schedule, _) => "Deviation of each frame from its schedule".to_owned(),
        (Measure::Interval, Some(period)) => {
            format!("Deviation of each interval from {}", duration(period as f64, glyphs))
        }
        (Measure::Interval, None) => "Deviation of each interval from its period".to_owned(),
    }
}

/// Where the stamps of `comparison` come from and how fine they are: `on the
/// wire, capture resolution 1 µs`.
pub fn seen(comparison: &Comparison, glyphs: &Glyphs) -> String {
    if comparison.measure == Measure::RoundTrip {
        return "from the send call to the reply in the program".to_owned();
    }
    if comparison.measure == Measure::Delay {
        return "stamp of the second minus stamp of the first".to_owned();
    }
    let place = match comparison.common_vantage() {
        Some(v) => vantage(v).to_owned(),
        None if comparison.deviations().next().is_none() => return "never seen".to_owned(),
        None => "each case at another place".to_owned(),
    };
    let what = if comparison.common_vantage() == Some(Vantage::Wire) { "capture" } else { "stamp" };
    match comparison.resolution_ns() {
        // Of captures only a coarser resolution is recorded.
        Some(1) => format!("{place}, vtsn: computed wire time, resolution 1 ns"),
        Some(ns) => {
            format!("{place}, {what} resolution {}", duration(ns as f64, glyphs))
        }
        _ => place,
    }
}

/// What a reader must know about the vantage, beyond the summary's own
/// warnings.
pub fn vantage_caveats(comparison: &Comparison, glyphs: &Glyphs) -> Vec<String> {
    let mut out = Vec::new();
    match comparison.common_vantage() {
        Some(Vantage::RxKernel) => out.push(
            "The stamps are the receiving kernel's: they measure the receiver as well as the \
             sender."
                .to_owned(),
        ),
        Some(Vantage::TxKernel) => out.push(
            "The stamps are taken at the hand-over to the driver: what the card does later is \
             not in them."
                .to_owned(),
        ),
        None if comparison.measure == Measure::RoundTrip => {}
        None if comparison.deviations().next().is_some() => {
            let places: Vec<String> = comparison
                .cases
                .iter()
                .filter_map(|c| Some(format!("{} {}", c.case.name, vantage(c.vantage?))))
                .collect();
            out.push(format!(
                "The cases were not seen at the same place ({}): do not compare their figures.",
                places.join(", ")
            ));
        }
        Some(_) | None => {}
    }
    if let Some(ns) = comparison.resolution_ns().filter(|ns| *ns > 1) {
        out.push(format!(
            "An interval is the difference of two stamps of {} resolution: figures up to {} may \
             come from the stamps alone.",
            duration(ns as f64, glyphs),
            duration(2.0 * ns as f64, glyphs)
        ));
    }
    if comparison.deviations().any(|d| !d.exact) {
        out.push(
            "The percentiles come from histogram bins, whose width bounds their error.".to_owned(),
        );
    }
    out
}

/// What a frame is that did not arrive; whoever made a capture may have missed it.
pub fn lost(testbed: Testbed) -> &'static str {
    if testbed == Testbed::Capture { "missing" } else { "lost" }
}

/// `3 of 500`, where anything was lost.
pub fn lost_of(counts: &Counts, glyphs: &Glyphs) -> Option<String> {
    let said = || format!("{} of {}", count(counts.lost, glyphs), count(counts.planned, glyphs));
    (counts.lost > 0).then(said)
}

/// What figures beside lost frames or requests are of; empty if nothing was lost.
pub fn survivors(comparison: &Comparison) -> String {
    if comparison.cases.iter().all(|view| view.counts().lost == 0) {
        return String::new();
    }
    let what = match comparison.measure {
        Measure::RoundTrip => "requests",
        Measure::Interval | Measure::Schedule | Measure::Delay => "frames",
    };
    format!(
        "No time is known of {} {what}: the figures are of the others.",
        lost(comparison.testbed)
    )
}

/// `1 frame`, `3 frames`.
fn frames(n: u64, glyphs: &Glyphs) -> String {
    format!("{} frame{}", count(n, glyphs), if n == 1 { "" } else { "s" })
}

fn were(n: u64) -> &'static str {
    if n == 1 { "was" } else { "were" }
}

/// What became of requests that were not simply answered, in full sentences.
fn round_shortfalls(c: &RoundCounts, timeout_ns: i64, glyphs: &Glyphs) -> Vec<String> {
    let mut out = Vec::new();
    let timeout = duration(timeout_ns as f64, glyphs);
    let requests =
        |n: u64| format!("{} request{}", count(n, glyphs), if n == 1 { "" } else { "s" });
    let unanswered = c.sent.saturating_sub(c.answered);
    if unanswered > 0 && c.answered == 0 {
        out.push(format!(
            "None of {} got a reply: is the responder's port reachable, and does it run?",
            requests(c.sent)
        ));
    } else if unanswered > 0 {
        let of = format!("{} of {}", count(unanswered, glyphs), requests(c.sent));
        out.push(format!("{of} got no reply; each waited {timeout} for it."));
    }
    if c.late > 0 {
        out.push(format!(
            "{} {} later than the time-out of {timeout}; the distribution has {}.",
            count(c.late, glyphs),
            if c.late == 1 { "reply came" } else { "replies came" },
            if c.late == 1 { "it" } else { "them" }
        ));
    }
    if c.send_failed > 0 {
        let were = were(c.send_failed);
        out.push(format!("{} {were} not taken by the kernel.", requests(c.send_failed)));
    }
    for (n, what) in [(c.duplicated, "came twice"), (c.foreign, "belonged to no round trip")] {
        if n > 0 {
            let packets = if n == 1 { "packet" } else { "packets" };
            out.push(format!("{} {packets} {what}.", count(n, glyphs)));
        }
    }
    let tried = c.sent + c.send_failed;
    if tried < c.planned {
        out.push(format!("It ended after {} of {}.", count(tried, glyphs), requests(c.planned)));
    }
    out
}

/// Of each case whose round trips are above all flows on their way, how the longest compares with
/// what one frame under way on each wire allows.
pub fn blocking(comparison: &Comparison, glyphs: &Glyphs) -> Vec<String> {
    let Some(shortest_ns) = comparison.deviations().map(|d| d.min_ns).min() else {
        return Vec::new();
    };
    let of_case = |view: &CaseView| {
        let blocked = view.case.members.iter().find_map(|m| m.blocking.get(comparison.flow))?;
        let longest_ns =
            view.members.iter().filter_map(|member| Some(member.deviation?.max_ns)).max()?;
        let bound_ns = shortest_ns.saturating_add(blocked.as_ns());
        let time = |ns: i64| duration(ns as f64, glyphs);
        Some(format!(
            "{}: a frame of a lower level may be under way on each wire of the way, {} together. With \
             the shortest round trip of all cases, {}, that makes a bound of {}; the longest took \
             {}, {} times that.",
            view.case.name,
            time(blocked.as_ns()),
            time(shortest_ns),
            time(bound_ns),
            time(longest_ns),
            number(longest_ns as f64 / bound_ns as f64, 2, glyphs)
        ))
    };
    comparison.cases.iter().filter_map(of_case).collect()
}

/// How far percentiles of so many round trips reach.
pub fn support(comparison: &Comparison, glyphs: &Glyphs) -> Option<String> {
    let most = comparison.deviations().map(|d| d.count).max()?;
    let last = comparison.percentiles().last().copied()?;
    Some(format!(
        "{} round trips support percentiles up to p{last}; p99.9999 takes a million.",
        count(most, glyphs)
    ))
    .filter(|_| last < 99.9999 - 1e-9)
}

/// What did not go as planned in one case that ran on `testbed`, in full
/// sentences; empty if all did. A capture knows of no sender.
pub fn shortfalls_in(testbed: Testbed, view: &CaseView, glyphs: &Glyphs) -> Vec<String> {
    if let Some(rounds) = view.members.iter().find_map(|member| member.rounds) {
        return round_shortfalls(&view.round_counts(), rounds.timeout_ns, glyphs);
    }
    let c = view.counts();
    let mut out = Vec::new();
    let late = late_frames(view, glyphs);
    out.extend(late);
    let on_the_way = c.lost_on_the_way();
    if on_the_way > 0 && testbed == Testbed::Capture {
        out.push(format!(
            "{} of the {} from the first to the last {} not in the capture.",
            count(on_the_way, glyphs),
            frames(c.planned, glyphs),
            if on_the_way == 1 { "is" } else { "are" }
        ));
    } else if on_the_way > 0 {
        out.push(format!(
            "{} of {} sent {} lost on the way.",
            count(on_the_way, glyphs),
            frames(c.sent, glyphs),
            were(on_the_way)
        ));
    }
    if c.send_failed > 0 {
        let errors: Vec<String> = view.send_errors().into_keys().map(send_error).collect();
        let why =
            if errors.is_empty() { String::new() } else { format!(": {}", errors.join(", ")) };
        out.push(format!("The send call failed for {}{why}.", frames(c.send_failed, glyphs)));
    }
    let attempted = c.sent + c.send_failed;
    if attempted < c.planned {
        out.push(format!(
            "{} of {} planned {} never attempted: the run ended early.",
            count(c.planned - attempted, glyphs),
            frames(c.planned, glyphs),
            were(c.planned - attempted)
        ));
    }
    if c.duplicated > 0 {
        let (copies, s) = if c.duplicated == 1 { ("copy", "") } else { ("copies", "") };
        out.push(format!("{} extra {copies}{s} arrived.", count(c.duplicated, glyphs)));
    }
    if c.reordered > 0 {
        out.push(format!("{} arrived after a later one.", frames(c.reordered, glyphs)));
    }
    if c.tx_stamps_missing > 0 {
        out.push(format!(
            "{} transmit stamp{} never came.",
            count(c.tx_stamps_missing, glyphs),
            if c.tx_stamps_missing == 1 { "" } else { "s" }
        ));
    }
    if c.foreign > 0 {
        out.push(format!(
            "{} foreign packet{} came to the socket and {} left out.",
            count(c.foreign, glyphs),
            if c.foreign == 1 { "" } else { "s" },
            were(c.foreign)
        ));
    }
    out
}

/// The frames that missed their time, with the reasons the kernel gave.
/// The kernel's name of an error, with what it means for a frame.
fn send_error(name: &str) -> String {
    match name {
        "EAGAIN" => "EAGAIN, the socket's send buffer was full of frames that waited".to_owned(),
        "ENOBUFS" => "ENOBUFS, the queueing discipline dropped it".to_owned(),
        other => other.to_owned(),
    }
}

fn late_frames(view: &CaseView, glyphs: &Glyphs) -> Option<String> {
    let c = view.counts();
    let dropped = c.dropped();
    // A late frame may be one of the dropped ones: only a lower bound is known.
    let missed = c.late.max(dropped);
    if missed == 0 {
        return None;
    }
    let mut reasons = Vec::new();
    if c.late > 0 {
        let latest = view.missed().and_then(|missed| missed.latest);
        let latest = latest.map_or_else(String::new, |frame| {
            format!(
                " (at worst {} after the planned wake-up, {} of it until the sender ran)",
                duration(frame.handed_over_ns as f64, glyphs),
                duration(frame.woke_ns as f64, glyphs)
            )
        });
        reasons.push(format!(
            "{} {} handed over too late{latest}",
            count(c.late, glyphs),
            were(c.late)
        ));
    }
    if c.dropped_missed > 0 {
        reasons.push(format!(
            "{} {} dropped by ETF as \"missed\": the launch time had passed",
            count(c.dropped_missed, glyphs),
            were(c.dropped_missed)
        ));
    }
    if c.dropped_invalid > 0 {
        reasons.push(format!(
            "{} {} dropped by ETF as \"invalid\": no launch time, or one already past",
            count(c.dropped_invalid, glyphs),
            were(c.dropped_invalid)
        ));
    }
    Some(format!(
        "{}{} of {} missed {} time: {}.",
        if c.late > 0 && dropped > 0 { "at least " } else { "" },
        count(missed, glyphs),
        frames(c.planned.max(missed), glyphs),
        if missed == 1 { "its" } else { "their" },
        reasons.join(", ")
    ))
}

/// What may help those frames that were late or dropped, in full sentences.
pub fn advice(view: &CaseView, glyphs: &Glyphs) -> Vec<String> {
    let Some(missed) = view.missed() else { return Vec::new() };
    let c = view.counts();
    let time = |ns: i64| duration(ns as f64, glyphs);
    let mut out = Vec::new();
    if let Some(latest) = missed.latest {
        if missed.margin_ns > 0 {
            out.push(format!(
                "The margin is {}: these frames needed more than {} plus the qdisc's delta.",
                time(missed.margin_ns),
                time(latest.handed_over_ns)
            ));
        }
        out.push(if latest.woke_ns.saturating_mul(2) >= latest.handed_over_ns {
            "A higher realtime priority or a quieter CPU shortens the wake-up.".to_owned()
        } else {
            "Most of that is the send call, and what had the CPU meanwhile.".to_owned()
        });
    }
    if let Some(left) = missed.least_left_ns {
        out.push(format!(
            "{} {} dropped although handed over {} or more before the launch time: a longer \
             margin does not help where that exceeds the qdisc's delta.",
            count(missed.dropped_in_time, glyphs),
            were(missed.dropped_in_time),
            time(left)
        ));
        if c.dropped_missed > 0 {
            out.push(
                "A longer delta lets ETF begin earlier, so that its timer may be later.".to_owned(),
            );
        }
        if c.dropped_invalid > 0 && missed.latest.is_none() {
            out.push(
                "ETF takes a frame only with a launch time ahead of its clock: look at the \
                 flow's mode and at the qdisc's clock."
                    .to_owned(),
            );
        }
    }
    out
}
