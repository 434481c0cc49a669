//! Room for what still comes after silence was asked for: one row for each case and flow with
//! flow control, and one for each bridge's port with it.

use std::collections::BTreeSet;

use teiji_record::{BridgeRoom, CaseSummary, MemberSummary, ReceiveRoom, Summary};

use crate::units::{Glyphs, count};

/// One flow in one case; over several seeds, how often they asked in all, and their fullest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoomRow<'a> {
    /// The case.
    pub case: &'a str,
    /// The flow.
    pub flow: &'a str,
    /// Its listener's buffer; `asks` and `fullest` are those of all seeds.
    pub room: ReceiveRoom,
}

/// The figures of a row, each with its heading.
pub const HEADINGS: [&str; 5] =
    ["buffer", "asks from", "can still come, at most", "asked", "fullest"];

impl RoomRow<'_> {
    /// As [`HEADINGS`] has them.
    pub fn cells(&self, glyphs: &Glyphs) -> [String; 5] {
        let number = |n: u32| count(n.into(), glyphs);
        let ReceiveRoom { buffer, high, headroom, frames, asks, fullest } = self.room;
        [
            number(buffer),
            number(high),
            format!("{} ({} frames)", number(headroom), number(frames)),
            number(asks),
            number(fullest),
        ]
    }
}

/// One port of a bridge in one case; over several seeds, their sums and their most.
#[derive(Clone, Debug, PartialEq)]
pub struct BridgeRow<'a> {
    /// The case.
    pub case: &'a str,
    /// The port's.
    pub room: BridgeRoom,
}

/// The figures of a bridge's row, each with its heading.
pub const BRIDGE_HEADINGS: [&str; 5] =
    ["room", "for what still comes", "asked", "waited, at most", "without room"];

impl BridgeRow<'_> {
    /// `WIRE of BRIDGE`.
    pub fn port(&self) -> String {
        format!("{} of {}", self.room.wire, self.room.host)
    }

    /// As [`BRIDGE_HEADINGS`] has them.
    pub fn cells(&self, glyphs: &Glyphs) -> [String; 5] {
        let BridgeRoom { room, headroom, asks, most, beyond, .. } = self.room;
        [room.into(), headroom.into(), asks, most.into(), beyond].map(|n| count(n, glyphs))
    }
}

/// Whether there is flow control in any case.
pub fn any(summary: &Summary) -> bool {
    let has = |member: &MemberSummary| !member.rooms.is_empty() || !member.bridge_rooms.is_empty();
    summary.cases.iter().flat_map(|case| &case.members).any(has)
}

/// All bridges' ports with flow control, in the order of the cases.
pub fn bridge_rows(summary: &Summary) -> Vec<BridgeRow<'_>> {
    summary.cases.iter().flat_map(bridge_rows_of).collect()
}

fn bridge_rows_of(case: &CaseSummary) -> Vec<BridgeRow<'_>> {
    let mut rows: Vec<BridgeRow<'_>> = Vec::new();
    for one in case.members.iter().flat_map(|member| &member.bridge_rooms) {
        let same =
            |row: &&mut BridgeRow<'_>| (&row.room.host, &row.room.wire) == (&one.host, &one.wire);
        match rows.iter_mut().find(same) {
            Some(BridgeRow { room, .. }) => {
                room.asks = room.asks.saturating_add(one.asks);
                room.beyond = room.beyond.saturating_add(one.beyond);
                room.most = room.most.max(one.most);
            }
            None => rows.push(BridgeRow { case: &case.name, room: one.clone() }),
        }
    }
    rows
}

/// All flows with flow control, in the order of the cases.
pub fn rows(summary: &Summary) -> Vec<RoomRow<'_>> {
    summary.cases.iter().flat_map(rows_of).collect()
}

fn rows_of(case: &CaseSummary) -> Vec<RoomRow<'_>> {
    let flows: BTreeSet<&String> = case.members.iter().flat_map(|m| m.rooms.keys()).collect();
    let of_flow = |flow: &str| {
        let all = case.members.iter().filter_map(|member| member.rooms.get(flow).copied());
        all.reduce(|all, one| ReceiveRoom {
            asks: all.asks.saturating_add(one.asks),
            fullest: all.fullest.max(one.fullest),
            ..all
        })
    };
    let rows = flows.into_iter().map(|flow| (flow, of_flow(flow)));
    rows.filter_map(|(flow, room)| Some(RoomRow { case: &case.name, flow, room: room? })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_seeds_asks_are_added_and_the_fullest_counts() {
        let room = |asks, fullest| ReceiveRoom {
            buffer: 212_992,
            high: 42_496,
            headroom: 170_496,
            frames: 74,
            asks,
            fullest,
        };
        let port = |asks, most| BridgeRoom {
            host: "x".to_owned(),
            wire: "s".to_owned(),
            room: 426,
            headroom: 213,
            asks,
            most,
            beyond: 1,
        };
        let member = |asks: u32, fullest| MemberSummary {
            rooms: [("stream".to_owned(), room(asks, fullest))].into(),
            bridge_rooms: vec![port(asks.into(), 200 + asks)],
            ..MemberSummary::default()
        };
        let case = CaseSummary {
            name: "controlled".to_owned(),
            about: String::new(),
            paper_result: None,
            members: vec![member(2, 90_000), member(3, 80_000), MemberSummary::default()],
        };
        let rows = rows_of(&case);
        let ports = bridge_rows_of(&case);
        assert_eq!((ports.len(), ports[0].port()), (1, "s of x".to_owned()));
        assert_eq!(ports[0].cells(&Glyphs::ASCII), ["426", "213", "5", "203", "2"]);
        assert_eq!((rows[0].flow, rows[0].room), ("stream", room(5, 90_000)));
        assert_eq!(
            rows[0].cells(&Glyphs::ASCII),
            ["212 992", "42 496", "170 496 (74 frames)", "5", "90 000"]
        );
    }
}
