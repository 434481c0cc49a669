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
    /// What an experiment may say, as it says it.
    pub const NAMED: [(&'static str, Self); 5] = [
        ("1ns", Self { shift: 0 }),
        ("2ns", Self { shift: 1 }),
        ("4ns", Self { shift: 2 }),
        ("8ns", Self { shift: 3 }),
        ("16ns", Self { shift: 4 }),
    ];

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
    fn the_names_say_what_the_processor_takes() {
        for (name, time) in InstructionTime::NAMED {
            assert_eq!(time.to_string().replace(' ', ""), name);
        }
        assert_eq!(InstructionTime::default().to_string(), "2 ns");
    }
}
