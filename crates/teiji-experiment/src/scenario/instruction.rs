//! How long the laboratory's processor takes for an instruction.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Virtual time of one guest instruction, whatever it does: a power of two of nanoseconds,
/// because QEMU shifts its count of instructions (`-icount shift`).
///
/// QEMU's own clock knows nothing shorter than 1 ns. Below, an instruction takes that on QEMU's
/// clock, and the guest's clock is slower by a [factor](Self::slowdown).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionTime {
    /// An instruction takes 2^`exponent` ns.
    exponent: i8,
}

impl InstructionTime {
    /// Of an experiment that gives none: 2 ns.
    pub const DEFAULT: Self = Self { exponent: 1 };

    /// All there are, the shortest first.
    pub fn all() -> impl Iterator<Item = Self> {
        (-3..=4).map(|exponent| Self { exponent })
    }

    /// The one that is written so: `125ps`, `2 ns`; `None` for all else.
    pub fn parse(text: &str) -> Option<Self> {
        let bare = |text: &str| text.replace(' ', "");
        Self::all().find(|time| bare(&time.to_string()) == bare(text))
    }

    /// As a manifest has it: `-icount shift=`, and how many times slower the guest's clock is
    /// than QEMU's.
    pub fn of(shift: u8, slowdown: u32) -> Option<Self> {
        Self::all().find(|time| (time.shift(), time.slowdown()) == (shift, slowdown))
    }

    /// An instruction takes 2^`shift` ns on QEMU's clock (`-icount shift=`).
    pub const fn shift(self) -> u8 {
        if self.exponent > 0 { self.exponent.unsigned_abs() } else { 0 }
    }

    /// How many times slower the guest's clock is than QEMU's.
    pub const fn slowdown(self) -> u32 {
        if self.exponent < 0 { 1 << self.exponent.unsigned_abs() } else { 1 }
    }

    /// The time of one instruction, in picoseconds.
    pub const fn as_ps(self) -> u32 {
        (1_000 << self.shift()) / self.slowdown()
    }
}

impl Default for InstructionTime {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// As a report says it: `2 ns`, `125 ps`.
impl fmt::Display for InstructionTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_ps() {
            ps @ ..1_000 => write!(f, "{ps} ps"),
            ps => write!(f, "{} ns", ps / 1_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_powers_of_two_are_possible() {
        let names: Vec<String> = InstructionTime::all().map(|time| time.to_string()).collect();
        let all = ["125 ps", "250 ps", "500 ps", "1 ns", "2 ns", "4 ns", "8 ns", "16 ns"];
        assert_eq!(names, all);
        assert_eq!(InstructionTime::default().to_string(), "2 ns");
        for text in all {
            assert_eq!(InstructionTime::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(InstructionTime::parse("4ns"), InstructionTime::parse("4 ns"));
        for wrong in ["", "ns", "3ns", "0.5ns", "62ps", "32ns", "2"] {
            assert_eq!(InstructionTime::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn qemus_shift_and_the_slower_clock_make_the_time() {
        for time in InstructionTime::all() {
            let (shift, slowdown) = (time.shift(), time.slowdown());
            assert_eq!(time.as_ps() * slowdown, 1_000 << shift, "{time}");
            assert!(shift == 0 || slowdown == 1, "{time}");
            assert_eq!(InstructionTime::of(shift, slowdown), Some(time));
        }
        assert_eq!(InstructionTime::of(1, 2), None);
    }
}
