//! `teiji lab`: the laboratory's cache, and a shell in its guest.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use clap::Subcommand;
use teiji_core::wire::MacAddr;
use teiji_experiment::Nic;
use teiji_lab::cache::{Cache, Clean, Health};
use teiji_lab::kernel::{KernelSpec, ModuleSource, Strictness};
use teiji_lab::machine::{Clock, Console, MachineSpec, NicSpec};
use teiji_lab::vm;

use crate::exit::Exit;
use crate::lab::write_initramfs;
use crate::output;
use crate::progress::Progress;

/// Look after the laboratory: what it needs is fetched once and cached.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Show what is cached, and whether it is intact.
    Status,
    /// Fetch what is missing, and ask Debian for newer versions.
    Fetch(KernelArgs),
    /// Remove what no name stands for any more.
    Clean {
        /// Remove everything.
        #[arg(long)]
        all: bool,
    },
    /// Build Teiji's kernel modules, and print where they are.
    Build {
        #[command(flatten)]
        kernel: KernelArgs,
        /// Build this module only; may be given several times.
        #[arg(long, value_name = "NAME")]
        module: Vec<String>,
        /// Take warnings for errors and keep nothing: for those who change a module.
        #[arg(long)]
        check: bool,
    },
    /// Open a shell in a guest with two network cards on a wire.
    ///
    /// `poweroff`, or leaving the shell, ends it.
    Shell {
        #[command(flatten)]
        kernel: KernelArgs,
        /// The cards.
        #[arg(long, default_value = "igb", value_parser = nic)]
        nic: Nic,
        /// Put this file into the guest's /root; may be given several times.
        #[arg(long, value_name = "FILE")]
        file: Vec<PathBuf>,
        /// Load this kernel module, Teiji's or the kernel's; may be given several times.
        #[arg(long, value_name = "NAME")]
        module: Vec<String>,
        /// Let the guest's time run freely: deterministic, idle time is skipped.
        #[arg(long)]
        virtual_time: bool,
        /// Run this command in the guest instead of a shell, then switch off.
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
}

#[derive(clap::Args)]
struct KernelArgs {
    /// The kernel: debian:6.12-rt (the default), debian:6.1-rt, debian:6.12, …,
    /// or the path of an image, with --modules.
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<String>,
    /// The modules of a kernel image: a folder like /lib/modules/6.12.1-rt.
    #[arg(long, value_name = "DIR")]
    modules: Option<PathBuf>,
}

impl KernelArgs {
    fn spec(&self) -> anyhow::Result<KernelSpec> {
        Ok(KernelSpec::from_options(self.kernel.as_deref(), self.modules.as_deref())?)
    }
}

fn nic(text: &str) -> Result<Nic, String> {
    Nic::EMULATED.into_iter().find(|nic| nic.name() == text).ok_or_else(|| {
        let names: Vec<&str> = Nic::EMULATED.iter().map(|nic| nic.name()).collect();
        format!("there is no card `{text}`; there are {}", names.join(", "))
    })
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.what {
        What::Status => status(),
        What::Fetch(kernel) => fetch(&kernel.spec()?),
        What::Clean { all } => clean(*all),
        What::Build { kernel, module, check } => build(&kernel.spec()?, module, *check),
        What::Shell { kernel, nic, file, module, virtual_time, command } => {
            let inside = shell_inside(file, command)?;
            shell(&kernel.spec()?, *nic, module, *virtual_time, &inside)
        }
    }
}

fn status() -> anyhow::Result<Exit> {
    let cache = Cache::open()?;
    output::line(cache.dir().display())?;
    let items = cache.status()?;
    if items.is_empty() {
        output::line("  empty; `teiji lab fetch` fills it, and so does the first run")?;
    }
    let mut exit = Exit::Success;
    for item in items {
        let packages: Vec<String> =
            item.packages.iter().map(|p| format!("{} {}", p.name, p.version)).collect();
        let what = packages.first().cloned().unwrap_or_default();
        let more = match packages.len() {
            0 | 1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let names = if item.names.is_empty() { "unused".to_owned() } else { item.names.join(", ") };
        let health = match &item.health {
            Health::Whole => "intact".to_owned(),
            Health::Damaged(how) => {
                exit = Exit::Failure;
                format!("damaged ({how}): it is fetched again when it is next needed")
            }
        };
        output::line(format_args!(
            "  {:16} {what}{more}, {} MB, fetched {}, {health}",
            names,
            item.bytes / 1_000_000,
            day(item.fetched_unix_s)
        ))?;
    }
    Ok(exit)
}

fn day(unix_s: u64) -> String {
    let time: SystemTime = UNIX_EPOCH + Duration::from_secs(unix_s);
    humantime::format_rfc3339_seconds(time).to_string().chars().take(10).collect()
}

fn fetch(spec: &KernelSpec) -> anyhow::Result<Exit> {
    let progress = Progress::new(false);
    let mut steps = progress.cache_steps();
    let cache = Cache::open()?;
    let kernel = cache.refresh_kernel(spec, &mut steps)?;
    let qemu = cache.refresh_qemu(&mut steps)?;
    drop(steps);
    output::line(format_args!("kernel   {} ({})", kernel.release, kernel.name))?;
    output::line(format_args!("QEMU     {}", qemu.version))?;
    Ok(Exit::Success)
}

fn clean(all: bool) -> anyhow::Result<Exit> {
    let progress = Progress::new(false);
    let what = if all { Clean::All } else { Clean::Unused };
    let cleaned = Cache::open()?.clean(what, &mut progress.cache_steps())?;
    let megabytes = cleaned.bytes / 1_000_000;
    output::line(format_args!("removed {} items, {megabytes} MB", cleaned.items))?;
    Ok(Exit::Success)
}

fn build(spec: &KernelSpec, names: &[String], check: bool) -> anyhow::Result<Exit> {
    let names = match names {
        [] => ModuleSource::names().map(str::to_owned).collect(),
        given => given.to_vec(),
    };
    let progress = Progress::new(false);
    let mut steps = progress.cache_steps();
    let cache = Cache::open()?;
    let kernel = cache.kernel(spec, &mut steps)?;
    for name in names {
        let Some(source) = ModuleSource::embedded(&name) else {
            let all: Vec<_> = ModuleSource::names().collect();
            bail!("Teiji has no kernel module `{name}`; it has {}", all.join(", "));
        };
        if check {
            let strictness = Strictness { warnings: true, sparse: have_sparse() };
            cache.check_module(&kernel, &source, strictness, &mut steps)?;
            let with =
                if strictness.sparse { ", W=1 and sparse" } else { " and W=1 (no sparse here)" };
            println!("{name} for {}: no warnings with -Werror{with}", kernel.release);
        } else {
            let path = cache.module(&kernel, &source, &mut steps)?;
            println!("{}", path.display());
        }
    }
    Ok(Exit::Success)
}

/// Whether the checker `sparse` is on this machine.
fn have_sparse() -> bool {
    std::process::Command::new("sparse").arg("--version").output().is_ok()
}

/// What a person may ask tc, ip and modprobe for in the guest.
const AT_HAND: [&str; 22] = [
    "8021q",
    "act_gact",
    "act_gate",
    "act_mirred",
    "act_skbedit",
    "act_vlan",
    "bridge",
    "cls_basic",
    "cls_flower",
    "cls_fw",
    "cls_matchall",
    "cls_u32",
    "dummy",
    "ifb",
    "macvlan",
    "netconsole",
    "pktgen",
    "ptp",
    "sch_ingress",
    "sch_multiq",
    "sch_netem",
    "sch_tbf",
];

fn shell(
    spec: &KernelSpec,
    nic: Nic,
    own_modules: &[String],
    virtual_time: bool,
    files: &[GuestFile],
) -> anyhow::Result<Exit> {
    let progress = Progress::new(false);
    let mut steps = progress.cache_steps();
    let cache = Cache::open()?;
    let mut kernel = cache.kernel(spec, &mut steps)?;
    let own_modules: Vec<&str> = own_modules.iter().map(String::as_str).collect();
    cache.add_modules(&mut kernel, &own_modules, &mut steps)?;
    let qemu = cache.qemu(&mut steps)?;
    let busybox = cache.package("busybox-static", &mut steps)?;
    drop(steps);
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let initramfs = scratch.path().join("initramfs");
    let modules = [
        "virtio_pci",
        "virtio_console",
        nic.module(),
        "af_packet",
        "veth",
        "sch_etf",
        "sch_mqprio",
        "sch_prio",
        "sch_taprio",
        "sch_cbs",
    ];
    let modules = [&modules[..], &own_modules].concat();
    let at_hand: Vec<_> = AT_HAND.into_iter().filter(|module| kernel.has_module(module)).collect();
    write_initramfs(
        &initramfs,
        &kernel,
        &modules,
        &at_hand,
        None,
        &[files, &busybox_files(&busybox)?].concat(),
    )?;
    let machine = MachineSpec {
        kernel: kernel.image.clone(),
        initramfs,
        init_args: vec!["teiji.shell".to_owned()],
        memory_mib: 512,
        seed: 1,
        clock: if virtual_time { Clock::Virtual } else { Clock::Paced },
        console: Console::Terminal,
        results: scratch.path().join("results"),
        nics: (1..=2)
            .map(|end| NicSpec {
                model: nic,
                mac: MacAddr([0x02, 0x74, 0x65, 0x6a, 1, end]),
                wire: 0,
                capture: None,
            })
            .collect(),
    };
    output::line(format_args!(
        "{} with two {nic} on a wire; `poweroff` or leaving the shell ends it",
        kernel.release
    ))?;
    vm::run_interactive(qemu.command(), &machine)?;
    Ok(Exit::Success)
}

/// A file of the guest: path, mode, contents.
type GuestFile = (String, u32, Vec<u8>);

/// The user's files and command, and what the shell does first.
fn shell_inside(files: &[PathBuf], command: &[String]) -> anyhow::Result<Vec<GuestFile>> {
    // Busybox installs its programs' names itself.
    let mut profile = "/bin/busybox --install -s /bin\n\
                       export PATH=/bin\n\
                       mkdir -p /sbin /root\n\
                       ln -sf /bin/busybox /sbin/modprobe\n\
                       ln -sf /init /bin/teiji\n\
                       alias poweroff='exit'\n\
                       cd /root\n"
        .to_owned();
    if !command.is_empty() {
        profile.push_str(&command.join(" "));
        profile.push_str("\nexit\n");
    }
    let mut inside = vec![("etc/profile".to_owned(), 0o644, profile.into_bytes())];
    for path in files {
        let contents = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        inside.push((format!("root/{name}"), 0o755, contents));
    }
    Ok(inside)
}

fn busybox_files(package: &Path) -> anyhow::Result<Vec<GuestFile>> {
    let paths = ["bin/busybox", "usr/bin/busybox"].map(|name| package.join(name));
    let found = paths.iter().find(|path| path.exists());
    let Some(program) = found else { bail!("the package busybox-static holds no busybox") };
    let program = fs::read(program).context("cannot read busybox")?;
    Ok(vec![
        ("bin/busybox".to_owned(), 0o755, program.clone()),
        ("bin/sh".to_owned(), 0o755, program),
    ])
}
