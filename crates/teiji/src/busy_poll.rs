//! Why a socket may not poll its NIC, whoever receives by it.

use teiji_core::errno::{ENOPROTOOPT, EPERM};
use teiji_sys::error::SysError;
use thiserror::Error;

/// Why there is no busy polling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoBusyPoll {
    /// It needs a right.
    #[error(
        "no right to busy polling: CAP_NET_ADMIN is missing; run as root or with sudo, or do without"
    )]
    Right,
    /// The kernel cannot poll.
    #[error(
        "this kernel has no busy polling (CONFIG_NET_RX_BUSY_POLL); do without, or take another kernel"
    )]
    Kernel,
}

impl NoBusyPoll {
    /// What the system call's failure says, if it is about polling.
    pub(crate) fn of(error: &SysError) -> Option<Self> {
        match (error.call(), error.errno()) {
            ("setsockopt SO_BUSY_POLL", EPERM) => Some(Self::Right),
            ("setsockopt SO_BUSY_POLL", ENOPROTOOPT) => Some(Self::Kernel),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_sentence_and_others_have_none() {
        let of = |call, errno| {
            NoBusyPoll::of(&SysError::new(call, std::io::Error::from_raw_os_error(errno)))
        };
        assert!(of("setsockopt SO_BUSY_POLL", EPERM).unwrap().to_string().contains("no right"));
        let kernel = of("setsockopt SO_BUSY_POLL", ENOPROTOOPT).unwrap().to_string();
        assert!(kernel.contains("CONFIG_NET_RX_BUSY_POLL"), "{kernel}");
        assert_eq!((of("setsockopt SO_BUSY_POLL", 22), of("bind", EPERM)), (None, None));
    }
}
