//! What lies in the cache, and how to make it smaller.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::store::item::{self, Item, Package};
use crate::store::lock::{Filling, Lease};
use crate::store::{Progress, StoreError};

use super::Cache;
use super::error::CacheError;

/// What an item is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A kernel with its modules.
    Kernel,
    /// A private QEMU.
    Qemu,
    /// A package unpacked for the guest.
    Package,
    /// What modules of a kernel are built with.
    Headers,
    /// A module of Teiji, built for a kernel.
    Module,
    /// A kernel that finds mistakes, built on this machine.
    DebugKernel,
    /// A compiler for kernels that this system's is too old for.
    Toolchain,
}

impl Kind {
    /// All kinds, in the order they are shown.
    pub const ALL: [Self; 7] = [
        Self::Kernel,
        Self::Qemu,
        Self::Package,
        Self::Headers,
        Self::Module,
        Self::DebugKernel,
        Self::Toolchain,
    ];

    /// Folder below the cache's.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Kernel => "kernels",
            Self::Qemu => "qemu",
            Self::Package => "packages",
            Self::Headers => "headers",
            Self::Module => "modules",
            Self::DebugKernel => "debug-kernels",
            Self::Toolchain => "toolchains",
        }
    }
}

/// Whether an item is as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Every digest fits.
    Whole,
    /// What differs; it will be fetched again when it is next wanted.
    Damaged(String),
}

/// One item of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cached {
    /// What it is for.
    pub kind: Kind,
    /// Names that stand for it (`debian:6.12-rt`); empty: nobody requests it any more.
    pub names: Vec<String>,
    /// Its packages; the first is the one that was requested. Empty if damaged beyond reading.
    pub packages: Vec<Package>,
    /// Bytes of its files.
    pub bytes: u64,
    /// When it was fetched, seconds since 1970 (UTC).
    pub fetched_unix_s: u64,
    /// Where it lies.
    pub dir: PathBuf,
    /// Whether the digests fit.
    pub health: Health,
}

/// What [`Cache::clean`] removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clean {
    /// Items no name stands for, damaged ones, package indexes and left-overs.
    Unused,
    /// Everything.
    All,
}

/// What [`Cache::clean`] has removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cleaned {
    /// Items removed.
    pub items: usize,
    /// Bytes freed, left-overs and indexes included.
    pub bytes: u64,
}

impl Cache {
    /// Every item, checked against its digests.
    ///
    /// # Errors
    /// If a folder of the cache cannot be read.
    pub fn status(&self) -> Result<Vec<Cached>, CacheError> {
        let mut all = Vec::new();
        for kind in Kind::ALL {
            let kind_dir = self.kind_dir(kind);
            let entries = list(&kind_dir)?;
            let mut names: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
            for path in &entries {
                if let (Ok(target), Some(name)) = (fs::read_link(path), path.file_name()) {
                    let name = item::name_of_file(&name.to_string_lossy());
                    names.entry(kind_dir.join(target)).or_default().push(name);
                }
            }
            for dir in entries.into_iter().filter(|path| is_item(path)) {
                all.push(cached(kind, names.remove(&dir).unwrap_or_default(), dir)?);
            }
        }
        Ok(all)
    }

    /// Makes the cache smaller; refused while another teiji uses it.
    ///
    /// # Errors
    /// If another process uses the cache, or an item cannot be removed.
    pub fn clean(self, what: Clean, progress: &mut dyn Progress) -> Result<Cleaned, CacheError> {
        let status = self.status()?;
        let dir = self.dir.clone();
        // This process's own lease must go before the sole one can be had.
        drop(self);
        let _sole = Lease::sole(&dir)?;
        let _filling = Filling::wait(&dir, progress)?;
        let before = size(&dir)?;
        let mut items = 0;
        for one in status {
            let used = !one.names.is_empty() && one.health == Health::Whole;
            if what == Clean::All || !used {
                item::remove(&one.dir)?;
                items += 1;
            }
        }
        for kind in Kind::ALL {
            for path in list(&dir.join(kind.folder()))? {
                let dangling = path.is_symlink() && !path.exists();
                if dangling || (!path.is_symlink() && !is_item(&path)) {
                    item::remove(&path)?;
                }
            }
        }
        item::remove(&dir.join("apt"))?;
        Ok(Cleaned { items, bytes: before.saturating_sub(size(&dir)?) })
    }
}

/// A folder of an item, not a name and not one being filled.
fn is_item(path: &Path) -> bool {
    let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    !hidden && !path.is_symlink() && path.is_dir()
}

fn cached(kind: Kind, names: Vec<String>, dir: PathBuf) -> Result<Cached, CacheError> {
    Ok(match Item::load(&dir) {
        Ok(item) => Cached {
            kind,
            names,
            bytes: item.bytes(),
            fetched_unix_s: item.manifest.fetched_unix_s,
            health: item.verify().map_or_else(Health::Damaged, |()| Health::Whole),
            packages: item.manifest.packages,
            dir,
        },
        Err(why) => Cached {
            kind,
            names,
            packages: Vec::new(),
            bytes: size(&dir)?,
            fetched_unix_s: 0,
            dir,
            health: Health::Damaged(why),
        },
    })
}

/// Entries of a folder in the order of their names; none if it does not exist.
fn list(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let read = |e| StoreError::io("read", dir, e);
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(read(e)),
    };
    let mut paths = entries
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(read)?;
    paths.sort();
    Ok(paths)
}

/// Bytes of all files below `dir`; those that vanish meanwhile count nothing.
fn size(dir: &Path) -> Result<u64, CacheError> {
    let files = item::files_below(dir)?;
    Ok(files.iter().filter_map(|path| fs::symlink_metadata(path).ok()).map(|m| m.len()).sum())
}
