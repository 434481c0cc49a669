//! What `teiji flow` says to people.

use std::fmt::Write;

use teiji_core::time::{Instant, Monotonic, Span};
use teiji_core::wire::ethernet;
use teiji_experiment::scenario::LinkMode;
use teiji_net::flow::{
    FlowStatus, ForwardCounters, KeptCounters, LevelCounters, LevelSet, MacPause, Peer, PeerState,
    RuleCounters,
};
use teiji_net::flow_events::{FlowEvent, Happening, Receiver, ReceiverEvent};
use teiji_report::units::{Glyphs, count, duration};

/// Bytes of two frames as BQL counts them: enough for the wire not to fall silent.
const TWO_FRAMES: u16 = 2 * ethernet::LONGEST;

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
         {dot} headroom covers {} and {} frames in rings\n",
        settings.source.name(),
        count(settings.limit.into(), glyphs),
        settings.reaction,
        settings.ring,
    );
    if let Some(warning) = ring_warning(status, glyphs) {
        let _ = writeln!(text, "  {warning}");
    }
    text
}

/// If the settings do not cover what is in the transmit ring.
pub fn ring_warning(status: &FlowStatus, glyphs: &Glyphs) -> Option<String> {
    let interface = &status.interface;
    status.beyond_ring().map(|at_most| {
        format!(
            "warning: XOFF does not stop the frames in the transmit ring, up to {}, and the headroom \
             of {} covers {}: echo {TWO_FRAMES} > /sys/class/net/{interface}/\
             queues/tx-N/byte_queue_limits/limit_max for each of its queues, or --ring {at_most} at the \
             peer",
            count(at_most, glyphs),
            if status.peer.reaction_us > 0 { "the peer" } else { "a peer with the same settings" },
            status.covered_ring(),
        )
    })
}

/// Settings, levels and counters.
pub fn status(status: &FlowStatus, all: bool, glyphs: &Glyphs) -> String {
    let mut text = settings(status, glyphs);
    let by = &status.held;
    let peer = status.peer.address.map_or("the peer".to_owned(), |peer| format!("the peer {peer}"));
    let transmit = [(by.transmit_by_hand, "by hand"), (by.transmit_by_peer, &peer)];
    let receive = [
        (by.receive_by_hand, "by hand"),
        (by.receive_by_sockets, "sockets"),
        (by.receive_by_forwarded, "what a bridge forwards"),
    ];
    let _ = writeln!(
        text,
        "  paused here: {}   paused at the peer: {}",
        held(status.paused, &transmit),
        held(status.requested, &receive),
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
    ruled(status.ruled, glyphs, &mut text);
    kept(status.kept, glyphs, &mut text);
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

/// Levels, as ranges.
fn levels_of(set: LevelSet) -> String {
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    for level in set.levels() {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == level => *last = level,
            _ => ranges.push((level, level)),
        }
    }
    let range = |(first, last): &(u8, u8)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    match &ranges[..] {
        [] => "none".to_owned(),
        some => format!("level {}", some.iter().map(range).collect::<Vec<_>>().join(", ")),
    }
}

/// Paused levels, and who pauses them: with the levels of each, if these are not all.
fn held(all: LevelSet, holders: &[(LevelSet, &str)]) -> String {
    let who = |(set, who): &(LevelSet, &str)| {
        if *set == all { (*who).to_owned() } else { format!("{who}: {}", levels_of(*set)) }
    };
    let some = holders.iter().filter(|(set, _)| set.0 != 0).map(who).collect::<Vec<_>>();
    match &some[..] {
        [] => levels_of(all),
        some => format!("{} ({})", levels_of(all), some.join(", ")),
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
        let _ = writeln!(text, "  {}", peer(&status.peer, status.settings.link));
        if let Some(pause) = mac_pause(status) {
            let _ = writeln!(text, "  {pause}");
        }
    }
    for (number, what) in [
        (link.malformed, "were malformed"),
        (link.stale, "were older than one before"),
        (link.limited, "exceeded the rate limit"),
        (link.ignored, "were ignored: the peer had paused for too long"),
    ] {
        if number > 0 {
            let _ = writeln!(text, "  not obeyed: {} {what}", count(number, glyphs));
        }
    }
    if link.foreign > 0 {
        let _ = writeln!(
            text,
            "  warning: {} level frames of other senders (guests, containers, programs) were \
             dropped here",
            count(link.foreign, glyphs)
        );
    }
    if link.no_memory > 0 {
        let _ = writeln!(
            text,
            "  warning: {} level frames were not sent for lack of memory",
            count(link.no_memory, glyphs)
        );
    }
}

/// PAUSE of the NIC itself, the last resort where its receive ring overflows, if the driver has it.
pub fn mac_pause(status: &FlowStatus) -> Option<String> {
    let MacPause { sends, obeys } = status.mac_pause?;
    let on = |yes| if yes { "on" } else { "off" };
    let consumes = obeys && status.settings.link == LinkMode::Pause;
    Some(format!(
        "802.3x PAUSE of the NIC: sent {}, obeyed {}{}",
        on(sends),
        on(obeys),
        if consumes {
            " (the NIC may keep the frames that `link pause` needs: ethtool -A)"
        } else {
            ""
        }
    ))
}

/// What is known of the other end of the wire.
pub fn peer(peer: &Peer, link: LinkMode) -> String {
    match (peer.state, link, peer.version) {
        (PeerState::Defies, ..) => {
            "warning: the peer has transmitted levels that pause requests cover: frames bypass its \
             qdisc, or its table gives them other levels (--by, --table at both ends)"
                .to_owned()
        }
        (_, LinkMode::Pfc | LinkMode::Pause, _) => {
            "peer: standard equipment, which does not say whether it obeys".to_owned()
        }
        (PeerState::Unknown, _, 1) => {
            "peer: level frames of version 1, which do not say whether it obeys".to_owned()
        }
        (PeerState::Unknown, ..) => "peer: no level frame received yet".to_owned(),
        (PeerState::Obeys, _, version) => {
            let room = match peer.reaction_us {
                0 => String::new(),
                us => format!(", headroom covers {} and {} frames in rings", Span::from_micros(us.into()), peer.ring),
            };
            format!("peer: obeys, level frames of version {version}{room}")
        }
        (PeerState::ObeysLess, ..) => format!(
            "warning: the peer only pauses the levels below {}, fewer than requested: higher \
             ones are lost here when a receiver is full (--obey at the peer)",
            peer.obeys
        ),
        (PeerState::Ignores, ..) => {
            "warning: the peer's pause-storm watchdog ignores requests: it was paused for too \
             long"
                .to_owned()
        }
        (PeerState::ReceivesNothing, ..) => {
            "warning: the peer sends level frames and receives none: it does not obey. Does its NIC \
             consume ethertype 0x8808 (--link experimental at both ends)?"
                .to_owned()
        }
        (PeerState::Silent, ..) => {
            "warning: no level frames are received from the peer: is flow control enabled there, and \
             is it the other end of this wire (not a switch)?"
                .to_owned()
        }
    }
}

/// The receivers that send pause requests now, with the processes that have them.
pub fn receivers(found: &[(Receiver, String)], glyphs: &Glyphs) -> String {
    let mut text = String::new();
    for (receiver, who) in found.iter().filter(|(receiver, _)| receiver.xoff_ns > 0) {
        let _ = writeln!(text, "{}", receiver_line(receiver, who, glyphs));
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "shown with four digits")]
fn receiver_line(receiver: &Receiver, who: &str, glyphs: &Glyphs) -> String {
    let since = duration(receiver.xoff_ns as f64, glyphs);
    let what = if receiver.abandoned {
        format!(
            "has not read for too long and is no longer served: it loses datagrams (XOFF {since} ago)"
        )
    } else {
        format!("pauses its peers since {since}")
    };
    format!(
        "socket {} of {who}, level {}: {what}; {} of {} bytes are unread, XOFF from {} on",
        receiver.inode,
        receiver.level,
        count(receiver.queued.into(), glyphs),
        count(receiver.buffer.into(), glyphs),
        count(receiver.high.into(), glyphs),
    )
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
            count(forward.pause_requests, glyphs),
            glyphs.times,
        );
    }
    if forward.most > 0 || forward.over_limit > 0 {
        let _ = writeln!(
            text,
            "  forwarded to here: at most {} queued of one port and level, {} over the limit",
            count(forward.most.into(), glyphs),
            count(forward.over_limit, glyphs)
        );
    }
}

/// What `teiji flow protect` has protected.
fn ruled(ruled: RuleCounters, glyphs: &Glyphs, text: &mut String) {
    if ruled.protected > 0 {
        let packets = count(ruled.protected, glyphs);
        let _ = writeln!(text, "  protected by rules: {packets} packets");
    }
    if ruled.over_room > 0 {
        let _ = writeln!(
            text,
            "  warning: rules did not protect {} packets: net.prioflow.send_room is too small for \
             the queued packets",
            count(ruled.over_room, glyphs)
        );
    }
}

/// Protected packets that the qdisc does not have.
fn kept(kept: KeptCounters, glyphs: &Glyphs, text: &mut String) {
    if kept.kept > 0 {
        let packets = count(kept.kept, glyphs);
        let _ = writeln!(text, "  {packets} protected packets wait for the carrier");
    }
    if kept.lost > 0 {
        let _ = writeln!(
            text,
            "  warning: {} protected packets were dropped: the device was set down, its qdisc removed, \
             or the carrier lost under forwarded frames",
            count(kept.lost, glyphs)
        );
    }
}

/// Heads the lines of `teiji flow watch`.
pub const WATCHED: &str = "  time s   paused     at peer   queued   dropped   packets/s by level";

/// Levels in a column.
fn bare(set: LevelSet, glyphs: &Glyphs) -> String {
    levels_of(set).replace("level ", "").replace("none", glyphs.none).replace(' ', "")
}

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
        bare(after.paused, glyphs),
        bare(after.requested, glyphs),
        count(queued, glyphs),
        count(dropped, glyphs),
    )
}

/// Heads the lines of `teiji flow watch --events`.
pub const EVENTS: &str = "  time s       paused     at peer";
/// For events that nobody took in time.
pub const LOST: &str = "  events are missing here: they occurred faster than they were read";

/// The levels as they are at the beginning.
pub fn now(start: Instant<Monotonic>, status: &FlowStatus, glyphs: &Glyphs) -> String {
    levels(start, start, [status.paused, status.requested], glyphs)
}

/// An event of the port.
pub fn event_line(
    start: Instant<Monotonic>,
    event: &FlowEvent,
    link: LinkMode,
    glyphs: &Glyphs,
) -> String {
    let now = levels(start, event.at, [event.paused, event.requested], glyphs);
    match event.what {
        Happening::Levels => now,
        Happening::Storm => {
            format!(
                "{}   pause-storm watchdog: the peer's pause requests are ignored for the time-out",
                now.trim_end()
            )
        }
        Happening::Peer => {
            let state = Peer { state: event.peer, version: 2, ..Peer::default() };
            format!("{}   {}", now.trim_end(), peer(&state, link))
        }
    }
}

/// An event of a receiver of the namespace.
#[expect(clippy::cast_precision_loss, reason = "shown with microseconds")]
pub fn receiver_event(
    start: Instant<Monotonic>,
    event: &ReceiverEvent,
    who: &str,
    glyphs: &Glyphs,
) -> String {
    let at = (event.at - start).as_ns() as f64 / 1e9;
    let what = if event.receiver.abandoned {
        receiver_line(&event.receiver, who, glyphs)
    } else {
        format!("socket {} of {who} reads again, and is served", event.receiver.inode)
    };
    format!("  {at:<10.6}   {what}")
}

/// An event may be dated back: the end of a pause that nobody saw.
#[expect(clippy::cast_precision_loss, reason = "shown with microseconds")]
fn levels(
    start: Instant<Monotonic>,
    at: Instant<Monotonic>,
    [paused, requested]: [LevelSet; 2],
    glyphs: &Glyphs,
) -> String {
    let (paused, requested) = (bare(paused, glyphs), bare(requested, glyphs));
    format!("  {:<10.6}   {paused:<8}   {requested}", (at - start).as_ns() as f64 / 1e9)
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
            table: "0,1,2,3,4,5,6,14".parse().unwrap(),
            paused: LevelSet(0b11),
            requested: LevelSet(0b10_0111),
            held: Holders {
                transmit_by_peer: LevelSet(0b11),
                receive_by_hand: LevelSet(0b111),
                receive_by_sockets: LevelSet(0b10_0000),
                ..Holders::default()
            },
            peer: Peer {
                address: Some(MacAddr([2, 0, 0, 0, 0, 7])),
                state: PeerState::Obeys,
                version: 2,
                obeys: 15,
                ring: 60,
                reaction_us: 2000,
                silent_ns: 0,
            },
            levels,
            forward: ForwardCounters {
                room: 426,
                headroom: 213,
                pause_requests: 2,
                over_limit: 0,
                most: 200,
            },
            ruled: RuleCounters { protected: 210, over_room: 3 },
            kept: KeptCounters { kept: 4, lost: 6 },
            link: LinkCounters {
                frames_sent: 3,
                frames_received: 2,
                stale: 1,
                ..Default::default()
            },
            transmit_ring: TransmitRing { frames: Some(256), byte_limit: Some(3_028) },
            mac_pause: Some(MacPause { sends: true, obeys: false }),
        }
    }

    #[test]
    fn more_frames_in_the_ring_than_the_peers_headroom_covers_are_a_warning() {
        let mut status = some();
        status.transmit_ring.byte_limit = Some(1_879_048_192);
        let text = settings(&status, &Glyphs::ASCII);
        let (_, warning) = text.split_once('\n').unwrap();
        assert_eq!(
            warning,
            "  warning: XOFF does not stop the frames in the transmit ring, up to 256, and the headroom \
             of the peer covers 60: echo 3028 > /sys/class/net/enp3s0/queues/\
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
             for 10 s - headroom covers 1 ms and 64 frames in rings
  paused here: level 0-1 (the peer 02:00:00:00:00:07)   paused at the peer: level 0-2, 5 (by hand: level 0-2, sockets: level 5)
  level   queued   sent        dropped   paused        longest wait
  15      0        1 204       0         -             12 us
  1       148      1 203 441   0         37x 12.1 ms   1.9 ms
  level frames: 3 sent, 2 received
  peer: obeys, level frames of version 2, headroom covers 2 ms and 60 frames in rings
  802.3x PAUSE of the NIC: sent on, obeyed off
  not obeyed: 1 were older than one before
  forwarded from here: room for 426 frames per level, 213 of them headroom; XOFF sent 2x
  forwarded to here: at most 200 queued of one port and level, 0 over the limit
  protected by rules: 210 packets
  warning: rules did not protect 3 packets: net.prioflow.send_room is too small for the queued packets
  4 protected packets wait for the carrier
  warning: 6 protected packets were dropped: the device was set down, its qdisc removed, or the carrier lost under forwarded frames
"
        );
        let all = status(&some(), true, &Glyphs::ASCII);
        assert!(all.contains("\n  7       0        0"), "{all}");
        assert!(all.ends_with("level of each dscp: 0 1 2 3 4 5 6 14\n"), "{all}");
    }

    #[test]
    fn a_limit_in_bytes_and_another_table_are_shown() {
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
            "  1.5      0-1        0-2,5     148      3         15: 100"
        );
    }

    #[test]
    fn an_event_has_the_kernels_time() {
        let start = Instant::<Monotonic>::from_ns(1_000_000_000);
        let at = start + Span::from_micros(12_500_001);
        let event = FlowEvent {
            what: Happening::Levels,
            index: 3,
            paused: LevelSet(0),
            requested: LevelSet(1 << 12),
            peer: PeerState::Silent,
            at,
        };
        let line =
            |event: &FlowEvent| event_line(start, event, LinkMode::MacControl, &Glyphs::ASCII);
        assert_eq!(line(&event), "  12.500001    -          12");
        let storm = FlowEvent { what: Happening::Storm, ..event };
        assert!(line(&storm).starts_with("  12.500001    -          12   pause-storm"));
        let silent = FlowEvent { what: Happening::Peer, ..event };
        assert!(
            line(&silent).contains("warning: no level frames are received"),
            "{}",
            line(&silent)
        );
        assert_eq!(EVENTS.find("at peer"), line(&event).rfind("12"));
    }
}
