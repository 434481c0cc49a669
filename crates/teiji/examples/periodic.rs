//! A periodic flow of test frames from the command line, and how it went.
//!
//! Takes the arguments of `benches/talker-minimal.c`, so that the two can be
//! compared:
//!
//! ```text
//! periodic IFACE DEST PORT PERIOD_NS FRAMES MARGIN_NS|0 STAMPS PAYLOAD
//! ```

use std::net::IpAddr;
use std::str::FromStr;

use teiji::talker::{self, Destination, LaunchMode, TalkerConfig, TxStamps};
use teiji::{Schedule, Span, StopFlag};

fn argument<T: FromStr>(arguments: &[String], at: usize, name: &str) -> Result<T, String> {
    let text = arguments.get(at).ok_or(format!("the argument {name} is missing"))?;
    text.parse().map_err(|_| format!("`{text}` is no value for {name}"))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let interface: String = argument(&arguments, 0, "IFACE")?;
    let address: IpAddr = argument(&arguments, 1, "DEST")?;
    let port: u16 = argument(&arguments, 2, "PORT")?;
    let period = Span::from_ns(argument(&arguments, 3, "PERIOD_NS")?);
    let frames: u64 = argument(&arguments, 4, "FRAMES")?;
    let margin = Span::from_ns(argument(&arguments, 5, "MARGIN_NS")?);
    let stamps: u8 = argument(&arguments, 6, "STAMPS")?;

    let config = TalkerConfig {
        payload: argument(&arguments, 7, "PAYLOAD")?,
        launch: (margin > Span::ZERO).then_some(LaunchMode::Exact),
        stamps: if stamps == 0 { TxStamps::None } else { TxStamps::Kernel },
        ..TalkerConfig::new(&interface, Destination::Udp((address, port).into()))
    };
    let talker = talker::Prepared::new(&config, frames)?.ready()?;
    let base = talker.first_departure(period, margin);
    let log = talker.run(&Schedule { base, period, margin }, &StopFlag::new())?;

    let refused = log.frames.iter().filter(|frame| frame.tx_error.is_some()).count();
    let late = log.frames.iter().map(|f| f.woke - (f.scheduled - margin)).max();
    println!(
        "{} frames, {refused} refused; the latest wake-up was {late:?} late",
        log.frames.len()
    );
    // The first figure is the thread's time on a processor, in ns.
    let used = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    println!("cpu_ns {}", used.split(' ').next().unwrap_or_default());
    Ok(())
}
