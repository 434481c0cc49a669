//! Loads run, say what they did, and notice when they did not.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use teiji_core::time::Span;
use teiji_sys::netns::{self, NetnsError};

use super::*;

fn ran(running: Running, ms: u64) -> LoadReport {
    thread::sleep(Duration::from_millis(ms));
    running.stop()
}

/// `None`, with a reason on the terminal, where namespaces are not allowed.
fn new_namespace() -> Option<OwnedFd> {
    match netns::create() {
        Ok(namespace) => Some(namespace),
        Err(error @ (NetnsError::NoRight { .. } | NetnsError::NotInKernel)) => {
            println!("SKIP: {error}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn computing_loads_say_how_much_they_did() {
    for kind in [LoadKind::Cpu, LoadKind::Timer, LoadKind::Memory] {
        let report = ran(Running::start(kind).unwrap(), 200);
        assert_eq!((report.kind, &report.problem), (kind, &None), "{report}");
        assert!(report.done > 0 && report.ran_ms >= 200, "{report:?}");
    }
}

#[test]
fn what_a_load_did_is_known_over_time() {
    let report = ran(Running::start(LoadKind::Timer).unwrap(), 350);
    assert_eq!(report.over_time.amounts.iter().sum::<u64>(), report.done);
    assert!(report.over_time.amounts.len() >= 4, "{report:?}");
}

#[test]
fn the_disk_is_written_and_no_file_remains() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::disk(folder.path()).unwrap();
    let left = || std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left(), 0, "the file has no name while it is written, either");
    // A busy disk may take its time for the first MiB.
    let report = ran(running, 2_000);
    assert!(report.done > 0, "{report:?}");
    assert_eq!(left(), 0);
    let nowhere = folder.path().join("nowhere");
    let error = Running::disk(&nowhere).unwrap_err().to_string();
    assert!(error.starts_with("the load `disk` cannot make its file in "), "{error}");
}

#[test]
fn a_load_that_did_nothing_has_a_problem() {
    // Floods need a wire, and were given none.
    let report = ran(Running::start(LoadKind::UdpRx).unwrap(), 1);
    assert_eq!(report.problem.as_deref(), Some("it was not started"));
}

#[test]
fn a_thread_that_stood_still_is_reported() {
    let since = clock::now();
    let mut pace = Pace::new(Arc::default(), since);
    pace.did(1);
    let work = pace.end();
    let after = |ms| since + Span::from_millis(ms);
    let problem = |from, until| work.problem(after(from), after(until)).unwrap_or_default();
    assert!(problem(0, 5_000).starts_with("one of its threads stood still for 4."));
    assert!(problem(-5_000, 0).starts_with("one of its threads stood still for 5"));
    assert_eq!(problem(-400, 400), "");
    assert!(problem(-9_000, 90_000).starts_with("one of its threads stood still for 8"));
    assert!(problem(-9_000, 90_000).ends_with(" of 99 s"));
}

/// Both ends in one namespace.
fn within(space: &OwnedFd) -> Ends<'_> {
    let end = Some(End { namespace: space.as_fd(), cpu: None });
    Ends { from: end, to: end }
}

/// Chosen by the kernel, and free again.
fn free_port() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[test]
fn a_stream_flows_or_reports_its_error() {
    // Threads of a load enter the namespace of their end, also this one: that needs root.
    let Some(namespace) = new_namespace() else { return };
    let here = netns::current().unwrap();
    let to = "127.0.0.1:0".parse().unwrap();
    let cpu = sched::allowed_cpus()[0];
    let stop = StopFlag::new();
    let start = |from: u16, to_cpu| {
        let end = |cpu| Some(End { namespace: here.as_fd(), cpu });
        let ends = Ends { from: end(Some(from)), to: end(to_cpu) };
        Running::stream(LoadKind::TcpTx, to, ends, &stop)
    };
    // A busy machine may need several attempts; a load that stood still says so.
    let reports = [300, 1_000, 5_000].map(|ms| ran(start(cpu, Some(cpu)).unwrap(), ms));
    // Loopback carries far more than 1 Mbit/s.
    let good = |report: &LoadReport| report.problem.is_none() && report.per_s() > 1_000;
    assert!(reports.iter().any(good), "{reports:?}");
    let known = |report: &LoadReport| report.connection.is_some_and(|c| c.shortest > Span::ZERO);
    assert!(reports.iter().all(known), "{reports:?}");
    let report = ran(start(8_000, None).unwrap(), 100);
    assert!(report.problem.unwrap().contains("CPU 8000 cannot be used"));
    // A new namespace's loopback is down.
    let error = Running::stream(LoadKind::TcpRx, to, within(&namespace), &stop).unwrap_err();
    assert!(error.to_string().starts_with("the load `tcp-rx` cannot open its socket"), "{error}");
}

#[test]
fn a_flood_arrives_or_reports_its_error() {
    let here = netns::current().unwrap();
    let flood = |to: &str| Flood { to: to.parse().unwrap(), payload: 1_000, rate: 1_000 };
    let over_loopback = flood("127.0.0.1:9");
    let Some(namespace) = new_namespace() else { return };
    // A new namespace's loopback is down: nothing arrives there.
    let start = |space: &std::os::fd::OwnedFd| {
        Running::flood(LoadKind::UdpTx, over_loopback, within(space))
    };
    let report = ran(start(&namespace).unwrap(), 100);
    assert!(report.problem.is_some(), "{report:?}");
    match start(&here) {
        Ok(running) => {
            let report = ran(running, 500);
            // 1000 per second for half a second, and no more however fast loopback is;
            // fewer where this machine is too busy, and then it is said.
            let slow = report.problem.as_ref().is_some_and(|why| why.contains("of 1000 datagrams"));
            assert!(report.done <= 600 && (slow || report.done >= 350), "{report:?}");
            assert!(slow || report.problem.is_none(), "{report:?}");
            assert!(report.to_string().ends_with("per second (1000 wanted)"), "{report}");
        }
        Err(error) => panic!("{error}"),
    }
}

/// The receiving end is there first and ends last, and what lies before and after is not measured.
#[test]
fn ends_of_two_machines_are_one_load() {
    if new_namespace().is_none() {
        return;
    }
    let here = netns::current().unwrap();
    let Ends { from, to } = within(&here);
    let receiving = Ends { from: None, to };
    let sending = Ends { from, to: None };
    let port = free_port();
    let flood = Flood { to: port, payload: 1_000, rate: 1_000 };
    let never = StopFlag::new();
    for kind in [LoadKind::UdpTx, LoadKind::TcpTx] {
        let start = |ends| match kind {
            LoadKind::UdpTx => Running::flood(kind, flood, ends).unwrap(),
            _ => Running::stream(kind, port, ends, &never).unwrap(),
        };
        let sink = start(receiving);
        thread::sleep(Duration::from_millis(800));
        let source = start(sending);
        thread::sleep(Duration::from_millis(20));
        let from = clock::now();
        thread::sleep(Duration::from_millis(300));
        let until = clock::now();
        let sent = source.stop_after(from, until);
        thread::sleep(Duration::from_millis(800));
        let received = sink.stop_after(from, until);
        assert_eq!((sent.done, &sent.problem), (0, &None), "{sent:?}");
        let whole = received.clone().with_other_end(sent.clone());
        assert_eq!(whole, sent.clone().with_other_end(received.clone()));
        assert_eq!(whole.connection, sent.connection);
        assert_eq!(whole.connection.is_some(), kind == LoadKind::TcpTx);
        // Of the time in which something came; a busy machine may be slower, and says so.
        let slow = whole.problem.as_ref().is_some_and(|why| why.contains("datagrams per second"));
        assert!(whole.problem.is_none() || slow, "{whole:?}");
        assert!(whole.done > 0 && whole.ran_ms < 800, "{whole:?}");
    }
}

#[test]
fn a_stream_waits_for_the_end_of_another_machine() {
    if new_namespace().is_none() {
        return;
    }
    let here = netns::current().unwrap();
    let Ends { from, to } = within(&here);
    let port = free_port();
    let stop = StopFlag::new();
    let start = |ends| Running::stream(LoadKind::TcpTx, port, ends, &stop);
    thread::scope(|scope| {
        let sends = scope.spawn(|| start(Ends { from, to: None }).unwrap());
        thread::sleep(Duration::from_millis(300));
        assert!(!sends.is_finished(), "nobody listens");
        let receives = start(Ends { from: None, to }).unwrap();
        let sends = sends.join().unwrap();
        thread::sleep(Duration::from_millis(200));
        assert_eq!(sends.stop().problem, None);
        assert!(receives.stop().done > 0);
    });
    stop.stop();
    let error = start(Ends { from, to: None }).unwrap_err().to_string();
    assert!(error.starts_with("the load `tcp-tx` cannot open its socket"), "{error}");
}

#[test]
fn loads_have_names() {
    for kind in LoadKind::ALL {
        assert_eq!(kind.name().parse::<LoadKind>().unwrap(), kind);
    }
    let error = "tape".parse::<LoadKind>().unwrap_err().to_string();
    assert!(error.contains("there are cpu, timer"), "{error}");
}
