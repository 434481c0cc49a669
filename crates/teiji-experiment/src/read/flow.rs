//! Flows.

use teiji_core::quantity::format_span;
use teiji_core::time::Span;
use teiji_core::wire::{Probe, TEIJI_UDP_PORT, VlanTag};

use super::networks::Networks;
use super::slip::is_slip;
use super::system;
use crate::draft::FlowDraft;
use crate::fields::{Fields, Found, Named};
use crate::log::Log;
use crate::mistake::Severity;
use crate::scenario::{Rests, SendMode, Transport};
use crate::schema;
use crate::suggest::{did_you_mean, list};

/// The wire format has 16 bits for a flow; far fewer make sense in a report.
const MAX_FLOWS: usize = 1_000;

const MARGIN: &str = "\"400us\"";

pub(super) fn flows(file: &Fields<'_>, networks: &Networks<'_>, log: &Log) -> Vec<FlowDraft> {
    let tables = file.tables("flows", "a flow");
    let none = !file.has("flows") || (tables.is_empty() && !log.is_fatal());
    if none && !file.has("round-trips") {
        log.mistake(
            file.place("flows"),
            "there is no flow, so nothing would be sent",
            "Write at least one table [flows.NAME] with from, to, period and frames, or \
             [round-trips.NAME] with from, to and count.",
        );
    }
    if let Some(excess) = tables.get(MAX_FLOWS) {
        log.mistake(excess.at, format!("there are more than {MAX_FLOWS} flows"), "");
    }
    let flows = tables.iter().take(MAX_FLOWS).zip(TEIJI_UDP_PORT..);
    let flows = flows.filter(|(flow, _)| !is_slip(flow, &tables, ("flow", "flows"), log));
    flows.map(|(flow, port)| read_flow(flow, port, networks, log)).collect()
}

/// `port` is the flow's own, unless it names another.
fn read_flow(flow: &Named<'_>, port: u16, networks: &Networks<'_>, log: &Log) -> FlowDraft {
    let label = format!("[flows.{}]", flow.name);
    let fields = Fields::new(flow.table, flow.at, &schema::FLOW, label, log);
    let from = read_host("from", &fields, networks, log);
    let to = read_host("to", &fields, networks, log);
    let (wire, beyond) = read_way(&fields, from.as_deref(), to.as_deref(), networks, log);
    let transport = read_transport(&fields, port, log);
    let realtime =
        "SCHED_FIFO has the priorities 1 to 99; leave the key out for ordinary scheduling.";
    let small = |found: Found<i64>| found.and_then(|n| u8::try_from(n).ok());
    FlowDraft {
        name: flow.name.to_owned(),
        wire,
        beyond,
        from,
        to,
        period: read_period(&fields, log),
        offset: read_offset(&fields, log),
        frames: fields.required(
            "frames",
            "60_000",
            fields
                .number("frames", 1, i64::MAX, "A flow sends at least one frame.")
                .and_then(|n| u64::try_from(n).ok()),
        ),
        payload: read_payload(&fields, transport, (Probe::LEN, "the test header"), log),
        transport,
        mode: read_mode(&fields, log),
        priority: small(fields.number("priority", 0, 15, "The kernel's maps have 16 priorities."))
            .or_default(0),
        dscp: read_dscp(&fields, transport, log),
        realtime: small(fields.number("realtime", 1, 99, realtime)),
        listener_realtime: small(fields.number("listener-realtime", 1, 99, realtime)),
        listener_busy_poll: read_busy_poll("listener-busy-poll", &fields, log),
        listener_pause: read_pause(&fields, log),
        listener_rests: read_rests(&fields, log),
        listener_buffer: fields
            .number("listener-buffer", 2_048, 1 << 30, "The kernel knows no smaller one.")
            .and_then(|n| u32::try_from(n).ok()),
        listener_trace: fields.flag("listener-trace").or_default(false),
        flow_control: small(fields.number(
            "flow-control",
            0,
            14,
            "Level 15 is never paused; leave the key out for a flow that takes no part.",
        )),
        cpu: fields
            .number("cpu", 0, i64::from(u16::MAX), "CPUs count from 0.")
            .and_then(|n| u16::try_from(n).ok()),
        tx_stamps: fields.flag("tx-stamps").or_default(false),
        background: fields.flag("background").or_default(false),
    }
}

/// How long a receiving thread polls the card before it waits.
pub(super) fn read_busy_poll(key: &str, fields: &Fields<'_>, log: &Log) -> Found<Span> {
    system::micros(fields, key, "\"50us\"", Span::from_micros(1), Span::from_secs(1), log)
}

/// A host by name; unknown names are reported, but only if all wires could be
/// read, because wires bring hosts into being.
pub(super) fn read_host(
    key: &str,
    fields: &Fields<'_>,
    networks: &Networks<'_>,
    log: &Log,
) -> Option<String> {
    let example = if key == "from" { "\"talker\"" } else { "\"listener\"" };
    let name = fields.required(key, example, fields.text(key, example))?;
    let hosts = networks.ends();
    if networks.is_bridge(name) {
        log.mistake(
            fields.place(key),
            format!("`{name}` is a bridge, on which nobody sends or receives"),
            format!("It passes on what others send. The hosts are {}.", list(&hosts)),
        );
        return None;
    }
    if !hosts.contains(&name) {
        if networks.is_complete() {
            let guess = did_you_mean(name, hosts.iter().copied());
            log.mistake(
                fields.place(key),
                format!("there is no host `{name}`{guess}"),
                format!("The wires name {}.", list(&hosts)),
            );
        }
        return None;
    }
    Some(name.to_owned())
}

/// The wire that the host `from` sends by, and those behind it, over bridges.
pub(super) fn read_way(
    fields: &Fields<'_>,
    from: Option<&str>,
    to: Option<&str>,
    networks: &Networks<'_>,
    log: &Log,
) -> (Option<String>, Vec<String>) {
    let way = find_way(fields, from, to, networks, log).unwrap_or_default();
    let mut wires = way.into_iter();
    (wires.next(), wires.collect())
}

fn find_way(
    fields: &Fields<'_>,
    from: Option<&str>,
    to: Option<&str>,
    networks: &Networks<'_>,
    log: &Log,
) -> Option<Vec<String>> {
    let wires = networks.wires();
    let named = fields.text("wire", "\"line\"").settle().ok()?;
    if let Some(name) = named.filter(|name| !wires.iter().any(|w| w.name == *name)) {
        let known: Vec<&str> = wires.iter().map(|w| w.name.as_str()).collect();
        let guess = did_you_mean(name, known.iter().copied());
        let help = format!("There is {}.", list(&known));
        log.mistake(fields.place("wire"), format!("there is no wire `{name}`{guess}"), help);
        return None;
    }
    let (from, target) = (from?, to?);
    if from == target {
        log.mistake(
            fields.place("to"),
            format!("the flow goes from `{from}` to itself"),
            "Name the host at the other end of the wire.",
        );
        return None;
    }
    let mut ways = networks.ways(from, target);
    let first: Vec<&str> = ways.iter().map(|way| way[0].as_str()).collect();
    let chosen = match named {
        Some(name) => first.iter().position(|first| *first == name),
        None => (first.len() == 1).then_some(0),
    };
    match (named, first.as_slice()) {
        _ if chosen.is_some() => Some(ways.swap_remove(chosen?)),
        (_, []) => {
            if networks.is_complete() {
                log.mistake(
                    fields.place("to"),
                    format!("no wire joins `{from}` and `{target}`"),
                    "Frames go to a neighbour, or over bridges; add a wire between the two, or make \
                     the host between them a bridge: hosts.NAME.bridge = true",
                );
            }
            None
        }
        (Some(name), all) => {
            log.mistake(
                fields.place("wire"),
                format!("the wire `{name}` does not lead from `{from}` to `{target}`"),
                format!("{} does.", list(all)),
            );
            None
        }
        (None, all) => {
            log.mistake(
                fields.at(),
                format!("`{from}` and `{target}` are joined by more than one wire: {}", list(all)),
                format!("Say which one it takes: wire = \"{}\"", all[0]),
            );
            None
        }
    }
}

/// Only IP has one.
pub(super) fn read_dscp(
    fields: &Fields<'_>,
    transport: Option<Transport>,
    log: &Log,
) -> Option<u8> {
    let found = fields.number("dscp", 0, 63, "A code point has 6 bits.");
    if let Some(Transport::Ethernet { .. }) = transport {
        if fields.has("dscp") {
            let why = "`dscp` has no effect: raw Ethernet frames have none";
            let help = "Write transport = \"udp4\", or a vlan with a `pcp`.";
            log.unused(fields.place("dscp"), Severity::Mistake, why.to_owned(), help);
        }
    } else {
        log.used(fields.place("dscp"));
    }
    found.and_then(|n| u8::try_from(n).ok()).or_default(0)
}

fn read_period(fields: &Fields<'_>, log: &Log) -> Option<Span> {
    let period = fields.required("period", "\"1ms\"", fields.span("period", "\"1ms\""))?;
    if period <= Span::ZERO {
        log.mistake(
            fields.place("period"),
            format!("the period is {}; it must be longer than nothing", format_span(period)),
            "Write the distance between two departures, for example period = \"1ms\"",
        );
        return None;
    }
    Some(period)
}

fn read_pause(fields: &Fields<'_>, log: &Log) -> Found<Span> {
    fields.span("listener-pause", "\"5ms\"").and_then(|pause| {
        let good = pause > Span::ZERO;
        if !good {
            log.mistake(
                fields.place("listener-pause"),
                format!("the listener's pause is {}", format_span(pause)),
                "Write a time above zero, or leave it out for a listener that does not rest.",
            );
        }
        good.then_some(pause)
    })
}

fn read_rests(fields: &Fields<'_>, log: &Log) -> Option<Rests> {
    let random = fields.flag("listener-pause-random").or_default(false)?;
    if random && !fields.has("listener-pause") {
        log.mistake(
            fields.place("listener-pause-random"),
            "a listener that does not rest cannot rest at random",
            "Write how long it rests on average, for example listener-pause = \"5ms\".",
        );
        return None;
    }
    Some(if random { Rests::Random } else { Rests::Equal })
}

fn read_offset(fields: &Fields<'_>, log: &Log) -> Option<Span> {
    let offset = fields.span("offset", "\"100us\"").or_default(Span::ZERO)?;
    if offset.is_negative() {
        log.mistake(
            fields.place("offset"),
            format!("the offset is {}; a flow cannot begin before the others", format_span(offset)),
            "Give the other flows an offset instead.",
        );
        return None;
    }
    Some(offset)
}

fn read_transport(fields: &Fields<'_>, own_port: u16, log: &Log) -> Option<Transport> {
    #[derive(Clone, Copy)]
    enum Kind {
        Udp4,
        Udp6,
        Ethernet,
    }
    let known = [("udp4", Kind::Udp4), ("udp6", Kind::Udp6), ("ethernet", Kind::Ethernet)];
    let kind = fields.choice("transport", &known).or_default(Kind::Udp4);
    let port = fields
        .number("port", 1, i64::from(u16::MAX), "UDP ports have 16 bits.")
        .and_then(|n| u16::try_from(n).ok())
        .or_default(own_port);
    let vlan = read_vlan(fields, log);
    match kind? {
        Kind::Ethernet => {
            if fields.has("port") {
                let why = "`port` has no effect: raw Ethernet frames have no ports";
                let help = "Leave it out, or write transport = \"udp4\".";
                log.unused(fields.place("port"), Severity::Warning, why.to_owned(), help);
            }
            log.used(fields.place("vlan"));
            Some(Transport::Ethernet { vlan: vlan.settle().ok()? })
        }
        udp => {
            if let Found::Value(_) = vlan {
                let why = "`vlan` has no effect on UDP: the frames would leave untagged";
                let help = "Write transport = \"ethernet\" for tagged frames, or leave `vlan` out.";
                log.unused(fields.place("vlan"), Severity::Mistake, why.to_owned(), help);
            }
            log.used(fields.place("port"));
            let port = port?;
            Some(match udp {
                Kind::Udp6 => Transport::Udp6 { port },
                _ => Transport::Udp4 { port },
            })
        }
    }
}

fn read_vlan(fields: &Fields<'_>, log: &Log) -> Found<VlanTag> {
    fields.table("vlan", "{ pcp = 5, id = 10 }").and_then(|table| {
        let tag = Fields::new(table, fields.place("vlan"), &schema::VLAN, "the VLAN tag", log);
        let pcp = tag.number("pcp", 0, 7, "A tag has 3 bits for it.").or_default(0);
        let id = tag
            .number("id", 0, 4094, "A tag has 12 bits for it, and 4095 is reserved.")
            .or_default(0);
        Some(VlanTag { pcp: u8::try_from(pcp?).ok()?, id: u16::try_from(id?).ok()? })
    })
}

/// `least` is what the headers `what` take.
pub(super) fn read_payload(
    fields: &Fields<'_>,
    transport: Option<Transport>,
    (least, what): (usize, &str),
    log: &Log,
) -> Option<u16> {
    let payload = fields.number("payload", 0, i64::MAX, "").or_default(64)?;
    let least = i64::try_from(least).unwrap_or(i64::MAX);
    if payload < least {
        log.mistake(
            fields.place("payload"),
            format!("payload = {payload} is too small for {what} of {least} bytes"),
            format!("Use {least} or more; a short frame is padded to 64 bytes on the wire anyway."),
        );
        return None;
    }
    // A wrong transport was reported; the widest limit avoids a second finding.
    let (most, name) = match transport {
        Some(Transport::Udp4 { .. }) => (1472, "a UDP datagram over IPv4"),
        Some(Transport::Udp6 { .. }) => (1452, "a UDP datagram over IPv6"),
        Some(Transport::Ethernet { .. }) | None => (1500, "an Ethernet frame"),
    };
    if payload > most {
        log.mistake(
            fields.place("payload"),
            format!("payload = {payload} does not fit into {name} (MTU 1500)"),
            format!("Use {most} or less."),
        );
        return None;
    }
    u16::try_from(payload).ok()
}

fn read_mode(fields: &Fields<'_>, log: &Log) -> Option<SendMode> {
    /// A `SendMode` without its settings.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Mode {
        OnWakeUp,
        BackToBack,
        LaunchTime,
    }
    let known = [
        ("on-wake-up", Mode::OnWakeUp),
        ("back-to-back", Mode::BackToBack),
        ("launch-time", Mode::LaunchTime),
    ];
    let mode = fields.choice("mode", &known).or_default(Mode::OnWakeUp);
    let margin = fields.span("margin", MARGIN);
    let deadline = fields.flag("deadline").or_default(false);
    let mode = mode?;
    if mode != Mode::LaunchTime {
        for key in ["margin", "deadline"].into_iter().filter(|key| fields.has(key)) {
            log.unused(
                fields.place(key),
                Severity::Warning,
                format!("`{key}` has no effect: the flow is sent without launch times"),
                "Write mode = \"launch-time\", or leave it out.",
            );
        }
        let back_to_back = mode == Mode::BackToBack;
        return Some(if back_to_back { SendMode::BackToBack } else { SendMode::OnWakeUp });
    }
    log.used(fields.place("margin"));
    log.used(fields.place("deadline"));
    let margin = match margin {
        Found::Value(margin) => margin,
        Found::Wrong => return None,
        Found::Absent => {
            log.mistake(
                fields.place("mode"),
                "mode = \"launch-time\" needs a margin",
                format!(
                    "Write how long before its departure the thread wakes to hand the frame over: \
                     margin = {MARGIN}"
                ),
            );
            return None;
        }
    };
    if margin <= Span::ZERO {
        log.mistake(
            fields.place("margin"),
            format!(
                "the margin is {}; the thread would wake when the frame should be gone",
                format_span(margin)
            ),
            format!("Write how long before its departure the thread wakes: margin = {MARGIN}"),
        );
        return None;
    }
    Some(SendMode::LaunchTime { margin, deadline: deadline? })
}
