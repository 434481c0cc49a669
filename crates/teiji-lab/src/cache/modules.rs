//! Teiji's kernel modules in the cache: built once for each kernel, source and compiler.

use std::fs;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::arch::Arch;
use crate::fetch::{self, Fetcher, HeaderPackages};
use crate::kernel::build::{self, Build, Compiler};
use crate::kernel::toolchain::{self, Toolchain};
use crate::kernel::{BuildError, Headers, Kernel, ModuleSource, Strictness, headers};
use crate::store::item::{self, Item, Package, Unfinished};
use crate::store::lock::Filling;
use crate::store::{Progress, StoreError};

use super::error::CacheError;
use super::libraries;
use super::status::Kind;
use super::{Cache, Freshness};

/// Version of the way modules are built; another one builds again.
const RECIPE: u32 = 1;
/// How much of the digest stands in an item's name.
const ID_DIGITS: usize = 12;

impl Cache {
    /// Builds those of the named modules that are Teiji's own, if they are not
    /// cached, and makes them modules of `kernel`. Other names are left alone.
    ///
    /// # Errors
    /// As [`Cache::module`], at the first that cannot be built.
    pub fn add_modules(
        &self,
        kernel: &mut Kernel,
        names: &[&str],
        progress: &mut dyn Progress,
    ) -> Result<(), CacheError> {
        for source in names.iter().filter_map(|name| ModuleSource::embedded(name)) {
            let module = self.module(kernel, &source, progress)?;
            kernel.add_module(&module);
        }
        Ok(())
    }

    /// A module built for the kernel, cached or built now; the path of its `.ko`.
    ///
    /// # Errors
    /// If headers or compiler are missing and cannot be fetched, or the module does not compile.
    pub fn module(
        &self,
        kernel: &Kernel,
        source: &ModuleSource,
        progress: &mut dyn Progress,
    ) -> Result<PathBuf, CacheError> {
        let headers = self.headers(kernel, progress)?;
        let compiler = self.compiler(&headers, progress)?;
        let digest = key(source, &headers, &compiler);
        let id = item::id(source.name(), &format!("{}_{}", kernel.release, &digest[..ID_DIGITS]));
        let file = format!("{}.ko", source.name());
        if let Some(item) = self.usable(Kind::Module, &id, Freshness::Cached, progress) {
            return Ok(item.root().join(file));
        }
        let _filling = Filling::wait(&self.dir, progress)?;
        if let Some(item) = self.usable(Kind::Module, &id, Freshness::Cached, &mut ()) {
            return Ok(item.root().join(file));
        }
        let kind_dir = self.kind_dir(Kind::Module);
        let unfinished = Unfinished::start(&kind_dir)?;
        let work = unfinished.root().join("build");
        let build = Build {
            source,
            headers: &headers,
            compiler: &compiler,
            release: &kernel.release,
            strictness: Strictness::default(),
        };
        let log = kind_dir.join(format!("{}-{}.log", source.name(), kernel.release));
        let fresh = build.run(&work, &log, progress)?.module;
        let kept = unfinished.root().join(&file);
        fs::rename(&fresh, &kept).map_err(|e| StoreError::io("rename", &fresh, e))?;
        item::remove(&work)?;
        let package = Package {
            name: source.name().to_owned(),
            version: kernel.release.clone(),
            sha256: digest,
        };
        let name = format!("{}@{}", source.name(), kernel.release);
        let item = unfinished.finish(&kind_dir, &id, &name, vec![package])?;
        Ok(item.root().join(file))
    }

    /// Builds a module strictly and keeps nothing: for those who change it. Returns what
    /// was checked: sparse cannot read the modules of every kernel.
    ///
    /// # Errors
    /// If headers or compiler are missing and cannot be fetched, or the compiler or sparse
    /// complains.
    pub fn check_module(
        &self,
        kernel: &Kernel,
        source: &ModuleSource,
        strictness: Strictness,
        progress: &mut dyn Progress,
    ) -> Result<Strictness, CacheError> {
        let headers = self.headers(kernel, progress)?;
        let compiler = self.compiler(&headers, progress)?;
        let work = tempfile::Builder::new()
            .prefix("teiji-module-")
            .tempdir()
            .map_err(|e| StoreError::io("create a folder in", &std::env::temp_dir(), e))?;
        let build = Build {
            source,
            headers: &headers,
            compiler: &compiler,
            release: &kernel.release,
            strictness,
        };
        let kind_dir = self.kind_dir(Kind::Module);
        item::create_dir(&kind_dir)?;
        let log = kind_dir.join(format!("{}-{}.log", source.name(), kernel.release));
        let made = build.run(work.path(), &log, progress)?;
        Ok(Strictness { sparse: made.sparse, ..strictness })
    }

    /// The system's compiler if it does for these headers, else a private one of the
    /// release of Debian that has the one they request.
    fn compiler(
        &self,
        headers: &Headers,
        progress: &mut dyn Progress,
    ) -> Result<Compiler, CacheError> {
        build::require_make()?;
        let found = match Compiler::of_system(headers) {
            Ok(compiler) => return Ok(compiler),
            Err(found) => found,
        };
        let arch = headers.arch;
        let Some(wanted) = headers.compiler.as_deref() else {
            let (tool, package) =
                (format!("{}gcc", arch.tool_prefix()), arch.compiler_package("gcc"));
            return Err(BuildError::NoTool { tool, package }.into());
        };
        let package = arch.compiler_package(wanted);
        let name = format!("{package}+loader");
        let kind = Kind::Toolchain;
        let open =
            |item: &Item| Compiler::of_toolchain(Toolchain { root: item.root() }, arch, wanted);
        if let Some(item) = self.usable(kind, &name, Freshness::Cached, progress) {
            return Ok(open(&item)?);
        }
        let _filling = Filling::wait(&self.dir, progress)?;
        if let Some(item) = self.usable(kind, &name, Freshness::Cached, &mut ()) {
            return Ok(open(&item)?);
        }
        let found =
            found.map_or("there is none here".to_owned(), |gcc| format!("here is {}", gcc.version));
        progress.note(&format!(
            "this kernel's modules need {package} ({found}): fetching it privately, the system stays as it is"
        ));
        let mut fetcher = Fetcher::new(&self.tools, &self.dir);
        let archives = fetcher.download_compiler(&package, progress)?;
        let unfinished = Unfinished::start(&self.kind_dir(kind))?;
        fetcher.unpack(&archives, &unfinished.root(), progress)?;
        super::drop_documentation(&unfinished.root())?;
        toolchain::drop_unused(&unfinished.root())?;
        toolchain::wrap(&unfinished.root())?;
        let packages: Vec<_> = archives.iter().map(|archive| archive.package.clone()).collect();
        let version = packages.first().map_or("", |package| package.version.as_str());
        let id = item::id(&name, version);
        let item = unfinished.finish(&self.kind_dir(kind), &id, &name, packages)?;
        fetch::discard(&archives)?;
        Ok(open(&item)?)
    }

    /// What modules of the kernel are built with, fetched if it comes from Debian.
    ///
    /// # Errors
    /// If a kernel of one's own has no build tree, or Debian's headers are not cached and cannot be
    /// fetched.
    pub fn headers(
        &self,
        kernel: &Kernel,
        progress: &mut dyn Progress,
    ) -> Result<Headers, CacheError> {
        let release = &kernel.release;
        let lacking = |why| BuildError::NoHeaders { release: release.clone(), why };
        if let Some(build_tree) = &kernel.build_tree {
            return Ok(Headers::of_build_tree(build_tree, kernel.arch).map_err(lacking)?);
        }
        let Some(package) = &kernel.package else {
            let why = format!("{} has no folder `build`", kernel.modules_dir.display());
            return Err(lacking(why).into());
        };
        let version = &package.version;
        let id = item::id(&format!("linux-headers-{release}+libraries"), version);
        let open = |item: &Item| {
            Headers::of_package(&item.root(), kernel.arch, release, version).map_err(lacking)
        };
        if let Some(item) = self.usable(Kind::Headers, &id, Freshness::Cached, progress) {
            return Ok(open(&item)?);
        }
        let _filling = Filling::wait(&self.dir, progress)?;
        if let Some(item) = self.usable(Kind::Headers, &id, Freshness::Cached, &mut ()) {
            return Ok(open(&item)?);
        }
        let mut fetcher = Fetcher::new(&self.tools, &self.dir);
        let HeaderPackages { headers, kbuild } =
            fetcher.resolve_headers(release, version, kernel.arch, progress)?;
        let mut archives = fetcher.download(&headers, progress)?;
        let mut needed = Vec::new();
        if let Some(kbuild) = &kbuild {
            archives.extend(fetcher.download(kbuild, progress)?);
            needed = fetcher.download_kbuild_libraries(kbuild, progress)?;
        }
        let unfinished = Unfinished::start(&self.kind_dir(Kind::Headers))?;
        fetcher.unpack(&archives, &unfinished.root(), progress)?;
        super::drop_documentation(&unfinished.root())?;
        headers::relocate(&unfinished.root(), release)?;
        let pool = self.unpacked_for_now(&fetcher, &needed, progress)?;
        libraries::add(&unfinished.root(), pool.path(), Arch::of_this_program())?;
        toolchain::wrap(&unfinished.root())?;
        let packages = archives.iter().map(|archive| archive.package.clone()).collect();
        let item = unfinished.finish(&self.kind_dir(Kind::Headers), &id, &kernel.name, packages)?;
        fetch::discard(&archives)?;
        fetch::discard(&needed)?;
        Ok(open(&item)?)
    }
}

/// Digest of all that decides what a module's bytes will be.
fn key(source: &ModuleSource, headers: &Headers, compiler: &Compiler) -> String {
    let mut hash = Sha256::new();
    let recipe = RECIPE.to_string();
    for part in [&recipe, &source.sha256(), &headers.identity, &compiler.version] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    item::hex(&hash.finalize())
}
