//! The roles of a case on their threads: ready together, started together, and one cause
//! reported where several fail.

use std::os::fd::BorrowedFd;
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::thread::{self, ScopedJoinHandle};

use anyhow::{Context, anyhow};
use teiji::Deadline;
use teiji_core::time::{Instant, Span, Tai};
use teiji_sys::{clock, netns};

/// How long after the last departure a listener waits for stragglers.
const GRACE: Span = Span::from_millis(300);

/// A talker or listener on its thread.
pub type Role<'scope, T> = ScopedJoinHandle<'scope, anyhow::Result<T>>;

/// The same; `None` if it is another machine's.
pub type RoleHere<'scope, T> = Option<Role<'scope, T>>;

/// When all roles start: one signal wakes all of them, because a machine under load that had
/// to wake one after the other would start them one after the other.
#[derive(Default)]
pub struct Start {
    signal: Mutex<Option<StartSignal>>,
    changed: Condvar,
}

#[derive(Clone, Copy)]
enum StartSignal {
    /// All roles are open; the first departure is at this instant.
    Start(Instant<Tai>),
    /// A role could not be opened.
    Abort,
}

/// Gives the signal to start; aborts when it is dropped without one.
pub struct Starter<'a>(pub &'a Start);

impl Starter<'_> {
    /// The first departure is at `base`.
    pub fn start(self, base: Instant<Tai>) {
        self.0.signal(StartSignal::Start(base));
    }
}

impl Drop for Starter<'_> {
    fn drop(&mut self) {
        self.0.signal(StartSignal::Abort);
    }
}

impl Start {
    /// Only the first signal has an effect.
    fn signal(&self, signal: StartSignal) {
        self.signal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(signal);
        self.changed.notify_all();
    }

    fn wait(&self) -> Result<Instant<Tai>, Abandoned> {
        let signal = self.signal.lock().unwrap_or_else(PoisonError::into_inner);
        let signal = self.changed.wait_while(signal, |signal| signal.is_none());
        match *signal.unwrap_or_else(PoisonError::into_inner) {
            Some(StartSignal::Start(base)) => Ok(base),
            _ => Err(Abandoned),
        }
    }
}

/// What a role passes between being ready and starting.
pub struct Gate<'a> {
    ready: mpsc::Sender<()>,
    start: &'a Start,
}

/// Another role could not start, so this one did not either.
#[derive(Debug, thiserror::Error)]
#[error("not started, because another role could not be opened")]
pub struct Abandoned;

impl<'a> Gate<'a> {
    /// `ready` gets a message for each role that is ready.
    pub fn new(ready: &mpsc::Sender<()>, start: &'a Start) -> Self {
        Self { ready: ready.clone(), start }
    }

    /// Reports readiness and waits for the first departure's time.
    pub fn wait(self) -> Result<Instant<Tai>, Abandoned> {
        let start = self.start;
        self.pass();
        start.wait()
    }

    /// Reports readiness; listeners and responders begin at once.
    pub fn pass(self) {
        // Nobody waits for it any more where another role could not open; its deadline, which
        // that one set, ends this one.
        let _ = self.ready.send(());
    }
}

/// Sets a listener's or responder's deadline when its talker or requester has ended.
pub struct EndOf {
    /// Whose.
    pub deadline: Deadline,
    /// What a slow reader may take beyond the usual.
    pub longer: Span,
}

impl Drop for EndOf {
    fn drop(&mut self) {
        self.deadline.set(clock::now::<Tai>() + GRACE + self.longer);
    }
}

/// Moves the thread to a host.
pub fn enter(namespace: BorrowedFd<'_>) -> anyhow::Result<()> {
    Ok(netns::enter(namespace)?)
}

/// What the thread of a role is called, for a flow or round trips with the identifier `id`:
/// 15 characters at most, as the kernel keeps them.
pub fn thread_name(role: &str, id: u16) -> String {
    format!("{role}-{id}")
}

/// Starts a role on a thread of that name.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    name: String,
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'scope,
) -> anyhow::Result<Role<'scope, T>> {
    thread::Builder::new().name(name).spawn_scoped(scope, work).context("cannot start a thread")
}

/// The roles' results; of several failures the one that is a cause, not a
/// consequence.
pub fn join_all<T>(roles: Vec<Role<'_, T>>, names: &[&str], what: &str) -> anyhow::Result<Vec<T>> {
    let mut results = Vec::new();
    let mut failure: Option<anyhow::Error> = None;
    for (role, name) in roles.into_iter().zip(names) {
        let joined = role.join().unwrap_or_else(|_| Err(anyhow!("it panicked")));
        match joined.with_context(|| format!("the {what} `{name}`")) {
            Ok(result) => results.push(result),
            Err(error) if failure.as_ref().is_none_or(is_consequence) => failure = Some(error),
            Err(_) => {}
        }
    }
    failure.map_or(Ok(results), Err)
}

/// True if a role did not start only because another one could not.
pub fn is_consequence(error: &anyhow::Error) -> bool {
    error.root_cause().is::<Abandoned>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What two roles at the gate receive.
    fn starts(begin: impl FnOnce(Starter<'_>)) -> [Result<Instant<Tai>, Abandoned>; 2] {
        let start = Start::default();
        let (ready, readiness) = mpsc::channel();
        thread::scope(|scope| {
            let starter = Starter(&start);
            let roles = [0, 1].map(|_| {
                let gate = Gate::new(&ready, &start);
                scope.spawn(move || gate.wait())
            });
            drop(ready);
            assert_eq!(readiness.iter().count(), 2, "both are ready and wait");
            begin(starter);
            roles.map(|role| role.join().unwrap())
        })
    }

    #[test]
    fn all_roles_receive_the_start_or_its_cancellation() {
        let base = clock::now();
        for start in starts(|starter| starter.start(base)) {
            assert_eq!(start.unwrap(), base);
        }
        for start in starts(|starter| drop(starter)) {
            assert!(is_consequence(&start.unwrap_err().into()));
        }
    }
}
