//! `teiji flow enable --profile` and `teiji flow profile`: what all ports of a machine have, from a
//! file and to one (docs/flow-profiles.md).

use std::path::Path;

use teiji_experiment::{FlowProfile, ProfilePort};
use teiji_net::flow::{FlowPort, FlowStatus};
use teiji_net::flow_profile::enable_all;
use teiji_run::experiment_file::toml_text;

use super::text;
use crate::exit::Exit;
use crate::output;
use crate::terminal;

/// Sets what the file says, on all of its ports or on none.
pub fn enable(file: &Path) -> anyhow::Result<Exit> {
    let text = toml_text(file, "a profile")?;
    let profile = match FlowProfile::parse(&text, &file.display().to_string()) {
        Ok(profile) => profile,
        Err(mistakes) => {
            output::aside(mistakes.to_string().trim_end());
            return Ok(Exit::Usage);
        }
    };
    for (command, status) in enable_all(&profile)? {
        output::line(command)?;
        output::text(text::settings(&status, &terminal::glyphs()))?;
    }
    Ok(Exit::Success)
}

/// Prints what the ports have as a profile.
pub fn print(found: &[FlowStatus]) -> anyhow::Result<Exit> {
    let ports = found.iter().map(|status| ProfilePort {
        interface: status.interface.clone(),
        settings: status.settings,
    });
    let profile = FlowProfile { ports: ports.collect() };
    if profile.ports.is_empty() {
        anyhow::bail!(
            "no interface here has flow control, so there is nothing to keep; `teiji flow enable` gives it some"
        );
    }
    output::text(format_args!(
        "# Flow control of this machine's ports; `teiji flow enable --profile FILE` sets it again.\n\n{profile}"
    ))?;
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
