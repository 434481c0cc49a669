//! Who processes a port's frames, as a plan has it and as the kernel says it:
//! interrupts and their threads, polling (NAPI), steering of queues (RPS, XPS), limits of
//! rings (BQL) and of pieces (GSO).

mod command;

use std::collections::BTreeMap;
use std::fs;

use teiji_core::errno::{ENODEV, EPERM};
use teiji_experiment::scenario::{Policy, Port, Processing};
use teiji_sys::sysfs::Sysfs;

use crate::cause::Cause;
use crate::cpus;
use crate::interrupts;
use crate::netlink::link::{self, Link};
use crate::netlink::{KernelError, Netlink};
use crate::threads::{self, KernelThread};

/// One setting of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessingSetting {
    /// A file below `/sys/class/net/NAME/`.
    File {
        /// Its name.
        name: &'static str,
        /// What is written.
        value: i64,
    },
    /// CPUs for every receive queue.
    Rps(Vec<u16>),
    /// CPUs for each transmit queue from the first on.
    Xps(Vec<Vec<u16>>),
    /// Most bytes in each transmit ring.
    Bql(u32),
    /// Most bytes of TCP in one piece.
    GsoMaxSize(u32),
    /// CPUs that handle its interrupts.
    IrqCpus(Vec<u16>),
    /// Scheduling of its interrupts' threads.
    IrqPolicy(Policy),
    /// Polling in threads or softirqs; how the threads are scheduled, and where.
    Napi {
        /// In threads.
        threaded: bool,
        /// Of these.
        policy: Option<Policy>,
        /// Of these.
        cpus: Option<Vec<u16>>,
    },
}

const INTERRUPT_CPUS: &str = "interrupts' CPUs";
const INTERRUPT_THREADS: &str = "interrupt threads";
const NAPI_THREADED: &str = "NAPI threaded";
const NAPI_THREADS: &str = "NAPI threads";
const NAPI_CPUS: &str = "NAPI threads' CPUs";
const RPS: &str = "rps_cpus";
const XPS: &str = "xps_cpus";
const BQL: &str = "byte_queue_limits/limit_max";
const GSO_MAX_SIZE: &str = "gso_max_size";
/// Where the kernel's own control of it stands (`lib/dynamic_queue_limits.c`).
const BYTE_LIMIT: &str = "byte_queue_limits/limit";
/// The files whose values are kept as they are.
const FILES: [&str; 2] = ["napi_defer_hard_irqs", "gro_flush_timeout"];
const THREADED: &str = "threaded";

/// What a port needs.
pub(crate) fn of_port(port: &Port) -> Vec<ProcessingSetting> {
    of(&port.processing)
}

/// The settings that this requests.
pub(crate) fn of(processing: &Processing) -> Vec<ProcessingSetting> {
    use ProcessingSetting as S;
    let Processing { irq, napi, rps, xps, bql, gso_max_size } = processing;
    let file = |name, value: Option<i64>| Some(S::File { name, value: value? });
    let all = [
        file(FILES[0], napi.defer_hard_irqs.map(i64::from)),
        file(FILES[1], napi.gro_flush_timeout.map(teiji_core::time::Span::as_ns)),
        rps.clone().map(S::Rps),
        xps.clone().map(S::Xps),
        bql.map(S::Bql),
        gso_max_size.map(S::GsoMaxSize),
        irq.cpus.clone().map(S::IrqCpus),
        irq.policy.map(S::IrqPolicy),
        napi.threaded.map(|threaded| S::Napi {
            threaded,
            policy: napi.policy,
            cpus: napi.cpus.clone(),
        }),
    ];
    all.into_iter().flatten().collect()
}

/// What an experiment plans for a port, by the keys of
/// [`ObservedPort::settings`](crate::observe::ObservedPort::settings).
pub fn planned(port: &Port) -> BTreeMap<String, String> {
    of_port(port).iter().flat_map(ProcessingSetting::expected).collect()
}

fn open() -> Result<Sysfs, Cause> {
    Sysfs::open().map_err(|error| {
        let next_step = if error.errno() == EPERM {
            "; a NIC's files need CAP_SYS_ADMIN: run it with sudo, in a container on its host"
        } else {
            ""
        };
        Cause::Text(format!("{error}{next_step}"))
    })
}

fn io(error: &std::io::Error) -> Cause {
    Cause::Kernel(KernelError::from_io(error))
}

/// The numbers of an interface's queues of one direction, `rx` or `tx`.
fn queues(sysfs: &Sysfs, ifname: &str, direction: &str) -> Vec<u16> {
    let entries = fs::read_dir(sysfs.path(&format!("class/net/{ifname}/queues")));
    let names = entries.into_iter().flatten().flatten();
    let number = |name: &str| name.strip_prefix(direction)?.strip_prefix('-')?.parse().ok();
    let mut found: Vec<u16> =
        names.filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    found.sort_unstable();
    found
}

fn queue_file(ifname: &str, direction: &str, queue: u16, file: &str) -> String {
    format!("class/net/{ifname}/queues/{direction}-{queue}/{file}")
}

/// The largest BQL limit of an interface's transmit queues in bytes; `None` without BQL.
pub(crate) fn largest_byte_limit(sysfs: &Sysfs, ifname: &str) -> Option<u64> {
    let limit = |queue| sysfs.read(&queue_file(ifname, "tx", queue, BQL)).ok()?.parse().ok();
    queues(sysfs, ifname, "tx").into_iter().filter_map(limit).max()
}

/// The threads of an interface's interrupts.
pub(crate) fn irq_threads(irqs: &[u32], all: &[KernelThread]) -> Vec<KernelThread> {
    let prefixes: Vec<String> = irqs.iter().map(|irq| interrupts::thread_prefix(*irq)).collect();
    let ours = |thread: &&KernelThread| prefixes.iter().any(|p| thread.name.starts_with(p));
    all.iter().filter(ours).cloned().collect()
}

impl ProcessingSetting {
    /// True if it schedules threads.
    pub(crate) fn schedules(&self) -> bool {
        match self {
            Self::IrqPolicy(_) => true,
            Self::Napi { policy, cpus, .. } => policy.is_some() || cpus.is_some(),
            _ => false,
        }
    }

    /// True if it needs interrupts, which a veth pair has not.
    pub(crate) const fn needs_interrupts(&self) -> bool {
        matches!(self, Self::IrqCpus(_) | Self::IrqPolicy(_))
    }

    /// The CPUs it names.
    pub(crate) fn cpus(&self) -> Vec<u16> {
        match self {
            Self::Rps(cpus) | Self::IrqCpus(cpus) => cpus.clone(),
            Self::Xps(queues) => queues.concat(),
            Self::Napi { cpus, .. } => cpus.clone().unwrap_or_default(),
            Self::File { .. } | Self::Bql(_) | Self::GsoMaxSize(_) | Self::IrqPolicy(_) => {
                Vec::new()
            }
        }
    }

    /// Sets it on an interface of the calling thread's namespace. Returns the threads
    /// that poll it, if it is about these.
    pub(crate) fn apply(&self, ifname: &str) -> Result<Vec<KernelThread>, Cause> {
        let write = |sysfs: &Sysfs, path: String, value: &str| {
            sysfs.write(&path, value).map_err(|error| io(&error))
        };
        match self {
            Self::File { name, value } => {
                write(&open()?, format!("class/net/{ifname}/{name}"), &value.to_string())?;
            }
            Self::Rps(cpus) => {
                let sysfs = open()?;
                let queues = queues(&sysfs, ifname, "rx");
                if queues.is_empty() {
                    return Err(Cause::Text(format!(
                        "this kernel shows no receive queues of {ifname}: it was built without \
                         RPS (CONFIG_RPS); leave `rps` out"
                    )));
                }
                for queue in queues {
                    write(&sysfs, queue_file(ifname, "rx", queue, RPS), &cpus::mask(cpus))?;
                }
            }
            Self::Xps(lists) => {
                let sysfs = open()?;
                let there = queues(&sysfs, ifname, "tx").len();
                if lists.len() > there {
                    return Err(Cause::Text(format!(
                        "CPUs are given for {} transmit queues, {ifname} has {there}",
                        lists.len()
                    )));
                }
                for (queue, cpus) in (0..).zip(lists) {
                    write(&sysfs, queue_file(ifname, "tx", queue, XPS), &cpus::mask(cpus))?;
                }
            }
            Self::Bql(bytes) => {
                let sysfs = open()?;
                for queue in queues(&sysfs, ifname, "tx") {
                    let path = queue_file(ifname, "tx", queue, BQL);
                    if sysfs.read(&path).is_err() {
                        return Err(Cause::Text(format!(
                            "the driver of {ifname} counts no bytes in its rings, so they have no \
                             limit; leave `bql` out"
                        )));
                    }
                    write(&sysfs, path, &bytes.to_string())?;
                }
            }
            Self::GsoMaxSize(bytes) => {
                let mut netlink = Netlink::open()?;
                let link = link::find(&mut netlink, ifname)?;
                let link = link.ok_or(KernelError { errno: ENODEV, extack: None })?;
                link::set_gso_max_size(&mut netlink, link.index, *bytes)?;
            }
            Self::IrqCpus(cpus) => {
                for irq in some_interrupts(ifname)? {
                    fs::write(interrupts::affinity_file(irq), cpus::list(cpus))
                        .map_err(|error| io(&error))?;
                }
            }
            Self::IrqPolicy(policy) => {
                let irqs = some_interrupts(ifname)?;
                let all = threads::list();
                let ours = irq_threads(&irqs, &all);
                if ours.is_empty() {
                    return Err(Cause::Text(format!(
                        "the interrupts of {ifname} have no threads; there are: {}. A kernel with \
                         PREEMPT_RT has one for each, another one with `threadirqs` on its command \
                         line",
                        threads::there(&all)
                    )));
                }
                ours.iter().try_for_each(|thread| threads::schedule(thread, *policy))?;
            }
            Self::Napi { threaded, policy, cpus } => {
                return set_napi(ifname, *threaded, *policy, cpus.as_deref());
            }
        }
        Ok(Vec::new())
    }

    /// What [`observe`] should say afterwards, by its keys.
    pub(crate) fn expected(&self) -> Vec<(String, String)> {
        let entry = |key: &str, value: String| (key.to_owned(), value);
        match self {
            Self::File { name, value } => vec![entry(name, value.to_string())],
            Self::Rps(cpus) => vec![entry(RPS, cpus::list(cpus))],
            Self::Xps(lists) => (0_u16..)
                .zip(lists)
                .map(|(queue, cpus)| (format!("{XPS} of tx-{queue}"), cpus::list(cpus)))
                .collect(),
            Self::Bql(bytes) => vec![entry(BQL, bytes.to_string())],
            Self::GsoMaxSize(bytes) => vec![entry(GSO_MAX_SIZE, bytes.to_string())],
            Self::IrqCpus(cpus) => vec![entry(INTERRUPT_CPUS, cpus::list(cpus))],
            Self::IrqPolicy(policy) => vec![entry(INTERRUPT_THREADS, policy.to_string())],
            Self::Napi { threaded, policy, cpus } => {
                let on = if *threaded { "on" } else { "off" };
                let policy = policy.map(|policy| entry(NAPI_THREADS, policy.to_string()));
                let cpus = cpus.as_ref().map(|cpus| entry(NAPI_CPUS, cpus::list(cpus)));
                [Some(entry(NAPI_THREADED, on.to_owned())), policy, cpus]
                    .into_iter()
                    .flatten()
                    .collect()
            }
        }
    }
}

fn some_interrupts(ifname: &str) -> Result<Vec<u32>, Cause> {
    let irqs = interrupts::of(ifname).map_err(|error| io(&error))?;
    if irqs.is_empty() {
        return Err(Cause::Text(format!("{ifname} has no interrupts of its own")));
    }
    Ok(irqs)
}

/// The threads that poll an interface have its name, which an interface of another
/// namespace may have, too: new ones are ours.
fn set_napi(
    ifname: &str,
    threaded: bool,
    policy: Option<Policy>,
    cpus: Option<&[u16]>,
) -> Result<Vec<KernelThread>, Cause> {
    let before = threads::list();
    let path = format!("class/net/{ifname}/{THREADED}");
    open()?.write(&path, if threaded { "1" } else { "0" }).map_err(|error| io(&error))?;
    if !threaded {
        return Ok(Vec::new());
    }
    let all = threads::list();
    let named = |thread: &&KernelThread| thread.name.starts_with(&thread_prefix(ifname));
    let new = |thread: &&KernelThread| named(thread) && !before.contains(thread);
    let mut ours: Vec<KernelThread> = all.iter().filter(new).cloned().collect();
    if ours.is_empty() {
        // They were threaded before.
        ours = all.iter().filter(named).cloned().collect();
    }
    if ours.is_empty() {
        return Err(Cause::Text(format!(
            "nothing polls {ifname} in threads, for its driver does without NAPI; threads about \
             packets and interrupts are: {}",
            threads::there(&all)
        )));
    }
    for thread in &ours {
        policy.map_or(Ok(()), |policy| threads::schedule(thread, policy))?;
        cpus.map_or(Ok(()), |cpus| threads::confine(thread, cpus))?;
    }
    Ok(ours)
}

/// The beginning of the names of the threads that poll an interface.
pub(crate) fn thread_prefix(ifname: &str) -> String {
    format!("napi/{ifname}-")
}

/// The files below `/sys/class/net/NAME/` that settings write, with their values.
pub(crate) fn files(ifname: &str) -> Vec<(String, String)> {
    let Ok(sysfs) = Sysfs::open() else { return Vec::new() };
    let below = |file: String| file[format!("class/net/{ifname}/").len()..].to_owned();
    let all = [FILES[0], FILES[1], THREADED].map(|name| format!("class/net/{ifname}/{name}"));
    let rx = queues(&sysfs, ifname, "rx").into_iter().map(|q| queue_file(ifname, "rx", q, RPS));
    let tx = queues(&sysfs, ifname, "tx")
        .into_iter()
        .flat_map(|q| [XPS, BQL].map(|file| queue_file(ifname, "tx", q, file)));
    let values = all.into_iter().chain(rx).chain(tx);
    values.filter_map(|file| Some((below(file.clone()), sysfs.read(&file).ok()?))).collect()
}

/// How many bytes the kernel now lets into each transmit ring of an interface of the calling
/// thread's namespace (BQL's limit): the highest of its queues, `None` where none is counted.
pub(crate) fn byte_limit(ifname: &str) -> Option<u64> {
    let sysfs = Sysfs::open().ok()?;
    let limit = |queue| {
        let text = sysfs.read(&queue_file(ifname, "tx", queue, BYTE_LIMIT)).ok()?;
        text.parse().ok().filter(|bytes| *bytes > 0)
    };
    queues(&sysfs, ifname, "tx").into_iter().filter_map(limit).max()
}

/// What the kernel says of all this about an interface of the calling thread's
/// namespace, which `pollers` poll. What it does not say is not there.
pub(crate) fn observe(link: &Link, pollers: &[KernelThread]) -> BTreeMap<String, String> {
    let ifname = link.name.as_str();
    let mut values = BTreeMap::new();
    let mut say = |key: &str, value: Option<String>| {
        value.map(|value| values.insert(key.to_owned(), value));
    };
    if let Ok(irqs) = interrupts::of(ifname) {
        let numbers: Vec<String> = irqs.iter().map(u32::to_string).collect();
        say("interrupts", (!irqs.is_empty()).then(|| numbers.join(", ")));
        let mut places: Vec<String> = irqs
            .iter()
            .filter_map(|irq| fs::read_to_string(interrupts::affinity_file(*irq)).ok())
            .map(|text| text.trim().to_owned())
            .collect();
        places.dedup();
        say(INTERRUPT_CPUS, (!places.is_empty()).then(|| places.join("; ")));
        say(INTERRUPT_THREADS, threads::policies(&irq_threads(&irqs, &threads::list())));
    }
    say(NAPI_THREADS, threads::policies(pollers));
    say(NAPI_CPUS, threads::places(pollers));
    say(GSO_MAX_SIZE, link.gso_max_size.map(|bytes| bytes.to_string()));
    for (file, value) in files(ifname) {
        let cpus = || cpus::parse_mask(&value).map(|cpus| cpus::list(&cpus));
        match file.strip_prefix("queues/").and_then(|rest| rest.split_once('/')) {
            Some((queue, XPS)) => say(&format!("{XPS} of {queue}"), cpus()),
            // One for all queues; the first stands for them.
            Some(("rx-0", RPS)) => say(RPS, cpus()),
            Some(("tx-0", BQL)) => say(BQL, Some(value)),
            Some(_) => {}
            None if file == THREADED => {
                let on = if value == "0" { "off" } else { "on" };
                say(NAPI_THREADED, Some(on.to_owned()));
            }
            None => say(&file, Some(value)),
        }
    }
    values
}
