//! Captures of LAN analysers, tcpdump and QEMU: reading, writing, counting,
//! and finding the periodic flow in them.
//!
//! One capture is read in one pass, from anything that can be read, in memory that
//! does not grow with the file. Damage never hides what came before it: every frame up to it is
//! delivered, then one error says where and what.
//!
//! * [`reader`] – frames of a pcap or pcapng file, one after the other,
//! * [`writer`] – a pcap file,
//! * [`tail`] – counting the frames of a file that is still being written,
//! * [`mod@sightings`] – the test frames in a capture, for [`crate::join()`],
//! * [`periodic`] – the periodic flows of a capture, and the statistics of one,
//! * [`delay`] – the same frames in two captures.

pub mod analysis;
#[cfg(test)]
mod blocks;
mod buffer;
pub mod delay;
pub mod error;
pub mod flow_key;
pub mod format;
mod identity;
mod matching;
mod pcap;
mod pcapng;
pub mod period;
pub mod periodic;
pub mod reader;
mod sequence;
pub mod sightings;
pub mod tail;
mod track;
mod warnings;
pub mod writer;

pub use analysis::{AnalyzeError, CaptureAnalysis, Options, PeriodSource, SeenFlow};
pub use delay::{DelayAnalysis, DelayError, FlowDelay, Source};
pub use error::CaptureError;
pub use flow_key::{Endpoint, Filter, FlowKey};
pub use format::{Format, Notes};
pub use periodic::analyze;
pub use reader::{CaptureReader, Packet};
pub use sightings::{WireImport, sightings};
pub use tail::{CaptureTail, PcapCounter};
pub use writer::{PcapWriter, Precision};
