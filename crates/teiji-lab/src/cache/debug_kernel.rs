//! The debug kernels in the cache: built once from Debian's source, then used like fetched ones.

use crate::arch::Arch;
use crate::fetch::{self, Fetcher};
use crate::kernel::debug::{BUILD_BYTES, DebugKernel, SOURCE_PACKAGE};
use crate::store::item::{self, Found, Item, Unfinished};
use crate::store::lock::Filling;
use crate::store::{Progress, space};

use super::error::CacheError;
use super::status::Kind;
use super::{Cache, Freshness};

impl Cache {
    /// The item of a debug kernel, built now if it is not cached. `Today` builds again
    /// if Debian has a newer source or this program another configuration.
    pub(super) fn debug_kernel(
        &self,
        kernel: DebugKernel,
        freshness: Freshness,
        progress: &mut dyn Progress,
    ) -> Result<Item, CacheError> {
        // The configuration is part of the name: another teiji may have another.
        let digest = item::sha256_of_bytes(kernel.config().as_bytes());
        let name = format!("{}_{}", kernel.name(), &digest[..12]);
        if let Some(item) = self.usable(Kind::DebugKernel, &name, freshness, progress) {
            return Ok(item);
        }
        let _building = Filling::kernels(&self.dir, progress)?;
        if let Some(item) = self.usable(Kind::DebugKernel, &name, freshness, &mut ()) {
            return Ok(item);
        }
        let kind_dir = self.kind_dir(Kind::DebugKernel);
        let unfinished = Unfinished::start(&kind_dir)?;
        let work = unfinished.root().join("work");
        item::create_dir(&work)?;
        let source = work.join("package");
        let packages;
        let id;
        {
            let _filling = Filling::wait(&self.dir, progress)?;
            let mut fetcher = Fetcher::new(&self.tools, &self.dir);
            let package = fetcher.resolve_package(SOURCE_PACKAGE, Arch::default(), progress)?;
            id = item::id(&format!("linux-{name}"), &package.version);
            if let Found::Whole(item) = Item::find(&kind_dir, &id) {
                item::point(&kind_dir, &name, &id)?;
                return Ok(item);
            }
            space::require(&self.dir, &format!("building kernel {}", kernel.name()), BUILD_BYTES)?;
            let archives = fetcher.download(&package, progress)?;
            fetcher.unpack(&archives, &source, progress)?;
            packages = archives.iter().map(|archive| archive.package.clone()).collect();
            fetch::discard(&archives)?;
        }
        let log = kind_dir.join(format!("{}.log", kernel.name()));
        kernel.build(&source, &work, &unfinished.root(), &log, progress)?;
        item::remove(&work)?;
        Ok(unfinished.finish(&kind_dir, &id, &name, packages)?)
    }
}
