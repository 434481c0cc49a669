//! What external modules of a kernel are built with: its headers, configuration and `kbuild`.
//!
//! Debian's packages expect to lie in `/usr/src`; [`relocate`] lets them lie anywhere.

use std::fs;
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::store::{StoreError, item};

/// The build folder of a kernel, as `make -C` takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headers {
    /// The folder.
    pub dir: PathBuf,
    /// The processors the kernel is for.
    pub(crate) arch: Arch,
    /// What tells it from others: two kernels of the same release may differ.
    pub(crate) identity: String,
    /// The compiler it requests, such as `gcc-12`.
    pub(crate) compiler: Option<String>,
}

/// Debian's place for headers, in the `Makefile` of the package.
const DEBIAN_PLACE: &str = "/usr/src/";
/// What it becomes: the folder above the `Makefile`'s, wherever that is.
const ANY_PLACE: &str = "$(teiji_src)/";
const ANY_PLACE_DEFINED: &str = "teiji_src := $(realpath $(dir $(lastword $(MAKEFILE_LIST)))..)\n";

impl Headers {
    /// Looks at a build folder; the error says what is missing.
    pub(crate) fn open(dir: &Path, arch: Arch, identity: String) -> Result<Self, String> {
        for needed in ["Makefile", "Module.symvers", "include/generated/autoconf.h", "scripts"] {
            if !dir.join(needed).exists() {
                return Err(format!("{} has no {needed}", dir.display()));
            }
        }
        let variables = fs::read_to_string(dir.join(".kernelvariables")).unwrap_or_default();
        Ok(Self { dir: dir.to_owned(), arch, identity, compiler: compiler(&variables) })
    }

    /// The build folder of a kernel that did not come from a package, such as
    /// `/lib/modules/<release>/build`.
    pub(crate) fn of_build_tree(dir: &Path, arch: Arch) -> Result<Self, String> {
        let digest = |name: &str| {
            let path = dir.join(name);
            item::sha256_of(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))
        };
        let config = digest("include/generated/autoconf.h")?;
        let identity = format!("{config}{}", digest("Module.symvers")?);
        Self::open(dir, arch, identity)
    }

    /// The build folder in the unpacked headers of `release`.
    pub(crate) fn of_package(
        root: &Path,
        arch: Arch,
        release: &str,
        version: &str,
    ) -> Result<Self, String> {
        let dir = root.join("usr/src").join(format!("linux-headers-{release}"));
        Self::open(&dir, arch, format!("{release} {version}"))
    }
}

/// The compiler in Debian's `.kernelvariables`: `CC = … $(CROSS_COMPILE)gcc-12`.
fn compiler(variables: &str) -> Option<String> {
    let line = variables.lines().find_map(|line| line.strip_prefix("CC = "))?;
    let name = line.rsplit([' ', ')']).next()?;
    name.starts_with("gcc").then(|| name.to_owned())
}

/// Lets unpacked headers work at any place, and removes what no module needs.
pub(crate) fn relocate(root: &Path, release: &str) -> Result<(), StoreError> {
    let dir = root.join("usr/src").join(format!("linux-headers-{release}"));
    let makefile = dir.join("Makefile");
    let text = fs::read_to_string(&makefile).map_err(|e| StoreError::io("read", &makefile, e))?;
    let text = format!("{ANY_PLACE_DEFINED}{}", text.replace(DEBIAN_PLACE, ANY_PLACE));
    fs::write(&makefile, text).map_err(|e| StoreError::io("write", &makefile, e))?;
    // Only for BTF, which needs pahole and which nothing here reads.
    item::remove(&dir.join("vmlinux"))?;
    // Links to the place of an installed package.
    item::remove(&root.join("lib"))?;
    item::remove(&root.join("usr/lib/modules"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_of_a_kernel_is_read() {
        let debian = "override ARCH = x86\nCCACHE = ccache\n\
                      CC = $(if $(DEBIAN_KERNEL_USE_CCACHE),$(CCACHE)) $(CROSS_COMPILE)gcc-14\n";
        assert_eq!(compiler(debian).as_deref(), Some("gcc-14"));
        assert_eq!(compiler(""), None);
        assert_eq!(compiler("CC = clang\n"), None);
    }

    #[test]
    fn a_folder_that_lacks_something_is_refused_naming_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("Makefile"), "").unwrap();
        let why = Headers::open(dir.path(), Arch::X86_64, String::new()).unwrap_err();
        assert!(why.contains("Module.symvers"), "{why}");
    }
}
