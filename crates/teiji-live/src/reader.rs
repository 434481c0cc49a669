//! Looks at a machine again and again.

use teiji_core::time::Monotonic;
use teiji_net::flow::FlowPort;
use teiji_net::nic::{self, NicError};
use teiji_net::traffic::Traffic;
use teiji_sys::clock;

use crate::drops::DropReasons;
use crate::ptp::PtpWatch;
use crate::sample::{FlowControl, Interface, Sample};
use crate::watch::{Watch, Watched};

/// Looks at interfaces of the calling thread's network namespace, and at the machine they are of.
#[derive(Debug)]
pub struct Reader {
    interfaces: Vec<(String, Option<Watch>)>,
    watched: Watched,
    ptp: Option<PtpWatch>,
    drops: Option<DropReasons>,
    notes: Vec<String>,
}

impl Reader {
    /// Begins. What cannot be seen for want of rights is noted in each [`Sample`].
    ///
    /// # Errors
    /// [`NicError`] for an interface that is not there.
    pub fn open(interfaces: &[String], watched: Watched) -> Result<Self, NicError> {
        let mut notes = Vec::new();
        let mut list = Vec::new();
        for name in interfaces {
            Traffic::of(name)?;
            let watch = match watched {
                Watched::None => None,
                _ => Watch::start(name, watched)
                    .map_err(|error| notes.push(format!("no flows of {name}: {error}")))
                    .ok(),
            };
            list.push((name.clone(), watch));
        }
        let drops = DropReasons::start()
            .map_err(|error| notes.push(format!("no reasons of drops: {error}")))
            .ok();
        let ptp = PtpWatch::start()
            .map_err(|error| {
                notes.push(format!("no state of ptp4l: cannot start a thread: {error}"));
            })
            .ok();
        Ok(Self { interfaces: list, watched, ptp, drops, notes })
    }

    /// What is to be seen now.
    pub fn read(&mut self) -> Sample {
        let watched = self.watched;
        let look = |(name, watch): &mut (String, Option<Watch>)| look(name, watch, watched);
        Sample {
            at: clock::now::<Monotonic>(),
            interfaces: self.interfaces.iter_mut().map(look).collect(),
            ptp4l: self.ptp.as_ref().and_then(PtpWatch::state),
            drops: self.drops.as_ref().and_then(|drops| drops.read().ok()),
            notes: self.notes.clone(),
        }
    }
}

fn look(name: &str, watch: &mut Option<Watch>, watched: Watched) -> Interface {
    let Ok(traffic) = Traffic::of(name) else {
        // A later interface of this name is another one.
        *watch = None;
        return Interface { name: name.to_owned(), ..Interface::default() };
    };
    if watched != Watched::None && !watch.as_ref().is_some_and(|watch| watch.is_of(name)) {
        *watch = Watch::start(name, watched).ok();
    }
    let (flows, unseen) = watch.as_ref().map(Watch::take).unwrap_or_default();
    let status = FlowPort::open(name).and_then(|mut port| port.status());
    Interface {
        name: name.to_owned(),
        traffic: Some(traffic),
        flow_control: status.ok().as_ref().map(FlowControl::of),
        phc: nic::phc_of(name),
        flows,
        unseen,
    }
}
