//! `--sync-within`: waits until an interface's PHC, and the port that `ptp4l` keeps, are close
//! enough before anything is timed.

use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use teiji::StopFlag;
use teiji_core::time::{Monotonic, Span};
use teiji_doctor::facts::Ptp4l;
use teiji_sys::clock;
use teiji_sys::ethtool;
use teiji_sys::phc::Phc;

use super::quantity::span;
use crate::exit::mistake;
use crate::output;

/// The clocks are close enough after this many good readings in a row …
const LOOKS: u32 = 4;
/// … at this interval.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// When the clocks are close enough to begin.
#[derive(clap::Args)]
pub struct Sync {
    /// Wait before the start until the interface's PHC is within this time of `CLOCK_TAI`, and
    /// ptp4l within this time of its master, if `pmc` can read its offset.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    sync_within: Option<Span>,
    /// Fail after this waiting time.
    #[arg(long, value_name = "DURATION", value_parser = span, default_value = "60s",
          requires = "sync_within")]
    sync_limit: Span,
}

impl Sync {
    /// Waits; false if `stop` was set meanwhile.
    ///
    /// # Errors
    /// Without interface or PHC, or if the time is over.
    pub fn wait(&self, interface: Option<&str>, stop: &StopFlag) -> anyhow::Result<bool> {
        let Some(within) = self.sync_within else { return Ok(true) };
        if within <= Span::ZERO || self.sync_limit <= Span::ZERO {
            mistake!(
                "--sync-within and --sync-limit take times above zero, for example 500ns and 60s"
            );
        }
        let Some(interface) = interface else {
            mistake!("--sync-within needs an interface: it reads the PHC of the interface");
        };
        let Some(index) = ethtool::timestamp_info(interface)?.phc_index else {
            mistake!("{interface} has no PHC; leave --sync-within out");
        };
        let phc = Phc::open(index)
            .with_context(|| format!("cannot read the PHC of {interface}, /dev/ptp{index}"))?;
        let until = clock::now::<Monotonic>() + self.sync_limit;
        let mut close = 0;
        loop {
            let ahead = phc.offset()?.ahead;
            let ptp4l = Ptp4l::look();
            let is_close = |offset: Span| offset.as_ns().abs() <= within.as_ns();
            let has_time = |ptp4l: Ptp4l| ptp4l.has_time && is_close(ptp4l.offset);
            close = if is_close(ahead) && ptp4l.is_none_or(has_time) { close + 1 } else { 0 };
            if close == LOOKS {
                output::aside(format_args!("synchronised: {}", state(interface, ahead, ptp4l)));
                return Ok(true);
            }
            if stop.is_stopped() {
                return Ok(false);
            }
            if clock::now::<Monotonic>() >= until {
                bail!(
                    "not synchronised within {within} after {}: {}; look at the logs of ptp4l and \
                     phc2sys, or raise --sync-within",
                    self.sync_limit,
                    state(interface, ahead, ptp4l)
                );
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

fn state(interface: &str, ahead: Span, ptp4l: Option<Ptp4l>) -> String {
    let distance = Span::from_ns(ahead.as_ns().abs());
    let where_to = if ahead.is_negative() { "behind" } else { "ahead of" };
    let ptp4l = match ptp4l {
        Some(Ptp4l { has_time: true, offset }) => format!("ptp4l's is {offset} from its master"),
        Some(Ptp4l { has_time: false, .. }) => "ptp4l has not locked on to a master".to_owned(),
        None => "ptp4l's offset is unknown (`pmc` is missing, or nothing answers it)".to_owned(),
    };
    format!("the PHC of {interface} is {distance} {where_to} CLOCK_TAI; {ptp4l}")
}
