//! Applying a profile to this machine, confirming it, and putting back what there was.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use teiji_net::SshConnection;
use teiji_net::in_place::InPlace;

use crate::at_boot;
use crate::error::{ProfileError, Refused};
use crate::guard::Guard;
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
    // Before the first change: whoever is killed cannot put back.
    let guard = Guard::start().map_err(ProfileError::Guard)?;
    let applied = replace(&locked, there, source, plan, options);
    match &applied {
        Ok(journal) if journal.confirm_by_ms.is_some() => guard.leave(),
        _ => guard.dismiss(),
    }
    applied.map(|_| Applied::Now { replaced })
}

/// Applies a profile in the place of the one that is `there`, or gives the machine that one again.
fn replace(
    locked: &Locked,
    there: Option<Journal>,
    source: &Source,
    plan: &InPlace,
    options: &Options,
) -> Result<Journal, ProfileError> {
    let previous = there.map(|journal| clear_away(locked, journal)).transpose()?.flatten();
    let previous = previous.filter(|one| one.text != source.text);
    let mut refused = match apply_alone(locked, source, plan, options, previous.clone()) {
        Ok(journal) => return Ok(journal),
        Err(refused) => refused,
    };
    let Some(previous) = previous.filter(|_| refused.not_restored.is_empty()) else {
        return Err(end(locked, refused));
    };
    let again = apply_again(locked, &previous).map_err(|error| error.to_string());
    refused.previous = Some(again.map(|()| previous.file));
    Err(refused.into())
}

/// Puts back what there was before a profile that is to be replaced, and gives that profile if all of it was
/// applied. Its journal stays: a guard that finds it gives the machine that profile again.
fn clear_away(locked: &Locked, there: Journal) -> Result<Option<Source>, ProfileError> {
    let previous = (there.state == State::Applied).then(|| there.profile.clone());
    let leaving = Journal { state: State::Applying, previous: previous.clone(), ..there };
    locked.write(&leaving)?;
    let not_restored = leaving.before.put_back();
    if not_restored.is_empty() {
        Ok(previous)
    } else {
        Err(ProfileError::NotRestored(not_restored))
    }
}

/// Applies a profile to a machine that has none. After an error the journal is still there, as what it
/// names may be; all else was put back.
fn apply_alone(
    locked: &Locked,
    source: &Source,
    plan: &InPlace,
    options: &Options,
    previous: Option<Source>,
) -> Result<Journal, Box<Refused>> {
    let before = plan.inspect().map_err(Refused::of)?;
    let journal = Journal { previous, ..Journal::begin(source.clone(), before) };
    locked.write(&journal).map_err(Refused::of)?;
    let work = || {
        plan.apply()?;
        let applied = Journal {
            state: State::Applied,
            at_boot: options.at_boot,
            confirm_by_ms: options.confirm.map(|limit| now_ms().saturating_add(millis(limit))),
            ..journal.clone()
        };
        locked.write(&applied)?;
        // Last: who finds the journal above knows that nothing has to be put back.
        if options.at_boot && options.confirm.is_none() {
            at_boot::install(source, plan)?;
        }
        Ok::<_, ProfileError>(applied)
    };
    work().map_err(|error| {
        // It may say that all is applied. If it cannot be written, what follows is still put back.
        let _ = locked.write(&journal);
        let not_restored = journal.before.put_back();
        Box::new(Refused { not_restored, ..*Refused::of(error) })
    })
}

/// Gives the machine the profile that it had before.
fn apply_again(locked: &Locked, source: &Source) -> Result<(), ProfileError> {
    let plan = source.plan().map_err(Refused::of);
    // A guard that finds this journal tries once more.
    let again = Some(source.clone());
    let applied =
        plan.and_then(|plan| apply_alone(locked, source, &plan, &Options::default(), again));
    applied.map(drop).map_err(|refused| end(locked, refused))
}

/// No profile is applied now: the journal goes, unless something is left to put back.
fn end(locked: &Locked, mut refused: Box<Refused>) -> ProfileError {
    if refused.not_restored.is_empty() {
        refused.not_restored.extend(locked.clear(None).err().map(|error| error.to_string()));
    }
    refused.into()
}

/// Puts back what there was before the profile. Returns the profile's file; `None` if none was applied.
///
/// # Errors
/// [`ProfileError::NotRestored`] with what could not be put back; it can be tried again.
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
        return Err(ProfileError::NotRestored(left));
    }
    locked.clear(note)?;
    Ok(Some(journal.profile.file))
}

/// What a revert has put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reverted {
    /// The profile's file; `None` if none was applied.
    pub file: Option<String>,
    /// What the machine had before and has not any more, so that nothing of it was put back.
    pub missing: Vec<String>,
}

/// Puts back what there was before any profile, and has none applied at the machine's start.
///
/// # Errors
/// See [`ProfileError`]; it can be tried again.
pub fn revert(store: &Store) -> Result<Reverted, ProfileError> {
    let locked = store.lock()?;
    let removed = at_boot::remove()?;
    let missing = locked.journal()?.map(|journal| journal.before.missing()).unwrap_or_default();
    let file = put_back(&locked, None)?;
    Ok(Reverted { file: file.or(removed), missing })
}

/// Keeps what was applied for good.
///
/// # Errors
/// If nothing waits for that, or it cannot be applied at each start as was requested: it waits on then.
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
) -> Result<String, ProfileError> {
    let file = &journal.profile.file;
    let mut note = format!("{file} {reason}, and everything was put back");
    put_back(locked, Some(&note))?;
    if let Some(previous) = &journal.previous {
        match apply_again(locked, previous) {
            Ok(()) => note = format!("{file} {reason}, and {} is applied again", previous.file),
            Err(error) => {
                note = format!("{note}; {} is not applied any more: {error}", previous.file);
            }
        }
    }
    Ok(note)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::process::Command;

    use teiji_sys::netns;

    use super::*;

    /// Runs `test` where `c0` and `c1` are the only NICs, a veth pair, with a journal of its own.
    fn on_a_machine(test: impl FnOnce(&Locked) + Send) {
        let namespace = match netns::create() {
            Ok(namespace) => namespace,
            Err(error) => return println!("SKIP: {error}"),
        };
        let folder = tempfile::tempdir().unwrap();
        let inside = || {
            let mut ip = Command::new("ip");
            ip.args(["link", "add", "c0", "type", "veth", "peer", "name", "c1"]);
            assert!(ip.status().unwrap().success());
            test(&Store::at(folder.path()).lock().unwrap());
        };
        netns::in_namespace(namespace.as_fd(), inside).unwrap();
    }

    fn source(file: &str, text: &str) -> Source {
        Source { file: file.to_owned(), text: text.to_owned() }
    }

    fn old() -> Source {
        source("old.toml", "[ports.c0]\ngso-max-size = 4000\n")
    }

    fn apply_to(locked: &Locked, source: &Source) -> Result<Journal, String> {
        let there = locked.journal().unwrap();
        let plan = source.plan().unwrap();
        let applied = replace(locked, there, source, &plan, &Options::default());
        applied.map_err(|error| error.to_string())
    }

    /// What a veth pair has first is what the kernel gives it.
    fn gso(is: u32) -> bool {
        let shown = Command::new("ip").args(["-d", "link", "show", "c0"]).output().unwrap();
        String::from_utf8(shown.stdout).unwrap().contains(&format!("gso_max_size {is} "))
    }

    #[test]
    fn a_profile_that_fails_leaves_the_one_before() {
        on_a_machine(|locked| {
            apply_to(locked, &old()).unwrap();
            assert!(gso(4000));
            for (text, why) in [
                // Its second step fails; it has a NIC that is not there.
                ("[ports.c0]\ngso-max-size = 5000\n[ports.c1]\neee = false\n", "c1"),
                ("[ports.c0]\ngso-max-size = 5000\n[ports.c9]\neee = false\n", "c9"),
            ] {
                let error = apply_to(locked, &source("new.toml", text)).unwrap_err();
                assert!(error.contains(why), "{error}");
                assert!(error.ends_with(". old.toml is applied again"), "{error}");
                let journal = locked.journal().unwrap().unwrap();
                assert_eq!((journal.state, journal.profile), (State::Applied, old()));
                assert!(gso(4000));
            }
            put_back(locked, None).unwrap();
            assert!(gso(65_536));
        });
    }

    #[test]
    fn a_profile_that_cannot_come_back_either_is_named_with_the_reason() {
        on_a_machine(|locked| {
            apply_to(locked, &old()).unwrap();
            assert!(Command::new("ip").args(["link", "del", "c0"]).status().unwrap().success());
            let new = source("new.toml", "[ports.c9]\neee = false\n");
            let error = apply_to(locked, &new).unwrap_err();
            assert!(error.contains("could not be applied again, so none is: "), "{error}");
            assert!(error.contains("`c0`") && error.contains("`c9`"), "{error}");
            assert_eq!(locked.journal().unwrap(), None);
        });
    }

    /// The instants at which a program that is killed leaves something, as its guard finds them.
    #[test]
    fn a_program_that_is_killed_leaves_the_profile_before_or_the_new_one() {
        on_a_machine(|locked| {
            apply_to(locked, &old()).unwrap();
            let orphaned = || {
                let journal = locked.journal().unwrap().unwrap();
                assert_eq!(journal.state, State::Applying);
                let note = give_up(locked, &journal, "was applied in part only").unwrap();
                assert!(note.ends_with("and old.toml is applied again"), "{note}");
                assert!(gso(4000));
            };
            // The old one is put back.
            let previous = clear_away(locked, locked.journal().unwrap().unwrap()).unwrap();
            assert!(gso(65_536));
            orphaned();
            // The new one has begun.
            put_back(locked, None).unwrap();
            let new = source("new.toml", "[ports.c0]\ngso-max-size = 5000\n");
            let applied =
                apply_alone(locked, &new, &new.plan().unwrap(), &Options::default(), previous);
            locked.write(&Journal { state: State::Applying, ..applied.unwrap() }).unwrap();
            assert!(gso(5000));
            orphaned();
        });
    }
}
