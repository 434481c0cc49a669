//! The lines of `teiji flow watch`: what happened between two looks, or each event.

use teiji_core::time::{Instant, Monotonic};
use teiji_experiment::scenario::LinkMode;
use teiji_net::flow::{FlowStatus, LevelSet, Peer};
use teiji_net::flow_events::{FlowEvent, Happening, ReceiverEvent};
use teiji_report::units::{Glyphs, count};

use super::text::{levels_of, peer, receiver_line};

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
    use teiji_core::time::Span;
    use teiji_net::flow::PeerState;

    use super::super::text::tests::some;
    use super::*;

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
