//! The source of a kernel module: from this program (`kernel/` of the source tree), or from a folder.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::arch::Arch;
use crate::store::item;

/// `kernel/` as it was when this program was built: path below it, contents.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/kernel_files.rs"));
/// What every module may include, beside its own folder.
const SHARED: [&str; 2] = ["compat", "uapi"];
/// The file that makes a folder a module.
const KBUILD: &str = "Kbuild";

/// The files that a module is built from.
#[derive(Debug, Clone)]
pub struct ModuleSource {
    /// Name of the module and of its folder.
    name: String,
    /// Path (`vtsn/gate.c`, `compat/compat.h`) and contents, in order.
    files: Vec<(String, Cow<'static, [u8]>)>,
}

impl ModuleSource {
    /// Names of the modules in this program.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.iter().filter_map(|(path, _)| {
            let (folder, file) = path.split_once('/')?;
            (file == KBUILD).then_some(folder)
        })
    }

    /// Whether guests of `arch` have a use for the module: [`SLOWER_CLOCK`](Self::SLOWER_CLOCK) is
    /// about a device of x86.
    pub fn is_for(name: &str, arch: Arch) -> bool {
        name != Self::SLOWER_CLOCK || arch == Arch::X86_64
    }

    /// What an x86 guest needs where an instruction is shorter than the resolution of QEMU's clock.
    pub const SLOWER_CLOCK: &str = "lapic_freq";

    /// A module of this program; `None` if it has none of that name.
    pub fn embedded(name: &str) -> Option<Self> {
        let wanted = |path: &str| {
            path.split_once('/').is_some_and(|(dir, _)| dir == name || SHARED.contains(&dir))
        };
        Self::names().find(|n| *n == name)?;
        let files = FILES.iter().filter(|(path, _)| wanted(path));
        Some(Self {
            name: name.to_owned(),
            files: files.map(|(path, bytes)| ((*path).to_owned(), Cow::Borrowed(*bytes))).collect(),
        })
    }

    /// The module in `dir` (its name is the folder's), with the shared folders beside it;
    /// those that are not there are this program's.
    ///
    /// # Errors
    /// If the folder or a file in it cannot be read; the error names the folder.
    pub fn read(dir: &Path) -> io::Result<Self> {
        Self::of_folder(dir).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot read {}: {error}", dir.display()))
        })
    }

    fn of_folder(dir: &Path) -> io::Result<Self> {
        let dir = dir.canonicalize()?;
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut files = files_in(&dir, &name)?;
        for shared in SHARED {
            let beside = dir.with_file_name(shared);
            if beside.is_dir() {
                files.extend(files_in(&beside, shared)?);
                continue;
            }
            let ours = FILES.iter().filter(|(path, _)| {
                path.split_once('/').is_some_and(|(folder, _)| folder == shared)
            });
            files.extend(ours.map(|(path, bytes)| ((*path).to_owned(), Cow::Borrowed(*bytes))));
        }
        files.sort();
        Ok(Self { name, files })
    }

    /// Name of the module.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has this file: its path below `kernel/`.
    pub(crate) fn contains(&self, path: &str) -> bool {
        self.files.iter().any(|(file, _)| file == path)
    }

    /// SHA-256 over paths and contents.
    pub(crate) fn sha256(&self) -> String {
        let mut hash = Sha256::new();
        for (path, bytes) in &self.files {
            for part in [path.as_bytes(), bytes.as_ref()] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        item::hex(&hash.finalize())
    }

    /// How many C files kbuild will compile at most.
    pub(crate) fn units(&self) -> usize {
        self.files.iter().filter(|(path, _)| is_unit(Path::new(path))).count()
    }

    /// Writes the files below `dir`; the module is then in `dir/NAME`.
    pub(crate) fn write_to(&self, dir: &Path) -> io::Result<()> {
        for (path, bytes) in &self.files {
            let path = dir.join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, bytes)?;
        }
        Ok(())
    }
}

/// What a module is built from of `dir`, as files of the folder `name`.
fn files_in(dir: &Path, name: &str) -> io::Result<Vec<(String, Cow<'static, [u8]>)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let generated = file.contains(".mod.");
        if file == KBUILD || is_header(&path) || (is_unit(&path) && !generated) {
            files.push((format!("{name}/{file}"), Cow::Owned(fs::read(&path)?)));
        }
    }
    Ok(files)
}

fn is_unit(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "c")
}

fn is_header(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "h")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_with_a_kbuild_file_is_a_module_of_this_program() {
        let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel");
        let Ok(entries) = fs::read_dir(kernel) else {
            println!("SKIP: the sources of the modules are not here");
            return;
        };
        let mut folders: Vec<_> = entries
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().join(KBUILD).exists())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        folders.sort();
        assert_eq!(ModuleSource::names().collect::<Vec<_>>(), folders);
    }

    #[test]
    fn the_digest_changes_with_every_byte_and_every_name() {
        let of = |files: &[(&str, &'static str)]| {
            let files = files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), Cow::Borrowed(text.as_bytes())))
                .collect();
            ModuleSource { name: "m".into(), files }.sha256()
        };
        let one = of(&[("m/a.c", "x"), ("m/b.c", "y")]);
        assert_ne!(one, of(&[("m/a.c", "x"), ("m/b.c", "z")]));
        assert_ne!(one, of(&[("m/a.c", "x"), ("m/c.c", "y")]));
        assert_ne!(one, of(&[("m/a.c", "xm/b.c"), ("m/b.c", "y")]));
        assert_eq!(one, of(&[("m/a.c", "x"), ("m/b.c", "y")]));
    }

    #[test]
    fn sources_of_a_folder_are_taken_without_build_products() {
        let dir = tempfile::tempdir().unwrap();
        let module = dir.path().join("probe");
        fs::create_dir(&module).unwrap();
        for file in ["Kbuild", "probe.c", "probe.o", ".probe.o.cmd", "Module.symvers"] {
            fs::write(module.join(file), "x").unwrap();
        }
        let source = ModuleSource::read(&module).unwrap();
        let own: Vec<_> = source.files.iter().map(|(path, _)| path.as_str()).collect();
        let own: Vec<_> = own.into_iter().filter(|path| path.starts_with("probe/")).collect();
        assert_eq!((source.name(), &own[..]), ("probe", &["probe/Kbuild", "probe/probe.c"][..]));
        assert!(source.contains("compat/compat.h"), "this program's, for there is none beside it");

        let shared = dir.path().join("compat");
        fs::create_dir(&shared).unwrap();
        fs::write(shared.join("beside.h"), "y").unwrap();
        let source = ModuleSource::read(&module).unwrap();
        assert!(source.contains("compat/beside.h") && !source.contains("compat/compat.h"));
    }
}
