//! A kernel to boot in the laboratory: its image, its release and its modules.
//!
//! Where it comes from is the business of [`crate::cache`]; nothing here fetches.

pub(crate) mod build;
pub(crate) mod debug;
pub(crate) mod headers;
mod image;
mod modinfo;
mod modules;
mod plugin;
mod source;
mod spec;
pub(crate) mod toolchain;
mod unpacked;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::arch::Arch;
use crate::store::item::{self, Package};
use crate::store::lock::Lease;

pub use build::{BuildError, Strictness};
pub use headers::Headers;
pub use modules::ModuleFile;
pub use plugin::{Plugin, PluginError};
pub use source::ModuleSource;
pub use spec::{DebianKernel, KernelSpec};

/// A kernel that was looked at and found bootable, as far as files tell.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// As the user named it: `debian:6.12-rt`, or the path of the image.
    pub name: String,
    /// The package it came from; `None` for the user's own files.
    pub package: Option<Package>,
    /// What `uname -r` will say.
    pub release: String,
    /// The processors it is for.
    pub arch: Arch,
    /// The image: a bzImage, or what its architecture has instead.
    pub image: PathBuf,
    /// SHA-256 of the image, in hexadecimal.
    pub image_sha256: String,
    /// Folder of its modules, like `/lib/modules/<release>`.
    pub modules_dir: PathBuf,
    /// The configuration it was built with, where known.
    pub config: Option<PathBuf>,
    /// The folder its modules are built with, where it came with one.
    pub(crate) build_tree: Option<PathBuf>,
    /// Whether it is one of the debug kernels.
    debug: bool,
    tree: modules::ModuleTree,
    /// Keeps `teiji lab clean` away while the kernel is in use.
    lease: Option<Arc<Lease>>,
}

/// Why a kernel cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// Not a name this program knows.
    #[error(
        "unknown kernel `{name}`: write debian:VERSION or debian:VERSION-rt (debian:6.12-rt, debian:6.1), for ARM \
         with /arm64 or /armhf (debian:6.12-rt/arm64), debug or debug-rt, or --kernel IMAGE --modules DIR for \
         your own"
    )]
    Name {
        /// What was given.
        name: String,
    },
    /// `--modules` without `--kernel`.
    #[error("--modules {} has no kernel: add --kernel IMAGE, the image these modules belong to", .modules.display())]
    ModulesAlone {
        /// What was given.
        modules: PathBuf,
    },
    /// `--modules` beside the name of a package.
    #[error("{name} brings its own modules: leave out --modules {}", .modules.display())]
    ModulesOfPackage {
        /// The kernel.
        name: String,
        /// What was given.
        modules: PathBuf,
    },
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// There is no room for the unpacked image, say.
    #[error("cannot unpack the kernel to {}: {source}", .path.display())]
    Unpacked {
        /// The new file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The image is something else.
    #[error(
        "{} is not a kernel image (neither a bzImage nor an Image or zImage of ARM): give the file that is \
         called vmlinuz-…, bzImage, Image or zImage",
        .path.display()
    )]
    NotAnImage {
        /// Which file.
        path: PathBuf,
    },
    /// The folder holds no module.
    #[error("no modules (*.ko, *.ko.xz) below {}: give a folder like /lib/modules/<release>", .dir.display())]
    NoModules {
        /// Which folder.
        dir: PathBuf,
    },
    /// Image and modules belong to different kernels.
    #[error(
        "{} is kernel {of_image}, but the modules in {} are of {of_modules}: give the modules of that kernel",
        .image.display(), .modules.display()
    )]
    Mismatch {
        /// The image.
        image: PathBuf,
        /// Its release and architecture.
        of_image: String,
        /// The folder of modules.
        modules: PathBuf,
        /// Their release and architecture.
        of_modules: String,
    },
    /// The kernel has no such module.
    #[error("kernel {release} has no module {module}{needed_by}: use a kernel that has it")]
    UnknownModule {
        /// The module.
        module: String,
        /// ` (needed by …)`, or nothing.
        needed_by: String,
        /// The kernel.
        release: String,
    },
    /// A module cannot be used.
    #[error("module {}: {why}", .path.display())]
    Module {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl Kernel {
    /// Opens the user's own image and modules. `modules` may also be a root
    /// that contains `lib/modules/<release>`.
    ///
    /// # Errors
    /// If the image is not a Linux kernel's, a file cannot be read, or the modules are of another
    /// release.
    pub fn from_files(image: &Path, modules: &Path) -> Result<Self, KernelError> {
        let looks = image::look(image)?;
        let below = ["lib/modules", "usr/lib/modules"]
            .map(|lib| modules.join(lib))
            .into_iter()
            .filter_map(|lib| match &looks.release {
                Some(release) => Some(lib.join(release)),
                None => only_folder(&lib),
            })
            .find(|dir| dir.is_dir());
        let modules_dir = below.unwrap_or_else(|| modules.to_owned());
        let image_sha256 = item::sha256_of(image)
            .map_err(|source| KernelError::Unreadable { path: image.to_owned(), source })?;
        Self::assemble(image.display().to_string(), image, looks, image_sha256, modules_dir)
    }

    /// The kernel in an unpacked and verified package.
    pub(crate) fn from_root(
        name: &str,
        package: Package,
        root: &Path,
        image_sha256: String,
        lease: Arc<Lease>,
    ) -> Result<Self, KernelError> {
        let image = root.join("vmlinuz");
        let mut looks = image::look(&image)?;
        let of_package = || Some(package.name.strip_prefix("linux-image-")?.to_owned());
        looks.release = looks.release.or_else(of_package);
        let modules_dir = root.join("modules");
        let mut kernel = Self::assemble(name.to_owned(), &image, looks, image_sha256, modules_dir)?;
        kernel.package = Some(package);
        kernel.config = Some(root.join("config")).filter(|path| path.exists());
        kernel.build_tree = Some(root.join("build")).filter(|path| path.is_dir());
        kernel.debug = name.starts_with("debug");
        kernel.lease = Some(lease);
        Ok(kernel)
    }

    fn assemble(
        name: String,
        image: &Path,
        looks: image::Image,
        image_sha256: String,
        modules_dir: PathBuf,
    ) -> Result<Self, KernelError> {
        let tree = modules::ModuleTree::open(&modules_dir)?;
        let built_for = tree.built_for()?;
        let of_modules = built_for.as_ref().map(|(release, _)| release.clone());
        let release = looks.release.or(of_modules).unwrap_or_default();
        // Where everything is built in there is nothing to compare.
        if let Some(other) =
            built_for.filter(|built_for| *built_for != (release.clone(), looks.arch))
        {
            return Err(KernelError::Mismatch {
                image: image.to_owned(),
                of_image: format!("{release} for {}", looks.arch),
                modules: modules_dir,
                of_modules: format!("{} for {}", other.0, other.1),
            });
        }
        let build_tree = Some(modules_dir.join("build")).filter(|path| path.is_dir());
        Ok(Self {
            name,
            package: None,
            release,
            arch: looks.arch,
            image: image.to_owned(),
            image_sha256,
            modules_dir,
            config: None,
            build_tree,
            debug: false,
            tree,
            lease: None,
        })
    }

    /// Memory that a guest needs for which `usual_mib` are enough with another kernel.
    pub fn memory_mib(&self, usual_mib: u32) -> u32 {
        // KASAN shadows every eighth byte, freed memory waits in quarantine.
        if self.debug { usual_mib.max(1024) } else { usual_mib }
    }

    /// What belongs on its command line.
    pub fn command_line(&self) -> &'static [&'static str] {
        if !self.debug {
            return &[];
        }
        // Init cannot give built-in drivers their parameters. The first two would make
        // devices at boot.
        &["dummy.numdummies=0", "ifb.numifbs=0", crate::guest::WATCHDOG_ON_COMMAND_LINE]
    }

    /// Makes a module that was built for this kernel one of its own.
    pub fn add_module(&mut self, path: &Path) {
        self.tree.add(path);
    }

    /// Whether it has a module of this name, as a file or built in.
    pub fn has_module(&self, name: &str) -> bool {
        self.tree.has(name)
    }

    /// The named modules and all they need, uncompressed, in the order of loading.
    /// Names may be written with `-` or `_`; what is built in is left out.
    ///
    /// # Errors
    /// If there is no module of a name, or a file cannot be read.
    pub fn modules_for(&self, names: &[&str]) -> Result<Vec<ModuleFile>, KernelError> {
        self.tree.load_order(names, &self.release)
    }
}

/// The only folder in `dir`, if there is one and no other.
fn only_folder(dir: &Path) -> Option<PathBuf> {
    let mut folders =
        dir.read_dir().ok()?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    folders.next().filter(|_| folders.next().is_none())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::*;

    pub(crate) use super::image::tests::image;
    pub(crate) use super::modinfo::tests::module;

    fn files(image_release: &str, modules_release: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let modules = dir.path().join("lib/modules").join(modules_release);
        fs::create_dir_all(&modules).unwrap();
        let vermagic = format!("vermagic={modules_release} SMP preempt_rt");
        fs::write(modules.join("sch_etf.ko"), module(&["depends=", &vermagic])).unwrap();
        fs::write(dir.path().join("vmlinuz"), image(image_release)).unwrap();
        dir
    }

    #[test]
    fn the_users_own_kernel_opens_with_its_module_folder_or_the_root_above_it() {
        let dir = files("6.12.1-rt", "6.12.1-rt");
        let image = dir.path().join("vmlinuz");
        for modules in [dir.path().to_owned(), dir.path().join("lib/modules/6.12.1-rt")] {
            let kernel = Kernel::from_files(&image, &modules).unwrap();
            assert_eq!(kernel.release, "6.12.1-rt");
            assert_eq!(kernel.package, None);
            assert_eq!(kernel.modules_for(&["sch_etf"]).unwrap().len(), 1);
        }
    }

    #[test]
    fn modules_of_another_kernel_are_refused_naming_both() {
        let dir = files("6.12.1-rt", "6.1.0-rt");
        let modules = dir.path().join("lib/modules/6.1.0-rt");
        let why = Kernel::from_files(&dir.path().join("vmlinuz"), &modules).unwrap_err();
        let text = why.to_string();
        assert!(text.contains("6.12.1-rt") && text.contains("6.1.0-rt"), "{text}");
        // An Image of arm64 tells no release; its modules tell their processor.
        let mut arm64 = vec![0; 4096];
        arm64[0x38..0x3c].copy_from_slice(b"ARM\x64");
        fs::write(dir.path().join("Image"), arm64).unwrap();
        let why = Kernel::from_files(&dir.path().join("Image"), &modules).unwrap_err().to_string();
        assert!(why.contains("6.1.0-rt for arm64") && why.contains("6.1.0-rt for amd64"), "{why}");
    }
}
