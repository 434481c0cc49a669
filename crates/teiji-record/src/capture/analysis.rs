//! What the analysis of a capture is asked and answers, and why it may not.

use std::collections::BTreeMap;
use std::fmt::Write;

use thiserror::Error;

use teiji_core::quantity::grouped;
use teiji_core::time::Span;
use teiji_stats::{Envelope, FlowStatistics};

use super::CaptureError;
use super::flow_key::{Filter, FlowKey};
use super::format::Format;
use crate::summary::{CaseSummary, MemberSummary, PeriodicFlow, Summary, Testbed};

/// Frames a flow needs to be found by itself.
const FEWEST_FRAMES: usize = 8;

/// Flows known at once.
pub const FLOWS: usize = 1_024;

/// What to look for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Which flows to consider.
    pub filter: Filter,
    /// The period, if it is known; otherwise it is found.
    pub period: Option<Span>,
}

impl Options {
    pub(super) fn fewest_frames(&self) -> usize {
        if self.filter.is_empty() { FEWEST_FRAMES } else { 2 }
    }
}

/// Where the period comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodSource {
    /// The caller gave it.
    Given,
    /// The schedule in Teiji's test header.
    TestHeader,
    /// Measured, and within 0.1 % of this round number.
    Rounded,
    /// Measured.
    Measured,
}

/// What a capture shows.
#[derive(Clone, Debug)]
pub struct CaptureAnalysis {
    /// The file's format.
    pub format: Format,
    /// Resolution of its stamps.
    pub resolution: Span,
    /// Frames in it, of any flow.
    pub frames: u64,
    /// From the first to the last frame of the flow.
    pub duration: Span,
    /// The flow.
    pub flow: FlowKey,
    /// Where its period comes from.
    pub period_source: PeriodSource,
    /// Its statistics: the wire is the only timestamp point. Frames before the first
    /// and after the last one seen are unknown: as planned and sent count
    /// those in between.
    pub statistics: FlowStatistics,
    /// Each interval's deviation from the period over the time since the
    /// flow's first frame, both in nanoseconds.
    pub envelope: Envelope,
    /// All periodic flows that match the filter, the analysed one first.
    pub periodic: Vec<PeriodicFlow>,
    /// What a reader must know, in full sentences.
    pub warnings: Vec<String>,
}

/// A flow that was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenFlow {
    /// What its frames have in common.
    pub key: FlowKey,
    /// How many there were.
    pub frames: u64,
    /// Mean distance between two; `None` of one frame.
    pub mean_interval: Option<Span>,
    /// Its period, if it is periodic.
    pub period: Option<Span>,
}

/// Why a capture was not analysed.
#[derive(Debug, Error)]
pub enum AnalyzeError {
    /// It could not be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The requested period is impossible.
    #[error(
        "--period {0} is no distance between two frames; write one above zero, for example \
         --period 1ms"
    )]
    Period(Span),
    /// There is no periodic flow in it.
    #[error("{}", no_flow(*frames, *filtered, *period, seen, damage.as_ref()))]
    NoFlow {
        /// Frames in the capture.
        frames: u64,
        /// The caller requested certain flows.
        filtered: bool,
        /// The period the caller gave.
        period: Option<Span>,
        /// The flows with the most frames.
        seen: Vec<SeenFlow>,
        /// Why the rest of the file could not be read, if it could not.
        damage: Option<CaptureError>,
    },
}

fn no_flow(
    frames: u64,
    filtered: bool,
    period: Option<Span>,
    seen: &[SeenFlow],
    damage: Option<&CaptureError>,
) -> String {
    let among = grouped(frames);
    let mut text = match (frames, filtered, period) {
        (0, ..) => "the capture holds no Ethernet frame with a time stamp".to_owned(),
        (_, false, Some(period)) => {
            format!("no flow among {among} frames has a period of {period}")
        }
        (_, true, _) => format!("no periodic flow among {among} frames matches the options"),
        (_, false, None) => format!("no periodic flow among {among} frames"),
    };
    if let Some(damage) = damage {
        let _ = write!(text, " ({damage})");
    }
    if frames > 0 {
        text.push_str("; flows seen:");
        for flow in seen {
            let _ = write!(text, "\n  {:>10} frames  ", grouped(flow.frames));
            if let Some(period) = flow.period {
                let _ = write!(text, "every {period}  ");
            } else if let Some(interval) = flow.mean_interval {
                let _ = write!(text, "every {interval} on average  ");
            }
            let _ = write!(text, "{}", flow.key);
        }
        text.push_str(match (filtered, period) {
            (true, _) => {
                "\nChange or leave out --flow, --src, --dst, --vlan, --ethertype, --interface or \
                 --period."
            }
            (false, Some(_)) => "\nChange --period, or leave it out: it is found.",
            (false, None) => {
                "\nPoint at one with --src, --dst, --vlan or --ethertype; add --period if you know \
                 it."
            }
        });
    }
    text
}

impl CaptureAnalysis {
    /// The result in the form of a run's summary; `name` says which capture.
    pub fn summary(&self, name: &str) -> Summary {
        let flow = self.flow.to_string();
        let member = MemberSummary {
            capture: Some(name.to_owned()),
            flows: BTreeMap::from([(flow.clone(), self.statistics.clone())]),
            ..MemberSummary::default()
        };
        let case = CaseSummary { about: flow, ..CaseSummary::new("capture", vec![member]) };
        Summary {
            question: "How regular is the periodic flow in this capture?".to_owned(),
            periodic: self.periodic.clone(),
            warnings: self.warnings.clone(),
            ..Summary::new(name, Testbed::Capture, vec![case])
        }
    }
}
