//! Sentences about lost, late and dropped frames, and about timestamp points.

use teiji_record::summary::Testbed;
use teiji_stats::{Counts, Part, RoundCounts, Station, TimestampPoint};

use crate::comparison::{CaseView, Comparison, Measure};
use crate::units::{Glyphs, count, duration, number};

/// Where stamps were taken, as part of a sentence.
pub const fn point(at: TimestampPoint) -> &'static str {
    match at {
        TimestampPoint::Wire => "on the wire",
        TimestampPoint::RxHardware => "at the receiving NIC",
        TimestampPoint::TxHardware => "at the sending NIC",
        TimestampPoint::RxKernel => "in the receiving kernel",
        TimestampPoint::TxKernel => "at the hand-over to the driver",
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
pub const PARTS: &str = "There: from the requester's send call to the responder's kernel. \
                         Responder: from there to its send call. Back: from there to the \
                         requester's kernel. Wake-up: from there until the requester has the \
                         reply.";

/// What of them the trace of the responder's kernel tells.
pub const PARTS_WITHIN: &str = "Parts of there: softirq, from the responder's interrupt to the \
                                softirq that polls the NIC, and polling, from then to the \
                                kernel's timestamp. Parts of responder: socket, from there to \
                                its wake-up, and answer, from then to its send call.";

/// What the sender's own stretches are.
pub const SENDER: &str = "Wake-up latency: from the planned wake-up until the sender runs. \
                          Hand-over: from then until its send call returns.";

/// What the stations of a frame's way are.
pub const STATIONS: &str = "To the wire: from the wake-up to the frame's beginning on the wire, \
                            through send call, queueing discipline and ring, including the wait \
                            for a launch time. With transmit timestamps, its parts: queueing \
                            discipline, from the entry to the driver, and NIC, from there to the \
                            wire. Received: from the frame's end at the receiver to its kernel's \
                            timestamp. With a trace of that kernel, its parts: interrupt, to the \
                            NIC's interrupt, if the frame needed one; softirq, from then to the \
                            softirq that polls the NIC; polling, from then to the timestamp. \
                            Delivered: from the timestamp until the program has the frame. With \
                            a trace, its parts: socket, to the program's wake-up, and wake-up, \
                            from then on.";

/// A stretch of a frame's way.
pub const fn station(station: Station) -> &'static str {
    match station {
        Station::ToWire => "to the wire",
        Station::Qdisc => "queueing discipline",
        Station::Nic => "NIC",
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
        Testbed::Machine => "another machine, real time",
        Testbed::Machines => "several machines, real time",
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
    let place = match comparison.common_point() {
        Some(v) => point(v).to_owned(),
        None if comparison.deviations().next().is_none() => return "never seen".to_owned(),
        None => "each case at another timestamp point".to_owned(),
    };
    let what =
        if comparison.common_point() == Some(TimestampPoint::Wire) { "capture" } else { "stamp" };
    match comparison.resolution_ns() {
        // Of captures only a coarser resolution is recorded.
        Some(1) => format!("{place}, vtsn: computed wire time, resolution 1 ns"),
        Some(ns) => {
            format!("{place}, {what} resolution {}", duration(ns as f64, glyphs))
        }
        _ => place,
    }
}

/// What a reader must know about the timestamp point, beyond the summary's own
/// warnings.
pub fn point_caveats(comparison: &Comparison, glyphs: &Glyphs) -> Vec<String> {
    let mut out = Vec::new();
    match comparison.common_point() {
        Some(TimestampPoint::RxKernel) => out.push(
            "The timestamps are the receiving kernel's: they include delays of the receiver."
                .to_owned(),
        ),
        Some(TimestampPoint::TxKernel) => out.push(
            "The timestamps are taken at the hand-over to the driver: delays in the NIC are not \
             included."
                .to_owned(),
        ),
        None if comparison.measure == Measure::RoundTrip => {}
        None if comparison.deviations().next().is_some() => {
            let places: Vec<String> = comparison
                .cases
                .iter()
                .filter_map(|c| Some(format!("{} {}", c.case.name, point(c.point?))))
                .collect();
            out.push(format!(
                "The cases have different timestamp points ({}): do not compare their figures.",
                places.join(", ")
            ));
        }
        Some(_) | None => {}
    }
    if let Some(ns) = comparison.resolution_ns().filter(|ns| *ns > 1) {
        out.push(format!(
            "An interval is the difference of two timestamps of {} resolution: figures up to {} \
             may be an effect of the resolution alone.",
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
    let text = || format!("{} of {}", count(counts.lost, glyphs), count(counts.planned, glyphs));
    (counts.lost > 0).then(text)
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
        "Of {} {what} no time is known: the figures are of the other {what}.",
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
        out.push(format!("{of} got no reply within {timeout}."));
    }
    if c.late > 0 {
        out.push(format!(
            "{} {} later than the time-out of {timeout}; the distribution has {}.",
            count(c.late, glyphs),
            if c.late == 1 { "reply arrived" } else { "replies arrived" },
            if c.late == 1 { "it" } else { "them" }
        ));
    }
    if c.send_failed > 0 {
        out.push(format!("The kernel refused to send {}.", requests(c.send_failed)));
    }
    for (n, what) in [(c.duplicated, "arrived twice"), (c.foreign, "belonged to no round trip")] {
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
            "{}: a frame of a lower level may be in transmission on each wire of the path, {} in \
             all. With the shortest round trip of all cases, {}, the bound is {}; the longest round \
             trip took {}, {} times the bound.",
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

/// That of `all` flows more were found than the `shown` ones; `None` if all are shown.
pub fn more_flows(all: usize, shown: usize, glyphs: &Glyphs) -> Option<String> {
    let more = all.saturating_sub(shown) as u64;
    let more = (more > 0).then(|| count(more, glyphs))?;
    Some(format!("{more} more: teiji analyze --json lists all flows."))
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
            "{} transmit timestamp{} missing.",
            count(c.tx_stamps_missing, glyphs),
            if c.tx_stamps_missing == 1 { "" } else { "s" }
        ));
    }
    if c.foreign > 0 {
        out.push(format!(
            "{} foreign packet{} arrived at the socket and {} left out.",
            count(c.foreign, glyphs),
            if c.foreign == 1 { "" } else { "s" },
            were(c.foreign)
        ));
    }
    out
}

/// The kernel's name of an error, with what it means for a frame.
fn send_error(name: &str) -> String {
    match name {
        "EAGAIN" => "EAGAIN, the socket's send buffer was full".to_owned(),
        "ENOBUFS" => "ENOBUFS, the queueing discipline dropped it".to_owned(),
        other => other.to_owned(),
    }
}

/// The frames that missed their time, with the kernel's reasons.
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
            "Most of that is the send call, and other threads on the CPU meanwhile.".to_owned()
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
                "A longer delta starts ETF's timer earlier, so the timer may be late by \
                 more."
                    .to_owned(),
            );
        }
        if c.dropped_invalid > 0 && missed.latest.is_none() {
            out.push(
                "ETF accepts a frame only if its launch time is in the future of its clock: \
                 check the flow's mode and the qdisc's clock."
                    .to_owned(),
            );
        }
    }
    out
}
