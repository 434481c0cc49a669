//! One thing in the cache: a folder of unpacked files and the manifest that vouches for them.
//!
//! On disk: `<kind>/<id>/manifest.json` and `<kind>/<id>/root/…`, and a symbolic
//! link `<kind>/<name>` → `<id>` for every name that was requested. A folder is
//! filled under a temporary name and renamed when complete, so a half-filled one
//! never carries its final name.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::StoreError;

/// Version of the manifest's layout; another one is fetched again.
const FORMAT: u32 = 1;
/// Prefix of folders that are being filled.
const UNFINISHED: &str = ".unfinished-";

/// A Debian package, exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Name, such as `linux-image-6.12.117+deb12-rt-amd64`.
    pub name: String,
    /// Debian version, such as `6.12.117-1~deb12u1`.
    pub version: String,
    /// SHA-256 of the `.deb`, in hexadecimal.
    pub sha256: String,
}

/// What an item is and what it must look like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u32,
    /// The packages unpacked here; the first is the one that was requested.
    pub packages: Vec<Package>,
    /// When it was fetched, seconds since 1970 (UTC).
    pub fetched_unix_s: u64,
    /// Path below `root` → digest of the file, or target of the symbolic link.
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    File { bytes: u64, sha256: String },
    Link { target: String },
}

/// An item that was found; [`Item::verify`] says whether it is whole.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub dir: PathBuf,
    pub manifest: Manifest,
}

/// Result of looking for an item.
pub(crate) enum Found {
    /// There and whole.
    Whole(Item),
    /// There, but not as it was stored; the text says what differs.
    Damaged(String),
    /// Not there.
    Absent,
}

impl Item {
    /// The unpacked files.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.join("root")
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.manifest
            .entries
            .values()
            .map(|e| match e {
                Entry::File { bytes, .. } => *bytes,
                Entry::Link { .. } => 0,
            })
            .sum()
    }

    /// Digest of the file at `path` below the root, as stored.
    pub(crate) fn sha256(&self, path: &str) -> Option<&str> {
        match self.manifest.entries.get(path)? {
            Entry::File { sha256, .. } => Some(sha256),
            Entry::Link { .. } => None,
        }
    }

    /// Looks up `name` (a link) or an id in the folder of its kind.
    pub(crate) fn find(kind_dir: &Path, name: &str) -> Found {
        let link = kind_dir.join(file_name(name));
        let dir = match fs::read_link(&link) {
            Ok(target) => kind_dir.join(target),
            Err(_) => link,
        };
        if !dir.exists() {
            return Found::Absent;
        }
        match Self::load(&dir) {
            Ok(item) => match item.verify() {
                Ok(()) => Found::Whole(item),
                Err(why) => Found::Damaged(why),
            },
            Err(why) => Found::Damaged(why),
        }
    }

    /// Reads the manifest in `dir`, whatever the files look like.
    pub(crate) fn load(dir: &Path) -> Result<Self, String> {
        let path = dir.join("manifest.json");
        let text = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        if manifest.format != FORMAT {
            return Err(format!("{}: of another version of teiji", path.display()));
        }
        Ok(Self { dir: dir.to_owned(), manifest })
    }

    /// Compares every file with its digest; the error says which one differs.
    pub(crate) fn verify(&self) -> Result<(), String> {
        let root = self.root();
        let entries: Vec<_> = self.manifest.entries.iter().collect();
        // Hashing is all of the work and files are independent: one worker a core.
        let next = AtomicUsize::new(0);
        let first_wrong: Mutex<Option<String>> = Mutex::new(None);
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(8);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while let Some((path, entry)) =
                        entries.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        if let Err(why) = entry.check(&root.join(path)) {
                            let mut wrong =
                                first_wrong.lock().unwrap_or_else(PoisonError::into_inner);
                            wrong.get_or_insert(format!("{path} {why}"));
                            next.store(entries.len(), Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        first_wrong.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

impl Entry {
    fn check(&self, path: &Path) -> Result<(), String> {
        match self {
            Self::File { bytes, sha256 } => {
                let meta = fs::symlink_metadata(path).map_err(|e| missing(&e))?;
                if meta.len() != *bytes {
                    return Err(format!("has {} bytes instead of {bytes}", meta.len()));
                }
                if sha256_of(path).map_err(|e| missing(&e))? == *sha256 {
                    Ok(())
                } else {
                    Err("has changed".into())
                }
            }
            Self::Link { target } => match fs::read_link(path) {
                Ok(found) if found.as_os_str().as_bytes() == target.as_bytes() => Ok(()),
                Ok(_) => Err("points elsewhere".into()),
                Err(e) => Err(missing(&e)),
            },
        }
    }
}

fn missing(error: &io::Error) -> String {
    format!("cannot be read ({error})")
}

/// SHA-256 of a file, in hexadecimal.
pub(crate) fn sha256_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(n) => hash.update(&buffer[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// SHA-256 of bytes, in hexadecimal.
pub(crate) fn sha256_of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Name of the folder for a package. Versions may hold a colon (`1:10.0.2`), which
/// search paths such as `LD_LIBRARY_PATH` take for a separator: written as apt does.
pub(crate) fn id(package: &str, version: &str) -> String {
    format!("{package}_{}", version.replace(':', "%3a"))
}

/// A name or id as that of a file: the `/` before an architecture is written as in addresses.
fn file_name(name: &str) -> String {
    name.replace('/', SLASH)
}

/// The name that a file stands for.
pub(crate) fn name_of_file(file: &str) -> String {
    file.replace(SLASH, "/")
}

const SLASH: &str = "%2f";

/// Lower-case hexadecimal digits of `bytes`.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A folder being filled; dropped before [`Unfinished::finish`], it is removed.
#[derive(Debug)]
pub(crate) struct Unfinished {
    dir: tempfile::TempDir,
}

impl Unfinished {
    /// Starts an item in the folder of its kind. The caller holds the lock for
    /// filling, so what else is unfinished there was left by a killed process.
    pub(crate) fn start(kind_dir: &Path) -> Result<Self, StoreError> {
        create_dir(kind_dir)?;
        let entries = fs::read_dir(kind_dir).map_err(|e| StoreError::io("read", kind_dir, e))?;
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                remove(&entry.path())?;
            }
        }
        let dir = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(kind_dir)
            .map_err(|e| StoreError::io("create a folder in", kind_dir, e))?;
        create_dir(&dir.path().join("root"))?;
        Ok(Self { dir })
    }

    /// Where the files go.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    /// Writes the manifest, moves the folder to its place as `id` and points `name` to it.
    /// An item of that id that was there (damaged, or of another version) is replaced.
    pub(crate) fn finish(
        self,
        kind_dir: &Path,
        id: &str,
        name: &str,
        packages: Vec<Package>,
    ) -> Result<Item, StoreError> {
        let mut entries = BTreeMap::new();
        let root = self.root();
        for path in files_below(&root)? {
            let relative = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
            entries.insert(relative, describe(&path)?);
        }
        let fetched_unix_s = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        let manifest = Manifest { format: FORMAT, packages, fetched_unix_s, entries };
        let manifest_path = self.dir.path().join("manifest.json");
        let text = serde_json::to_vec(&manifest)
            .map_err(|e| StoreError::io("write", &manifest_path, e.into()))?;
        fs::write(&manifest_path, text).map_err(|e| StoreError::io("write", &manifest_path, e))?;

        let place = kind_dir.join(file_name(id));
        remove(&place)?;
        let filled = self.dir.keep();
        fs::rename(&filled, &place).map_err(|e| StoreError::io("rename", &filled, e))?;
        let item = Item { dir: place, manifest };
        point(kind_dir, name, id)?;
        Ok(item)
    }
}

fn describe(path: &Path) -> Result<Entry, StoreError> {
    let read = |e| StoreError::io("read", path, e);
    let meta = fs::symlink_metadata(path).map_err(read)?;
    if meta.is_symlink() {
        let target = fs::read_link(path).map_err(read)?.to_string_lossy().into_owned();
        return Ok(Entry::Link { target });
    }
    Ok(Entry::File { bytes: meta.len(), sha256: sha256_of(path).map_err(read)? })
}

/// Makes `name` stand for `id`, in one step even if it stood for another.
pub(crate) fn point(kind_dir: &Path, name: &str, id: &str) -> Result<(), StoreError> {
    let link = kind_dir.join(file_name(name));
    let fresh = kind_dir.join(format!("{UNFINISHED}link-{}", std::process::id()));
    remove(&fresh)?;
    std::os::unix::fs::symlink(file_name(id), &fresh)
        .map_err(|e| StoreError::io("create", &fresh, e))?;
    fs::rename(&fresh, &link).map_err(|e| StoreError::io("create", &link, e))
}

/// Creates a folder and its parents.
pub(crate) fn create_dir(dir: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(dir).map_err(|e| StoreError::io("create", dir, e))
}

/// Removes a file, link or folder, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    let gone = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(e) => Err(e),
    };
    match gone {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|e| StoreError::io("remove", path, e)),
    }
}

/// Files and symbolic links below `dir`, links not followed, in no order.
pub(crate) fn files_below(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut files = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        let read = |e| StoreError::io("read", &dir, e);
        for entry in fs::read_dir(&dir).map_err(read)? {
            let entry = entry.map_err(read)?;
            if entry.file_type().map_err(read)?.is_dir() {
                pending.push(entry.path());
            } else {
                files.push(entry.path());
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(kind_dir: &Path) -> Item {
        let unfinished = Unfinished::start(kind_dir).unwrap();
        fs::create_dir(unfinished.root().join("sub")).unwrap();
        fs::write(unfinished.root().join("sub/file"), b"contents").unwrap();
        std::os::unix::fs::symlink("sub/file", unfinished.root().join("link")).unwrap();
        let package = Package { name: "p".into(), version: "1".into(), sha256: "00".repeat(32) };
        unfinished.finish(kind_dir, "p_1", "name", vec![package]).unwrap()
    }

    #[test]
    fn a_stored_item_is_found_whole_by_name_and_by_id() {
        let dir = tempfile::tempdir().unwrap();
        let item = stored(dir.path());
        assert_eq!(item.bytes(), 8);
        // Digest of "contents", from sha256sum(1).
        assert_eq!(
            item.sha256("sub/file"),
            Some("d1b2a59fbea7e20077af9f91b27e95e865061b270be03ff539ab3b73587882e8")
        );
        for name in ["name", "p_1"] {
            let Found::Whole(found) = Item::find(dir.path(), name) else { panic!("{name}") };
            assert_eq!(found.manifest, item.manifest);
        }
        assert!(matches!(Item::find(dir.path(), "other"), Found::Absent));
    }

    #[test]
    fn one_flipped_bit_a_lost_file_a_moved_link_and_a_broken_manifest_are_damage() {
        type Damage = (&'static str, fn(&Path));
        let dir = tempfile::tempdir().unwrap();
        let damages: [Damage; 4] = [
            ("sub/file has changed", |root| {
                fs::write(root.join("sub/file"), b"content\x72").unwrap();
            }),
            ("sub/file cannot be read", |root| fs::remove_file(root.join("sub/file")).unwrap()),
            ("link points elsewhere", |root| {
                fs::remove_file(root.join("link")).unwrap();
                std::os::unix::fs::symlink("other", root.join("link")).unwrap();
            }),
            ("manifest.json", |root| fs::write(root.join("../manifest.json"), b"{").unwrap()),
        ];
        for (expected, damage) in damages {
            let item = stored(dir.path());
            damage(&item.root());
            let Found::Damaged(why) = Item::find(dir.path(), "name") else { panic!("{expected}") };
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn a_half_filled_item_of_a_killed_process_is_removed_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let left = dir.path().join(format!("{UNFINISHED}x/root"));
        fs::create_dir_all(&left).unwrap();
        stored(dir.path());
        assert!(!left.exists());
    }

    #[test]
    fn an_item_that_was_not_finished_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let unfinished = Unfinished::start(dir.path()).unwrap();
        fs::write(unfinished.root().join("half"), b"x").unwrap();
        drop(unfinished);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
