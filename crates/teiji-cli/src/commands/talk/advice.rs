//! Why frames of a talker were not transmitted on time, and what to do about it.

use std::io;

use teiji::talker::{LaunchMode, TxStamps};
use teiji_core::errno::{EAGAIN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ENOBUFS, EPERM};
use teiji_net::launch::LaunchTimes;
use teiji_run::punctuality::Counts;

use super::context::{Context, Counted, JudgedBy, uncounted};

/// The kernel's words for an errno.
pub(super) fn errno(number: i32) -> String {
    let text = io::Error::from_raw_os_error(number).to_string();
    text.replace("os error", "errno")
}

/// One sentence per cause: what it is, and the next step.
pub(super) fn of(counts: &Counts, context: &Context) -> Vec<String> {
    let mut all = Vec::new();
    if counts.attempted > 0 && counts.on_time < counts.attempted {
        clock(context, &mut all);
        timing(counts, context, &mut all);
        dropped(counts, context, &mut all);
        for number in counts.refused.keys() {
            all.extend(refused(*number, context));
        }
    }
    let judged_by = JudgedBy::from(context.criteria.stamps);
    if uncounted(counts, judged_by, context.counted.as_ref()) > 0 {
        all.extend(context.counted.as_ref().map(|counted| {
            format!(
                "{} counted only {} transmitted packets: the others wait in a queue or were \
                 dropped, \
                 and without --no-stamps talk says which; is {} there (`ip neighbour`)?",
                context.interface, counted.sent, context.destination
            )
        }));
    }
    all
}

/// A PHC that is not on `CLOCK_TAI`.
fn clock(context: &Context, all: &mut Vec<String>) {
    let Some(offsets) = context.criteria.phc else { return };
    let worst = offsets.iter().map(|offset| offset.ahead).max_by_key(|ahead| ahead.as_ns().abs());
    let Some(worst) =
        worst.filter(|worst| worst.as_ns().abs() > context.criteria.tolerance.as_ns())
    else {
        return;
    };
    if context.criteria.launch.is_none() {
        return;
    }
    let (by, side) = if worst.is_negative() { (-worst, "behind") } else { (worst, "ahead of") };
    all.push(format!(
        "the PHC of {} is {by} {side} CLOCK_TAI, and the NIC takes launch times by its PHC; \
         synchronise the two (ptp4l and phc2sys), and let talk wait for that with --sync-within",
        context.interface
    ));
}

fn timing(counts: &Counts, context: &Context, all: &mut Vec<String>) {
    let known = !all.is_empty();
    let Context { interface, criteria, priority, .. } = context;
    if counts.woke_late > 0 {
        all.push(
            "the talker's thread woke late because others had the CPU; give it real-time priority \
             (--realtime 80) and a CPU with little else to do (--cpu)"
                .to_owned(),
        );
    }
    if counts.late > counts.woke_late && !known {
        all.push(match criteria.launch {
            None => format!(
                "late frames that the talker handed over in time waited behind other traffic, a \
                 shaper or a gate (`tc -s qdisc show dev {interface}`)"
            ),
            Some(_) if criteria.stamps == TxStamps::None => {
                "frames were handed over after their launch time; lengthen --margin".to_owned()
            }
            Some(_) => format!(
                "frames that the qdisc had in time were transmitted late: other traffic was on the \
                 wire, or ETF released them late (`teiji margin {interface}` measures both)"
            ),
        });
    }
    if counts.early > 0 {
        all.push(match criteria.launch_times {
            Some(LaunchTimes::Ignored) => format!(
                "no etf or taprio qdisc of {interface} keeps launch times; set one, or leave \
                 --margin out"
            ),
            _ => format!(
                "the frames did not pass the etf qdisc of {interface}, or the NIC ignores launch \
                 times; priority {priority} must map to its class (`tc qdisc show dev {interface}`)"
            ),
        });
    }
}

fn dropped(counts: &Counts, context: &Context, all: &mut Vec<String>) {
    let Context { interface, destination, criteria, counted, .. } = context;
    let clock_known = !all.is_empty();
    if counts.dropped_missed > 0 {
        all.push(format!(
            "ETF drops a frame whose launch time has passed, or was less than delta away; lengthen \
             --margin (`teiji margin {interface}` measures how much is needed)"
        ));
    }
    if counts.dropped_invalid > 0 {
        let deadline =
            if criteria.launch == Some(LaunchMode::Deadline) { "with" } else { "without" };
        all.push(format!(
            "ETF refuses frames that come after their launch time, and those of another clock or \
             mode: lengthen --margin, and let the qdisc have clockid CLOCK_TAI, {deadline} \
             deadline_mode"
        ));
    }
    if counts.no_timestamp_before_qdisc > 0 {
        all.push(format!(
            "the kernel has not passed those frames to {interface}, most likely because \
             {destination} does not answer ARP or neighbour discovery (`ip neighbour`); is that \
             host up?"
        ));
    }
    if counts.no_timestamp_after_qdisc > 0 {
        all.push(match counted {
            Some(Counted { carrier: false, .. }) => {
                format!("{interface} has no carrier: is its cable plugged in, and the peer up?")
            }
            Some(Counted { qdisc: Some(qdisc), .. })
                if qdisc.kind == "etf" && criteria.launch.is_none() =>
            {
                format!(
                    "etf drops frames without launch time; give them one (--margin), or send in \
                     another class than that of priority {}",
                    context.priority
                )
            }
            Some(Counted { qdisc: Some(qdisc), .. }) => format!(
                "the qdisc {} dropped {} packets (`tc -s qdisc show dev {interface}`)",
                qdisc.kind, qdisc.packets
            ),
            _ => format!(
                "the qdisc of priority {} kept or dropped them and reports neither; one without \
                 settings (noop) drops all (`tc -s qdisc show dev {interface}`)",
                context.priority
            ),
        });
    }
    if counts.no_timestamp_after_driver > 0 && !clock_known {
        let dropped = counted.as_ref().map_or(0, |counted| counted.dropped);
        all.push(if dropped > 0 {
            format!("{interface} dropped {dropped} packets (`ethtool -S {interface}` says why)")
        } else {
            format!(
                "the NIC gave no transmit timestamps for frames that it had: it holds few at a \
                 time, so lengthen --period, or its driver loses them (`ethtool -S {interface}`)"
            )
        });
    }
}

fn refused(number: i32, context: &Context) -> Option<String> {
    let Context { interface, destination, .. } = context;
    Some(match number {
        EAGAIN => format!(
            "the socket's send buffer was full: frames stay in the qdisc or NIC for longer than a \
             period (`tc -s qdisc show dev {interface}`)"
        ),
        ENOBUFS => format!(
            "a queue of {interface} was full or dropped all (`tc -s qdisc show dev {interface}`)"
        ),
        ENETDOWN => format!("{interface} is down: `ip link set {interface} up`"),
        ENETUNREACH | EHOSTUNREACH => {
            format!("there is no way to {destination} (`ip route get`, `ip neighbour`)")
        }
        EPERM => "a firewall drops the frames (`nft list ruleset`)".to_owned(),
        _ => return None,
    })
}
