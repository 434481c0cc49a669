//! A NIC's settings by generic netlink, family `ethtool` (kernel 5.6 and
//! later), which has the kernel's own sentences when it says no. sysfs would
//! show some of it, too, but only for the namespace it was mounted in.
//! Numbers from `include/uapi/linux/ethtool_netlink.h`.
//!
//! Everything here asks the calling thread's network namespace.

use super::generic::{Family, field, genlmsghdr};
use super::{KernelError, Netlink};
use crate::message::{Request, u32_at};

const LINKMODES_GET: u8 = 4;
const LINKMODES_SET: u8 = 5;
const RINGS_GET: u8 = 15;
const RINGS_SET: u8 = 16;
const COALESCE_GET: u8 = 19;
const COALESCE_SET: u8 = 20;
const PAUSE_GET: u8 = 21;
const PAUSE_SET: u8 = 22;
const EEE_GET: u8 = 23;
const EEE_SET: u8 = 24;

/// `ETHTOOL_A_*_HEADER` of every message, and the index in it.
const HEADER: u16 = 1;
const HEADER_DEV_INDEX: u16 = 1;
const LINKMODES_AUTONEG: u16 = 2;
const LINKMODES_SPEED: u16 = 5;
const LINKMODES_DUPLEX: u16 = 6;
const RINGS_RX: u16 = 6;
const RINGS_TX: u16 = 9;
const COALESCE_RX_USECS: u16 = 2;
const COALESCE_TX_USECS: u16 = 6;
const COALESCE_ADAPTIVE_RX: u16 = 11;
const COALESCE_ADAPTIVE_TX: u16 = 12;
const PAUSE_AUTONEG: u16 = 2;
const PAUSE_RX: u16 = 3;
const PAUSE_TX: u16 = 4;
const EEE_ACTIVE: u16 = 4;
const EEE_ENABLED: u16 = 5;
/// `SPEED_UNKNOWN`
const SPEED_UNKNOWN: u32 = u32::MAX;
const DUPLEX_FULL: u8 = 1;

/// A conversation with the family `ethtool` about one link.
struct Ethtool {
    netlink: Netlink,
    family: u16,
    index: u32,
}

impl Ethtool {
    fn open(index: u32) -> Result<Self, KernelError> {
        let mut netlink = Netlink::open_generic()?;
        let family = Family::find(&mut netlink, "ethtool")?.id;
        Ok(Self { netlink, family, index })
    }

    fn request(&self, command: u8) -> Request {
        Request::new(self.family, 0, &genlmsghdr(command))
            .nested(HEADER, |header| header.u32(HEADER_DEV_INDEX, self.index))
    }

    /// The attributes `wanted` of the answer to `command`.
    fn get<const N: usize>(
        &mut self,
        command: u8,
        wanted: [u16; N],
    ) -> Result<[Option<Vec<u8>>; N], KernelError> {
        let mut found = [const { None }; N];
        let request = self.request(command);
        self.netlink.get(request, |_, payload| {
            found = wanted.map(|kind| field(payload, kind).map(<[u8]>::to_vec));
        })?;
        Ok(found)
    }
}

fn number(value: Option<Vec<u8>>) -> Option<u32> {
    u32_at(&value?, 0)
}

fn flag(value: Option<Vec<u8>>) -> Option<bool> {
    Some(*value?.first()? != 0)
}

/// The speed of the link with this index in Mbit/s; `None` if the driver or the
/// kernel does not say.
pub(crate) fn mbps(index: u32) -> Option<u32> {
    let [speed] = Ethtool::open(index).ok()?.get(LINKMODES_GET, [LINKMODES_SPEED]).ok()?;
    number(speed).filter(|speed| *speed != 0 && *speed != SPEED_UNKNOWN)
}

/// Sets the speed, full duplex and without negotiation.
pub(crate) fn set_mbps(index: u32, mbps: u32) -> Result<(), KernelError> {
    let mut ethtool = Ethtool::open(index)?;
    let request = ethtool
        .request(LINKMODES_SET)
        .attribute(LINKMODES_AUTONEG, &[0])
        .u32(LINKMODES_SPEED, mbps)
        .attribute(LINKMODES_DUPLEX, &[DUPLEX_FULL]);
    ethtool.netlink.change(request)
}

/// Frames in the transmit and receive rings, `ethtool -g`.
pub(crate) fn rings(index: u32) -> Option<(u32, u32)> {
    let [tx, rx] = Ethtool::open(index).ok()?.get(RINGS_GET, [RINGS_TX, RINGS_RX]).ok()?;
    Some((number(tx)?, number(rx)?))
}

/// Sets the sizes of the rings; `None` leaves one.
pub(crate) fn set_rings(index: u32, tx: Option<u32>, rx: Option<u32>) -> Result<(), KernelError> {
    let mut ethtool = Ethtool::open(index)?;
    let request = with(ethtool.request(RINGS_SET), [(RINGS_RX, rx), (RINGS_TX, tx)]);
    ethtool.netlink.change(request)
}

/// Interrupt moderation in µs, transmitted and received, `ethtool -c`; `None` where the driver has
/// none.
pub(crate) fn moderation(index: u32) -> [Option<u32>; 2] {
    let wanted = [COALESCE_TX_USECS, COALESCE_RX_USECS];
    let values = Ethtool::open(index).and_then(|mut ethtool| ethtool.get(COALESCE_GET, wanted));
    values.map_or([None; 2], |values| values.map(number))
}

/// The NIC chooses its interrupt moderation by the load, for frames sent or received.
pub(crate) fn adaptive_moderation(index: u32) -> Option<bool> {
    let wanted = [COALESCE_ADAPTIVE_TX, COALESCE_ADAPTIVE_RX];
    let [tx, rx] = Ethtool::open(index).ok()?.get(COALESCE_GET, wanted).ok()?;
    let values: Vec<bool> = [flag(tx), flag(rx)].into_iter().flatten().collect();
    (!values.is_empty()).then(|| values.contains(&true))
}

/// Energy Efficient Ethernet (802.3az), allowed and in use, `ethtool --show-eee`.
pub(crate) fn eee(index: u32) -> Option<(bool, bool)> {
    let [enabled, active] =
        Ethtool::open(index).ok()?.get(EEE_GET, [EEE_ENABLED, EEE_ACTIVE]).ok()?;
    Some((flag(enabled)?, flag(active)?))
}

/// Allows or forbids Energy Efficient Ethernet, `ethtool --set-eee`.
pub(crate) fn set_eee(index: u32, on: bool) -> Result<(), KernelError> {
    let mut ethtool = Ethtool::open(index)?;
    let request = ethtool.request(EEE_SET).attribute(EEE_ENABLED, &[u8::from(on)]);
    ethtool.netlink.change(request)
}

/// Has the NIC choose its interrupt moderation by the load, or not, for frames sent and received.
pub(crate) fn set_adaptive_moderation(index: u32, on: bool) -> Result<(), KernelError> {
    let mut ethtool = Ethtool::open(index)?;
    let value = [u8::from(on)];
    let request = ethtool
        .request(COALESCE_SET)
        .attribute(COALESCE_ADAPTIVE_RX, &value)
        .attribute(COALESCE_ADAPTIVE_TX, &value);
    ethtool.netlink.change(request)
}

/// Sets interrupt moderation in µs; `None` leaves one.
pub(crate) fn set_moderation(
    index: u32,
    tx_us: Option<u32>,
    rx_us: Option<u32>,
) -> Result<(), KernelError> {
    let mut ethtool = Ethtool::open(index)?;
    let mut set = |tx_us| {
        let values = [(COALESCE_RX_USECS, rx_us), (COALESCE_TX_USECS, tx_us)];
        let request = with(ethtool.request(COALESCE_SET), values);
        ethtool.netlink.change(request)
    };
    let both = set(tx_us);
    // In pairs of queues igc has one time for both, and refuses a request that names another transmit time.
    let follows = both.is_err()
        && rx_us.is_some()
        && set(None).is_ok()
        && moderation(index) == [tx_us, rx_us];
    if follows { Ok(()) } else { both }
}

/// 802.3x PAUSE, sent and obeyed, `ethtool -a`.
pub(crate) fn pause(index: u32) -> Option<(bool, bool)> {
    let [tx, rx] = Ethtool::open(index).ok()?.get(PAUSE_GET, [PAUSE_TX, PAUSE_RX]).ok()?;
    Some((flag(tx)?, flag(rx)?))
}

/// Both ends agree on PAUSE by negotiation.
pub(crate) fn pause_is_negotiated(index: u32) -> Option<bool> {
    let [autoneg] = Ethtool::open(index).ok()?.get(PAUSE_GET, [PAUSE_AUTONEG]).ok()?;
    flag(autoneg)
}

/// Switches 802.3x PAUSE on or off, both ways.
pub(crate) fn set_pause(index: u32, on: bool) -> Result<(), KernelError> {
    put_pause(index, false, on, on)
}

/// Sets 802.3x PAUSE, `ethtool -A`.
pub(crate) fn put_pause(index: u32, autoneg: bool, tx: bool, rx: bool) -> Result<(), KernelError> {
    let mut ethtool = Ethtool::open(index)?;
    let request = ethtool
        .request(PAUSE_SET)
        .attribute(PAUSE_AUTONEG, &[u8::from(autoneg)])
        .attribute(PAUSE_RX, &[u8::from(rx)])
        .attribute(PAUSE_TX, &[u8::from(tx)]);
    ethtool.netlink.change(request)
}

fn with<const N: usize>(request: Request, values: [(u16, Option<u32>); N]) -> Request {
    values.into_iter().fold(request, |request, (kind, value)| match value {
        Some(value) => request.u32(kind, value),
        None => request,
    })
}
