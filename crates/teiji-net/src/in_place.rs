//! What a profile changes of this machine, in place: its NICs stay where they are, with their addresses and
//! routes.
//!
//! ```text
//!   Profile ── compile ─→ InPlace ── inspect ─→ MachineBefore ── put_back ─→ as it was
//!                            ├ commands()
//!                            ├ apply
//!                            └ differences
//! ```

mod before;
mod error;
mod services;

use teiji_core::errno::ENODEV;
use teiji_experiment::scenario::Qdisc;
use teiji_experiment::{PortProfile, Profile, PtpServices};
use teiji_sys::ethtool;
use teiji_sys::sysfs::Sysfs;

use crate::cause::Cause;
use crate::explain::{Failed, explain};
use crate::interrupts;
use crate::netlink::link::{self, Link};
use crate::netlink::{KernelError, Netlink, qdisc};
use crate::observe::{differences, observe_port};
use crate::plan::inspect;
use crate::plan::{Action, Attachment, PlannedPort};
use crate::processing::{self, ProcessingSetting};
use crate::qdisc::{self as qdiscs, Handle, PlannedQdisc};
use crate::real_nic;
use crate::ssh::SshConnection;
use crate::system;
use crate::threads::{self, KernelThread};
use crate::usage;
use crate::vtsn;
use teiji_core::shell::quote;

pub use before::MachineBefore;
pub use error::InPlaceError;
pub use services::ServiceError;

/// What a profile changes, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPlace {
    ports: Vec<PlannedPort>,
    actions: Vec<Action>,
    /// Last: clocks are those of NICs that are set up.
    ptp: Option<PtpServices>,
}

impl InPlace {
    /// Works out what `profile` changes. Pure.
    ///
    /// # Errors
    /// [`InPlaceError::Queues`] and [`InPlaceError::Qdisc`].
    pub fn compile(profile: &Profile) -> Result<Self, InPlaceError> {
        let ports: Vec<PlannedPort> =
            profile.ports.iter().map(planned).collect::<Result<_, _>>()?;
        let mut actions: Vec<Action> = system::of_kernel(&profile.system, None)
            .into_iter()
            .map(|setting| Action::System { setting })
            .collect();
        if profile.system.pagelist_high_fraction.is_some() {
            actions.push(Action::ShortFreeLists);
        }
        for (port, planned) in ports.iter().enumerate() {
            actions.extend(planned.queues.map(|queues| Action::Channels { port, queues }));
            let settings = planned.settings.iter().cloned();
            actions.extend(settings.map(|setting| Action::Setting { port, setting }));
            // Interrupts have their threads, and some drivers their queues, only then.
            actions.push(Action::Up { port });
            let qdiscs = planned.qdiscs.iter().cloned();
            actions.extend(qdiscs.map(|qdisc| Action::Qdisc { port, qdisc }));
            let processing = planned.processing.iter().cloned();
            actions.extend(processing.map(|setting| Action::Processing { port, setting }));
        }
        Ok(Self { ports, actions, ptp: profile.ptp.clone() })
    }

    /// The interfaces that it changes.
    pub fn interfaces(&self) -> impl Iterator<Item = &str> {
        self.ports.iter().map(|port| port.ifname.as_str())
    }

    /// The equivalent commands of a root shell, in order.
    pub fn commands(&self) -> Vec<String> {
        let actions = self.actions.iter().map(|action| self.command(action));
        actions.chain(self.ptp.iter().flat_map(services::commands)).collect()
    }

    fn command(&self, action: &Action) -> String {
        let dev = |port: usize| quote(&self.ports[port].ifname);
        match action {
            Action::System { setting } => setting.to_string(),
            Action::ShortFreeLists => crate::free_pages::COMMAND.to_owned(),
            Action::Channels { port, queues } => {
                format!("ethtool -L {} combined {queues}", dev(*port))
            }
            Action::Setting { port, setting } => setting.to_string().replace("DEV", &dev(*port)),
            Action::Up { port } => format!("ip link set dev {} up", dev(*port)),
            Action::Qdisc { port, qdisc } => {
                format!("tc qdisc replace dev {} {qdisc}", dev(*port))
            }
            Action::Processing { port, setting } => setting
                .to_string()
                .replace("IRQS", interrupts::COMMAND)
                .replace("IN ", "")
                .replace("DEV", &dev(*port)),
            _ => unreachable!("in place nothing else is done"),
        }
    }

    /// The interface that carries the SSH connection this program was started from, if the profile
    /// changes it.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn carrying(&self, ssh: &SshConnection) -> Result<Option<&str>, InPlaceError> {
        let mut netlink = Netlink::open().map_err(InPlaceError::Look)?;
        let all = link::list(&mut netlink).map_err(InPlaceError::Look)?;
        for ifname in self.interfaces() {
            let Some(nic) = all.iter().find(|link| link.name == ifname) else { continue };
            let stacks = all.iter().map(|link| (link.index, [link.master, link.lower]));
            let links = stacked_on(nic.index, &stacks.collect::<Vec<_>>());
            if usage::carries(&mut netlink, &links, ssh).map_err(InPlaceError::Look)? {
                return Ok(Some(ifname));
            }
        }
        Ok(None)
    }

    /// Looks whether this machine has what the profile changes, and remembers that. Changes nothing.
    ///
    /// # Errors
    /// See [`InPlaceError`].
    pub fn inspect(&self) -> Result<MachineBefore, InPlaceError> {
        let kernel = inspect::system(self.actions.iter())?;
        let mut netlink = Netlink::open().map_err(InPlaceError::Look)?;
        let look = |port| before::look(&mut netlink, port);
        let ports = self.ports.iter().map(look).collect::<Result<_, _>>()?;
        let services = self.ptp.as_ref().map(services::inspect).transpose()?;
        Ok(MachineBefore::new(ports, kernel, services.unwrap_or_default()))
    }

    /// Changes the machine, step by step, and compares it with the profile. The caller has
    /// [`InPlace::inspect`]'s answer and puts that back after an error.
    ///
    /// # Errors
    /// [`InPlaceError::Step`] of the first step that the kernel refuses, [`InPlaceError::Ignored`] if it
    /// accepts all and has something else.
    pub fn apply(&self) -> Result<(), InPlaceError> {
        let mut netlink = Netlink::open().map_err(InPlaceError::Look)?;
        for action in &self.actions {
            self.execute(&mut netlink, action).map_err(|cause| self.step_error(action, &cause))?;
        }
        if let Some(ptp) = &self.ptp {
            services::start(ptp)?;
        }
        let differences = self.differences()?;
        if differences.is_empty() { Ok(()) } else { Err(InPlaceError::Ignored(differences)) }
    }

    fn execute(&self, netlink: &mut Netlink, action: &Action) -> Result<(), Cause> {
        if let Action::System { setting } = action {
            return setting.apply();
        }
        if *action == Action::ShortFreeLists {
            crate::free_pages::shorten();
            return Ok(());
        }
        let Some(port) = action.port().map(|port| &self.ports[port]) else { return Ok(()) };
        let Link { index, tx_queues, .. } = find(netlink, &port.ifname)?;
        match action {
            Action::Channels { queues, .. } => {
                real_nic::set_queues(&port.ifname, *queues, tx_queues).map_err(Cause::Text)
            }
            Action::Setting { setting, .. } => setting.apply(&port.ifname, index),
            Action::Up { .. } => Ok(link::set_up(netlink, index, true)?),
            // What waits in a prioflow that is there stays there.
            Action::Qdisc {
                qdisc:
                    PlannedQdisc { parent: Handle::ROOT, settings: Qdisc::Prioflow(settings), .. },
                ..
            } => before::give_prioflow(&port.ifname, settings).map_err(Cause::Text),
            Action::Qdisc { qdisc, .. } => Ok(qdisc::replace(netlink, index, qdisc)?),
            Action::Processing { setting, .. } => setting.apply(&port.ifname).map(drop),
            _ => unreachable!("in place nothing else is done"),
        }
    }

    fn step_error(&self, action: &Action, cause: &Cause) -> InPlaceError {
        let port = action.port().map(|port| self.ports[port].ifname.as_str());
        let driver = port.and_then(|ifname| ethtool::driver_info(ifname).ok());
        let command = self.command(action);
        let failed = Failed {
            action,
            command: &command,
            ifname: port,
            driver: driver.as_ref().map(|info| info.driver.as_str()),
        };
        InPlaceError::Step(explain(port.unwrap_or("the kernel"), failed, cause))
    }

    /// Where the machine differs from the profile, one sentence each. Empty if it is so.
    ///
    /// # Errors
    /// If the kernel does not answer, or does not show without rights what the profile sets.
    pub fn differences(&self) -> Result<Vec<String>, InPlaceError> {
        if self.ports.iter().any(|port| !port.processing.is_empty()) {
            Sysfs::open().map_err(|error| InPlaceError::Unseen(error.to_string()))?;
        }
        let all = threads::list();
        let mut netlink = Netlink::open().map_err(InPlaceError::Look)?;
        let mut found = Vec::new();
        let mut seen = Vec::new();
        for port in &self.ports {
            let link = link::find(&mut netlink, &port.ifname).map_err(InPlaceError::Look)?;
            // Up without a cable is up.
            match link {
                None => found.push(format!("{}: there is no such interface", port.ifname)),
                Some(link) if !link.up => found.push(format!("{}: it is down", port.ifname)),
                Some(_) => {
                    let is = observe_port(port, &pollers(&port.ifname, &all));
                    seen.push((port, is.map_err(InPlaceError::Look)?));
                }
            }
        }
        let system = inspect::observe_system(&self.actions.iter());
        let ports = seen.iter().map(|(port, is)| (*port, is));
        found.extend(differences::in_place(ports, &self.actions, &system));
        found.extend(self.ptp.iter().flat_map(services::differences));
        Ok(found)
    }
}

fn find(netlink: &mut Netlink, ifname: &str) -> Result<Link, KernelError> {
    link::find(netlink, ifname)?.ok_or(KernelError { errno: ENODEV, extack: None })
}

/// The threads that poll an interface.
fn pollers(ifname: &str, all: &[KernelThread]) -> Vec<KernelThread> {
    let prefix = processing::thread_prefix(ifname);
    all.iter().filter(|thread| thread.name.starts_with(&prefix)).cloned().collect()
}

fn planned(port: &PortProfile) -> Result<PlannedPort, InPlaceError> {
    let PortProfile { interface, nic, processing, qdisc } = port;
    let needs = qdisc.as_ref().map_or(1, qdiscs::queues_needed);
    let queues = match nic.queues {
        Some(has) if has < needs => {
            return Err(InPlaceError::Queues { interface: interface.clone(), has, needs });
        }
        Some(has) => Some(has),
        None => (needs > 1).then_some(needs),
    };
    let failed = |error| InPlaceError::Qdisc { interface: interface.clone(), error };
    Ok(PlannedPort {
        host: String::new(),
        wire: String::new(),
        ifname: interface.clone(),
        attachment: Attachment::Interface,
        mac: None,
        bridged: false,
        ipv4: None,
        ipv6: None,
        queues,
        qdiscs: qdisc.as_ref().map_or(Ok(Vec::new()), qdiscs::compile).map_err(failed)?,
        settings: vtsn::of_nic(nic),
        processing: processing::of(processing),
    })
}

/// True if a port's interrupts or threads are scheduled.
fn schedules(port: &PlannedPort) -> bool {
    port.processing.iter().any(ProcessingSetting::schedules)
}

/// An interface and all that rest on it, and so go with it: a bridge, a bond, a VLAN of that. `all`: of
/// each interface the index, its master's, and that of the one below it.
fn stacked_on(index: u32, all: &[(u32, [Option<u32>; 2])]) -> Vec<u32> {
    let mut found = vec![index];
    let mut looked_at = 0;
    while let Some(&at) = found.get(looked_at) {
        let master = all.iter().filter(|(of, _)| *of == at).filter_map(|(_, [master, _])| *master);
        let above = all.iter().filter(|(_, [_, lower])| *lower == Some(at)).map(|(of, _)| *of);
        for next in master.chain(above) {
            if !found.contains(&next) {
                found.push(next);
            }
        }
        looked_at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vlan_on_a_bridge_on_a_bond_goes_with_the_nic() {
        let (nic, bond, bridge, vlan) = (2, 5, 6, 7);
        let all = [
            (1, [None, None]),
            (nic, [Some(bond), None]),
            (3, [Some(bond), None]),
            (bond, [Some(bridge), None]),
            (bridge, [None, None]),
            (vlan, [None, Some(bridge)]),
            // The ends of a veth pair are each other's lower.
            (8, [Some(bridge), Some(9)]),
            (9, [None, Some(8)]),
        ];
        assert_eq!(stacked_on(nic, &all), [nic, bond, bridge, vlan]);
        assert_eq!(stacked_on(1, &all), [1]);
        assert_eq!(stacked_on(9, &all), [9, 8, bridge, vlan]);
    }

    fn compile(text: &str) -> Result<InPlace, InPlaceError> {
        InPlace::compile(&Profile::parse(text, "drive.toml").unwrap())
    }

    #[test]
    fn it_prints_as_the_commands_that_a_person_would_type() {
        let text = "[system]\nksoftirqd = { priority = 1 }\nnetdev-budget = 64\n[ports.enp3s0]\neee = false\n\
                    pause = false\nmoderation = { rx = \"0us\" }\nirq = { priority = 50, cpus = [1] }\n\
                    rps = [0]\n[ports.enp3s0.qdisc]\nkind = \"mqprio\"\nqueues = [\"1@0\", \"1@1\"]\n\
                    map = [1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n\
                    classes.0 = { kind = \"etf\", delta = \"150us\", offload = true }\n";
        let commands = compile(text).unwrap().commands();
        let expected = [
            "sysctl -qw net.core.netdev_budget=64",
            "for t in $(pgrep '^ksoftirqd/'); do chrt -f -p 1 $t; done",
            "ethtool -L enp3s0 combined 2",
            "ethtool -C enp3s0 rx-usecs 0",
            "ethtool -A enp3s0 autoneg off rx off tx off",
            "ethtool --set-eee enp3s0 eee off",
            "ip link set dev enp3s0 up",
        ];
        assert_eq!(commands[..expected.len()], expected);
        let rest = commands[expected.len()..].join("\n");
        for part in [
            "tc qdisc replace dev enp3s0 root handle 100: mqprio num_tc 2",
            "tc qdisc replace dev enp3s0 parent 100:1 etf",
            "sh -c 'for q in /sys/class/net/enp3s0/queues/rx-*",
            "/sys/class/net/enp3s0",
            "smp_affinity_list",
        ] {
            assert!(rest.contains(part), "no {part} in\n{rest}");
        }
        for left in ["DEV", "IRQS", "IN ", "netns"] {
            assert!(!rest.contains(left), "{left} in\n{rest}");
        }
    }

    #[test]
    fn fewer_queues_than_the_qdisc_takes_are_refused() {
        let text = "[ports.a]\nqueues = 1\n[ports.a.qdisc]\nkind = \"mqprio\"\nqueues = [\"1@0\", \"1@1\"]\n\
                    map = [1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
        let error = compile(text).unwrap_err().to_string();
        assert_eq!(
            error,
            "a: its qdisc needs 2 transmit queues, the profile gives it 1: set queues = 2"
        );
    }
}
