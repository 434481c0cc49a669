//! `--sync-within`: waits until an interface's PHC, and the port that `ptp4l` keeps, are close
//! enough before anything is timed.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use teiji::StopFlag;
use teiji_core::time::{Monotonic, Span};
use teiji_sys::clock;
use teiji_sys::ethtool;
use teiji_sys::phc::Phc;

use super::quantity::span;
use crate::exit::mistake;
use crate::output;

/// The clocks are close enough when they were for so many looks in a row …
const LOOKS: u32 = 4;
/// … this far apart.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// When the clocks are close enough to begin.
#[derive(clap::Args)]
pub struct Sync {
    /// Wait before the start until the PHC of the interface is within this of `CLOCK_TAI`, and
    /// ptp4l's offset from its master, if `pmc` can read it, is as small.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    sync_within: Option<Span>,
    /// Give up waiting after this time.
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
            mistake!("--sync-within needs an interface, whose PHC it looks at");
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
            let master = ptp4l_offset();
            let is_close = |offset: Span| offset.as_ns().abs() <= within.as_ns();
            close = if is_close(ahead) && master.is_none_or(is_close) { close + 1 } else { 0 };
            if close == LOOKS {
                output::aside(format_args!("synchronised: {}", state(interface, ahead, master)));
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
                    state(interface, ahead, master)
                );
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

fn state(interface: &str, ahead: Span, master: Option<Span>) -> String {
    let master = match master {
        Some(offset) => format!("{offset} from its master by ptp4l"),
        None => "no offset from ptp4l (`pmc` is missing or nobody answers)".to_owned(),
    };
    format!("the PHC of {interface} is {ahead} ahead of CLOCK_TAI, {master}")
}

/// What the local `ptp4l` says of its offset from its master, by linuxptp's `pmc`; `None` if
/// there is no `pmc`, no `ptp4l`, or no right to ask it.
fn ptp4l_offset() -> Option<Span> {
    let said = Command::new("pmc")
        .args(["-u", "-b", "0", "-t", "1", "GET CURRENT_DATA_SET"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    offset_from_master(&String::from_utf8_lossy(&said.stdout))
}

fn offset_from_master(text: &str) -> Option<Span> {
    let line = text.lines().find(|line| line.trim_start().starts_with("offsetFromMaster"))?;
    let ns: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "nanoseconds; saturates")]
    Some(Span::from_ns(ns.round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pmcs_answer_is_understood() {
        let answer = "sending: GET CURRENT_DATA_SET\n\t7a.fffe.1-0 seq 0 RESPONSE MANAGEMENT \
                      CURRENT_DATA_SET \n\t\tstepsRemoved     1\n\t\toffsetFromMaster -12.4\n\
                      \t\tmeanPathDelay    50.0\n";
        assert_eq!(offset_from_master(answer), Some(Span::from_ns(-12)));
        assert_eq!(offset_from_master("sending: GET CURRENT_DATA_SET\n"), None);
    }
}
