//! Whether anything on an interface keeps launch times (`SO_TXTIME`).

use crate::netlink::{Netlink, link, qdisc};
use crate::qdisc::Settings;

/// Whether a qdisc of the interface looks at launch times: an `etf` or a `taprio`, at whatever
/// place. Every other sends a frame at once that has one. `None` if the kernel does not say.
/// Works in the calling thread's namespace.
pub fn is_kept(ifname: &str) -> Option<bool> {
    let mut netlink = Netlink::open().ok()?;
    let index = link::find(&mut netlink, ifname).ok()??.index;
    let all = qdisc::list(&mut netlink, index).ok()?;
    let keeps =
        |settings: &Settings| matches!(settings, Settings::Etf(_) | Settings::Taprio { .. });
    Some(all.iter().any(|qdisc| keeps(&qdisc.settings)))
}
