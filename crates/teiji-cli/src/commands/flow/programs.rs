//! `teiji flow run` and `teiji flow adopt`: flow control for programs that do not opt in themselves
//! (docs/flow-programs.md).

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};
use teiji::flow::{FlowError, OptIn, OptedIn, ProgramSocket, Receiving, Sending};
use teiji_core::domain::{DomainError, Level};
use teiji_net::flow::FlowPort;
use teiji_report::units::{Glyphs, count};

use crate::commands::listen::paused_level;
use crate::exit::{Exit, mistake};
use crate::output;
use crate::terminal;

/// `--send` without a level.
const PERMITTED: &str = "permitted";

#[derive(clap::Args)]
pub struct Run {
    #[command(flatten)]
    directions: Directions,
    /// Where flow control is not available, report that and start the program without it.
    #[arg(long)]
    if_available: bool,
    /// The program and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
}

#[derive(clap::Args)]
pub struct Adopt {
    /// The process.
    #[arg(value_name = "PID")]
    pid: u32,
    #[command(flatten)]
    directions: Directions,
    /// Only the sockets with this local port.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Only the socket with this descriptor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    fd: Option<i32>,
    /// Opt out instead, in both directions.
    #[arg(long, conflicts_with = "directions")]
    release: bool,
}

#[derive(clap::Args)]
#[group(id = "directions", multiple = true)]
struct Directions {
    /// Protect sent packets up to this level, or up to the highest that is permitted: a send blocks
    /// while the prioflow queue is full, instead of losing packets.
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true,
          default_missing_value = PERMITTED, value_parser = sending)]
    send: Option<Sending>,
    /// Pause the peers at this level before a socket's receive buffer overflows. The buffer is
    /// increased by the headroom for in-flight frames.
    #[arg(long, value_name = "LEVEL", value_parser = paused_level)]
    receive: Option<Level>,
    /// Smallest datagram that is received, in octets: the smaller, the more headroom.
    #[arg(long, value_name = "OCTETS", default_value_t = 1, requires = "receive",
          value_parser = clap::value_parser!(u32).range(1..=65_507))]
    payload: u32,
}

fn sending(text: &str) -> Result<Sending, DomainError> {
    match text {
        PERMITTED => Ok(Sending::Permitted),
        level => level.parse().map(Sending::UpTo),
    }
}

impl Directions {
    fn opt_in(&self) -> anyhow::Result<OptIn> {
        let Self { send, receive, payload } = *self;
        if send.is_none() && receive.is_none() {
            mistake!(
                "give --send, --receive LEVEL, or both: which of the program's sockets are to have \
                 flow control"
            );
        }
        Ok(OptIn { send, receive: receive.map(|level| Receiving { level, payload }) })
    }
}

/// Becomes the program. Returns only if that fails.
pub fn run(args: &Run) -> anyhow::Result<Exit> {
    let opt_in = args.directions.opt_in()?;
    let [program, arguments @ ..] = &args.command[..] else { mistake!("name a program") };
    let name = program.to_string_lossy();
    match begin(&opt_in) {
        Err(error) if args.if_available => {
            output::aside(format_args!("teiji: {name} starts without flow control: {error:#}"));
        }
        other => other.with_context(|| {
            format!("{name} is not started, because its sockets cannot have flow control")
        })?,
    }
    let error = Command::new(program).args(arguments).exec();
    output::aside(format_args!("teiji: cannot start {name}: {error}"));
    Ok(if error.kind() == ErrorKind::NotFound { Exit::NotFound } else { Exit::NotStarted })
}

/// Whatever this process becomes, its UDP sockets opt in.
fn begin(opt_in: &OptIn) -> anyhow::Result<()> {
    ports_exist(opt_in)?;
    let try_out = UdpSocket::bind("0.0.0.0:0").context("cannot open a UDP socket")?;
    opt_in.apply(&try_out).map_err(explain)?;
    drop(try_out);
    // Those of systemd's socket units, and of inetd.
    for socket in teiji::flow::udp_sockets(std::process::id()).unwrap_or_default() {
        if let Err(error) = socket.opt_in(opt_in) {
            warn(&format!("{} has no flow control: {}", place(&socket), explain(error)));
        }
    }
    Ok(teiji::flow::supervise_this_process(opt_in, warn)?)
}

fn warn(sentence: &str) {
    output::aside(format_args!("teiji: {sentence}"));
}

/// Protection is without effect where no device has prioflow, and the kernel grants it all the same.
fn ports_exist(opt_in: &OptIn) -> anyhow::Result<()> {
    if opt_in.send.is_some() && FlowPort::all()?.is_empty() {
        bail!("no interface here has prioflow: `teiji flow enable INTERFACE`");
    }
    Ok(())
}

/// A refusal, with a next step for somebody who cannot change the program.
fn explain(error: FlowError) -> anyhow::Error {
    match error {
        FlowError::NoHeadroom { frames, headroom, buffer } => anyhow::anyhow!(
            "{frames} frames can arrive after XOFF and take {headroom} bytes, but the receive \
             buffer can only have {buffer}: run teiji as root, or set the sysctl \
             net.core.rmem_max to {headroom}, or give the size of the smallest datagram \
             (--payload OCTETS)"
        ),
        FlowError::NoRoom { buffer, reserve, reserved, room } => anyhow::anyhow!(
            "a send buffer of {buffer} bytes takes {reserve} bytes of the room for protected \
             packets, and {reserved} of {room} are taken: increase the sysctl \
             net.prioflow.send_room"
        ),
        other => other.into(),
    }
}

pub fn adopt(args: &Adopt) -> anyhow::Result<Exit> {
    let opt_in = if args.release { None } else { Some(args.directions.opt_in()?) };
    let pid = args.pid;
    let all = teiji::flow::udp_sockets(pid)?;
    let wanted = |socket: &&ProgramSocket| {
        let port = socket.local.map(|local| local.port());
        args.port.is_none_or(|wanted| port == Some(wanted))
            && args.fd.is_none_or(|fd| socket.descriptors.contains(&fd))
    };
    let chosen: Vec<&ProgramSocket> = all.iter().filter(wanted).collect();
    if chosen.is_empty() {
        bail!("{}", none_chosen(pid, &all));
    }
    if let Some(opt_in) = opt_in.filter(|_| is_in_this_namespace(pid)) {
        ports_exist(&opt_in)?;
    }
    let mut refused = false;
    for socket in chosen {
        let result = match &opt_in {
            Some(opt_in) => {
                socket.opt_in(opt_in).map(|opted_in| has(&opted_in, &terminal::glyphs()))
            }
            None => socket.opt_out().map(|()| "no flow control any more".to_owned()),
        };
        match result {
            Ok(outcome) => output::line(format_args!("{}: {outcome}", place(socket)))?,
            Err(error) => {
                refused = true;
                warn(&format!("{}: {}", place(socket), explain(error)));
            }
        }
    }
    Ok(if refused { Exit::Failure } else { Exit::Success })
}

/// Whether the devices that this process sees are those of the other one.
fn is_in_this_namespace(pid: u32) -> bool {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).ok();
    namespace(&pid.to_string()) == namespace("self")
}

fn none_chosen(pid: u32, all: &[ProgramSocket]) -> String {
    if all.is_empty() {
        return format!(
            "process {pid} has no UDP socket now: its children may have, or it opens them later \
             (`teiji flow run` opts in those)"
        );
    }
    let all: Vec<String> = all.iter().map(place).collect();
    format!("process {pid} has no UDP socket of this port or descriptor; it has {}", all.join("; "))
}

/// A socket of a program, for people.
fn place(socket: &ProgramSocket) -> String {
    let numbers: Vec<String> = socket.descriptors.iter().map(i32::to_string).collect();
    let noun = if numbers.len() == 1 { "descriptor" } else { "descriptors" };
    let bound = match socket.local {
        Some(local) if local.port() > 0 => format!("bound to {local}"),
        _ => "not bound".to_owned(),
    };
    let connected = socket.peer.map(|peer| format!(", connected to {peer}")).unwrap_or_default();
    format!("{noun} {}, {bound}{connected}", numbers.join(", "))
}

/// What a socket has, for people.
fn has(opted_in: &OptedIn, glyphs: &Glyphs) -> String {
    let send = opted_in.send.map(|level| format!("sends up to level {level} are protected"));
    let receive = opted_in.receive.map(|(level, buffer)| {
        let buffer = count(buffer.into(), glyphs);
        format!("pauses its peers at level {level}, with a receive buffer of {buffer} bytes")
    });
    let parts: Vec<String> = [send, receive].into_iter().flatten().collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flow {
        #[command(subcommand)]
        what: What,
    }

    #[derive(clap::Subcommand)]
    enum What {
        Run(Run),
        Adopt(Adopt),
    }

    fn parse(words: &str) -> Result<What, String> {
        let words = ["flow"].into_iter().chain(words.split_whitespace());
        Flow::try_parse_from(words).map(|flow| flow.what).map_err(|error| error.to_string())
    }

    fn run_of(words: &str) -> Run {
        match parse(words) {
            Ok(What::Run(run)) => run,
            Ok(What::Adopt(_)) => panic!("adopt"),
            Err(error) => panic!("{error}"),
        }
    }

    fn level(number: u8) -> Level {
        Level::new(number).unwrap()
    }

    #[test]
    fn what_follows_the_program_is_the_programs() {
        for words in ["run --send -- iperf3 --send -u", "run --send iperf3 --send -u"] {
            let run = run_of(words);
            assert_eq!(run.command, ["iperf3", "--send", "-u"]);
            let opt_in = run.directions.opt_in().unwrap();
            assert_eq!(opt_in, OptIn { send: Some(Sending::Permitted), receive: None });
        }
    }

    #[test]
    fn each_direction_has_a_level_of_its_own() {
        let opt_in = run_of("run --send=4 --receive 3 --payload 1200 cat").directions.opt_in();
        let receive = Some(Receiving { level: level(3), payload: 1200 });
        assert_eq!(opt_in.unwrap(), OptIn { send: Some(Sending::UpTo(level(4))), receive });
    }

    #[test]
    fn mistakes_are_refused() {
        for (words, expected) in [
            ("run --send", "<PROGRAM>"),
            ("run --send=16 cat", "0..=15"),
            ("run --receive 15 cat", "0..=14"),
            ("run --send --payload 100 cat", "--receive <LEVEL>"),
            ("run --receive 3 --payload 0 cat", "1..=65507"),
            ("adopt", "<PID>"),
            ("adopt 1 --send --release", "cannot be used with"),
            ("adopt 1 --send --port 0", "1..=65535"),
            ("adopt x --send", "invalid digit"),
        ] {
            let error = parse(words).err().unwrap_or_else(|| panic!("accepted: {words}"));
            assert!(error.contains(expected), "{words}: {error}");
        }
        let error = run_of("run cat").directions.opt_in().unwrap_err().to_string();
        assert!(error.contains("--receive LEVEL"), "{error}");
        assert!(matches!(parse("adopt 7 --release --fd 3"), Ok(What::Adopt(_))));
    }

    #[test]
    fn a_socket_is_described_by_its_settings() {
        let both = OptedIn {
            send: Some(Level::MOST),
            receive: Level::new(3).map(|level| (level, 383_488)),
        };
        assert_eq!(
            has(&both, &Glyphs::ASCII),
            "sends up to level 15 are protected; pauses its peers at level 3, with a receive \
             buffer of 383 488 bytes"
        );
    }
}
