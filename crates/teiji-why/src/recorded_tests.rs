//! What timelines of the laboratory's recorder show.

use teiji_core::time::Instant;
use teiji_core::wire::{EthernetHeader, MacAddr};

use super::*;

const DEVICE: u64 = 0x1_0000;

/// The beginning of a frame of flow 0.
fn packet(seq: u64) -> Vec<u8> {
    let mut frame = Vec::new();
    let [destination, source] = [2, 1].map(|last| MacAddr([2, 0, 0, 0, 0, last]));
    let ethertype = wire::TEIJI_ETHERTYPE;
    EthernetHeader { destination, source, vlan: None, ethertype }.emit(&mut frame);
    let mut payload = [0; PACKET - 14];
    Probe { flow: 0, seq, scheduled: Instant::from_ns(0) }.emit(&mut payload);
    [&frame[..], &payload].concat()
}

/// The hooks of a frame's way through vtsn; an event's number is the place in this list.
fn hooks() -> [Hook; 5] {
    [
        hook(Point::Queue, "__dev_queue_xmit"),
        hook(Point::Driver, "vtsn_xmit"),
        hook(Point::Wire, "vtsn_count_departure"),
        hook(Point::WireChanged, "vtsn_wire_leave"),
        hook(Point::Watchdog, "vtsn_tx_timeout"),
    ]
}

/// One of them is entered; when the clock was read is noted so much too late.
fn entry(time_ns: Ps, late_ns: Ps, id: u16, values: &[&[u8]]) -> Event {
    let (time, clock_read) = (time_ns * 1000, (time_ns + late_ns) * 1000);
    Event { time, clock_read, cpu: 0, what: What::Entry(id, values.concat()) }
}

fn hook(point: Point, name: &str) -> Hook {
    Hook { point, name: name.to_owned(), exit: false, line: String::new() }
}

#[test]
fn a_frame_that_the_driver_dropped_shifts_no_other_one() {
    let hooks = hooks();
    let mut builder = Builder::new(&hooks, &Symbols::default());
    let mut event = |time_ns, id, values: &[&[u8]]| builder.add(&entry(time_ns, 0, id, values));
    let packets = [0_u64, 1, 2].map(packet);
    for (seq, (packet, at)) in packets.iter().zip([100, 1_100, 2_100]).enumerate() {
        event(at, 0, &[packet]);
        event(at + 50, 1, &[packet, &DEVICE.to_le_bytes(), &1_u16.to_le_bytes()]);
        if seq > 0 {
            event(at + 100, 3, &[&(at + 100).to_le_bytes()]);
        }
    }
    // The first was dropped; the second and the third left the queue 1 ms later.
    for queued in [1_200_u64, 2_200] {
        let start = queued + 1_000_000;
        let values = [DEVICE + 64, 1, queued, queued, start, 4].map(u64::to_le_bytes);
        let values: Vec<&[u8]> = values.iter().map(<[u8; 8]>::as_slice).collect();
        event(3_000, 2, &values);
    }
    event(1_000_000, 3, &[&1_000_000_i64.to_le_bytes()]);
    let made = builder.finish();
    let queued = [0, 1, 2].map(|seq| {
        let hop = made.frames[&(Kind::Flow, 0, seq)][0];
        hop.mac.map(|mac| (mac.queued, mac.start, mac.why))
    });
    let mac = |queued: Ps| Some((queued, queued + 1_000_000_000, 4));
    assert_eq!(queued, [None, mac(1_200_000), mac(2_200_000)]);
}

#[test]
fn a_reading_of_the_clock_that_is_late_gives_no_frame_another_one_s_departure() {
    let hooks = hooks();
    let mut builder = Builder::new(&hooks, &Symbols::default());
    let mut event = |time_ns, late_ns, id, values: &[&[u8]]| {
        builder.add(&entry(time_ns, late_ns, id, values));
    };
    let packets = [0_u64, 1].map(packet);
    for (packet, at, late) in [(&packets[0], 100, 6_000), (&packets[1], 3_100, 0)] {
        event(at, 0, 0, &[packet]);
        event(at + 50, 0, 1, &[packet, &DEVICE.to_le_bytes(), &1_u16.to_le_bytes()]);
        event(at + 100, late, 3, &[&(at + 100).to_le_bytes()]);
    }
    for queued in [200_u64, 3_200] {
        let values = [DEVICE + 64, 1, queued, queued, queued + 9_000, queued].map(u64::to_le_bytes);
        event(20_000, 0, 2, &[&values.concat()]);
    }
    let made = builder.finish();
    let why = [0, 1].map(|seq| made.frames[&(Kind::Flow, 0, seq)][0].mac.map(|mac| mac.why));
    assert_eq!(why, [Some(200), Some(3_200)]);
}

#[test]
fn frames_of_a_stopped_queue_are_told_from_those_that_its_watchdog_dropped() {
    let hooks = hooks();
    let mut builder = Builder::new(&hooks, &Symbols::default());
    let mut event = |time_ns, id, values: &[&[u8]]| builder.add(&entry(time_ns, 0, id, values));
    let leaves = |[queued, earliest, start]: [u64; 3]| {
        [DEVICE + 64, 1, queued, earliest, start, 0].map(u64::to_le_bytes).concat()
    };
    let packets = [0_u64, 1, 2].map(packet);
    let queue: [&[u8]; 2] = [&DEVICE.to_le_bytes(), &1_u16.to_le_bytes()];
    // The first is in the NIC, the second in the qdisc.
    event(100, 0, &[&packets[0]]);
    event(150, 1, &[&packets[0], queue[0], queue[1]]);
    event(160, 3, &[&160_i64.to_le_bytes()]);
    event(200, 0, &[&packets[1]]);
    event(5_000, 4, &queue);
    event(5_010, 2, &[&leaves([160, 160, 160])]);
    event(5_100, 1, &[&packets[1], queue[0], queue[1]]);
    event(5_110, 3, &[&5_110_i64.to_le_bytes()]);
    event(6_000, 0, &[&packets[2]]);
    event(6_100, 1, &[&packets[2], queue[0], queue[1]]);
    event(6_110, 3, &[&6_110_i64.to_le_bytes()]);
    event(9_000, 2, &[&leaves([5_110, 5_110, 9_000])]);
    event(9_200, 2, &[&leaves([6_110, 6_110, 9_100])]);
    event(1_000_000, 3, &[&1_000_000_i64.to_le_bytes()]);
    let made = builder.finish();
    let hops = [0, 1, 2].map(|seq| made.frames[&(Kind::Flow, 0, seq)][0]);
    assert_eq!(hops.map(|hop| hop.watchdog), [None, Some(5_000_000), None]);
    let waits = hops.map(|hop| hop.mac.map(|mac| (mac.earliest, mac.head, mac.start)));
    let expected = [(5_110_000, 5_110_000, 9_000_000), (6_110_000, 9_000_000, 9_100_000)];
    assert_eq!(waits, [None, Some(expected[0]), Some(expected[1])]);
}

#[test]
fn who_wakes_the_waiter_had_the_lock_that_was_nobody_s_when_the_wait_began() {
    let lock = hook(Point::Lock, "rtlock_slowlock_locked");
    let end = Hook { exit: true, ..lock.clone() };
    let hooks =
        [hook(Point::Switch, "__switch_to_asm"), hook(Point::Wake, "try_to_wake_up"), lock, end];
    let mut builder = Builder::new(&hooks, &Symbols::default());
    let mut event = |time, what| builder.add(&Event { time, clock_read: time, cpu: 0, what });
    let task = |pid: i32| [&pid.to_le_bytes()[..], &120_i32.to_le_bytes(), &[b'x'; 16]].concat();
    let address = |pid: i32| u64::try_from(pid).unwrap() << 12;
    let switch = |pid| What::Entry(0, [task(pid), address(pid).to_le_bytes().to_vec()].concat());
    for (owner, at) in [(0, 100), (5, 200)] {
        event(at, switch(5));
        event(at + 1, switch(7));
        event(at + 2, What::Entry(2, (address(owner) | 1).to_le_bytes().to_vec()));
        event(at + 3, switch(9));
        event(at + 4, What::Entry(1, task(7)));
        event(at + 5, switch(7));
        event(at + 6, What::Exit(3, Vec::new()));
    }
    let made = builder.finish();
    let owners: Vec<Option<u32>> = made.lock_waits[&7].iter().map(|wait| wait.owner).collect();
    assert_eq!(owners, [Some(9), Some(5)]);
}
