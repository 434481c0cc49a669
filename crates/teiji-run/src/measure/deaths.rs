//! Ports from which nothing arrives any more from some moment of the measurement on, as when
//! their host dies: a fault of `vtsn`.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, bail};
use teiji_core::time::{Instant, Span, Tai};
use teiji_experiment::Scenario;
use teiji_net::Applied;
use teiji_sys::debugfs::Debugfs;
use teiji_sys::{clock, ethtool, netns};

/// All that is sent is lost, in 10⁻⁶.
const ALL_PPM: &str = "1000000";

/// One port that will fall silent.
pub struct Death {
    /// `HOST.WIRE`.
    pub port: String,
    after: Span,
    debugfs: Debugfs,
    /// The file of the fault.
    loss: String,
}

/// Finds the ports that shall, and their faults.
pub fn prepare(scenario: &Scenario, applied: &Applied) -> anyhow::Result<Vec<Death>> {
    let mut deaths = Vec::new();
    let here = |name: &str| applied.namespace(name).is_some();
    for host in scenario.hosts.iter().filter(|host| here(&host.name)) {
        for port in &host.ports {
            let Some(after) = port.vtsn.dies_after else { continue };
            let label = format!("{}.{}", host.name, port.wire);
            let missing = || format!("port {label} is not there");
            let info = applied.port(&host.name, &port.wire).with_context(missing)?;
            let namespace = applied.namespace(&host.name).with_context(missing)?;
            let stamps = netns::in_namespace(namespace, || ethtool::timestamp_info(&info.ifname))??;
            let clock = stamps.phc_index.with_context(|| format!("port {label} has no clock"))?;
            let loss = format!("vtsn/ptp{clock}/loss_ppm");
            let debugfs = Debugfs::open().context("`dies-after` needs debugfs")?;
            if !debugfs.has(&loss) {
                bail!("`dies-after` of port {label}: debugfs has no {loss}");
            }
            deaths.push(Death { port: label, after, debugfs, loss });
        }
    }
    Ok(deaths)
}

impl Death {
    /// Waits for its moment, counted from `base`, and has it come, unless the flows are `over`
    /// (nobody sends there any more) before.
    pub fn come(&self, base: Instant<Tai>, over: &mpsc::Receiver<()>) -> anyhow::Result<()> {
        let left = (base + self.after - clock::now::<Tai>()).as_ns().max(0);
        if over.recv_timeout(Duration::from_nanos(left.unsigned_abs()))
            != Err(RecvTimeoutError::Timeout)
        {
            return Ok(());
        }
        self.debugfs.write(&self.loss, ALL_PPM).with_context(|| format!("cannot set {}", self.loss))
    }
}
