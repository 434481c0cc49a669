//! `teiji reflect`: replies to round-trip requests, without an experiment.

use std::fmt::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use teiji::roundtrip::{ReflectedCounts, ReflectorConfig};
use teiji::{Deadline, Reflector, Scheduling};
use teiji_core::domain::{Dscp, RtPriority, SocketPriority};
use teiji_core::time::{Span, Tai};
use teiji_core::wire::TEIJI_ECHO_PORT;
use teiji_sys::clock;

use super::quantity::span;
use super::ranges;
use crate::exit::{Exit, mistake};
use crate::interrupt;
use crate::output;

/// Reply to the requests of `teiji ping`, at once and at a stated priority.
///
/// Ends with Ctrl-C, or after `--for`.
#[derive(clap::Args)]
pub struct Args {
    /// The interface to reply on. Default: all interfaces.
    interface: Option<String>,
    /// UDP port.
    #[arg(long, value_name = "PORT", default_value_t = TEIJI_ECHO_PORT)]
    port: u16,
    /// UDP address to bind. Default: all addresses, IPv4 and IPv6.
    #[arg(long, value_name = "ADDRESS")]
    address: Option<IpAddr>,
    #[arg(long, value_name = "N", default_value_t, help = ranges::socket_priority(" of the replies"))]
    priority: SocketPriority,
    #[arg(long, value_name = "N", default_value_t, help = ranges::dscp("of the replies, independent of that of the requests"))]
    dscp: Dscp,
    /// Poll the NIC for this long before waiting for a request (`SO_BUSY_POLL`), in whole
    /// microseconds.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    busy_poll: Option<Span>,
    /// End after this time.
    #[arg(long = "for", value_name = "DURATION", value_parser = span)]
    duration: Option<Span>,
    #[arg(long, value_name = "PRIORITY", help = ranges::realtime())]
    realtime: Option<RtPriority>,
    /// CPU of the replying thread.
    #[arg(long, value_name = "N")]
    cpu: Option<u16>,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.duration.is_some_and(|d| d.as_ns() <= 0) {
        mistake!("--for takes a time above zero, for example --for 10s");
    }
    if args.busy_poll.is_some_and(|time| time < Span::from_micros(1)) {
        mistake!("--busy-poll takes a microsecond or more, for example --busy-poll 50us");
    }
    // An IPv6 socket on :: takes IPv4 as well.
    let address = args.address.unwrap_or(Ipv6Addr::UNSPECIFIED.into());
    let reflector = Reflector::open(&ReflectorConfig {
        address: SocketAddr::new(address, args.port),
        interface: args.interface.clone(),
        priority: args.priority,
        dscp: args.dscp,
        busy_poll: args.busy_poll,
        scheduling: Scheduling {
            realtime: args.realtime,
            cpu: args.cpu,
            lock_memory: args.realtime.is_some(),
        },
    })?;
    if let Some(address) = reflector.local_address() {
        output::aside(format_args!("answering on {address}; Ctrl-C ends it"));
    }
    let deadline = match args.duration {
        Some(duration) => Deadline::at(clock::now::<Tai>() + duration),
        None => Deadline::never(),
    };
    let counts = reflector.run(&deadline, &interrupt::stop_flag())?;
    output::text(summary(counts))?;
    // Ctrl-C is the ordinary way to end.
    Ok(Exit::Success)
}

fn summary(counts: ReflectedCounts) -> String {
    let mut text = format!("{} requests answered\n", counts.answered);
    for (number, what) in [
        (counts.failed, "replies were not taken by the kernel"),
        (counts.foreign, "packets were no requests"),
    ] {
        if number > 0 {
            let _ = writeln!(text, "{number} {what}");
        }
    }
    text
}
