//! `teiji flow profile`: what all ports of a machine have, as a profile (docs/profiles.md).

use teiji_experiment::profile::flow_control;
use teiji_net::flow::{FlowPort, FlowStatus};

use crate::exit::Exit;
use crate::output;

/// Prints what the ports have as a profile.
pub fn print(found: &[FlowStatus]) -> anyhow::Result<Exit> {
    if found.is_empty() {
        anyhow::bail!(
            "no interface here has flow control, so there is nothing to keep; `teiji flow enable` gives it some"
        );
    }
    output::line("# Flow control of this machine's ports; `teiji apply FILE` sets it again.")?;
    for status in found {
        output::text(format_args!("\n{}", flow_control(&status.interface, &status.settings)))?;
    }
    Ok(Exit::Success)
}

/// What these interfaces have, or all that have it.
pub fn statuses(interfaces: &[String]) -> anyhow::Result<Vec<FlowStatus>> {
    let ports = match interfaces {
        [] => FlowPort::all()?,
        some => some.iter().map(|name| FlowPort::open(name)).collect::<Result<_, _>>()?,
    };
    Ok(ports.into_iter().map(|mut port| port.status()).collect::<Result<_, _>>()?)
}
