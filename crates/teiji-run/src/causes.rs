//! What delayed the frames of a case: the paths of its flows and round trips, and where they are kept.

use anyhow::Context;
use teiji_core::send_mode::SendMode;
use teiji_experiment::{Flow, Scenario};
use teiji_record::{RunFolder, json};
use teiji_why::document::{Causes, MemberFlow};
use teiji_why::path::{Finder, Path};
use teiji_why::summary::{FlowCauses, Shown, summarise};
use teiji_why::timeline::Kind;

/// A flow, or round trips.
pub struct Subject<'a> {
    /// As in the test header.
    pub id: u16,
    /// Its name.
    pub name: &'a str,
    /// Frames or requests of the case.
    pub planned: u64,
    /// It is one of round trips.
    pub round_trips: bool,
    /// When a frame's time begins is known.
    has_begin: bool,
}

/// A flow's sender waits for a timer before each frame: that is when the frame's time begins.
pub fn waits_for_timer(flow: &Flow) -> bool {
    flow.mode != SendMode::BackToBack
}

/// The flows and round trips of a scenario.
pub fn subjects(scenario: &Scenario) -> impl Iterator<Item = Subject<'_>> {
    let flows = (0_u16..).zip(&scenario.flows).map(|(id, flow)| Subject {
        id,
        name: &flow.name,
        planned: flow.frames,
        round_trips: false,
        has_begin: waits_for_timer(flow),
    });
    let rounds = scenario.numbered_round_trips().map(|(id, rounds)| Subject {
        id,
        name: &rounds.name,
        planned: rounds.count,
        round_trips: true,
        has_begin: true,
    });
    flows.chain(rounds)
}

/// Number and path of frames; `None` if it is not known.
pub type Paths = Vec<(u64, Option<Path>)>;

impl Subject<'_> {
    /// Number and path of all that the recording has seen, in order.
    pub fn paths(&self, finder: &Finder<'_>) -> Paths {
        let frames = &finder.timeline.frames;
        let kind = if self.round_trips { Kind::Request } else { Kind::Flow };
        let own = frames.iter().filter(|((of, id, _), _)| (*of, *id) == (kind, self.id));
        let mut paths: Paths = own
            .map(|((_, id, seq), hops)| {
                let path = if self.round_trips {
                    let reply = frames.get(&(Kind::Reply, *id, *seq));
                    reply.and_then(|reply| finder.round(hops, reply))
                } else {
                    // A sender without a timer was woken long ago: all that it did since would be divided.
                    self.has_begin.then(|| finder.path(hops)).flatten()
                };
                (*seq, path)
            })
            .collect();
        paths.sort_by_key(|(seq, _)| *seq);
        paths
    }
}

/// Sums up paths, with what the processors did during those that are shown.
pub fn sum_up(finder: &Finder<'_>, paths: &Paths, shown: Shown) -> FlowCauses {
    let mut causes = summarise(paths, shown);
    causes.unseen.clone_from(&finder.timeline.unseen);
    for frame in &mut causes.shown {
        let path = paths.binary_search_by_key(&frame.seq, |(seq, _)| *seq).ok();
        let path = path.and_then(|at| paths[at].1.as_ref());
        frame.activity = path.map(|path| finder.activity(path)).unwrap_or_default();
    }
    causes
}

/// What was found about a run so far.
///
/// # Errors
/// If `causes.json` cannot be read.
pub fn of(folder: &RunFolder) -> anyhow::Result<Causes> {
    let path = folder.causes_path();
    if !path.exists() {
        return Ok(Causes::default());
    }
    json::read(&path, Causes::SCHEMA).context("remove the file, and run `teiji why` again")
}

/// Keeps what was found in the run folder.
///
/// # Errors
/// If `causes.json` cannot be read or written.
pub fn keep(folder: &RunFolder, found: &[MemberFlow]) -> anyhow::Result<()> {
    let mut causes = of(folder)?;
    for flow in found {
        causes.put(flow.clone());
    }
    Ok(json::write(&folder.causes_path(), &causes)?)
}
