//! TCP streams from one host to another, as fast as the wire and both ends allow.
//!
//! The sender writes 512 KB at a time, as iperf does in the second study, so that
//! socket, queueing discipline and NIC always have something to send.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use teiji_sys::{netns, tcp};

use super::Ends;
use super::connection::Connection;
use super::pace::Pace;

/// How long either end waits before it looks whether to end.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long the connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// Bytes of a write.
const WRITE: usize = 512 * 1024;
/// Bytes of a read.
const READ: usize = 64 * 1024;

/// Connects both namespaces: the receiving end and the sending one.
pub(super) fn open(to: SocketAddr, ends: &Ends<'_>) -> io::Result<(TcpStream, TcpStream)> {
    let listen = || TcpListener::bind(to);
    let listener = netns::in_namespace(ends.to, listen).map_err(io::Error::other)??;
    // The port may be the kernel's choice.
    let address = listener.local_addr()?;
    let connect = || TcpStream::connect_timeout(&address, CONNECT);
    let source = netns::in_namespace(ends.from, connect).map_err(io::Error::other)??;
    let (sink, _) = listener.accept()?;
    sink.set_read_timeout(Some(PATIENCE))?;
    source.set_write_timeout(Some(PATIENCE))?;
    Ok((sink, source))
}

pub(super) fn send(mut source: TcpStream, pace: &mut Pace) {
    pace.only_feeds();
    let payload = vec![0x54; WRITE];
    while pace.goes_on() {
        match source.write(&payload) {
            Err(error) if !passes(&error) => {
                return pace.fail(format!("its connection broke: {error}"));
            }
            _ => {}
        }
    }
    // Whoever has no answer has no connection any more, and failed above.
    if let Ok(info) = tcp::info(&source) {
        pace.had(Connection {
            round_trip: info.round_trip,
            shortest: info.shortest,
            retransmitted: info.retransmitted,
        });
    }
}

/// Counts kilobits.
pub(super) fn receive(mut sink: TcpStream, pace: &mut Pace) {
    let mut buffer = vec![0; READ];
    let mut rest = 0;
    while pace.goes_on() {
        match sink.read(&mut buffer) {
            // Closed by a sender that ended as it should, or not.
            Ok(0) if !pace.goes_on() => return,
            Ok(0) => return pace.fail("its sender closed the connection".to_owned()),
            Ok(bytes) => {
                rest += bytes as u64 * 8;
                pace.did(rest / 1_000);
                rest %= 1_000;
            }
            Err(error) if passes(&error) => {}
            Err(error) => return pace.fail(format!("its connection broke: {error}")),
        }
    }
}

/// A wait that was over, or was interrupted: the load goes on.
fn passes(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
