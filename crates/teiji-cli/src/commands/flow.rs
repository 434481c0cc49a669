//! `teiji flow`: sets, removes and shows the flow control of ports.

mod lines;
mod processes;
mod profile;
mod programs;
mod protect;
mod text;

use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use teiji::stop::{self, StopFlag};
use teiji_core::domain::Level;
use teiji_core::time::{Monotonic, Span};
use teiji_experiment::scenario::{LevelSource, LevelTable, LinkMode, PauseScope, Prioflow};
use teiji_net::flow::{FlowPort, FlowStatus, NO_LIMIT, PrioflowChange};
use teiji_net::flow_events::{self, FlowEvents, Receiver};
use teiji_sys::clock;

use super::quantity::span;
use crate::exit::{Exit, mistake};
use crate::interrupt;
use crate::output;
use crate::terminal;

/// Longest delay between an event and its line.
const LOOK_EVERY: Span = Span::from_millis(50);

/// Set up and show lossless flow control: priority levels and pauses on Ethernet ports.
///
/// The qdisc `prioflow` has 16 strict levels. With a link, a receiver whose buffer fills pauses the
/// other end of the wire. Needs the kernel module (kernel/prioflow/README.md). Programs opt in by
/// socket options: `teiji::flow` in Rust, kernel/uapi/prioflow.h in C; or from outside, by
/// `teiji flow run` and `adopt`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Make prioflow the port's qdisc, with a link, or change its settings.
    ///
    /// The other end of the wire needs it, too. Settings that are not given keep their values; a
    /// new qdisc has the defaults. A qdisc of another origin is not replaced.
    Enable(Enable),
    /// Remove prioflow; the kernel's default qdisc comes back.
    Disable {
        /// The interface.
        interface: String,
    },
    /// Show levels, counters and pauses.
    Status {
        /// The interfaces. Default: all that have prioflow.
        interfaces: Vec<String>,
        /// Show unused levels, too, and the table of levels.
        #[arg(long)]
        all: bool,
        /// Print JSON; times in nanoseconds.
        #[arg(long)]
        json: bool,
    },
    /// Check whether flow control works: the peers answer and obey, receivers read.
    ///
    /// Ends with exit code 1 if one does not.
    Check {
        /// The interfaces. Default: all that have prioflow.
        interfaces: Vec<String>,
    },
    /// Print the current settings as a profile for `teiji apply`.
    ///
    /// A profile keeps settings across reboots: docs/profiles.md.
    Profile {
        /// The interfaces. Default: all that have prioflow.
        interfaces: Vec<String>,
    },
    /// Print a line per interval: levels in force, packets per second and level, losses; or a line
    /// per change of a level.
    ///
    /// Ends with Ctrl-C, or after `--for`.
    Watch(Watch),
    /// Start a program whose UDP sockets opt in, without changing the program.
    ///
    /// Works for any program and for the programs that it starts (docs/flow-programs.md). The
    /// program has the process, the signals and the exit code of this command; 127 if it is not
    /// found, 126 if it cannot be started.
    Run(programs::Run),
    /// Opt in the UDP sockets that a running program has now, and print them.
    Adopt(programs::Adopt),
    /// Protect sent packets of programs that do not opt in, by port or control group; without
    /// options, list the rules.
    ///
    /// No prioflow queue drops such a packet, and its sender waits for its buffer. It holds for all
    /// ports of this network namespace until the next boot; the printed setting keeps it.
    Protect(protect::Args),
}

#[derive(clap::Args)]
struct Enable {
    /// The interface.
    interface: String,
    /// Pause frame type: off; level frames as mac-control (ethertype 0x8808) or experimental
    /// (0x88B5, for NICs that consume 0x8808); pfc or pause for standard equipment. A new qdisc has
    /// mac-control.
    #[arg(long, value_name = "MODE", value_parser = named(LinkMode::ALL, LinkMode::name))]
    link: Option<LinkMode>,
    /// Source of a frame's level: dscp (the default), tos, pcp or priority.
    #[arg(long, value_name = "SOURCE", value_parser = named(LevelSource::ALL, LevelSource::name))]
    by: Option<LevelSource>,
    /// Level of each value of the source, from 0 on, separated by commas: 64 for dscp, 16 for tos
    /// and priority, 8 for pcp. `--by` without `--table` sets the default table.
    #[arg(long, value_name = "LEVELS", value_parser = LevelTable::from_str)]
    table: Option<LevelTable>,
    /// Queue limit in packets; packets of sockets that opted in do not count.
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Queue limit in bytes, 1514 at least, or `none` (the default); packets of sockets that opted
    /// in do not count.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    bytes: Option<u32>,
    /// Pause-storm watchdog timeout: after a longer pause the peer's pause requests are
    /// ignored for as long; 0: no watchdog. 10 s by default.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    storm: Option<Span>,
    /// Longest time from sending XOFF to the peer's last frame, without the frames in rings:
    /// determines the receivers' headroom. 1 ms by default.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    reaction: Option<Span>,
    /// Most frames in the peer's transmit ring and the own receive ring. 64 by default.
    #[arg(long, value_name = "FRAMES", value_parser = frames(*Prioflow::RING.start()))]
    ring: Option<u32>,
    /// Bridge: most frames of one level received on this port and queued at another; 0, the
    /// default: as many as needed.
    #[arg(long, value_name = "FRAMES", value_parser = frames(0))]
    room: Option<u32>,
    /// Levels that the peer is to pause when one is congested: that level alone, or also all levels
    /// below. `level` by default.
    #[arg(long, value_name = "SCOPE", value_parser = named(PauseScope::ALL, PauseScope::name))]
    scope: Option<PauseScope>,
    /// The peer can pause the levels below this one: 0 obeys nothing, 15 (the default) everything.
    /// For a peer that is not trusted.
    #[arg(long, value_name = "LEVEL")]
    obey: Option<Level>,
    /// Bridge: whether frames to transmit on this port may pause the ports that they come from;
    /// if not, they can be dropped here. For a peer that is not trusted.
    #[arg(long, value_name = "YES", value_parser = named([true, false], |yes| if yes { "yes" } else { "no" }))]
    propagate: Option<bool>,
    /// Set the transmit level by hand: the port sends nothing below it; 0: it sends all.
    #[arg(long, value_name = "LEVEL")]
    send_level: Option<Level>,
    /// End the transmit level after this time. Without `--for` it stays until it is changed.
    #[arg(long = "for", value_name = "DURATION", value_parser = span, requires = "send_level")]
    lifetime: Option<Span>,
    /// Set the receive level by hand: the peer sends nothing below it; 0: it may send all.
    #[arg(long, value_name = "LEVEL")]
    receive_level: Option<Level>,
}

#[derive(clap::Args)]
struct Watch {
    /// The interface.
    interface: String,
    /// The interval.
    #[arg(long, value_name = "DURATION", value_parser = span, default_value = "1s")]
    every: Span,
    /// Print a line per change of a level and per trip of the pause-storm watchdog, with the
    /// kernel's timestamp.
    #[arg(long, conflicts_with = "every")]
    events: bool,
    /// End after this time.
    #[arg(long = "for", value_name = "DURATION", value_parser = span)]
    duration: Option<Span>,
}

/// One of `all`, by its name.
fn named<T, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.map(name)).map(move |word| {
        let named = all.into_iter().find(|&one| name(one) == word);
        named.expect("clap has checked it")
    })
}

/// A number of frames that the kernel module accepts, from `least` on.
fn frames(least: u32) -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(i64::from(least)..=i64::from(Prioflow::MOST_FRAMES))
}

/// A limit in bytes, or none.
fn bytes(text: &str) -> Result<u32, String> {
    let (least, most) = (Prioflow::BYTES.start(), Prioflow::BYTES.end());
    let bad = || format!("write a number from {least} to {most}, or none");
    match text {
        "none" => Ok(NO_LIMIT),
        _ => text.parse().ok().filter(|bytes| Prioflow::BYTES.contains(bytes)).ok_or_else(bad),
    }
}

/// Refuses an option's time that the kernel module cannot take.
fn whole(
    option: &str,
    given: Option<Span>,
    unit: Span,
    range: RangeInclusive<Span>,
) -> anyhow::Result<()> {
    let Some(span) = given else { return Ok(()) };
    let (least, most) = (range.start(), range.end());
    if span < *least {
        mistake!("{option} takes {least} at least, not {span}");
    } else if span > *most {
        mistake!("{option} takes {most} at most, not {span}");
    } else if span.as_ns() % unit.as_ns() != 0 {
        mistake!("{option} takes whole multiples of {unit}, not {span}");
    }
    Ok(())
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.what {
        What::Enable(args) => enable(args),
        What::Disable { interface } => {
            FlowPort::open(interface)?.disable()?;
            output::line(format_args!(
                "{interface}: no flow control any more (tc qdisc del dev {interface} root)"
            ))?;
            Ok(Exit::Success)
        }
        What::Status { interfaces, all, json } => status(interfaces, *all, *json),
        What::Check { interfaces } => check(interfaces),
        What::Profile { interfaces } => profile::print(&profile::statuses(interfaces)?),
        What::Watch(args) => watch(args, &interrupt::stop_flag()),
        What::Run(args) => programs::run(args),
        What::Adopt(args) => programs::adopt(args),
        What::Protect(args) => protect::run(args),
    }
}

fn enable(args: &Enable) -> anyhow::Result<Exit> {
    let (us, ms) = (Span::from_micros(1), Span::from_millis(1));
    whole("--storm", args.storm, ms, Span::ZERO..=Prioflow::LONGEST_STORM)?;
    whole("--reaction", args.reaction, us, us..=Prioflow::LONGEST_REACTION)?;
    whole("--for", args.lifetime, ms, ms..=Span::from_ns(i64::MAX))?;
    let mut port = FlowPort::open(&args.interface)?;
    let link = args.link.or_else(|| port.status().is_err().then_some(LinkMode::MacControl));
    let change = PrioflowChange {
        limit: args.limit,
        bytes: args.bytes,
        source: args.by,
        table: args.table,
        link,
        storm: args.storm,
        reaction: args.reaction,
        ring: args.ring,
        room: args.room,
        scope: args.scope,
        obey: args.obey,
        propagate: args.propagate,
        send_level: args.send_level,
        lifetime: args.lifetime,
        receive_level: args.receive_level,
    };
    let command = port.enable(&change)?;
    let status = port.status()?;
    output::line(command)?;
    output::text(text::settings(&status, &terminal::glyphs()))?;
    if change.link.is_none() && status.settings.link == LinkMode::Off {
        output::line(
            "  without a link, as it was: the peer is sent no pause requests; \
             --link mac-control changes that",
        )?;
    }
    Ok(Exit::Success)
}

fn status(interfaces: &[String], all: bool, json: bool) -> anyhow::Result<Exit> {
    let found = profile::statuses(interfaces)?;
    if json {
        output::json(&found)?;
    } else if found.is_empty() {
        output::line("no interface here has flow control; `teiji flow enable` gives it some")?;
    }
    for (index, status) in found.iter().enumerate().filter(|_| !json) {
        let gap = if index == 0 { "" } else { "\n" };
        output::text(format_args!("{gap}{}", text::status(status, all, &terminal::glyphs())))?;
    }
    if !json && !found.is_empty() {
        // Without the right to see them, the rest is what there is to say.
        let receivers = named_receivers().unwrap_or_default();
        output::text(text::receivers(&receivers, &terminal::glyphs()))?;
    }
    Ok(Exit::Success)
}

/// The receivers of this network namespace, each with the processes that have it.
fn named_receivers() -> anyhow::Result<Vec<(Receiver, String)>> {
    let found = flow_events::receivers()?;
    Ok(found.into_iter().map(|receiver| (receiver, processes::of_socket(&receiver))).collect())
}

/// Whether flow control works: the peers obey, no receiver stays away, nothing was forged.
fn check(interfaces: &[String]) -> anyhow::Result<Exit> {
    let glyphs = terminal::glyphs();
    let found = profile::statuses(interfaces)?;
    let mut alarms = 0;
    if found.is_empty() {
        output::line("no interface here has flow control; `teiji flow enable` gives it some")?;
        return Ok(Exit::Failure);
    }
    for status in &found {
        let FlowStatus { interface, peer, settings, .. } = status;
        if settings.link == LinkMode::Off {
            alarms += 1;
            output::line(format_args!(
                "{interface}: no link: neither end pauses the other (teiji flow enable {interface} \
                 --link mac-control)"
            ))?;
            continue;
        }
        alarms += usize::from(peer.state.is_alarm());
        output::line(format_args!("{interface}: {}", text::peer(peer, settings.link)))?;
        if let Some(pause) = text::mac_pause(status) {
            output::line(format_args!("  {pause}"))?;
        }
        if let Some(warning) = text::ring_warning(status, &glyphs) {
            output::line(format_args!("  {warning}"))?;
        }
    }
    for (receiver, who) in named_receivers()?.iter().filter(|(receiver, _)| receiver.abandoned) {
        alarms += 1;
        output::text(text::receivers(&[(*receiver, who.clone())], &glyphs))?;
    }
    Ok(if alarms == 0 { Exit::Success } else { Exit::Failure })
}

fn watch(args: &Watch, stopped: &StopFlag) -> anyhow::Result<Exit> {
    if args.every.as_ns() <= 0 || args.duration.is_some_and(|span| span.as_ns() <= 0) {
        mistake!("--every and --for take times above zero, for example --every 500ms");
    }
    let glyphs = terminal::glyphs();
    let mut port = FlowPort::open(&args.interface)?;
    if args.events {
        return watch_events(&mut port, args.duration, stopped);
    }
    let mut before: FlowStatus = port.status()?;
    let start = clock::now::<Monotonic>();
    let end = args.duration.map(|duration| start + duration);
    let (mut since, mut next) = (start, start + args.every);
    output::line(lines::WATCHED)?;
    while end.is_none_or(|end| next <= end) && stop::sleep_until(next, clock::now(), stopped) {
        let now = clock::now::<Monotonic>();
        let after = port.status()?;
        output::line(lines::watched(&before, &after, [start, since, now], &glyphs))?;
        (before, since, next) = (after, now, next + args.every);
    }
    // Ctrl-C is the ordinary way to end.
    Ok(Exit::Success)
}

fn watch_events(
    port: &mut FlowPort,
    duration: Option<Span>,
    stopped: &StopFlag,
) -> anyhow::Result<Exit> {
    let mut events = FlowEvents::open(port)?;
    let start = clock::now::<Monotonic>();
    let end = duration.map(|duration| start + duration);
    let status = port.status()?;
    let (glyphs, link) = (terminal::glyphs(), status.settings.link);
    output::line(lines::EVENTS)?;
    output::line(lines::now(start, &status, &glyphs))?;
    loop {
        let now = clock::now::<Monotonic>();
        let over =
            end.is_some_and(|end| end <= now) || !stop::sleep_until(now + LOOK_EVERY, now, stopped);
        let batch = events.take();
        for event in &batch.events {
            output::line(lines::event_line(start, event, link, &glyphs))?;
        }
        for event in &batch.receivers {
            let who = processes::of_socket(&event.receiver);
            output::line(lines::receiver_event(start, event, &who, &glyphs))?;
        }
        if batch.lost {
            output::line(lines::LOST)?;
        }
        if over {
            return Ok(Exit::Success);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_in_bytes_has_the_range_of_its_key() {
        assert_eq!(bytes("none"), Ok(NO_LIMIT));
        assert_eq!([bytes("1514"), bytes("4294967294")], [Ok(1514), Ok(NO_LIMIT - 1)]);
        for refused in ["1513", "4294967295"] {
            assert!(bytes(refused).unwrap_err().contains("from 1514 to 4294967294"), "{refused}");
        }
    }
}
