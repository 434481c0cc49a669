//! What a machine does now: the flows on its wires, its interfaces, qdiscs, flow control and clocks.
//!
//! * [`Reader`] – looks at a machine again and again,
//! * [`sample`] – what it saw, once,
//! * [`interval`] – flows, from one look to the next,
//! * [`table`] – two samples as text,
//! * [`screen`] – that in a terminal,
//! * [`openmetrics`] – a sample for Prometheus,
//! * [`serve`] – over HTTP.
#![forbid(unsafe_code)]

mod drops;
pub mod interval;
pub mod openmetrics;
mod ptp;
mod reader;
pub mod sample;
pub mod screen;
pub mod serve;
pub mod table;
mod watch;

pub use reader::Reader;
pub use sample::Sample;
pub use watch::Watched;
