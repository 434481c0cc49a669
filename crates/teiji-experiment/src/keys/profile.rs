//! Keys of a profile (docs/profiles.md): what a machine is to have beside its flow control. Most are those of
//! an experiment's hosts and ports.

use serde::{Deserialize, Serialize};

use super::list::{Item, Items, LongTable, Tables, list};
use super::port::{MODERATION, Moderation, ROOT};
use super::processing::PROCESSING;
use super::value::{int, table};
use super::{Absent, PartOf, Section, host, section};

section! {
    section PROFILE of "(top of the profile)";
    keys {
        /// threads, budgets and limits of the kernel, `[system]`
        const KERNEL: LongTable = "system",
            table(&host::SYSTEM, "{ ksoftirqd = { priority = 1 } }"),
            Absent::Means("the kernel as it is");
        /// clock synchronisation by services of systemd, `[ptp]`
        const SYNCHRONISATION: LongTable = "ptp",
            table(&PROFILE_PTP, "{ role = \"slave\" }"),
            Absent::Means("none: no service is started");
        /// the NICs, `[ports.INTERFACE]`
        const PORTS: Tables = "ports", &PROFILE_PORT, Absent::Means("`{}`");
    }
}

section! {
    section PTP_NICS of "[ptp]";
    keys {
        /// the NICs whose clocks are synchronised
        const PTP_PORTS: Items = "ports",
            list(Item::Text, "[\"enp3s0\"]"), Absent::Means("all of `[ports]`");
    }
}

/// Clock synchronisation of a profile.
pub static PROFILE_PTP: Section =
    Section { header: "[ptp]", own: &[], parts: &[part(&PTP_NICS), part(&host::PTP)] };

/// A NIC of a profile.
pub static PROFILE_PORT: Section = Section {
    header: "[ports.INTERFACE]",
    own: &[],
    parts: &[part(&NIC), part(&PROCESSING), part(&ROOT)],
};

const fn part(section: &'static Section) -> PartOf {
    PartOf { kind: "", section, as_below: false }
}

section! {
    /// Driver settings (`ethtool`). `None`: unchanged.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    struct NicSettings, draft NicDraft, section NIC of "[ports.INTERFACE]";
    keys {
        /// number of transmit queues (`ethtool -L`)
        queues: Option<u16> = "queues",
            int(1, u16::MAX), Absent::Means("what `qdisc` needs, else as it is");
        /// interrupt moderation (`ethtool -C`); it is not adaptive then
        moderation: Moderation = "moderation",
            table(&MODERATION, "{ rx = \"0us\", tx = \"0us\" }"),
            Absent::Described(Moderation { rx: None, tx: None }, "as it is");
        /// send and obey 802.3x PAUSE (`ethtool -A`)
        pause: Option<bool> = "pause", (), Absent::Means("as it is");
        /// Energy Efficient Ethernet, 802.3az (`ethtool --set-eee`)
        eee: Option<bool> = "eee", (), Absent::Means("as it is");
    }
}
