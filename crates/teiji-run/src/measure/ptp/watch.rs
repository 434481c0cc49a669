//! Clocks that follow, and how far each is from what it follows: by the clocks themselves where both
//! are on this machine, otherwise as `ptp4l` estimates it.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use anyhow::{Context, bail};
use teiji_core::time::{Instant, Monotonic, MonotonicRaw, Span, Tai};
use teiji_sys::phc::{Comparison, Phc};
use teiji_sys::{clock, ethtool, netns};

use super::estimate::EstimateLog;

/// A grandmaster's clock that is farther from `CLOCK_TAI` was never set: that of a new NIC shows 1970,
/// and all clocks would follow it.
const NEVER_SET: Span = Span::from_millis(100);

/// The hardware clock of a port.
#[derive(Clone, Debug)]
pub(super) struct PortClock {
    name: String,
    ifname: String,
    index: u32,
    phc: Arc<Phc>,
    stamps_all: bool,
}

/// A clock that follows another.
#[derive(Debug)]
pub(super) enum Follower {
    /// A NIC's, after the grandmaster's on the same machine.
    Nic { nic: PortClock, master: PortClock },
    /// `CLOCK_TAI`, after a NIC's.
    SystemClock { nic: PortClock },
    /// Of a NIC or the system, after one on another machine.
    Estimated { clock: String, reference: String, log: EstimateLog },
}

/// How far a clock was from what it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// When it was looked at, in `CLOCK_MONOTONIC_RAW`.
    pub(super) raw_ns: i64,
    /// When it was so: at the look, or when `ptp4l` estimated it.
    pub(super) at: Instant<Monotonic>,
    /// Clock − reference.
    pub(super) offset_ns: i64,
}

impl PortClock {
    /// The clock of the interface `ifname` in `namespace`, for people called `name`.
    pub(super) fn open(
        name: String,
        ifname: String,
        namespace: BorrowedFd<'_>,
    ) -> anyhow::Result<Self> {
        let info = netns::in_namespace(namespace, || ethtool::timestamp_info(&ifname))?
            .with_context(|| format!("cannot read how {name} timestamps frames"))?;
        let Some(index) = info.phc_index else {
            bail!(
                "{ifname}, the NIC of {name}, has no clock of its own (ethtool -T), which `ptp` \
                 synchronises: between machines write timestamps = \"software\" in the `ptp` of all hosts"
            );
        };
        let phc = Phc::open(index).with_context(|| format!("cannot read the clock of {name}"))?;
        let stamps_all = info.receives_all_in_hardware();
        Ok(Self { name, ifname, index, phc: Arc::new(phc), stamps_all })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn ifname(&self) -> &str {
        &self.ifname
    }

    /// The NIC timestamps every frame that it receives.
    pub(super) const fn stamps_all(&self) -> bool {
        self.stamps_all
    }

    /// Sets it to `CLOCK_TAI` if it was never set.
    pub(super) fn set_once(&self) -> anyhow::Result<()> {
        let ahead = self.compare()?.offset.ahead;
        if ahead.as_ns().unsigned_abs() <= NEVER_SET.as_ns().unsigned_abs() {
            return Ok(());
        }
        let set = || Phc::open_to_set(self.index)?.set_to_tai();
        set().with_context(|| format!("cannot set the clock of {}", self.name))
    }

    fn compare(&self) -> anyhow::Result<Comparison> {
        self.phc.compare().with_context(|| format!("cannot read the clock of {}", self.name))
    }
}

/// How far a clock was ahead of `CLOCK_TAI` at an instant, by two comparisons around it.
fn between(before: Comparison, after: Comparison, at: Instant<Tai>) -> Span {
    let ahead = |compared: Comparison| compared.offset.ahead;
    let [passed, all] = [at, after.at].map(|end| i128::from((end - before.at).as_ns()));
    if all <= 0 {
        return ahead(before);
    }
    let gained = i128::from((ahead(after) - ahead(before)).as_ns());
    let gained = i64::try_from(gained * passed / all).unwrap_or_default();
    ahead(before) + Span::from_ns(gained)
}

impl Follower {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Nic { nic, .. } => nic.name.clone(),
            Self::SystemClock { .. } => super::SYSTEM.to_owned(),
            Self::Estimated { clock, .. } => clock.clone(),
        }
    }

    pub(super) fn reference(&self) -> String {
        match self {
            Self::Nic { master, .. } => master.name.clone(),
            Self::SystemClock { nic } => nic.name.clone(),
            Self::Estimated { reference, .. } => reference.clone(),
        }
    }

    /// Looks at it; `None` where `ptp4l` has estimated nothing lately.
    pub(super) fn look(&mut self) -> anyhow::Result<Option<Sample>> {
        let offset = match self {
            Self::Nic { nic, master } => {
                let before = master.compare()?;
                let Comparison { at, offset } = nic.compare()?;
                let after = master.compare()?;
                offset.ahead - between(before, after, at)
            }
            Self::SystemClock { nic } => -nic.compare()?.offset.ahead,
            Self::Estimated { log, .. } => {
                let estimate = log.look(clock::now())?;
                let sample = |estimate: super::estimate::Estimate| Sample {
                    raw_ns: raw_ns(),
                    at: estimate.at,
                    offset_ns: estimate.offset_ns,
                };
                return Ok(estimate.map(sample));
            }
        };
        Ok(Some(Sample { raw_ns: raw_ns(), at: clock::now(), offset_ns: offset.as_ns() }))
    }

    /// Since when it has followed nobody, where `ptp4l` no longer estimates.
    pub(super) fn lost_since(&mut self) -> Option<Instant<Monotonic>> {
        let Self::Estimated { log, .. } = self else { return None };
        let lost = matches!(log.look(clock::now()), Ok(None));
        log.newest().filter(|_| lost).map(|newest| newest.at)
    }

    #[cfg(test)]
    pub(super) fn for_tests() -> Self {
        let log = tempfile::NamedTempFile::new().unwrap();
        Self::Estimated {
            clock: "listener.line".to_owned(),
            reference: "talker.line".to_owned(),
            log: EstimateLog::open(log.path()).unwrap(),
        }
    }
}

fn raw_ns() -> i64 {
    clock::now::<MonotonicRaw>().as_ns()
}

#[cfg(test)]
mod tests {
    use teiji_sys::phc::Offset;

    use super::*;

    #[test]
    fn an_offset_between_two_comparisons_is_interpolated() {
        let at = |ns, ahead| Comparison {
            at: Instant::from_ns(ns),
            offset: Offset { ahead: Span::from_ns(ahead), within: Span::ZERO },
        };
        // 100 ppm too fast.
        let (before, after) = (at(1_000, 4_000), at(101_000, 4_010));
        let ahead = |ns| between(before, after, Instant::from_ns(ns)).as_ns();
        assert_eq!((ahead(1_000), ahead(51_000), ahead(101_000)), (4_000, 4_005, 4_010));
        assert_eq!(between(before, before, Instant::from_ns(1_000)).as_ns(), 4_000);
        // CLOCK_TAI was set back.
        assert_eq!(between(after, before, Instant::from_ns(1_000)).as_ns(), 4_010);
        // Decades away, as the clock of a new NIC is, for hours.
        let (far, hour) = (-1_700_000_000_000_000_000, 3_600_000_000_000);
        let (before, after) = (at(0, far), at(2 * hour, far + 10));
        assert_eq!(between(before, after, Instant::from_ns(hour)).as_ns(), far + 5);
    }
}
