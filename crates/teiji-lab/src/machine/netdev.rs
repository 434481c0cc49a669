//! QEMU's arguments for what a guest's NICs are connected to: wires, and the host that manages it.

use std::path::PathBuf;

use teiji_core::wire::MacAddr;

use super::Arguments;

/// How often a machine at the connecting end of a wire looks for the other one.
const RECONNECT_MS: u32 = 500;

/// The network between host and guest. From the addresses that operators of networks use internally
/// (RFC 6598), which nobody gives to the two ends of a wire.
const MANAGEMENT_NETWORK: &str = "100.64.0.0/24";
/// The guest's address there: the one to which QEMU forwards.
pub const MANAGEMENT_ADDRESS: &str = "100.64.0.15/24";
/// The port of sshd in the guest.
const SSH_PORT: u16 = 22;

/// What a NIC is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wire {
    /// NICs of this machine with the same number share a wire (a QEMU hub).
    Hub(usize),
    /// A wire to another machine through a Unix socket.
    Socket {
        /// The socket.
        path: PathBuf,
        /// This machine's end.
        end: WireEnd,
    },
}

/// The ends of a wire between two machines. Each machine goes on without the other, and loses the frames that
/// it sends meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireEnd {
    /// Makes the socket, and waits for the other end, also after that has gone.
    Listening,
    /// Connects, again and again.
    Connecting,
}

/// A NIC that leads to this host alone: the guest reaches nothing through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Management {
    /// Its MAC address, by which the guest finds it.
    pub mac: MacAddr,
    /// The port of 127.0.0.1 that leads to the guest's sshd.
    pub port: u16,
}

/// The netdev `id` of a NIC.
pub(super) fn add_wire(args: &mut Arguments, id: &str, wire: &Wire) {
    match wire {
        Wire::Hub(number) => args.pair("-netdev", &format!("hubport,id={id},hubid={number}")),
        Wire::Socket { path, end } => {
            let end = match end {
                WireEnd::Listening => "server=on".to_owned(),
                WireEnd::Connecting => format!("server=off,reconnect-ms={RECONNECT_MS}"),
            };
            let prefix = format!("stream,id={id},{end},addr.type=unix,addr.path=");
            args.path("-netdev", &prefix, path);
        }
    }
}

pub(super) fn add_management(args: &mut Arguments, management: &Management) {
    let Management { mac, port } = management;
    args.pair(
        "-netdev",
        &format!(
            "user,id=management,net={MANAGEMENT_NETWORK},ipv6=off,restrict=on,\
             hostfwd=tcp:127.0.0.1:{port}-:{SSH_PORT}"
        ),
    );
    args.pair("-device", &format!("virtio-net-pci,netdev=management,mac={mac},addr=0x1,romfile="));
}

#[cfg(test)]
mod tests {
    use super::super::qemu_arguments;
    use super::super::tests::spec;
    use super::*;

    fn wire(end: WireEnd) -> Vec<String> {
        let mut machine = spec(1);
        machine.nics.truncate(1);
        machine.nics[0].wire = Wire::Socket { path: "/run/a,b/line.socket".into(), end };
        machine.management = Some(Management { mac: MacAddr([2, 0, 0, 0, 0, 9]), port: 40_022 });
        qemu_arguments(&machine).iter().map(|a| a.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn one_end_of_a_wire_listens_and_the_other_connects_again_and_again() {
        let path = "addr.type=unix,addr.path=/run/a,,b/line.socket";
        let listening = wire(WireEnd::Listening);
        assert!(listening.contains(&format!("stream,id=port0,server=on,{path}")), "{listening:?}");
        let connecting = wire(WireEnd::Connecting);
        let expected = format!("stream,id=port0,server=off,reconnect-ms=500,{path}");
        assert!(connecting.contains(&expected), "{connecting:?}");
    }

    #[test]
    fn the_way_to_the_guest_begins_on_this_host_and_the_guest_reaches_nothing() {
        let args = wire(WireEnd::Listening);
        let user = args.iter().find(|a| a.starts_with("user,")).unwrap();
        assert!(user.contains("restrict=on") && user.contains("hostfwd=tcp:127.0.0.1:40022-:22"));
        let device = "virtio-net-pci,netdev=management,mac=02:00:00:00:00:09,addr=0x1,romfile=";
        assert!(args.iter().any(|a| a == device), "{args:?}");
        let address = MANAGEMENT_ADDRESS.split('.').take(3).collect::<Vec<_>>();
        assert!(address.iter().zip(MANAGEMENT_NETWORK.split('.')).all(|(a, b)| *a == b));
    }
}
