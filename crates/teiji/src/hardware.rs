//! Switching a NIC's time stamps on, where it has them.

use teiji_sys::ethtool::{self, TimestampInfo};
use teiji_sys::hwstamp::Enabled;
use teiji_sys::interface::InterfaceError;

/// Stamps of sent frames; `None` where the NIC has none.
pub(crate) fn transmit_stamps(interface: &str) -> Result<Option<Enabled>, InterfaceError> {
    switch_on(interface, true)
}

/// Stamps of all received frames; `None` where the NIC has none, or only for
/// PTP's.
pub(crate) fn receive_stamps(interface: &str) -> Result<Option<Enabled>, InterfaceError> {
    switch_on(interface, false)
}

fn switch_on(interface: &str, transmit: bool) -> Result<Option<Enabled>, InterfaceError> {
    // Asking first needs no right, so that a NIC without stamps is no matter
    // of rights.
    let has = |info: TimestampInfo| {
        if transmit { info.transmits_in_hardware() } else { info.receives_all_in_hardware() }
    };
    match ethtool::timestamp_info(interface).map(has) {
        Ok(true) => Enabled::on(interface, transmit, !transmit).map(Some),
        Ok(false) | Err(InterfaceError::NotSupported { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}
