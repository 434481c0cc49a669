//! A NIC's PTP hardware clock (PHC, `/dev/ptpN`): how far it is ahead of `CLOCK_TAI`, and setting it.
#![expect(unsafe_code, reason = "ioctl and clock_gettime take pointers")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use teiji_core::time::{Instant, Phc as PhcClock, Realtime, Span, Tai};

use crate::clock;
use crate::error::{SysError, check};
use crate::time64::{self, Timespec};

/// Readings that are tried where the driver cannot read both clocks at once; the quickest counts.
const ATTEMPTS: u8 = 8;
/// Readings that one request may have, `PTP_MAX_SAMPLES`.
const MAX_SAMPLES: usize = 25;

/// A NIC's clock.
#[derive(Debug)]
pub struct Phc(File);

/// A NIC's clock and `CLOCK_TAI`, compared once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// When.
    pub at: Instant<Tai>,
    /// How far they were apart.
    pub offset: Offset,
}

/// What a NIC's clock shows beyond `CLOCK_TAI`, at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// PHC − `CLOCK_TAI`.
    pub ahead: Span,
    /// `ahead` is wrong by this at most; zero if the NIC read both clocks at once.
    pub within: Span,
}

/// `struct ptp_clock_time` (`linux/ptp_clock.h`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ClockTime {
    seconds: i64,
    nanoseconds: u32,
    reserved: u32,
}

impl ClockTime {
    fn as_ns(self) -> i64 {
        self.seconds.saturating_mul(1_000_000_000).saturating_add(self.nanoseconds.into())
    }
}

/// `struct ptp_sys_offset_precise`.
#[repr(C)]
#[derive(Default)]
struct Precise {
    device: ClockTime,
    realtime: ClockTime,
    monotonic_raw: ClockTime,
    reserved: [u32; 4],
}

/// `_IOWR('=', 8, struct ptp_sys_offset_precise)`.
const PTP_SYS_OFFSET_PRECISE: libc::c_ulong = 0xc040_3d08;

/// `struct ptp_sys_offset_extended`: of each reading the system's clock before it, the NIC's, and the
/// system's after it.
#[repr(C)]
struct Extended {
    samples: u32,
    reserved: [u32; 3],
    readings: [[ClockTime; 3]; MAX_SAMPLES],
}

/// `_IOWR('=', 9, struct ptp_sys_offset_extended)`.
const PTP_SYS_OFFSET_EXTENDED: libc::c_ulong = 0xc4c0_3d09;

impl Phc {
    /// Opens `/dev/ptp<index>` for reading.
    ///
    /// # Errors
    /// `ENOENT` if there is none, `EACCES` without the right.
    pub fn open(index: u32) -> Result<Self, SysError> {
        let failed = |error| SysError::new("open /dev/ptp", error);
        File::open(format!("/dev/ptp{index}")).map(Self).map_err(failed)
    }

    /// The clock `index`, and the right to set it.
    ///
    /// # Errors
    /// `ENOENT` if there is none, `EACCES` without the right.
    pub fn open_to_set(index: u32) -> Result<Self, SysError> {
        let failed = |error| SysError::new("open /dev/ptp to set it", error);
        let mut options = File::options();
        options.read(true).write(true);
        options.open(format!("/dev/ptp{index}")).map(Self).map_err(failed)
    }

    /// Sets it to what `CLOCK_TAI` shows, within the time of a system call.
    ///
    /// # Errors
    /// What the kernel says of setting the clock, `EACCES` if it was opened for reading.
    pub fn set_to_tai(&self) -> Result<(), SysError> {
        time64::settime(self.clock_id(), Timespec::of(clock::now::<Tai>()))
    }

    /// Compares it with `CLOCK_TAI`: at one instant where the NIC can (`PTP_SYS_OFFSET_PRECISE`), else
    /// between two readings of the latter, by the driver (`PTP_SYS_OFFSET_EXTENDED`) or here.
    ///
    /// # Errors
    /// What the kernel says of reading the clock.
    pub fn compare(&self) -> Result<Comparison, SysError> {
        self.precise().or_else(|_| self.by_the_driver()).or_else(|_| self.between_readings())
    }

    /// [`Phc::compare`] without its instant.
    ///
    /// # Errors
    /// What the kernel says of reading the clock.
    pub fn offset(&self) -> Result<Offset, SysError> {
        Ok(self.compare()?.offset)
    }

    fn precise(&self) -> Result<Comparison, SysError> {
        let mut both = Precise::default();
        // SAFETY: `both` is the structure that this request writes.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), PTP_SYS_OFFSET_PRECISE as _, &raw mut both) };
        check("ioctl PTP_SYS_OFFSET_PRECISE", result)?;
        let at = Instant::<Realtime>::from_ns(both.realtime.as_ns()).on(clock::tai_offset());
        Ok(Comparison::between(at, Instant::from_ns(both.device.as_ns()), at))
    }

    fn between_readings(&self) -> Result<Comparison, SysError> {
        let read = || {
            let before = clock::now::<Tai>();
            let phc = self.now()?;
            Ok(Comparison::between(before, phc, clock::now()))
        };
        let all = (0..ATTEMPTS).map(|_| read()).collect::<Result<Vec<_>, SysError>>()?;
        Comparison::best(all)
            .ok_or_else(|| SysError::new("clock_gettime", io::ErrorKind::Other.into()))
    }

    fn by_the_driver(&self) -> Result<Comparison, SysError> {
        let none = [ClockTime::default(); 3];
        let mut all =
            Extended { samples: ATTEMPTS.into(), reserved: [0; 3], readings: [none; MAX_SAMPLES] };
        // SAFETY: `all` is the structure that this request reads and writes.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), PTP_SYS_OFFSET_EXTENDED as _, &raw mut all) };
        check("ioctl PTP_SYS_OFFSET_EXTENDED", result)?;
        let ahead = clock::tai_offset();
        let tai = |time: ClockTime| Instant::<Realtime>::from_ns(time.as_ns()).on(ahead);
        let compared = |[before, phc, after]: [ClockTime; 3]| {
            Comparison::between(tai(before), Instant::from_ns(phc.as_ns()), tai(after))
        };
        let best = Comparison::best(all.readings.into_iter().take(ATTEMPTS.into()).map(compared));
        best.ok_or_else(|| {
            SysError::new("ioctl PTP_SYS_OFFSET_EXTENDED", io::ErrorKind::Other.into())
        })
    }

    fn now(&self) -> Result<Instant<PhcClock>, SysError> {
        time64::gettime(self.clock_id())
            .map(Timespec::instant)
            .ok_or_else(|| SysError::last("clock_gettime"))
    }

    /// `FD_TO_CLOCKID` of `linux/posix-timers.h`.
    fn clock_id(&self) -> libc::clockid_t {
        (!self.0.as_raw_fd() << 3) | 3
    }
}

impl Comparison {
    /// From one reading of the NIC's clock, between two of `CLOCK_TAI`.
    fn between(before: Instant<Tai>, phc: Instant<PhcClock>, after: Instant<Tai>) -> Self {
        let half = Span::from_ns((after - before).as_ns() / 2);
        let at = before + half;
        let ahead = Span::from_ns(phc.as_ns() - at.as_ns());
        Self { at, offset: Offset { ahead, within: half } }
    }

    /// The one that is known best.
    fn best(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().min_by_key(|compared| compared.offset.within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_size_in_its_number() {
        assert_eq!(size_of::<Precise>(), 0x40);
        assert_eq!(size_of::<Extended>(), 0x4c0);
    }

    #[test]
    fn the_quickest_reading_counts() {
        let reading = |before, phc, after| {
            let [before, after] = [before, after].map(Instant::from_ns);
            Comparison::between(before, Instant::from_ns(phc), after)
        };
        let slow = reading(1_000, 6_500, 3_000);
        let quick = reading(10_000, 15_000, 10_400);
        assert_eq!(slow.at, Instant::from_ns(2_000));
        assert_eq!(
            slow.offset,
            Offset { ahead: Span::from_ns(4_500), within: Span::from_micros(1) }
        );
        assert_eq!(Comparison::best([slow, quick]), Some(quick));
        assert_eq!(
            quick.offset,
            Offset { ahead: Span::from_ns(4_800), within: Span::from_ns(200) }
        );
    }

    #[test]
    fn a_missing_clock_is_an_error_of_its_own() {
        assert_eq!(Phc::open(4_000_000).unwrap_err().errno(), libc::ENOENT);
    }
}
