//! Send frames on schedule and see when they arrived.
//!
//! ```no_run
//! use teiji::domain::{RtPriority, SocketPriority};
//! use teiji::{Cycle, Margin, Spans, Talker};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let frame = [0; 64];
//! const CLASS: SocketPriority = SocketPriority::new(3).unwrap();
//! const REALTIME: RtPriority = RtPriority::new(80).unwrap();
//!
//! let margin = Margin::calibrated()?; // from `teiji margin eth0`
//! let mut talker = Talker::udp("enp3s0", "10.0.0.2:7788")?.priority(CLASS).launch_time().open()?;
//! for cycle in Cycle::every(1.millis()).ahead(margin).realtime(REALTIME).start()? {
//!     talker.send_at(cycle.departure(), &frame)?; // Err(Missed { by }) says why
//! }
//! # Ok(()) }
//! ```
//!
//! * [`Cycle`] wakes a thread at absolute instants on `CLOCK_TAI` and says how
//!   late it woke,
//! * [`Talker`] sends frames, now or at an instant (`SO_TXTIME`),
//! * [`Listener`] receives them with the kernel's and the NIC's time stamps,
//! * [`roundtrip::request`] asks a [`Reflector`] for replies and records when they
//!   came,
//! * [`talker::run`] and [`listener::Listener::run`] are the measuring loops:
//!   every frame on record, as a [`TxRecord`] and an [`RxRecord`].
//!
//! What it is not: it does not set up interfaces, queues or clocks (the
//! `teiji` command does), and it computes no statistics.
//!
//! Sockets belong to the network namespace of the thread that opened them.
//! Linux only.
#![forbid(unsafe_code)]

mod busy_poll;
pub mod cycle;
mod exponential;
pub mod flow;
mod hardware;
pub mod listener;
pub mod load;
pub mod margin;
pub mod record;
pub mod roundtrip;
pub mod scheduling;
pub mod stop;
pub mod talker;
pub mod turns;
mod units;

pub use busy_poll::NoBusyPoll;
pub use cycle::{Cycle, Wake};
pub use listener::Listener;
pub use margin::Margin;
pub use record::{ListenerLog, PeerPause, ReceiveHeadroom, RxRecord, TalkerLog, TxRecord};
pub use roundtrip::{Reflector, Requester, RequesterLog, RoundTrip};
pub use scheduling::{Scheduled, Scheduling};
pub use stop::{Deadline, StopFlag};
pub use talker::Talker;
pub use teiji_core::frame::TxError;
pub use units::Spans;

pub use teiji_core::cycle::Schedule;
pub use teiji_core::domain;
pub use teiji_core::time::{Instant, Span, Tai};
/// What the kernel reports about sent frames, for [`Talker::take_reports`].
pub use teiji_sys::socket::{LaunchError, TxEvent, TxStampKind};
