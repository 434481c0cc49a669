//! Send frames on schedule and see when they arrived.
#![forbid(unsafe_code)]

pub mod record;

pub use record::{Fate, ListenerLog, RxRecord, TalkerLog, TxRecord};
