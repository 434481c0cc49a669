//! Small numbers of networks and schedulers that have a range of their own, once for experiment
//! files, the command line and the library.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a number is none of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DomainError {
    /// It is no number at all.
    #[error("{0}")]
    Number(#[from] ParseIntError),
    /// It is out of range.
    #[error("{number} is not in {least}..={most}")]
    Range {
        /// The number.
        number: i64,
        /// The least possible one.
        least: i64,
        /// The greatest possible one.
        most: i64,
    },
}

macro_rules! numbers {
    ($($(#[$meta:meta])* $Name:ident($Int:ty) $least:literal..=$most:literal;)*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "i64", into = "i64")]
        pub struct $Name($Int);

        impl $Name {
            /// The least possible one.
            pub const LEAST: Self = Self($least);
            /// The greatest possible one.
            pub const MOST: Self = Self($most);

            /// `None` if it is out of range.
            pub const fn new(number: $Int) -> Option<Self> {
                match number {
                    $least..=$most => Some(Self(number)),
                    _ => None,
                }
            }

            /// The number.
            pub const fn get(self) -> $Int {
                self.0
            }
        }

        impl TryFrom<i64> for $Name {
            type Error = DomainError;

            fn try_from(number: i64) -> Result<Self, DomainError> {
                let known = <$Int>::try_from(number).ok().and_then(Self::new);
                known.ok_or(DomainError::Range { number, least: $least, most: $most })
            }
        }

        impl From<$Name> for i64 {
            fn from(number: $Name) -> Self {
                number.0.into()
            }
        }

        impl FromStr for $Name {
            type Err = DomainError;

            fn from_str(text: &str) -> Result<Self, DomainError> {
                text.parse::<i64>()?.try_into()
            }
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )* };
}

numbers! {
    /// A differentiated services code point (RFC 2474).
    Dscp(u8) 0..=63;
    /// A priority under `SCHED_FIFO` or `SCHED_RR`; 1 is the lowest.
    RtPriority(u8) 1..=99;
    /// A priority of sent packets (`SO_PRIORITY`), as the maps of qdiscs have it.
    SocketPriority(u8) 0..=15;
    /// A level of flow control (`prioflow`); 15 is never paused.
    Level(u8) 0..=15;
    /// A priority code point of a VLAN tag (IEEE 802.1Q).
    Pcp(u8) 0..=7;
    /// A VLAN identifier (IEEE 802.1Q); 0 is a priority tag only, 4095 is reserved.
    VlanId(u16) 0..=4094;
}

impl Level {
    /// The highest one that can be paused.
    pub const HIGHEST_PAUSED: Self = Self(14);
}

impl SocketPriority {
    /// All of them, the lowest first.
    pub fn all() -> impl Iterator<Item = Self> {
        (Self::LEAST.0..=Self::MOST.0).map(Self)
    }
}

impl Default for SocketPriority {
    /// That of a socket without `SO_PRIORITY`.
    fn default() -> Self {
        Self::LEAST
    }
}

impl Default for Dscp {
    /// Best effort.
    fn default() -> Self {
        Self::LEAST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused_with_the_range() {
        assert_eq!("63".parse(), Ok(Dscp::MOST));
        assert_eq!("64".parse::<Dscp>().unwrap_err().to_string(), "64 is not in 0..=63");
        assert_eq!("0".parse::<RtPriority>().unwrap_err().to_string(), "0 is not in 1..=99");
        assert_eq!("300".parse::<Level>().unwrap_err().to_string(), "300 is not in 0..=15");
        assert_eq!("16".parse::<SocketPriority>().unwrap_err().to_string(), "16 is not in 0..=15");
        assert_eq!(VlanId::new(4_095), None);
        assert!("fast".parse::<Dscp>().is_err());
    }

    #[test]
    fn they_serialise_as_numbers_and_are_checked_when_read() {
        assert_eq!(serde_json::to_string(&RtPriority::new(80)).unwrap(), "80");
        assert_eq!(serde_json::from_str::<RtPriority>("80").unwrap().get(), 80);
        assert!(serde_json::from_str::<RtPriority>("100").is_err());
    }
}
