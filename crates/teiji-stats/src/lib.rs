//! Pure statistics over time stamps: deviations, percentiles, histograms and
//! the comparison of cases. No file, socket or clock is opened here.
//!
//! * [`series`] – a stream of deviations becomes a [`Deviation`],
//! * [`rounds`] – round trips become [`RoundStatistics`],
//! * [`fold`] – the frames of a flow become [`FlowStatistics`],
//! * [`missed`] – how its frames missed their time,
//! * [`intervals`] – what an interval between two frames is,
//! * [`delay`] – the delay of frames between two points,
//! * [`envelope`] – a series of any length becomes what a plot needs,
//! * [`margin`] – from stations to a transmission margin and an ETF delta,
//! * [`tail`] – a latency's far end: bounds for small probabilities,
//! * [`wire`] – frames on a wire whose time is computed: their [`waits`] for each other,
//!   the [`gates`] of their class, its [`shaping`], what arrives after [`xoff`],
//! * [`compare`] – two series side by side, and an ensemble's spread.
#![forbid(unsafe_code)]

mod buckets;
pub mod compare;
pub mod delay;
pub mod deviation;
pub mod envelope;
pub mod flow;
pub mod fold;
mod frame;
pub mod gates;
pub mod intervals;
pub mod margin;
pub mod missed;
pub mod rounds;
pub mod series;
pub mod shaping;
pub mod tail;
mod terms;
mod timestamp_point;
pub mod waits;
pub mod wire;
pub mod xoff;

pub use compare::{Comparison, Ensemble, Spread};
pub use delay::{DelayCounts, DelayStatistics, PointCounts};
pub use deviation::{Bin, Deviation, Percentile};
pub use envelope::{Envelope, EnvelopeBucket};
pub use flow::{Counts, FlowStatistics, PointStatistics};
pub use gates::GateStatistics;
pub use intervals::Intervals;
pub use margin::{Misses, Recommendation, Stations};
pub use missed::{HandOver, Missed};
pub use rounds::{Part, RoundCounts, RoundStatistics, RoundTerms, RoundView};
pub use series::{Series, median};
pub use shaping::ShapingStatistics;
pub use tail::{Evidence, NoFit, TailBound, TailFit};
pub use terms::FlowTerms;
pub use timestamp_point::TimestampPoint;
pub use waits::Wait;
pub use wire::{Station, WireFrame, WireStatistics};
pub use xoff::XoffStatistics;
