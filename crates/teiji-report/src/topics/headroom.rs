//! Headroom for in-flight frames after XOFF: one row for each case and flow with flow control,
//! and one for each bridge port with it.

use std::collections::BTreeSet;

use teiji_record::{BridgeHeadroom, CaseSummary, ReceiveHeadroom, Summary};

use crate::block::{Block, Table};
use crate::units::{Glyphs, count};

/// One flow in one case; over several seeds, how often they sent XOFF in all, and their fullest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SocketRow<'a> {
    case: &'a str,
    flow: &'a str,
    /// Its listener's buffer; `pause_requests` and `fullest` are those of all seeds.
    socket: ReceiveHeadroom,
}

/// One port of a bridge in one case; over several seeds, their sums and their most.
#[derive(Clone, Debug, PartialEq)]
struct BridgeRow<'a> {
    case: &'a str,
    port: BridgeHeadroom,
}

/// The tables of sockets and of bridge ports, where there are any.
pub fn blocks(summary: &Summary, glyphs: &Glyphs) -> impl Iterator<Item = Block> {
    [sockets(summary, glyphs), bridge_ports(summary, glyphs)].into_iter().flatten()
}

fn sockets(summary: &Summary, glyphs: &Glyphs) -> Option<Block> {
    let table = Table::of(
        "flow",
        ["buffer", "XOFF at", "headroom", "XOFF sent", "fullest"],
        rows(summary).into_iter().map(|SocketRow { case, flow, socket }| {
            let number = |n: u32| count(n.into(), glyphs);
            let ReceiveHeadroom { buffer, high, headroom, frames, pause_requests, fullest } =
                socket;
            let headroom = format!("{} ({} frames)", number(headroom), number(frames));
            let cells =
                [number(buffer), number(high), headroom, number(pause_requests), number(fullest)];
            (case.to_owned(), flow.to_owned(), cells)
        }),
    );
    let block = Block::table("headroom", "Headroom", "Headroom of receivers", table)?;
    let note = "A receiver sends XOFF when the free part of its socket's buffer is no more than the \
                headroom: what can still arrive from the ring, from the wire until the peer stops \
                (reaction), and as a frame in transmission, each as the kernel charges it. Nothing \
                is lost there as long as ring and reaction are true. Fullest: when the program looked.";
    Some(block.about("bytes that the kernel charges to the socket").notes([note.to_owned()]))
}

fn bridge_ports(summary: &Summary, glyphs: &Glyphs) -> Option<Block> {
    let table = Table::of(
        "bridge port",
        ["room", "headroom", "XOFF sent", "most queued", "over limit"],
        bridge_rows(summary).into_iter().map(|BridgeRow { case, port }| {
            let BridgeHeadroom { room, headroom, pause_requests, most, over_limit, .. } = port;
            let cells = [room.into(), headroom.into(), pause_requests, most.into(), over_limit]
                .map(|n| count(n, glyphs));
            (case.to_owned(), format!("{} of {}", port.wire, port.host), cells)
        }),
    );
    let block = Block::table("bridge-headroom", "Bridges", "Headroom of bridge ports", table)?;
    let note = "Room and headroom: of each queue, for frames received on this port. XOFF sent: to \
                its peer, because of them. Most queued, over limit (best-effort frames, which can be \
                dropped): frames to be transmitted by this port.";
    Some(block.about("frames of one level").notes([note.to_owned()]))
}

/// All bridge ports with flow control, in the order of the cases.
fn bridge_rows(summary: &Summary) -> Vec<BridgeRow<'_>> {
    summary.cases.iter().flat_map(bridge_rows_of).collect()
}

fn bridge_rows_of(case: &CaseSummary) -> Vec<BridgeRow<'_>> {
    let mut rows: Vec<BridgeRow<'_>> = Vec::new();
    for one in case.members.iter().flat_map(|member| &member.bridge_headrooms) {
        let same =
            |row: &&mut BridgeRow<'_>| (&row.port.host, &row.port.wire) == (&one.host, &one.wire);
        match rows.iter_mut().find(same) {
            Some(BridgeRow { port, .. }) => {
                port.pause_requests = port.pause_requests.saturating_add(one.pause_requests);
                port.over_limit = port.over_limit.saturating_add(one.over_limit);
                port.most = port.most.max(one.most);
            }
            None => rows.push(BridgeRow { case: &case.name, port: one.clone() }),
        }
    }
    rows
}

/// All flows with flow control, in the order of the cases.
fn rows(summary: &Summary) -> Vec<SocketRow<'_>> {
    summary.cases.iter().flat_map(rows_of).collect()
}

fn rows_of(case: &CaseSummary) -> Vec<SocketRow<'_>> {
    let flows: BTreeSet<&String> = case.members.iter().flat_map(|m| m.headrooms.keys()).collect();
    let of_flow = |flow: &str| {
        let all = case.members.iter().filter_map(|member| member.headrooms.get(flow).copied());
        all.reduce(|all, one| ReceiveHeadroom {
            pause_requests: all.pause_requests.saturating_add(one.pause_requests),
            fullest: all.fullest.max(one.fullest),
            ..all
        })
    };
    let rows = flows.into_iter().map(|flow| (flow, of_flow(flow)));
    rows.filter_map(|(flow, socket)| Some(SocketRow { case: &case.name, flow, socket: socket? }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_record::MemberSummary;

    #[test]
    fn over_seeds_xoffs_are_added_and_the_largest_fill_level_is_shown() {
        let room = |pause_requests, fullest| ReceiveHeadroom {
            buffer: 212_992,
            high: 42_496,
            headroom: 170_496,
            frames: 74,
            pause_requests,
            fullest,
        };
        let port = |pause_requests, most| BridgeHeadroom {
            host: "x".to_owned(),
            wire: "s".to_owned(),
            room: 426,
            headroom: 213,
            pause_requests,
            most,
            over_limit: 1,
        };
        let member = |pause_requests: u32, fullest| MemberSummary {
            headrooms: [("stream".to_owned(), room(pause_requests, fullest))].into(),
            bridge_headrooms: vec![port(pause_requests.into(), 200 + pause_requests)],
            ..MemberSummary::default()
        };
        let members = vec![member(2, 90_000), member(3, 80_000), MemberSummary::default()];
        let case = CaseSummary::new("controlled", members);
        let rows = rows_of(&case);
        let ports = bridge_rows_of(&case);
        assert_eq!(ports.len(), 1);
        let BridgeHeadroom { pause_requests, most, over_limit, .. } = ports[0].port;
        assert_eq!((pause_requests, most, over_limit), (5, 203, 2));
        assert_eq!((rows[0].flow, rows[0].socket), ("stream", room(5, 90_000)));
    }
}
