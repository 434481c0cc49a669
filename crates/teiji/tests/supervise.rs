//! A program whose UDP sockets a supervisor opens: this test is the program, and has no harness,
//! because the supervisor is started from a process with one thread. Whether the kernel module is
//! there does not matter: without it each socket works, and a sentence says that it has no flow
//! control.

use std::fs;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use teiji::flow::{OptIn, Receiving, Sending, SuperviseError, supervise_this_process};
use teiji_core::domain::Level;
use teiji_sys::pidfd::PidFd;
use teiji_sys::socket::{BufferOption, Socket};

fn main() {
    // Nextest and others request a list of tests.
    if std::env::args().any(|argument| argument == "--list") {
        println!("supervise: test");
        return;
    }
    if std::env::args().any(|argument| argument == "--child") {
        return child();
    }
    let messages = tempfile::NamedTempFile::new().unwrap();
    let path = messages.path().to_owned();
    let report = move |sentence: &str| {
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        text.push_str(sentence);
        text.push('\n');
        fs::write(&path, text).unwrap();
    };
    let opt_in = OptIn {
        send: Some(Sending::Permitted),
        receive: Some(Receiving { level: Level::new(3).unwrap(), payload: 100 }),
    };
    match supervise_this_process(&opt_in, report) {
        Ok(()) => {}
        Err(error @ (SuperviseError::NotInKernel | SuperviseError::Supervised)) => {
            return println!("SKIP: {error}");
        }
        Err(error) => panic!("{error}"),
    }
    let supervisor = supervisor();
    works(messages.path());
    // The filter is one of children, too, and they end as they end.
    let own = std::env::current_exe().unwrap();
    assert_eq!(Command::new(&own).arg("--child").status().unwrap().code(), Some(0));
    assert_eq!(Command::new("sh").args(["-c", "exit 7"]).status().unwrap().code(), Some(7));
    // A second supervisor is refused.
    let error = supervise_this_process(&opt_in, |_| ()).unwrap_err();
    assert!(matches!(error, SuperviseError::Supervised), "{error}");
    // Nothing of the program's files is open in the supervisor.
    if let Ok(open) = fs::read_dir(supervisor.join("fd")) {
        let links: Vec<PathBuf> =
            open.flatten().filter_map(|e| fs::read_link(e.path()).ok()).collect();
        assert!(!links.iter().any(|link| link == messages.path()), "{links:?}");
        assert!(links.len() <= 6, "{links:?}");
    }
    println!("supervise: ok");
}

/// The supervisor's folder in /proc: it has this program's name for itself.
fn supervisor() -> PathBuf {
    let named = |entry: &Path| {
        fs::read_to_string(entry.join("comm")).is_ok_and(|name| name.trim() == "teiji-flow")
    };
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        let mut processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        if let Some(found) = processes.find(|entry| named(entry)) {
            return found;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("no supervisor");
}

/// Sockets are as without a supervisor.
fn works(messages: &Path) {
    let here = UdpSocket::bind("127.0.0.1:0").unwrap();
    let there = UdpSocket::bind("127.0.0.1:0").unwrap();
    here.connect(there.local_addr().unwrap()).unwrap();
    here.send(b"hello").unwrap();
    let mut data = [0; 9];
    assert_eq!(there.recv(&mut data).unwrap(), 5);
    // Close on exec, as Rust requests it.
    let link = format!("/proc/self/fdinfo/{}", std::os::fd::AsRawFd::as_raw_fd(&here));
    let flags = fs::read_to_string(link).unwrap();
    assert!(flags.contains("02000002"), "{flags}");
    let copy = Socket::from_udp(here.as_fd().try_clone_to_owned().unwrap()).unwrap();
    copy.set_buffer(BufferOption::Send, 5_000).unwrap();
    copy.set_buffer(BufferOption::Receive, 6_000).unwrap();
    assert_eq!(copy.send_buffer().unwrap(), 10_000);
    assert!(copy.receive_buffer().unwrap() >= 12_000);
    assert!(UdpSocket::bind("[::1]:0").is_ok() || !Path::new("/proc/net/if_inet6").exists());
    // Threads, and other sockets.
    thread::spawn(|| UdpSocket::bind("127.0.0.1:0").unwrap()).join().unwrap();
    std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    PidFd::open(std::process::id()).unwrap();
    let text = fs::read_to_string(messages).unwrap();
    let expected = !Path::new("/proc/sys/net/prioflow").exists();
    let sentence =
        "has no flow control: the kernel has no flow control of sockets: load the module";
    assert_eq!(text.matches(sentence).count(), usize::from(expected), "once: {text}");
}

fn child() {
    UdpSocket::bind("127.0.0.1:0").unwrap();
}
