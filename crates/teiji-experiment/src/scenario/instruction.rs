//! How long the laboratory's processor takes for an instruction.

use std::fmt;

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;

/// Virtual time of one guest instruction, whatever it does: a power of two of nanoseconds,
/// because QEMU shifts its count of instructions (`-icount shift`). 2 ns unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionTime {
    shift: u8,
}

impl InstructionTime {
    /// 1, 2, 4, 8 or 16 ns; `None` for all else.
    pub fn new(span: Span) -> Option<Self> {
        (0..=4).map(|shift| Self { shift }).find(|time| time.span() == span)
    }

    /// An instruction takes 2^`shift` ns (`-icount shift=`).
    pub const fn shift(self) -> u8 {
        self.shift
    }

    /// The time of one instruction.
    pub const fn span(self) -> Span {
        Span::from_ns(1 << self.shift)
    }
}

impl Default for InstructionTime {
    fn default() -> Self {
        Self { shift: 1 }
    }
}

/// As a report says it: `2 ns`.
impl fmt::Display for InstructionTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.span().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_powers_of_two_are_possible() {
        let possible = (0..100).filter_map(|ns| InstructionTime::new(Span::from_ns(ns)));
        let told: Vec<String> = possible.map(|time| time.to_string()).collect();
        assert_eq!(told, ["1 ns", "2 ns", "4 ns", "8 ns", "16 ns"]);
        assert_eq!(InstructionTime::default().to_string(), "2 ns");
    }
}
