//! Reads `[flows.NAME]`: keys that only mean something together.

use teiji_core::wire::{TEIJI_UDP_PORT, VlanTag, ethernet};

use super::slip::is_slip;
use crate::draft::FlowDraft;
use crate::draft::networks::Networks;
use crate::fields::{Fields, Found, Named};
use crate::keys::Key;
use crate::keys::flow::{self, Built, MAX_FLOWS, Mode};
use crate::log::Log;
use crate::mistake::Severity;
use crate::scenario::{PauseLength, SendMode, Transport};
use crate::suggest::{did_you_mean, list};

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
    if let Some(excess) = tables.get(usize::from(MAX_FLOWS)) {
        log.mistake(excess.at, format!("there are more than {MAX_FLOWS} flows"), "");
    }
    let flows = tables.iter().take(MAX_FLOWS.into()).zip(TEIJI_UDP_PORT..);
    let flows = flows.filter(|(flow, _)| !is_slip(flow, &tables, ("flow", "flows"), log));
    flows.map(|(flow, port)| read_flow(flow, port, networks, log)).collect()
}

/// `port` is the flow's own, unless it names another.
fn read_flow(flow: &Named<'_>, port: u16, networks: &Networks<'_>, log: &Log) -> FlowDraft {
    let label = format!("[flows.{}]", flow.name);
    let fields = Fields::new(flow.table, flow.at, &flow::FLOW, label, log);
    let from = read_host(&flow::FROM, &fields, networks, log);
    let to = read_host(&flow::TO, &fields, networks, log);
    let (wire, downstream_wires) =
        read_way(&flow::WIRE, &fields, from.as_deref(), to.as_deref(), networks, log);
    let transport = read_transport(&fields, port, log);
    let draft = FlowDraft::read(&fields);
    dscp_needs_ip(&fields, transport, log);
    FlowDraft {
        name: flow.name.to_owned(),
        wire,
        downstream_wires,
        from,
        to,
        payload: read_payload(&flow::PAYLOAD, &fields, transport, "the test header", log),
        transport,
        mode: read_mode(&fields, log),
        listener_pause_length: read_pause_length(&fields, log),
        ..draft
    }
}

/// A host by name; unknown names are reported, but only if all wires could be
/// read, because wires bring hosts into being.
pub(super) fn read_host(
    key: &Key<String>,
    fields: &Fields<'_>,
    networks: &Networks<'_>,
    log: &Log,
) -> Option<String> {
    let name = fields.settled(key)?;
    let hosts = networks.ends();
    if networks.is_bridge(&name) {
        log.mistake(
            fields.place(key.name),
            format!("`{name}` is a bridge, which neither sends nor receives flows"),
            format!("A bridge forwards frames. The hosts are {}.", list(&hosts)),
        );
        return None;
    }
    if !hosts.contains(&name.as_str()) {
        if networks.is_complete() {
            let guess = did_you_mean(&name, hosts.iter().copied());
            log.mistake(
                fields.place(key.name),
                format!("there is no host `{name}`{guess}"),
                format!("The wires name {}.", list(&hosts)),
            );
        }
        return None;
    }
    Some(name)
}

/// The wire that the host `from` sends by, and those behind it, over bridges.
pub(super) fn read_way(
    key: &Key<String>,
    fields: &Fields<'_>,
    from: Option<&str>,
    to: Option<&str>,
    networks: &Networks<'_>,
    log: &Log,
) -> (Option<String>, Vec<String>) {
    let way = find_way(key, fields, from, to, networks, log).unwrap_or_default();
    let mut wires = way.into_iter();
    (wires.next(), wires.collect())
}

fn find_way(
    key: &Key<String>,
    fields: &Fields<'_>,
    from: Option<&str>,
    to: Option<&str>,
    networks: &Networks<'_>,
    log: &Log,
) -> Option<Vec<String>> {
    let wires = networks.wires();
    let named = fields.take(key).settle().ok()?;
    let named = named.as_deref();
    if let Some(name) = named.filter(|name| !wires.iter().any(|w| w.name == *name)) {
        let known: Vec<&str> = wires.iter().map(|w| w.name.as_str()).collect();
        let guess = did_you_mean(name, known.iter().copied());
        let help = format!("There is {}.", list(&known));
        log.mistake(fields.place(key.name), format!("there is no wire `{name}`{guess}"), help);
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
                fields.place(key.name),
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

/// Only IP has a code point.
pub(super) fn dscp_needs_ip(fields: &Fields<'_>, transport: Option<Transport>, log: &Log) {
    if let Some(Transport::Ethernet { .. }) = transport {
        if fields.has("dscp") {
            let why = "`dscp` has no effect: raw Ethernet frames have none";
            let help = "Write transport = \"udp4\", or a vlan with a `pcp`.";
            log.unused(fields.place("dscp"), Severity::Mistake, why.to_owned(), help);
        }
    } else {
        log.used(fields.place("dscp"));
    }
}

/// A nice value is one of ordinary threads.
fn nice_is_ordinary(fields: &Fields<'_>, log: &Log) {
    if fields.has("listener-nice") && fields.has("listener-realtime") {
        log.mistake(
            fields.place("listener-nice"),
            "`listener-nice` has no effect in real time",
            "Leave `listener-nice` or `listener-realtime` out.",
        );
    }
}

fn read_pause_length(fields: &Fields<'_>, log: &Log) -> Option<PauseLength> {
    nice_is_ordinary(fields, log);
    let random = fields.settled(&flow::PAUSE_RANDOM)?;
    if random && !fields.has("listener-pause") {
        log.mistake(
            fields.place(flow::PAUSE_RANDOM.name),
            "listener-pause-random has no effect without listener-pause",
            "Write the average pause between two reads, for example listener-pause = \"5ms\".",
        );
        return None;
    }
    Some(if random { PauseLength::Random } else { PauseLength::Equal })
}

fn read_transport(fields: &Fields<'_>, own_port: u16, log: &Log) -> Option<Transport> {
    let built = fields.settled(&flow::TRANSPORT);
    let port = fields.take(&flow::PORT).or_default(own_port);
    let vlan = read_vlan(fields);
    match built? {
        Built::Ethernet => {
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
                Built::Udp6 => Transport::Udp6 { port },
                _ => Transport::Udp4 { port },
            })
        }
    }
}

fn read_vlan(fields: &Fields<'_>) -> Found<VlanTag> {
    fields.below(&flow::TAG, "the VLAN tag").and_then(|tag| {
        let (pcp, id) = (tag.settled(&flow::PCP), tag.settled(&flow::ID));
        Some(VlanTag { pcp: pcp?, id: id? })
    })
}

/// The least is what the headers `what` take, the most depends on the transport.
pub(super) fn read_payload(
    key: &Key<u16>,
    fields: &Fields<'_>,
    transport: Option<Transport>,
    what: &str,
    log: &Log,
) -> Option<u16> {
    let payload = match fields.number(key.name, 0, i64::MAX, "") {
        Found::Absent => return fields.settled(key),
        Found::Wrong => return None,
        Found::Value(payload) => payload,
    };
    let least = i64::from(key.limits.least);
    if payload < least {
        log.mistake(
            fields.place(key.name),
            format!("payload = {payload} is too small for {what} of {least} bytes"),
            format!("Use {least} or more; a short frame is padded to 64 bytes on the wire anyway."),
        );
        return None;
    }
    // A wrong transport was reported; the widest limit avoids a second finding.
    let transport = transport.unwrap_or(Transport::Ethernet { vlan: None });
    let most = transport.most_payload();
    let name = match transport {
        Transport::Udp4 { .. } => "a UDP datagram over IPv4",
        Transport::Udp6 { .. } => "a UDP datagram over IPv6",
        Transport::Ethernet { .. } => "an Ethernet frame",
    };
    if payload > i64::from(most) {
        log.mistake(
            fields.place(key.name),
            format!("payload = {payload} does not fit into {name} (MTU {})", ethernet::MOST_DATA),
            format!("Use {most} or less."),
        );
        return None;
    }
    u16::try_from(payload).ok()
}

fn read_mode(fields: &Fields<'_>, log: &Log) -> Option<SendMode> {
    let mode = fields.settled(&flow::MODE);
    let margin = fields.take(&flow::MARGIN);
    let deadline = fields.settled(&flow::DEADLINE);
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
                "Write how long before its departure the thread wakes to hand the frame over: \
                 margin = \"400us\"",
            );
            return None;
        }
    };
    Some(SendMode::LaunchTime { margin, deadline: deadline? })
}
