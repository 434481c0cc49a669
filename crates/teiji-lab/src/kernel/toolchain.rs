//! Programs of another release of Debian, run with that release's libraries.
//!
//! A kernel wants a compiler about as new as its own, and its headers bring programs
//! (`modpost`, `objtool`) that want the C library they were built with. Where this
//! system's are older, each program of the private toolchain, and of the headers, is
//! started through a small script by the private loader.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::cache::error::CacheError;
use crate::cache::item;
use crate::elf::Needs;

/// The variable that tells the scripts where the toolchain is. Without it they start
/// the program with the system's libraries.
pub(crate) const ROOT_VARIABLE: &str = "TEIJI_TOOLCHAIN";
/// Ending of the program behind a script.
const BEHIND: &str = "elf";
/// Either loader tells the program the script's name: `objtool` of Debian's headers looks
/// for the program of an architecture (`objtool.real-x86`) by the name it was called by.
const SCRIPT: &str = r#"#!/bin/sh
self=$(readlink -f "$0")
if [ -z "${TEIJI_TOOLCHAIN:-}" ]; then
    exec /lib64/ld-linux-x86-64.so.2 --argv0 "$self" "$self.elf" "$@"
fi
libraries=$TEIJI_TOOLCHAIN/usr/lib/x86_64-linux-gnu:$TEIJI_TOOLCHAIN/lib/x86_64-linux-gnu
exec "$TEIJI_TOOLCHAIN/loader" --argv0 "$self" --library-path "$libraries" "$self.elf" "$@"
"#;
/// Where a release keeps its loader.
const LOADERS: [&str; 2] =
    ["usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"];
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

    /// Path of the compiler that a kernel calls `gcc-14`.
    pub(crate) fn compiler(&self, name: &str) -> PathBuf {
        self.programs().join(format!("x86_64-linux-gnu-{name}"))
    }

    /// `PATH` with its programs before the system's.
    pub(crate) fn path(&self) -> std::ffi::OsString {
        let mut path = self.programs().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        path
    }
}

/// Makes unpacked packages a toolchain: unneeded parts removed, a loader named, programs wrapped.
pub(crate) fn prepare(root: &Path) -> Result<(), CacheError> {
    for path in item::files_below(root)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if UNUSED.iter().any(|unused| name.contains(unused)) {
            item::remove(&path)?;
        }
    }
    let loader = LOADERS.into_iter().find(|path| root.join(path).exists());
    let loader = loader.ok_or_else(|| CacheError::Contents {
        package: "libc6".into(),
        missing: "dynamic loader".into(),
    })?;
    let link = root.join("loader");
    std::os::unix::fs::symlink(loader, &link).map_err(|e| CacheError::io("create", &link, e))?;
    wrap(root)
}

/// Puts a script before each dynamically linked program below `root`.
pub(crate) fn wrap(root: &Path) -> Result<(), CacheError> {
    for path in item::files_below(root)? {
        if path.is_symlink() || path.extension().is_some_and(|end| end == "so") {
            continue;
        }
        let bytes = fs::read(&path).map_err(|e| CacheError::io("read", &path, e))?;
        if Needs::of(&bytes).loader.is_none() || path.to_string_lossy().contains(".so.") {
            continue;
        }
        let mut behind = path.clone().into_os_string();
        behind.push(format!(".{BEHIND}"));
        fs::rename(&path, &behind).map_err(|e| CacheError::io("rename", &path, e))?;
        fs::write(&path, SCRIPT)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
            .map_err(|e| CacheError::io("write", &path, e))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_wrapped_program_knows_its_name_alone_and_under_the_toolchains_loader() {
        let loader = LOADERS.map(|path| Path::new("/").join(path)).into_iter().find(|p| p.exists());
        let (Some(loader), Ok(program)) = (loader, fs::canonicalize("/bin/sh")) else {
            println!("SKIP: no dynamically linked /bin/sh here");
            return;
        };
        let dir = tempfile::tempdir().unwrap();
        let shell = dir.path().join("usr/bin/shell");
        fs::create_dir_all(shell.parent().unwrap()).unwrap();
        fs::copy(program, &shell).unwrap();
        let place = dir.path().join(LOADERS[0]);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(&loader, &place).unwrap();
        let libc = loader.with_file_name("libc.so.6");
        fs::copy(libc, place.with_file_name("libc.so.6")).unwrap();
        prepare(dir.path()).unwrap();
        assert!(fs::read_to_string(&shell).unwrap().starts_with("#!/bin/sh"));
        let name = fs::canonicalize(&shell).unwrap();
        for toolchain in [None, Some(dir.path())] {
            let mut command = Command::new(&shell);
            command.args(["-c", "echo \"$0: two words here\""]).env_remove(ROOT_VARIABLE);
            if let Some(root) = toolchain {
                command.env(ROOT_VARIABLE, root);
            }
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(said, format!("{}: two words here\n", name.display()), "{output:?}");
        }
    }
}
