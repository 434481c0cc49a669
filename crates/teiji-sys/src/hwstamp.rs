//! Switching a NIC's hardware time stamps on, and back to what they were.
#![expect(unsafe_code, reason = "the request structure promises to be the kernel's")]

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::interface::{InterfaceError, InterfaceName};
use crate::ioctl::{ControlSocket, Request};

/// Which frames a NIC stamps (`struct hwtstamp_config`). One setting per
/// NIC: all programs share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct HardwareStamps {
    flags: i32,
    /// `HWTSTAMP_TX_*`: 0 off, 1 on request of the socket.
    pub tx_type: i32,
    /// `HWTSTAMP_FILTER_*`: 0 none, 1 all.
    pub rx_filter: i32,
}

// SAFETY: field by field the kernel's `struct hwtstamp_config`, three ints.
unsafe impl Request for HardwareStamps {}

impl HardwareStamps {
    /// No stamps.
    pub const OFF: Self = Self { flags: 0, tx_type: 0, rx_filter: 0 };
    /// Transmitted frames on request, received frames always.
    pub const ALL: Self = Self { flags: 0, tx_type: 1, rx_filter: 1 };
}

/// The present setting of interface `name`. Drivers that cannot tell answer
/// [`InterfaceError::NotSupported`].
///
/// # Errors
/// If there is no such interface, or its driver cannot tell.
pub fn get(name: &str) -> Result<HardwareStamps, InterfaceError> {
    get_through(&ControlSocket::open()?, InterfaceName::new(name)?)
}

/// Changes the setting of interface `name` and gives what the driver made of
/// it: it may stamp more than requested. Needs `CAP_NET_ADMIN`.
///
/// # Errors
/// If there is no such interface, the right is missing, or the driver refuses the setting.
pub fn set(name: &str, wanted: HardwareStamps) -> Result<HardwareStamps, InterfaceError> {
    set_through(&ControlSocket::open()?, InterfaceName::new(name)?, wanted)
}

fn get_through(
    socket: &ControlSocket,
    name: InterfaceName,
) -> Result<HardwareStamps, InterfaceError> {
    let mut stamps = HardwareStamps::OFF;
    let request = libc::SIOCGHWTSTAMP as libc::c_ulong;
    socket.with_data("SIOCGHWTSTAMP", request, name, &mut stamps)?;
    Ok(stamps)
}

fn set_through(
    socket: &ControlSocket,
    name: InterfaceName,
    wanted: HardwareStamps,
) -> Result<HardwareStamps, InterfaceError> {
    let mut stamps = wanted;
    let request = libc::SIOCSHWTSTAMP as libc::c_ulong;
    socket.with_data("SIOCSHWTSTAMP", request, name, &mut stamps)?;
    Ok(stamps)
}

/// An interface: the cookie of its network namespace, and its name.
type Key = (u64, InterfaceName);

/// What the guards of one interface share.
#[derive(Debug)]
struct Shared {
    guards: usize,
    before: HardwareStamps,
    changed: bool,
}

/// The interfaces whose stamps this process has switched on. A NIC has one setting,
/// so it is the last of its guards that restores it.
static SHARED: Mutex<BTreeMap<Key, Shared>> = Mutex::new(BTreeMap::new());

/// Hardware stamps are on while this lives. Dropping the last guard of an interface in
/// this process restores the setting from before the first one, also from a thread in
/// another network namespace.
#[derive(Debug)]
#[must_use = "the stamps are switched back when this is dropped"]
pub struct Enabled {
    socket: ControlSocket,
    key: Key,
}

impl Enabled {
    /// Switches stamps of interface `name` on: with `transmit` for frames that
    /// sockets ask to stamp, with `receive` for every received frame. What was
    /// on stays on.
    ///
    /// # Errors
    /// If there is no such interface, the right is missing, or the driver refuses the setting.
    pub fn on(name: &str, transmit: bool, receive: bool) -> Result<Self, InterfaceError> {
        let (socket, name) = (ControlSocket::open()?, InterfaceName::new(name)?);
        let key = (socket.namespace()?, name);
        let mut shared = lock();
        // A driver that cannot tell its setting starts with everything off.
        let now = match get_through(&socket, name) {
            Ok(now) => now,
            Err(InterfaceError::NotSupported { .. }) => HardwareStamps::OFF,
            Err(other) => return Err(other),
        };
        let mut wanted = now;
        if transmit {
            wanted.tx_type = HardwareStamps::ALL.tx_type;
        }
        if receive {
            wanted.rx_filter = HardwareStamps::ALL.rx_filter;
        }
        if wanted != now {
            set_through(&socket, name, wanted)?;
        }
        let of_interface =
            shared.entry(key).or_insert(Shared { guards: 0, before: now, changed: false });
        of_interface.guards += 1;
        of_interface.changed |= wanted != now;
        Ok(Self { socket, key })
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        let mut shared = lock();
        let Entry::Occupied(mut of_interface) = shared.entry(self.key) else { return };
        of_interface.get_mut().guards -= 1;
        if of_interface.get().guards == 0 {
            let Shared { before, changed, .. } = of_interface.remove();
            // The interface may be gone; then there is nothing to restore.
            if changed {
                let _ = set_through(&self.socket, self.key.1, before);
            }
        }
    }
}

fn lock() -> MutexGuard<'static, BTreeMap<Key, Shared>> {
    // Nothing panics while it is held; what it guards is whole in any case.
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_without_hardware_timestamps_is_an_error_of_its_own() {
        // Somebody without rights is refused before the driver is queried.
        assert!(matches!(
            Enabled::on("lo", true, true),
            Err(InterfaceError::NotSupported { .. } | InterfaceError::NoRight { .. })
        ));
    }

    #[test]
    fn the_request_structure_has_the_kernels_size() {
        assert_eq!(size_of::<HardwareStamps>(), 12);
    }
}
