//! What the summary has of one case at one seed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use teiji::ReceiveHeadroom;
use teiji_core::activity::Activity;
use teiji_core::cpu_time::CpuTime;
use teiji_core::time::Span;
use teiji_stats::{DelayStatistics, FlowStatistics, RoundStatistics, WireStatistics};

use crate::bridge_headroom::BridgeHeadroom;
use crate::nic_count::NicCount;

/// One case at one seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberSummary {
    /// The seed.
    pub seed: u64,
    /// Parquet file, relative to the run folder.
    pub records: Option<String>,
    /// Capture, relative to the run folder.
    pub capture: Option<String>,
    /// Statistics of each flow by name.
    pub flows: BTreeMap<String, FlowStatistics>,
    /// Its round trips, by name. Their records lie beside the others
    /// (`RunFolder::rounds_name`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub round_trips: BTreeMap<String, RoundStatistics>,
    /// Of two captures the delay of each flow from the first to the second, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub delays: BTreeMap<String, DelayStatistics>,
    /// What each flow did on its wire, by name; of a wire whose time is computed more
    /// than its rate.
    #[serde(default)]
    pub wire: BTreeMap<String, WireStatistics>,
    /// Of each flow with flow control its listener's headroom, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", rename = "rooms")]
    pub headrooms: BTreeMap<String, ReceiveHeadroom>,
    /// The longest delay of round trips by in-flight frames of lower levels, by the round trips'
    /// name ([`teiji_experiment::Scenario::blocking`]).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub blocking: BTreeMap<String, Span>,
    /// Of each bridge's port with flow control its queue space for what it forwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "bridge_rooms")]
    pub bridge_headrooms: Vec<BridgeHeadroom>,
    /// Frames that were dropped, late or damaged, by the counters of NICs, queues and sockets.
    #[serde(default, rename = "cards")]
    pub nic_counts: Vec<NicCount>,
    /// What the kernel's packet processing did; empty where nobody looked.
    #[serde(default)]
    pub activity: Activity,
    /// Each CPU's time while frames were sent, by number; empty where nobody looked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cpu_time: BTreeMap<u16, CpuTime>,
    /// True if the run ended before all frames were sent.
    pub incomplete: bool,
    /// The clocks that PTP kept, NIC by NIC, then the system's; empty without PTP.
    #[serde(default)]
    pub clocks: Vec<ClockSummary>,
}

/// How well one clock followed another during the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockSummary {
    /// `HOST.WIRE` of the clock, or `the system`.
    pub clock: String,
    /// `HOST.WIRE` of the grandmaster's, or of the NIC the system's clock follows.
    pub reference: String,
    /// From the start of the programs until it followed, in ns.
    pub settled_ns: i64,
    /// Looks at both clocks, each at one instant.
    pub samples: u64,
    /// Mean offset from the reference, in ns.
    pub mean_ns: f64,
    /// Root of the mean square of the offsets, in ns.
    pub rms_ns: f64,
    /// The offset farthest from zero, in ns.
    pub worst_ns: i64,
}
