//! A veth pair between two network namespaces, made for one test.
//!
//! ```text
//!   namespace "talker"                 namespace "listener"
//!   ┌──────────────────────┐           ┌──────────────────────┐
//!   │ tx0  10.9.0.1        │═══════════│ rx0  10.9.0.2        │
//!   │      fd74:656a:9::1  │   veth    │      fd74:656a:9::2  │
//!   └──────────────────────┘           └──────────────────────┘
//! ```

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::Command;
use std::thread;
use std::time::Duration;

use teiji::talker::{Destination, TalkerConfig, TxStamps};
use teiji::{Instant, Schedule, Span, Tai};
use teiji_core::wire::MacAddr;
use teiji_sys::clock;
use teiji_sys::netns::{self, NetnsError};

pub const RX_MAC: MacAddr = MacAddr([2, 0x74, 0x65, 0x6a, 9, 2]);
pub const TX_MAC: MacAddr = MacAddr([2, 0x74, 0x65, 0x6a, 9, 1]);
pub const RX_UDP4: &str = "10.9.0.2:7788";

pub struct Wire {
    talker: OwnedFd,
    listener: OwnedFd,
}

impl Wire {
    /// `None`, with a reason on the terminal, where namespaces are not allowed.
    pub fn new() -> Option<Self> {
        let make = || match netns::create() {
            Ok(namespace) => Some(namespace),
            Err(error @ (NetnsError::NoRight { .. } | NetnsError::NotInKernel)) => {
                println!("SKIP: {error}");
                None
            }
            Err(other) => panic!("{other}"),
        };
        let wire = Self { talker: make()?, listener: make()? };
        let peer = format!("/proc/{}/fd/{}", std::process::id(), wire.listener.as_raw_fd());
        wire.ip_tx(&format!(
            "link add tx0 address {TX_MAC} type veth peer name rx0 address {RX_MAC} netns {peer}"
        ));
        wire.ip_tx("address add 10.9.0.1/24 dev tx0");
        wire.ip_rx("address add 10.9.0.2/24 dev rx0");
        // Without duplicate detection, which would keep the address unusable
        // for the first second.
        wire.ip_tx("address add fd74:656a:9::1/64 dev tx0 nodad");
        wire.ip_rx("address add fd74:656a:9::2/64 dev rx0 nodad");
        wire.ip_tx("link set tx0 up");
        wire.ip_rx("link set rx0 up");
        wire.know_the_peer();
        wire.wait_for_carrier();
        Some(wire)
    }

    /// Nobody requests MAC addresses while a test measures.
    pub fn know_the_peer(&self) {
        for to in ["10.9.0.2", "fd74:656a:9::2"] {
            self.ip_tx(&format!("neighbour replace {to} lladdr {RX_MAC} dev tx0 nud permanent"));
        }
    }

    /// The kernel notices a carrier a while after the link is up, later on a busy
    /// machine, and drops frames until then.
    fn wait_for_carrier(&self) {
        let up = |interface: &str| {
            let output = Command::new("ip").args(["link", "show", interface]).output().unwrap();
            String::from_utf8_lossy(&output.stdout).contains("state UP")
        };
        for _ in 0..500 {
            if self.tx(|| up("tx0")) && self.rx(|| up("rx0")) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the veth pair did not come up in 5 s");
    }

    pub fn ip_tx(&self, arguments: &str) {
        self.tx(|| command("ip", arguments));
    }

    pub fn ip_rx(&self, arguments: &str) {
        self.rx(|| command("ip", arguments));
    }

    /// Runs `work` in the talker's namespace.
    pub fn tx<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        netns::in_namespace(self.talker.as_fd(), work).unwrap()
    }

    /// Runs `work` in the listener's namespace.
    pub fn rx<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        netns::in_namespace(self.listener.as_fd(), work).unwrap()
    }
}

pub fn command(program: &str, arguments: &str) {
    let output = Command::new(program).args(arguments.split_whitespace()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments}: {text}");
}

pub fn now() -> Instant<Tai> {
    clock::now()
}

/// Frames every millisecond, the first in 50 ms.
pub fn schedule(margin: Span) -> Schedule {
    let base = now() + Span::from_millis(50);
    Schedule { base, period: Span::from_millis(1), margin }
}

/// A talker of flow 3 with kernel stamps.
pub fn talker(destination: Destination) -> TalkerConfig {
    TalkerConfig { flow: 3, stamps: TxStamps::Kernel, ..TalkerConfig::new("tx0", destination) }
}

pub fn udp(destination: &str) -> Destination {
    Destination::Udp(destination.parse().unwrap())
}
