//! `teiji lab`: the laboratory's cache, and a shell in its guest.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use clap::Subcommand;
use teiji_core::wire::MacAddr;
use teiji_experiment::Nic;
use teiji_lab::cache::{Cache, Clean, Health};
use teiji_lab::kernel::KernelSpec;
use teiji_lab::machine::{Clock, Console, MachineSpec, NicSpec};
use teiji_lab::vm;

use crate::exit::Exit;
use crate::lab::write_initramfs;
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
    /// Open a shell in a guest with two network cards on a wire.
    ///
    /// `poweroff`, or leaving the shell, ends it.
    Shell {
        #[command(flatten)]
        kernel: KernelArgs,
        /// The cards.
        #[arg(long, default_value = "igb", value_parser = nic)]
        nic: Nic,
        /// Let the guest's time run freely: deterministic, idle time is skipped.
        #[arg(long)]
        virtual_time: bool,
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
    Nic::ALL.into_iter().find(|nic| nic.name() == text).ok_or_else(|| {
        let names: Vec<&str> = Nic::ALL.iter().map(|nic| nic.name()).collect();
        format!("there is no card `{text}`; there are {}", names.join(", "))
    })
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.what {
        What::Status => status(),
        What::Fetch(kernel) => fetch(&kernel.spec()?),
        What::Clean { all } => clean(*all),
        What::Shell { kernel, nic, virtual_time } => shell(&kernel.spec()?, *nic, *virtual_time),
    }
}

fn status() -> anyhow::Result<Exit> {
    let cache = Cache::open()?;
    println!("{}", cache.dir().display());
    let items = cache.status()?;
    if items.is_empty() {
        println!("  empty; `teiji lab fetch` fills it, and so does the first run");
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
        println!(
            "  {:16} {what}{more}, {} MB, fetched {}, {health}",
            names,
            item.bytes / 1_000_000,
            day(item.fetched_unix_s)
        );
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
    println!("kernel   {} ({})", kernel.release, kernel.name);
    println!("QEMU     {}", qemu.version);
    Ok(Exit::Success)
}

fn clean(all: bool) -> anyhow::Result<Exit> {
    let progress = Progress::new(false);
    let what = if all { Clean::All } else { Clean::Unused };
    let cleaned = Cache::open()?.clean(what, &mut progress.cache_steps())?;
    println!("removed {} items, {} MB", cleaned.items, cleaned.bytes / 1_000_000);
    Ok(Exit::Success)
}

fn shell(spec: &KernelSpec, nic: Nic, virtual_time: bool) -> anyhow::Result<Exit> {
    use std::io::IsTerminal;
    if !std::io::stdin().is_terminal() {
        eprintln!("standard input is no terminal: the guest's shell reads it all the same");
    }
    let progress = Progress::new(false);
    let mut steps = progress.cache_steps();
    let cache = Cache::open()?;
    let kernel = cache.kernel(spec, &mut steps)?;
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
    write_initramfs(&initramfs, &kernel, &modules, None, &shell_files(&busybox)?)?;
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
    println!(
        "{} with two {nic} on a wire; `poweroff` or leaving the shell ends it",
        kernel.release
    );
    vm::run_interactive(qemu.command(), &machine)?;
    Ok(Exit::Success)
}

/// Busybox under the names of its programs, and `teiji`.
fn shell_files(busybox: &Path) -> anyhow::Result<Vec<(String, u32, Vec<u8>)>> {
    let found = ["bin/busybox", "usr/bin/busybox"]
        .iter()
        .map(|name| busybox.join(name))
        .find(|path| path.exists());
    let Some(program) = found else { bail!("the package busybox-static holds no busybox") };
    let program = fs::read(&program).context("cannot read busybox")?;
    // The names are installed in the guest, by busybox itself.
    let profile = "/bin/busybox --install -s /bin\n\
                   export PATH=/bin\n\
                   ln -sf /init /bin/teiji\n\
                   alias poweroff='exit'\n";
    Ok(vec![
        ("bin/busybox".to_owned(), 0o755, program.clone()),
        ("bin/sh".to_owned(), 0o755, program),
        ("etc/profile".to_owned(), 0o644, profile.into()),
    ])
}
