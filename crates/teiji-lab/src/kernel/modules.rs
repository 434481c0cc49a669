//! The modules of a kernel: finds them by name and puts them in the order of loading.
//!
//! Works from the files themselves (`depends=` in each module), because an
//! unpacked package has no `modules.dep`: depmod runs when it is installed.
//! Soft dependencies are not followed; the laboratory names what it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::arch::Arch;

use super::KernelError;
use super::modinfo::ModInfo;

/// A module, ready to be handed to `init_module(2)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFile {
    /// Name as `lsmod` prints it, with underscores.
    pub name: String,
    /// Where it was read from (possibly compressed there).
    pub path: PathBuf,
    /// The ELF file, uncompressed.
    pub bytes: Vec<u8>,
    /// Modules that must be loaded before it, those left out that are built in.
    pub depends: Vec<String>,
    /// Other names it answers to, such as `net-pf-17` or `rtnl-link-vtsn`.
    pub aliases: Vec<String>,
}

/// All modules below one folder.
#[derive(Debug, Clone)]
pub(crate) struct ModuleTree {
    files: BTreeMap<String, PathBuf>,
    built_in: BTreeSet<String>,
}

/// Endings of module files; the compressed ones come from `CONFIG_MODULE_COMPRESS_*`.
const ENDINGS: [&str; 4] = [".ko", ".ko.xz", ".ko.gz", ".ko.zst"];

/// The kernel takes `-` and `_` in module names for the same.
fn normal(name: &str) -> String {
    name.replace('-', "_")
}

/// Name of the module that a file holds, if it holds one.
fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).map(normal)
}

impl ModuleTree {
    /// Lists the modules below `dir`, a folder like `/lib/modules/<release>`.
    pub(crate) fn open(dir: &Path) -> Result<Self, KernelError> {
        let unreadable = |source| KernelError::Unreadable { path: dir.to_owned(), source };
        let mut files = BTreeMap::new();
        let mut pending = vec![dir.to_owned()];
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(&folder).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                let path = entry.path();
                if entry.file_type().map_err(unreadable)?.is_dir() {
                    pending.push(path);
                } else if let Some(name) = module_name(&path) {
                    files.insert(name, path);
                }
            }
        }
        let built_in = match fs::read_to_string(dir.join("modules.builtin")) {
            Ok(list) => list.lines().filter_map(|line| module_name(Path::new(line))).collect(),
            // A kernel without the list may still have every module as a file.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => BTreeSet::new(),
            Err(e) => return Err(unreadable(e)),
        };
        if files.is_empty() && built_in.is_empty() {
            return Err(KernelError::NoModules { dir: dir.to_owned() });
        }
        Ok(Self { files, built_in })
    }

    /// Adds the module in a file outside the folder; one of its name is replaced.
    pub(crate) fn add(&mut self, path: &Path) {
        if let Some(name) = module_name(path) {
            self.files.insert(name, path.to_owned());
        }
    }

    /// Whether there is a module of this name, as a file or built in.
    pub(crate) fn has(&self, name: &str) -> bool {
        let name = normal(name);
        self.files.contains_key(&name) || self.built_in.contains(&name)
    }

    /// Release and processors that the modules were built for, from the first of them; `None` where
    /// all are built in.
    pub(crate) fn built_for(&self) -> Result<Option<(String, Arch)>, KernelError> {
        let Some((name, path)) = self.files.iter().next() else { return Ok(None) };
        let (_, info) = read(name, path)?;
        let release = info.release().ok_or_else(|| damaged(path, "it names no kernel"))?;
        let other = || damaged(path, "it is for a processor that the laboratory does not have");
        Ok(Some((release.to_owned(), info.arch.ok_or_else(other)?)))
    }

    /// The named modules and all they depend on, each after what it needs; what is
    /// built into the kernel needs no file and is left out. `release` is for messages.
    pub(crate) fn load_order(
        &self,
        names: &[&str],
        release: &str,
    ) -> Result<Vec<ModuleFile>, KernelError> {
        let mut order = Vec::new();
        let mut begun = BTreeSet::new();
        for name in names {
            self.visit(name, None, release, &mut begun, &mut order)?;
        }
        Ok(order)
    }

    /// Depth first; `begun` also ends a circle, which no kernel build can make.
    fn visit(
        &self,
        name: &str,
        needed_by: Option<&str>,
        release: &str,
        begun: &mut BTreeSet<String>,
        order: &mut Vec<ModuleFile>,
    ) -> Result<(), KernelError> {
        let name = normal(name);
        if self.built_in.contains(&name) || !begun.insert(name.clone()) {
            return Ok(());
        }
        let path = self.files.get(&name).ok_or_else(|| KernelError::UnknownModule {
            module: name.clone(),
            needed_by: needed_by.map_or(String::new(), |by| format!(" (needed by {by})")),
            release: release.to_owned(),
        })?;
        let (bytes, info) = read(&name, path)?;
        for dependency in info.depends() {
            self.visit(dependency, Some(&name), release, begun, order)?;
        }
        let depends = info.depends().map(normal).filter(|name| !self.built_in.contains(name));
        let depends = depends.collect();
        let aliases = info.aliases().map(str::to_owned).collect();
        order.push(ModuleFile { name, path: path.clone(), bytes, depends, aliases });
        Ok(())
    }
}

fn damaged(path: &Path, why: &str) -> KernelError {
    KernelError::Module { path: path.to_owned(), why: why.to_owned() }
}

/// Reads and uncompresses a module.
fn read(name: &str, path: &Path) -> Result<(Vec<u8>, ModInfo), KernelError> {
    let unreadable = |source| KernelError::Unreadable { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    match path.extension().and_then(|e| e.to_str()) {
        Some("xz") => lzma_rust2::XzReader::new(std::io::BufReader::new(file), true)
            .read_to_end(&mut bytes)
            .map_err(|e| damaged(path, &format!("xz: {e}")))?,
        Some("ko") => std::io::BufReader::new(file).read_to_end(&mut bytes).map_err(unreadable)?,
        _ => {
            return Err(damaged(
                path,
                &format!("only .ko and .ko.xz are understood; uncompress {name} first"),
            ));
        }
    };
    let info = ModInfo::parse(&bytes).ok_or_else(|| damaged(path, "it is no kernel module"))?;
    Ok((bytes, info))
}

#[cfg(test)]
mod tests {
    use super::super::modinfo::tests::module;
    use super::*;

    fn tree(files: &[(&str, &[&str])]) -> (tempfile::TempDir, ModuleTree) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("kernel/net")).unwrap();
        for (name, info) in files {
            fs::write(dir.path().join("kernel/net").join(name), module(info)).unwrap();
        }
        fs::write(dir.path().join("modules.builtin"), "kernel/lib/built-in.ko\n").unwrap();
        let tree = ModuleTree::open(dir.path()).unwrap();
        (dir, tree)
    }

    fn names(order: &[ModuleFile]) -> Vec<&str> {
        order.iter().map(|m| m.name.as_str()).collect()
    }

    #[test]
    fn what_a_module_needs_comes_before_it_and_only_once() {
        let (_dir, tree) = tree(&[
            ("igb.ko", &["depends=i2c-algo-bit,dca,built-in"]),
            ("i2c-algo-bit.ko", &["depends=base"]),
            ("dca.ko", &["depends=base"]),
            ("base.ko", &["depends="]),
        ]);
        let order = tree.load_order(&["igb", "base"], "6.12").unwrap();
        assert_eq!(names(&order), ["base", "i2c_algo_bit", "dca", "igb"]);
    }

    #[test]
    fn dash_and_underscore_name_the_same_module_and_built_in_ones_need_no_file() {
        let (_dir, tree) = tree(&[("sch_etf.ko", &["depends="])]);
        let order = tree.load_order(&["sch-etf", "sch_etf", "built_in"], "6.12").unwrap();
        assert_eq!(names(&order), ["sch_etf"]);
    }

    #[test]
    fn an_unknown_module_is_named_with_its_kernel_and_its_dependant() {
        let (_dir, tree) = tree(&[("igb.ko", &["depends=dca"])]);
        let why = tree.load_order(&["igb"], "6.12.1-rt").unwrap_err().to_string();
        assert!(why.contains("dca (needed by igb)") && why.contains("6.12.1-rt"), "{why}");
    }

    #[test]
    fn modules_that_depend_on_each_other_end_the_search_all_the_same() {
        let (_dir, tree) = tree(&[("a.ko", &["depends=b"]), ("b.ko", &["depends=a"])]);
        assert_eq!(names(&tree.load_order(&["a"], "x").unwrap()), ["b", "a"]);
    }

    #[test]
    fn compressed_modules_are_read_and_broken_ones_named() {
        let (dir, _) = tree(&[("plain.ko", &["depends="])]);
        let net = dir.path().join("kernel/net");
        // `xz --check=crc32 --lzma2=dict=1MiB`, as the kernel's build calls it.
        let packed = std::process::Command::new("xz")
            .args(["--check=crc32", "--lzma2=dict=1MiB", "--stdout"])
            .arg(net.join("plain.ko"))
            .output();
        let Ok(packed) = packed else {
            println!("SKIP: no xz program to make one with");
            return;
        };
        fs::write(net.join("packed.ko.xz"), &packed.stdout).unwrap();
        fs::write(net.join("broken.ko.xz"), &packed.stdout[..40]).unwrap();
        fs::write(net.join("text.ko"), "no ELF").unwrap();
        fs::write(net.join("zstd.ko.zst"), "x").unwrap();
        let tree = ModuleTree::open(dir.path()).unwrap();
        let order = tree.load_order(&["packed"], "x").unwrap();
        assert_eq!(order[0].bytes, module(&["depends="]));
        for name in ["broken", "text", "zstd"] {
            let why = tree.load_order(&[name], "x").unwrap_err();
            assert!(matches!(why, KernelError::Module { .. }), "{why}");
            assert!(why.to_string().contains(name), "{why}");
        }
    }

    #[test]
    fn a_folder_without_modules_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(ModuleTree::open(dir.path()), Err(KernelError::NoModules { .. })));
        let none = dir.path().join("none");
        assert!(matches!(ModuleTree::open(&none), Err(KernelError::Unreadable { .. })));
    }
}
