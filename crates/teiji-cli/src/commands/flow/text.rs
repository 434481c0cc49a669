//! What `teiji flow` says to people.

use std::fmt::Write;

use teiji_core::time::{Instant, Monotonic};
use teiji_experiment::scenario::LinkMode;
use teiji_net::flow::{FlowStatus, ForwardCounters, LevelCounters};
use teiji_net::flow_events::{FlowEvent, Happening};
use teiji_report::units::{Glyphs, count, duration};

/// Bytes of two frames as BQL counts them: enough for the wire not to fall silent.
const TWO_FRAMES: u32 = 2 * 1514;

/// The settings in one line; one more if they do not cover what is in the transmit ring.
pub fn settings(status: &FlowStatus, glyphs: &Glyphs) -> String {
    let FlowStatus { interface, settings, .. } = status;
    let link = match settings.link {
        LinkMode::Off => "no link".to_owned(),
        mode => format!("link {}", mode.name()),
    };
    let storm = match settings.storm.as_ns() {
        0 => "a peer may pause for ever".to_owned(),
        _ => format!("a peer may pause for {}", settings.storm),
    };
    let own = if settings.table.is_some() { ", a table of its own" } else { "" };
    let bytes = settings
        .bytes
        .map_or(String::new(), |bytes| format!(" or {} bytes", count(bytes.into(), glyphs)));
    let dot = glyphs.dot;
    let mut text = format!(
        "{interface}: {link} {dot} level by {}{own} {dot} {} packets{bytes} may wait {dot} {storm} \
         {dot} room for {} and {} frames in rings\n",
        settings.source.name(),
        count(settings.limit.into(), glyphs),
        settings.reaction,
        settings.ring,
    );
    if let Some(at_most) = status.beyond_ring() {
        let _ = writeln!(
            text,
            "  warning: nothing stops what is in the transmit ring, up to {} frames, and a peer \
             with \
             the same settings keeps room for {}: echo {TWO_FRAMES} > /sys/class/net/{interface}/\
             queues/tx-N/byte_queue_limits/limit_max for each of its queues, or --ring {at_most} at the \
             peer",
            count(at_most, glyphs),
            settings.ring,
        );
    }
    text
}

/// Settings, levels and counters.
pub fn status(status: &FlowStatus, all: bool, glyphs: &Glyphs) -> String {
    let mut text = settings(status, glyphs);
    let by = &status.held;
    let peer = status.peer.map_or("the peer".to_owned(), |peer| format!("the peer {peer}"));
    let transmit = [(by.transmit_by_hand, "by hand"), (by.transmit_by_peer, &peer)];
    let receive = [
        (by.receive_by_hand, "by hand"),
        (by.receive_by_sockets, "sockets"),
        (by.receive_by_forwarded, "what a bridge forwards"),
    ];
    let _ = writeln!(
        text,
        "  transmit level {}   receive level {}",
        level(status.transmit_level, &transmit),
        level(status.receive_level, &receive),
    );
    let busy = |level: &LevelCounters| {
        level.sent > 0 || level.dropped > 0 || level.queued > 0 || level.pauses > 0
    };
    let levels = status.levels.iter().enumerate().rev();
    let rows: Vec<[String; 6]> = levels
        .filter(|(_, level)| all || busy(level))
        .map(|(number, level)| row(number, level, glyphs))
        .collect();
    if rows.is_empty() {
        text.push_str("  nothing was sent yet\n");
    } else {
        let head = ["level", "queued", "sent", "dropped", "paused", "longest wait"];
        table(&head.map(str::to_owned), &rows, &mut text);
    }
    link(status, glyphs, &mut text);
    forward(&status.forward, glyphs, &mut text);
    if all {
        let levels: Vec<String> = status.table.levels().iter().map(u8::to_string).collect();
        let _ = writeln!(
            text,
            "  level of each {}: {}",
            status.settings.source.name(),
            levels.join(" ")
        );
    }
    text
}

/// The level in force, and those who hold it there.
fn level(level: u8, holders: &[(u8, &str)]) -> String {
    let holders: Vec<&str> = holders
        .iter()
        .filter(|(held, _)| level > 0 && *held == level)
        .map(|(_, who)| *who)
        .collect();
    match &holders[..] {
        [] => level.to_string(),
        some => format!("{level} ({})", some.join(", ")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with four digits")]
fn row(number: usize, level: &LevelCounters, glyphs: &Glyphs) -> [String; 6] {
    let time = |ns: u64| match ns {
        0 => glyphs.none.to_owned(),
        _ => duration(ns as f64, glyphs),
    };
    let paused = match level.pauses {
        0 => glyphs.none.to_owned(),
        times => {
            format!("{}{} {}", count(times.into(), glyphs), glyphs.times, time(level.paused_ns))
        }
    };
    [
        number.to_string(),
        count(level.queued.into(), glyphs),
        count(level.sent, glyphs),
        count(level.dropped, glyphs),
        paused,
        time(level.longest_wait_ns),
    ]
}

/// Left-aligned columns.
fn table(head: &[String; 6], rows: &[[String; 6]], text: &mut String) {
    let width = |column: usize| {
        let cells = rows.iter().chain([head]).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    for row in [head].into_iter().chain(rows) {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, " {cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// Level frames, and those that were not obeyed.
fn link(status: &FlowStatus, glyphs: &Glyphs, text: &mut String) {
    let link = &status.link;
    if status.settings.link != LinkMode::Off {
        let _ = writeln!(
            text,
            "  level frames: {} sent, {} received",
            count(link.frames_sent, glyphs),
            count(link.frames_received, glyphs)
        );
        if link.frames_received == 0 {
            text.push_str("  none has come from the peer yet: it may have had nothing to ask\n");
        }
    }
    for (number, what) in [
        (link.malformed, "were malformed"),
        (link.stale, "were older than one before"),
        (link.limited, "came faster than are listened to"),
        (link.ignored, "were ignored: the peer had paused for too long"),
    ] {
        if number > 0 {
            let _ = writeln!(text, "  not obeyed: {} {what}", count(number, glyphs));
        }
    }
}

/// What a bridge forwards.
fn forward(forward: &ForwardCounters, glyphs: &Glyphs, text: &mut String) {
    if forward.room > 0 {
        let _ = writeln!(
            text,
            "  forwarded from here: room for {} frames per level, {} of them headroom; XOFF sent \
             {}{}",
            count(forward.room.into(), glyphs),
            count(forward.headroom.into(), glyphs),
            count(forward.asks, glyphs),
            glyphs.times,
        );
    }
    if forward.most > 0 || forward.beyond > 0 {
        let _ = writeln!(
            text,
            "  forwarded to here: at most {} waited of one port and level, {} beyond their room",
            count(forward.most.into(), glyphs),
            count(forward.beyond, glyphs)
        );
    }
}

/// Heads the lines of `teiji flow watch`.
pub const WATCHED: &str = "  time s   transmit   receive   queued   dropped   packets/s by level";

/// What happened between two looks: [start of all, before, after].
#[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
pub fn watched(
    before: &FlowStatus,
    after: &FlowStatus,
    [start, since, now]: [Instant<Monotonic>; 3],
    glyphs: &Glyphs,
) -> String {
    let passed_ns = u64::try_from((now - since).as_ns()).unwrap_or(0).max(1);
    let levels = || before.levels.iter().zip(&after.levels).enumerate().rev();
    // A qdisc that was set anew begins with nothing.
    let dropped: u64 = levels().map(|(_, (b, a))| a.dropped.saturating_sub(b.dropped)).sum();
    let queued: u64 = after.levels.iter().map(|level| u64::from(level.queued)).sum();
    let sent: Vec<String> = levels()
        .filter_map(|(number, (b, a))| {
            let sent = u128::from(a.sent.saturating_sub(b.sent));
            let rate = u64::try_from(sent * 1_000_000_000 / u128::from(passed_ns)).ok()?;
            (sent > 0).then(|| format!("{number}: {}", count(rate, glyphs)))
        })
        .collect();
    let sent = if sent.is_empty() { glyphs.none.to_owned() } else { sent.join("  ") };
    format!(
        "  {:<6.1}   {:<8}   {:<7}   {:<6}   {:<7}   {sent}",
        (now - start).as_ns() as f64 / 1e9,
        after.transmit_level,
        after.receive_level,
        count(queued, glyphs),
        count(dropped, glyphs),
    )
}

/// Heads the lines of `teiji flow watch --events`.
pub const TOLD: &str = "  time s       transmit   receive";
/// For events that nobody took in time.
pub const LOST: &str = "  events are missing here: they came faster than they were read";

/// The levels as they are at the beginning.
pub fn now(start: Instant<Monotonic>, status: &FlowStatus) -> String {
    levels(start, start, [status.transmit_level, status.receive_level])
}

/// An event.
pub fn told(start: Instant<Monotonic>, event: &FlowEvent) -> String {
    let line = levels(start, event.at, [event.transmit_level, event.receive_level]);
    match event.what {
        Happening::Levels => line,
        Happening::Storm => {
            format!(
                "{}   pause-storm watchdog: the peer's pause requests are ignored for the time-out",
                line.trim_end()
            )
        }
    }
}

/// An event may be dated back: the end of a pause that nobody saw.
#[expect(clippy::cast_precision_loss, reason = "shown with microseconds")]
fn levels(
    start: Instant<Monotonic>,
    at: Instant<Monotonic>,
    [transmit, receive]: [u8; 2],
) -> String {
    format!("  {:<10.6}   {transmit:<8}   {receive}", (at - start).as_ns() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_core::time::Span;
    use teiji_core::wire::MacAddr;
    use teiji_experiment::scenario::Prioflow;
    use teiji_net::flow::{Holders, LEVELS, LinkCounters};
    use teiji_net::transmit_ring::TransmitRing;

    fn some() -> FlowStatus {
        let mut levels = [LevelCounters::default(); LEVELS];
        levels[15] = LevelCounters { sent: 1_204, longest_wait_ns: 12_000, ..levels[15] };
        levels[1] = LevelCounters {
            sent: 1_203_441,
            queued: 148,
            pauses: 37,
            paused_ns: 12_100_000,
            longest_wait_ns: 1_900_000,
            ..levels[1]
        };
        FlowStatus {
            interface: "enp3s0".to_owned(),
            settings: Prioflow { link: LinkMode::MacControl, ..Prioflow::default() },
            table: "0,1,2,3,4,5,6,15".parse().unwrap(),
            transmit_level: 2,
            receive_level: 3,
            held: Holders {
                transmit_by_peer: 2,
                receive_by_hand: 1,
                receive_by_sockets: 3,
                receive_by_forwarded: 3,
                ..Holders::default()
            },
            peer: Some(MacAddr([2, 0, 0, 0, 0, 7])),
            levels,
            forward: ForwardCounters { room: 426, headroom: 213, asks: 2, beyond: 0, most: 200 },
            link: LinkCounters {
                frames_sent: 3,
                frames_received: 2,
                stale: 1,
                ..Default::default()
            },
            transmit_ring: TransmitRing { frames: Some(256), byte_limit: Some(3_028) },
        }
    }

    #[test]
    fn more_frames_in_the_ring_than_the_peer_keeps_room_for_are_a_warning() {
        let mut status = some();
        status.transmit_ring.byte_limit = Some(1_879_048_192);
        let text = settings(&status, &Glyphs::ASCII);
        let (_, warning) = text.split_once('\n').unwrap();
        assert_eq!(
            warning,
            "  warning: nothing stops what is in the transmit ring, up to 256 frames, and a peer \
             with the same settings keeps room for 64: echo 3028 > /sys/class/net/enp3s0/queues/\
             tx-N/byte_queue_limits/limit_max for each of its queues, or --ring 256 at the peer\n"
        );
        status.settings.link = LinkMode::Off;
        assert!(!settings(&status, &Glyphs::ASCII).contains("warning"));
    }

    #[test]
    fn levels_where_something_happened_are_shown_from_the_highest_on() {
        assert_eq!(
            status(&some(), false, &Glyphs::ASCII),
            "enp3s0: link mac-control - level by dscp - 1 000 packets may wait - a peer may pause \
             for 10 s - room for 1 ms and 64 frames in rings
  transmit level 2 (the peer 02:00:00:00:00:07)   receive level 3 (sockets, what a bridge forwards)
  level   queued   sent        dropped   paused        longest wait
  15      0        1 204       0         -             12 us
  1       148      1 203 441   0         37x 12.1 ms   1.9 ms
  level frames: 3 sent, 2 received
  not obeyed: 1 were older than one before
  forwarded from here: room for 426 frames per level, 213 of them headroom; XOFF sent 2x
  forwarded to here: at most 200 waited of one port and level, 0 beyond their room
"
        );
        let all = status(&some(), true, &Glyphs::ASCII);
        assert!(all.contains("\n  7       0        0"), "{all}");
        assert!(all.ends_with("level of each dscp: 0 1 2 3 4 5 6 15\n"), "{all}");
    }

    #[test]
    fn a_limit_in_bytes_and_another_table_are_said() {
        let mut status = some();
        status.settings.bytes = Some(90_000);
        status.settings.table = Some(status.table);
        let text = settings(&status, &Glyphs::ASCII);
        let wanted = "level by dscp, a table of its own - 1 000 packets or 90 000 bytes may wait";
        assert!(text.contains(wanted), "{text}");
    }

    #[test]
    fn a_line_of_watch_has_rates_of_what_was_sent_meanwhile() {
        let before = some();
        let mut after = some();
        after.levels[15].sent += 50;
        after.levels[0].dropped = 3;
        let start = Instant::<Monotonic>::from_ns(0);
        let [since, now] = [Span::from_secs(1), Span::from_millis(1_500)].map(|s| start + s);
        assert_eq!(
            watched(&before, &after, [start, since, now], &Glyphs::ASCII),
            "  1.5      2          3         148      3         15: 100"
        );
    }

    #[test]
    fn an_event_has_the_kernels_time() {
        let start = Instant::<Monotonic>::from_ns(1_000_000_000);
        let at = start + Span::from_micros(12_500_001);
        let event = FlowEvent {
            what: Happening::Levels,
            index: 3,
            transmit_level: 5,
            receive_level: 12,
            at,
        };
        assert_eq!(told(start, &event), "  12.500001    5          12");
        let storm = FlowEvent { what: Happening::Storm, ..event };
        assert!(told(start, &storm).starts_with("  12.500001    5          12   pause-storm"));
        assert_eq!(TOLD.find("receive"), told(start, &event).rfind("12"));
    }
}
