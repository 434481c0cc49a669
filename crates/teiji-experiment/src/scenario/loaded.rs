//! Between which ports a scenario's loads go.

use teiji_core::load::LoadKind;

use super::Scenario;

/// A port, by host and wire.
pub type PortName<'a> = (&'a str, &'a str);

/// The port of the loaded host, and that of its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedPorts<'a> {
    /// `…-tx` loads send from here.
    pub loaded: PortName<'a>,
    /// `…-rx` loads send from here.
    pub peer: PortName<'a>,
}

impl<'a> LoadedPorts<'a> {
    /// By the first and the last port of the first flow's way, whose sender is loaded; of
    /// the first round trips' where there is no flow, whose responder is.
    pub(crate) fn around(
        flow: Option<[PortName<'a>; 2]>,
        rounds: Option<[PortName<'a>; 2]>,
    ) -> Option<Self> {
        let of_flow = flow.map(|[loaded, peer]| Self { loaded, peer });
        of_flow.or(rounds.map(|[peer, loaded]| Self { loaded, peer }))
    }

    /// From where to where a load sends, if it needs a wire.
    pub fn way(self, kind: LoadKind) -> Option<[PortName<'a>; 2]> {
        match kind {
            LoadKind::TcpTx | LoadKind::UdpTx => Some([self.loaded, self.peer]),
            LoadKind::TcpRx | LoadKind::UdpRx => Some([self.peer, self.loaded]),
            LoadKind::Cpu
            | LoadKind::Timer
            | LoadKind::Memory
            | LoadKind::Disk
            | LoadKind::Stall => None,
        }
    }
}

impl Scenario {
    /// Where its loads go; `None` without flows and round trips.
    pub fn loaded_ports(&self) -> Option<LoadedPorts<'_>> {
        let flow = self.flows.first().map(|flow| {
            [(flow.from.as_str(), flow.wire.as_str()), (flow.to.as_str(), flow.last_wire())]
        });
        let rounds = self.round_trips.first().map(|rounds| {
            [(rounds.from.as_str(), rounds.wire.as_str()), (rounds.to.as_str(), rounds.last_wire())]
        });
        LoadedPorts::around(flow, rounds)
    }
}
