//! What a run leaves behind: the run folder, its Parquet records, its summary,
//! and the import of captures.
//!
//! A run folder can be read years later: every file carries its format's
//! version, and reading another version is an error that says so.
#![forbid(unsafe_code)]

pub mod frame;
pub mod summary;

pub use frame::FrameRow;
pub use summary::{CaseSummary, MemberSummary, Summary};
