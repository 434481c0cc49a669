//! The frames of an interface in both directions, seen by a packet socket and summed up by flow.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use teiji_core::errno::EPERM;
use teiji_core::time::Span;
use teiji_core::wire;
use teiji_record::capture::FlowKey;
use teiji_sys::SysError;
use teiji_sys::clock;
use teiji_sys::interface::{self, InterfaceError};
use teiji_sys::socket::{Address, Message, Queue, Receiver, Socket};
use thiserror::Error;

use crate::interval::{Intervals, Seen};
use crate::sample::Flow;

/// `ETH_P_ALL`: outgoing frames, too.
const ALL: u16 = 3;
/// Enough for the headers of a test frame: Ethernet with two tags, IPv4 with options, UDP, its own.
const OCTETS: u16 = 128;
const FRAMES_PER_CALL: u16 = 64;
const BUFFER: u32 = 4 << 20;
const WAIT: Span = Span::from_millis(50);
/// Frames gather in the socket for so long: the kernel has stamped them, and each wake-up costs more
/// than a frame.
const GATHER: Duration = Duration::from_millis(10);
const PAUSE: Duration = Duration::from_millis(50);
/// Flows of an interface that are distinguished.
const FLOWS: usize = 256;
/// A flow that was silent in so many intervals is forgotten.
const SILENT: u32 = 60;

/// Which frames are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Test frames: the kernel passes no others on.
    TestFrames,
    /// Every frame: each costs this program time.
    All,
    /// None.
    None,
}

/// Why the frames of an interface cannot be seen.
#[derive(Debug, Error)]
pub(crate) enum WatchError {
    #[error("needs root (CAP_NET_RAW): run it with sudo")]
    NoRights,
    #[error("{0}")]
    Interface(#[from] InterfaceError),
    #[error("{0}")]
    Socket(#[from] SysError),
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
}

/// Watches until it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The interface's number.
    index: u32,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    ended: AtomicBool,
    seen: Mutex<AllSeen>,
}

#[derive(Debug)]
struct AllSeen {
    intervals: Intervals<Key>,
    flows: BTreeMap<Key, Total>,
    unrecorded: u64,
    dropped: u64,
}

/// A flow, and whether it leaves.
type Key = (bool, FlowKey);

#[derive(Debug, Default)]
struct Total {
    frames: u64,
    lost: u64,
    silent: u32,
}

impl Watch {
    /// Watches this interface of the calling thread's network namespace.
    pub(crate) fn start(name: &str, watched: Watched) -> Result<Self, WatchError> {
        let index = interface::index(name)?;
        let socket = Socket::packet().map_err(|error| match error.errno() {
            EPERM => WatchError::NoRights,
            _ => error.into(),
        })?;
        if watched == Watched::TestFrames {
            socket.receive_test_frames_only(OCTETS)?;
        }
        socket.set_receive_buffer(BUFFER)?;
        // Its own, if somebody has switched them on; the kernel's in any case.
        socket.request_rx_stamps(true)?;
        socket.set_receive_timeout(WAIT)?;
        socket.bind(&Address::link(index, ALL))?;
        let seen = AllSeen {
            intervals: Intervals::new(None),
            flows: BTreeMap::new(),
            unrecorded: 0,
            dropped: 0,
        };
        let shared = Arc::new(Shared { ended: AtomicBool::new(false), seen: Mutex::new(seen) });
        let watching = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name(format!("watch-{name}"))
            .spawn(move || watching.run(&socket))?;
        Ok(Self { index, shared, thread: Some(thread) })
    }

    /// Whether the interface of this name is still the one that it watches.
    pub(crate) fn is_of(&self, name: &str) -> bool {
        interface::index(name).is_ok_and(|index| index == self.index)
    }

    /// The flows since the last call, and the frames since the start that were not looked at.
    pub(crate) fn take(&self) -> (Vec<Flow>, u64) {
        self.shared.seen().take()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, AllSeen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, socket: &Socket) {
        let mut receiver = Receiver::with_sources(FRAMES_PER_CALL, OCTETS.into());
        while !self.ended.load(Ordering::Relaxed) {
            let Ok(count) = receiver.receive(socket, Queue::Arrivals) else {
                // The interface went down, and may come up again.
                thread::sleep(PAUSE);
                continue;
            };
            let tai_offset = clock::tai_offset();
            let mut seen = self.seen();
            for message in receiver.messages().take(count) {
                seen.add(&message, tai_offset);
            }
            seen.dropped = socket.drops().map_or(seen.dropped, u64::from);
            drop(seen);
            if count < FRAMES_PER_CALL.into() {
                thread::sleep(GATHER);
            }
        }
    }
}

impl AllSeen {
    fn add(&mut self, message: &Message<'_>, tai_offset: Span) {
        let Some(frame) = wire::parse(message.payload) else { return };
        let probe = frame.probe();
        let outgoing = message.source().is_some_and(Address::is_outgoing);
        let key = (outgoing, FlowKey::new(0, &frame, probe.as_ref()));
        if !self.flows.contains_key(&key) {
            if self.flows.len() >= FLOWS {
                self.unrecorded += 1;
                return;
            }
            self.flows.insert(key, Total::default());
        }
        let stamps = message.stamps();
        let seen = Seen {
            probe: probe.map(|probe| (probe.seq, probe.scheduled)),
            by_kernel: stamps.software.map(|at| at.on(tai_offset)),
            by_nic: stamps.hardware,
            outgoing,
        };
        self.intervals.add(key, &seen);
    }

    fn take(&mut self) -> (Vec<Flow>, u64) {
        let mut ended: BTreeMap<Key, _> = self.intervals.end().into_iter().collect();
        let mut flows = Vec::with_capacity(self.flows.len());
        self.flows.retain(|key, total| {
            let now = ended.remove(key).unwrap_or_default();
            total.frames += now.frames;
            total.lost += now.lost;
            total.silent = if now.frames == 0 { total.silent + 1 } else { 0 };
            if total.silent > SILENT {
                self.intervals.forget(key);
                return false;
            }
            flows.push(Flow {
                name: key.1.to_string(),
                outgoing: key.0,
                frames_total: total.frames,
                lost_total: total.lost,
                now,
            });
            true
        });
        (flows, self.unrecorded + self.dropped)
    }
}
