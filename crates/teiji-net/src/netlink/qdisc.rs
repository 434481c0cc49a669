//! Queueing disciplines by netlink. Layouts from
//! `include/uapi/linux/{rtnetlink,pkt_sched,gen_stats}.h`.

use teiji_experiment::scenario::{Prioflow, Qdisc};

use super::{KernelError, Netlink};
use crate::message::{
    NLM_F_CREATE, NLM_F_REPLACE, Request, attribute, attributes, text, u32_at, u64_at,
};
use crate::qdisc::prioflow::PrioflowChange;
use crate::qdisc::{self, Counters, Handle, ObservedQdisc, PlannedQdisc};

const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;
const TCA_STATS_PKT64: u16 = 8;

/// `struct tcmsg { u8 family, pad1; u16 pad2; s32 ifindex; u32 handle, parent,
/// info; }`
const TCMSG_LEN: usize = 20;
fn tcmsg(index: u32, handle: u32, parent: u32) -> [u8; TCMSG_LEN] {
    let mut bytes = [0; TCMSG_LEN];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&handle.to_ne_bytes());
    bytes[12..16].copy_from_slice(&parent.to_ne_bytes());
    bytes
}

/// Sets a qdisc on the link with this index, in place of what is there.
pub(crate) fn replace(
    netlink: &mut Netlink,
    index: u32,
    qdisc: &PlannedQdisc,
) -> Result<(), KernelError> {
    netlink.change(replace_request(index, qdisc))
}

/// Requests a root qdisc of `kind` without settings: an error other than `ENOENT` comes
/// from a kind that the kernel knows.
pub(crate) fn try_kind(netlink: &mut Netlink, index: u32, kind: &str) -> Result<(), KernelError> {
    let header = tcmsg(index, 0, Handle::ROOT.0);
    let request = Request::new(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &header);
    netlink.change(request.string(TCA_KIND, kind))
}

fn replace_request(index: u32, qdisc: &PlannedQdisc) -> Request {
    let handle = qdisc.handle.map_or(0, |h| h.0);
    let request = Request::new(
        RTM_NEWQDISC,
        NLM_F_CREATE | NLM_F_REPLACE,
        &tcmsg(index, handle, qdisc.parent.0),
    )
    .string(TCA_KIND, qdisc.settings.kind());
    qdisc::encode(&qdisc.settings, request)
}

fn parse_counters(stats: &[u8]) -> Counters {
    let mut counters = Counters::default();
    let mut packets64 = None;
    for (kind, value) in attributes(stats) {
        match kind {
            // struct gnet_stats_basic { u64 bytes; u32 packets; }
            TCA_STATS_BASIC => {
                counters.bytes = u64_at(value, 0).unwrap_or(0);
                counters.packets = u32_at(value, 8).unwrap_or(0).into();
            }
            // struct gnet_stats_queue { u32 qlen, backlog, drops, requeues, overlimits; }
            TCA_STATS_QUEUE => {
                let field = |n: usize| u32_at(value, 4 * n).unwrap_or(0);
                counters.waiting = field(0);
                counters.backlog_bytes = field(1);
                counters.drops = field(2);
                counters.requeues = field(3);
                counters.overlimits = field(4);
            }
            // Only there when 32 bits do not hold the number.
            TCA_STATS_PKT64 => packets64 = u64_at(value, 0),
            _ => {}
        }
    }
    counters.packets = packets64.unwrap_or(counters.packets);
    counters
}

fn parse(payload: &[u8]) -> Option<(u32, ObservedQdisc)> {
    let nlas = payload.get(TCMSG_LEN..)?;
    let name = text(attribute(nlas, TCA_KIND)?);
    let options = attribute(nlas, TCA_OPTIONS).unwrap_or_default();
    let settings = qdisc::decode(&name, options).unwrap_or(Qdisc::Other { name });
    Some((
        u32_at(payload, 4)?,
        ObservedQdisc {
            handle: Handle(u32_at(payload, 8)?),
            parent: Handle(u32_at(payload, 12)?),
            settings,
            counters: attribute(nlas, TCA_STATS2).map(parse_counters).unwrap_or_default(),
        },
    ))
}

/// The qdiscs of the link with this index, roots first.
pub(crate) fn list(netlink: &mut Netlink, index: u32) -> Result<Vec<ObservedQdisc>, KernelError> {
    let all = netlink.dump(&Request::new(RTM_GETQDISC, 0, &tcmsg(0, 0, 0)), parse)?;
    let mut ours: Vec<_> = all.into_iter().filter(|(i, _)| *i == index).map(|(_, q)| q).collect();
    ours.sort_by_key(|q| (q.parent != Handle::ROOT, q.parent));
    Ok(ours)
}

/// Sets `prioflow` as the root, or changes the one with this handle.
pub(crate) fn replace_prioflow(
    netlink: &mut Netlink,
    index: u32,
    handle: Handle,
    change: &PrioflowChange,
) -> Result<(), KernelError> {
    let tcmsg = tcmsg(index, handle.0, Handle::ROOT.0);
    let request = Request::new(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &tcmsg)
        .string(TCA_KIND, Prioflow::KIND);
    netlink.change(change.encode(request))
}

/// Takes the root qdisc away.
pub(crate) fn delete_root(netlink: &mut Netlink, index: u32) -> Result<(), KernelError> {
    netlink.change(Request::new(RTM_DELQDISC, 0, &tcmsg(index, 0, Handle::ROOT.0)))
}

/// A `prioflow` qdisc as netlink tells it.
#[derive(Debug)]
pub(crate) struct RawPrioflow {
    /// Of the link.
    pub(crate) index: u32,
    pub(crate) parent: Handle,
    /// `TCA_OPTIONS`
    pub(crate) options: Vec<u8>,
    /// `TCA_STATS_APP`
    pub(crate) counters: Vec<u8>,
}

/// The `prioflow` qdiscs of all links.
pub(crate) fn list_prioflow(netlink: &mut Netlink) -> Result<Vec<RawPrioflow>, KernelError> {
    netlink.dump(&Request::new(RTM_GETQDISC, 0, &tcmsg(0, 0, 0)), |payload| {
        let nlas = payload.get(TCMSG_LEN..)?;
        if text(attribute(nlas, TCA_KIND)?) != Prioflow::KIND {
            return None;
        }
        Some(RawPrioflow {
            index: u32_at(payload, 4)?,
            parent: Handle(u32_at(payload, 12)?),
            options: attribute(nlas, TCA_OPTIONS)?.to_vec(),
            counters: attribute(attribute(nlas, TCA_STATS2)?, TCA_STATS_APP)?.to_vec(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{HEADER_LEN, messages};
    use crate::qdisc::ROOT_HANDLE;
    use teiji_core::time::{ClockId, Span};
    use teiji_experiment::scenario::{
        Cbs, Etf, Gate, Mqprio, Pfifo, Prio, QueueRange, Taprio, TaprioMode,
    };

    const PAPER_MAP: [u8; 16] = [2, 2, 1, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2];

    fn paper_mqprio() -> Qdisc {
        let range = |count, offset| QueueRange { count, offset };
        let queues = vec![range(1, 0), range(1, 1), range(2, 2)];
        Qdisc::Mqprio(Mqprio { map: PAPER_MAP, queues, hw: false })
    }

    fn paper_etf() -> Qdisc {
        Qdisc::Etf(Etf {
            delta: Span::from_micros(150),
            clock: ClockId::Tai,
            offload: true,
            deadline_mode: false,
            skip_sock_check: false,
        })
    }

    fn round_trip(parent: Handle, settings: Qdisc) -> ObservedQdisc {
        let planned = PlannedQdisc { parent, handle: Some(ROOT_HANDLE), settings };
        let bytes = replace_request(7, &planned).finish(1, 0);
        let (index, observed) = parse(messages(&bytes).next().unwrap().payload).unwrap();
        assert_eq!(index, 7);
        observed
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_papers_mqprio_is_encoded_by_the_kernels_header() {
        let planned = PlannedQdisc {
            parent: Handle::ROOT,
            handle: Some(ROOT_HANDLE),
            settings: paper_mqprio(),
        };
        let bytes = replace_request(7, &planned).finish(1, 0);
        let body = &bytes[HEADER_LEN..];
        let header = [0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
        assert_eq!(body[..20], header);
        assert_eq!(body[20..32], *b"\x0b\x00\x01\x00mqprio\0\0");
        assert_eq!(body[32..36], [86, 0, 2, 0], "82 bytes of options");
        assert_eq!(body[36], 3, "num_tc");
        assert_eq!(body[37..53], PAPER_MAP);
        assert_eq!(body[53], 0, "hw");
        assert_eq!(body[54..62], [1, 0, 1, 0, 2, 0, 0, 0], "counts");
        assert_eq!(body[86..94], [0, 0, 1, 0, 2, 0, 0, 0], "offsets");
        assert_eq!(body.len(), 36 + 84);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_papers_etf_is_encoded_by_the_kernels_header() {
        let planned =
            PlannedQdisc { parent: ROOT_HANDLE.class(1), handle: None, settings: paper_etf() };
        let bytes = replace_request(7, &planned).finish(1, 0);
        let body = &bytes[HEADER_LEN..];
        let header = [0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0];
        assert_eq!(body[..20], header);
        assert_eq!(body[20..28], *b"\x08\x00\x01\x00etf\0");
        let options = [20, 0, 2, 0x80, 16, 0, 1, 0, 0xf0, 0x49, 2, 0, 11, 0, 0, 0, 2, 0, 0, 0];
        assert_eq!(body[28..], options);
    }

    #[test]
    fn what_is_encoded_is_decoded_the_same() {
        let prio = Qdisc::Prio(Prio { bands: 4, map: [3; 16] });
        let cbs = Qdisc::Cbs(Cbs {
            idleslope_kbps: 20_000,
            sendslope_kbps: -980_000,
            hicredit_bytes: 31,
            locredit_bytes: -1_508,
            offload: true,
        });
        let pfifo = Qdisc::Pfifo(Pfifo { limit: 77 });
        let taprio = [
            TaprioMode::Offload,
            TaprioMode::Software,
            TaprioMode::TxtimeAssist { txtime_delay: Span::from_micros(200) },
        ]
        .map(|mode| {
            Qdisc::Taprio(Taprio {
                map: PAPER_MAP,
                queues: vec![
                    QueueRange { count: 1, offset: 0 },
                    QueueRange { count: 3, offset: 1 },
                ],
                base_time: Span::from_micros(7),
                cycle: Span::from_millis(1),
                extension: Span::from_ns(10),
                entries: [(1, Span::from_micros(300)), (6, Span::from_micros(700))]
                    .map(Gate::from)
                    .into(),
                mode,
            })
        });
        for settings in [paper_mqprio(), paper_etf(), prio, cbs, pfifo].into_iter().chain(taprio) {
            let observed = round_trip(Handle::ROOT, settings.clone());
            assert_eq!(observed.settings, settings);
            assert_eq!(observed.parent, Handle::ROOT);
        }
    }

    #[test]
    fn an_unknown_kind_is_named_not_refused() {
        let observed = round_trip(Handle::ROOT, Qdisc::Other { name: "cake".into() });
        assert_eq!(observed.settings.kind(), "cake");
        assert_eq!(observed.counters, Counters::default());
    }
}
