//! A plan as plain commands: what a person would type into a root shell.
//!
//! The printed form uses named network namespaces; the applied form uses
//! anonymous ones, which the kernel clears away when the program ends.

use std::fmt::Write as _;
use std::time::Duration;

use teiji_core::shell::quote;

use crate::free_pages;
use crate::host::CARRIER_WAIT;
use crate::interrupts;
use crate::plan::{Action, Attachment, BRIDGE, Plan, PlannedPort, Step};
use crate::system::SystemSetting;

impl Plan {
    /// The equivalent commands in the order they must run, grouped by the host
    /// they concern. A host comes several times where order demands it.
    pub fn commands(&self) -> Vec<(String, Vec<String>)> {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for step in &self.steps {
            let command = self.command(step);
            match groups.last_mut() {
                Some((host, commands)) if *host == step.host => commands.push(command),
                _ => groups.push((step.host.clone(), vec![command])),
            }
        }
        groups
    }

    /// The commands that take everything back, in the shell that ran those of
    /// [`Self::setup_script`]. NICs come back down and bare; only an applied plan knows what
    /// they had.
    pub fn undo_commands(&self) -> Vec<String> {
        let nics = self.ports.iter().filter(|p| p.attachment == Attachment::Interface);
        // The namespace of the shell, which need not be the first process's.
        let back = nics.map(|p| {
            format!("ip -n {} link set dev {} netns $$", quote(&p.host), quote(&p.ifname))
        });
        back.chain(self.hosts.iter().map(|host| format!("ip netns del {}", quote(host))))
            .chain(self.system_settings().map(SystemSetting::restore))
            .collect()
    }

    /// What the plan changes, as a shell script that ends with everything in place.
    pub fn setup_script(&self) -> String {
        let mut text = String::new();
        if self.system_settings().next().is_some() {
            text.push_str("# what the kernel has now\n");
            for setting in self.system_settings() {
                let _ = writeln!(text, "{}", setting.remember());
            }
            text.push('\n');
        }
        for (host, commands) in self.commands() {
            let _ = writeln!(text, "# {host}");
            for command in commands {
                let _ = writeln!(text, "{command}");
            }
            text.push('\n');
        }
        text
    }

    /// The whole plan as a shell script, with the way back as comments.
    pub fn script(&self) -> String {
        let mut text = self.setup_script();
        text.push_str("# to undo\n");
        for command in self.undo_commands() {
            let _ = writeln!(text, "# {command}");
        }
        text
    }

    /// True if the plan moves interfaces that exist.
    pub fn has_nics(&self) -> bool {
        self.ports.iter().any(|port| port.attachment == Attachment::Interface)
    }

    fn system_settings(&self) -> impl Iterator<Item = &SystemSetting> {
        self.steps.iter().filter_map(|step| match &step.action {
            Action::System { setting } => Some(setting),
            _ => None,
        })
    }

    /// The command that does what `step` does.
    pub(crate) fn command(&self, step: &Step) -> String {
        let host = quote(&step.host);
        let dev = |port: usize| quote(&self.ports[port].ifname);
        match &step.action {
            Action::Namespace => format!("ip netns add {host}"),
            Action::Sysctl { path, value } => {
                format!("ip netns exec {host} sysctl -qw {}={value}", path.replace('/', "."))
            }
            Action::LoopbackUp => format!("ip -n {host} link set dev lo up"),
            Action::Pair { near, far } => {
                let (near, far) = (&self.ports[*near], &self.ports[*far]);
                let kind = if near.attachment == Attachment::Vtsn { "vtsn" } else { "veth" };
                format!(
                    "ip -n {host} link add {} type {kind} peer {} netns {}",
                    pair_end(near),
                    pair_end(far),
                    quote(&far.host)
                )
            }
            Action::Move { port } => format!("ip link set dev {} netns {host}", dev(*port)),
            Action::Channels { port, queues } => {
                let vtsn = self.ports[*port].attachment == Attachment::Vtsn;
                let which = if vtsn { "tx" } else { "combined" };
                format!("ip netns exec {host} ethtool -L {} {which} {queues}", dev(*port))
            }
            Action::Setting { port, setting } => {
                let command = setting.to_string().replace("DEV", &dev(*port));
                format!("ip netns exec {host} {command}")
            }
            Action::System { setting } => setting.to_string(),
            Action::ShortFreeLists => free_pages::COMMAND.to_owned(),
            Action::Processing { port, setting } => {
                let vtsn = self.ports[*port].attachment == Attachment::Vtsn;
                let command = setting.to_string().replace("IRQS", interrupts::command(vtsn));
                command
                    .replace("IN ", &format!("ip netns exec {host} "))
                    .replace("DEV", &dev(*port))
            }
            Action::Bridge => {
                format!("ip -n {host} link add name {BRIDGE} up type bridge mcast_snooping 0")
            }
            Action::Enslave { port } => {
                format!("ip -n {host} link set dev {} master {BRIDGE}", dev(*port))
            }
            Action::Forward { port, to } => format!(
                "bridge -n {host} fdb replace {} dev {} master static",
                lladdr(&self.ports[*to]),
                dev(*port)
            ),
            Action::Address { port, ip, prefix } => {
                let nodad = if ip.is_ipv6() { " nodad" } else { "" };
                format!("ip -n {host} addr add {ip}/{prefix} dev {}{nodad}", dev(*port))
            }
            Action::Qdisc { port, qdisc } => {
                format!("tc -n {host} qdisc replace dev {} {qdisc}", dev(*port))
            }
            Action::Up { port } => format!("ip -n {host} link set dev {} up", dev(*port)),
            Action::Carrier { port } => {
                let bridged = self.ports[*port].bridged;
                let (details, ready) =
                    if bridged { ("-d ", "'state forwarding'") } else { ("", "LOWER_UP") };
                let look = format!("ip {details}-n {host} link show dev {}", dev(*port));
                wait_until(&format!("{look} | grep -q {ready}"), CARRIER_WAIT)
            }
            Action::Neighbour { port, peer, ip } => format!(
                "ip -n {host} neigh replace {ip} lladdr {} dev {} nud permanent",
                lladdr(&self.ports[*peer]),
                dev(*port)
            ),
        }
    }
}

/// A command of a shell that tries `condition` ten times per second until it is true, and goes on
/// after `limit`. In the shell it is pasted into: `timeout` would need one of its own, in which
/// other programs may be found.
pub fn wait_until(condition: &str, limit: Duration) -> String {
    let tries = limit.as_millis() / 100;
    format!("left={tries}; until {condition} || [ $((left -= 1)) -le 0 ]; do sleep 0.1; done")
}

fn pair_end(port: &PlannedPort) -> String {
    let mac = port.mac.map(|mac| format!(" address {mac}")).unwrap_or_default();
    let name = quote(&port.ifname);
    match port.attachment {
        Attachment::Veth => {
            let queues = port.queues.unwrap_or(1);
            format!("name {name}{mac} numtxqueues {queues} numrxqueues 1")
        }
        Attachment::Vtsn | Attachment::Interface | Attachment::Elsewhere => {
            format!("name {name}{mac}")
        }
    }
}

/// A NIC's own address is not known before it is looked at.
fn lladdr(peer: &PlannedPort) -> String {
    match peer.mac {
        Some(mac) => mac.to_string(),
        None if peer.attachment == Attachment::Elsewhere => {
            format!("MAC-of-{}.{}", quote(&peer.host), quote(&peer.wire))
        }
        None => format!(
            "$(ip netns exec {} cat /sys/class/net/{}/address)",
            quote(&peer.host),
            quote(&peer.ifname)
        ),
    }
}
