//! What this machine lacks for a plan: rights, kinds of links and qdiscs, settings of its
//! kernel. Found out in a namespace of its own that is gone afterwards; what a plan changes
//! stays as it is.

use std::collections::BTreeSet;
use std::os::fd::AsFd;

use teiji_core::errno::ENOENT;
use teiji_core::wire::MacAddr;
use teiji_sys::sched::{self, Capability};

use crate::explain::{NO_VTSN, no_qdisc};
use crate::host::Host;
use crate::netlink::link::{self, PairEnd};
use crate::netlink::{KernelError, qdisc};
use crate::plan::{Attachment, Plan};
use crate::receive_trace;

/// Any link will do to request a qdisc; this one is always there.
const LOOPBACK: u32 = 1;

/// Rights that every plan needs, and what for.
const RIGHTS: [(Capability, &str); 2] = [
    (Capability::SysAdmin, "CAP_SYS_ADMIN (network namespaces)"),
    (Capability::NetAdmin, "CAP_NET_ADMIN (links, qdiscs, launch times)"),
];

impl Plan {
    /// What this machine lacks, a sentence each; empty if the plan can be applied as far as
    /// can be seen without a NIC. Only applying shows whether a NIC
    /// can do it in hardware.
    pub fn missing_here(&self) -> Vec<String> {
        let mut missing = Vec::new();
        for (right, name) in RIGHTS {
            if !sched::has(right) {
                missing.push(format!("{name} is missing: run it with sudo"));
            }
        }
        if missing.is_empty() {
            missing.extend(self.missing_kinds().unwrap_or_else(|error| vec![error]));
        } else {
            missing.push(format!(
                "without these rights it cannot be tried whether the kernel has {}",
                self.kinds().join(", ")
            ));
        }
        if let Err(refusal) = self.inspect_system() {
            missing.push(refusal.to_string());
        }
        if self.traced {
            missing.extend(receive_trace::check().err().map(|error| error.to_string()));
        }
        missing
    }

    /// The kinds of links that the plan makes.
    fn links(&self) -> Vec<&'static str> {
        let has = |attachment| self.ports.iter().any(|port| port.attachment == attachment);
        let bridge = self.ports.iter().any(|port| port.bridged);
        [(has(Attachment::Veth), "veth"), (has(Attachment::Vtsn), "vtsn"), (bridge, "bridge")]
            .into_iter()
            .filter_map(|(wanted, kind)| wanted.then_some(kind))
            .collect()
    }

    /// The kinds of qdiscs that the plan sets.
    fn qdiscs(&self) -> BTreeSet<&str> {
        let all = self.ports.iter().flat_map(|port| &port.qdiscs);
        all.map(|qdisc| qdisc.settings.kind()).collect()
    }

    fn kinds(&self) -> Vec<&str> {
        self.links().into_iter().chain(self.qdiscs()).collect()
    }

    fn missing_kinds(&self) -> Result<Vec<String>, String> {
        let mut host =
            Host::create().map_err(|cause| format!("cannot try what the kernel has: {cause}"))?;
        let mut missing = Vec::new();
        for kind in self.links() {
            let made = match kind {
                "bridge" => link::create_bridge(&mut host.netlink, "bridge"),
                _ => pair(&mut host, kind),
            };
            if let Err(error) = made {
                missing.push(match kind {
                    "vtsn" => NO_VTSN.to_owned(),
                    _ => format!(
                        "This kernel makes no {kind} ({error}): load it with `modprobe {kind}`."
                    ),
                });
            }
        }
        for kind in self.qdiscs() {
            match qdisc::try_kind(&mut host.netlink, LOOPBACK, kind) {
                Err(error) if error.errno == ENOENT => missing.push(no_qdisc(kind)),
                // Without settings it may well be refused, but it is known.
                _ => {}
            }
        }
        Ok(missing)
    }
}

/// Makes a pair of `kind`, both ends in the host's namespace.
fn pair(host: &mut Host, kind: &str) -> Result<(), KernelError> {
    let end = |name, last| PairEnd {
        name,
        mac: MacAddr([0x02, 0, 0, 0, 0, last]),
        tx_queues: None,
        namespace: host.namespace.as_fd(),
    };
    link::create_pair(&mut host.netlink, kind, end("near", 1), end("far", 2))
}
