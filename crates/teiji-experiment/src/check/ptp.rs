//! Clock synchronisation: somebody leads, nobody is led twice, and the NICs have
//! clocks.

use super::Places;
use crate::draft::ScenarioDraft;
use crate::log::Log;
use crate::nic_source::NicSource;
use crate::scenario::{Nic, Ptp, PtpRole, PtpTimestamps};
use crate::tree::Origin;

pub(super) fn check(draft: &ScenarioDraft, places: &Places<'_>, nics: NicSource, log: &Log) {
    let roles: Vec<(&str, Ptp)> = draft
        .ptp
        .iter()
        .filter_map(|(host, ptp)| Some((host.as_str(), *ptp.as_value()?)))
        .collect();
    let at = |host: &str, key: &str| places.at(&["hosts", host, "ptp", key]);
    leaders(&roles, &at, log);
    if let Some([(first, _), (second, _)]) =
        roles.iter().filter(|(_, ptp)| ptp.system_clock).collect::<Vec<_>>().first_chunk()
    {
        log.mistake(
            at(second, "system-clock"),
            format!("the system's clock would follow the NICs of both `{first}` and `{second}`"),
            "The hosts share one system clock; write system-clock = true at one of them.",
        );
    }
    for (host, ptp) in &roles {
        if ptp.timestamps == PtpTimestamps::Software {
            software(host, *ptp, &at, nics, log);
        }
        if let Some((other, _)) =
            roles.iter().find(|(other, of)| of.timestamps != ptp.timestamps && host > other)
        {
            log.mistake(
                at(host, "timestamps"),
                format!("PTP's messages have hardware timestamps at one of `{other}` and `{host}` only"),
                "Hosts that synchronise need the same: write timestamps = \"software\" at all, or at none.",
            );
        }
        if let Some((other, _)) = roles.iter().find(|(_, other)| other.profile != ptp.profile) {
            if host > other {
                log.mistake(
                    at(host, "profile"),
                    format!("`{host}` and `{other}` have different PTP profiles"),
                    "Hosts that synchronise need the same one.",
                );
            }
        }
        let ports = draft.ports.iter().filter(|port| port.host == *host);
        if ptp.role == PtpRole::Boundary && ports.clone().count() == 1 {
            log.mistake(
                at(host, "role"),
                format!("`{host}` is a boundary clock with one port"),
                "A boundary clock stands between two wires; write role = \"slave\", or add a wire.",
            );
        }
        let nic = |wire: &str| draft.wire(wire).and_then(|wire| wire.nic);
        let clockless = ports.filter_map(|port| nic(&port.wire)).find(|nic| *nic != Nic::Vtsn);
        if let (Some(nic), NicSource::Emulated) = (clockless, nics) {
            log.mistake(
                at(host, ""),
                format!(
                    "`ptp` needs NICs with a clock, and the emulated {nic} of `{host}` has none"
                ),
                "Write nic = \"vtsn\" for its wires.",
            );
        }
    }
}

/// The system clock is one for all hosts of a machine, so it cannot follow itself.
fn software(host: &str, ptp: Ptp, at: &dyn Fn(&str, &str) -> Origin, nics: NicSource, log: &Log) {
    if nics == NicSource::Emulated {
        log.mistake(
            at(host, "timestamps"),
            format!(
                "software timestamps synchronise the system clock, and `{host}` shares it with all \
                 hosts of the laboratory"
            ),
            "Leave timestamps out; software timestamps are for hosts on different machines.",
        );
    } else if let Some((key, message, help)) = software_conflict(ptp, &format!("`{host}`")) {
        log.mistake(at(host, key), message, help);
    }
}

/// What of a host's PTP software timestamps exclude: the key, the mistake and what to do. `host` is its subject.
pub(crate) fn software_conflict(
    ptp: Ptp,
    host: &str,
) -> Option<(&'static str, String, &'static str)> {
    if ptp.system_clock {
        let message = "with software timestamps ptp4l itself synchronises the system clock";
        Some(("system-clock", message.to_owned(), "Leave system-clock out."))
    } else if ptp.role == PtpRole::Boundary {
        let message = format!("{host} is a boundary clock, which needs the clocks of its NICs");
        Some(("role", message, "Leave timestamps out."))
    } else {
        None
    }
}

fn leaders(roles: &[(&str, Ptp)], at: &dyn Fn(&str, &str) -> Origin, log: &Log) {
    let masters: Vec<&str> = roles
        .iter()
        .filter(|(_, ptp)| ptp.role == PtpRole::Grandmaster)
        .map(|(host, _)| *host)
        .collect();
    match (masters.as_slice(), roles) {
        ([], [(host, _), ..]) => log.mistake(
            at(host, "role"),
            "there is no grandmaster: nobody would lead",
            "Write ptp = { role = \"grandmaster\" } at the host whose clock is the time of all.",
        ),
        ([first, second, ..], _) => log.mistake(
            at(second, "role"),
            format!("`{first}` and `{second}` are both grandmaster"),
            "One clock is the time of all; the others are slaves.",
        ),
        _ => {}
    }
}
