//! The laboratory's cache: kernels, QEMU and packages, fetched once and checked at every use.
//!
//! Lies in `$XDG_CACHE_HOME/teiji` (else `~/.cache/teiji`):
//!
//! ```text
//! kernels/ headers/ modules/     one folder an item, a symbolic link for each requested name
//! qemu/ packages/ debug-kernels/ toolchains/
//! apt/<release>/                 private package index and unfinished downloads
//! *.lock                         one process fills, many use
//! ```
//!
//! What is cached is used without touching the network; `refresh_*` asks again.

mod debug_kernel;
mod error;
mod guest_packages;
mod libraries;
mod modules;
mod status;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::arch::Arch;
use crate::fetch::apt::Tools;
use crate::fetch::{self, Archive, Fetcher};
use crate::kernel::debug::DebugKernel;
use crate::kernel::{DebianKernel, Kernel, KernelSpec};
use crate::qemu_install::{self, Qemu, QemuError};
use crate::store::item::{self, Found, Item, Unfinished};
use crate::store::lock::{Filling, Lease};

pub use crate::fetch::FetchError;
pub use crate::store::space::available_bytes;
pub use crate::store::{Package, Progress, Step, StoreError};
pub use error::CacheError;
pub use status::{Cached, Clean, Cleaned, Health, Kind};

/// The cache folder, open.
#[derive(Debug)]
pub struct Cache {
    dir: PathBuf,
    tools: Tools,
    lease: Arc<Lease>,
}

/// Whether what is cached may be used, or the package server must be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Freshness {
    Cached,
    Today,
}

impl Cache {
    /// Opens the user's cache, creating the folder if needed.
    ///
    /// # Errors
    /// [`CacheError::NoHome`] without an absolute `XDG_CACHE_HOME` or `HOME`; otherwise as
    /// [`Cache::open_at`].
    pub fn open() -> Result<Self, CacheError> {
        let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let base = set("XDG_CACHE_HOME")
            .or_else(|| set("HOME").map(|home| home.join(".cache")))
            .ok_or(CacheError::NoHome)?;
        Self::open_at(&base.join("teiji"))
    }

    /// Opens a cache in a folder of choice.
    ///
    /// # Errors
    /// If the folder cannot be made, or the lock in it cannot be taken.
    pub fn open_at(dir: &Path) -> Result<Self, CacheError> {
        item::create_dir(dir)?;
        let lease = Arc::new(Lease::shared(dir)?);
        Ok(Self { dir: dir.to_owned(), tools: Tools::default(), lease })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn kind_dir(&self, kind: Kind) -> PathBuf {
        self.dir.join(kind.folder())
    }

    /// The kernel, fetched if it is not cached or damaged.
    ///
    /// # Errors
    /// If it is not cached and cannot be fetched, or if the files of one's own are not a kernel and
    /// its modules.
    pub fn kernel(
        &self,
        spec: &KernelSpec,
        progress: &mut dyn Progress,
    ) -> Result<Kernel, CacheError> {
        self.kernel_of(spec, Freshness::Cached, progress)
    }

    /// The kernel as Debian packages it today, also if an older one is cached.
    ///
    /// # Errors
    /// If it cannot be fetched, or if the files of one's own are not a kernel and its modules.
    pub fn refresh_kernel(
        &self,
        spec: &KernelSpec,
        progress: &mut dyn Progress,
    ) -> Result<Kernel, CacheError> {
        self.kernel_of(spec, Freshness::Today, progress)
    }

    fn kernel_of(
        &self,
        spec: &KernelSpec,
        freshness: Freshness,
        progress: &mut dyn Progress,
    ) -> Result<Kernel, CacheError> {
        let name = spec.to_string();
        let item = match spec {
            KernelSpec::Files { image, modules } => return Ok(Kernel::from_files(image, modules)?),
            KernelSpec::Debug { realtime } => {
                self.debug_kernel(DebugKernel { realtime: *realtime }, freshness, progress)?
            }
            KernelSpec::Debian(series) => {
                match self.usable(Kind::Kernel, &name, freshness, progress) {
                    Some(item) => item,
                    None => self.fill_kernel(series, &name, freshness, progress)?,
                }
            }
        };
        let missing = |what: &str| StoreError::Contents {
            package: item.dir.display().to_string(),
            missing: what.to_owned(),
        };
        let sha256 = item.sha256("vmlinuz").ok_or_else(|| missing("vmlinuz"))?.to_owned();
        let package = item.manifest.packages.first().ok_or_else(|| missing("package"))?.clone();
        Ok(Kernel::from_root(&name, package, &item.root(), sha256, self.lease.clone())?)
    }

    fn fill_kernel(
        &self,
        series: &DebianKernel,
        name: &str,
        freshness: Freshness,
        progress: &mut dyn Progress,
    ) -> Result<Item, CacheError> {
        let _filling = Filling::wait(&self.dir, progress)?;
        // Somebody else may have fetched it while this process waited; damage was reported before.
        if let Some(item) = self.usable(Kind::Kernel, name, freshness, &mut ()) {
            return Ok(item);
        }
        let mut fetcher = Fetcher::new(&self.tools, &self.dir);
        let wanted = fetcher.resolve_kernel(series, progress)?;
        let kind_dir = self.kind_dir(Kind::Kernel);
        if let Found::Whole(item) = Item::find(&kind_dir, &wanted.id()) {
            item::point(&kind_dir, name, &wanted.id())?;
            return Ok(item);
        }
        let archives = fetcher.download(&wanted, progress)?;
        let unfinished = Unfinished::start(&kind_dir)?;
        let unpacked = unfinished.root().join("package");
        fetcher.unpack(&archives, &unpacked, progress)?;
        keep_kernel(&unpacked, &unfinished.root(), &wanted.name)?;
        self.store(Kind::Kernel, unfinished, &wanted.id(), name, &archives)
    }

    /// A QEMU for guests of `arch`: the system's, else a private one (cached, or fetched).
    ///
    /// # Errors
    /// If the system's does not fit and a private one is neither cached nor can be fetched.
    pub fn qemu(&self, arch: Arch, progress: &mut dyn Progress) -> Result<Qemu, CacheError> {
        let path = match &self.tools.dir {
            Some(dir) => Some(dir.clone().into_os_string()),
            None => std::env::var_os("PATH"),
        };
        match Qemu::of_system(arch, path.as_deref()) {
            Ok(qemu) => Ok(qemu),
            Err(why_not) => self.private_qemu(arch, &why_not, Freshness::Cached, progress),
        }
    }

    /// Today's private QEMU, where the system's does not fit.
    ///
    /// # Errors
    /// If the system's does not fit and a private one cannot be fetched.
    pub fn refresh_qemu(
        &self,
        arch: Arch,
        progress: &mut dyn Progress,
    ) -> Result<Qemu, CacheError> {
        match Qemu::of_system(arch, std::env::var_os("PATH").as_deref()) {
            Ok(qemu) => Ok(qemu),
            Err(why_not) => self.private_qemu(arch, &why_not, Freshness::Today, progress),
        }
    }

    fn private_qemu(
        &self,
        arch: Arch,
        why_not: &str,
        freshness: Freshness,
        progress: &mut dyn Progress,
    ) -> Result<Qemu, CacheError> {
        let name = &format!("current{}", arch.suffix());
        let package = arch.names().qemu.1;
        let open = |item: &Item| {
            let version = item.manifest.packages.first().map(|p| p.version.clone());
            Qemu::of_root(arch, &item.root(), version.unwrap_or_default(), self.lease.clone())
        };
        if let Some(item) = self.usable(Kind::Qemu, name, freshness, progress) {
            match open(&item) {
                Ok(qemu) => return Ok(qemu),
                // Libraries of the system may have gone since it was fetched.
                Err(why) => progress.note(&format!("{why}: fetching QEMU again")),
            }
        }
        let _filling = Filling::wait(&self.dir, progress)?;
        if let Some(qemu) =
            self.usable(Kind::Qemu, name, freshness, &mut ()).and_then(|item| open(&item).ok())
        {
            return Ok(qemu);
        }
        let (origin, suite) = qemu_install::private_source(arch, why_not, &self.tools)?;
        progress.note(&format!(
            "Teiji needs {package} ≥ {} ({why_not}): fetching it privately from {suite}, the system stays as it is",
            qemu_install::MINIMUM
        ));
        let mut fetcher = Fetcher::new(&self.tools, &self.dir);
        let archives = fetcher.download_closure(origin, &suite, package, progress)?;
        let first = archives.first().ok_or_else(|| QemuError {
            found: why_not.to_owned(),
            advice: format!(
                "{package} is installed but does not do: repair it with your system's packages"
            ),
        })?;
        let id = item::id(&first.package.name, &first.package.version);
        let unfinished = Unfinished::start(&self.kind_dir(Kind::Qemu))?;
        fetcher.unpack(&archives, &unfinished.root(), progress)?;
        drop_documentation(&unfinished.root())?;
        keep_machines(&unfinished.root())?;
        let item = self.store(Kind::Qemu, unfinished, &id, name, &archives)?;
        open(&item).map_err(|found| {
            let advice = format!("install {package} with your system's packages");
            QemuError { found, advice }.into()
        })
    }

    /// Folder with the unpacked files of a Debian package for `arch` (without what it depends on).
    ///
    /// # Errors
    /// If it is not cached and apt does not find, download or unpack it.
    pub fn package(
        &self,
        package: &str,
        arch: Arch,
        progress: &mut dyn Progress,
    ) -> Result<PathBuf, CacheError> {
        let name = &format!("{package}{}", arch.suffix());
        if let Some(item) = self.usable(Kind::Package, name, Freshness::Cached, progress) {
            return Ok(item.root());
        }
        let _filling = Filling::wait(&self.dir, progress)?;
        if let Some(item) = self.usable(Kind::Package, name, Freshness::Cached, &mut ()) {
            return Ok(item.root());
        }
        let mut fetcher = Fetcher::new(&self.tools, &self.dir);
        let wanted = fetcher.resolve_package(package, arch, progress)?;
        let archives = fetcher.download(&wanted, progress)?;
        let unfinished = Unfinished::start(&self.kind_dir(Kind::Package))?;
        fetcher.unpack(&archives, &unfinished.root(), progress)?;
        drop_documentation(&unfinished.root())?;
        let id = item::id(name, &wanted.version);
        Ok(self.store(Kind::Package, unfinished, &id, name, &archives)?.root())
    }

    /// The item, if it may be used as it is; damage is reported and means "fetch again".
    fn usable(
        &self,
        kind: Kind,
        name: &str,
        freshness: Freshness,
        progress: &mut dyn Progress,
    ) -> Option<Item> {
        if freshness == Freshness::Today {
            return None;
        }
        match Item::find(&self.kind_dir(kind), name) {
            Found::Whole(item) => Some(item),
            Found::Absent => None,
            Found::Damaged(why) => {
                progress
                    .note(&format!("{name} in the cache is damaged ({why}): fetching it again"));
                None
            }
        }
    }

    /// The archives unpacked in a folder that vanishes when it is dropped.
    fn unpacked_for_now(
        &self,
        fetcher: &Fetcher,
        archives: &[Archive],
        progress: &mut dyn Progress,
    ) -> Result<tempfile::TempDir, CacheError> {
        let apt = self.dir.join("apt");
        let folder = tempfile::tempdir_in(&apt)
            .map_err(|e| StoreError::io("create a folder in", &apt, e))?;
        fetcher.unpack(archives, folder.path(), progress)?;
        Ok(folder)
    }

    fn store(
        &self,
        kind: Kind,
        unfinished: Unfinished,
        id: &str,
        name: &str,
        archives: &[Archive],
    ) -> Result<Item, CacheError> {
        let packages = archives.iter().map(|archive| archive.package.clone()).collect();
        let item = unfinished.finish(&self.kind_dir(kind), id, name, packages)?;
        fetch::discard(archives)?;
        Ok(item)
    }
}

/// Moves what the laboratory needs of an unpacked image package to the item's root.
fn keep_kernel(unpacked: &Path, root: &Path, package: &str) -> Result<(), StoreError> {
    let missing =
        |what: &str| StoreError::Contents { package: package.to_owned(), missing: what.to_owned() };
    let release = package.strip_prefix("linux-image-").unwrap_or(package);
    let modules = ["lib/modules", "usr/lib/modules"]
        .map(|lib| unpacked.join(lib).join(release))
        .into_iter()
        .find(|dir| dir.is_dir())
        .ok_or_else(|| missing("folder of modules"))?;
    // Since Linux 6.19 Debian keeps all of a kernel in the folder of its modules.
    let of_kernel = |name: &str| {
        [unpacked.join("boot").join(format!("{name}-{release}")), modules.join(name)]
            .into_iter()
            .find(|path| path.is_file())
    };
    let image = of_kernel("vmlinuz").ok_or_else(|| missing("vmlinuz"))?;
    let keep = |from: &Path, to: &str| {
        fs::rename(from, root.join(to)).map_err(|e| StoreError::io("rename", from, e))
    };
    keep(&image, "vmlinuz")?;
    if let Some(config) = of_kernel("config") {
        keep(&config, "config")?;
    }
    keep(&modules, "modules")?;
    item::remove(unpacked)
}

/// Removes QEMU's programs that are not for machines: where `qemu-user` is installed, apt brings a
/// newer one, too, of 300 MB.
fn keep_machines(root: &Path) -> Result<(), StoreError> {
    for path in item::files_below(&root.join("usr/bin"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with("qemu-system-") {
            item::remove(&path)?;
        }
    }
    Ok(())
}

fn drop_documentation(root: &Path) -> Result<(), StoreError> {
    ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/icons"]
        .iter()
        .try_for_each(|dir| item::remove(&root.join(dir)))
}
