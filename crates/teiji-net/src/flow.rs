//! Flow control of a port: the qdisc `prioflow` set, taken away and looked at, outside of
//! experiments (kernel/prioflow/README.md).

use serde::Serialize;
use teiji_core::errno::{ENOENT, EPERM};
use teiji_experiment::scenario::{LevelTable, LinkMode, Prioflow};
use teiji_sys::interface::NoInterface;
use thiserror::Error;

use crate::netlink::qdisc::RawPrioflow;
use crate::netlink::{KernelError, Netlink, ethtool, link, qdisc};
pub use crate::qdisc::prioflow::{NO_LIMIT, PrioflowChange};
use crate::qdisc::prioflow_counters::AllCounters;
pub use crate::qdisc::prioflow_counters::{
    ForwardCounters, Holders, KeptCounters, LEVELS, LevelCounters, LevelSet, LinkCounters, Peer,
    PeerState, RuleCounters,
};
use crate::qdisc::{Handle, ROOT_HANDLE, prioflow, prioflow_counters};
use crate::transmit_ring::TransmitRing;

/// Why flow control cannot be set, taken away or looked at. Nothing was changed.
#[derive(Debug, Error)]
pub enum FlowError {
    /// There is no such interface.
    #[error("{0}")]
    NoInterface(#[from] NoInterface),
    /// The module is missing.
    #[error(
        "this kernel has no `prioflow` qdisc: build and load the module (kernel/prioflow/README.md)"
    )]
    NoModule,
    /// Somebody has set another qdisc.
    #[error(
        "{ifname} has the qdisc `{kind}`, which is not a kernel default: remove it first \
         (tc qdisc del dev {ifname} root)"
    )]
    Taken {
        /// The interface.
        ifname: String,
        /// What it has.
        kind: String,
    },
    /// It is not there.
    #[error("{0} has no flow control; `teiji flow enable {0}` gives it some")]
    NotThere(String),
    /// The rights are missing.
    #[error("this needs root (CAP_NET_ADMIN): run it with sudo")]
    NoRights,
    /// The counters are not those that this program knows.
    #[error(
        "the loaded prioflow is of another version; unload it and load this one's (kernel/prioflow)"
    )]
    OtherVersion,
    /// A rule of [`crate::flow_rules`] that the kernel does not take, or that is not there.
    #[error("{0}; `teiji flow protect` lists the rules")]
    Rule(String),
    /// The kernel refused.
    #[error("{ifname}: the kernel refuses: {error}")]
    Refused {
        /// The interface.
        ifname: String,
        /// What the kernel says.
        error: KernelError,
    },
}

/// Flow control of a device as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowStatus {
    /// The device.
    pub interface: String,
    /// The settings of its first qdisc, and those of its link.
    pub settings: Prioflow,
    /// Level of each value of the source.
    pub table: LevelTable,
    /// Levels that the device does not send now.
    pub paused: LevelSet,
    /// Levels that the peer is requested to pause now.
    pub requested: LevelSet,
    /// Who pauses them.
    pub held: Holders,
    /// The other end of the wire.
    pub peer: Peer,
    /// Level 0 to 15, all qdiscs of the device together.
    pub levels: [LevelCounters; LEVELS],
    /// Level frames.
    pub link: LinkCounters,
    /// Frames that a bridge forwards.
    pub forward: ForwardCounters,
    /// What the administrator's rules have protected.
    pub ruled: RuleCounters,
    /// Protected packets that wait for the carrier, or were lost with it.
    pub kept: KeptCounters,
    /// Bounds the frames that the device still transmits after XOFF of its peer.
    pub transmit_ring: TransmitRing,
    /// PAUSE of the NIC itself (`ethtool -a`); `None` if the driver does not say.
    pub mac_pause: Option<MacPause>,
}

/// IEEE 802.3x PAUSE of a NIC's MAC, which the kernel has no part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MacPause {
    /// The NIC sends it when its receive ring fills.
    pub sends: bool,
    /// The NIC obeys it.
    pub obeys: bool,
}

impl FlowStatus {
    /// How many frames can be in the transmit ring, if that is more than the peer's headroom covers.
    pub fn beyond_ring(&self) -> Option<u64> {
        let at_most = self.transmit_ring.at_most()?;
        (self.settings.link != LinkMode::Off && at_most > self.covered_ring().into())
            .then_some(at_most)
    }

    /// Frames in rings that the peer's headroom covers: what it says, or, if it does not say, the setting
    /// here, which it should have, too.
    pub fn covered_ring(&self) -> u32 {
        if self.peer.reaction_us > 0 { self.peer.ring.into() } else { self.settings.ring }
    }
}

/// A device of this network namespace that may have flow control.
#[derive(Debug)]
pub struct FlowPort {
    netlink: Netlink,
    index: u32,
    ifname: String,
}

impl FlowPort {
    /// The device with this name.
    ///
    /// # Errors
    /// [`FlowError::NoInterface`] if there is none, [`FlowError::Refused`] if netlink fails.
    pub fn open(ifname: &str) -> Result<Self, FlowError> {
        let refused = |error| FlowError::Refused { ifname: ifname.to_owned(), error };
        let mut netlink = Netlink::open().map_err(refused)?;
        let found = link::find(&mut netlink, ifname).map_err(refused)?;
        let Some(link) = found else { return Err(NoInterface::here(ifname).into()) };
        Ok(Self { netlink, index: link.index, ifname: ifname.to_owned() })
    }

    /// The devices of this namespace that have flow control.
    ///
    /// # Errors
    /// If netlink fails, or a device disappears meanwhile.
    pub fn all() -> Result<Vec<Self>, FlowError> {
        let refused = |error| FlowError::Refused { ifname: "the devices".to_owned(), error };
        let mut netlink = Netlink::open().map_err(refused)?;
        let with = qdisc::list_prioflow(&mut netlink).map_err(refused)?;
        let mut links = link::list(&mut netlink).map_err(refused)?;
        links.retain(|link| with.iter().any(|qdisc| qdisc.index == link.index));
        links.iter().map(|link| Self::open(&link.name)).collect()
    }

    /// Makes `prioflow` the root qdisc, or changes the one that is there. Returns the `tc`
    /// command that does the same.
    ///
    /// # Errors
    /// [`FlowError::Taken`] if another qdisc is set there, [`FlowError::NoModule`] without the
    /// kernel module, [`FlowError::Refused`] with the kernel's sentence.
    pub fn enable(&mut self, change: &PrioflowChange) -> Result<String, FlowError> {
        let root =
            qdisc::list(&mut self.netlink, self.index).map_err(|error| self.refused(error))?;
        let root = root.iter().find(|qdisc| qdisc.parent == Handle::ROOT);
        // The kernel's own have no handle.
        let set = root.filter(|qdisc| qdisc.handle != Handle(0));
        let handle = match set {
            Some(qdisc) if qdisc.settings.kind() == Prioflow::KIND => qdisc.handle,
            Some(qdisc) => {
                let kind = qdisc.settings.kind().to_owned();
                return Err(FlowError::Taken { ifname: self.ifname.clone(), kind });
            }
            None => ROOT_HANDLE,
        };
        qdisc::replace_prioflow(&mut self.netlink, self.index, handle, change).map_err(
            |error| match error.errno {
                ENOENT => FlowError::NoModule,
                _ => self.refused(error),
            },
        )?;
        Ok(format!(
            "tc qdisc replace dev {} root handle {handle} {}{change}",
            self.ifname,
            Prioflow::KIND
        ))
    }

    /// Takes the root qdisc away; the kernel's own comes back.
    ///
    /// # Errors
    /// [`FlowError::NotThere`] if `prioflow` is not the root qdisc, otherwise what the kernel
    /// refuses.
    pub fn disable(&mut self) -> Result<(), FlowError> {
        let root = self.dump()?.iter().any(|qdisc| qdisc.parent == Handle::ROOT);
        if !root {
            return Err(FlowError::NotThere(self.ifname.clone()));
        }
        qdisc::delete_root(&mut self.netlink, self.index).map_err(|error| self.refused(error))
    }

    /// What the kernel has.
    ///
    /// # Errors
    /// [`FlowError::NotThere`] without the qdisc, [`FlowError::OtherVersion`] if the module's
    /// counters have another layout, otherwise what netlink refuses.
    pub fn status(&mut self) -> Result<FlowStatus, FlowError> {
        let mut found: Option<FlowStatus> = None;
        let ring = TransmitRing::of(&self.ifname, self.index);
        let pause = ethtool::pause(self.index).map(|(sends, obeys)| MacPause { sends, obeys });
        for qdisc in self.dump()? {
            let one = self.read(&qdisc, ring, pause).ok_or(FlowError::OtherVersion)?;
            match &mut found {
                None => found = Some(one),
                Some(all) => {
                    for (level, other) in all.levels.iter_mut().zip(&one.levels) {
                        level.add(other);
                    }
                    all.forward.add(&one.forward);
                    all.ruled.add(one.ruled);
                }
            }
        }
        found.ok_or_else(|| FlowError::NotThere(self.ifname.clone()))
    }

    fn read(
        &self,
        RawPrioflow { options, counters, .. }: &RawPrioflow,
        transmit_ring: TransmitRing,
        mac_pause: Option<MacPause>,
    ) -> Option<FlowStatus> {
        let AllCounters { paused, requested, holders, peer, levels, link, forward, ruled, kept } =
            prioflow_counters::parse(counters)?;
        let settings = prioflow::decode(options)?;
        Some(FlowStatus {
            interface: self.ifname.clone(),
            settings,
            table: settings.levels(),
            paused,
            requested,
            held: holders,
            peer,
            levels,
            link,
            forward,
            ruled,
            kept,
            transmit_ring,
            mac_pause,
        })
    }

    fn dump(&mut self) -> Result<Vec<RawPrioflow>, FlowError> {
        let mut all =
            qdisc::list_prioflow(&mut self.netlink).map_err(|error| self.refused(error))?;
        all.retain(|qdisc| qdisc.index == self.index);
        Ok(all)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.ifname
    }

    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    pub(crate) fn refused(&self, error: KernelError) -> FlowError {
        FlowError::of(&self.ifname, error)
    }
}

impl FlowError {
    /// The kernel's, about `what`.
    pub(crate) fn of(what: &str, error: KernelError) -> Self {
        match error.errno {
            EPERM => Self::NoRights,
            _ => Self::Refused { ifname: what.to_owned(), error },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_flow_control_is_reported_with_the_next_step() {
        let error = FlowPort::open("no-such-if").unwrap_err();
        assert!(error.to_string().contains("here; there are lo"), "{error}");
        let mut loopback = FlowPort::open("lo").unwrap();
        let error = loopback.status().unwrap_err();
        assert_eq!(
            error.to_string(),
            "lo has no flow control; `teiji flow enable lo` gives it some"
        );
        assert!(matches!(loopback.disable(), Err(FlowError::NotThere(_))));
    }
}
