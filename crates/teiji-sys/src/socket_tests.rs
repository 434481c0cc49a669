//! Tests of sockets over the loopback interface.

use super::*;
use teiji_core::time::{Instant, Realtime, Tai};

use crate::clock;

fn pair(family: Family) -> (Socket, Socket, Sender) {
    let any = match family {
        Family::Ipv4 => "127.0.0.1:0",
        Family::Ipv6 | Family::Both => "[::1]:0",
    };
    let listener = Socket::udp(family).unwrap();
    listener.bind(&Address::udp(any.parse().unwrap())).unwrap();
    listener.set_receive_timeout(Span::from_millis(500)).unwrap();
    let sender = Sender::new(Some(Address::udp(listener.local_address().unwrap())));
    (Socket::udp(family).unwrap(), listener, sender)
}

/// Collects reports until `count` are there or half a second is over.
fn reports(socket: &Socket, count: usize) -> Vec<TxEvent> {
    let mut receiver = Receiver::new(8, 0);
    let mut events = Vec::new();
    let end = clock::now::<Tai>() + Span::from_millis(500);
    while events.len() < count && clock::now::<Tai>() < end {
        clock::sleep_until(clock::now::<Tai>() + Span::from_millis(1));
        receiver.receive(socket, Queue::Errors).unwrap();
        events.extend(receiver.messages().filter_map(|m| m.tx_event()));
    }
    events
}

#[test]
fn a_datagram_arrives_with_its_kernel_stamp() {
    for family in [Family::Ipv4, Family::Ipv6] {
        let (socket, listener, mut sender) = pair(family);
        listener.request_rx_stamps(false).unwrap();
        // The kernel switches stamping on in the background.
        clock::sleep_until(clock::now::<Tai>() + Span::from_millis(50));
        let before = clock::now::<Realtime>();
        sender.send(&socket, b"he", b"llo", None).unwrap();
        let mut receiver = Receiver::new(4, 64);
        assert_eq!(receiver.receive(&listener, Queue::Arrivals).unwrap(), 1);
        let message = receiver.messages().next().unwrap();
        assert_eq!(message.payload, b"hello");
        assert_eq!(message.tx_event(), None);
        let stamps = message.stamps();
        let stamp = stamps.software.expect("a kernel stamp");
        assert!(stamp >= before && stamp <= clock::now::<Realtime>());
        assert_eq!(stamps.hardware, None);
    }
}

#[test]
fn several_datagrams_come_in_one_call_and_long_ones_are_cut() {
    let (socket, listener, mut sender) = pair(Family::Ipv4);
    for payload in [&b"first"[..], b"a longer one", b""] {
        sender.send(&socket, &[], payload, None).unwrap();
    }
    let mut receiver = Receiver::new(8, 6);
    assert_eq!(receiver.receive(&listener, Queue::Arrivals).unwrap(), 3);
    let payloads: Vec<_> = receiver.messages().map(|m| m.payload.to_vec()).collect();
    assert_eq!(payloads, [&b"first"[..], b"a long", b""]);
}

#[test]
fn waiting_for_a_datagram_ends_with_the_time_out() {
    let (_socket, listener, _sender) = pair(Family::Ipv4);
    listener.set_receive_timeout(Span::from_millis(20)).unwrap();
    let start = clock::now::<Tai>();
    assert_eq!(Receiver::new(2, 8).receive(&listener, Queue::Arrivals).unwrap(), 0);
    let waited = clock::now::<Tai>() - start;
    assert!(waited >= Span::from_millis(15), "{waited}");
    assert!(waited < Span::from_secs(5), "{waited}");
}

#[test]
fn every_sent_frame_is_stamped_with_its_number() {
    for family in [Family::Ipv4, Family::Ipv6] {
        let (socket, _listener, mut sender) = pair(family);
        socket.request_tx_stamps(false).unwrap();
        for _ in 0..3 {
            sender.send(&socket, &[], b"x", None).unwrap();
        }
        // Loopback stamps both the entry of the qdisc and the hand-over.
        let events = reports(&socket, 6);
        for key in 0..3_u32 {
            for kind in [TxStampKind::Scheduled, TxStampKind::Sent] {
                let found = events.iter().any(|event| {
                    matches!(event, TxEvent::Stamp { kind: k, key: n, stamps }
                        if *k == kind && *n == key && stamps.software.is_some())
                });
                assert!(found, "{family:?}: no stamp {kind:?} of frame {key} in {events:?}");
            }
        }
    }
}

#[test]
fn launch_times_are_accepted_without_a_qdisc_that_heeds_them() {
    let (socket, listener, mut sender) = pair(Family::Ipv4);
    if let Err(error) = socket.set_launch_times(ClockId::Tai, false) {
        assert_eq!(error.errno(), libc::EPERM, "{error}");
        println!("SKIP: SO_TXTIME with CLOCK_TAI needs CAP_NET_ADMIN");
        return;
    }
    let launch = clock::now::<Tai>() + Span::from_millis(1);
    sender.send(&socket, &[], b"timed", Some(launch)).unwrap();
    let mut receiver = Receiver::new(1, 16);
    assert_eq!(receiver.receive(&listener, Queue::Arrivals).unwrap(), 1);
    assert_eq!(receiver.messages().next().unwrap().payload, b"timed");
}

#[test]
fn a_launch_time_without_the_option_is_refused() {
    let (socket, _listener, mut sender) = pair(Family::Ipv4);
    let error = sender.send(&socket, &[], b"x", Some(Instant::from_ns(1))).unwrap_err();
    assert_eq!((error.call(), error.errno()), ("sendmsg", libc::EINVAL));
}

#[test]
fn a_port_in_use_is_an_error_with_its_number() {
    let (_socket, listener, _sender) = pair(Family::Ipv4);
    let second = Socket::udp(Family::Ipv4).unwrap();
    let error = second.bind(&Address::udp(listener.local_address().unwrap())).unwrap_err();
    assert_eq!((error.call(), error.errno()), ("bind", libc::EADDRINUSE));
}

#[test]
fn frames_that_find_the_receive_buffer_full_are_counted() {
    let (socket, listener, mut sender) = pair(Family::Ipv4);
    listener.set_receive_buffer(4_096).unwrap();
    for _ in 0..200 {
        // The loopback device delivers at once; nothing waits in a queue.
        sender.send(&socket, &[], &[0; 500], None).unwrap();
    }
    let mut receiver = Receiver::new(256, 0);
    let arrived = receiver.receive(&listener, Queue::Arrivals).unwrap();
    assert!(arrived < 200);
    assert_eq!(listener.drops().unwrap() as usize + arrived, 200);
}

#[test]
fn a_datagram_longer_than_the_interface_allows_is_refused() {
    let (socket, _listener, mut sender) = pair(Family::Ipv4);
    let error = sender.send(&socket, &[], &vec![0; 65_600], None).unwrap_err();
    assert_eq!(error.errno(), libc::EMSGSIZE);
}

#[test]
fn a_receiver_may_move_between_calls() {
    let (socket, listener, mut sender) = pair(Family::Ipv4);
    let mut receiver = Receiver::new(2, 16);
    sender.send(&socket, &[], b"one", None).unwrap();
    receiver.receive(&listener, Queue::Arrivals).unwrap();
    let mut moved = std::thread::spawn(move || Box::new(receiver)).join().unwrap();
    sender.send(&socket, &[], b"other", None).unwrap();
    assert_eq!(moved.receive(&listener, Queue::Arrivals).unwrap(), 1);
    assert_eq!(moved.messages().next().unwrap().payload, b"other");
}

#[test]
fn a_datagram_has_its_senders_address_for_the_reply() {
    for family in [Family::Ipv4, Family::Ipv6] {
        let (socket, listener, mut sender) = pair(family);
        socket.set_receive_timeout(Span::from_millis(500)).unwrap();
        sender.send(&socket, &[], b"who?", None).unwrap();
        let mut receiver = Receiver::with_sources(2, 16);
        assert_eq!(receiver.receive(&listener, Queue::Arrivals).unwrap(), 1);
        let source = *receiver.messages().next().unwrap().source().expect("a source");
        Sender::new(Some(source)).send(&listener, &[], b"you", None).unwrap();

        let mut replies = Receiver::new(1, 16);
        assert_eq!(replies.receive(&socket, Queue::Arrivals).unwrap(), 1);
        let reply = replies.messages().next().unwrap();
        assert_eq!(reply.payload, b"you");
        assert!(reply.source().is_none(), "this receiver did not ask");
    }
}

#[test]
fn a_socket_of_both_families_receives_from_and_replies_to_both() {
    let any: SocketAddr = "[::]:0".parse().unwrap();
    let listener = Socket::udp(Family::receiving_at(any)).unwrap();
    listener.bind(&Address::udp(any)).unwrap();
    listener.set_receive_timeout(Span::from_millis(500)).unwrap();
    let port = listener.local_address().unwrap().port();
    for (family, to) in [(Family::Ipv4, "127.0.0.1"), (Family::Ipv6, "::1")] {
        let socket = Socket::udp(family).unwrap();
        socket.set_receive_timeout(Span::from_millis(500)).unwrap();
        let to = Address::udp(SocketAddr::new(to.parse().unwrap(), port));
        Sender::new(Some(to)).send(&socket, &[], b"who?", None).unwrap();
        let mut receiver = Receiver::with_sources(1, 16);
        assert_eq!(receiver.receive(&listener, Queue::Arrivals).unwrap(), 1, "{family:?}");
        let source = *receiver.messages().next().unwrap().source().unwrap();
        Sender::new(Some(source)).send(&listener, &[], b"you", None).unwrap();
        assert_eq!(Receiver::new(1, 16).receive(&socket, Queue::Arrivals).unwrap(), 1);
    }
}
