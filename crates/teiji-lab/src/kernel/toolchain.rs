//! Programs of another release of Debian, run with that release's libraries.
//!
//! A kernel wants a compiler about as new as its own, and its headers bring programs
//! (`modpost`, `objtool`) that want the libraries they were built with. This system may
//! have older ones, or none: each program of such a folder is started through a small
//! script by the loader in that folder, with the libraries in that folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::elf::Needs;
use crate::store::{StoreError, item};

/// Ending of the program behind a script.
const BEHIND: &str = "elf";
/// `ROOT` is the way from the script's folder to the folder that was wrapped, `TRIPLET` this
/// machine's folder of libraries. The loader
/// tells the program the script's name: `objtool` of Debian's headers looks for the
/// program of an architecture (`objtool.real-x86`) by the name it was called by.
const SCRIPT: &str = r#"#!/bin/sh
self=$(readlink -f "$0")
root=${self%/*}/ROOT
libraries=$root/usr/lib/TRIPLET:$root/lib/TRIPLET
exec "$root/loader" --argv0 "$self" --library-path "$libraries" "$self.elf" "$@"
"#;
/// Where a release keeps its loader, whose name begins so, in a folder of the triplet.
const LIBRARIES: [&str; 2] = ["usr/lib", "lib"];
const LOADER: &str = "ld-linux";
/// What the compiler brings for other things than compiling C: more than half of it.
const UNUSED: [&str; 6] = ["lto1", "lto-dump", "gcov", "libasan", "libtsan", "libhwasan"];

/// An unpacked toolchain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toolchain {
    pub root: PathBuf,
}

impl Toolchain {
    /// Folder of its programs.
    pub(crate) fn programs(&self) -> PathBuf {
        self.root.join("usr/bin")
    }

    /// Path of the compiler that a kernel for `arch` calls `gcc-14`.
    pub(crate) fn compiler(&self, arch: Arch, name: &str) -> PathBuf {
        self.programs().join(format!("{}-{name}", arch.names().triplet))
    }

    /// `PATH` with its programs before the system's.
    pub(crate) fn path(&self) -> std::ffi::OsString {
        let mut path = self.programs().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        path
    }
}

/// Removes what a compiler brings for other things than compiling C.
pub(crate) fn drop_unused(root: &Path) -> Result<(), StoreError> {
    for path in item::files_below(root)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if UNUSED.iter().any(|unused| name.contains(unused)) {
            item::remove(&path)?;
        }
    }
    Ok(())
}

/// Names the loader below `root`, and puts a script before each dynamically linked program.
pub(crate) fn wrap(root: &Path) -> Result<(), StoreError> {
    let triplet = Arch::of_this_program().names().triplet;
    let loader = LIBRARIES.into_iter().find_map(|dir| loader_in(root, &format!("{dir}/{triplet}")));
    let loader = loader.ok_or_else(|| StoreError::Contents {
        package: "libc6".into(),
        missing: "dynamic loader".into(),
    })?;
    let link = root.join("loader");
    std::os::unix::fs::symlink(loader, &link).map_err(|e| StoreError::io("create", &link, e))?;
    for path in item::files_below(root)? {
        // `libc.so.6`, too.
        let is_library = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().split('.').skip(1).any(|part| part == "so"));
        if path.is_symlink() || is_library {
            continue;
        }
        let bytes = fs::read(&path).map_err(|e| StoreError::io("read", &path, e))?;
        if Needs::of(&bytes).loader.is_none() {
            continue;
        }
        let depth = path.strip_prefix(root).unwrap_or(&path).components().count() - 1;
        let up = vec![".."; depth].join("/");
        let mut behind = path.clone().into_os_string();
        behind.push(format!(".{BEHIND}"));
        fs::rename(&path, &behind).map_err(|e| StoreError::io("rename", &path, e))?;
        fs::write(&path, SCRIPT.replace("ROOT", &up).replace("TRIPLET", triplet))
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
            .map_err(|e| StoreError::io("write", &path, e))?;
    }
    Ok(())
}

/// The path below `root` of the dynamic loader, if it lies in this folder there.
fn loader_in(root: &Path, dir: &str) -> Option<PathBuf> {
    let names = fs::read_dir(root.join(dir)).ok()?.flatten().map(|entry| entry.file_name());
    let loader = names.filter_map(|name| name.into_string().ok()).find(|n| n.starts_with(LOADER));
    Some(Path::new(dir).join(loader?))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_wrapped_program_runs_with_the_folders_own_libraries_and_knows_its_name() {
        let triplet = Arch::of_this_program().names().triplet;
        let loader = loader_in("/".as_ref(), &format!("usr/lib/{triplet}"));
        let loader = loader.map(|path| Path::new("/").join(path));
        let (Some(loader), Ok(program)) = (loader, fs::canonicalize("/bin/sh")) else {
            println!("SKIP: no dynamically linked /bin/sh here");
            return;
        };
        let dir = tempfile::tempdir().unwrap();
        let shell = dir.path().join("usr/src/shell");
        fs::create_dir_all(shell.parent().unwrap()).unwrap();
        fs::copy(program, &shell).unwrap();
        let place = dir.path().join(loader.strip_prefix("/").unwrap());
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(&loader, &place).unwrap();
        let libc = loader.with_file_name("libc.so.6");
        let own_libc = place.with_file_name("libc.so.6");
        fs::copy(libc, &own_libc).unwrap();
        wrap(dir.path()).unwrap();
        assert!(fs::read_to_string(&shell).unwrap().starts_with("#!/bin/sh"));
        let run = || {
            let mut command = Command::new(&shell);
            command.args(["-c", "echo \"$0: two words here\""]).output().unwrap()
        };
        let output = run();
        let name = fs::canonicalize(&shell).unwrap();
        let output_text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output_text, format!("{}: two words here\n", name.display()), "{output:?}");
        // The system has this library too, but it is not looked for there.
        fs::write(own_libc, "").unwrap();
        assert!(!run().status.success());
    }
}
