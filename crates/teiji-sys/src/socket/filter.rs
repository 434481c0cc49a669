//! A filter in the kernel for packet sockets that watch: of all frames of an interface only the test
//! frames reach the program (`Documentation/networking/filter.rst`).

use std::os::fd::{AsFd, AsRawFd};

use teiji_core::wire::{EtherType, Probe, TEIJI_ETHERTYPE};

use super::{Socket, length_of};
use crate::bpf::{give, instruction};
use crate::error::{SysError, check};

const UDP: u32 = 17;
const TYPE_AT: u32 = 12;
const IPV4_AT: u32 = 14;
const IPV4_PROTOCOL_AT: u32 = IPV4_AT + 9;
const IPV6_PROTOCOL_AT: u32 = 14 + 6;
const UDP_HEADER: u32 = 8;
const IPV6_PAYLOAD_AT: u32 = 14 + 40 + UDP_HEADER;

fn half(at: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, 0, 0, at)
}

fn byte(at: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, 0, 0, at)
}

/// Skips `jt` instructions if it is equal, else `jf`.
fn equal(k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, jt, jf, k)
}

/// Accepts raw test frames, frames with a VLAN tag that is in their octets, and UDP datagrams that
/// begin as a test header; `octets` of each. Fragments after the first have other beginnings.
fn test_frames(octets: u32) -> [libc::sock_filter; 16] {
    let magic = u32::from_be_bytes(Probe::MAGIC);
    let ipv4_length = instruction(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0, 0, IPV4_AT);
    let after_ipv4 =
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_IND, 0, 0, IPV4_AT + UDP_HEADER);
    let after_ipv6 = instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, IPV6_PAYLOAD_AT);
    [
        half(TYPE_AT),
        equal(TEIJI_ETHERTYPE.0.into(), 13, 0),
        equal(EtherType::VLAN.0.into(), 12, 0),
        equal(EtherType::IPV4.0.into(), 0, 5),
        byte(IPV4_PROTOCOL_AT),
        equal(UDP, 0, 8),
        ipv4_length,
        after_ipv4,
        equal(magic, 6, 5),
        equal(EtherType::IPV6.0.into(), 0, 4),
        byte(IPV6_PROTOCOL_AT),
        equal(UDP, 0, 2),
        after_ipv6,
        equal(magic, 1, 0),
        give(0),
        give(octets),
    ]
}

impl Socket {
    /// Lets a packet socket receive test frames only, and of each no more than `octets`. (Those with
    /// two VLAN tags in their octets, and others with one, pass as well.)
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn receive_test_frames_only(&self, octets: u16) -> Result<(), SysError> {
        attach(self, &test_frames(octets.into()))
    }
}

fn attach(socket: &impl AsFd, program: &[libc::sock_filter; 16]) -> Result<(), SysError> {
    let program = libc::sock_fprog { len: 16, filter: program.as_ptr().cast_mut() };
    // SAFETY: the kernel reads `len` instructions at `filter`, and writes none.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            length_of::<libc::sock_fprog>(),
        )
    };
    check("setsockopt SO_ATTACH_FILTER", result).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;
    use teiji_core::time::Instant;

    /// The kernel filters any socket; one of these needs no rights.
    fn passes(frame: &[u8]) -> bool {
        let (near, far) = UnixDatagram::pair().unwrap();
        attach(&far, &test_frames(100)).unwrap();
        far.set_nonblocking(true).unwrap();
        near.send(frame).unwrap();
        far.recv(&mut [0; 200]).is_ok_and(|length| length == frame.len().min(100))
    }

    /// A frame of this type, with these octets and then a test header.
    fn frame(ethertype: u16, headers: &[u8]) -> Vec<u8> {
        let mut payload = [0; 80];
        Probe { flow: 1, seq: 2, scheduled: Instant::from_ns(3) }.emit(&mut payload);
        [&[2; 12][..], &ethertype.to_be_bytes(), headers, &payload].concat()
    }

    #[test]
    fn the_kernel_lets_test_frames_pass_and_no_others() {
        let mut ipv4 = [0; 28];
        (ipv4[0], ipv4[9]) = (0x45, 17);
        let mut with_options = [0; 36];
        (with_options[0], with_options[9]) = (0x47, 17);
        let mut ipv6 = [0; 48];
        (ipv6[0], ipv6[6]) = (0x60, 17);
        for headers in [&ipv4[..], &with_options] {
            assert!(passes(&frame(0x0800, headers)), "{headers:?}");
        }
        assert!(passes(&frame(0x86DD, &ipv6)));
        assert!(passes(&frame(0x88B6, &[])));
        assert!(passes(&frame(0x8100, &[0, 5, 8, 0])));
        (ipv4[9], ipv6[6]) = (6, 6);
        assert!(!passes(&frame(0x0800, &ipv4)), "TCP");
        assert!(!passes(&frame(0x86DD, &ipv6)), "TCP");
        assert!(!passes(&frame(0x88F7, &[])), "PTP");
        assert!(!passes(&frame(0x0800, &[0x45; 20])[..34]), "too short");
        let mut other = frame(0x0800, &with_options);
        other[14 + 36] = b'X';
        assert!(!passes(&other), "another program's datagram");
    }
}
