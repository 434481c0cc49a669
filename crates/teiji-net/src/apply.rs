//! Applying a plan: step by step, undone as a whole when a step fails.
//!
//! Every host gets an anonymous network namespace, held open by [`Applied`].
//! When the program dies, the kernel deletes the veth pairs and returns the
//! NICs; what it forgets about NICs is the [`keeper`](crate::keeper)'s.

mod interrupts;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use teiji_core::errno::ENODEV;
use teiji_core::wire::MacAddr;
use teiji_sys::{ethtool, netns};

use crate::before::KernelBefore;
use crate::cause::Cause;
use crate::error::{NetError, StepError};
use crate::explain::{Failed, explain};
use crate::free_pages;
use crate::host::Host;
use crate::keeper::{Keeper, KeeperProgram, UndoList};
use crate::netlink::address::Address;
use crate::netlink::link::{self, PairEnd};
use crate::netlink::{KernelError, Netlink, address, neighbour, qdisc};
use crate::plan::{Action, Attachment, BRIDGE, Plan, Step};
use crate::real_nic::{self, Before};
use crate::receive_trace;
use crate::ssh::SshConnection;
use crate::threads::KernelThread;

/// How long a NIC may take to come home; the kernel does it at once.
const HOME_WAIT: Duration = Duration::from_secs(5);

/// How to apply a plan.
#[derive(Clone, Default)]
pub struct ApplyOptions<'a> {
    /// Who gives NICs back if this program is killed.
    pub keeper: KeeperProgram,
    /// Set by a signal handler: stop and undo.
    pub interrupted: Option<&'a AtomicBool>,
    /// Take also NICs that are in use ([`crate::usage::Use`]).
    pub take: bool,
    /// The connection that this program was started from.
    pub ssh: Option<SshConnection>,
    /// How to learn the ports of hosts that are on other machines.
    pub exchange: Option<&'a dyn PortExchange>,
}

/// The exchange of ports between the machines of an experiment, each of which sets up its own hosts.
pub trait PortExchange: Sync {
    /// Sends `ports`, which are up, to the other machines. Returns the ports of all machines when all are
    /// up.
    ///
    /// # Errors
    /// One sentence, if another machine has failed.
    fn exchange(&self, ports: Vec<PortAddress>) -> Result<Vec<PortAddress>, String>;
}

/// What other machines must know of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortAddress {
    /// Its host.
    pub host: String,
    /// Its wire.
    pub wire: String,
    /// Its MAC address.
    pub mac: MacAddr,
}

/// A port that is in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// Its name in the host's namespace.
    pub ifname: String,
    /// Its index in the host's namespace.
    pub index: u32,
    /// Its MAC address.
    pub mac: MacAddr,
    /// Its IPv4 address, /24, if it is not a bridge's.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address, /64, if a flow uses IPv6.
    pub ipv6: Option<Ipv6Addr>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Attached {
    pub(crate) index: u32,
    pub(crate) mac: MacAddr,
}

/// An applied plan. [`Applied::undo`] takes it back and says what could not
/// be; dropping it takes it back, too, and says so on standard error.
#[derive(Debug)]
pub struct Applied {
    pub(crate) plan: Plan,
    pub(crate) hosts: BTreeMap<String, Host>,
    /// By index into the plan's ports.
    pub(crate) attached: BTreeMap<usize, Attached>,
    pub(crate) home: OwnedFd,
    /// The NICs by port, as they were.
    before: BTreeMap<usize, Before>,
    /// The machine's settings and threads, as they were.
    kernel: KernelBefore,
    /// The threads that poll a port, where the plan made them do so.
    pub(crate) pollers: BTreeMap<usize, Vec<KernelThread>>,
    keeper: Option<Keeper>,
}

impl Plan {
    /// Applies the plan, from the calling thread's network namespace.
    ///
    /// # Errors
    /// See [`NetError`]; nothing stays changed.
    pub fn apply(&self) -> Result<Applied, NetError> {
        self.apply_with(&ApplyOptions::default())
    }

    /// As [`Plan::apply`], with options.
    ///
    /// # Errors
    /// If the machine does not fit the plan, the kernel refuses a step, or it was interrupted. What
    /// had been applied is undone; the error has what could not be.
    pub fn apply_with(&self, options: &ApplyOptions<'_>) -> Result<Applied, NetError> {
        if self.traced {
            receive_trace::check()?;
        }
        let kernel = self.inspect_system()?;
        let before = self.inspect_nics(options)?;
        let list = UndoList::new(before.values().cloned().collect(), kernel.clone());
        let mut applied = Applied {
            plan: self.clone(),
            hosts: BTreeMap::new(),
            attached: BTreeMap::new(),
            home: netns::current()?,
            before,
            kernel,
            pollers: BTreeMap::new(),
            keeper: Keeper::start(&options.keeper, &list)?,
        };
        let mut exchange = options.exchange;
        for step in &self.steps {
            let interrupted = || options.interrupted.is_some_and(|i| i.load(Ordering::Relaxed));
            if interrupted() {
                return Err(NetError::Interrupted(applied.take_back()));
            }
            // From here on the wires' other ends are needed.
            let exchanged = match step.action {
                Action::Carrier { .. } => {
                    exchange.take().map_or(Ok(()), |exchange| applied.learn_ports(exchange))
                }
                _ => Ok(()),
            };
            if let Err(message) = exchanged {
                return Err(NetError::Elsewhere { message, not_restored: applied.take_back() });
            }
            if let Err(cause) = applied.execute(step, &interrupted) {
                let mut error = applied.step_error(step, &cause);
                error.not_restored = applied.take_back();
                return Err(if interrupted() {
                    NetError::Interrupted(error.not_restored)
                } else {
                    NetError::Step(Box::new(error))
                });
            }
        }
        Ok(applied)
    }

    fn inspect_nics(
        &self,
        options: &ApplyOptions<'_>,
    ) -> Result<BTreeMap<usize, Before>, NetError> {
        let nics: Vec<_> = self
            .ports
            .iter()
            .enumerate()
            .filter(|(_, port)| port.attachment == Attachment::Interface)
            .collect();
        if nics.is_empty() {
            return Ok(BTreeMap::new());
        }
        let observe = |error| NetError::Observe { what: "this machine's interfaces".into(), error };
        let mut netlink = Netlink::open().map_err(observe)?;
        let look = |(index, port): (usize, &crate::plan::PlannedPort)| {
            let mut before =
                real_nic::inspect(&mut netlink, &port.ifname, options.take, options.ssh.as_ref())?;
            if !port.processing.is_empty() {
                before.remember_processing();
            }
            Ok((index, before))
        };
        nics.into_iter().map(look).collect()
    }
}

impl Applied {
    /// The network namespace of `host`.
    pub fn namespace(&self, host: &str) -> Option<BorrowedFd<'_>> {
        self.hosts.get(host).map(|h| h.namespace.as_fd())
    }

    /// The port of `host` on `wire`.
    pub fn port(&self, host: &str, wire: &str) -> Option<PortInfo> {
        let index = self.plan.ports.iter().position(|p| p.host == host && p.wire == wire)?;
        let (port, attached) = (&self.plan.ports[index], self.attached.get(&index)?);
        Some(PortInfo {
            ifname: port.ifname.clone(),
            index: attached.index,
            mac: attached.mac,
            ipv4: port.ipv4,
            ipv6: port.ipv6,
        })
    }

    /// The plan that was applied.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Takes everything back: pairs are deleted, NICs come home with
    /// their addresses, state and queues.
    ///
    /// # Errors
    /// [`NetError::Undo`] with what could not be put back.
    pub fn undo(mut self) -> Result<(), NetError> {
        let not_restored = self.take_back();
        if not_restored.is_empty() { Ok(()) } else { Err(NetError::Undo(not_restored)) }
    }

    /// Undoes what has been done so far and returns what could not be undone.
    /// A second call finds nothing to do.
    fn take_back(&mut self) -> Vec<String> {
        let mut not_restored = Vec::new();
        let before = std::mem::take(&mut self.before);
        let kernel = std::mem::take(&mut self.kernel);
        for (index, attached) in std::mem::take(&mut self.attached) {
            let port = &self.plan.ports[index];
            let Some(host) = self.hosts.get_mut(&port.host) else { continue };
            let result = match port.attachment {
                // The pair goes with its first end; the second is gone then.
                Attachment::Veth | Attachment::Vtsn => {
                    match link::delete(&mut host.netlink, attached.index) {
                        Err(error) if error.errno == ENODEV => Ok(()),
                        result => result,
                    }
                }
                Attachment::Interface => {
                    link::move_to(&mut host.netlink, attached.index, self.home.as_fd())
                }
                Attachment::Elsewhere => Ok(()),
            };
            if let Err(error) = result {
                not_restored.push(format!("{} of {}: {error}", port.ifname, port.host));
            }
        }
        // Closing the last handle ends a namespace; the kernel returns what is
        // still inside, so NICs are waited for only now.
        self.hosts.clear();
        if !before.is_empty() {
            not_restored.extend(restore_at(self.home.as_fd(), &before));
        }
        if !kernel.is_empty() {
            let put_back = || kernel.put_back();
            let done = netns::in_namespace(self.home.as_fd(), put_back);
            not_restored.extend(done.unwrap_or_else(|error| vec![error.to_string()]));
        }
        if let Some(keeper) = self.keeper.take() {
            keeper.dismiss();
        }
        not_restored
    }

    fn step_error(&self, step: &Step, cause: &Cause) -> StepError {
        let port = step.action.port().map(|index| &self.plan.ports[index]);
        let command = self.plan.command(step);
        let driver = port.and_then(|port| {
            let host = self.hosts.get(&step.host)?;
            let look = || ethtool::driver_info(&port.ifname).ok();
            netns::in_namespace(host.namespace.as_fd(), look).ok()?
        });
        let failed = Failed {
            action: &step.action,
            command: &command,
            ifname: port.map(|p| p.ifname.as_str()),
            driver: driver.as_ref().map(|d| d.driver.as_str()),
        };
        StepError {
            text: explain(&step.host, failed, cause),
            host: step.host.clone(),
            ifname: port.map(|p| p.ifname.clone()),
            command,
            kernel: match cause {
                Cause::Kernel(error) => Some(error.clone()),
                Cause::Text(_) => None,
            },
            not_restored: Vec::new(),
        }
    }

    fn execute(&mut self, step: &Step, interrupted: &dyn Fn() -> bool) -> Result<(), Cause> {
        if let Action::Namespace = step.action {
            self.hosts.insert(step.host.clone(), Host::create()?);
            return Ok(());
        }
        if let Action::Pair { near, far } = step.action {
            return self.create_pair(near, far);
        }
        if let Action::Move { port } = step.action {
            return self.take_nic(port);
        }
        if let Action::System { setting } = &step.action {
            return netns::in_namespace(self.home.as_fd(), || setting.apply())
                .map_err(|error| Cause::Text(error.to_string()))?;
        }
        if let Action::ShortFreeLists = step.action {
            free_pages::shorten();
            return Ok(());
        }
        let Some(host) = self.hosts.get_mut(&step.host) else {
            return Err(Cause::Text(format!("host `{}` has no namespace yet", step.host)));
        };
        let attached = |port: usize| {
            let missing = || Cause::Text("its port is not in place yet".to_owned());
            self.attached.get(&port).copied().ok_or_else(missing)
        };
        match &step.action {
            Action::Namespace
            | Action::Pair { .. }
            | Action::Move { .. }
            | Action::System { .. }
            | Action::ShortFreeLists => Ok(()),
            Action::Sysctl { path, value } => host.sysctl(path, value),
            Action::LoopbackUp => host.loopback_up(),
            Action::Channels { port, queues } => {
                host.set_queues(&self.plan.ports[*port].ifname, *queues)
            }
            Action::Setting { port, setting } => {
                let index = attached(*port)?.index;
                host.inside(|| setting.apply(&self.plan.ports[*port].ifname, index))?
            }
            Action::Processing { port, setting } => {
                let pollers = host.inside(|| setting.apply(&self.plan.ports[*port].ifname))??;
                if !pollers.is_empty() {
                    self.pollers.insert(*port, pollers);
                }
                Ok(())
            }
            Action::Bridge => Ok(link::create_bridge(&mut host.netlink, BRIDGE)?),
            Action::Enslave { port } => {
                let port = attached(*port)?.index;
                let missing = Cause::Kernel(KernelError { errno: ENODEV, extack: None });
                let bridge = link::find(&mut host.netlink, BRIDGE)?.ok_or(missing)?;
                Ok(link::set_master(&mut host.netlink, port, bridge.index)?)
            }
            Action::Forward { port, to } => {
                let (index, mac) = (attached(*port)?.index, attached(*to)?.mac);
                Ok(neighbour::set_forwarding(&mut host.netlink, index, mac)?)
            }
            Action::Address { port, ip, prefix } => {
                let plain = Address::plain(*ip, *prefix);
                Ok(address::add(&mut host.netlink, attached(*port)?.index, &plain)?)
            }
            Action::Qdisc { port, qdisc } => {
                Ok(qdisc::replace(&mut host.netlink, attached(*port)?.index, qdisc)?)
            }
            Action::Up { port } => {
                Ok(link::set_up(&mut host.netlink, attached(*port)?.index, true)?)
            }
            Action::Carrier { port } => {
                host.wait_for_carrier(&self.plan.ports[*port].ifname, interrupted)
            }
            Action::Neighbour { port, peer, ip } => {
                let (index, mac) = (attached(*port)?.index, attached(*peer)?.mac);
                Ok(neighbour::set_permanent(&mut host.netlink, index, *ip, mac)?)
            }
        }
    }

    fn create_pair(&mut self, near: usize, far: usize) -> Result<(), Cause> {
        let describe = |index: usize| -> Result<PairEnd<'_>, Cause> {
            let port = &self.plan.ports[index];
            let missing = || Cause::Text(format!("host `{}` has no namespace yet", port.host));
            let no_mac = || Cause::Text(format!("{} has no MAC address", port.ifname));
            Ok(PairEnd {
                name: &port.ifname,
                mac: port.mac.ok_or_else(no_mac)?,
                // A vtsn port gets its queues by ethtool.
                tx_queues: (port.attachment == Attachment::Veth)
                    .then_some(port.queues.unwrap_or(1)),
                namespace: self.hosts.get(&port.host).ok_or_else(missing)?.namespace.as_fd(),
            })
        };
        let ends = (describe(near)?, describe(far)?);
        // The kernel resolves the descriptors, so any namespace's socket does.
        let mut netlink = Netlink::open()?;
        let kind =
            if self.plan.ports[near].attachment == Attachment::Vtsn { "vtsn" } else { "veth" };
        link::create_pair(&mut netlink, kind, ends.0, ends.1)?;
        self.attach(near)?;
        self.attach(far)
    }

    fn take_nic(&mut self, port: usize) -> Result<(), Cause> {
        let planned = &self.plan.ports[port];
        let mut home = Netlink::open()?;
        let nic = link::find(&mut home, &planned.ifname)?
            .ok_or(Cause::Kernel(KernelError { errno: ENODEV, extack: None }))?;
        let Some(host) = self.hosts.get(&planned.host) else {
            return Err(Cause::Text(format!("host `{}` has no namespace yet", planned.host)));
        };
        link::move_to(&mut home, nic.index, host.namespace.as_fd())?;
        self.attach(port)
    }

    /// Learns the addresses of ports elsewhere.
    fn learn_ports(&mut self, exchange: &dyn PortExchange) -> Result<(), String> {
        let ports = &self.plan.ports;
        let here = self.attached.iter().map(|(&index, attached)| PortAddress {
            host: ports[index].host.clone(),
            wire: ports[index].wire.clone(),
            mac: attached.mac,
        });
        let all = exchange.exchange(here.collect())?;
        for (index, port) in ports.iter().enumerate() {
            if port.attachment != Attachment::Elsewhere {
                continue;
            }
            let same =
                |received: &&PortAddress| received.host == port.host && received.wire == port.wire;
            let missing = || format!("no machine has the port {}.{}", port.host, port.wire);
            let PortAddress { mac, .. } = *all.iter().find(same).ok_or_else(missing)?;
            // It has no index here, and is never asked for.
            self.attached.insert(index, Attached { index: 0, mac });
        }
        Ok(())
    }

    /// Finds a port in its namespace and remembers it.
    fn attach(&mut self, port: usize) -> Result<(), Cause> {
        let planned = &self.plan.ports[port];
        let missing = || Cause::Text(format!("{} did not arrive", planned.ifname));
        let host = self.hosts.get_mut(&planned.host).ok_or_else(missing)?;
        let link = link::find(&mut host.netlink, &planned.ifname)?.ok_or_else(missing)?;
        let mac = link.mac.ok_or_else(missing)?;
        self.attached.insert(port, Attached { index: link.index, mac });
        Ok(())
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        for problem in self.take_back() {
            eprintln!("teiji: {problem}");
        }
    }
}

fn restore_at(home: BorrowedFd<'_>, before: &BTreeMap<usize, Before>) -> Vec<String> {
    let work = || match Netlink::open() {
        Ok(mut netlink) => before
            .values()
            .flat_map(|nic| real_nic::restore(&mut netlink, nic, HOME_WAIT))
            .collect(),
        Err(error) => vec![error.to_string()],
    };
    // The thread may have wandered; the NICs' home has not.
    netns::in_namespace(home, work).unwrap_or_else(|error| vec![error.to_string()])
}
