//! Clocks: what the kernel's time is made of, who steers it, and where the PHC is.

use teiji_core::time::Span;
use teiji_net::nic::{Nic, PhcOffset};

use super::launch::{LaunchTimes, launch_times_of};
use crate::facts::{Daemon, Facts};
use crate::finding::{Finding, Fix, LAUNCH, TIMING, Weight, finding};

/// Clocks that differ by less do not matter to a sender.
const CLOSE: Span = Span::from_micros(1);
/// Launch times that are this wrong are not honoured at all.
const FAR: Span = Span::from_millis(1);
/// Reading one of these takes about a microsecond, in each step of a sender.
const SLOW_CLOCKS: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];

fn size(span: Span) -> Span {
    Span::from_ns(span.as_ns().saturating_abs())
}

/// As many digits as mean something: a clock is read with an error, and somebody reads the sentence.
fn rounded(span: Span) -> Span {
    let step = match size(span).as_ns() {
        0..1_000_000 => 1,
        1_000_000..1_000_000_000 => 1_000,
        _ => 1_000_000,
    };
    let ns = span.as_ns();
    Span::from_ns((ns + ns.signum() * (step / 2)) / step * step)
}

fn named<'a>(facts: &'a Facts, name: &'a str) -> impl Iterator<Item = &'a Daemon> {
    facts.daemons.iter().filter(move |daemon| daemon.name == name)
}

/// A `phc2sys` that gives the system's time to the PHC of this interface.
fn steers_phc(daemon: &Daemon, nic: &Nic) -> bool {
    let is_nic = |name: &str| {
        let phc = nic.stamps.and_then(|stamps| stamps.phc);
        name == nic.name || phc.is_some_and(|index| name == format!("/dev/ptp{index}"))
    };
    daemon.value('s') == Some("CLOCK_REALTIME") && daemon.value('c').is_some_and(is_nic)
}

/// A `phc2sys` that steers the system's clock. These servos give its time to an NTP program, as timemaster
/// has it.
fn steers_system(daemon: &Daemon) -> bool {
    let servo = daemon.value('E').or_else(|| daemon.long_value("clock_servo"));
    if matches!(servo, Some("ntpshm" | "refclock_sock")) {
        return false;
    }
    let sink = daemon.value('c').unwrap_or("CLOCK_REALTIME") == "CLOCK_REALTIME";
    if daemon.has('a') {
        daemon.has('r')
    } else {
        sink && daemon.value('s').is_some_and(|source| source != "CLOCK_REALTIME")
    }
}

pub(super) fn machine(facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(slow) =
        facts.machine.clocksource.as_deref().filter(|name| SLOW_CLOCKS.contains(name))
    {
        found.push(finding(
            "clocksource",
            TIMING,
            Weight::Costs,
            format!(
                "the kernel reads its time from `{slow}`: each reading takes about a microsecond"
            ),
            Fix::advice(
                "see in the kernel's log why it gave up the processor's counter (`dmesg | grep -i \
                 clocksource`); on x86 `tsc=reliable` on its command line keeps it",
            ),
        ));
    }
    let ntp: Vec<&Daemon> = facts.daemons.iter().filter(|daemon| daemon.is_ntp()).collect();
    let phc2sys: Vec<&Daemon> = named(facts, "phc2sys").collect();
    if let (Some(ntp), true) = (ntp.first(), phc2sys.iter().any(|daemon| steers_system(daemon))) {
        found.push(finding(
            "two-steer-system-clock",
            LAUNCH,
            Weight::Blocks,
            format!(
                "{} and phc2sys both steer CLOCK_REALTIME: it jumps between their times",
                ntp.name
            ),
            Fix::stop(ntp),
        ));
    }
    for daemon in phc2sys.iter().filter(|daemon| steers_system(daemon)) {
        let offset = daemon.has('w') || daemon.has('a') || daemon.value('O').is_some();
        if !offset {
            found.push(finding(
                "phc2sys-without-tai-offset",
                LAUNCH,
                Weight::Costs,
                "phc2sys gives PTP's time to CLOCK_REALTIME as it is (neither -w nor -O): if that is \
                 TAI, as PTP's is, the system's time is 37 s ahead",
                Fix::advice("start phc2sys with -w, which takes the offset from ptp4l"),
            ));
        }
    }
    if phc2sys.iter().any(|daemon| daemon.has('a') && !daemon.has('r')) {
        found.push(finding(
            "phc2sys-without-system-clock",
            LAUNCH,
            Weight::Costs,
            "phc2sys -a without -r synchronises the PHCs and leaves CLOCK_REALTIME alone, which launch \
             times come from",
            Fix::advice("start phc2sys with -a -r"),
        ));
    }
    let phc = |nic: &Nic| nic.stamps.is_some_and(|stamps| stamps.phc.is_some());
    if facts.machine.tai_offset == Span::ZERO && facts.nics.iter().any(phc) {
        found.push(finding(
            "tai-offset",
            LAUNCH,
            Weight::Note,
            "CLOCK_TAI is equal to UTC, because the kernel's TAI offset is not set: PTP's time, \
             and a PHC that has it, are 37 s ahead",
            Fix::advice("phc2sys -w sets it from ptp4l; chrony does with `leapsectz right/UTC`"),
        ));
    }
    match facts.ptp4l {
        Some(ptp4l) if !ptp4l.has_time => found.push(finding(
            "ptp4l-not-locked",
            LAUNCH,
            Weight::Costs,
            "ptp4l has not locked on to a master: its port is neither SLAVE nor the grandmaster's",
            Fix::advice(
                "see ptp4l's log; a peer with the same transport (-2 or -4), domain and profile is \
                 needed, and the switches between must let PTP through",
            ),
        )),
        Some(ptp4l) if size(ptp4l.offset) > CLOSE => found.push(finding(
            "ptp4l-offset",
            LAUNCH,
            Weight::Costs,
            format!("ptp4l is {} from its master", rounded(ptp4l.offset)),
            Fix::advice("wait until its servo has settled; if it does not, stamps are in software"),
        )),
        _ => {}
    }
    found
}

pub(super) fn nic(facts: &Facts, nic: &Nic) -> Vec<Finding> {
    let mut found = Vec::new();
    let backwards = named(facts, "phc2sys").any(|daemon| steers_phc(daemon, nic));
    if backwards {
        let ptp4l = named(facts, "ptp4l").next().is_some();
        let (weight, effect) = if ptp4l {
            (Weight::Blocks, "ptp4l steers the same clock: it jumps between two times")
        } else {
            (Weight::Costs, "launch times follow this machine's clock, not a PTP master")
        };
        found.push(finding(
            "phc2sys-direction",
            LAUNCH,
            weight,
            format!("phc2sys runs from CLOCK_REALTIME to the PHC of {}: {effect}", nic.name),
            Fix::advice(format!(
                "unless this machine is the grandmaster, start it the other way round: phc2sys -s {} -c \
                 CLOCK_REALTIME -w",
                nic.name
            )),
        ));
    }
    found.extend(nic.phc.and_then(|offset| phc_offset(facts, nic, offset)));
    let ptp4l = named(facts, "ptp4l").any(|daemon| daemon.arguments.contains(&nic.name));
    if let Some(master) = nic.port_of.as_ref().filter(|_| ptp4l) {
        found.push(finding(
            "ptp-on-bridge-port",
            LAUNCH,
            Weight::Note,
            format!(
                "ptp4l runs on {}, a port of {master}, which forwards PTP frames between its ports: those of \
                 virtual machines reach the wire, and the wire's reach them",
                nic.name
            ),
            Fix::advice(format!(
                "give {master} another NIC, or let bridges forward no PTP: nft 'add table bridge ptp; add chain \
                 bridge ptp forward {{ type filter hook forward priority 0; }}; add rule bridge ptp forward \
                 ether type 0x88f7 drop; add rule bridge ptp forward udp dport {{ 319, 320 }} drop'"
            )),
        ));
    }
    found
}

/// Launch times are in `CLOCK_TAI`, a NIC sends by its PHC: they have to agree.
fn phc_offset(facts: &Facts, nic: &Nic, PhcOffset { ahead, within }: PhcOffset) -> Option<Finding> {
    let least = size(ahead) - within;
    if least <= CLOSE {
        return None;
    }
    let offloads = launch_times_of(nic).is_in_hardware()
        || nic
            .qdiscs
            .iter()
            .any(|qdisc| qdisc.settings.kind() == "etf" && qdisc.settings.offloaded());
    let weight = if least > FAR && offloads { Weight::Blocks } else { Weight::Costs };
    let side = if ahead.is_negative() { "behind" } else { "ahead of" };
    let seconds = (size(ahead).as_ns() + 500_000_000) / 1_000_000_000;
    let leap = if (35..=39).contains(&seconds) {
        "; that is TAI − UTC: one of them shows UTC"
    } else {
        ""
    };
    let tai_offset_s = facts.machine.tai_offset.as_ns() / 1_000_000_000;
    let fix = match (named(facts, "phc2sys").next(), named(facts, "ptp4l").next()) {
        (Some(_), _) => Fix::advice(
            "phc2sys runs: see its log for its offset, and whether it is about this interface",
        ),
        (None, Some(_)) => Fix::command(format!("phc2sys -s {} -c CLOCK_REALTIME -w", nic.name)),
        (None, None) => {
            Fix::command(format!("phc2sys -s CLOCK_REALTIME -c {} -O {tai_offset_s}", nic.name))
        }
    };
    let seen = format!(
        "the PHC of {} is {} {side} CLOCK_TAI{leap}: a NIC sends by its PHC, so every launch time is \
         wrong by that",
        nic.name,
        rounded(size(ahead))
    );
    match launch_times_of(nic) {
        LaunchTimes::No if !offloads => None,
        _ => Some(finding("phc-offset", LAUNCH, weight, seen, fix)),
    }
}
