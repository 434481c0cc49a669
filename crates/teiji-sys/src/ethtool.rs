//! What a NIC can do and how many queues it has: the `ethtool` requests that
//! Teiji needs (`include/uapi/linux/ethtool.h`).
#![expect(unsafe_code, reason = "the request structures promise to be the kernel's")]

use crate::interface::{InterfaceError, InterfaceName};
use crate::ioctl::{ControlSocket, Request};

const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETHTOOL_SCHANNELS: u32 = 0x3d;
const ETHTOOL_GET_TS_INFO: u32 = 0x41;

fn request<T: Request>(call: &'static str, name: &str, data: &mut T) -> Result<(), InterfaceError> {
    const SIOCETHTOOL: libc::c_ulong = 0x8946;
    ControlSocket::open()?.with_data(call, SIOCETHTOOL, InterfaceName::new(name)?, data)
}

/// How many queues ("channels") a NIC has of each kind, and may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Channels {
    command: u32,
    /// The most receive-only channels.
    pub max_rx: u32,
    /// The most transmit-only channels.
    pub max_tx: u32,
    /// The most channels for other purposes.
    pub max_other: u32,
    /// The most channels that receive and transmit.
    pub max_combined: u32,
    /// Receive-only channels.
    pub rx: u32,
    /// Transmit-only channels.
    pub tx: u32,
    /// Channels for other purposes.
    pub other: u32,
    /// Channels that receive and transmit.
    pub combined: u32,
}

impl Channels {
    /// Transmit queues in use.
    pub fn tx_queues(&self) -> u32 {
        self.tx + self.combined
    }
}

// SAFETY: field by field the kernel's `struct ethtool_channels`, nine u32.
unsafe impl Request for Channels {}

/// The channels of interface `name` (`ethtool -l`).
///
/// # Errors
/// If there is no such interface, or its driver has no channels to tell.
pub fn channels(name: &str) -> Result<Channels, InterfaceError> {
    let mut channels = Channels { command: ETHTOOL_GCHANNELS, ..Channels::default() };
    request("ETHTOOL_GCHANNELS", name, &mut channels)?;
    Ok(channels)
}

/// Sets the channels of interface `name` (`ethtool -L`). The maxima in
/// `channels` are not looked at.
///
/// # Errors
/// If there is no such interface, the right is missing, or the driver refuses the numbers.
pub fn set_channels(name: &str, channels: &Channels) -> Result<(), InterfaceError> {
    let mut channels = Channels { command: ETHTOOL_SCHANNELS, ..*channels };
    request("ETHTOOL_SCHANNELS", name, &mut channels)
}

/// Which driver an interface has, and where its NIC sits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverInfo {
    /// Short name, for example `e1000e`.
    pub driver: String,
    /// Version; drivers in the kernel tree give the kernel's.
    pub version: String,
    /// Firmware of the NIC, may be empty.
    pub firmware: String,
    /// Address on its bus, for example `0000:03:00.0`, may be empty.
    pub bus: String,
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct RawDriverInfo {
    command: u32,
    driver: [u8; 32],
    version: [u8; 32],
    firmware: [u8; 32],
    bus: [u8; 32],
    expansion_rom: [u8; 32],
    reserved: [u8; 12],
    private_flags: u32,
    statistics: u32,
    others: [u32; 3],
}

// SAFETY: field by field the kernel's `struct ethtool_drvinfo`: numbers and
// byte arrays (`char` is a byte).
unsafe impl Request for RawDriverInfo {}

/// The driver of interface `name` (`ethtool -i`).
///
/// # Errors
/// If there is no such interface, or its driver does not tell.
pub fn driver_info(name: &str) -> Result<DriverInfo, InterfaceError> {
    let raw = raw_driver_info(name)?;
    Ok(DriverInfo {
        driver: text(&raw.driver),
        version: text(&raw.version),
        firmware: text(&raw.firmware),
        bus: text(&raw.bus),
    })
}

fn raw_driver_info(name: &str) -> Result<RawDriverInfo, InterfaceError> {
    let mut raw = RawDriverInfo {
        command: ETHTOOL_GDRVINFO,
        driver: [0; 32],
        version: [0; 32],
        firmware: [0; 32],
        bus: [0; 32],
        expansion_rom: [0; 32],
        reserved: [0; 12],
        private_flags: 0,
        statistics: 0,
        others: [0; 3],
    };
    request("ETHTOOL_GDRVINFO", name, &mut raw)?;
    Ok(raw)
}

/// Room for counters: twice what is read, which is more than the NICs have that
/// Teiji knows.
const MAX_COUNTERS: usize = 512;
const NAME_LEN: usize = 32;

/// `struct ethtool_gstrings` with room for the names.
#[repr(C)]
struct RawNames {
    command: u32,
    set: u32,
    count: u32,
    names: [[u8; NAME_LEN]; MAX_COUNTERS],
}

// SAFETY: field by field the kernel's `struct ethtool_gstrings`: numbers, then
// as many names as the driver has, for which `counters` makes sure of the room.
unsafe impl Request for RawNames {}

/// `struct ethtool_stats` with room for the values.
#[repr(C)]
struct RawCounters {
    command: u32,
    count: u32,
    values: [u64; MAX_COUNTERS],
}

// SAFETY: field by field the kernel's `struct ethtool_stats`: numbers, as many
// as the driver has, for which `counters` makes sure of the room.
unsafe impl Request for RawCounters {}

/// The driver's own counters of interface `name` by their names
/// (`ethtool -S`), in the driver's order. Empty if it has none, or more than 256.
///
/// # Errors
/// If there is no such interface, or its driver does not tell.
pub fn counters(name: &str) -> Result<Vec<(String, u64)>, InterfaceError> {
    const ETH_SS_STATS: u32 = 1;
    let announced = raw_driver_info(name)?.statistics as usize;
    // Twofold room: queues might be added between this call and the next ones.
    if announced == 0 || announced > MAX_COUNTERS / 2 {
        return Ok(Vec::new());
    }
    let mut names = Box::new(RawNames {
        command: ETHTOOL_GSTRINGS,
        set: ETH_SS_STATS,
        count: 0,
        names: [[0; NAME_LEN]; MAX_COUNTERS],
    });
    request("ETHTOOL_GSTRINGS", name, &mut *names)?;
    let mut values =
        Box::new(RawCounters { command: ETHTOOL_GSTATS, count: 0, values: [0; MAX_COUNTERS] });
    request("ETHTOOL_GSTATS", name, &mut *values)?;
    let count = names.count.min(values.count) as usize;
    Ok(names.names.iter().map(|name| text(name)).zip(values.values).take(count).collect())
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// What time stamps an interface can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampInfo {
    /// Mask of `SOF_TIMESTAMPING_*`.
    pub so_timestamping: u32,
    /// Index of the NIC's PTP hardware clock, `/dev/ptp<index>`.
    pub phc_index: Option<u32>,
    /// Mask of `1 << HWTSTAMP_TX_*`.
    pub tx_types: u32,
    /// Mask of `1 << HWTSTAMP_FILTER_*`.
    pub rx_filters: u32,
}

impl TimestampInfo {
    /// The NIC stamps the frames it sends.
    pub fn transmits_in_hardware(&self) -> bool {
        self.so_timestamping & libc::SOF_TIMESTAMPING_TX_HARDWARE != 0
            && self.tx_types & (1 << libc::HWTSTAMP_TX_ON) != 0
    }

    /// The NIC stamps *every* frame it receives, not only those of PTP.
    pub fn receives_all_in_hardware(&self) -> bool {
        self.so_timestamping & libc::SOF_TIMESTAMPING_RX_HARDWARE != 0
            && self.rx_filters & (1 << libc::HWTSTAMP_FILTER_ALL) != 0
    }

    /// The driver stamps frames in software when it hands them to the NIC.
    pub fn transmits_in_software(&self) -> bool {
        self.so_timestamping & libc::SOF_TIMESTAMPING_TX_SOFTWARE != 0
    }
}

/// `struct ethtool_ts_info`.
#[repr(C)]
#[derive(Default)]
struct RawTimestampInfo {
    command: u32,
    so_timestamping: u32,
    phc_index: i32,
    tx_types: u32,
    tx_reserved: [u32; 3],
    rx_filters: u32,
    rx_reserved: [u32; 3],
}

// SAFETY: field by field the kernel's `struct ethtool_ts_info`, 32-bit numbers.
unsafe impl Request for RawTimestampInfo {}

/// The time stamping of interface `name` (`ethtool -T`).
///
/// # Errors
/// If there is no such interface, or the kernel does not tell.
pub fn timestamp_info(name: &str) -> Result<TimestampInfo, InterfaceError> {
    let mut raw = RawTimestampInfo { command: ETHTOOL_GET_TS_INFO, ..Default::default() };
    request("ETHTOOL_GET_TS_INFO", name, &mut raw)?;
    Ok(TimestampInfo {
        so_timestamping: raw.so_timestamping,
        phc_index: u32::try_from(raw.phc_index).ok(),
        tx_types: raw.tx_types,
        rx_filters: raw.rx_filters,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_structures_have_the_kernels_sizes() {
        assert_eq!(size_of::<Channels>(), 36);
        assert_eq!(size_of::<RawDriverInfo>(), 196);
        assert_eq!(size_of::<RawTimestampInfo>(), 44);
        assert_eq!(size_of::<RawNames>(), 12 + 32 * MAX_COUNTERS);
        assert_eq!(size_of::<RawCounters>(), 8 + 8 * MAX_COUNTERS);
    }

    #[test]
    fn a_driver_without_counters_has_an_empty_list() {
        // Loopback has no driver information at all on some kernels.
        match counters("lo") {
            Ok(counters) => assert_eq!(counters, Vec::new()),
            Err(error) => assert!(matches!(error, InterfaceError::NotSupported { .. }), "{error}"),
        }
    }

    #[test]
    fn loopback_stamps_in_software_only() {
        let info = timestamp_info("lo").unwrap();
        assert!(info.transmits_in_software());
        assert!(!info.transmits_in_hardware() && !info.receives_all_in_hardware());
        assert_eq!(info.phc_index, None);
    }

    #[test]
    fn a_driver_without_channels_is_an_error_of_its_own() {
        let error = channels("lo").unwrap_err();
        assert!(matches!(error, InterfaceError::NotSupported { .. }), "{error}");
        assert_eq!(error.to_string(), "the driver of lo does not support ETHTOOL_GCHANNELS");
    }

    #[test]
    fn a_missing_interface_is_not_mistaken_for_a_weak_driver() {
        assert!(matches!(driver_info("no-such-if0"), Err(InterfaceError::NotFound(_))));
    }
}
