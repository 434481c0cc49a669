//! `teiji lab build`: Teiji's kernel modules, built for a kernel.

use std::path::PathBuf;

use teiji_lab::cache::Cache;
use teiji_lab::kernel::{Kernel, ModuleSource, Strictness};

use super::KernelArgs;
use crate::exit::{Exit, mistake};
use crate::output;
use crate::progress::Progress;

/// Build Teiji's kernel modules, and print their paths.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    kernel: KernelArgs,
    /// Build this module only; may be given several times.
    #[arg(long, value_name = "NAME")]
    module: Vec<String>,
    /// Build the module in this folder instead; the folder has the module's name. May be given several
    /// times.
    #[arg(long, value_name = "DIR", conflicts_with = "module")]
    source: Vec<PathBuf>,
    /// Treat warnings as errors, and keep no result: for developers of a module.
    #[arg(long)]
    check: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let progress = Progress::new(false);
    let mut steps = progress.cache_steps();
    let cache = Cache::open()?;
    let kernel = cache.kernel(&args.kernel.spec()?, &mut steps)?;
    let sources = if args.source.is_empty() {
        embedded(&args.module, &kernel)?
    } else {
        args.source.iter().map(|dir| ModuleSource::read(dir)).collect::<Result<_, _>>()?
    };
    for source in sources {
        let name = source.name();
        if args.check {
            let strictness = Strictness { warnings: true, sparse: have_sparse() };
            let checked = cache.check_module(&kernel, &source, strictness, &mut steps)?;
            let with =
                if checked.sparse { ", W=1 and sparse" } else { " and W=1 (without sparse)" };
            output::line(format_args!(
                "{name} for {}: no warnings with -Werror{with}",
                kernel.release
            ))?;
        } else {
            let path = cache.module(&kernel, &source, &mut steps)?;
            output::line(path.display())?;
        }
    }
    Ok(Exit::Success)
}

/// Teiji's modules of these names; without names all that are for the kernel.
fn embedded(names: &[String], kernel: &Kernel) -> anyhow::Result<Vec<ModuleSource>> {
    let names: Vec<&str> = match names {
        [] => {
            ModuleSource::names().filter(|name| ModuleSource::is_for(name, kernel.arch)).collect()
        }
        given => given.iter().map(String::as_str).collect(),
    };
    let mut sources = Vec::new();
    for name in names {
        if !ModuleSource::is_for(name, kernel.arch) {
            mistake!("{name} is for amd64 only, and {} is for {}", kernel.name, kernel.arch);
        }
        let Some(source) = ModuleSource::embedded(name) else {
            let all: Vec<_> = ModuleSource::names().collect();
            mistake!("Teiji has no kernel module `{name}`; it has {}", all.join(", "));
        };
        sources.push(source);
    }
    Ok(sources)
}

/// Whether the checker `sparse` is on this machine.
fn have_sparse() -> bool {
    std::process::Command::new("sparse").arg("--version").output().is_ok()
}
