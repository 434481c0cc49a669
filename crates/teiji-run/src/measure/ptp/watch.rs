//! What the clocks of `vtsn` ports show, compared at the same instants.

use std::sync::Arc;

use anyhow::Context;
use teiji_core::time::{Instant, Monotonic};
use teiji_sys::clock;
use teiji_sys::sysfs::Sysfs;

/// The hardware clock of a port.
#[derive(Clone, Debug)]
pub(super) struct PortClock {
    name: String,
    ifname: String,
    sysfs: Option<Arc<Sysfs>>,
}

/// A clock that follows another.
#[derive(Clone, Debug)]
pub(super) enum Follower {
    /// A card's, after the grandmaster's.
    Card { card: PortClock, master: PortClock },
    /// `CLOCK_TAI`, after a card's.
    SystemClock { card: PortClock },
}

/// How far a clock was from what it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// When, in `CLOCK_MONOTONIC_RAW`.
    pub(super) raw_ns: i64,
    /// The same, as [`Monotonic`] shows it a little later.
    pub(super) at: Instant<Monotonic>,
    /// Clock − reference.
    pub(super) offset_ns: i64,
}

/// One instant by two clocks.
#[derive(Clone, Copy, Debug)]
struct Reading {
    raw_ns: i64,
    phc_ns: i64,
}

impl PortClock {
    pub(super) const fn new(name: String, ifname: String, sysfs: Arc<Sysfs>) -> Self {
        Self { name, ifname, sysfs: Some(sysfs) }
    }

    pub(super) fn ifname(&self) -> &str {
        &self.ifname
    }

    fn knob(&self, knob: &str) -> anyhow::Result<String> {
        let failed = || format!("cannot read the clock of {}", self.name);
        let sysfs = self.sysfs.as_ref().with_context(failed)?;
        sysfs.read(&format!("class/net/{}/vtsn/{knob}", self.ifname)).with_context(failed)
    }

    fn read(&self) -> anyhow::Result<Reading> {
        let text = self.knob("phc")?;
        parse(&text).with_context(|| format!("the clock of {} says `{text}`", self.name))
    }
}

fn parse(text: &str) -> Option<Reading> {
    let (raw, phc) = text.split_once(' ')?;
    Some(Reading { raw_ns: raw.parse().ok()?, phc_ns: phc.parse().ok()? })
}

/// What a clock showed at `raw_ns`, by two readings around it.
fn between(before: Reading, after: Reading, raw_ns: i64) -> i64 {
    let (raw, phc) = (after.raw_ns - before.raw_ns, after.phc_ns - before.phc_ns);
    let passed = raw_ns - before.raw_ns;
    if raw <= 0 {
        return before.phc_ns + passed;
    }
    // Products of a few ms by themselves stay far below 64 bits, but a guest may
    // be interrupted for long.
    let part = i128::from(phc) * i128::from(passed) / i128::from(raw);
    before.phc_ns + i64::try_from(part).unwrap_or(passed)
}

impl Follower {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Card { card, .. } => card.name.clone(),
            Self::SystemClock { .. } => "the system".to_owned(),
        }
    }

    pub(super) fn reference(&self) -> String {
        match self {
            Self::Card { master, .. } => master.name.clone(),
            Self::SystemClock { card } => card.name.clone(),
        }
    }

    /// Looks at both clocks.
    pub(super) fn look(&self) -> anyhow::Result<Sample> {
        match self {
            Self::Card { card, master } => {
                let before = master.read()?;
                let Reading { raw_ns, phc_ns } = card.read()?;
                let after = master.read()?;
                let offset_ns = phc_ns - between(before, after, raw_ns);
                Ok(Sample { raw_ns, at: clock::now(), offset_ns })
            }
            Self::SystemClock { card } => {
                // The driver reads CLOCK_TAI and its clock at one instant.
                let text = card.knob("phc_offset_ns")?;
                let phc_ahead: i64 = text.parse().with_context(|| format!("`{text}`"))?;
                let raw_ns = card.read()?.raw_ns;
                Ok(Sample { raw_ns, at: clock::now(), offset_ns: -phc_ahead })
            }
        }
    }

    #[cfg(test)]
    pub(super) fn for_tests() -> Self {
        let clock = |name: &str| PortClock {
            name: name.to_owned(),
            ifname: "line".to_owned(),
            sysfs: None,
        };
        Self::Card { card: clock("talker.line"), master: clock("listener.line") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_between_two_readings_is_interpolated() {
        let reading = |raw_ns, phc_ns| Reading { raw_ns, phc_ns };
        // 100 ppm too fast.
        let (before, after) = (reading(1_000, 5_000), reading(101_000, 105_010));
        assert_eq!(between(before, after, 51_000), 55_005);
        assert_eq!(between(before, before, 1_000), 5_000);
    }

    #[test]
    fn a_reading_is_two_numbers() {
        assert!(parse("12 -7").is_some_and(|r| (r.raw_ns, r.phc_ns) == (12, -7)));
        assert!(parse("12").is_none() && parse("a b").is_none());
    }
}
