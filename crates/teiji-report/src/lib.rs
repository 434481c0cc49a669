//! What a run says to people: a table in the terminal, and `report.html`, one
//! file that opens offline.
//!
//! Nothing here measures or decides: the figures come from a
//! [`Summary`](teiji_record::Summary), the points from the caller. For machines
//! there is `summary.json`, which is the `Summary` itself, by serde.
//!
//! * [`terminal`] – the table of a run, and two runs side by side,
//! * [`compare`] – what two runs have in common, and what their difference is worth,
//! * [`html`] – the report,
//! * [`report`] – what the report shows beyond the summary,
//! * [`topics`] – what is a table or a list in both, each a [`block`] that is built once,
//! * [`paper`] – the published figures that stand beside the measured ones.
#![forbid(unsafe_code)]

mod answer;
pub mod block;
pub mod compare;
pub mod comparison;
pub mod delay;
pub mod directions;
mod facts;
mod figures;
pub mod html;
pub mod junit;
pub mod paper;
pub mod ranking;
pub mod report;
pub mod terminal;
pub mod topics;
pub mod units;
mod verdicts;
pub mod wording;

pub use paper::{Paper, PaperError, PaperFigures};
pub use report::{
    Band, MarginRun, MarginSearch, OffsetSeries, Outlier, Points, Replay, Report, SetupEntry,
    SetupSection, Stamp,
};
