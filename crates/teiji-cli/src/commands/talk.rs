//! `teiji talk`: sends test frames on schedule, without an experiment.

mod advice;
mod context;
mod csv;
mod evidence;
mod report;

use std::net::{IpAddr, SocketAddr};

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use teiji::Scheduling;
use teiji::margin::{Reading, Watch};
use teiji::talker::{self, Destination, LaunchMode, TalkerConfig, TxStamps};
use teiji_core::cycle::Schedule;
use teiji_core::domain::{Dscp, Level, RtPriority, SocketPriority};
use teiji_core::time::Span;
use teiji_core::wire::{MacAddr, TEIJI_UDP_PORT, VlanTag};
use teiji_net::launch::{self, LaunchTimes};
use teiji_net::traffic::Traffic;
use teiji_run::punctuality::Criteria;

use self::context::Context;
pub(super) use self::csv::HEADER;
use self::evidence::Clock;
use self::report::Report;
use super::quantity::span;
use super::ranges;
use super::synchronised::Sync;
use crate::exit::{Exit, mistake};
use crate::interrupt;
use crate::output;

/// Interval of the warnings that the margin is nearly used up.
const WARN_EVERY: Duration = Duration::from_secs(1);
/// Send test frames on schedule to a listener on any machine.
///
/// Wakes at absolute times of CLOCK_TAI. With `--margin` each frame carries its launch time for an
/// `etf` or `taprio` qdisc on the interface; without `--margin` it sends on wake-up. Exits with 3
/// if any frame was late, dropped, refused or without transmit timestamp, and with 1 if none was
/// transmitted.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command")]
pub struct Args {
    /// The sending interface.
    interface: String,
    /// Destination: an IP address, with port as 10.0.0.2:7788, or a MAC address for raw Ethernet
    /// frames.
    destination: String,
    /// Interval between two frames.
    #[arg(long, value_name = "DURATION", value_parser = span, default_value = "1ms")]
    period: Span,
    /// Number of frames.
    #[arg(long, value_name = "N", default_value_t = 60_000,
          value_parser = clap::value_parser!(u64).range(1..))]
    frames: u64,
    /// Send with launch times, and hand over each frame this long before: the transmission margin.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    margin: Option<Span>,
    /// The `delta` of the etf qdisc, for an exact warning that the margin is nearly used up:
    /// hand-over must end `delta` before the launch time.
    #[arg(long, value_name = "DURATION", value_parser = span, default_value = "0", requires = "margin")]
    delta: Span,
    /// Use the launch time as a deadline: transmit as soon as possible, at the latest then.
    #[arg(long, requires = "margin")]
    deadline: bool,
    /// Count a frame as on time up to this long after its schedule; with `--margin` also this long
    /// before. Default: one period, with `--margin` a tenth of it.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    tolerance: Option<Span>,
    /// Payload size.
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    payload: u16,
    #[arg(long, value_name = "N", default_value = "3", help = ranges::socket_priority(""))]
    priority: SocketPriority,
    #[arg(long, value_name = "N", default_value_t, help = ranges::dscp("of UDP frames"))]
    dscp: Dscp,
    /// Opt in to flow control for levels up to this one: wait while the prioflow queue is full,
    /// instead of losing frames (`teiji flow`).
    #[arg(long, value_name = "LEVEL")]
    flow_control: Option<Level>,
    /// Tag raw Ethernet frames: VLAN identifier and priority code point, ID or
    /// ID:PCP.
    #[arg(long, value_name = "ID[:PCP]", value_parser = vlan)]
    vlan: Option<VlanTag>,
    #[arg(long, value_name = "PRIORITY", help = ranges::realtime())]
    realtime: Option<RtPriority>,
    /// CPU of the sending thread.
    #[arg(long, value_name = "N")]
    cpu: Option<u16>,
    #[command(flatten)]
    sync: Sync,
    /// Flow identifier in the test header.
    #[arg(long, value_name = "N", default_value_t = 0)]
    flow: u16,
    /// Request no transmit timestamps.
    #[arg(long)]
    no_stamps: bool,
    /// Print one line of CSV per frame instead of the summary.
    #[arg(long)]
    csv: bool,
    /// Print the summary as JSON.
    #[arg(long, conflicts_with = "csv")]
    json: bool,
}

fn vlan(text: &str) -> Result<VlanTag, String> {
    let wrong = || format!("`{text}` is no VLAN tag; write ID or ID:PCP, for example 10:5");
    let (id, pcp) = text.split_once(':').unwrap_or((text, "0"));
    Ok(VlanTag { id: id.parse().map_err(|_| wrong())?, pcp: pcp.parse().map_err(|_| wrong())? })
}

fn destination(text: &str, vlan: Option<VlanTag>) -> anyhow::Result<Destination> {
    if let Ok(to) = text.parse::<MacAddr>() {
        return Ok(Destination::Ethernet { to, vlan });
    }
    if vlan.is_some() {
        mistake!("--vlan tags raw Ethernet frames; give the destination as a MAC address");
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(Destination::Udp(address));
    }
    if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(Destination::Udp(SocketAddr::new(ip, TEIJI_UDP_PORT)));
    }
    mistake!(
        "`{text}` is no destination; write an IP address, with port as 10.0.0.2:7788 or \
         [fd00::2]:7788, or a MAC address"
    )
}

/// The talker that the command line describes, if it is one.
fn config(args: &Args) -> anyhow::Result<TalkerConfig> {
    if args.period.as_ns() <= 0 {
        mistake!("a period of {} sends nothing; write for example --period 1ms", args.period);
    }
    if args.margin.is_some_and(Span::is_negative) {
        mistake!(
            "a negative margin would wake after the departure; write for example --margin 400us"
        );
    }
    if let Some(margin) = args.margin.filter(|margin| args.delta >= *margin) {
        mistake!(
            "the margin of {margin} is not longer than ETF's delta of {}; write for example \
             --margin {}",
            args.delta,
            args.delta * 2
        );
    }
    if args.tolerance.is_some_and(Span::is_negative) {
        mistake!(
            "a negative tolerance lets no frame be on time; write for example --tolerance 10us"
        );
    }
    let to = destination(&args.destination, args.vlan)?;
    if args.flow_control.is_some() && matches!(to, Destination::Ethernet { .. }) {
        mistake!("--flow-control is for UDP; write an address such as 10.0.0.2 instead of a MAC");
    }
    if args.dscp != Dscp::default() && matches!(to, Destination::Ethernet { .. }) {
        mistake!(
            "--dscp is for UDP; write an address such as 10.0.0.2 instead of a MAC, or mark raw \
             Ethernet frames with --vlan 0:5"
        );
    }
    Ok(TalkerConfig {
        flow: args.flow,
        payload: args.payload,
        priority: args.priority,
        dscp: args.dscp,
        send_buffer: None,
        launch: args
            .margin
            .map(|_| if args.deadline { LaunchMode::Deadline } else { LaunchMode::Exact }),
        stamps: if args.no_stamps { TxStamps::None } else { TxStamps::Hardware },
        flow_control: args.flow_control,
        scheduling: Scheduling {
            realtime: args.realtime,
            cpu: args.cpu,
            lock_memory: args.realtime.is_some(),
        },
        ..TalkerConfig::new(&args.interface, to)
    })
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let config = config(args)?;
    let launch_times = launch::launch_times(&args.interface);
    if args.margin.is_some() && launch_times == Some(LaunchTimes::Ignored) {
        output::aside(format_args!(
            "warning: nothing on {} keeps launch times, so frames are transmitted when they are handed \
             over; set an etf or taprio qdisc there (`teiji plan` prints how for an experiment), or leave \
             --margin out",
            args.interface
        ));
    }
    let margin = args.margin.unwrap_or(Span::ZERO);
    // Before anything is timed: with locked memory, a new thread's stack is
    // touched page by page.
    let stop = interrupt::stop_flag();
    if !args.sync.wait(Some(&args.interface), &stop)? {
        return Ok(Exit::Interrupted);
    }
    let watch = args.margin.map(|margin| Watch::new(margin, args.delta));
    let mut prepared = talker::Prepared::new(&config, args.frames)?;
    if let Some(watch) = &watch {
        prepared = prepared.watching(watch.clone());
    }
    let stamps = prepared.stamps();
    let phc = (stamps == TxStamps::Hardware).then(|| Clock::of(&args.interface)).flatten();
    let counted_before = Traffic::of(&args.interface).ok();
    let _warner = watch.clone().map(Warner::start).transpose()?;
    let ready = prepared.ready()?;
    let base = ready.first_departure(args.period, margin);
    let schedule = Schedule { base, period: args.period, margin };
    let log = ready.run(&schedule, &stop)?;
    let phc = phc.and_then(Clock::finish);
    let judged_by = evidence::judged_by(stamps, &args.interface, &config, phc.is_some());
    // Of frames with timestamps the counters say something only if they say nothing.
    let expected = match judged_by {
        TxStamps::None => log.frames.iter().filter(|frame| frame.tx_error.is_none()).count() as u64,
        _ => 1,
    };
    let report = Report::of(
        &log,
        &Context {
            interface: args.interface.clone(),
            destination: args.destination.clone(),
            priority: args.priority,
            period: args.period,
            margin: args.margin,
            criteria: Criteria {
                tolerance: tolerance(args),
                launch: config.launch,
                launch_times,
                stamps: judged_by,
                phc,
            },
            counted: counted_before
                .and_then(|before| evidence::counted(&before, &args.interface, expected)),
            headroom: watch.map(|watch| watch.reading()),
        },
    );
    if args.csv {
        output::text(csv::rows(&log))?;
    } else if args.json {
        output::json(&report)?;
    } else {
        output::text(report.text())?;
    }
    if let Some(words) = report.aside().filter(|_| args.csv || args.json) {
        output::aside(words.trim_end());
    }
    Ok(report.exit())
}

/// On wake-up a frame is on time if it leaves before the next one is due, as in
/// docs/summary.md.
fn tolerance(args: &Args) -> Span {
    let default = match args.margin {
        None => args.period,
        Some(_) => Span::from_ns(args.period.as_ns() / 10),
    };
    args.tolerance.unwrap_or(default)
}

/// Warns, on a thread of its own, while the margin is close to being used up.
struct Warner {
    ended: mpsc::Sender<()>,
}

impl Warner {
    fn start(watch: Watch) -> anyhow::Result<Self> {
        let (ended, end) = mpsc::channel();
        let warn = move || {
            let mut reported = 0;
            while end.recv_timeout(WARN_EVERY) == Err(RecvTimeoutError::Timeout) {
                let reading = watch.reading();
                if reading.low > reported {
                    output::aside(format_args!("warning: {}", warning(&reading, reported)));
                    reported = reading.low;
                }
            }
        };
        thread::Builder::new()
            .name("warner".to_owned())
            .spawn(warn)
            .context("cannot start a thread that watches the margin")?;
        Ok(Self { ended })
    }
}

impl Drop for Warner {
    fn drop(&mut self) {
        // Ends the wait at once; a thread that is gone needs no telling.
        let _ = self.ended.send(());
    }
}

/// The frames after the first `reported`, which were reported before.
fn warning(reading: &Reading, reported: u64) -> String {
    let frames = reading.low - reported;
    let least = reading.least.unwrap_or(Span::ZERO);
    let frames = if frames == 1 { "1 frame".to_owned() } else { format!("{frames} frames") };
    if least.is_negative() {
        let by = Span::ZERO - least;
        format!(
            "{frames} nearly or wholly used up the margin, the worst by {by} too much; lengthen --margin"
        )
    } else {
        format!(
            "{frames} left less than a fifth of the margin, the worst {least}; lengthen --margin"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_distinguished_by_their_form() {
        let udp = |text: &str| match destination(text, None) {
            Ok(Destination::Udp(address)) => address.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(udp("10.0.0.2"), "10.0.0.2:7788");
        assert_eq!(udp("10.0.0.2:99"), "10.0.0.2:99");
        assert_eq!(udp("fd00::2"), "[fd00::2]:7788");
        assert_eq!(udp("[fd00::2]:5"), "[fd00::2]:5");
        assert!(matches!(
            destination("02:00:00:00:00:02", None),
            Ok(Destination::Ethernet { vlan: None, .. })
        ));
        assert!(destination("listener", None).is_err());
        assert!(destination("10.0.0.2", VlanTag::new(1, 0)).is_err());
    }

    #[test]
    fn a_margin_that_is_nearly_used_up_is_reported_in_words() {
        let reading = |least| Reading {
            frames: 9,
            low: 3,
            used_up: 0,
            least: Some(Span::from_micros(least)),
        };
        assert_eq!(
            warning(&reading(12), 2),
            "1 frame left less than a fifth of the margin, the worst 12 µs; lengthen --margin"
        );
        assert!(warning(&reading(-7), 0).contains("the worst by 7 µs too much"));
    }

    #[test]
    fn vlan_tags_have_bounds() {
        assert_eq!(vlan("10:5").ok(), VlanTag::new(10, 5));
        assert_eq!(vlan("4094").ok(), VlanTag::new(4094, 0));
        assert!(vlan("4095").is_err() && vlan("1:8").is_err() && vlan("x").is_err());
    }
}
