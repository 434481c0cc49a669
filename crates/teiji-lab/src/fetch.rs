//! Gets Debian's packages and unpacks them below a folder; nothing is ever installed.

pub(crate) mod apt;
mod error;
pub(crate) mod sources;
mod stanza;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::kernel::DebianKernel;
use crate::store::{Package, Progress, Step, StoreError, item, space};

pub use error::FetchError;

use apt::{Apt, Remote, Tools};
use sources::{KERNEL_RELEASES, Origin};
use stanza::Stanza;

/// Unpacked size over download size of an xz-compressed package, generously; used
/// where apt does not tell the unpacked size.
const UNPACKED_RATIO: u64 = 6;

/// Fetches packages on behalf of the cache; asks each release for its index once.
#[derive(Debug)]
pub(crate) struct Fetcher {
    tools: Tools,
    cache_dir: PathBuf,
    updated: BTreeMap<Origin, Apt>,
}

/// An exact package that can be downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub name: String,
    pub version: String,
    /// Packages with the rest of its files, of the same version.
    parts: Vec<String>,
    origin: Origin,
    installed_bytes: u64,
}

/// Since Linux 6.19, Debian's image package is empty and needs these three.
const KERNEL_PARTS: [&str; 3] = ["linux-base-", "linux-binary-", "linux-modules-"];

impl Resolved {
    /// Name of its folder in the cache.
    pub(crate) fn id(&self) -> String {
        item::id(&self.name, &self.version)
    }
}

/// The packages that modules of a kernel are built with.
#[derive(Debug)]
pub(crate) struct HeaderPackages {
    /// The headers, and what they have in common with others.
    pub headers: Resolved,
    /// kbuild's programs, for this machine; `None` if the kernel's headers have them.
    pub kbuild: Option<Resolved>,
}

/// A downloaded package file.
#[derive(Debug)]
pub(crate) struct Archive {
    pub package: Package,
    path: PathBuf,
}

impl Fetcher {
    pub(crate) fn new(tools: &Tools, cache_dir: &Path) -> Self {
        Self { tools: tools.clone(), cache_dir: cache_dir.to_owned(), updated: BTreeMap::new() }
    }

    /// apt for `origin`, with today's index.
    fn apt(&mut self, origin: Origin, progress: &mut dyn Progress) -> Result<&Apt, FetchError> {
        if let Entry::Vacant(vacant) = self.updated.entry(origin) {
            let apt = Apt::new(&self.tools, &self.cache_dir, origin)?;
            apt.update(progress)?;
            vacant.insert(apt);
        }
        Ok(&self.updated[&origin])
    }

    /// The image package that Debian's metapackages lead to today.
    pub(crate) fn resolve_kernel(
        &mut self,
        kernel: &DebianKernel,
        progress: &mut dyn Progress,
    ) -> Result<Resolved, FetchError> {
        let mut known = Vec::new();
        let mut fitting: Vec<(Origin, Stanza)> = Vec::new();
        for release in KERNEL_RELEASES {
            let origin = Origin { release, arch: kernel.arch };
            let apt = self.apt(origin, progress)?;
            let metapackages = apt.show(&kernel.metapackages())?;
            // apt lists the versions of a name from new to old.
            for package in metapackages.iter().flat_map(|meta| &meta.depends) {
                if !kernel.fits(package) {
                    known.push(package.clone());
                } else if let Some(found) = apt.show(std::slice::from_ref(package))?.first() {
                    fitting.push((origin, found.clone()));
                }
            }
            if !fitting.is_empty() && !kernel.is_newest() {
                break;
            }
        }
        // The first of the newest: of equals, that of the older release.
        fitting.reverse();
        let best = if kernel.is_newest() {
            fitting.into_iter().max_by_key(|(_, image)| version_numbers(&image.version))
        } else {
            fitting.pop()
        };
        if let Some((origin, image)) = best {
            let mut kernel = resolved(&image, origin);
            kernel.parts = kernel_parts(&image);
            for part in self.apt(origin, progress)?.show(&kernel.parts)? {
                kernel.installed_bytes += part.installed_bytes;
            }
            return Ok(kernel);
        }
        known.retain(|package| package.starts_with("linux-image-"));
        known.sort();
        known.dedup();
        Err(FetchError::NotPackaged {
            what: format!("kernel {kernel}"),
            known: format!("its metapackages lead to {}", known.join(", ")),
        })
    }

    /// The headers of a kernel whose image package has this release and version, with the
    /// package that holds what all of its flavours have in common; and `kbuild`, whose
    /// programs run on this machine, whatever the kernel runs on.
    pub(crate) fn resolve_headers(
        &mut self,
        kernel: &str,
        version: &str,
        arch: Arch,
        progress: &mut dyn Progress,
    ) -> Result<HeaderPackages, FetchError> {
        let name = format!("linux-headers-{kernel}");
        for release in KERNEL_RELEASES {
            let origin = Origin { release, arch };
            let apt = self.apt(origin, progress)?;
            let versions = apt.show(std::slice::from_ref(&name))?;
            let Some(found) = versions.iter().find(|found| found.version == version) else {
                continue;
            };
            let mut headers = resolved(found, origin);
            headers.parts =
                parts(found, |name| name.starts_with("linux-headers-") && name.contains("-common"));
            for part in apt.show(&headers.parts)? {
                headers.installed_bytes += part.installed_bytes;
            }
            let here = Origin { release, arch: Arch::of_this_program() };
            let apt = self.apt(here, progress)?;
            let names = parts(found, |name| name.starts_with("linux-kbuild-"));
            let versions = apt.show(&names)?;
            // A kernel's image is signed after its other packages are there, and all kernels of
            // Debian 12's 6.1 have one kbuild: it is that of the next kernel meanwhile.
            let same = versions.iter().find(|kbuild| kbuild.version == version);
            let kbuild = same.or(versions.first()).map(|found| resolved(found, here));
            if kbuild.is_none() && !names.is_empty() {
                return Err(FetchError::NotPackaged {
                    what: names.join(" "),
                    known: format!(
                        "modules for {kernel} cannot be built without it; try again when the \
                         package server has it"
                    ),
                });
            }
            return Ok(HeaderPackages { headers, kbuild });
        }
        Err(FetchError::NotPackaged {
            what: format!("{name} {version}"),
            known: "it has a newer kernel by now; `teiji lab fetch --kernel …` takes that one"
                .into(),
        })
    }

    /// The newest version of a package in the oldest release that has it.
    pub(crate) fn resolve_package(
        &mut self,
        name: &str,
        arch: Arch,
        progress: &mut dyn Progress,
    ) -> Result<Resolved, FetchError> {
        for release in KERNEL_RELEASES {
            let origin = Origin { release, arch };
            if let Some(found) = self.apt(origin, progress)?.show(&[name.to_owned()])?.first() {
                return Ok(resolved(found, origin));
            }
        }
        Err(FetchError::NotPackaged {
            what: format!("package {name}"),
            known: "check the name on packages.debian.org".into(),
        })
    }

    /// Downloads one package and its parts, without what else it depends on. The
    /// wanted one comes first.
    pub(crate) fn download(
        &mut self,
        wanted: &Resolved,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Archive>, FetchError> {
        let exact = |name: &String| format!("{name}={}", wanted.version);
        let names: Vec<_> = std::iter::once(&wanted.name).chain(&wanted.parts).map(exact).collect();
        let args: Vec<_> =
            std::iter::once("download").chain(names.iter().map(String::as_str)).collect();
        let mut archives =
            self.get(wanted.origin, &wanted.name, &args, wanted.installed_bytes, progress)?;
        if archives.len() < names.len() {
            return Err(StoreError::Contents {
                package: names.join(", "),
                missing: "file on the server".into(),
            }
            .into());
        }
        archives.sort_by_key(|archive| archive.package.name != wanted.name);
        Ok(archives)
    }

    /// Downloads a package of `suite` with all that this system does not have of
    /// what it needs, as if it were to be installed. The wanted one comes first.
    pub(crate) fn download_closure(
        &mut self,
        origin: Origin,
        suite: &str,
        name: &str,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Archive>, FetchError> {
        let args = ["-t", suite, "install", name];
        let mut archives = self.get(origin, name, &args, 0, progress)?;
        archives.sort_by_key(|archive| archive.package.name != name);
        Ok(archives)
    }

    /// Downloads packages with all they need, as if nothing were installed anywhere.
    pub(crate) fn download_whole(
        &mut self,
        origin: Origin,
        names: &[&str],
        progress: &mut dyn Progress,
    ) -> Result<Vec<Archive>, FetchError> {
        for name in names {
            if self.apt(origin, progress)?.show(&[(*name).to_owned()])?.is_empty() {
                return Err(FetchError::NotPackaged {
                    what: format!("package {name}"),
                    known: format!(
                        "the guest's programs come from Debian {}",
                        origin.release.number
                    ),
                });
            }
        }
        self.get_whole(origin, &names.join(" "), names, progress)
    }

    /// Downloads the package of a compiler (`gcc-14`) for this machine with all it needs, from
    /// the first release that has it. The compiler comes first.
    pub(crate) fn download_compiler(
        &mut self,
        name: &str,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Archive>, FetchError> {
        for release in KERNEL_RELEASES {
            let here = Origin { release, arch: Arch::of_this_program() };
            if self.apt(here, progress)?.show(&[name.to_owned()])?.is_empty() {
                continue;
            }
            let mut archives = self.get_whole(here, name, &[name], progress)?;
            archives.sort_by_key(|archive| archive.package.name != name);
            return Ok(archives);
        }
        Err(FetchError::NotPackaged {
            what: format!("compiler {name}"),
            known: "install it, or a newer gcc, by hand".into(),
        })
    }

    /// Downloads what the programs of this `kbuild` need, down to the C library. Which
    /// packages have it is not for this program to know: it differs by kernel and release.
    pub(crate) fn download_kbuild_libraries(
        &mut self,
        kbuild: &Resolved,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Archive>, FetchError> {
        let exact = format!("{}={}", kbuild.name, kbuild.version);
        let what = format!("libraries of {}", kbuild.name);
        let mut archives = self.get_whole(kbuild.origin, &what, &[&exact], progress)?;
        archives.retain(|archive| archive.package.name != kbuild.name);
        Ok(archives)
    }

    /// Downloads what `names` lead to on a system without any package.
    fn get_whole(
        &mut self,
        origin: Origin,
        what: &str,
        names: &[&str],
        progress: &mut dyn Progress,
    ) -> Result<Vec<Archive>, FetchError> {
        let codename = origin.release.codename;
        let args = ["-o", "Dir::State::status=/dev/null", "-t", codename, "install"];
        self.get(origin, what, &[&args, names].concat(), 0, progress)
    }

    /// Downloads what `args` lead to. Where the index is newer or older than the files on the
    /// server, both are requested once more.
    fn get(
        &mut self,
        origin: Origin,
        name: &str,
        args: &[&str],
        installed_bytes: u64,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Archive>, FetchError> {
        match self.get_once(origin, name, args, installed_bytes, progress) {
            Err(FetchError::MirrorChanging { .. }) => {
                self.tools.wait_for_mirror(progress);
                self.updated.remove(&origin);
                self.get_once(origin, name, args, installed_bytes, progress)
            }
            done => done,
        }
    }

    fn get_once(
        &mut self,
        origin: Origin,
        name: &str,
        args: &[&str],
        installed_bytes: u64,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Archive>, FetchError> {
        let cache_dir = self.cache_dir.clone();
        let what = format!("fetch {name}");
        let apt = self.apt(origin, progress)?;
        let remotes = apt.remotes(&what, args)?;
        let bytes: u64 = remotes.iter().map(|r| r.bytes).sum();
        let unpacked = if installed_bytes > 0 { installed_bytes } else { bytes * UNPACKED_RATIO };
        space::require(&cache_dir, name, bytes + unpacked)?;
        let archives = apt.archives();
        for remote in &remotes {
            let path = archives.join(&remote.file);
            // A shorter file is a download to be continued.
            let complete = fs::metadata(&path).is_ok_and(|meta| meta.len() >= remote.bytes);
            if complete && !item::sha256_of(&path).is_ok_and(|found| found == remote.sha256) {
                item::remove(&path)?;
            }
        }
        apt.download(&what, args, bytes, progress)?;
        remotes.iter().map(|remote| archive(&archives, remote)).collect()
    }

    /// Unpacks the archives below `root`; the step is called after the first.
    pub(crate) fn unpack<A: std::borrow::Borrow<Archive>>(
        &self,
        archives: &[A],
        root: &Path,
        progress: &mut dyn Progress,
    ) -> Result<(), FetchError> {
        let Some(first) = archives.first() else { return Ok(()) };
        let first = &first.borrow().package.name;
        let what = match archives.len() {
            1 => format!("unpack {first}"),
            several => format!("unpack {first} and {} more", several - 1),
        };
        progress.step(&Step { what: &what, fraction: 0.0, total_bytes: None });
        for (done, archive) in (1_u32..).zip(archives) {
            self.unpack_one(&what, archive.borrow(), root)?;
            let fraction = f64::from(done) / archives.len() as f64;
            progress.step(&Step { what: &what, fraction, total_bytes: None });
        }
        Ok(())
    }

    fn unpack_one(&self, what: &str, archive: &Archive, root: &Path) -> Result<(), FetchError> {
        let unpacked = self.tools.output("dpkg-deb", |c| {
            c.arg("--extract").arg(&archive.path).arg(root);
        });
        match unpacked {
            Ok(_) => Ok(()),
            Err(FetchError::Tool { message, .. }) if message.contains("No space left") => {
                Err(StoreError::Full { what: what.to_owned(), path: root.to_owned() }.into())
            }
            Err(error) => {
                // Not to be taken for whole at the next try.
                item::remove(&archive.path)?;
                Err(error)
            }
        }
    }
}

/// Removes the package files, which are of no use once unpacked.
pub(crate) fn discard(archives: &[Archive]) -> Result<(), StoreError> {
    archives.iter().try_for_each(|archive| item::remove(&archive.path))
}

/// The packages that hold the files of an image package, if it is split.
fn kernel_parts(image: &Stanza) -> Vec<String> {
    let Some(release) = image.package.strip_prefix("linux-image-") else { return Vec::new() };
    let is_part =
        |name: &&String| KERNEL_PARTS.iter().any(|part| **name == format!("{part}{release}"));
    image.depends.iter().filter(is_part).cloned().collect()
}

/// The numbers at the head of a kernel's version, by which the newest is found.
fn version_numbers(version: &str) -> Vec<u32> {
    let upstream = version.split(['-', '+', '~']).next().unwrap_or_default();
    upstream.split('.').map_while(|number| number.parse().ok()).collect()
}

/// Those of the packages that one needs which are a part of it.
fn parts(of: &Stanza, is_part: impl Fn(&str) -> bool) -> Vec<String> {
    of.depends.iter().filter(|name| is_part(name)).cloned().collect()
}

fn resolved(stanza: &Stanza, origin: Origin) -> Resolved {
    Resolved {
        name: stanza.package.clone(),
        version: stanza.version.clone(),
        parts: Vec::new(),
        origin,
        installed_bytes: stanza.installed_bytes.max(stanza.size_bytes),
    }
}

/// The downloaded file of `remote`, if its digest is the signed one: `name_version_arch.deb`, `%3a` for a colon.
fn archive(archives: &Path, remote: &Remote) -> Result<Archive, FetchError> {
    let path = archives.join(&remote.file);
    let sha256 = item::sha256_of(&path).map_err(|e| StoreError::io("read", &path, e))?;
    if sha256 != remote.sha256 {
        item::remove(&path)?;
        let message = format!("{} has digest {sha256} instead of {}", remote.file, remote.sha256);
        return Err(FetchError::MirrorChanging { message });
    }
    let mut parts = remote.file.split('_');
    let name = parts.next().unwrap_or_default().to_owned();
    let version = parts.next().unwrap_or_default().replace("%3a", ":");
    Ok(Archive { package: Package { name, version, sha256 }, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(version_numbers("6.12.117-1~deb12u1"), [6, 12, 117]);
        assert!(version_numbers("6.1.192-2") < version_numbers("6.12.9-1"));
        assert!(version_numbers("6.12.9-1") < version_numbers("7.2-1~bpo13+1"));
    }

    #[test]
    fn a_split_kernel_brings_its_own_parts_and_nothing_else() {
        let text = "Package: linux-image-7.2.12+deb13-rt-amd64\nVersion: 7.2.12-1\n\
                    Depends: dracut | initramfs-tools, linux-base (>= 4), \
                    linux-base-7.2.12+deb13-rt-amd64 (= 7.2.12-1), \
                    linux-binary-7.2.12+deb13-rt-amd64 (= 7.2.12-1), \
                    linux-modules-7.2.12+deb13-rt-amd64 (= 7.2.12-1)\n";
        let parts = kernel_parts(&stanza::parse(text)[0]);
        assert_eq!(
            parts,
            ["linux-base-", "linux-binary-", "linux-modules-"]
                .map(|part| format!("{part}7.2.12+deb13-rt-amd64"))
        );
        let whole = "Package: linux-image-6.12.1-amd64\nVersion: 1\nDepends: kmod\n";
        assert_eq!(kernel_parts(&stanza::parse(whole)[0]), [""; 0]);
    }
}
