//! The interrupts of an interface.

use std::fs;
use std::io;

use teiji_sys::sysfs::Sysfs;

/// The interrupts of an interface of the calling thread's namespace, in ascending
/// order: a `vtsn` port names its own, a PCI card lists them, others have none.
///
/// # Errors
/// Without `CAP_SYS_ADMIN`.
pub fn of(ifname: &str) -> io::Result<Vec<u32>> {
    Ok(shown_by(&Sysfs::open().map_err(io::Error::other)?, ifname))
}

/// As [`of`], as far as this sysfs shows them.
pub(crate) fn shown_by(sysfs: &Sysfs, ifname: &str) -> Vec<u32> {
    let read = |file: &str| sysfs.read(&format!("class/net/{ifname}/{file}"));
    if let Ok(text) = read("vtsn/irq") {
        return text.parse().into_iter().collect();
    }
    let Ok(entries) = fs::read_dir(sysfs.path(&format!("class/net/{ifname}/device/msi_irqs")))
    else {
        let text = read("device/irq").unwrap_or_default();
        return text.parse().into_iter().filter(|irq| *irq > 0).collect();
    };
    let mut irqs: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    irqs.sort_unstable();
    irqs
}

/// The file that says on which CPUs an interrupt is handled, as a list.
pub fn affinity_file(irq: u32) -> String {
    format!("/proc/irq/{irq}/smp_affinity_list")
}

/// The beginning of the names of an interrupt's threads.
pub(crate) fn thread_prefix(irq: u32) -> String {
    format!("irq/{irq}-")
}

/// The command that lists an interface's interrupts; `DEV` is the interface.
pub(crate) const COMMAND: &str = "sh -c 'cd /sys/class/net/DEV; cat vtsn/irq 2>/dev/null || ls device/msi_irqs 2>/dev/null || cat device/irq'";

/// The same in its namespace, where its kind is known.
pub(crate) fn command(vtsn: bool) -> &'static str {
    if vtsn {
        "cat /sys/class/net/DEV/vtsn/irq"
    } else {
        "sh -c 'cd /sys/class/net/DEV/device; ls msi_irqs 2>/dev/null || cat irq'"
    }
}
