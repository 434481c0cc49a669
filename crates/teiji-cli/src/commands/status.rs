//! `teiji status`: the profile that is applied to this machine, and whether the machine is still as it says.

use std::process::Stdio;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use teiji_profile::{Journal, State, Store, at_boot, machine};

use super::remote::On;
use crate::exit::Exit;
use crate::output;

/// Show the profile that is applied to this machine, and what has changed since.
///
/// Exits with 4 if the machine differs from the profile, or applying it was interrupted.
#[derive(clap::Args)]
pub struct Args {
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: On,
}

#[derive(Serialize)]
struct Document {
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Found>,
    /// What was put back last without a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// A profile is applied at each start.
    at_boot: bool,
}

/// How far applying it is.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Progress {
    /// Somebody is at it.
    Applying,
    /// It was interrupted, and nobody is putting it back.
    Interrupted,
    /// It is done.
    Applied,
}

#[derive(Serialize)]
struct Found {
    file: String,
    state: Progress,
    /// RFC 3339.
    applied_at: String,
    /// Time left to confirm it.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm_within_s: Option<u64>,
    /// Nobody will put it back if it is not confirmed.
    unguarded: bool,
    /// Where the machine differs from the profile.
    differences: Vec<String>,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let words = ["status", "--json"];
    let words = if args.json { &words[..] } else { &words[..1] };
    if let Some(exit) = args.remote.run(words, Stdio::null())? {
        return Ok(exit);
    }
    let store = Store::of_machine();
    let journal = store.journal()?;
    let profile = journal.map(|journal| found(&store, journal)).transpose()?;
    let is_good = |found: &Found| found.state == Progress::Applied && found.differences.is_empty();
    let good = profile.as_ref().is_none_or(is_good);
    let document = Document {
        version: 1,
        note: store.note().filter(|_| profile.is_none()),
        profile,
        at_boot: at_boot::is_installed(),
    };
    if args.json {
        output::json(&document)?;
    } else {
        print(&document)?;
    }
    Ok(if good { Exit::Success } else { Exit::Unfulfilled })
}

fn found(store: &Store, journal: Journal) -> anyhow::Result<Found> {
    let Journal { profile, .. } = &journal;
    let differences = profile.plan()?.differences()?;
    let guarded = store.is_guarded();
    let left = |until: u64| until.saturating_sub(machine::now_ms()).div_ceil(1_000);
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(journal.at_s);
    Ok(Found {
        state: match journal.state {
            State::Applied => Progress::Applied,
            State::Applying if guarded => Progress::Applying,
            State::Applying => Progress::Interrupted,
        },
        applied_at: humantime::format_rfc3339_seconds(at).to_string(),
        confirm_within_s: journal.confirm_by_ms.map(left),
        unguarded: journal.confirm_by_ms.is_some() && !guarded,
        differences,
        file: journal.profile.file,
    })
}

fn print(document: &Document) -> anyhow::Result<()> {
    match &document.profile {
        None => {
            output::line("no profile is applied here")?;
            if let Some(note) = &document.note {
                output::line(note)?;
            }
        }
        Some(found) if found.state == Progress::Applying => {
            output::line(format_args!("{} is being applied", found.file))?;
        }
        Some(found) if found.state == Progress::Interrupted => output::line(format_args!(
            "applying {} was interrupted, and some of its settings are in place: `teiji revert` puts everything back",
            found.file
        ))?,
        Some(found) => {
            output::line(format_args!("{}, applied at {}", found.file, found.applied_at))?;
            if let Some(seconds) = found.confirm_within_s {
                output::line(if found.unguarded {
                    "it waits for confirmation, but the process that would put it back has ended: `teiji apply --confirmed` or \
                     `teiji revert`".to_owned()
                } else {
                    format!(
                        "everything is put back in {seconds} s unless you confirm: teiji apply --confirmed"
                    )
                })?;
            }
            for difference in &found.differences {
                output::line(format_args!("! {difference}"))?;
            }
            if !found.differences.is_empty() {
                output::line(format_args!("`teiji apply {}` sets them again", found.file))?;
            }
        }
    }
    if document.at_boot {
        output::line(format_args!("{} applies {} at each start", at_boot::UNIT, at_boot::PROFILE))?;
    }
    Ok(())
}
