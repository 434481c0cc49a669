//! What `teiji flow` says of a port to people.

use std::fmt::Write;

use teiji_core::time::Span;
use teiji_core::wire::ethernet;
use teiji_experiment::scenario::LinkMode;
use teiji_net::flow::{
    FlowStatus, ForwardCounters, KeptCounters, LevelCounters, LevelSet, MacPause, Peer, PeerState,
    RuleCounters,
};
use teiji_net::flow_events::Receiver;
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
pub(super) fn levels_of(set: LevelSet) -> String {
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
pub(super) fn receiver_line(receiver: &Receiver, who: &str, glyphs: &Glyphs) -> String {
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use teiji_core::wire::MacAddr;
    use teiji_experiment::scenario::Prioflow;
    use teiji_net::flow::{Holders, LEVELS, LinkCounters};
    use teiji_net::transmit_ring::TransmitRing;

    pub fn some() -> FlowStatus {
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
}
