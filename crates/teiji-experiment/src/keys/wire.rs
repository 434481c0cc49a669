//! `[wires.NAME]`: which hosts are joined, by which NICs.

use serde::{Deserialize, Serialize};
use teiji_core::quantity::Rate;
use teiji_core::time::Span;

use super::list::{Item, Items, list};
use super::time::time;
use super::value::{Choice, all_of, one_of, rates};
use super::{Absent, section};
use crate::scenario::Nic;

impl Choice for Nic {}

/// The delay of a wire between `vtsn` NICs.
pub(crate) const DEFAULT_DELAY: Span = Span::from_ns(500);

section! {
    /// A wire between two hosts.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Wire, draft WireDraft, section WIRE of "[wires.NAME]";
    given {
        /// Letters, digits and `-`.
        name: String,
    }
    made {
        /// The two hosts.
        between: [String; 2],
        /// Bits per second on the wire.
        rate: Rate,
    }
    keys {
        /// the two hosts it joins
        const BETWEEN: Items = "between",
            list(Item::Name, "[\"talker\", \"listener\"]").length(2, 2),
            Absent::Required("[\"talker\", \"listener\"]");
        /// NIC at both ends in the laboratory; `--on local` uses veth (for `vtsn` a vtsn pair) or
        /// your interfaces instead
        nic: Nic = "nic",
            one_of(all_of!(Nic)), Absent::Default(Nic::Igb);
        /// vtsn: bit rate of the wire, in both directions
        const RATE: Rate = "rate",
            rates("\"1Gbit/s\"", &["10Mbit/s", "100Mbit/s", "1Gbit/s", "2.5Gbit/s", "10Gbit/s"]),
            Absent::Means("`\"1Gbit/s\"`");
        /// vtsn: propagation delay; 5 ns per metre of cable
        delay: Option<Span> = "delay",
            // Light takes longer to the moon: 1.3 s.
            time("\"500ns\"").within(Span::ZERO, Span::from_secs(1)),
            Absent::Computed(DEFAULT_DELAY, "");
    }
}
