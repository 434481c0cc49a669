//! Settings of a NIC, as a plan or a profile has them and as its driver says them.
//!
//! Settings that all NICs have are set by ethtool; settings that only `vtsn` has
//! are files of its driver below `/sys/class/net/NAME/vtsn/`, here called knobs.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;

use teiji_core::time::Span;
use teiji_experiment::NicSettings;
use teiji_experiment::scenario::{Moderation, Nic, Port, VtsnSettings, Wire};
use teiji_sys::sysfs::Sysfs;

use crate::cause::Cause;
use crate::netlink::{KernelError, ethtool};

/// One setting of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// `ethtool -s … speed`; of the wire, set at one end.
    Speed {
        /// Mbit/s.
        mbps: u32,
    },
    /// `ethtool -G`.
    Ring {
        /// Frames in each transmit queue.
        tx: Option<u32>,
        /// Frames to be received.
        rx: Option<u32>,
    },
    /// `ethtool -C`.
    Moderation {
        /// Microseconds after a sent frame.
        tx_us: Option<u32>,
        /// Microseconds after a received frame.
        rx_us: Option<u32>,
    },
    /// `ethtool -A`.
    Pause {
        /// Send and obey it.
        on: bool,
    },
    /// `ethtool --set-eee`.
    Eee {
        /// Energy Efficient Ethernet is allowed.
        on: bool,
    },
    /// A file of the driver.
    Knob {
        /// Its name; ends with its unit.
        name: &'static str,
        /// What is written.
        value: i64,
    },
}

/// What a wire needs, at one of its ends.
pub(crate) fn of_wire(wire: &Wire) -> Vec<Setting> {
    let mbps = u32::try_from(wire.rate.as_bps() / 1_000_000).unwrap_or(u32::MAX);
    let delay = wire.delay.map(|delay| knob("delay_ns", delay.as_ns()));
    [Setting::Speed { mbps }].into_iter().chain(delay).collect()
}

/// What a port needs.
pub(crate) fn of_port(port: &Port) -> Vec<Setting> {
    // `dies-after` is a fault, set while frames flow.
    let VtsnSettings {
        ring,
        moderation,
        pause,
        phc,
        launch_resolution,
        stamp_slots,
        dies_after: _,
    } = &port.vtsn;
    let ring = (ring.tx.is_some() || ring.rx.is_some())
        .then_some(Setting::Ring { tx: ring.tx, rx: ring.rx });
    let knobs = [
        ("launch_resolution_ns", launch_resolution.map(Span::as_ns)),
        ("tx_stamp_slots", stamp_slots.map(i64::from)),
        ("phc_drift_ppb", phc.drift_ppb),
        ("phc_wander_period_ms", phc.wander_period.map(|period| period.as_ns() / 1_000_000)),
        ("phc_wander_ppb", phc.wander_ppb),
        // Last, so that the clock has no time to run away from it.
        ("phc_offset_ns", phc.offset.map(Span::as_ns)),
    ];
    let knobs = knobs.into_iter().filter_map(|(name, value)| Some(knob(name, value?)));
    ring.into_iter()
        .chain(moderation_of(moderation))
        .chain(pause.map(|on| Setting::Pause { on }))
        .chain(knobs)
        .collect()
}

/// What a profile asks of a NIC, but for its queues.
pub(crate) fn of_nic(nic: &NicSettings) -> Vec<Setting> {
    let NicSettings { queues: _, moderation, pause, eee } = nic;
    moderation_of(moderation)
        .into_iter()
        .chain(pause.map(|on| Setting::Pause { on }))
        .chain(eee.map(|on| Setting::Eee { on }))
        .collect()
}

fn moderation_of(planned: &Moderation) -> Option<Setting> {
    let us = |span: Span| u32::try_from(span.as_ns() / 1_000).unwrap_or(u32::MAX);
    (planned.tx.is_some() || planned.rx.is_some())
        .then(|| Setting::Moderation { tx_us: planned.tx.map(us), rx_us: planned.rx.map(us) })
}

/// What an experiment plans for a port of a `vtsn` wire and of the wire, by the
/// keys of [`ObservedPort::settings`](crate::observe::ObservedPort::settings).
pub fn planned(wire: &Wire, port: &Port) -> BTreeMap<String, String> {
    if wire.nic != Nic::Vtsn {
        return BTreeMap::new();
    }
    let all = of_wire(wire).into_iter().chain(of_port(port));
    all.flat_map(|setting| setting.expected()).collect()
}

const fn knob(name: &'static str, value: i64) -> Setting {
    Setting::Knob { name, value }
}

/// The path of a knob below a sysfs.
fn knob_path(ifname: &str, name: &str) -> String {
    format!("class/net/{ifname}/vtsn/{name}")
}

impl Setting {
    /// Sets it on the link in the calling thread's namespace.
    pub(crate) fn apply(&self, ifname: &str, index: u32) -> Result<(), Cause> {
        match *self {
            Self::Speed { mbps } => ethtool::set_mbps(index, mbps)?,
            Self::Ring { tx, rx } => ethtool::set_rings(index, tx, rx)?,
            Self::Moderation { tx_us, rx_us } => {
                // Times that the NIC chooses are not those that it was told.
                if ethtool::adaptive_moderation(index) == Some(true) {
                    ethtool::set_adaptive_moderation(index, false)?;
                }
                ethtool::set_moderation(index, tx_us, rx_us)?;
            }
            Self::Pause { on } => ethtool::set_pause(index, on)?,
            Self::Eee { on } => ethtool::set_eee(index, on)?,
            Self::Knob { name, value } => {
                let sysfs = Sysfs::open().map_err(|e| Cause::Text(e.to_string()))?;
                sysfs
                    .write(&knob_path(ifname, name), &value.to_string())
                    .map_err(|e| Cause::Kernel(KernelError::from_io(&e)))?;
            }
        }
        Ok(())
    }

    /// What [`observe`] should say afterwards, by its keys. The offset of a
    /// clock is not among it: it changes as the clock runs.
    pub(crate) fn expected(&self) -> Vec<(String, String)> {
        let entry = |key: &str, value: Option<u32>| Some((key.to_owned(), value?.to_string()));
        match *self {
            Self::Speed { mbps } => entry(SPEED, Some(mbps)).into_iter().collect(),
            // The driver rounds the transmit ring up.
            Self::Ring { tx, rx } => entry(RING_TX, tx.map(u32::next_power_of_two))
                .into_iter()
                .chain(entry(RING_RX, rx))
                .collect(),
            Self::Moderation { tx_us, rx_us } => {
                entry(MODERATION_TX, tx_us).into_iter().chain(entry(MODERATION_RX, rx_us)).collect()
            }
            Self::Pause { on } => {
                [PAUSE_TX, PAUSE_RX].map(|key| (key.to_owned(), on_off(on).to_owned())).to_vec()
            }
            Self::Eee { on } => vec![(EEE.to_owned(), on_off(on).to_owned())],
            Self::Knob { name: "phc_offset_ns", .. } => Vec::new(),
            Self::Knob { name, value } => vec![(name.to_owned(), value.to_string())],
        }
    }
}

/// The command's arguments: `ethtool` and so on, with `DEV` for the interface.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let optional = |f: &mut fmt::Formatter<'_>, word: &str, value: Option<u32>| match value {
            Some(value) => write!(f, " {word} {value}"),
            None => Ok(()),
        };
        match *self {
            Self::Speed { mbps } => {
                write!(f, "ethtool -s DEV speed {mbps} duplex full autoneg off")
            }
            Self::Ring { tx, rx } => {
                f.write_str("ethtool -G DEV")?;
                optional(f, "rx", rx)?;
                optional(f, "tx", tx)
            }
            Self::Moderation { tx_us, rx_us } => {
                f.write_str("ethtool -C DEV")?;
                optional(f, "rx-usecs", rx_us)?;
                optional(f, "tx-usecs", tx_us)
            }
            Self::Pause { on } => {
                let on = on_off(on);
                write!(f, "ethtool -A DEV autoneg off rx {on} tx {on}")
            }
            Self::Eee { on } => write!(f, "ethtool --set-eee DEV eee {}", on_off(on)),
            Self::Knob { name, value } => {
                write!(f, "sh -c 'echo {value} > /sys/class/net/DEV/vtsn/{name}'")
            }
        }
    }
}

const fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

const SPEED: &str = "speed (Mbit/s)";
const RING_TX: &str = "ring tx";
const RING_RX: &str = "ring rx";
const MODERATION_TX: &str = "moderation tx (µs)";
const MODERATION_RX: &str = "moderation rx (µs)";
const PAUSE_TX: &str = "pause tx";
const PAUSE_RX: &str = "pause rx";
const EEE: &str = "EEE";

/// What the driver of a link in the calling thread's namespace says of all
/// this. What it does not say is not there.
pub(crate) fn observe(ifname: &str, index: u32) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let mut say = |key: &str, value: &dyn fmt::Display| {
        values.insert(key.to_owned(), value.to_string());
    };
    if let Some(mbps) = ethtool::mbps(index) {
        say(SPEED, &mbps);
    }
    if let Some((tx, rx)) = ethtool::rings(index) {
        say(RING_TX, &tx);
        say(RING_RX, &rx);
    }
    for (key, time) in [MODERATION_TX, MODERATION_RX].into_iter().zip(ethtool::moderation(index)) {
        if let Some(us) = time {
            say(key, &us);
        }
    }
    if let Some((tx, rx)) = ethtool::pause(index) {
        say(PAUSE_TX, &on_off(tx));
        say(PAUSE_RX, &on_off(rx));
    }
    if let Some((enabled, _)) = ethtool::eee(index) {
        say(EEE, &on_off(enabled));
    }
    if let Ok(sysfs) = Sysfs::open() {
        let folder = sysfs.path(&knob_path(ifname, ""));
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if let Ok(value) = sysfs.read(&knob_path(ifname, &name)) {
                say(&name, &value);
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_prints_as_the_command_a_person_would_type() {
        for (setting, command) in [
            (Setting::Speed { mbps: 100 }, "ethtool -s DEV speed 100 duplex full autoneg off"),
            (Setting::Ring { tx: Some(64), rx: None }, "ethtool -G DEV tx 64"),
            (
                Setting::Moderation { tx_us: Some(5), rx_us: Some(20) },
                "ethtool -C DEV rx-usecs 20 tx-usecs 5",
            ),
            (Setting::Pause { on: true }, "ethtool -A DEV autoneg off rx on tx on"),
            (Setting::Eee { on: false }, "ethtool --set-eee DEV eee off"),
            (knob("delay_ns", 500), "sh -c 'echo 500 > /sys/class/net/DEV/vtsn/delay_ns'"),
        ] {
            assert_eq!(setting.to_string(), command);
        }
    }
}
