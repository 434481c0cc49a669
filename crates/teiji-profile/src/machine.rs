//! Applying a profile to this machine, confirming it, and putting back what there was.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use teiji_net::SshConnection;
use teiji_net::in_place::InPlace;

use crate::at_boot;
use crate::error::{ProfileError, Refused};
use crate::guard::{Guard, Program};
pub use crate::store::Source;
use crate::store::{Journal, Locked, State, Store};

/// How to apply a profile.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Put back after this time unless it is confirmed.
    pub confirm: Option<Duration>,
    /// Apply it at each start of the machine, too.
    pub at_boot: bool,
    /// The connection that this program was started from.
    pub ssh: Option<SshConnection>,
    /// Who watches.
    pub guard: Program,
}

/// What applying did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The machine was as the profile says already, by an earlier call.
    Already,
    /// It is now.
    Now {
        /// What was put back before.
        replaced: Option<String>,
    },
}

/// Milliseconds of `CLOCK_BOOTTIME`, which goes on while the machine sleeps.
pub fn now_ms() -> u64 {
    let now = Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default();
    millis(now)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Applies a profile, which `plan` was compiled from: all of it or nothing.
///
/// # Errors
/// See [`ProfileError`]; what there was before is there again, but for what the error names.
pub fn apply(
    store: &Store,
    source: &Source,
    plan: &InPlace,
    options: &Options,
) -> Result<Applied, ProfileError> {
    let locked = store.lock()?;
    let there = locked.journal()?;
    if let Some(Journal { state: State::Applied, confirm_by_ms: Some(_), profile, .. }) = &there {
        return Err(ProfileError::Unconfirmed(profile.file.clone()));
    }
    if let (Some(ssh), None) = (&options.ssh, options.confirm) {
        let carrying = plan.carrying(ssh)?;
        if let Some(interface) = carrying {
            let (interface, file) = (interface.to_owned(), source.file.clone());
            return Err(ProfileError::Ssh { interface, client: ssh.client, file });
        }
    }
    let is_same = |one: &&Journal| one.state == State::Applied && one.profile.text == source.text;
    if let Some(journal) = there.as_ref().filter(is_same) {
        if plan.differences()?.is_empty() {
            if options.at_boot {
                at_boot::install(&journal.profile, plan)?;
                locked.write(&Journal { at_boot: true, ..journal.clone() })?;
            }
            return Ok(Applied::Already);
        }
    }
    let replaced = there.as_ref().map(|journal| journal.profile.file.clone());
    let previous = there.filter(|journal| journal.state == State::Applied).map(|one| one.profile);
    if replaced.is_some() {
        put_back(&locked, None)?;
    }
    let previous = previous.filter(|one| one.text != source.text);
    let result = apply_alone(&locked, source, plan, options, previous.clone());
    match result {
        Ok(()) => Ok(Applied::Now { replaced }),
        Err(error) => Err(with_previous(&locked, error, previous, &options.guard)),
    }
}

/// Applies a profile to a machine that has none.
fn apply_alone(
    locked: &Locked,
    source: &Source,
    plan: &InPlace,
    options: &Options,
    previous: Option<Source>,
) -> Result<(), ProfileError> {
    let before = plan.inspect()?;
    let journal = Journal { previous, ..Journal::begin(source.clone(), before) };
    // Before the journal: one without a guard would stay if this program were killed now.
    let guard = Guard::start(&options.guard).map_err(ProfileError::Guard)?;
    if let Err(error) = locked.write(&journal) {
        guard.dismiss();
        return Err(error);
    }
    let undone = |error: ProfileError, guard: Guard| {
        let left = journal_put_back(locked, &journal);
        guard.dismiss();
        match error {
            ProfileError::Refused(refused) => {
                ProfileError::Refused(Box::new(Refused { left, ..*refused }))
            }
            error if left.is_empty() => error,
            _ => ProfileError::Left(left),
        }
    };
    if let Err(error) = plan.apply() {
        return Err(undone(error.into(), guard));
    }
    if options.at_boot && options.confirm.is_none() {
        if let Err(error) = at_boot::install(source, plan) {
            return Err(undone(error, guard));
        }
    }
    let applied = Journal {
        state: State::Applied,
        at_boot: options.at_boot,
        confirm_by_ms: options.confirm.map(|limit| now_ms().saturating_add(millis(limit))),
        ..journal.clone()
    };
    if let Err(error) = locked.write(&applied) {
        return Err(undone(error, guard));
    }
    match applied.confirm_by_ms {
        Some(_) => guard.leave(),
        None => guard.dismiss(),
    }
    Ok(())
}

/// Puts back what the journal has; the journal goes if all of it is.
fn journal_put_back(locked: &Locked, journal: &Journal) -> Vec<String> {
    let mut left = journal.before.put_back();
    if left.is_empty() {
        left.extend(locked.clear(None).err().map(|error| error.to_string()));
    }
    left
}

/// Gives the machine the profile that it had before one that failed.
fn with_previous(
    locked: &Locked,
    error: ProfileError,
    previous: Option<Source>,
    guard: &Program,
) -> ProfileError {
    let Some(source) = previous else { return error };
    let again = apply_again(locked, &source, guard).map_err(|error| error.to_string());
    let ProfileError::Refused(mut refused) = error else { return error };
    refused.previous = Some(again.map(|()| source.file));
    ProfileError::Refused(refused)
}

/// Applies a profile that was applied before.
fn apply_again(locked: &Locked, source: &Source, guard: &Program) -> Result<(), ProfileError> {
    let options = Options { guard: guard.clone(), ..Options::default() };
    apply_alone(locked, source, &source.plan()?, &options, None)
}

/// Puts back what there was before the profile. Returns the profile's file; `None` if none was applied.
///
/// # Errors
/// [`ProfileError::Left`] with what could not be put back; it can be tried again.
pub(crate) fn put_back(
    locked: &Locked,
    note: Option<&str>,
) -> Result<Option<String>, ProfileError> {
    let Some(journal) = locked.journal()? else {
        // One of an earlier start goes, too.
        locked.clear(note)?;
        return Ok(None);
    };
    let left = journal.before.put_back();
    if !left.is_empty() {
        return Err(ProfileError::Left(left));
    }
    locked.clear(note)?;
    Ok(Some(journal.profile.file))
}

/// Puts back what there was before any profile, and has none applied at the machine's start. Returns the
/// profile's file; `None` if none was applied.
///
/// # Errors
/// See [`ProfileError`]; it can be tried again.
pub fn revert(store: &Store) -> Result<Option<String>, ProfileError> {
    let locked = store.lock()?;
    let removed = at_boot::remove()?;
    let file = put_back(&locked, None)?;
    Ok(file.or(removed))
}

/// Keeps what was applied for good.
///
/// # Errors
/// If nothing waits for that, or it cannot be applied at each start as was asked for: it waits on then.
pub fn confirm(store: &Store) -> Result<Journal, ProfileError> {
    let locked = store.lock()?;
    let journal = locked.journal()?.filter(|one| one.confirm_by_ms.is_some());
    let Some(journal) = journal else {
        return Err(ProfileError::NothingToConfirm(store.note()));
    };
    if journal.at_boot {
        at_boot::install(&journal.profile, &journal.profile.plan()?)?;
    }
    let journal = Journal { confirm_by_ms: None, previous: None, ..journal };
    locked.write(&journal)?;
    Ok(journal)
}

/// What a guard does at the end of the time: puts back what was not confirmed, and gives the machine the
/// profile that it had before. `reason` is why, for people.
pub(crate) fn give_up(
    locked: &Locked,
    journal: &Journal,
    reason: &str,
    guard: &Program,
) -> Result<String, ProfileError> {
    let file = &journal.profile.file;
    let mut note = format!("{file} {reason}, and everything was put back");
    put_back(locked, Some(&note))?;
    if let Some(previous) = &journal.previous {
        match apply_again(locked, previous, guard) {
            Ok(()) => note = format!("{file} {reason}, and {} is applied again", previous.file),
            Err(error) => {
                note = format!("{note}; {} is not applied any more: {error}", previous.file);
            }
        }
    }
    Ok(note)
}
