//! What a card can do and how many queues it has: the `ethtool` requests that
//! Teiji needs (`include/uapi/linux/ethtool.h`).
#![expect(unsafe_code, reason = "the request structures promise to be the kernel's")]

use crate::interface::{InterfaceError, InterfaceName};
use crate::ioctl::{ControlSocket, Request};

const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETHTOOL_SCHANNELS: u32 = 0x3d;
const ETHTOOL_GET_TS_INFO: u32 = 0x41;

fn request<T: Request>(call: &'static str, name: &str, data: &mut T) -> Result<(), InterfaceError> {
    const SIOCETHTOOL: libc::c_ulong = 0x8946;
    ControlSocket::open()?.with_data(call, SIOCETHTOOL, InterfaceName::new(name)?, data)
}

/// How many queues ("channels") a card has of each kind, and may have.
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
pub fn channels(name: &str) -> Result<Channels, InterfaceError> {
    let mut channels = Channels { command: ETHTOOL_GCHANNELS, ..Channels::default() };
    request("ETHTOOL_GCHANNELS", name, &mut channels)?;
    Ok(channels)
}

/// Sets the channels of interface `name` (`ethtool -L`). The maxima in
/// `channels` are not looked at.
pub fn set_channels(name: &str, channels: &Channels) -> Result<(), InterfaceError> {
    let mut channels = Channels { command: ETHTOOL_SCHANNELS, ..*channels };
    request("ETHTOOL_SCHANNELS", name, &mut channels)
}

/// Which driver an interface has, and where its card sits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverInfo {
    /// Short name, for example `e1000e`.
    pub driver: String,
    /// Version; drivers in the kernel tree give the kernel's.
    pub version: String,
    /// Firmware of the card, may be empty.
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
    counts: [u32; 5],
}

// SAFETY: field by field the kernel's `struct ethtool_drvinfo`: numbers and
// byte arrays (`char` is a byte).
unsafe impl Request for RawDriverInfo {}

/// The driver of interface `name` (`ethtool -i`).
pub fn driver_info(name: &str) -> Result<DriverInfo, InterfaceError> {
    let mut raw = RawDriverInfo {
        command: ETHTOOL_GDRVINFO,
        driver: [0; 32],
        version: [0; 32],
        firmware: [0; 32],
        bus: [0; 32],
        expansion_rom: [0; 32],
        reserved: [0; 12],
        counts: [0; 5],
    };
    request("ETHTOOL_GDRVINFO", name, &mut raw)?;
    Ok(DriverInfo {
        driver: text(&raw.driver),
        version: text(&raw.version),
        firmware: text(&raw.firmware),
        bus: text(&raw.bus),
    })
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
    /// Index of the card's PTP hardware clock, `/dev/ptp<index>`.
    pub phc_index: Option<u32>,
    /// Mask of `1 << HWTSTAMP_TX_*`.
    pub tx_types: u32,
    /// Mask of `1 << HWTSTAMP_FILTER_*`.
    pub rx_filters: u32,
}

impl TimestampInfo {
    /// The card stamps the frames it sends.
    pub fn transmits_in_hardware(&self) -> bool {
        self.so_timestamping & libc::SOF_TIMESTAMPING_TX_HARDWARE != 0
            && self.tx_types & (1 << libc::HWTSTAMP_TX_ON) != 0
    }

    /// The card stamps *every* frame it receives, not only those of PTP.
    pub fn receives_all_in_hardware(&self) -> bool {
        self.so_timestamping & libc::SOF_TIMESTAMPING_RX_HARDWARE != 0
            && self.rx_filters & (1 << libc::HWTSTAMP_FILTER_ALL) != 0
    }

    /// The driver stamps frames in software when it hands them to the card.
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
    }

    #[test]
    fn loopback_stamps_in_software_only() {
        let info = timestamp_info("lo").unwrap();
        assert!(info.transmits_in_software());
        assert!(!info.transmits_in_hardware() && !info.receives_all_in_hardware());
        assert_eq!(info.phc_index, None);
    }

    #[test]
    fn a_driver_without_channels_says_so() {
        let error = channels("lo").unwrap_err();
        assert!(matches!(error, InterfaceError::NotSupported { .. }), "{error}");
        assert_eq!(error.to_string(), "the driver of lo does not support ETHTOOL_GCHANNELS");
    }

    #[test]
    fn a_missing_interface_is_not_mistaken_for_a_weak_driver() {
        assert!(matches!(driver_info("no-such-if0"), Err(InterfaceError::NotFound { .. })));
    }
}
