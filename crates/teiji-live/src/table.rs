//! A sample as lines of text: what has happened since the sample before, what is wrong marked.

use teiji_core::time::Span;
use teiji_net::traffic::{Packets, Traffic};

use crate::interval::Interval;
use crate::sample::{Interface, Sample};

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it says.
    pub text: String,
    /// How it stands out.
    pub role: Role,
}

/// How a line stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The names of columns.
    Heading,
    /// Something that is as it should be.
    Plain,
    /// Something that is not: lost, late, dropped, without carrier.
    Wrong,
}

/// Lines with columns: the widest cell of each says how wide it is.
#[derive(Debug)]
struct Table {
    rows: Vec<(Role, Vec<String>)>,
}

impl Table {
    fn new(heading: &[&str]) -> Self {
        Self { rows: vec![(Role::Heading, heading.iter().map(|&cell| cell.to_owned()).collect())] }
    }

    fn row<const N: usize>(&mut self, wrong: bool, cells: [String; N]) {
        let role = if wrong { Role::Wrong } else { Role::Plain };
        self.rows.push((role, cells.into()));
    }

    /// Its lines, and an empty one before; none if it has nothing but a heading.
    fn lines(self) -> Vec<Line> {
        if self.rows.len() < 2 {
            return Vec::new();
        }
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|(_, cells)| cells.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let columns = self.rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |(role, cells): &(Role, Vec<String>)| {
            let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            let text = cells.collect::<Vec<_>>().join("  ").trim_end().to_owned();
            Line { text, role: *role }
        };
        let empty = Line { text: String::new(), role: Role::Plain };
        std::iter::once(empty).chain(self.rows.iter().map(line)).collect()
    }
}

/// What `now` says, with what has changed since `before`.
pub fn lines(before: &Sample, now: &Sample) -> Vec<Line> {
    let seconds = (now.at - before.at).as_secs_f64();
    let pairs: Vec<(&Interface, &Interface)> =
        before.interfaces.iter().zip(&now.interfaces).collect();
    let mut lines = interfaces(&pairs, seconds);
    lines.extend(flows(now, seconds));
    lines.extend(qdiscs(&pairs, seconds));
    lines.extend(levels(&pairs, seconds));
    lines.push(Line { text: String::new(), role: Role::Plain });
    lines.push(clock(now));
    lines.extend(drops(before, now));
    lines
        .extend(now.notes.iter().map(|note| Line { text: format!("! {note}"), role: Role::Plain }));
    // The first section needs no empty line before.
    lines.remove(0);
    lines
}

fn interfaces(pairs: &[(&Interface, &Interface)], seconds: f64) -> Vec<Line> {
    let mut table = Table::new(&[
        "interface",
        "carrier",
        "received/s",
        "Mbit/s",
        "dropped",
        "sent/s",
        "Mbit/s",
        "dropped",
        "PHC − TAI",
    ]);
    for (before, now) in pairs {
        let Some(traffic) = &now.traffic else {
            let mut cells = [const { String::new() }; 9];
            (cells[0], cells[1]) = (now.name.clone(), "gone".to_owned());
            table.row(true, cells);
            continue;
        };
        // Of one that was gone it is unknown since when its counters count.
        let earlier = before.traffic.as_ref().unwrap_or(traffic);
        let missed = |of: &Traffic| Packets {
            dropped: of.received.dropped.saturating_add(of.rx_missed),
            ..of.received
        };
        let (received, sent) = (missed(traffic), traffic.sent);
        let (received_before, sent_before) = (missed(earlier), earlier.sent);
        let more = |now: u64, before: u64| now.saturating_sub(before);
        let dropped = more(received.dropped, received_before.dropped)
            + more(sent.dropped, sent_before.dropped);
        let speed = |now: u64, before: u64| mbps(more(now, before), seconds);
        table.row(
            !traffic.carrier || dropped > 0,
            [
                now.name.clone(),
                if traffic.carrier { "yes" } else { "no" }.to_owned(),
                per_second(more(received.packets, received_before.packets), seconds),
                speed(received.bytes, received_before.bytes),
                received.dropped.to_string(),
                per_second(more(sent.packets, sent_before.packets), seconds),
                speed(sent.bytes, sent_before.bytes),
                sent.dropped.to_string(),
                now.phc.map_or_else(String::new, |phc| phc.ahead.to_string()),
            ],
        );
    }
    table.lines()
}

fn flows(now: &Sample, seconds: f64) -> Vec<Line> {
    let heading = ["flow", "", "frames/s", "lost", "range of intervals", "timing"];
    let mut table = Table::new(&heading);
    for interface in &now.interfaces {
        for flow in &interface.flows {
            let late = flow.now.left_ns.is_some_and(|[least, most]| least < 0 && most >= 0);
            table.row(
                late || flow.now.lost > 0 || flow.now.frames == 0,
                [
                    format!("{} {}", interface.name, if flow.outgoing { "→" } else { "←" }),
                    flow.name.clone(),
                    per_second(flow.now.frames, seconds),
                    flow.lost_total.to_string(),
                    flow.now.range_ns.map_or_else(String::new, ns),
                    timing(&flow.now),
                ],
            );
        }
    }
    let mut lines = table.lines();
    let unseen = now.interfaces.iter().filter(|interface| interface.unseen > 0);
    lines.extend(unseen.map(|interface| Line {
        text: format!(
            "! {}: {} frames were not looked at, for want of time or places",
            interface.name, interface.unseen
        ),
        role: Role::Wrong,
    }));
    lines
}

/// Where frames are against their schedule.
fn timing(of: &Interval) -> String {
    let range = |low: i64, high: i64| format!("{} … {}", ns(low), ns(high));
    match (of.latency_ns, of.left_ns) {
        (Some([low, high]), _) => format!("latency {}", range(low, high)),
        // Without launch time, the driver gets them afterwards.
        (None, Some([low, high])) if high < 0 => {
            format!("{} after the schedule", range(-high, -low))
        }
        (None, Some([low, high])) => format!("margin left {}", range(low, high)),
        (None, None) => String::new(),
    }
}

fn qdiscs(pairs: &[(&Interface, &Interface)], seconds: f64) -> Vec<Line> {
    let mut table =
        Table::new(&["qdisc", "at", "kind", "sent/s", "waiting", "dropped", "overlimits"]);
    for (before, now) in pairs {
        for qdisc in now.traffic.iter().flat_map(|traffic| &traffic.qdiscs) {
            let kind = qdisc.settings.kind();
            if kind == "noqueue" {
                continue;
            }
            let earlier = before.traffic.as_ref().and_then(|traffic| traffic.qdisc_like(qdisc));
            let counted = earlier.map(|q| q.counters).unwrap_or_default();
            let counters = qdisc.counters;
            table.row(
                counters.drops > counted.drops,
                [
                    now.name.clone(),
                    qdisc.parent.to_string(),
                    kind.to_owned(),
                    per_second(counters.packets.saturating_sub(counted.packets), seconds),
                    counters.waiting.to_string(),
                    counters.drops.to_string(),
                    counters.overlimits.to_string(),
                ],
            );
        }
    }
    table.lines()
}

fn levels(pairs: &[(&Interface, &Interface)], seconds: f64) -> Vec<Line> {
    let mut table = Table::new(&["flow control", "of", "sent/s", "waiting", "dropped", "paused"]);
    for (before, now) in pairs {
        let Some(flow_control) = &now.flow_control else { continue };
        let peer = flow_control.peer;
        let state = peer.name();
        let mut cells = [const { String::new() }; 6];
        (cells[0], cells[1]) = (now.name.clone(), format!("peer {state}"));
        table.row(peer.is_alarm(), cells);
        let earlier = before.flow_control.iter().flat_map(|earlier| &earlier.levels);
        for level in &flow_control.levels {
            let same = |l: &&crate::sample::Level| l.level == level.level;
            let counted = earlier.clone().find(same).copied().unwrap_or_default();
            let paused = level.paused_ns.saturating_sub(counted.paused_ns) as f64 / 1e9;
            let now_paused = flow_control.paused.contains(level.level);
            table.row(
                level.dropped > counted.dropped,
                [
                    now.name.clone(),
                    format!("level {}", level.level),
                    per_second(level.sent.saturating_sub(counted.sent), seconds),
                    level.waiting.to_string(),
                    level.dropped.to_string(),
                    format!(
                        "{} %{}",
                        rate(100.0 * paused, seconds),
                        if now_paused { ", now" } else { "" }
                    ),
                ],
            );
        }
    }
    table.lines()
}

fn clock(now: &Sample) -> Line {
    let (text, role) = match now.ptp4l {
        None => ("PTP    nothing answers `pmc`".to_owned(), Role::Plain),
        Some(ptp) if ptp.has_time => {
            (format!("PTP    ptp4l is {} from its master", ptp.offset), Role::Plain)
        }
        Some(_) => ("PTP    ptp4l has not locked on to a master".to_owned(), Role::Wrong),
    };
    Line { text, role }
}

fn drops(before: &Sample, now: &Sample) -> Option<Line> {
    let drops = now.drops.as_ref()?;
    let words: Vec<String> =
        drops.iter().map(|(reason, packets)| format!("{reason} {packets}")).collect();
    let none = words.is_empty();
    let text = if none { "none".to_owned() } else { words.join(", ") };
    let role = if before.drops == now.drops { Role::Plain } else { Role::Wrong };
    Some(Line { text: format!("Drops  of the whole machine since the start: {text}"), role })
}

fn rate(number: f64, seconds: f64) -> String {
    if seconds > 0.0 { format!("{:.0}", number / seconds) } else { "?".to_owned() }
}

fn per_second(number: u64, seconds: f64) -> String {
    rate(number as f64, seconds)
}

fn mbps(bytes: u64, seconds: f64) -> String {
    if seconds > 0.0 {
        format!("{:.1}", bytes as f64 * 8.0 / 1e6 / seconds)
    } else {
        "?".to_owned()
    }
}

/// With three digits: the fourth changes from look to look.
fn ns(ns: i64) -> String {
    let digits = ns.unsigned_abs().checked_ilog10().map_or(0, |log| log + 1);
    let step = 10_i64.pow(digits.saturating_sub(3));
    Span::from_ns((ns + ns.signum() * step / 2) / step * step).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::examples::sample;

    #[test]
    fn two_samples_say_what_happened_between_them() {
        let lines = lines(&sample(1, 0), &sample(3, 4));
        let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(
            text,
            [
                "interface  carrier  received/s  Mbit/s  dropped  sent/s  Mbit/s  dropped  PHC − TAI",
                "eth0       yes      0           0.0     0        1000    0.8     0        -12 ns",
                "eth1       gone",
                "",
                "flow                 frames/s  lost  range of intervals  timing",
                "eth0 →  test flow 0  500       3     1.23 µs             margin left 142 µs … 150 µs",
                "eth0 →  test flow 1  500       3     1.23 µs             68.9 µs … 3.91 ms after the schedule",
                "eth0 ←  test flow 0  500       3     1.23 µs             latency 75 µs … 90 µs",
                "",
                "qdisc  at     kind    sent/s  waiting  dropped  overlimits",
                "eth0   root   mqprio  1000    2        4        0",
                "eth0   100:1  etf     1000    2        4        0",
                "",
                "flow control  of          sent/s  waiting  dropped  paused",
                "eth0          peer obeys",
                "eth0          level 3     1000    0        0        50 %, now",
                "",
                "PTP    ptp4l is 40 ns from its master",
                "Drops  of the whole machine since the start: QDISC_DROP 4",
                "! no flows of eth1: needs root",
            ]
        );
        let wrong = lines.iter().filter(|line| line.role == Role::Wrong);
        let wrong: Vec<&str> = wrong.filter_map(|line| line.text.split(' ').next()).collect();
        assert_eq!(wrong, ["eth1", "eth0", "eth0", "Drops"], "gone, and what has dropped");
    }

    #[test]
    fn an_interface_that_is_back_has_no_rates_of_its_whole_life() {
        let mut before = sample(1, 0);
        before.interfaces[0].traffic = None;
        let back = lines(&before, &sample(3, 0));
        assert!(
            back[1]
                .text
                .starts_with("eth0       yes      0           0.0     0        0       0.0"),
            "{back:?}"
        );
    }

    #[test]
    fn the_first_look_has_no_rates_and_nothing_is_divided_by_zero() {
        let lines = lines(&sample(1, 0), &sample(1, 0));
        assert!(lines.iter().all(|line| !line.text.contains("NaN") && !line.text.contains("inf")));
    }

    #[test]
    fn times_have_three_digits() {
        assert_eq!(
            [0, 7, -999, 1_234, 99_950].map(ns),
            ["0 s", "7 ns", "-999 ns", "1.23 µs", "100 µs"]
        );
    }
}
