//! Who processes a port's frames, as plain commands.

use std::fmt;

use super::ProcessingSetting;
use crate::cpus;
use crate::system::chrt;

const QUEUES: &str = "/sys/class/net/DEV/queues";
/// Lists the threads that poll; `pgrep` takes no names this long.
const POLLERS: &str = "grep -ls '^napi/DEV-' /proc/[0-9]*/comm | cut -d/ -f3";

/// As a plain command. `DEV` is the interface, `IN` runs a command in its namespace,
/// and `IRQS` is the command that lists its interrupts there.
impl fmt::Display for ProcessingSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, value } => {
                write!(f, "IN sh -c 'echo {value} > /sys/class/net/DEV/{name}'")
            }
            Self::Rps(cpus) => write!(
                f,
                "IN sh -c 'for q in {QUEUES}/rx-*; do echo {} > $q/rps_cpus; done'",
                cpus::mask(cpus)
            ),
            Self::Xps(lists) => {
                f.write_str("IN sh -c '")?;
                for (queue, cpus) in lists.iter().enumerate() {
                    let separator = if queue == 0 { "" } else { "; " };
                    let mask = cpus::mask(cpus);
                    write!(f, "{separator}echo {mask} > {QUEUES}/tx-{queue}/xps_cpus")?;
                }
                f.write_str("'")
            }
            Self::Bql(bytes) => write!(
                f,
                "IN sh -c 'for q in {QUEUES}/tx-*; do echo {bytes} > $q/byte_queue_limits/limit_max; done'"
            ),
            Self::GsoMaxSize(bytes) => write!(f, "IN ip link set DEV gso_max_size {bytes}"),
            Self::IrqCpus(cpus) => write!(
                f,
                "for i in $(IN IRQS); do echo {} > /proc/irq/$i/smp_affinity_list; done",
                cpus::list(cpus)
            ),
            Self::IrqPolicy(policy) => write!(
                f,
                "for i in $(IN IRQS); do for t in $(pgrep \"^irq/$i-\"); do {} $t; done; done",
                chrt(*policy)
            ),
            Self::Napi { threaded, policy, cpus } => {
                let on = u8::from(*threaded);
                let switch = format!("IN sh -c 'echo {on} > /sys/class/net/DEV/threaded'");
                if policy.is_none() && cpus.is_none() {
                    return f.write_str(&switch);
                }
                let policy = policy.map(|policy| format!("{} $t", chrt(policy)));
                let cpus =
                    cpus.as_deref().map(|cpus| format!("taskset -pc {} $t", cpus::list(cpus)));
                let work: Vec<String> = policy.into_iter().chain(cpus).collect();
                write!(
                    f,
                    "old=\" $({POLLERS} | xargs) \"; {switch}; for t in $({POLLERS}); do case \"$old\" in \
                     *\" $t \"*) ;; *) {};; esac; done",
                    work.join("; ")
                )
            }
        }
    }
}
