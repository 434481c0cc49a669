//! What a guest in which programs run has beside `teiji`: a shell, Debian's programs, modules at hand.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use teiji_experiment::Nic;
use teiji_lab::arch::Arch;
use teiji_lab::cache::{Cache, Progress};
use teiji_lab::kernel::{Kernel, Plugin};
use teiji_run::lab::GuestFile;

use crate::exit;

/// What people and scripts may ask tc, ip and modprobe for in the guest.
const AT_HAND: [&str; 27] = [
    "8021q",
    "act_gact",
    "act_gate",
    "act_mirred",
    "act_skbedit",
    "act_vlan",
    "bonding",
    "bridge",
    "cls_basic",
    "cls_flower",
    "cls_fw",
    "cls_matchall",
    "cls_u32",
    "dummy",
    "ifb",
    "ipvlan",
    "macsec",
    "macvlan",
    "macvtap",
    "netconsole",
    "pktgen",
    "ptp",
    "sch_ingress",
    "sch_multiq",
    "sch_netem",
    "sch_tbf",
    "vxlan",
];

/// The kernel's qdiscs that Teiji uses.
pub const QDISCS: [&str; 5] = ["sch_etf", "sch_mqprio", "sch_prio", "sch_taprio", "sch_cbs"];

/// Those of [`AT_HAND`] that this kernel has.
pub fn at_hand(kernel: &Kernel) -> Vec<&'static str> {
    AT_HAND.into_iter().filter(|module| kernel.has_module(module)).collect()
}

/// The named plug-ins for iproute2, where its programs look for them.
pub fn plugin_files(names: &[&str], arch: Arch) -> anyhow::Result<Vec<GuestFile>> {
    let file = |name: &&str| {
        let plugin = Plugin::build(name, arch)?;
        Ok((plugin.path, 0o644, plugin.library))
    };
    names.iter().map(file).collect()
}

/// The programs of a guest.
pub struct GuestPrograms {
    /// Busybox, and what leads to it and to `teiji`.
    pub files: Vec<GuestFile>,
    /// The packages' files.
    pub trees: Vec<PathBuf>,
}

impl GuestPrograms {
    /// Fetches busybox and the named packages. With packages dash is the shell:
    /// busybox's runs its own `ip` and `tc` whatever PATH says.
    pub fn fetch(
        cache: &Cache,
        packages: &[&str],
        arch: Arch,
        progress: &mut dyn Progress,
    ) -> anyhow::Result<Self> {
        let busybox = cache.package("busybox-static", arch, progress)?;
        let mut trees = Vec::new();
        if !packages.is_empty() {
            trees = cache.guest_packages(&[&["dash"], packages].concat(), arch, progress)?;
        }
        Ok(Self { files: busybox_files(&busybox, trees.is_empty())?, trees })
    }
}

/// Busybox, as the guest's shell too if there is no other.
fn busybox_files(package: &Path, as_shell: bool) -> anyhow::Result<Vec<GuestFile>> {
    let paths = ["bin/busybox", "usr/bin/busybox"].map(|name| package.join(name));
    let found = paths.iter().find(|path| path.exists());
    let Some(program) = found else { bail!("the package busybox-static holds no busybox") };
    let program = fs::read(program).context("cannot read busybox")?;
    let script = |text: &str| format!("#!/bin/busybox sh\n{text}\n").into_bytes();
    let mut files = vec![
        ("bin/busybox".to_owned(), 0o755, program.clone()),
        ("bin/teiji".to_owned(), 0o755, script("exec /init \"$@\"")),
        // The kernel calls it by this path.
        ("sbin/modprobe".to_owned(), 0o755, script("exec /bin/busybox modprobe \"$@\"")),
        ("sbin/rmmod".to_owned(), 0o755, script("exec /bin/busybox rmmod \"$@\"")),
        ("root/.keep".to_owned(), 0o644, Vec::new()),
    ];
    if as_shell {
        files.push(("bin/sh".to_owned(), 0o755, program));
    }
    Ok(files)
}

/// The NIC of this name, for the command line.
pub fn emulated_nic(text: &str) -> Result<Nic, String> {
    Nic::EMULATED.into_iter().find(|nic| nic.name() == text).ok_or_else(|| {
        let names: Vec<&str> = Nic::EMULATED.iter().map(|nic| nic.name()).collect();
        format!("there is no NIC `{text}`; there are {}", names.join(", "))
    })
}

/// The user's files, in the guest's `/root`.
pub fn files_inside(files: &[PathBuf]) -> anyhow::Result<Vec<GuestFile>> {
    let inside = files.iter().map(|path| {
        let contents = fs::read(path).map_err(|error| exit::unreadable(path, &error))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok((format!("root/{name}"), 0o755, contents))
    });
    inside.collect()
}
