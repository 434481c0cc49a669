//! Round trips: a [`Requester`] sends requests, a [`Reflector`] replies.
//!
//! Both use UDP and the test header with what [`Echo`](teiji_core::wire::Echo)
//! adds. A request that stays without reply costs one time-out and is on record;
//! it never ends the measurement.

mod error;
mod reflect;
mod request;

pub use error::RoundTripError;
pub use reflect::{ReflectedCounts, Reflector, ReflectorConfig};
pub use request::{Requester, RequesterConfig, RequesterLog, RoundTrip, request};
