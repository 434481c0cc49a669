//! Floods of UDP datagrams from one host to another, at a given mean rate.
//!
//! Their distances are random (a Poisson stream): such a load is the same from
//! its first second to its last, keeps no step with any cycle, and does not
//! depend on how fast it is received. A sender that was kept from its CPU makes up
//! for what it missed, so the mean rate stays.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::Duration;

use teiji_core::time::{Instant, Monotonic, Span};
use teiji_sys::{clock, netns};

use super::pace::Pace;
use crate::exponential::Exponential;

/// How long a receiver waits before it looks whether to end.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long a sender waits when there is no room for another datagram.
const NO_ROOM: Duration = Duration::from_micros(100);
/// How long a sender of whose datagrams none gets through keeps trying.
const MOST_REFUSALS: u32 = 20_000;

/// What a sender is behind its schedule by more than this is not made up for: the
/// machine cannot keep the rate.
const BACKLOG: Span = Span::from_millis(50);

/// A flood: where it goes, how long its datagrams are, how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flood {
    /// Address of the receiving host and the port to flood.
    pub to: SocketAddr,
    /// Bytes of a datagram, behind its UDP header.
    pub payload: u16,
    /// Datagrams per second, on average.
    pub rate: u32,
}

pub(super) struct Source {
    socket: UdpSocket,
    flood: Flood,
}

impl Flood {
    /// The receiving socket, in its host's namespace.
    pub(super) fn sink(self, namespace: BorrowedFd<'_>) -> io::Result<UdpSocket> {
        let sink = open(namespace, self.any(self.to.port()))?;
        sink.set_read_timeout(Some(PATIENCE))?;
        Ok(sink)
    }

    /// The sending socket, in its host's namespace.
    pub(super) fn source(self, namespace: BorrowedFd<'_>) -> io::Result<Source> {
        let socket = open(namespace, self.any(0))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Source { socket, flood: self })
    }

    /// Any address of the family, with this port.
    fn any(self, port: u16) -> SocketAddr {
        let any: IpAddr = match self.to {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        SocketAddr::new(any, port)
    }
}

fn open(namespace: BorrowedFd<'_>, bind: SocketAddr) -> io::Result<UdpSocket> {
    netns::in_namespace(namespace, || UdpSocket::bind(bind)).map_err(io::Error::other)?
}

pub(super) fn send(source: &Source, pace: &mut Pace) {
    pace.only_feeds();
    let payload = vec![0x54; source.flood.payload.into()];
    let mut refusals = 0;
    let mut gaps = Exponential::per_second(source.flood.rate);
    let mut due: Instant<Monotonic> = clock::now();
    while pace.goes_on() {
        due += gaps.next();
        let now = clock::now();
        if due > now {
            clock::sleep_until(due);
        } else if now - due > BACKLOG {
            due = now;
        }
        match source.socket.send_to(&payload, source.flood.to) {
            Ok(_) => refusals = 0,
            // A full queue or a link that is away for a moment: a load goes on.
            Err(error) => {
                refusals += 1;
                if refusals > MOST_REFUSALS {
                    return pace.fail(format!("its datagrams are refused: {error}"));
                }
                thread::sleep(NO_ROOM);
            }
        }
    }
}

pub(super) fn receive(sink: &UdpSocket, pace: &mut Pace) {
    let mut datagram = [0; 2_048];
    while pace.goes_on() {
        if sink.recv(&mut datagram).is_ok() {
            pace.did(1);
        }
    }
}
