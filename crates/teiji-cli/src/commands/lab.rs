//! `teiji lab`: the laboratory's cache, its kernel modules, a shell in its guest, and boards.

mod board;
mod build;
mod guest_programs;
mod shell;
mod suite;

pub use suite::{GuestArgs as GuestSuiteArgs, run_in_guest as run_suite_in_guest};

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use teiji_lab::cache::{Cache, Cached, Clean, Health, Kind};
use teiji_lab::kernel::KernelSpec;

use crate::exit::Exit;
use crate::output;
use crate::progress::Progress;

/// Manage the laboratory: its cache, kernel modules, shell, boards and test scripts.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the cache, and check whether it is intact.
    Status,
    /// Download missing entries and newer versions from Debian.
    Fetch(KernelArgs),
    /// Remove unreferenced cache entries.
    Clean {
        /// Remove everything.
        #[arg(long)]
        all: bool,
    },
    /// Build Teiji's kernel modules, and print their paths.
    Build(build::Args),
    /// Open a shell in a guest with two NICs on a wire.
    ///
    /// `poweroff`, or leaving the shell, ends it.
    Shell(shell::Args),
    /// Start a board: a guest in real time that is reached by SSH.
    ///
    /// It runs until Ctrl-C, or until `poweroff` on the board. Two boards of one wire reach each
    /// other through their NIC wire0. docs/boards.md.
    Board(board::Args),
    /// Run test scripts for a kernel module in a guest, and check its kernel log.
    Suite(suite::Args),
}

#[derive(clap::Args)]
struct KernelArgs {
    /// The kernel: debian:6.12-rt (the default), debian:6.1-rt, debian:6.12, …, debian:newest-rt;
    /// for ARM with /arm64 or /armhf, as debian:6.12-rt/arm64; debug-rt or debug (built first; they
    /// find errors in modules); or the path of an image, with --modules.
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

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.what {
        What::Status => status(),
        What::Fetch(kernel) => fetch(&kernel.spec()?),
        What::Clean { all } => clean(*all),
        What::Build(args) => build::run(args),
        What::Shell(args) => shell::run(args),
        What::Board(args) => board::run(args),
        What::Suite(args) => suite::run(args),
    }
}

fn status() -> anyhow::Result<Exit> {
    let cache = Cache::open()?;
    output::line(cache.dir().display())?;
    let items = cache.status()?;
    if items.is_empty() {
        output::line("  empty; `teiji lab fetch` fills it, and so does the first run")?;
    }
    let bytes: u64 = items.iter().map(|item| item.bytes).sum();
    let (count, mut damaged) = (items.len(), 0);
    let rows: Vec<_> = items.into_iter().map(|item| (names(&item), item)).collect();
    let width = rows.iter().map(|(names, _)| names.len()).max().unwrap_or(0);
    let mut kind = None;
    for (names, item) in rows {
        if kind.replace(item.kind) != Some(item.kind) {
            output::line(heading(item.kind))?;
        }
        let (megabytes, day) = (item.bytes.div_ceil(1_000_000), day(item.fetched_unix_s));
        let health = match &item.health {
            Health::Whole => "intact".to_owned(),
            Health::Damaged(how) => {
                damaged += 1;
                format!("damaged ({how}): it is fetched again when it is next needed")
            }
        };
        let packages = packages(&item);
        output::line(format_args!(
            "  {names:width$}  {megabytes:4} MB  {day}  {health}  {packages}"
        ))?;
    }
    if count > 0 {
        let verdict = if damaged == 0 { "OK".to_owned() } else { format!("{damaged} damaged") };
        let megabytes = bytes.div_ceil(1_000_000);
        output::line(format_args!("{count} items, {megabytes} MB in total: {verdict}"))?;
    }
    Ok(if damaged == 0 { Exit::Success } else { Exit::Failure })
}

fn heading(kind: Kind) -> &'static str {
    match kind {
        Kind::Kernel => "kernels",
        Kind::Qemu => "QEMU",
        Kind::Package => "programs for guests",
        Kind::Headers => "headers, to build modules with",
        Kind::Module => "modules",
        Kind::DebugKernel => "debug kernels",
        Kind::Toolchain => "compilers",
    }
}

/// What stands for an item of the cache.
fn names(item: &Cached) -> String {
    if item.names.is_empty() { "unused".to_owned() } else { item.names.join(", ") }
}

/// The package that was requested, and how many came with it.
fn packages(item: &Cached) -> String {
    match item.packages.as_slice() {
        [] => String::new(),
        [only] => format!("{} {}", only.name, only.version),
        [first, more @ ..] => format!("{} {} and {} more", first.name, first.version, more.len()),
    }
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
    let qemu = cache.refresh_qemu(kernel.arch, &mut steps)?;
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
