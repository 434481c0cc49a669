//! What the kernel knows of a TCP connection.
//!
//! Contains `unsafe`: `getsockopt` writes into a buffer.
#![expect(unsafe_code, reason = "getsockopt takes a pointer")]

use std::os::fd::{AsFd, AsRawFd as _};

use teiji_core::time::Span;

use crate::error::{SysError, check};

/// Octets of the kernel's `struct tcp_info` that are of interest (`include/uapi/linux/tcp.h`);
/// libc's ends before the last of them.
const LENGTH: usize = 152;
const RTT_US: usize = 68;
const TOTAL_RETRANS: usize = 100;
const MIN_RTT_US: usize = 148;

/// Of a connection, as it is now (`TCP_INFO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// Round trip, smoothed.
    pub round_trip: Span,
    /// The shortest round trip of the last five minutes (`tcp_min_rtt_wlen`).
    pub shortest: Span,
    /// Segments sent again, all in all.
    pub retransmitted: u32,
}

/// Asks about a connected socket.
///
/// # Errors
/// If it is not one of TCP.
pub fn info(socket: &impl AsFd) -> Result<TcpInfo, SysError> {
    let mut octets = [0_u8; LENGTH];
    let mut length = libc::socklen_t::try_from(LENGTH).unwrap_or(0);
    // SAFETY: the kernel writes at most `length` bytes into `octets`, for which any bytes
    // are valid, and stores how many.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            octets.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    check("getsockopt TCP_INFO", result)?;
    let number = |at: usize| octets[at..].first_chunk().map_or(0, |four| u32::from_ne_bytes(*four));
    Ok(TcpInfo {
        round_trip: Span::from_micros(number(RTT_US).into()),
        shortest: Span::from_micros(number(MIN_RTT_US).into()),
        retransmitted: number(TOTAL_RETRANS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_has_round_trips_and_other_sockets_have_none() {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(b"there").unwrap();
        server.read_exact(&mut [0; 5]).unwrap();
        server.write_all(b"and back").unwrap();
        client.read_exact(&mut [0; 8]).unwrap();
        let info = info(&client).unwrap();
        assert!(info.shortest > Span::ZERO && info.shortest <= info.round_trip, "{info:?}");
        assert!(info.round_trip < Span::from_secs(1) && info.retransmitted < 10, "{info:?}");
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(super::info(&datagrams).is_err());
    }
}
