//! Two teiji at once: one fills the cache, the other waits and says so.
//!
//! `flock` locks end with the process, however it ends; no stale lock can stay.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::StoreError;
use super::progress::Progress;

/// How long a lock is tried before somebody else is said to hold it: half a second in
/// all. A process that is just being started holds all locks of its parent until it
/// has called exec.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(25);

/// Held while the cache is being changed; released on drop.
#[derive(Debug)]
pub(crate) struct Filling(#[expect(dead_code, reason = "the open file is the lock")] File);

/// Held while something of the cache is in use, so that `clean` leaves it alone.
#[derive(Debug)]
pub(crate) struct Lease(#[expect(dead_code, reason = "the open file is the lock")] File);

fn open(path: &Path) -> Result<File, StoreError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|e| StoreError::io("open", path, e))
}

fn lock(file: &File, path: &Path, how: FlockOperation) -> Result<bool, StoreError> {
    loop {
        match flock(file, how) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(e) => return Err(StoreError::io("lock", path, e.into())),
        }
    }
}

/// Tries for a moment; whether the lock is held now.
pub(crate) fn lock_soon(file: &File, path: &Path) -> Result<bool, StoreError> {
    for attempt in 0..TRIES {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        if lock(file, path, FlockOperation::NonBlockingLockExclusive)? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Filling {
    /// Waits for the right to change the cache; tells `progress` when it must.
    pub(crate) fn wait(dir: &Path, progress: &mut dyn Progress) -> Result<Self, StoreError> {
        Self::of("filling.lock", "filling the cache", dir, progress)
    }

    /// The same for the debug kernels, whose building takes so long that all others
    /// must not wait for it. Who needs both takes this one first.
    pub(crate) fn kernels(dir: &Path, progress: &mut dyn Progress) -> Result<Self, StoreError> {
        Self::of("building.lock", "building a kernel", dir, progress)
    }

    fn of(
        name: &str,
        doing: &str,
        dir: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Self, StoreError> {
        let path = dir.join(name);
        let mut file = open(&path)?;
        if !lock_soon(&file, &path)? {
            let mut owner = String::new();
            let who = match file.read_to_string(&mut owner) {
                Ok(n) if n > 0 => format!("another teiji (process {})", owner.trim()),
                _ => "another teiji".to_owned(),
            };
            progress.note(&format!("{who} is {doing}; waiting until it is done"));
            lock(&file, &path, FlockOperation::LockExclusive)?;
        }
        // The process id only serves the sentence above: failing to write it is harmless.
        let _ = file
            .seek(SeekFrom::Start(0))
            .and_then(|_| file.set_len(0))
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self(file))
    }
}

impl Lease {
    /// Marks the cache as used; many may hold a lease at once.
    pub(crate) fn shared(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join("use.lock");
        let file = open(&path)?;
        lock(&file, &path, FlockOperation::LockShared)?;
        Ok(Self(file))
    }

    /// Succeeds only when nobody holds a lease.
    pub(crate) fn sole(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join("use.lock");
        let file = open(&path)?;
        if lock_soon(&file, &path)? {
            return Ok(Self(file));
        }
        Err(StoreError::InUse)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::store::Step;

    #[derive(Default)]
    struct Notes(Vec<String>);
    impl Progress for Notes {
        fn step(&mut self, _: &Step<'_>) {}
        fn note(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }
    }

    #[test]
    fn the_second_filler_waits_names_the_first_and_continues_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_owned();
        let mut quiet = Notes::default();
        let first = Filling::wait(&path, &mut quiet).unwrap();
        assert!(quiet.0.is_empty());
        let (send, receive) = mpsc::channel();
        let second = std::thread::spawn(move || {
            let mut notes = Notes::default();
            let lock = Filling::wait(&path, &mut notes).unwrap();
            send.send(()).unwrap();
            drop(lock);
            notes.0
        });
        assert!(receive.recv_timeout(2 * TRIES * PAUSE).is_err(), "it did not wait");
        drop(first);
        receive.recv_timeout(Duration::from_secs(5)).unwrap();
        let notes = second.join().unwrap();
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains(&format!("process {}", std::process::id())), "{}", notes[0]);
    }

    #[test]
    fn cleaning_is_refused_while_the_cache_is_in_use() {
        let dir = tempfile::tempdir().unwrap();
        let one = Lease::shared(dir.path()).unwrap();
        let two = Lease::shared(dir.path()).unwrap();
        assert!(matches!(Lease::sole(dir.path()), Err(StoreError::InUse)));
        drop((one, two));
        Lease::sole(dir.path()).unwrap();
    }
}
