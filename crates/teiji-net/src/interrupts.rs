//! The interrupts of an interface.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use teiji_sys::sysfs::Sysfs;

/// The interrupts of an interface of the calling thread's namespace, in ascending
/// order: a `vtsn` port names its own, a PCI NIC lists them, other devices' are found by their names; what
/// is no device has none.
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
    let device = sysfs.path(&format!("class/net/{ifname}/device"));
    let listed = numbered(&device.join("msi_irqs"));
    if !listed.is_empty() {
        return listed;
    }
    if let Some(irq) =
        read("device/irq").ok().and_then(|text| text.parse().ok()).filter(|irq| *irq > 0)
    {
        return vec![irq];
    }
    let Ok(device) = fs::read_link(device) else { return Vec::new() };
    let device = device.file_name().and_then(OsStr::to_str).unwrap_or(ifname);
    named(&sysfs.path("kernel/irq"), [ifname, device])
}

/// The entries of a folder that are numbers, in ascending order.
fn numbered(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// The interrupts that a driver registered by one of these names, alone or as the beginning of
/// `eth0-rx-0`, `eth0:tx-0`.
fn named(all: &Path, names: [&str; 2]) -> Vec<u32> {
    let is_ours = |action: &str| {
        names
            .iter()
            .filter_map(|name| action.strip_prefix(name))
            .any(|rest| rest.is_empty() || rest.starts_with(['-', ':']))
    };
    let mut irqs = numbered(all);
    irqs.retain(|irq| {
        let actions = fs::read_to_string(all.join(format!("{irq}/actions"))).unwrap_or_default();
        actions.trim().split(',').any(is_ours)
    });
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

/// What lists the interrupts of a device in its folder.
macro_rules! of_device {
    () => {
        "ls msi_irqs 2>/dev/null | grep . || grep -vx 0 irq 2>/dev/null || \
         grep -lw -e DEV -e $(basename $(pwd -P)) /sys/kernel/irq/*/actions | cut -d/ -f5"
    };
}

/// The command that lists an interface's interrupts; `DEV` is the interface.
pub(crate) const COMMAND: &str = concat!(
    "sh -c 'cd /sys/class/net/DEV; cat vtsn/irq 2>/dev/null || { cd device && { ",
    of_device!(),
    "; }; }'"
);

/// The same in its namespace, where its kind is known.
pub(crate) fn command(vtsn: bool) -> &'static str {
    if vtsn {
        "cat /sys/class/net/DEV/vtsn/irq"
    } else {
        concat!("sh -c 'cd /sys/class/net/DEV/device && { ", of_device!(), "; }'")
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn interrupts_of_platform_devices_are_found_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for (irq, actions) in [
            (9, "acpi"),
            (31, "eth1:rx-0"),
            (30, "eth1-tx-0"),
            (32, "uart,30be0000.ethernet"),
            (33, "eth10"),
            (34, "eth1"),
            (35, "30be0000.ethernet:ptp"),
            (36, ""),
        ] {
            let irq = folder.path().join(irq.to_string());
            fs::create_dir(&irq).unwrap();
            fs::write(irq.join("actions"), format!("{actions}\n")).unwrap();
        }
        assert_eq!(named(folder.path(), ["eth1", "30be0000.ethernet"]), [30, 31, 32, 34, 35]);
    }

    #[test]
    fn the_command_takes_what_is_listed_before_what_is_named() {
        let device = tempfile::tempdir().unwrap();
        let listed = || {
            let mut shell = Command::new("sh");
            let command = of_device!().replace("DEV", "no-such-if0");
            let output = shell.arg("-c").arg(command).current_dir(device.path()).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let write = |file: &str, text: &str| fs::write(device.path().join(file), text).unwrap();
        write("irq", "0\n");
        assert_eq!(listed(), "", "0 is none");
        fs::create_dir(device.path().join("msi_irqs")).unwrap();
        write("irq", "17\n");
        assert_eq!(listed(), "17\n", "no MSI is in use");
        write("msi_irqs/24", "msix");
        write("msi_irqs/25", "msix");
        assert_eq!(listed(), "24\n25\n");
    }

    /// Of whatever NICs this machine has.
    #[test]
    fn the_command_lists_what_is_found() {
        let sysfs = Sysfs::open_or_mounted();
        for ifname in crate::nic::names().unwrap() {
            let found = shown_by(&sysfs, &ifname);
            let mut shell = Command::new("sh");
            let output = shell.arg("-c").arg(COMMAND.replace("DEV", &ifname)).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let mut listed: Vec<u32> = text.lines().map(|irq| irq.parse().unwrap()).collect();
            listed.sort_unstable();
            assert_eq!(listed, found, "{ifname}");
        }
    }
}
