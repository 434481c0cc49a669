//! What this program may do. Missing rights are this user's matter, not the machine's: they block
//! nothing that `sudo` gives.

use crate::facts::Facts;
use crate::finding::{Finding, Fix, LAUNCH, PRIORITIES, Weight, finding};

pub(super) fn machine(facts: &Facts) -> Vec<Finding> {
    let rights = &facts.rights;
    let mut found = Vec::new();
    if !rights.net_admin {
        found.push(finding(
            "no-net-admin",
            LAUNCH,
            Weight::Note,
            "this user has no CAP_NET_ADMIN, which launch times by CLOCK_TAI and all set-up need; some \
             of what follows may not be seen without it",
            Fix::advice("run it with sudo; in a container, add the capability"),
        ));
    }
    if !rights.realtime() {
        found.push(finding(
            "no-realtime",
            PRIORITIES,
            Weight::Note,
            "this user may use no real-time priority (no CAP_SYS_NICE, RLIMIT_RTPRIO is 0)",
            Fix::advice(
                "run it with sudo, or put `@realtime - rtprio 98` into /etc/security/limits.d/ and the \
                 user into that group",
            ),
        ));
    }
    if !rights.memory_lock {
        found.push(finding(
            "no-memory-lock",
            PRIORITIES,
            Weight::Note,
            "this user may not lock all memory (RLIMIT_MEMLOCK): a page fault delays a real-time thread",
            Fix::advice("run it with sudo, or put `@realtime - memlock unlimited` into /etc/security/limits.d/"),
        ));
    }
    found
}
