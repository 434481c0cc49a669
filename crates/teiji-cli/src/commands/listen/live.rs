//! Printing while a listener runs: on a thread of its own, so that a slow reader of the output
//! costs no frame. Each line is flushed.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use anyhow::Context;
use serde::Serialize;
use teiji::{RxRecord, StopFlag};
use teiji_core::time::{Instant, Monotonic, Span};
use teiji_live::interval::{Interval, Intervals};
use teiji_sys::clock;

use super::csv;
use super::report::seen;
use crate::output::{self, OutputError};

/// Arrivals are handed to the printing thread so often.
const HAND_OVER_EVERY: Span = Span::from_millis(50);

/// What is printed while the listener runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A row for each arrival.
    Csv,
    /// A line for each interval and flow.
    Text,
    /// The same as JSON.
    Json,
}

/// The listening thread's end.
pub(super) struct Live {
    sender: Sender<Event>,
    printer: JoinHandle<Result<(), OutputError>>,
    pending: Vec<RxRecord>,
    handed_over: Instant<Monotonic>,
    /// Length of an interval, and when this one ends.
    interval: Option<(Span, Instant<Monotonic>)>,
}

enum Event {
    Arrived(Vec<RxRecord>),
    /// An interval has ended.
    Ended,
}

impl Live {
    /// Starts to print in intervals of `every`, or with [`Form::Csv`] what arrives. If nobody
    /// reads any more, `stop` is set.
    pub(super) fn start(
        form: Form,
        every: Option<Span>,
        deadline: Option<Span>,
        stop: StopFlag,
    ) -> anyhow::Result<Self> {
        let (sender, events) = mpsc::channel();
        let print = move || {
            let printed = print(form, every, Intervals::new(deadline), &events);
            if printed.is_err() {
                stop.stop();
            }
            printed
        };
        let printer = thread::Builder::new()
            .name("printer".to_owned())
            .spawn(print)
            .context("cannot start a thread that prints")?;
        let now = clock::now::<Monotonic>();
        let interval = every.filter(|_| form != Form::Csv).map(|every| (every, now + every));
        Ok(Self { sender, printer, pending: Vec::new(), handed_over: now, interval })
    }

    /// Takes what has arrived since the last call, which may be nothing.
    pub(super) fn take(&mut self, arrivals: &[RxRecord]) {
        let now = clock::now::<Monotonic>();
        while let Some((every, end)) = self.interval.filter(|(_, end)| now >= *end) {
            self.hand_over();
            // A printer that has ended is noticed by the stop flag.
            let _ = self.sender.send(Event::Ended);
            self.interval = Some((every, end + every));
        }
        self.pending.extend_from_slice(arrivals);
        if now - self.handed_over >= HAND_OVER_EVERY {
            self.hand_over();
            self.handed_over = now;
        }
    }

    fn hand_over(&mut self) {
        if !self.pending.is_empty() {
            let _ = self.sender.send(Event::Arrived(std::mem::take(&mut self.pending)));
        }
    }

    /// Prints what is left and ends.
    pub(super) fn finish(mut self) -> Result<(), OutputError> {
        self.hand_over();
        drop(self.sender);
        self.printer.join().unwrap_or(Ok(()))
    }
}

fn print(
    form: Form,
    every: Option<Span>,
    mut intervals: Intervals<u16>,
    events: &Receiver<Event>,
) -> Result<(), OutputError> {
    if form == Form::Csv {
        output::line(csv::HEADER)?;
    }
    let mut end = Span::ZERO;
    for event in events {
        match event {
            Event::Arrived(arrivals) if form == Form::Csv => output::text(csv::rows(&arrivals))?,
            Event::Arrived(arrivals) => {
                for arrival in &arrivals {
                    intervals.add(arrival.flow, &seen(arrival));
                }
            }
            Event::Ended => {
                end = end + every.unwrap_or(Span::ZERO);
                let flows: Vec<_> = intervals.end().into_iter().map(FlowInterval::from).collect();
                if form == Form::Json {
                    output::json_line(&Line::new(end, &flows))?;
                } else {
                    output::text(lines(end, &flows))?;
                }
            }
        }
    }
    Ok(())
}

/// One flow in one interval.
#[derive(Debug, Default, Serialize)]
struct FlowInterval {
    flow: u16,
    frames: u64,
    lost: u64,
    range_ns: Option<i64>,
    latency_ns: Option<[i64; 2]>,
    after_deadline: Option<u64>,
}

impl From<(u16, Interval)> for FlowInterval {
    fn from((flow, of): (u16, Interval)) -> Self {
        let Interval { frames, lost, range_ns, latency_ns, after_deadline, .. } = of;
        Self { flow, frames, lost, range_ns, latency_ns, after_deadline }
    }
}

/// An interval as JSON (docs/talk-listen.md).
#[derive(Serialize)]
struct Line<'a> {
    format: &'static str,
    version: u32,
    r#type: &'static str,
    /// Since the start.
    end_ns: i64,
    flows: &'a [FlowInterval],
}

impl<'a> Line<'a> {
    fn new(end: Span, flows: &'a [FlowInterval]) -> Self {
        Self {
            format: super::report::FORMAT,
            version: super::report::VERSION,
            r#type: "interval",
            end_ns: end.as_ns(),
            flows,
        }
    }
}

fn lines(end: Span, flows: &[FlowInterval]) -> String {
    let at = format!("{:>7.1} s ", end.as_secs_f64());
    if flows.is_empty() {
        return format!("{at} no frames\n");
    }
    flows.iter().fold(String::new(), |lines, flow| lines + &at + " " + &words(flow) + "\n")
}

fn words(of: &FlowInterval) -> String {
    let span = |ns: i64| Span::from_ns(ns).to_string();
    let range = of.range_ns.map(|ns| format!(", range {}", span(ns)));
    let latency =
        of.latency_ns.map(|[low, high]| format!(", latency {} … {}", span(low), span(high)));
    let late = of.after_deadline.map(|number| format!(", {number} after the deadline"));
    let more: String = [range, latency, late].into_iter().flatten().collect();
    format!("flow {}: {} frames, {} lost{more}", of.flow, of.frames, of.lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_known_figures_only() {
        let known = FlowInterval {
            flow: 2,
            frames: 1000,
            lost: 3,
            range_ns: Some(1_500),
            latency_ns: Some([40_000, 75_000]),
            after_deadline: Some(4),
        };
        assert_eq!(
            lines(Span::from_secs(1), &[known]),
            "    1.0 s  flow 2: 1000 frames, 3 lost, range 1.5 µs, latency 40 µs … 75 µs, 4 after \
             the deadline\n"
        );
        let unknown = FlowInterval { frames: 1, ..FlowInterval::default() };
        assert_eq!(lines(Span::from_secs(2), &[unknown]), "    2.0 s  flow 0: 1 frames, 0 lost\n");
        assert_eq!(lines(Span::from_secs(3), &[]), "    3.0 s  no frames\n");
    }
}
