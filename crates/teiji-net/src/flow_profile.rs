//! Sets what a flow-control profile says: all of its ports, or none.

use teiji_experiment::FlowProfile;
use teiji_experiment::scenario::Prioflow;
use thiserror::Error;

use crate::flow::{FlowError, FlowPort, FlowStatus, NO_LIMIT, PrioflowChange};

/// Why a profile could not be set.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// All ports are as they were.
    #[error("{0}; all ports are as they were")]
    Nothing(FlowError),
    /// A port could not be set back.
    #[error("{error}; and {interface}, which had been set before, could not be set back: {left}")]
    Left {
        /// Why the profile could not be set.
        error: Box<FlowError>,
        /// The port.
        interface: String,
        /// Why it could not be set back.
        left: Box<FlowError>,
    },
}

/// Makes `prioflow` the root qdisc of all ports of the profile, with its settings and no others.
/// Returns for each the `tc` command that does the same, and what the kernel has now.
///
/// # Errors
///
/// Of the first port that cannot be set. Those before it are set back.
pub fn enable_all(profile: &FlowProfile) -> Result<Vec<(String, FlowStatus)>, ProfileError> {
    let opened = profile.ports.iter().map(|port| {
        let mut device = FlowPort::open(&port.interface)?;
        let before = match device.status() {
            Ok(status) => Some(status.settings),
            Err(FlowError::NotThere(_)) => None,
            Err(error) => return Err(error),
        };
        Ok((device, before, port.settings))
    });
    let mut ports: Vec<(FlowPort, Option<Prioflow>, Prioflow)> =
        opened.collect::<Result<_, _>>().map_err(ProfileError::Nothing)?;
    let mut done = Vec::new();
    for index in 0..ports.len() {
        let (port, _, settings) = &mut ports[index];
        let command = match port.enable(&all_of(settings)) {
            Ok(command) => command,
            Err(error) => return Err(set_back(&mut ports[..index], error)),
        };
        match port.status() {
            Ok(status) => done.push((command, status)),
            Err(error) => return Err(set_back(&mut ports[..=index], error)),
        }
    }
    Ok(done)
}

/// Gives these ports, of which the last was set last, what they had before.
fn set_back(
    ports: &mut [(FlowPort, Option<Prioflow>, Prioflow)],
    error: FlowError,
) -> ProfileError {
    for (port, before, _) in ports.iter_mut().rev() {
        let result = match before {
            Some(settings) => port.enable(&all_of(settings)).map(drop),
            None => port.disable(),
        };
        if let Err(left) = result {
            let interface = port.name().to_owned();
            return ProfileError::Left { error: error.into(), interface, left: left.into() };
        }
    }
    ProfileError::Nothing(error)
}

/// All settings, also those that have no limit.
fn all_of(settings: &Prioflow) -> PrioflowChange {
    let change = PrioflowChange::from(settings);
    PrioflowChange { bytes: change.bytes.or(Some(NO_LIMIT)), ..change }
}
