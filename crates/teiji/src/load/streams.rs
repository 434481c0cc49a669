//! TCP streams from one host to another, as fast as the wire and both ends allow.
//!
//! The sender writes 512 KB at a time, as iperf does in the second study, so that
//! socket, queueing discipline and NIC always have something to send.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::Duration;

use teiji_sys::{netns, tcp};

use super::connection::Connection;
use super::pace::Pace;
use super::{End, Ends};
use crate::stop::StopFlag;

/// How long either end waits before it looks whether to end.
const PATIENCE: Duration = Duration::from_millis(50);
/// Between two looks for the sender's connection.
const ACCEPT: Duration = Duration::from_millis(5);
/// How long the connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// Bytes of a write.
const WRITE: usize = 512 * 1024;
/// Bytes of a read.
const READ: usize = 64 * 1024;

/// The receiving end and the sending one, which is connected. The end of another machine is waited for.
pub(super) fn open(
    to: SocketAddr,
    ends: &Ends<'_>,
    stop: &StopFlag,
) -> io::Result<(Option<TcpListener>, Option<TcpStream>)> {
    let sink = ends.to.map(|end| listen(end.namespace, to)).transpose()?;
    // The port may be the kernel's choice.
    let address = sink.as_ref().map_or(Ok(to), TcpListener::local_addr)?;
    let source = |end: End<'_>| loop {
        match connect(end.namespace, address) {
            Err(error) if sink.is_none() && is_not_there_yet(&error) && !stop.is_stopped() => {
                thread::sleep(PATIENCE);
            }
            connected => return connected,
        }
    };
    let source = ends.from.map(source).transpose()?;
    Ok((sink, source))
}

fn listen(namespace: BorrowedFd<'_>, at: SocketAddr) -> io::Result<TcpListener> {
    let listener =
        netns::in_namespace(namespace, || TcpListener::bind(at)).map_err(io::Error::other)??;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn connect(namespace: BorrowedFd<'_>, to: SocketAddr) -> io::Result<TcpStream> {
    let connect = || TcpStream::connect_timeout(&to, CONNECT);
    let source = netns::in_namespace(namespace, connect).map_err(io::Error::other)??;
    source.set_write_timeout(Some(PATIENCE))?;
    Ok(source)
}

fn is_not_there_yet(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::TimedOut)
}

pub(super) fn send(mut source: TcpStream, pace: &mut Pace) {
    pace.only_feeds();
    let payload = vec![0x54; WRITE];
    while pace.goes_on() {
        match source.write(&payload) {
            Err(error) if !passes(&error) => {
                pace.fail(format!("its connection broke: {error}"));
                break;
            }
            _ => {}
        }
    }
    // Also after the receiving end of another machine has ended.
    if let Ok(info) = tcp::info(&source) {
        pace.had(Connection {
            round_trip: info.round_trip,
            shortest: info.shortest,
            retransmitted: info.retransmitted,
        });
    }
}

/// Counts kilobits.
pub(super) fn receive(sink: &TcpListener, pace: &mut Pace) {
    let mut stream = match accept(sink, pace) {
        Ok(Some(stream)) => stream,
        Ok(None) => return,
        Err(error) => return pace.fail(format!("nobody could connect: {error}")),
    };
    let mut buffer = vec![0; READ];
    let mut rest = 0;
    while pace.goes_on() {
        match stream.read(&mut buffer) {
            // The sender has ended, and says why if it should not have.
            Ok(0) => return,
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

/// The sender's connection; `None` if the load ends before.
fn accept(sink: &TcpListener, pace: &Pace) -> io::Result<Option<TcpStream>> {
    while pace.goes_on() {
        match sink.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                return Ok(Some(stream));
            }
            Err(error) if passes(&error) => thread::sleep(ACCEPT),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// A wait that was over, or was interrupted: the load goes on.
fn passes(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
