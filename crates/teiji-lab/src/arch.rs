//! The processor architecture of a guest: all that differs by it and is a name, in one table.

use std::fmt;

/// A processor architecture that guests can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arch {
    /// 64-bit x86.
    #[default]
    X86_64,
    /// 64-bit ARM (aarch64).
    Arm64,
    /// 32-bit ARM with hardware floating point (armv7).
    Armhf,
}

/// The names of an architecture.
#[derive(Debug)]
pub struct Names {
    /// Debian's name, which kernels' names end with: `debian:6.12-rt/arm64`.
    pub debian: &'static str,
    /// What Debian's kernel packages for it end with, before that a `-`.
    pub(crate) kernel_flavour: &'static str,
    /// GNU's triplet, as in the folders of libraries and the names of cross compilers.
    pub triplet: &'static str,
    /// What `uname -m` calls processors that run its programs.
    uname: &'static [&'static str],
    /// Rust's target for its programs.
    pub rust_target: &'static str,
    /// QEMU's program that emulates it, and Debian's package of that.
    pub(crate) qemu: (&'static str, &'static str),
    /// The first serial line.
    pub(crate) console: &'static str,
    /// What `.kernelvariables` of Debian's headers and kbuild call it.
    pub(crate) kbuild: &'static str,
}

const X86_64: Names = Names {
    debian: "amd64",
    kernel_flavour: "amd64",
    triplet: "x86_64-linux-gnu",
    uname: &["x86_64"],
    rust_target: "x86_64-unknown-linux-gnu",
    qemu: ("qemu-system-x86_64", "qemu-system-x86"),
    console: "ttyS0",
    kbuild: "x86",
};

const ARM64: Names = Names {
    debian: "arm64",
    kernel_flavour: "arm64",
    triplet: "aarch64-linux-gnu",
    uname: &["aarch64"],
    rust_target: "aarch64-unknown-linux-gnu",
    qemu: ("qemu-system-aarch64", "qemu-system-arm"),
    console: "ttyAMA0",
    kbuild: "arm64",
};

const ARMHF: Names = Names {
    debian: "armhf",
    kernel_flavour: "armmp",
    triplet: "arm-linux-gnueabihf",
    // armv8l: a 32-bit system on a 64-bit processor.
    uname: &["armv7l", "armv8l"],
    rust_target: "armv7-unknown-linux-gnueabihf",
    qemu: ("qemu-system-arm", "qemu-system-arm"),
    console: "ttyAMA0",
    kbuild: "arm",
};

impl Arch {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::X86_64, Self::Arm64, Self::Armhf];

    /// The one this program was built for.
    pub const fn of_this_program() -> Self {
        if cfg!(target_arch = "aarch64") {
            Self::Arm64
        } else if cfg!(target_arch = "arm") {
            Self::Armhf
        } else {
            Self::X86_64
        }
    }

    /// Its names.
    pub const fn names(self) -> &'static Names {
        match self {
            Self::X86_64 => &X86_64,
            Self::Arm64 => &ARM64,
            Self::Armhf => &ARMHF,
        }
    }

    /// The one of a machine, by what `uname -m` says there.
    pub fn of_uname(machine: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|arch| arch.names().uname.contains(&machine))
    }

    /// What the name of something for it ends with: nothing for the usual one.
    pub(crate) fn suffix(self) -> String {
        match self {
            Self::X86_64 => String::new(),
            other => format!("/{other}"),
        }
    }

    /// Splits a name and its suffix; `None` if it ends with another one.
    pub(crate) fn split(name: &str) -> Option<(&str, Self)> {
        let Some((name, arch)) = name.split_once('/') else { return Some((name, Self::X86_64)) };
        let arch = Self::ALL.into_iter().find(|known| known.names().debian == arch)?;
        Some((name, arch))
    }

    /// What a tool's name begins with where it makes programs for this architecture on
    /// that of this program.
    pub(crate) fn tool_prefix(self) -> String {
        if self == Self::of_this_program() {
            String::new()
        } else {
            format!("{}-", self.names().triplet)
        }
    }

    /// Debian's package of a compiler such as `gcc` or `gcc-12` for it.
    pub(crate) fn compiler_package(self, compiler: &str) -> String {
        if self == Self::of_this_program() {
            compiler.to_owned()
        } else {
            // A package's name has no `_`.
            format!("{compiler}-{}", self.names().triplet.replace('_', "-"))
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().debian)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_architecture_is_part_of_a_name_except_the_default_one() {
        for arch in Arch::ALL {
            let name = format!("debian:6.12-rt{}", arch.suffix());
            assert_eq!(Arch::split(&name), Some(("debian:6.12-rt", arch)));
        }
        assert_eq!(Arch::split("debian:6.12/amd64"), Some(("debian:6.12", Arch::X86_64)));
        assert_eq!(Arch::split("debian:6.12/riscv64"), None);
    }
}
