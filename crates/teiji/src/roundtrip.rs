//! Round trips: a [`Requester`] sends requests, a [`Reflector`] replies.
//!
//! Both use UDP and the test header with what [`Echo`](teiji_core::wire::Echo)
//! adds. A request that stays without reply costs one time-out and is on record;
//! it never ends the measurement.

mod error;
mod reflect;
mod request;

use teiji_sys::interface::{self, InterfaceName};
use teiji_sys::socket::Socket;

pub use error::RoundTripError;
pub use reflect::{ReflectedCounts, Reflector, ReflectorConfig};
pub use request::{Requester, RequesterConfig, RequesterLog, RoundTrip, request};

/// Has the socket use this interface alone.
fn bind_to_interface(socket: &Socket, name: &str) -> Result<(), RoundTripError> {
    let device = InterfaceName::new(name)?;
    // The socket's own error does not say what is missing.
    interface::index(name)?;
    socket.bind_to_device(device).map_err(RoundTripError::Open)
}
