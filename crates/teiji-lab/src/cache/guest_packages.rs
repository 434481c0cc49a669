//! Programs of Debian for the guest: a package's own files and the libraries they need, nothing else.

use std::path::PathBuf;

use crate::arch::Arch;
use crate::fetch::sources::{KERNEL_RELEASES, Origin};
use crate::fetch::{self, Archive, Fetcher};
use crate::store::item::{self, Unfinished};
use crate::store::lock::Filling;
use crate::store::{Progress, StoreError};

use super::error::CacheError;
use super::libraries;
use super::status::Kind;
use super::{Cache, Freshness};

/// Tells these items from packages unpacked without their libraries.
const WITH_LIBRARIES: &str = "+libraries";

/// Folders of a package that a guest has no use for.
const UNUSED: [&str; 9] = [
    "etc/cron.d",
    "etc/default",
    "etc/init.d",
    "lib/systemd",
    "usr/include",
    "usr/lib/systemd",
    "usr/share/bash-completion",
    "usr/share/lintian",
    "usr/share/zsh",
];

impl Cache {
    /// For each named package, for `arch`, a folder with its files and the libraries they need,
    /// to be put into a guest one over the other. All come from one release of
    /// Debian, so that a library they share is the same.
    ///
    /// # Errors
    /// If one is not cached and cannot be fetched, or its files are gone.
    pub fn guest_packages(
        &self,
        names: &[&str],
        arch: Arch,
        progress: &mut dyn Progress,
    ) -> Result<Vec<PathBuf>, CacheError> {
        let cached = |name: &str, progress: &mut dyn Progress| {
            let name = with_libraries(name, arch);
            Some(self.usable(Kind::Package, &name, Freshness::Cached, progress)?.root())
        };
        let mut roots: Vec<_> = names.iter().map(|name| cached(name, progress)).collect();
        if roots.iter().any(Option::is_none) {
            let _filling = Filling::wait(&self.dir, progress)?;
            roots = names.iter().map(|name| cached(name, &mut ())).collect();
            let missing = names.iter().zip(&roots).filter(|(_, root)| root.is_none());
            let missing: Vec<&str> = missing.map(|(name, _)| *name).collect();
            self.fill_guest_packages(&missing, arch, progress)?;
            roots = names.iter().map(|name| cached(name, progress)).collect();
        }
        let lost =
            |name: &str| StoreError::Contents { package: name.to_owned(), missing: "files".into() };
        let found = names.iter().zip(roots);
        Ok(found.map(|(name, root)| root.ok_or_else(|| lost(name))).collect::<Result<_, _>>()?)
    }

    fn fill_guest_packages(
        &self,
        names: &[&str],
        arch: Arch,
        progress: &mut dyn Progress,
    ) -> Result<(), CacheError> {
        if names.is_empty() {
            return Ok(());
        }
        let mut fetcher = Fetcher::new(&self.tools, &self.dir);
        let origin = Origin { release: KERNEL_RELEASES[0], arch };
        let archives = fetcher.download_whole(origin, names, progress)?;
        let pool = self.unpacked_for_now(&fetcher, &archives, progress)?;
        for name in names {
            let own: Vec<&Archive> = archives.iter().filter(|a| a.package.name == *name).collect();
            let missing = || StoreError::Contents {
                package: (*name).to_owned(),
                missing: "package of exactly this name".into(),
            };
            let package = own.first().ok_or_else(missing)?.package.clone();
            let kind_dir = self.kind_dir(Kind::Package);
            let unfinished = Unfinished::start(&kind_dir)?;
            fetcher.unpack(&own, &unfinished.root(), &mut ())?;
            super::drop_documentation(&unfinished.root())?;
            for folder in UNUSED {
                item::remove(&unfinished.root().join(folder))?;
            }
            libraries::add(&unfinished.root(), pool.path(), arch)?;
            let name = with_libraries(name, arch);
            let id = item::id(&name, &package.version);
            unfinished.finish(&kind_dir, &id, &name, vec![package])?;
        }
        Ok(fetch::discard(&archives)?)
    }
}

/// The name of a package's item.
fn with_libraries(package: &str, arch: Arch) -> String {
    format!("{package}{WITH_LIBRARIES}{}", arch.suffix())
}
