//! Pure statistics over time stamps: deviations, percentiles, histograms and
//! the comparison of cases. No file, socket or clock is opened here.
#![forbid(unsafe_code)]

pub mod deviation;
pub mod flow;

pub use deviation::{Bin, Deviation, Percentile};
pub use flow::{Counts, FlowStatistics, Vantage, VantageStatistics};
