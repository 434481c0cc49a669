//! What a run leaves behind: the run folder, its Parquet records, its summary,
//! and the import of captures.
//!
//! A run folder can be read years later: every file carries its format's
//! version, and reading another version is an error that says so.
#![forbid(unsafe_code)]

pub mod atomic;
mod bridge_headroom;
pub mod capture;
mod columns;
mod frame_columns;
pub mod join;
pub mod json;
pub mod manifest;
mod member;
pub mod nic_count;
pub mod observed;
mod on_wire;
pub mod parquet;
pub mod plan;
pub mod ranking;
pub mod rounds;
pub mod run_folder;
mod statistics;
pub mod summary;
mod table;
#[cfg(test)]
mod test_members;
pub mod verdict;

pub use bridge_headroom::BridgeHeadroom;
pub use join::{Facts, Joined, ListenerFacts, Sighting, join};
pub use json::JsonFileError;
pub use manifest::{LabManifest, Manifest};
pub use member::MemberSummary;
pub use observed::{ObservedCase, ObservedCases};
pub use on_wire::{on_wire, wire_clock_is_tai};
pub use parquet::{About, Records};
pub use plan::FlowPlan;
pub use ranking::{Ranking, ranking};
pub use rounds::{AboutRounds, RoundPlan, RoundRecords, RoundRow};
pub use run_folder::{RunFolder, RunFolderError};
pub use summary::{CaseSummary, Summary};
pub use table::RecordsError;
pub use teiji::ReceiveHeadroom;
pub use teiji_core::frame::FrameRow;
pub use verdict::{Verdict, verdicts};
