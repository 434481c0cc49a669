//! The state of `ptp4l`, queried by a thread of its own: `pmc` waits for answers.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use teiji_doctor::facts::Ptp4l;

const EVERY: Duration = Duration::from_secs(1);

/// Queries until this is dropped.
#[derive(Debug)]
pub(crate) struct PtpWatch(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<Option<Ptp4l>>,
    ended: AtomicBool,
}

impl PtpWatch {
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let asking = Arc::clone(&shared);
        thread::Builder::new().name("ptp4l".to_owned()).spawn(move || {
            while !asking.ended.load(Ordering::Relaxed) {
                let state = Ptp4l::look();
                *asking.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
                thread::sleep(EVERY);
            }
        })?;
        Ok(Self(shared))
    }

    pub(crate) fn state(&self) -> Option<Ptp4l> {
        *self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PtpWatch {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}
