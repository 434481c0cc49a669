//! Seconds of 64 bits on every architecture: those of the C library end in 2038 on 32-bit ones.
#![expect(unsafe_code, reason = "the C library's functions take pointers")]

use teiji_core::time::{Clock, Instant};

use crate::error::{SysError, check};

const NS_PER_S: i64 = 1_000_000_000;

/// A point in time as the kernel takes it (`struct __kernel_timespec`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timespec {
    seconds: i64,
    /// Below a second; as 64 bits, also where the C library has 32 and padding.
    nanoseconds: i64,
}

unsafe extern "C" {
    #[cfg_attr(target_pointer_width = "32", link_name = "__clock_gettime64")]
    fn clock_gettime(clock: libc::clockid_t, time: *mut Timespec) -> libc::c_int;
    #[cfg_attr(target_pointer_width = "32", link_name = "__clock_settime64")]
    fn clock_settime(clock: libc::clockid_t, time: *const Timespec) -> libc::c_int;
    #[cfg_attr(target_pointer_width = "32", link_name = "__clock_nanosleep_time64")]
    fn clock_nanosleep(
        clock: libc::clockid_t,
        flags: libc::c_int,
        until: *const Timespec,
        left: *mut Timespec,
    ) -> libc::c_int;
}

impl Timespec {
    /// Of an instant.
    pub(crate) fn of<C: Clock>(at: Instant<C>) -> Self {
        Self {
            seconds: at.as_ns().div_euclid(NS_PER_S),
            nanoseconds: at.as_ns().rem_euclid(NS_PER_S),
        }
    }

    /// As an instant.
    pub(crate) fn instant<C: Clock>(self) -> Instant<C> {
        Instant::from_ns(self.seconds * NS_PER_S + self.nanoseconds)
    }

    /// Before the clock's epoch: the kernel refuses it.
    pub(crate) fn is_negative(self) -> bool {
        self.seconds < 0
    }
}

/// What a clock shows. On common machines this is no system call (vDSO). `None`: `errno` says why.
pub(crate) fn gettime(clock: libc::clockid_t) -> Option<Timespec> {
    let mut time = Timespec::default();
    // SAFETY: `time` is valid and writable for the duration of the call, and at least as large as the
    // C library's timespec of 64-bit seconds: where its nanoseconds have 32 bits, padding follows
    // (little endian), which stays 0.
    let done = unsafe { clock_gettime(clock, &raw mut time) };
    (done == 0).then_some(time)
}

/// Sets a clock.
///
/// # Errors
/// What the kernel says of it.
pub(crate) fn settime(clock: libc::clockid_t, time: Timespec) -> Result<(), SysError> {
    // SAFETY: `time` is valid for the duration of the call.
    check("clock_settime", unsafe { clock_settime(clock, &raw const time) })?;
    Ok(())
}

/// Sleeps until a clock shows `until`; the number of an error, 0 for none.
pub(crate) fn sleep_until(clock: libc::clockid_t, until: Timespec) -> libc::c_int {
    let none = std::ptr::null_mut();
    // SAFETY: `until` is valid; for absolute sleeps the kernel does not use the last argument.
    unsafe { clock_nanosleep(clock, libc::TIMER_ABSTIME, &raw const until, none) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_core::time::Tai;

    #[test]
    fn instants_beyond_2038_and_before_1970_stay_what_they_are() {
        for ns in [4_000_000_000_123_456_789, 0, 999_999_999, -1, -1_500_000_000] {
            let at = Instant::<Tai>::from_ns(ns);
            assert_eq!(Timespec::of(at).instant::<Tai>(), at);
            assert_eq!(Timespec::of(at).is_negative(), ns < 0);
        }
    }

    #[test]
    fn an_unknown_clock_has_no_time() {
        assert!(gettime(libc::CLOCK_TAI).is_some());
        assert_eq!(gettime(0x7fff), None);
        let error = settime(0x7fff, Timespec::default()).unwrap_err();
        assert_eq!(error.errno(), libc::EINVAL);
    }
}
