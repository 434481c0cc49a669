//! The journal: what is applied to this machine, and what there was before. Beside it are two locks, which go with
//! the process that has them, and a note on what was put back last.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use teiji_experiment::Profile;
use teiji_net::in_place::{InPlace, MachineBefore};

use crate::error::ProfileError;

const VERSION: u32 = 1;
/// Forgotten with each start of the machine, as the kernel's settings are.
const FOLDER: &str = "/run/teiji";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// How long somebody else's work is waited for. A guard that puts back takes some milliseconds.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// How far applying is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Some of the changes have been made.
    Applying,
    /// All have been made, and compared with the profile.
    Applied,
}

/// What is applied, and what there was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    pub(crate) version: u32,
    /// Of which start of the machine.
    pub(crate) boot_id: String,
    /// The network namespace that its interfaces are in.
    pub(crate) netns: String,
    /// How far it is.
    pub state: State,
    /// The profile.
    pub profile: Source,
    /// When it was applied, in seconds since 1970.
    pub at_s: u64,
    /// Until when it waits for confirmation, in milliseconds of `CLOCK_BOOTTIME`; `None`: it is for good.
    pub confirm_by_ms: Option<u64>,
    /// It is to be applied at each start, too, once it is confirmed.
    pub at_boot: bool,
    /// What there was before.
    pub before: MachineBefore,
    /// The profile that was applied before, which comes back if this one is not confirmed.
    pub previous: Option<Source>,
}

/// A profile as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The file's name.
    pub file: String,
    /// Its text.
    pub text: String,
}

impl Source {
    /// The changes of a profile that was applied before.
    ///
    /// # Errors
    /// [`ProfileError::Stale`] if this version reads it differently.
    pub fn plan(&self) -> Result<InPlace, ProfileError> {
        let stale = || ProfileError::Stale(self.file.clone());
        let profile = Profile::parse(&self.text, &self.file).map_err(|_| stale())?;
        InPlace::compile(&profile).map_err(|_| stale())
    }
}

impl Journal {
    /// Of now, before the first change.
    pub(crate) fn begin(profile: Source, before: MachineBefore) -> Self {
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            version: VERSION,
            boot_id: boot_id(),
            netns: netns(),
            state: State::Applying,
            profile,
            at_s: since_1970.map_or(0, |time| time.as_secs()),
            confirm_by_ms: None,
            at_boot: false,
            before,
            previous: None,
        }
    }
}

/// The calling process's network namespace, as `lsns` names it.
fn netns() -> String {
    let name = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    name.display().to_string()
}

fn boot_id() -> String {
    fs::read_to_string(BOOT_ID).unwrap_or_default().trim().to_owned()
}

/// Where the journal is.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// The right to change the journal and the machine.
#[derive(Debug)]
pub struct Locked {
    store: Store,
    _lock: File,
}

impl Store {
    /// This machine's.
    pub fn of_machine() -> Self {
        Self { folder: FOLDER.into() }
    }

    #[cfg(test)]
    pub(crate) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What is applied; `None` if nothing is.
    ///
    /// # Errors
    /// If there is a journal that cannot be read.
    pub fn journal(&self) -> Result<Option<Journal>, ProfileError> {
        let path = self.path("journal.json");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ProfileError::Journal { action: "read", path, error }),
        };
        let unreadable = |why: String| ProfileError::Unreadable { path: path.clone(), why };
        let journal: Journal =
            serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        if journal.version != VERSION {
            return Err(unreadable(format!("version {}", journal.version)));
        }
        // Of an earlier start: the kernel has forgotten it.
        if journal.boot_id != boot_id() {
            return Ok(None);
        }
        if journal.netns != netns() {
            return Err(ProfileError::Elsewhere(journal.profile.file));
        }
        Ok(Some(journal))
    }

    /// What was put back last without a request, and why.
    pub fn note(&self) -> Option<String> {
        Some(fs::read_to_string(self.path("note")).ok()?.trim().to_owned())
    }

    /// True while a guard watches over what is applied.
    pub fn is_guarded(&self) -> bool {
        let Ok(file) = File::open(self.path("guard")) else { return false };
        matches!(flock(&file, FlockOperation::NonBlockingLockShared), Err(Errno::WOULDBLOCK))
    }

    /// Has this process known as the guard, as long as the file is open.
    pub(crate) fn guard(&self) -> Result<File, ProfileError> {
        let (file, path) = self.open("guard")?;
        // A guard that has just been replaced may still end.
        acquire(&file, &path)?;
        Ok(file)
    }

    /// Waits for whoever is at work, and keeps others away.
    ///
    /// # Errors
    /// Without the right to, or if somebody else is at work for seconds.
    pub fn lock(&self) -> Result<Locked, ProfileError> {
        let (file, path) = self.open("lock")?;
        acquire(&file, &path)?;
        Ok(Locked { store: self.clone(), _lock: file })
    }

    fn open(&self, name: &str) -> Result<(File, PathBuf), ProfileError> {
        let failed = |action, path: &Path| {
            let path = path.to_owned();
            move |error| ProfileError::Journal { action, path, error }
        };
        fs::create_dir_all(&self.folder).map_err(failed("make", &self.folder))?;
        let path = self.path(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o644);
        Ok((options.open(&path).map_err(failed("open", &path))?, path))
    }
}

/// Waits for the lock, up to [`TRIES`] times.
fn acquire(file: &File, path: &Path) -> Result<(), ProfileError> {
    for _ in 0..TRIES {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK | Errno::INTR) => thread::sleep(PAUSE),
            Err(error) => {
                let (path, error) = (path.to_owned(), error.into());
                return Err(ProfileError::Journal { action: "lock", path, error });
            }
        }
    }
    Err(ProfileError::Busy)
}

impl Locked {
    /// What is applied; `None` if nothing is.
    ///
    /// # Errors
    /// If there is a journal that cannot be read.
    pub fn journal(&self) -> Result<Option<Journal>, ProfileError> {
        self.store.journal()
    }

    /// Writes the journal, whole or not at all.
    pub(crate) fn write(&self, journal: &Journal) -> Result<(), ProfileError> {
        let path = self.store.path("journal.json");
        let write = || {
            let text = serde_json::to_string(journal)?;
            write_whole(&path, 0o600, &text)
        };
        write().map_err(|error| ProfileError::Journal {
            action: "write",
            path: path.clone(),
            error,
        })
    }

    /// Nothing is applied any more; `note` says why, if nobody asked for that.
    pub(crate) fn clear(&self, note: Option<&str>) -> Result<(), ProfileError> {
        let path = self.store.path("journal.json");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ProfileError::Journal { action: "remove", path, error });
            }
            _ => {}
        }
        let path = self.store.path("note");
        // Only for people.
        let _ = match note {
            Some(note) => fs::write(path, note),
            None => fs::remove_file(path),
        };
        Ok(())
    }
}

/// Whenever the machine stops, the whole text is in the file, or what was there before.
pub(crate) fn write_whole(path: &Path, mode: u32, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let permissions = fs::Permissions::from_mode(mode);
    let mut file = tempfile::Builder::new().permissions(permissions).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Journal {
        let source = Source { file: "drive.toml".to_owned(), text: "[system]\n".to_owned() };
        Journal::begin(source, MachineBefore::default())
    }

    #[test]
    fn what_is_written_is_read_again_and_an_earlier_start_s_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        assert_eq!(store.journal().unwrap(), None);
        let locked = store.lock().unwrap();
        locked.write(&journal()).unwrap();
        assert_eq!(
            store.journal().unwrap(),
            Some(journal())
                .map(|one| Journal { at_s: store.journal().unwrap().unwrap().at_s, ..one })
        );
        locked.write(&Journal { boot_id: "another".to_owned(), ..journal() }).unwrap();
        assert_eq!(store.journal().unwrap(), None);
        locked.write(&Journal { netns: "net:[1]".to_owned(), ..journal() }).unwrap();
        assert!(store.journal().unwrap_err().to_string().contains("another network namespace"));
        locked.clear(Some("it was not confirmed")).unwrap();
        assert_eq!(store.note().as_deref(), Some("it was not confirmed"));
        locked.clear(None).unwrap();
        assert_eq!(store.note(), None);
    }

    #[test]
    fn a_journal_that_cannot_be_read_is_an_error_and_no_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        fs::write(folder.path().join("journal.json"), "{}").unwrap();
        let error = store.journal().unwrap_err().to_string();
        assert!(error.contains("of another version of teiji, or damaged"), "{error}");
        let other = Journal { version: 2, ..journal() };
        fs::write(folder.path().join("journal.json"), serde_json::to_string(&other).unwrap())
            .unwrap();
        assert!(store.journal().unwrap_err().to_string().contains("version 2"));
    }

    #[test]
    fn a_guard_is_known_while_it_lives() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        assert!(!store.is_guarded());
        let guard = store.guard().unwrap();
        assert!(store.is_guarded());
        drop(guard);
        assert!(!store.is_guarded());
    }
}
