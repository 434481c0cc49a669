//! What a round trip carries behind the test header: request or reply, and when
//! the reflector had it.
//!
//! It follows the [`Probe`] in the UDP payload. 24 bytes, all numbers in network
//! byte order:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 24 | 1 | 1: request, 2: reply |
//! | 25 | 7 | reserved, 0, ignored on receipt |
//! | 32 | 8 | arrival at the reflector, ns of TAI since 1970; the lowest number: unknown |
//! | 40 | 8 | departure from the reflector's program, ns of TAI |
//!
//! A request has zeros in both times. A reply repeats the request's test header.

use super::Probe;
use crate::time::{Instant, Tai};

const REQUEST: u8 = 1;
const REPLY: u8 = 2;
/// In place of an instant that is not known.
const UNKNOWN: i64 = i64::MIN;

/// The part of a round trip's frame behind the test header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// Requests a reply.
    Request,
    /// Answers a request.
    Reply {
        /// The reflector's kernel stamp of the request.
        arrived: Option<Instant<Tai>>,
        /// When the reflector handed the reply over.
        sent: Instant<Tai>,
    },
}

impl Echo {
    /// Bytes of both headers: the smallest payload of a round trip.
    pub const LEN: usize = Probe::LEN + 24;

    /// Reads the part from a whole payload; `None` if it carries none.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let bytes = payload.first_chunk::<{ Self::LEN }>()?;
        let time = |at: usize| bytes[at..].first_chunk::<8>().map(|b| i64::from_be_bytes(*b));
        match bytes[Probe::LEN] {
            REQUEST => Some(Self::Request),
            REPLY => Some(Self::Reply {
                arrived: time(32).filter(|ns| *ns != UNKNOWN).map(Instant::from_ns),
                sent: Instant::from_ns(time(40)?),
            }),
            _ => None,
        }
    }

    /// Writes the part into a whole payload, behind the test header.
    ///
    /// # Panics
    /// If `payload` is shorter than [`Echo::LEN`].
    pub fn emit(&self, payload: &mut [u8]) {
        payload[Probe::LEN..Self::LEN].fill(0);
        match *self {
            Self::Request => payload[Probe::LEN] = REQUEST,
            Self::Reply { arrived, sent } => {
                payload[Probe::LEN] = REPLY;
                let arrived = arrived.map_or(UNKNOWN, Instant::as_ns);
                payload[32..40].copy_from_slice(&arrived.to_be_bytes());
                payload[40..48].copy_from_slice(&sent.as_ns().to_be_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_the_documented_one() {
        let mut bytes = [0xFF; 50];
        let arrived = Some(Instant::from_ns(1));
        Echo::Reply { arrived, sent: Instant::from_ns(-1) }.emit(&mut bytes);
        assert_eq!(bytes[24..32], [2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[32..40], [0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(bytes[40..], [0xFF; 10]);
        Echo::Request.emit(&mut bytes);
        assert_eq!(bytes[24], 1);
        assert_eq!(bytes[25..48], [0; 23]);
    }

    proptest! {
        #[test]
        fn what_is_emitted_parses_back(arrived: Option<i64>, sent: i64) {
            prop_assume!(arrived != Some(UNKNOWN));
            let echo = Echo::Reply {
                arrived: arrived.map(Instant::from_ns),
                sent: Instant::from_ns(sent),
            };
            let mut bytes = [0; 64];
            echo.emit(&mut bytes);
            prop_assert_eq!(Echo::parse(&bytes), Some(echo));
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let _ = Echo::parse(&bytes);
        }
    }

    #[test]
    fn short_and_foreign_payloads_carry_none() {
        assert_eq!(Echo::parse(&[1; 47]), None);
        assert_eq!(Echo::parse(&[3; 48]), None);
    }
}
