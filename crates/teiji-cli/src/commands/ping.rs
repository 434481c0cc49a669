//! `teiji ping`: measures round trips to a reflector, without an experiment.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use anyhow::bail;
use serde::Serialize;
use teiji::roundtrip::{RequesterConfig, RequesterLog, RoundTrip, request};
use teiji::{Instant, Scheduling};
use teiji_core::domain::{Dscp, RtPriority, SocketPriority};
use teiji_core::time::Span;
use teiji_core::wire::TEIJI_ECHO_PORT;
use teiji_stats::{Deviation, Series};

use super::quantity::span;
use super::ranges;
use crate::exit::{Exit, mistake};
use crate::interrupt;
use crate::output;

/// Measure round trips to a `teiji reflect` on any machine.
///
/// Sends the next request when the reply arrives, or every `--period`. A request without reply
/// costs one time-out, counts as lost, and the measurement continues. The round trip is the time
/// from before the send call until the program has the reply; the processing delay of the
/// reflector's host is shown beside it.
#[derive(clap::Args)]
pub struct Args {
    /// The reflector: an IP address, with port as 10.0.0.2:7789.
    destination: String,
    /// The sending interface. Default: the one that the routing table selects.
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Number of requests.
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,
    /// Interval between two requests. Default: the next request follows the reply.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    period: Option<Span>,
    /// Longest wait for a reply. Default: 1 s, or the period if that is shorter.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    timeout: Option<Span>,
    /// Payload size.
    #[arg(long, value_name = "BYTES", default_value_t = 122)]
    payload: u16,
    #[arg(long, value_name = "N", default_value_t, help = ranges::socket_priority(" of the requests"))]
    priority: SocketPriority,
    #[arg(long, value_name = "N", default_value_t, help = ranges::dscp("of the requests"))]
    dscp: Dscp,
    #[arg(long, value_name = "PRIORITY", help = ranges::realtime())]
    realtime: Option<RtPriority>,
    /// CPU of the requesting thread.
    #[arg(long, value_name = "N")]
    cpu: Option<u16>,
    /// Print one line of CSV per request instead of the summary.
    #[arg(long)]
    csv: bool,
    /// Print the summary as JSON.
    #[arg(long, conflicts_with = "csv")]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let second = Span::from_secs(1);
    let timeout = args.timeout.unwrap_or(args.period.map_or(second, |period| period.min(second)));
    let config = RequesterConfig {
        destination: destination(&args.destination)?,
        interface: args.interface.clone(),
        count: args.count,
        period: args.period,
        timeout,
        payload: args.payload,
        flow: 0,
        priority: args.priority,
        dscp: args.dscp,
        scheduling: Scheduling {
            realtime: args.realtime,
            cpu: args.cpu,
            lock_memory: args.realtime.is_some(),
        },
    };
    let log = request(&config, &interrupt::stop_flag())?;
    let summary = Summary::of(&log);
    if args.csv {
        output::text(csv(&log))?;
    } else if args.json {
        output::json(&summary)?;
    } else {
        output::text(summary.text())?;
    }
    if log.interrupted {
        return Ok(Exit::Interrupted);
    }
    if summary.is_silent() {
        bail!("no reply within {timeout}: is `teiji reflect` running there, and its port open?");
    }
    Ok(Exit::Success)
}

fn destination(text: &str) -> anyhow::Result<SocketAddr> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, TEIJI_ECHO_PORT));
    }
    mistake!("`{text}` is no address; write for example 10.0.0.2, 10.0.0.2:7789 or [fd00::2]:7789")
}

fn csv(log: &RequesterLog) -> String {
    let mut text = "seq,sent_tai_ns,reflector_arrived_tai_ns,reflector_left_tai_ns,\
                    reply_kernel_tai_ns,received_tai_ns,send_error\n"
        .to_owned();
    let or_empty = |ns: Option<i64>| ns.map_or_else(String::new, |ns| ns.to_string());
    for round in &log.rounds {
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{}",
            round.seq,
            round.sent.as_ns(),
            or_empty(round.reflector_arrived.map(Instant::as_ns)),
            or_empty(round.reflector_sent.map(Instant::as_ns)),
            or_empty(round.reply_kernel.map(Instant::as_ns)),
            or_empty(round.received.map(Instant::as_ns)),
            round.send_failed.map_or_else(String::new, |errno| errno.to_string()),
        );
    }
    text
}

/// Result of a measurement. Times in ns.
#[derive(Serialize)]
struct Summary {
    requests: usize,
    lost: usize,
    late: u64,
    duplicated: u64,
    foreign: u64,
    send_failed: usize,
    round_trip: Option<Deviation>,
    /// From the reflector's kernel stamp to its send call.
    reflector: Option<Deviation>,
}

impl Summary {
    fn of(log: &RequesterLog) -> Self {
        Self {
            requests: log.rounds.len(),
            lost: log.lost(),
            late: log.late,
            duplicated: log.duplicated,
            foreign: log.foreign,
            send_failed: log.rounds.iter().filter(|r| r.send_failed.is_some()).count(),
            round_trip: series(log, RoundTrip::time),
            reflector: series(log, RoundTrip::reflector_time),
        }
    }

    /// Whether no reply arrived.
    fn is_silent(&self) -> bool {
        self.lost == self.requests && self.requests > 0
    }

    fn text(&self) -> String {
        let mut text = format!("{} requests, {} lost\n", self.requests, self.lost);
        for (number, what) in [
            (self.send_failed as u64, "requests were not taken by the kernel"),
            (self.late, "replies arrived after their time-out"),
            (self.duplicated, "replies arrived twice"),
            (self.foreign, "packets were no replies"),
        ] {
            if number > 0 {
                let _ = writeln!(text, "{number} {what}");
            }
        }
        for (name, series) in [("round trip", &self.round_trip), ("reflector", &self.reflector)] {
            if let Some(series) = series {
                text.push_str(&lines(name, series));
            }
        }
        text
    }
}

fn series(log: &RequesterLog, of: fn(&RoundTrip) -> Option<Span>) -> Option<Deviation> {
    let mut series = Series::new();
    log.rounds.iter().filter_map(of).for_each(|span| series.push(span.as_ns()));
    series.finish()
}

/// The figures of a series, one per line.
#[expect(clippy::cast_possible_truncation, reason = "a mean of i64 nanoseconds fits in one")]
fn lines(name: &str, series: &Deviation) -> String {
    let mut text = String::new();
    let mut line = |what: &str, ns: i64| {
        let _ = writeln!(text, "{name:10}  {what:<8} {}", Span::from_ns(ns));
    };
    line("min", series.min_ns);
    line("mean", series.mean_ns.round() as i64);
    for percentile in &series.percentiles {
        line(&format!("p{}", percentile.p), percentile.ns);
    }
    line("max", series.max_ns);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_have_the_reflectors_port_unless_they_say_otherwise() {
        let parsed = |text: &str| destination(text).map(|address| address.to_string());
        assert_eq!(parsed("10.0.0.2").unwrap(), "10.0.0.2:7789");
        assert_eq!(parsed("10.0.0.2:99").unwrap(), "10.0.0.2:99");
        assert_eq!(parsed("[fd00::2]").unwrap(), "[fd00::2]:7789");
        assert!(parsed("reflector").unwrap_err().to_string().contains("is no address"));
    }

    #[test]
    fn a_measurement_without_any_reply_is_silent() {
        let round = RoundTrip::sent(0, Instant::from_ns(0));
        let log = RequesterLog { rounds: vec![round], ..RequesterLog::default() };
        let summary = Summary::of(&log);
        assert!(summary.is_silent());
        assert_eq!(summary.text(), "1 requests, 1 lost\n");
        assert!(!Summary::of(&RequesterLog::default()).is_silent());
    }
}
