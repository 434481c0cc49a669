//! NICs that exist before the plan: what they had, whether they may be taken,
//! and giving them back.
//!
//! A NIC that changes its network namespace loses its addresses, its qdiscs,
//! its routes, its bridge and its per-interface sysctls, and goes down. Addresses,
//! routes, bridge, state and number of queues are recorded and restored; but a NIC
//! that is used ([`Use`]) is only taken if the caller says so, and one with something
//! that cannot be restored is always refused. Per-interface sysctls go back to the
//! defaults of the namespace.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use teiji_core::errno::{EEXIST, ENODEV};
use teiji_core::wire::MacAddr;
use teiji_sys::ethtool;
use teiji_sys::interface::NoInterface;
use teiji_sys::sysfs::Sysfs;
use thiserror::Error;

use crate::before::KernelBefore;
use crate::interrupts;
use crate::netlink::address::Address;
use crate::netlink::link::Link;
use crate::netlink::route::Route;
use crate::netlink::{KernelError, Netlink, address, link, qdisc, route};
use crate::processing;
use crate::qdisc::{Handle, ObservedQdisc};
use crate::ssh::SshConnection;
use crate::threads;
use crate::usage::{self, Use};

/// What a NIC had before it was taken: enough to put it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Its name.
    pub ifname: String,
    /// Its MAC address, to know it again.
    pub mac: MacAddr,
    /// Administratively up.
    pub up: bool,
    /// Its addresses; the kernel makes link-local and privacy ones anew.
    pub addresses: Vec<Address>,
    /// The routes over it that somebody configured.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// The bridge that it is a port of.
    #[serde(default)]
    pub bridge: Option<String>,
    /// Its queues, if its driver can set them.
    pub channels: Option<Channels>,
    /// Files below `/sys/class/net/NAME/` with their values, where the plan changes
    /// who processes its frames.
    #[serde(default)]
    pub files: Vec<(String, String)>,
    /// The most bytes that it takes in one piece.
    #[serde(default)]
    pub gso_max_size: Option<u32>,
    /// Where its interrupts were handled and how its threads were scheduled, likewise.
    #[serde(default)]
    pub kernel: KernelBefore,
}

impl Before {
    /// Remembers who processes its frames. Works in the calling thread's namespace.
    pub(crate) fn remember_processing(&mut self) {
        self.files = processing::files(&self.ifname);
        for irq in interrupts::of(&self.ifname).unwrap_or_default() {
            self.kernel.remember_file(&interrupts::affinity_file(irq));
        }
        // Threads of interrupts end when the NIC goes down; these may stay.
        let prefix = processing::thread_prefix(&self.ifname);
        for thread in threads::list().iter().filter(|thread| thread.name.starts_with(&prefix)) {
            self.kernel.remember_thread(thread);
        }
    }

    /// Remembers how the threads of its interrupts are scheduled, for a NIC that stays up.
    pub(crate) fn remember_interrupt_threads(&mut self) {
        let irqs = interrupts::of(&self.ifname).unwrap_or_default();
        for thread in processing::irq_threads(&irqs, &threads::list()) {
            self.kernel.remember_thread(&thread);
        }
    }
}

/// The queues of a NIC, `ethtool -l`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channels {
    /// Receive only.
    pub rx: u32,
    /// Transmit only.
    pub tx: u32,
    /// Both.
    pub combined: u32,
}

impl Channels {
    /// The current setting of an interface; `None` if its driver has none.
    pub(crate) fn of(ifname: &str) -> Option<Self> {
        let now = ethtool::channels(ifname).ok()?;
        Some(Self { rx: now.rx, tx: now.tx, combined: now.combined })
    }

    /// Transmit queues in use.
    pub fn tx_queues(self) -> u32 {
        self.tx + self.combined
    }
}

impl fmt::Display for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rx {} tx {} combined {}", self.rx, self.tx, self.combined)
    }
}

/// Why a NIC may not be taken. Nothing has been changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It is not there.
    #[error("{0}")]
    NotFound(#[from] NoInterface),
    /// It is no Ethernet interface.
    #[error(
        "{0} is not an Ethernet interface, so it cannot be the end of a wire; choose a NIC (`ip \
         link`)"
    )]
    NotEthernet(String),
    /// It is used.
    #[error(
        "{ifname} is in use: it {}. Choose another NIC, or give --take to take {ifname} for the \
         run{}; the run puts all of this back at its end",
        usage::list(.uses),
        if .uses.iter().any(|used| matches!(used, Use::Ssh(_))) {
            " (the connection stalls meanwhile: start it with `nohup` or in tmux)"
        } else {
            ""
        }
    )]
    InUse {
        /// The NIC.
        ifname: String,
        /// What for.
        uses: Vec<Use>,
    },
    /// It belongs to a bond or the like.
    #[error(
        "{ifname} is a member of {master}, which would lose it; take it out first (`ip link set \
         {ifname} nomaster`) or choose another NIC"
    )]
    Member {
        /// The NIC.
        ifname: String,
        /// The bond.
        master: String,
    },
    /// Another interface rests on it.
    #[error(
        "{ifname} carries {upper}, which would lose its NIC; remove it first (`ip link del \
         {upper}`) or choose another NIC"
    )]
    Carries {
        /// The NIC.
        ifname: String,
        /// The VLAN, macvlan, … on it.
        upper: String,
    },
    /// A qdisc that would be lost.
    #[error(
        "{ifname} has a configured qdisc ({kind} {handle}), which would be lost; remove it first \
         (`tc qdisc del dev {ifname} {place}`) or choose another NIC"
    )]
    Qdisc {
        /// The NIC.
        ifname: String,
        /// Its kind.
        kind: String,
        /// Its handle.
        handle: Handle,
        /// Its place, as `tc` wants it.
        place: &'static str,
    },
    /// The kernel did not answer.
    #[error("cannot look at {ifname}: {error}")]
    Look {
        /// The NIC.
        ifname: String,
        /// The kernel's error.
        error: KernelError,
    },
}

impl Refusal {
    /// True if the interface could not be taken whatever was done to it, or not be looked at.
    pub fn is_unusable(&self) -> bool {
        matches!(self, Self::NotFound(_) | Self::NotEthernet(_) | Self::Look { .. })
    }
}

/// Looks at the NIC called `ifname` and records what it has, or says why it may not
/// be taken; one that is used only with `take`. Works in the calling thread's namespace.
pub(crate) fn inspect(
    netlink: &mut Netlink,
    ifname: &str,
    take: bool,
    ssh: Option<&SshConnection>,
) -> Result<Before, Refusal> {
    let look = |error| Refusal::Look { ifname: ifname.to_owned(), error };
    let all = link::list(netlink).map_err(look)?;
    let nic = find(&all, ifname)?;
    let Some(mac) = nic.mac.filter(|_| !nic.loopback) else {
        return Err(Refusal::NotEthernet(ifname.to_owned()));
    };
    refuse_by_upper_links(nic, &all)?;
    let bridge = bridge_of(nic, &all)?;
    refuse_by_qdiscs(nic, &qdisc::list(netlink, nic.index).map_err(look)?)?;
    let addresses = address::list(netlink, nic.index).map_err(look)?;
    let mut routes = route::by_link(netlink, nic.index).map_err(look)?;
    let uses = usage::of(netlink, nic, &addresses, &routes, bridge, ssh).map_err(look)?;
    if !take && !uses.is_empty() {
        return Err(Refusal::InUse { ifname: ifname.to_owned(), uses });
    }
    routes.retain(|route| route.configured);
    Ok(Before {
        ifname: ifname.to_owned(),
        mac,
        up: nic.up,
        addresses,
        routes,
        bridge: bridge.map(|link| link.name.clone()),
        channels: Channels::of(ifname),
        files: Vec::new(),
        gso_max_size: nic.gso_max_size,
        kernel: KernelBefore::default(),
    })
}

/// Says why the NIC called `ifname` may not be taken; one that is used only with `take`.
/// Works in the calling thread's namespace and changes nothing.
///
/// # Errors
/// See [`Refusal`].
pub fn look(ifname: &str, take: bool, ssh: Option<&SshConnection>) -> Result<(), Refusal> {
    let failed = |error| Refusal::Look { ifname: ifname.to_owned(), error };
    let mut netlink = Netlink::open().map_err(failed)?;
    inspect(&mut netlink, ifname, take, ssh).map(|_| ())
}

pub(crate) fn find<'a>(all: &'a [Link], ifname: &str) -> Result<&'a Link, Refusal> {
    let there = || all.iter().map(|link| link.name.clone()).collect();
    let missing = || NoInterface { name: ifname.to_owned(), there: there() };
    Ok(all.iter().find(|link| link.name == ifname).ok_or_else(missing)?)
}

fn refuse_by_upper_links(nic: &Link, all: &[Link]) -> Result<(), Refusal> {
    // The end of a pair names the other end as its lower link; that is no burden.
    let of_pair = |link: &Link| matches!(link.kind.as_deref(), Some("veth" | "vtsn"));
    let upper =
        all.iter().find(|l| l.lower == Some(nic.index) && l.index != nic.index && !of_pair(l));
    let carries =
        |upper: &Link| Refusal::Carries { ifname: nic.name.clone(), upper: upper.name.clone() };
    upper.map_or(Ok(()), |upper| Err(carries(upper)))
}

/// The bridge that a NIC is a port of. Membership of anything else (bond, team, VRF)
/// has settings that could not be restored.
fn bridge_of<'a>(nic: &Link, all: &'a [Link]) -> Result<Option<&'a Link>, Refusal> {
    let Some(index) = nic.master else { return Ok(None) };
    let master = all.iter().find(|link| link.index == index);
    match master {
        Some(link) if link.kind.as_deref() == Some("bridge") => Ok(Some(link)),
        _ => {
            let master = master.map_or_else(|| format!("interface {index}"), |l| l.name.clone());
            Err(Refusal::Member { ifname: nic.name.clone(), master })
        }
    }
}

/// The kernel's defaults have the handle `0:`; everything else was configured.
pub(crate) fn refuse_by_qdiscs(nic: &Link, qdiscs: &[ObservedQdisc]) -> Result<(), Refusal> {
    match qdiscs.iter().find(|q| q.handle != Handle(0)) {
        None => Ok(()),
        Some(q) => Err(Refusal::Qdisc {
            ifname: nic.name.clone(),
            kind: q.settings.kind().to_owned(),
            handle: q.handle,
            place: match (q.parent == Handle::INGRESS, q.settings.kind()) {
                (true, "clsact") => "clsact",
                (true, _) => "ingress",
                (false, _) => "root",
            },
        }),
    }
}

/// Puts a NIC's queues, state, bridge, addresses and routes back, waiting up to `patience`
/// for the NIC to be in the calling thread's namespace. Doing it twice does
/// no harm. Returns what could not be put back, as sentences.
pub(crate) fn restore(netlink: &mut Netlink, before: &Before, patience: Duration) -> Vec<String> {
    let ifname = &before.ifname;
    let Some(nic) = wait_for(netlink, before, patience) else {
        return vec![format!(
            "{ifname} did not come back within {} s; look for it with `ip -all netns exec ip link`",
            patience.as_secs()
        )];
    };
    let mut not_restored = Vec::new();
    if let Some(channels) = before.channels {
        if let Err(error) = put_channels(&nic.name, channels) {
            not_restored
                .push(format!("{ifname}: its queues ({channels}) were not restored: {error}"));
        }
    }
    // Who may not set it up may have changed nothing. A driver may set it down for other queues.
    let stays_up = nic.up && before.channels.is_none();
    if before.up && !stays_up {
        if let Err(error) = link::set_up(netlink, nic.index, true) {
            not_restored.push(format!("{ifname} was up and could not be set up again: {error}"));
        }
    }
    if let Some(bytes) = before.gso_max_size.filter(|before| nic.gso_max_size != Some(*before)) {
        if let Err(error) = link::set_gso_max_size(netlink, nic.index, bytes) {
            not_restored.push(format!("{ifname}: gso_max_size {bytes} was not restored: {error}"));
        }
    }
    not_restored.extend(restore_files(&nic.name, &before.files));
    not_restored.extend(before.kernel.put_back());
    if let Some(bridge) = &before.bridge {
        if let Err(error) = restore_bridge(netlink, nic.index, bridge) {
            not_restored.push(format!("{ifname} was not made a port of {bridge} again: {error}"));
        }
    }
    for address in &before.addresses {
        match address::add(netlink, nic.index, address) {
            Err(error) if error.errno != EEXIST => {
                not_restored
                    .push(format!("{ifname}: its address {address} was not restored: {error}"));
            }
            _ => {}
        }
    }
    let routes = restore_routes(netlink, nic.index, &before.routes);
    not_restored.extend(routes.map(|error| format!("{ifname}: a route was not restored: {error}")));
    not_restored
}

fn restore_bridge(netlink: &mut Netlink, index: u32, bridge: &str) -> Result<(), KernelError> {
    let missing = KernelError { errno: ENODEV, extack: None };
    let bridge = link::find(netlink, bridge)?.ok_or(missing)?;
    link::set_master(netlink, index, bridge.index)
}

/// Makes the routes again; the first error that stays. One may need another, so that
/// each round makes those that can be made.
fn restore_routes(netlink: &mut Netlink, index: u32, routes: &[Route]) -> Option<KernelError> {
    let mut missing: Vec<&Route> = routes.iter().collect();
    loop {
        let before = missing.len();
        let mut first = None;
        missing.retain(|route| match route::add(netlink, index, route) {
            Err(error) if error.errno != EEXIST => {
                first.get_or_insert(error);
                true
            }
            _ => false,
        });
        if missing.is_empty() || missing.len() == before {
            return first;
        }
    }
}

/// Writes the files that differ.
fn restore_files(ifname: &str, files: &[(String, String)]) -> Vec<String> {
    if files.is_empty() {
        return Vec::new();
    }
    let sysfs = match Sysfs::open() {
        Ok(sysfs) => sysfs,
        Err(error) => return vec![format!("{ifname}: its files were not restored: {error}")],
    };
    let restore = |(file, value): &(String, String)| {
        let path = format!("class/net/{ifname}/{file}");
        match sysfs.read(&path) {
            Ok(is) if is == *value => return None,
            // Some drivers (igb) count their queues when the NIC goes up first: what
            // was a queue before is none now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            _ => {}
        }
        let error = sysfs.write(&path, value).err()?;
        Some(format!("{ifname}: {file} = {value} was not restored: {error}"))
    };
    files.iter().filter_map(restore).collect()
}

/// The NIC, if it is there.
pub(crate) fn again(netlink: &mut Netlink, before: &Before) -> Option<Link> {
    wait_for(netlink, before, Duration::ZERO)
}

/// The NIC by its name, or by its MAC address should the name be taken.
fn wait_for(netlink: &mut Netlink, before: &Before, patience: Duration) -> Option<Link> {
    const PAUSE: Duration = Duration::from_millis(20);
    let started = Instant::now();
    loop {
        let all = link::list(netlink).unwrap_or_default();
        let ours = |l: &&Link| l.mac == Some(before.mac);
        let by_name = all.iter().filter(ours).find(|l| l.name == before.ifname);
        // Uppers share the address, but they have a kind.
        let by_mac = || all.iter().filter(ours).find(|l| l.kind.is_none());
        if let Some(nic) = by_name.or_else(by_mac) {
            return Some(nic.clone());
        }
        if started.elapsed() >= patience {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

fn put_channels(ifname: &str, wanted: Channels) -> Result<(), String> {
    let mut channels = ethtool::channels(ifname).map_err(|e| e.to_string())?;
    let now = Channels { rx: channels.rx, tx: channels.tx, combined: channels.combined };
    if now == wanted {
        return Ok(());
    }
    (channels.rx, channels.tx, channels.combined) = (wanted.rx, wanted.tx, wanted.combined);
    ethtool::set_channels(ifname, &channels).map_err(|e| e.to_string())
}

/// Gives an interface `queues` transmit queues. Works in the calling thread's
/// namespace.
///
/// # Errors
/// A sentence: the driver's maximum, or its error.
pub(crate) fn set_queues(ifname: &str, queues: u16, tx_queues: u32) -> Result<(), String> {
    let wanted = u32::from(queues);
    let mut channels = match ethtool::channels(ifname) {
        Ok(channels) => channels,
        // A driver that cannot set channels may have the right number anyway.
        Err(_) if tx_queues == wanted => return Ok(()),
        Err(error) => {
            let has = if tx_queues == 1 { "one".to_owned() } else { tx_queues.to_string() };
            return Err(format!(
                "the plan needs {wanted} transmit queues, it has {has}, and {error}"
            ));
        }
    };
    if channels.tx_queues() == wanted {
        return Ok(());
    }
    if channels.max_combined >= wanted {
        channels.combined = wanted;
        (channels.rx, channels.tx) = (0, 0);
    } else if channels.max_tx >= wanted {
        channels.tx = wanted;
        channels.rx = channels.rx.max(channels.combined).max(1);
        channels.combined = 0;
    } else {
        let most = channels.max_combined.max(channels.max_tx);
        return Err(format!(
            "the plan needs {wanted} transmit queues, its driver offers at most {most}"
        ));
    }
    ethtool::set_channels(ifname, &channels).map_err(|e| e.to_string())
}
