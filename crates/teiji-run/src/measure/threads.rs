//! The threads of a case: both ends of its flows and round trips, as far as they are on this machine.

use std::thread::{Scope, ScopedJoinHandle};

use teiji::listener::ListenerConfig;
use teiji::roundtrip::ReflectedCounts;
use teiji::talker::Prepared;
use teiji::{Deadline, Listener, ListenerLog, RequesterLog, StopFlag, TalkerLog};
use teiji_core::time::Span;
use teiji_experiment::{Flow, Scenario};
use teiji_record::FlowPlan;

use super::flow_roles::{FlowRoles, InHost};
use super::role::{
    EndOf, Gate, Role, RoleHere, enter, is_consequence, join_all, spawn, thread_name,
};
use super::round_trip_roles::RoundTripRoles;

/// All threads. `None`: another machine's.
#[derive(Default)]
pub struct Threads<'scope> {
    talkers: Vec<RoleHere<'scope, TalkerLog>>,
    listeners: Vec<RoleHere<'scope, ListenerLog>>,
    requesters: Vec<RoleHere<'scope, RequesterLog>>,
    responders: Vec<RoleHere<'scope, ReflectedCounts>>,
    /// Of the listeners and responders whose other end is another machine's.
    ends: Vec<EndOf>,
}

impl<'scope> Threads<'scope> {
    /// Starts the threads of a flow.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn talk<'a, S: FnMut() + Send + 'static>(
        &mut self,
        talk: Talk<'a, S>,
        scope: &'scope Scope<'scope, 'a>,
        gates: [Gate<'a>; 2],
        stop: &'a StopFlag,
    ) -> anyhow::Result<()> {
        let (listener, talker) = talk.spawn(scope, gates, stop, &mut self.ends)?;
        self.listeners.push(listener);
        self.talkers.push(talker);
        Ok(())
    }

    /// Starts the threads of round trips.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start_requester<'a>(
        &mut self,
        id: u16,
        roles: &'a RoundTripRoles<'a>,
        scope: &'scope Scope<'scope, 'a>,
        [gate_of_responder, gate_of_requester]: [Gate<'a>; 2],
        stop: &'a StopFlag,
    ) -> anyhow::Result<()> {
        let deadline = Deadline::never();
        let respond = roles.respond(gate_of_responder, deadline.clone(), stop);
        let respond = respond.map(|respond| spawn(scope, thread_name("responder", id), respond));
        self.responders.push(respond.transpose()?);
        let end = EndOf { deadline, longer: Span::ZERO };
        let Some(request) = roles.requester(gate_of_requester, stop) else {
            self.ends.push(end);
            self.requesters.push(None);
            return Ok(());
        };
        let request = move || {
            // However the requester ends, and if it never begins, the responder must not wait for ever.
            let _end = end;
            request()
        };
        self.requesters.push(Some(spawn(scope, thread_name("requester", id), request)?));
        Ok(())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        let of_flows = here(&self.talkers).count() + here(&self.listeners).count();
        of_flows + here(&self.requesters).count() + here(&self.responders).count()
    }

    /// Whether all frames and requests have been sent.
    pub fn have_sent(&self) -> bool {
        here(&self.talkers).all(ScopedJoinHandle::is_finished)
            && here(&self.requesters).all(ScopedJoinHandle::is_finished)
    }

    /// Waits for talkers and requesters.
    pub fn join_senders(self, scenario: &Scenario) -> Sent<'scope> {
        let (flows, rounds) = names(scenario);
        Sent {
            talkers: join_here(self.talkers, &flows, "talker of flow", silent_talker),
            requesters: join_here(self.requesters, &rounds, "requester of", |_| {
                RequesterLog::default()
            }),
            listeners: self.listeners,
            responders: self.responders,
            ends: self.ends,
        }
    }
}

/// All senders have ended.
pub struct Sent<'scope> {
    talkers: anyhow::Result<Vec<TalkerLog>>,
    requesters: anyhow::Result<Vec<RequesterLog>>,
    listeners: Vec<RoleHere<'scope, ListenerLog>>,
    responders: Vec<RoleHere<'scope, ReflectedCounts>>,
    ends: Vec<EndOf>,
}

impl Sent<'_> {
    /// None of them failed.
    pub fn is_whole(&self) -> bool {
        self.talkers.is_ok() && self.requesters.is_ok()
    }

    /// Has the others end, and waits for them.
    pub fn join_listeners(self, scenario: &Scenario) -> Joined {
        drop(self.ends);
        let (flows, rounds) = names(scenario);
        Joined {
            talkers: self.talkers,
            requesters: self.requesters,
            listeners: join_here(self.listeners, &flows, "listener of flow", |_| {
                ListenerLog::default()
            }),
            responders: join_here(self.responders, &rounds, "responder of", |_| {
                ReflectedCounts::default()
            }),
        }
    }
}

/// The names of flows and round trips.
fn names(scenario: &Scenario) -> (Vec<&str>, Vec<&str>) {
    let flows = scenario.flows.iter().map(|flow| flow.name.as_str());
    (flows.collect(), scenario.round_trips.iter().map(|rounds| rounds.name.as_str()).collect())
}

fn here<'r, 'scope, T>(
    roles: &'r [RoleHere<'scope, T>],
) -> impl Iterator<Item = &'r Role<'scope, T>> {
    roles.iter().flatten()
}

/// The results of the roles of this machine; `elsewhere` stands for each of the others, by its place.
fn join_here<T>(
    roles: Vec<RoleHere<'_, T>>,
    names: &[&str],
    what: &str,
    elsewhere: impl Fn(u16) -> T,
) -> anyhow::Result<Vec<T>> {
    let here: Vec<bool> = roles.iter().map(Option::is_some).collect();
    let names: Vec<&str> =
        names.iter().zip(&here).filter(|(_, here)| **here).map(|(name, _)| *name).collect();
    let mut joined = join_all(roles.into_iter().flatten().collect(), &names, what)?.into_iter();
    let result = |(id, here): (u16, bool)| if here { joined.next() } else { Some(elsewhere(id)) };
    Ok((0..).zip(here).filter_map(result).collect())
}

/// Both ends of a flow, before they run.
pub struct Talk<'a, S> {
    pub id: u16,
    pub flow: &'a Flow,
    pub roles: &'a FlowRoles<'a>,
    /// How long the listener stays after the last departure.
    pub longer: Span,
    /// What the talker does when a frame is late.
    pub stopper: Option<(Span, S)>,
}

impl<'a, S: FnMut() + Send + 'static> Talk<'a, S> {
    /// The listener's thread, and the talker's, as far as they are on this machine. The end of a
    /// flow whose talker is not comes to `ends`.
    fn spawn<'scope>(
        self,
        scope: &'scope Scope<'scope, 'a>,
        [gate_of_listener, gate_of_talker]: [Gate<'a>; 2],
        stop: &'a StopFlag,
        ends: &mut Vec<EndOf>,
    ) -> anyhow::Result<(RoleHere<'scope, ListenerLog>, RoleHere<'scope, TalkerLog>)> {
        let Self { id, flow, roles, longer, stopper } = self;
        let deadline = Deadline::never();
        let until = deadline.clone();
        // However the talker ends, and if it never begins, the listener must not wait for ever.
        let end = EndOf { deadline, longer };
        let listen = |InHost { config, namespace }: &'a InHost<'a, ListenerConfig>| {
            let listen = move || {
                enter(*namespace)?;
                let listener = Listener::open(config)?.ready()?;
                gate_of_listener.pass();
                Ok(listener.run(&until, stop)?)
            };
            spawn(scope, thread_name("listener", id), listen)
        };
        let listener = roles.listener.as_ref().map(listen).transpose()?;
        let Some(InHost { config, namespace }) = &roles.talker else {
            ends.push(end);
            return Ok((listener, None));
        };
        let talk = move || {
            let _end = end;
            enter(*namespace)?;
            let mut talker = Prepared::new(config, flow.frames)?;
            if let Some((limit, stop)) = stopper {
                talker = talker.when_late(limit, stop);
            }
            let talker = talker.ready()?;
            let plan = FlowPlan::new(id, flow, gate_of_talker.wait()?);
            Ok(talker.run(&plan.schedule(), stop)?)
        };
        Ok((listener, Some(spawn(scope, thread_name("talker", id), talk)?)))
    }
}

/// A talker that is another machine's.
fn silent_talker(flow: u16) -> TalkerLog {
    TalkerLog { flow, frames: Vec::new(), interrupted: false, stamps_requested: false }
}

/// What the threads of all roles gave.
pub struct Joined {
    talkers: anyhow::Result<Vec<TalkerLog>>,
    requesters: anyhow::Result<Vec<RequesterLog>>,
    listeners: anyhow::Result<Vec<ListenerLog>>,
    responders: anyhow::Result<Vec<ReflectedCounts>>,
}

/// What talkers, listeners, and both ends of round trips recorded.
pub type RoleLogs = (Vec<TalkerLog>, Vec<ListenerLog>, Vec<(RequesterLog, ReflectedCounts)>);

impl Joined {
    /// All of it; of several failures the one that is a cause, not a consequence.
    pub fn all(self) -> anyhow::Result<RoleLogs> {
        let Self { talkers, requesters, listeners, responders } = self;
        match (talkers, requesters, listeners, responders) {
            (Ok(talkers), Ok(requesters), Ok(listeners), Ok(responders)) => {
                Ok((talkers, listeners, requesters.into_iter().zip(responders).collect()))
            }
            (talkers, requesters, listeners, responders) => {
                let mut errors: Vec<anyhow::Error> =
                    [talkers.err(), requesters.err(), listeners.err(), responders.err()]
                        .into_iter()
                        .flatten()
                        .collect();
                let cause = errors.iter().position(|error| !is_consequence(error)).unwrap_or(0);
                Err(errors.swap_remove(cause))
            }
        }
    }
}
