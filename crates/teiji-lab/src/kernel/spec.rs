//! Which kernel is wanted: a name such as `debian:6.12-rt`, or an image with its modules.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::arch::Arch;

use super::KernelError;
use super::debug::DebugKernel;

/// The name for the newest version of any.
const NEWEST: &str = "newest";

/// A kernel as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelSpec {
    /// What Debian packages of this version today.
    Debian(DebianKernel),
    /// A kernel that finds mistakes in modules, built on this machine.
    Debug {
        /// Whether it is the `PREEMPT_RT` build.
        realtime: bool,
    },
    /// The user's own files.
    Files {
        /// A bzImage.
        image: PathBuf,
        /// The folder of its modules, such as `/lib/modules/6.12.1-rt`.
        modules: PathBuf,
    },
}

/// A kernel series of Debian.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebianKernel {
    /// Version or its beginning, such as `6.12`: `6.12.117` fits, `6.1.1` does not. Or
    /// `newest`.
    pub version: String,
    /// Whether it is the `PREEMPT_RT` build.
    pub realtime: bool,
    /// The processors it is for.
    pub arch: Arch,
}

impl Default for KernelSpec {
    /// `debian:6.12-rt`, the kernel of the first study's successor.
    fn default() -> Self {
        let arch = Arch::default();
        Self::Debian(DebianKernel { version: "6.12".into(), realtime: true, arch })
    }
}

impl KernelSpec {
    /// Reads the options `--kernel` and `--modules`, either of which may be missing.
    ///
    /// # Errors
    /// [`KernelError`] if one needs the other, or the name is no kernel's; the files are read later.
    pub fn from_options(kernel: Option<&str>, modules: Option<&Path>) -> Result<Self, KernelError> {
        match (kernel, modules) {
            (None, None) => Ok(Self::default()),
            (None, Some(modules)) => Err(KernelError::ModulesAlone { modules: modules.to_owned() }),
            (Some("debug"), None) => Ok(Self::Debug { realtime: false }),
            (Some("debug-rt"), None) => Ok(Self::Debug { realtime: true }),
            (Some(name), None) => name.parse().map(Self::Debian),
            (Some(name), Some(modules))
                if name.starts_with("debian:") || name == "debug" || name == "debug-rt" =>
            {
                Err(KernelError::ModulesOfPackage {
                    name: name.to_owned(),
                    modules: modules.to_owned(),
                })
            }
            (Some(image), Some(modules)) => {
                Ok(Self::Files { image: image.into(), modules: modules.to_owned() })
            }
        }
    }
}

impl FromStr for DebianKernel {
    type Err = KernelError;

    fn from_str(text: &str) -> Result<Self, KernelError> {
        let unknown = || KernelError::Name { name: text.to_owned() };
        let (name, arch) = Arch::split(text).ok_or_else(unknown)?;
        let series = name.strip_prefix("debian:").ok_or_else(unknown)?;
        let (version, realtime) = match series.strip_suffix("-rt") {
            Some(version) => (version, true),
            None => (series, false),
        };
        if version == NEWEST {
            return Ok(Self { version: version.to_owned(), realtime, arch });
        }
        let numbers: Vec<_> = version.split('.').collect();
        let digits = |n: &&str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
        if !(2..=3).contains(&numbers.len()) || !numbers.iter().all(digits) {
            return Err(unknown());
        }
        Ok(Self { version: version.to_owned(), realtime, arch })
    }
}

impl FromStr for KernelSpec {
    type Err = KernelError;

    fn from_str(text: &str) -> Result<Self, KernelError> {
        Self::from_options(Some(text), None)
    }
}

impl DebianKernel {
    /// Metapackages that may lead to it, the most particular first.
    pub(crate) fn metapackages(&self) -> [String; 2] {
        let realtime = if self.realtime { "rt-" } else { "" };
        let flavour = format!("{realtime}{}", self.arch.names().kernel_flavour);
        [format!("linux-image-{}-{flavour}", self.version), format!("linux-image-{flavour}")]
    }

    /// Whether it is the newest that Debian packages for a stable release.
    pub(crate) fn is_newest(&self) -> bool {
        self.version == NEWEST
    }

    /// Whether the package of an image is of this version and flavour.
    pub(crate) fn fits(&self, package: &str) -> bool {
        let Some(release) = package.strip_prefix("linux-image-") else { return false };
        let version = if self.is_newest() { "" } else { self.version.as_str() };
        let Some(rest) = release.strip_prefix(version) else { return false };
        let flavour = self.arch.names().kernel_flavour;
        let Some(rest) = rest.strip_suffix(flavour).and_then(|rest| rest.strip_suffix('-')) else {
            return false;
        };
        // The metapackage itself fits no version, and must not fit "newest" either.
        let same_version = rest.starts_with(|c: char| c.is_ascii_digit()) == self.is_newest();
        let other_flavour =
            ["-cloud", "-unsigned", "-16k"].iter().any(|other| rest.contains(other));
        same_version && !other_flavour && self.realtime == rest.ends_with("-rt")
    }
}

impl fmt::Display for DebianKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let realtime = if self.realtime { "-rt" } else { "" };
        write!(f, "debian:{}{realtime}{}", self.version, self.arch.suffix())
    }
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Debian(kernel) => kernel.fmt(f),
            Self::Debug { realtime } => f.write_str(DebugKernel { realtime: *realtime }.name()),
            Self::Files { image, .. } => image.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_back() {
        for name in [
            "debian:newest-rt",
            "debian:newest",
            "debian:6.12-rt",
            "debian:6.1-rt",
            "debian:6.12",
            "debian:6.12.117-rt",
            "debian:6.12-rt/arm64",
            "debian:newest/armhf",
        ] {
            assert_eq!(name.parse::<KernelSpec>().unwrap().to_string(), name);
        }
        assert_eq!(KernelSpec::default().to_string(), "debian:6.12-rt");
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_way_out() {
        for name in [
            "",
            "6.12",
            "debian:",
            "debian:rt",
            "debian:6",
            "debian:6.x-rt",
            "debian:6.1-rt-rt",
            "debian:../6.1",
            "debian:6.12-rt/",
            "debian:6.12-rt/riscv64",
            "debian:6.12/arm64-rt",
            "/boot/vmlinuz",
        ] {
            let why = name.parse::<KernelSpec>().unwrap_err().to_string();
            assert!(why.contains("--modules"), "{why}");
        }
    }

    #[test]
    fn options_that_need_each_other_say_so() {
        let modules = Path::new("/lib/modules/x");
        assert_eq!(
            KernelSpec::from_options(Some("vmlinuz"), Some(modules)).unwrap(),
            KernelSpec::Files { image: "vmlinuz".into(), modules: modules.into() }
        );
        assert!(matches!(
            KernelSpec::from_options(None, Some(modules)),
            Err(KernelError::ModulesAlone { .. })
        ));
        assert!(matches!(
            KernelSpec::from_options(Some("debian:6.1"), Some(modules)),
            Err(KernelError::ModulesOfPackage { .. })
        ));
    }

    #[test]
    fn a_package_fits_only_its_own_version_and_flavour() {
        let rt: DebianKernel = "debian:6.1-rt".parse().unwrap();
        let plain: DebianKernel = "debian:6.12".parse().unwrap();
        let arm64: DebianKernel = "debian:6.12-rt/arm64".parse().unwrap();
        let armhf: DebianKernel = "debian:6.12/armhf".parse().unwrap();
        for (kernel, package, fits) in [
            (&rt, "linux-image-6.1.0-56-rt-amd64", true),
            (&rt, "linux-image-6.1.0-56-amd64", false),
            (&rt, "linux-image-6.12.117+deb12-rt-amd64", false),
            (&plain, "linux-image-6.12.117+deb12-amd64", true),
            (&plain, "linux-image-6.12.117+deb12-rt-amd64", false),
            (&plain, "linux-image-6.12.117+deb12-cloud-amd64", false),
            (&plain, "linux-image-6.12.117+deb12-amd64-unsigned", false),
            (&plain, "busybox-static", false),
            (&arm64, "linux-image-6.12.117+deb12-rt-arm64", true),
            (&arm64, "linux-image-6.12.117+deb12-rt-amd64", false),
            (&arm64, "linux-image-6.12.117+deb12-arm64", false),
            (&armhf, "linux-image-6.12.117+deb12-armmp", true),
            (&armhf, "linux-image-6.12.117+deb12-rt-armmp", false),
            (&armhf, "linux-image-6.12.117+deb12-armmp-lpae", false),
        ] {
            assert_eq!(kernel.fits(package), fits, "{kernel} {package}");
        }
    }
}
