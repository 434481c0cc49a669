//! `[flows.NAME]`: what is sent.

use serde::{Deserialize, Serialize};
use teiji_core::domain::{Dscp, Level, Pcp, RtPriority, SocketPriority, VlanId};
use teiji_core::quantity::format_span;
use teiji_core::time::Span;
use teiji_core::wire::{DEFAULT_RECEIVE_BUFFER, Probe, TEIJI_UDP_PORT, ethernet};

use super::time::{Time, not_possible, time};
use super::value::{Choice, Int, Keys, int, name, one_of, table};
use super::{Absent, section};
use crate::scenario::{PauseLength, SendMode, Transport};

/// The wire format has 16 bits for a flow; far fewer make sense in a report.
pub(crate) const MAX_FLOWS: u16 = 1_000;
/// `SO_PRIORITY`.
pub(crate) const PRIORITIES: Int<SocketPriority> =
    int(SocketPriority::LEAST, SocketPriority::MOST).why("The kernel's maps have 16 priorities.");
/// Differentiated services code points.
pub(crate) const CODE_POINTS: Int<Dscp> =
    int(Dscp::LEAST, Dscp::MOST).why("A code point has 6 bits.");
/// Priorities of a thread under `SCHED_FIFO`.
pub(crate) const REALTIME: Int<RtPriority> = int(RtPriority::LEAST, RtPriority::MOST)
    .why("SCHED_FIFO has the priorities 1 to 99; leave the key out for ordinary scheduling.");
pub(crate) const UDP_PORTS: Int<u16> = int(1, u16::MAX).why("UDP ports have 16 bits.");
pub(crate) const CPUS: Int<u16> = int(0, u16::MAX).why("CPUs count from 0.");
/// Busy-poll times of a receiving thread.
pub(crate) const BUSY_POLL: Time = time("\"50us\"")
    .within(Span::from_micros(1), Span::from_secs(1))
    .whole_micros()
    .refused(not_possible);

#[expect(clippy::cast_possible_truncation, reason = "24")]
const LEAST_PAYLOAD: u16 = Probe::LEN as u16;

/// A [`SendMode`] without its settings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    OnWakeUp,
    BackToBack,
    LaunchTime,
}

impl Choice for Mode {}

/// A [`Transport`] without its settings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Built {
    Udp4,
    Udp6,
    Ethernet,
}

impl Choice for Built {}

section! {
    /// A periodic flow from one host to another in the same network.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Flow, draft FlowDraft, section FLOW of "[flows.NAME]";
    given {
        /// Letters, digits and `-`.
        name: String,
        /// The further wires of the path, over bridges.
        #[serde(default, rename = "beyond")]
        downstream_wires: Vec<String>,
    }
    made {
        /// The sending host.
        from: String,
        /// The receiving host.
        to: String,
        /// The first wire of its path.
        wire: String,
        /// Bytes after the transport's header (UDP payload, or Ethernet payload),
        /// at least [`Probe::LEN`].
        payload: u16,
        /// How the frame is built.
        transport: Transport,
        /// When and how the frame is handed to the kernel.
        mode: SendMode,
        /// Whether the pauses of `listener_pause` are equal.
        #[serde(default, rename = "listener_rests")]
        listener_pause_length: PauseLength,
    }
    keys {
        /// the sending host
        const FROM: String = "from", name("\"talker\""), Absent::Required("\"talker\"");
        /// the receiving host: a neighbour, or a host behind bridges
        const TO: String = "to", name("\"listener\""), Absent::Required("\"listener\"");
        /// the first wire of its path
        const WIRE: String =
            "wire", name("\"line\""), Absent::Means("the only one that leads there");
        /// interval between two departures
        period: Span =
            "period", time("\"1ms\"").positive().refused(no_period), Absent::Required("\"1ms\"");
        /// number of frames
        frames: u64 = "frames",
            int(1, u64::MAX).why("A flow sends at least one frame."),
            Absent::Required("60_000");
        /// delay of its departures after those of a flow without `offset`; all flows start together
        offset: Span = "offset",
            time("\"100us\"").not_negative().refused(before_the_others),
            Absent::Default(Span::ZERO);
        /// bytes after the UDP or Ethernet header: at least the 24 of the test header, at most 1472
        /// (udp4), 1452 (udp6) or 1500 (ethernet)
        const PAYLOAD: u16 = "payload", int(LEAST_PAYLOAD, ethernet::MOST_DATA), Absent::Default(64);
        /// frame format
        const TRANSPORT: Built = "transport",
            one_of(&[
                ("udp4", Built::Udp4),
                ("udp6", Built::Udp6),
                ("ethernet", Built::Ethernet),
            ]),
            Absent::Default(Built::Udp4);
        /// udp4, udp6: destination port
        const PORT: u16 =
            "port", UDP_PORTS, Absent::Computed(TEIJI_UDP_PORT, ", one more for each flow before it");
        /// ethernet: 802.1Q tag
        const TAG: Keys = "vlan", table(&VLAN, "{ pcp = 5, id = 10 }"), Absent::Means("untagged");
        /// `on-wake-up`: send when the thread wakes; `back-to-back`: send one frame after the
        /// other, none before its scheduled departure, and none counts as late; `launch-time`: hand
        /// over each frame one margin before its departure, with the launch time (`SO_TXTIME`)
        const MODE: Mode = "mode",
            one_of(&[
                ("on-wake-up", Mode::OnWakeUp),
                ("back-to-back", Mode::BackToBack),
                ("launch-time", Mode::LaunchTime),
            ]),
            Absent::Default(Mode::OnWakeUp);
        /// launch-time: time from the thread's wake-up to the departure; longer than ETF's `delta`,
        /// may be longer than the period
        const MARGIN: Span = "margin",
            time("\"400us\"").positive().refused(no_margin),
            Absent::Means("required for launch-time");
        /// launch-time: transmit as soon as possible, at the latest at the launch time
        const DEADLINE: bool = "deadline", (), Absent::Default(false);
        /// `SO_PRIORITY`: selects the class
        priority: SocketPriority = "priority", PRIORITIES, Absent::Default(SocketPriority::LEAST);
        /// udp4, udp6: differentiated services code point of every frame; prioflow's level is a
        /// quarter of it
        dscp: Dscp [serde(default)] = "dscp", CODE_POINTS, Absent::Default(Dscp::LEAST);
        /// size of the sending socket's buffer, in bytes (`SO_SNDBUF`; the kernel doubles it): a send
        /// waits while it is full; 106 496 is what a program has by default
        send_buffer: Option<u32> [serde(default)] = "send-buffer",
            int(2_304, (1 << 30) - 1).why("The kernel knows no smaller one."),
            Absent::Means("the kernel's default");
        /// `SCHED_FIFO` priority of the sending thread
        realtime: Option<RtPriority> = "realtime", REALTIME, Absent::Means("ordinary scheduling");
        /// `SCHED_FIFO` priority of the receiving thread
        listener_realtime: Option<RtPriority> =
            "listener-realtime", REALTIME, Absent::Means("ordinary scheduling");
        /// nice value of the receiving thread: the higher, the less of the CPU it gets beside other
        /// threads; at 15 about a thirtieth beside a thread that computes
        listener_nice: Option<u8> [serde(default)] = "listener-nice",
            int(1, 19).why("The kernel's lowest weight is that of 19; leave the key out for 0."),
            Absent::Means("0");
        /// busy-poll time of the receiving thread before it waits (`SO_BUSY_POLL`)
        listener_busy_poll: Option<Span> = "listener-busy-poll", BUSY_POLL, Absent::Means("none");
        /// a slow reader: processing delay of the receiving program after each read of its socket;
        /// one read takes 32 frames at most
        listener_pause: Option<Span> =
            "listener-pause", time("\"5ms\"").positive().refused(no_pause), Absent::Means("none");
        /// random processing delays, exponentially distributed with the mean `listener-pause`; the
        /// same ones in each run
        const PAUSE_RANDOM: bool = "listener-pause-random", (), Absent::Default(false);
        /// size of the receiving socket's buffer, in bytes (`SO_RCVBUF`; the kernel doubles it);
        /// 106 496 is what a program has by default
        listener_buffer: Option<u32> [serde(default)] = "listener-buffer",
            int(2_048, 1 << 30).why("The kernel knows no smaller one."),
            Absent::Computed(DEFAULT_RECEIVE_BUFFER, "");
        /// follow each frame through the receiving kernel, by its tracepoints: interrupt, softirq,
        /// wake-up; each of them costs time; with `flow-control` also record when its port sends
        /// XOFF
        listener_trace: bool [serde(default)] = "listener-trace", (), Absent::Default(false);
        /// udp4, udp6: both sockets opt in to prioflow at this level: a send waits for space in the
        /// queue, and the listener's port pauses its peer before the socket's buffer overflows; all
        /// ports on the path need the qdisc `prioflow` with a `link`, and over a bridge the frame
        /// must carry its level (`dscp`)
        flow_control: Option<Level> = "flow-control",
            int(Level::LEAST, Level::HIGHEST_PAUSED)
                .why("Level 15 is never paused; leave the key out for a flow without flow control."),
            Absent::Means("none");
        /// CPU of the sending thread, if not its host's
        cpu: Option<u16> = "cpu", CPUS, Absent::Means("any");
        /// transmit timestamps of each frame from the kernel; they cost time between two frames
        tx_stamps: bool = "tx-stamps", (), Absent::Default(false);
        /// the flow is background load: one line per case in the report; its late or failed sends
        /// do not fail the run
        background: bool = "background", (), Absent::Default(false);
    }
}

section! {
    section VLAN of "vlan = { … } of a flow";
    keys {
        /// priority code point
        const PCP: Pcp = "pcp",
            int(Pcp::LEAST, Pcp::MOST).why("A tag has 3 bits for it."),
            Absent::Default(Pcp::LEAST);
        /// VLAN identifier; 0 is a priority tag only
        const ID: VlanId = "id",
            int(VlanId::LEAST, VlanId::MOST).why("A tag has 12 bits for it, and 4095 is reserved."),
            Absent::Default(VlanId::LEAST);
    }
}

fn no_period(_: &Time, _: &str, period: Span) -> [String; 2] {
    [
        format!("the period is {}; it must be longer than nothing", format_span(period)),
        "Write the distance between two departures, for example period = \"1ms\"".to_owned(),
    ]
}

fn before_the_others(_: &Time, _: &str, offset: Span) -> [String; 2] {
    [
        format!("the offset is {}; a flow cannot begin before the others", format_span(offset)),
        "Give the other flows an offset instead.".to_owned(),
    ]
}

fn no_pause(_: &Time, _: &str, pause: Span) -> [String; 2] {
    [
        format!("the listener's pause is {}", format_span(pause)),
        "Write a time above zero, or leave it out for a listener without pauses.".to_owned(),
    ]
}

fn no_margin(_: &Time, _: &str, margin: Span) -> [String; 2] {
    [
        format!(
            "the margin is {}; the thread would wake at the departure or later",
            format_span(margin)
        ),
        "Write how long before its departure the thread wakes: margin = \"400us\"".to_owned(),
    ]
}
