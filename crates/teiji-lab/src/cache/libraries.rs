//! The shared libraries that unpacked programs need, copied out of unpacked packages.

use std::fs;
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::elf::Needs;
use crate::store::{StoreError, item};

/// Where Debian keeps libraries; those of one architecture in a folder of its own there.
const LIBRARY_FOLDERS: [&str; 2] = ["lib", "usr/lib"];

/// Copies into `root` what its programs need of `pool`, and what that needs in turn.
/// A plug-in whose library the package does not depend on is removed: it would only
/// work where somebody has installed that too.
pub(super) fn add(root: &Path, pool: &Path, arch: Arch) -> Result<(), StoreError> {
    let mut unread: Vec<_> =
        item::files_below(root)?.into_iter().map(|path| (path, true)).collect();
    while let Some((path, own)) = unread.pop() {
        if path.is_symlink() {
            continue;
        }
        let bytes = fs::read(&path).map_err(|e| StoreError::io("read", &path, e))?;
        let needs = Needs::of(&bytes);
        let plug_in = own && needs.loader.is_none();
        let loader = needs.loader.map(|path| path.trim_start_matches('/').to_owned());
        for wanted in needs.libraries.into_iter().chain(loader) {
            match find(&wanted, pool, arch) {
                Some(place) => unread.extend(copy(&place, root, pool)?.map(|path| (path, false))),
                None if plug_in => item::remove(&path)?,
                None => {
                    return Err(StoreError::Contents {
                        package: path.display().to_string(),
                        missing: format!("library {wanted}"),
                    });
                }
            }
        }
    }
    Ok(())
}

/// The path below `pool` of a library, or of the loader, which is known by its path. Since
/// Debian 13 the packages have all of it below `usr`, and the link to there is another's.
fn find(wanted: &str, pool: &Path, arch: Arch) -> Option<String> {
    let triplet = arch.names().triplet;
    let of_arch = LIBRARY_FOLDERS.map(|folder| format!("{folder}/{triplet}/{wanted}"));
    let of_all = LIBRARY_FOLDERS.map(|folder| format!("{folder}/{wanted}"));
    let mut places =
        of_arch.into_iter().chain(of_all).chain([wanted.to_owned(), format!("usr/{wanted}")]);
    places.find(|place| fs::symlink_metadata(pool.join(place)).is_ok())
}

/// Copies a file of `pool`, and if it is a link what it leads to; the file it ends at.
fn copy(place: &str, root: &Path, pool: &Path) -> Result<Option<PathBuf>, StoreError> {
    let mut place = PathBuf::from(place);
    // A library's name leads to its file in one or two steps.
    for _ in 0..4 {
        let (from, to) = (pool.join(&place), root.join(&place));
        if fs::symlink_metadata(&to).is_ok() {
            return Ok(None);
        }
        if let Some(folder) = to.parent() {
            item::create_dir(folder)?;
        }
        let Ok(target) = fs::read_link(&from) else {
            fs::copy(&from, &to).map_err(|e| StoreError::io("copy", &from, e))?;
            return Ok(Some(to));
        };
        std::os::unix::fs::symlink(&target, &to).map_err(|e| StoreError::io("create", &to, e))?;
        place = match target.strip_prefix("/") {
            Ok(absolute) => absolute.to_owned(),
            Err(_) => place.parent().unwrap_or(Path::new("")).join(&target),
        };
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_comes_with_the_file_its_links_lead_to() {
        let (pool, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = pool.path().join("lib/x86_64-linux-gnu");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("libx.so.1.2"), "x").unwrap();
        std::os::unix::fs::symlink("libx.so.1.2", folder.join("libx.so.1")).unwrap();
        std::os::unix::fs::symlink("/lib/x86_64-linux-gnu/libx.so.1", pool.path().join("libx.so"))
            .unwrap();
        let file = copy("libx.so", root.path(), pool.path()).unwrap();
        assert_eq!(file, Some(root.path().join("lib/x86_64-linux-gnu/libx.so.1.2")));
        assert_eq!(item::files_below(root.path()).unwrap().len(), 3);
        assert_eq!(copy("libx.so", root.path(), pool.path()).unwrap(), None);
    }

    #[test]
    fn the_loader_is_found_where_debian_12_and_13_have_it() {
        for place in ["lib64", "usr/lib64"] {
            let pool = tempfile::tempdir().unwrap();
            fs::create_dir_all(pool.path().join(place)).unwrap();
            let loader = format!("{place}/ld-linux-x86-64.so.2");
            fs::write(pool.path().join(&loader), "").unwrap();
            assert_eq!(find("lib64/ld-linux-x86-64.so.2", pool.path(), Arch::X86_64), Some(loader));
        }
    }

    #[test]
    fn a_library_that_is_nowhere_is_named() {
        let Ok(shell) = fs::read("/bin/sh") else {
            println!("SKIP: no /bin/sh here");
            return;
        };
        let (pool, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(root.path().join("sh"), shell).unwrap();
        let why = add(root.path(), pool.path(), Arch::X86_64).unwrap_err().to_string();
        assert!(why.contains("library libc.so") || why.contains("ld-linux"), "{why}");
    }
}
