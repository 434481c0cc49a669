//! `teiji generate`: man pages and shell completions for packagers, a schema for editors.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{CommandFactory, Subcommand};
use clap_complete::Shell;

use super::Cli;
use crate::exit::Exit;
use crate::output;

/// Write man pages, shell completions or the JSON Schema of experiment files.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Write one man page per subcommand into a folder.
    Man {
        /// The folder; created if missing.
        folder: PathBuf,
    },
    /// Print the completions for a shell, for example `teiji generate completions bash >
    /// /etc/bash_completion.d/teiji`.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the JSON Schema of experiment files, for completion and checks in editors (taplo, Even
    /// Better TOML): `teiji generate schema > experiment.schema.json`.
    Schema,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut command = Cli::command();
    match &args.what {
        What::Man { folder } => man_pages(&mut command, folder)?,
        What::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut command, "teiji", &mut script);
            output::text(String::from_utf8_lossy(&script))?;
        }
        What::Schema => output::text(format!("{:#}\n", teiji_experiment::keys::json_schema()))?,
    }
    Ok(Exit::Success)
}

fn man_pages(command: &mut clap::Command, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    command.build();
    write_page(command, "teiji", folder)?;
    let names: Vec<String> = command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
        .map(|sub| sub.get_name().to_owned())
        .collect();
    for name in names {
        if let Some(sub) = command.find_subcommand(&name) {
            write_page(sub, &format!("teiji-{name}"), folder)?;
        }
    }
    Ok(())
}

fn write_page(command: &clap::Command, name: &str, folder: &Path) -> anyhow::Result<()> {
    let path = folder.join(format!("{name}.1"));
    let mut page = Vec::new();
    // The date would make the page differ from build to build.
    clap_mangen::Man::new(command.clone())
        .title(name.to_uppercase())
        .date("")
        .render(&mut page)
        .context("cannot render a man page")?;
    fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}
