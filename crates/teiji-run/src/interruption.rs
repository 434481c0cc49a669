//! What an interruption finds: nothing yet, something to take back, or a measurement.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

static UNDO_PENDING: AtomicBool = AtomicBool::new(false);
static PREPARING: Mutex<Option<Preparing>> = Mutex::new(None);

/// Says whether there is something to take back.
pub(crate) fn set_undo_pending(pending: bool) {
    UNDO_PENDING.store(pending, Ordering::Relaxed);
}

/// Whether this process has set something up on this machine that it takes back before it ends.
pub fn is_undo_pending() -> bool {
    UNDO_PENDING.load(Ordering::Relaxed)
}

/// A run that fetches and builds what it needs.
struct Preparing {
    folder: PathBuf,
    /// The folder of run folders is this run's, too.
    and_parent: bool,
    /// A temporary folder of the preparation, which no destructor removes when the process ends.
    scratch: Option<PathBuf>,
}

/// While this lives, a run is being prepared.
#[must_use = "the preparation ends when this is dropped"]
pub(crate) struct Preparation(());

/// A run into `folder` is prepared from now on; with `and_parent` its parent folder is new, too.
pub(crate) fn prepare(folder: &Path, and_parent: bool) -> Preparation {
    let preparing = Preparing { folder: folder.to_owned(), and_parent, scratch: None };
    *PREPARING.lock().unwrap_or_else(PoisonError::into_inner) = Some(preparing);
    Preparation(())
}

/// The preparation uses this temporary folder, too.
pub(crate) fn prepare_in(scratch: &Path) {
    if let Some(preparing) = PREPARING.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        preparing.scratch = Some(scratch.to_owned());
    }
}

impl Drop for Preparation {
    fn drop(&mut self) {
        PREPARING.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// If a run is only being prepared, takes away its folder and returns true: then the process may
/// end at once. Downloads and builds take minutes and look at no flag; what they leave in the
/// cache is checked before it is used.
pub fn abandon_preparation() -> bool {
    let Some(Preparing { folder, and_parent, scratch }) =
        PREPARING.lock().unwrap_or_else(PoisonError::into_inner).take()
    else {
        return false;
    };
    // The process ends for a reason that counts more than what cannot be removed.
    let _ = fs::remove_dir_all(&folder);
    if let Some(scratch) = scratch {
        let _ = fs::remove_dir_all(scratch);
    }
    if let Some(parent) = folder.parent().filter(|_| and_parent) {
        let _ = fs::remove_dir(parent);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abandoned_preparation_leaves_no_folder() {
        let root = tempfile::tempdir().unwrap();
        let [run, scratch] = ["runs/one", "scratch"].map(|name| root.path().join(name));
        fs::create_dir_all(&run).unwrap();
        fs::create_dir_all(scratch.join("guest")).unwrap();
        let preparation = prepare(&run, true);
        prepare_in(&scratch);
        assert!(abandon_preparation());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
        drop(preparation);
        assert!(!abandon_preparation());
    }
}
