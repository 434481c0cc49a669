//! `teiji lab shell`: a shell, or one command, in a guest.

use std::path::PathBuf;

use anyhow::Context;
use teiji_core::wire::MacAddr;
use teiji_experiment::{InstructionTime, Nic};
use teiji_lab::cache::Cache;
use teiji_lab::fetched::{Fetch, LIST_PATH};
use teiji_lab::machine::{Clock, Console, MOST_VCPUS, MachineSpec, NicSpec, Wire};
use teiji_lab::vm;
use teiji_run::lab::{GuestContents, write_initramfs};

use super::KernelArgs;
use super::guest_programs::{
    GuestPrograms, QDISCS, at_hand, emulated_nic, files_inside, plugin_files,
};
use crate::exit::{Exit, mistake};
use crate::output;
use crate::progress::Progress;

/// Open a shell in a guest with two NICs on a wire.
///
/// `poweroff`, or leaving the shell, ends it.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    kernel: KernelArgs,
    /// The NICs.
    #[arg(long, default_value = "igb", value_parser = emulated_nic)]
    nic: Nic,
    /// Put this file into the guest's /root; may be given several times.
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Load this kernel module, Teiji's or the kernel's; may be given several times.
    #[arg(long, value_name = "NAME")]
    module: Vec<String>,
    /// Put the programs of this Debian package into the guest, with the libraries
    /// they need; may be given several times.
    #[arg(long, value_name = "NAME")]
    package: Vec<String>,
    /// Add this plug-in to the tc or ip of the package iproute2: a source file below kernel/, as
    /// `prioflow/tc/q_prioflow.c`; may be given several times.
    #[arg(long, value_name = "SOURCE")]
    plugin: Vec<String>,
    /// Copy this file out of the guest to the folder of --into when the shell ends; may be given
    /// several times. A relative path begins in /root.
    #[arg(long, value_name = "PATH")]
    fetch: Vec<String>,
    /// The target folder of --fetch.
    #[arg(long, value_name = "DIR", default_value = ".", requires = "fetch")]
    into: PathBuf,
    /// Virtual CPUs.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_VCPUS)))]
    cpus: u16,
    /// Run in virtual time: deterministic, without idle time.
    #[arg(long)]
    virtual_time: bool,
    /// Run this command in the guest instead of a shell, then power off. A single word is a shell
    /// command line: -- 'ip link; uname'.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    // Before anything is fetched.
    let mut files = files_inside(&args.file)?;
    let fetch = match Fetch::new(&args.fetch, &args.into) {
        Ok(fetch) => fetch,
        Err(error) => mistake!("{error}"),
    };
    if !fetch.is_empty() {
        fetch.make_folder()?;
        files.push((LIST_PATH.to_owned(), 0o644, fetch.list().into_bytes()));
    }
    let progress = Progress::new(false);
    let mut steps = progress.cache_steps();
    let cache = Cache::open()?;
    let mut kernel = cache.kernel(&args.kernel.spec()?, &mut steps)?;
    let wanted: Vec<&str> = args.module.iter().map(String::as_str).collect();
    cache.add_modules(&mut kernel, &wanted, &mut steps)?;
    let arch = kernel.arch;
    let qemu = cache.qemu(arch, &mut steps)?;
    let packages: Vec<&str> = args.package.iter().map(String::as_str).collect();
    let programs = GuestPrograms::fetch(&cache, &packages, arch, &mut steps)?;
    drop(steps);
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let initramfs = scratch.path().join("initramfs");
    let modules = ["virtio_pci", "virtio_console", args.nic.module(), "af_packet", "veth"];
    let loaded = [&modules[..], &QDISCS, &wanted].concat();
    files.push(("etc/profile".to_owned(), 0o644, profile(&args.command).into_bytes()));
    files.extend(programs.files);
    let plugins: Vec<&str> = args.plugin.iter().map(String::as_str).collect();
    files.extend(plugin_files(&plugins, arch)?);
    let contents = GuestContents {
        loaded: &loaded,
        at_hand: &at_hand(&kernel),
        files: &files,
        trees: &programs.trees,
        ..GuestContents::default()
    };
    write_initramfs(&initramfs, &kernel, &contents)?;
    let machine = MachineSpec {
        arch,
        kernel: kernel.unpacked(scratch.path())?,
        initramfs,
        init_args: ["teiji.shell"]
            .iter()
            .chain(kernel.command_line())
            .map(|w| (*w).into())
            .collect(),
        memory_mib: kernel.memory_mib(512),
        vcpus: args.cpus,
        seed: 1,
        clock: if args.virtual_time { Clock::Virtual } else { Clock::Paced },
        instruction: InstructionTime::default(),
        console: Console::Terminal,
        results: scratch.path().join("results"),
        nics: (1..=2)
            .map(|end| NicSpec {
                model: args.nic,
                mac: MacAddr([0x02, 0x74, 0x65, 0x6a, 1, end]),
                wire: Wire::Hub(0),
                capture: None,
            })
            .collect(),
        management: None,
    };
    output::line(format_args!(
        "{} with two {} on a wire; `poweroff` or leaving the shell ends it",
        kernel.release, args.nic
    ))?;
    vm::run_interactive(qemu.command(), &machine)?;
    if !fetch.is_empty() {
        for path in fetch.write(&machine.results)? {
            output::line(format_args!("fetched {}", path.display()))?;
        }
    }
    Ok(Exit::Success)
}

/// What the shell does first: makes the programs' names, then runs the command.
fn profile(command: &[String]) -> String {
    // Busybox installs the names of its programs itself, and leaves those that are there.
    let mut profile = "/bin/busybox --install -s /bin 2>/dev/null\n\
                       export PATH=/usr/sbin:/usr/bin:/sbin:/bin\n\
                       alias poweroff='exit'\n\
                       cd /root\n"
        .to_owned();
    if !command.is_empty() {
        profile.push_str(&line(command));
        profile.push_str("\nexit\n");
    }
    profile
}

/// One word is a line of shell, several are a command and its arguments.
fn line(command: &[String]) -> String {
    if let [line] = command {
        return line.clone();
    }
    let quoted = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
    command.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commands_arguments_stay_what_they_are() {
        let line =
            |words: &[&str]| line(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        assert_eq!(line(&["ip link; uname"]), "ip link; uname");
        assert_eq!(line(&["sh", "-c", "echo 'a'"]), r"'sh' '-c' 'echo '\''a'\'''");
    }
}
