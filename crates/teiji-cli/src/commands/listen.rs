//! `teiji listen`: receives test frames and says what arrived, alone.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use teiji::listener::{ListenerConfig, Pause, Source};
use teiji::{Deadline, Listener, ListenerLog, RxRecord, Scheduling};
use teiji_core::time::{Span, Tai};
use teiji_core::wire::{Probe, TEIJI_UDP_PORT};
use teiji_sys::clock;

use super::quantity::span;
use crate::exit::{Exit, mistake};
use crate::interrupt;
use crate::output;

/// Receive test frames and say what arrived, and how regularly.
///
/// Ends with Ctrl-C, or after `--for`. Stamps are the receiving kernel's, and
/// the card's where it has them.
#[derive(clap::Args)]
pub struct Args {
    /// The interface to receive from; all interfaces if not given.
    interface: Option<String>,
    /// UDP port.
    #[arg(long, value_name = "PORT", default_value_t = TEIJI_UDP_PORT)]
    port: u16,
    /// UDP address to bind; all addresses, IPv4 and IPv6, if not given.
    #[arg(long, value_name = "ADDRESS")]
    address: Option<IpAddr>,
    /// Receive raw Ethernet frames instead of UDP.
    #[arg(long, conflicts_with_all = ["port", "address"], requires = "interface")]
    ethernet: bool,
    /// Have the peer wait before the socket's buffer overflows: frames of this level and
    /// below (`teiji flow`).
    #[arg(long, value_name = "LEVEL", conflicts_with = "ethernet",
          value_parser = clap::value_parser!(u8).range(0..=14))]
    flow_control: Option<u8>,
    /// Rest for this long after each look at the socket, which takes 32 frames at most.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pause: Option<Span>,
    /// Rest at random, exponentially distributed with `--pause` as the mean.
    #[arg(long, requires = "pause")]
    pause_random: bool,
    /// End after this time.
    #[arg(long = "for", value_name = "DURATION", value_parser = span)]
    duration: Option<Span>,
    /// SCHED_FIFO priority, 1 to 99; ordinary scheduling if not given.
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99))]
    realtime: Option<u8>,
    /// The CPU to run on.
    #[arg(long, value_name = "N")]
    cpu: Option<u16>,
    /// Print one line of CSV for each arrival instead of the summary.
    #[arg(long)]
    csv: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.duration.is_some_and(|d| d.as_ns() <= 0) {
        mistake!("--for takes a time above zero, for example --for 10s");
    }
    if args.pause.is_some_and(|pause| pause.as_ns() <= 0) {
        mistake!("--pause takes a time above zero, for example --pause 5ms");
    }
    let source = if args.ethernet {
        Source::Ethernet { tagged: true }
    } else {
        // An IPv6 socket on :: takes IPv4 as well.
        let address = args.address.unwrap_or(Ipv6Addr::UNSPECIFIED.into());
        Source::Udp(SocketAddr::new(address, args.port))
    };
    let config = ListenerConfig {
        interface: args.interface.clone(),
        hardware_stamps: args.interface.is_some(),
        // Of whatever size they come.
        flow_control: args
            .flow_control
            .map(|level| (level, u16::try_from(Probe::LEN).unwrap_or(u16::MAX))),
        pause: args.pause.map(|pause| Pause::new(pause, args.pause_random)),
        scheduling: Scheduling {
            realtime: args.realtime,
            cpu: args.cpu,
            lock_memory: args.realtime.is_some(),
        },
        ..ListenerConfig::new(source)
    };
    let listener = Listener::open(&config)?;
    if let Some(address) = listener.local_address() {
        output::aside(format_args!("listening on {address}; Ctrl-C ends it"));
    }
    let deadline = match args.duration {
        Some(duration) => Deadline::at(clock::now::<Tai>() + duration),
        None => Deadline::never(),
    };
    let log = listener.run(&deadline, &interrupt::stop_flag())?;
    output::text(if args.csv { csv(&log) } else { summary(&log) })?;
    // Ctrl-C is the ordinary way to end.
    Ok(Exit::Success)
}

fn csv(log: &ListenerLog) -> String {
    let mut text = "flow,seq,scheduled_tai_ns,rx_kernel_tai_ns,rx_hardware_phc_ns\n".to_owned();
    for arrival in &log.arrivals {
        let or_empty = |ns: Option<i64>| ns.map_or_else(String::new, |ns| ns.to_string());
        let _ = writeln!(
            text,
            "{},{},{},{},{}",
            arrival.flow,
            arrival.seq,
            arrival.scheduled.as_ns(),
            or_empty(arrival.rx_kernel.map(teiji::Instant::as_ns)),
            or_empty(arrival.rx_hardware.map(teiji::Instant::as_ns)),
        );
    }
    text
}

fn summary(log: &ListenerLog) -> String {
    let mut text = String::new();
    let mut flows: BTreeMap<u16, Vec<&RxRecord>> = BTreeMap::new();
    for arrival in &log.arrivals {
        flows.entry(arrival.flow).or_default().push(arrival);
    }
    if flows.is_empty() {
        text.push_str("no test frames arrived\n");
    }
    for (flow, arrivals) in flows {
        let _ = writeln!(text, "flow {flow}: {}", Tally::of(&arrivals));
        for (whose, stamp) in [
            (
                "kernel",
                (|r| r.rx_kernel.map(teiji::Instant::as_ns)) as fn(&RxRecord) -> Option<i64>,
            ),
            ("card", |r| r.rx_hardware.map(teiji::Instant::as_ns)),
        ] {
            if let Some(spread) = spread(&arrivals, stamp) {
                let _ = writeln!(text, "  interval minus schedule, by the {whose}: {spread}");
            }
        }
    }
    for (number, what) in [
        (log.foreign, "packets were no test frames"),
        (log.socket_drops, "packets were dropped because the socket's buffer was full"),
    ] {
        if number > 0 {
            let _ = writeln!(text, "{number} {what}");
        }
    }
    text
}

/// What sequence numbers tell of a flow.
struct Tally {
    received: usize,
    missing: u64,
    copies: usize,
    reordered: usize,
}

impl Tally {
    fn of(arrivals: &[&RxRecord]) -> Self {
        let mut seen: Vec<u64> = arrivals.iter().map(|r| r.seq).collect();
        seen.sort_unstable();
        let total = seen.len();
        seen.dedup();
        let span = match (seen.first(), seen.last()) {
            (Some(first), Some(last)) => last - first + 1,
            _ => 0,
        };
        let mut highest = 0;
        let mut reordered = 0;
        for arrival in arrivals {
            if arrival.seq < highest {
                reordered += 1;
            }
            highest = highest.max(arrival.seq);
        }
        Self {
            received: seen.len(),
            missing: span - seen.len() as u64,
            copies: total - seen.len(),
            reordered,
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { received, missing, copies, reordered } = self;
        write!(
            f,
            "{received} frames, {missing} missing between the first and the last, {copies} copies, \
             {reordered} out of order"
        )
    }
}

/// Mean, extremes and tail of how each interval differs from the scheduled one.
fn spread(arrivals: &[&RxRecord], stamp: fn(&RxRecord) -> Option<i64>) -> Option<String> {
    let mut series = teiji_stats::Series::new();
    for pair in arrivals.windows(2) {
        if let (Some(a), Some(b)) = (stamp(pair[0]), stamp(pair[1])) {
            let scheduled = (pair[1].scheduled - pair[0].scheduled).as_ns();
            if scheduled > 0 {
                series.push(b - a - scheduled);
            }
        }
    }
    Some(super::quantity::figures(&series.finish()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_core::reception::Reception;
    use teiji_core::time::Instant;

    #[test]
    fn losses_copies_and_disorder_are_counted_apart() {
        let records: Vec<RxRecord> = [3, 4, 4, 7, 6]
            .into_iter()
            .map(|seq| RxRecord {
                flow: 0,
                seq,
                scheduled: Instant::from_ns(0),
                rx_kernel: None,
                rx_hardware: None,
                taken: Instant::from_ns(0),
                reception: Reception::UNKNOWN,
            })
            .collect();
        let tally = Tally::of(&records.iter().collect::<Vec<_>>());
        assert_eq!(
            tally.to_string(),
            "4 frames, 1 missing between the first and the last, 1 copies, 1 out of order"
        );
    }
}
