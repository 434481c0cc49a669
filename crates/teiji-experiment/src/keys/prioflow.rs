//! `prioflow`, the qdisc of 16 levels.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use teiji_core::domain::Level;
use teiji_core::time::Span;

use super::time::{Time, time};
use super::value::{Choice, Int, all_of, int, one_of};
use super::{Absent, Kind, Value, section};
use crate::fields::{Fields, Found};
use crate::read::prioflow::{EXAMPLE, table_of};
use crate::scenario::{LevelSource, LevelTable, LinkMode, PauseScope};

/// Packets that may wait in a queue.
pub(crate) const PACKETS: Int<u32> = int(1, u32::MAX);

impl Choice for LevelSource {}
impl Choice for LinkMode {}
impl Choice for PauseScope {}

section! {
    /// Settings of a `prioflow` qdisc and of its device's link. The defaults are what the kernel
    /// module begins with, on a device with the usual `txqueuelen`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    struct Prioflow, draft PrioflowDraft, section PRIOFLOW of "kind = \"prioflow\"";
    keys {
        /// pause frame type, in both directions: level frames, PFC or PAUSE
        link: LinkMode = "link", one_of(all_of!(LinkMode)),
            Absent::Default(LinkMode::Off);
        /// source of a frame's level
        source: LevelSource = "by", one_of(all_of!(LevelSource)),
            Absent::Default(LevelSource::Dscp);
        /// level of each value of the source: 64 for dscp, 16 for tos and priority, 8 for pcp
        table: Option<LevelTable> [serde(default)] =
            "table", (), Absent::Means("the kernel module's");
        /// queue limit in packets
        limit: u32 = "limit", PACKETS, Absent::Default(1000);
        /// queue limit in bytes
        bytes: Option<u32> [serde(default)] = "bytes",
            int(*Prioflow::BYTES.start(), *Prioflow::BYTES.end()), Absent::Means("no limit");
        /// pause-storm watchdog timeout: after a longer pause the peer's pause requests are
        /// ignored for as long; 0: no watchdog
        storm: Span = "storm",
            time("\"2ms\"")
                .within(Span::ZERO, Prioflow::LONGEST_STORM)
                .whole_millis()
                .refused(multiples),
            Absent::Default(Span::from_millis(10_000));
        /// longest time from sending XOFF to the peer's last frame, without the frames in rings
        reaction: Span = "reaction",
            time("\"2ms\"")
                .within(Span::from_micros(1), Prioflow::LONGEST_REACTION)
                .whole_micros()
                .refused(multiples),
            Absent::Default(Span::from_micros(1000));
        /// most frames in the peer's transmit ring and the own receive ring
        ring: u32 = "ring", int(*Prioflow::RING.start(), *Prioflow::RING.end()), Absent::Default(64);
        /// bridge: most frames of one level received on this port and queued at another
        room: u32 = "room",
            int(1, Prioflow::MOST_FRAMES), Absent::Described(0, "as many as needed");
        /// levels that the peer is to pause when one is congested: that level, or also all below
        scope: PauseScope [serde(default)] = "scope",
            one_of(all_of!(PauseScope)),
            Absent::Default(PauseScope::Level);
        /// the peer can pause the levels below this one; 0: none, 15: all
        obey: Level [serde(default = "Prioflow::obeys_all")] = "obey",
            int(Level::LEAST, Level::MOST), Absent::Default(Level::MOST);
        /// bridge: frames to transmit on this port may pause the ports that they come from
        propagate: bool [serde(default = "Prioflow::propagates")] = "propagate",
            (), Absent::Default(true);
    }
}

impl Default for Prioflow {
    fn default() -> Self {
        let (table, nowhere) = (crate::tree::Table::default(), crate::tree::Origin::NOWHERE);
        let log = crate::log::Log::default();
        let fields = Fields::new(&table, nowhere, &PRIOFLOW, "", &log);
        PrioflowDraft::read(&fields).finish().unwrap_or_else(|| unreachable!("no key is required"))
    }
}

fn multiples(time: &Time, key: &str, span: Span) -> [String; 2] {
    let Time { least, most, .. } = time;
    let unit = time.unit();
    [
        format!("`{key}` is {span}"),
        format!("Write whole multiples of {unit}, from {least} to {most}."),
    ]
}

impl Kind for LevelTable {
    type Limits = ();

    fn words((): &()) -> String {
        format!("list of whole numbers 0 … {}", Self::TOP)
    }

    fn schema((): &()) -> Json {
        let level = json!({ "type": "integer", "minimum": 0, "maximum": Self::TOP });
        json!({ "type": "array", "items": level, "minItems": 8, "maxItems": 64 })
    }

    fn toml(&self, (): &()) -> String {
        format!("{:?}", self.levels())
    }
}

impl Value for LevelTable {
    fn read((): &(), key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        fields.array(key, EXAMPLE).and_then(|items| {
            let wrong = |why| {
                fields.refuse(key, why, format!("Write for example {key} = {EXAMPLE}"));
            };
            table_of(items).map_err(wrong).ok()
        })
    }
}
