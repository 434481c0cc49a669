//! The options `--bind` and `--hosts`: which NICs an experiment's hosts have, and the names that NICs may have.

use std::path::PathBuf;

use teiji_run::machines::Names;

/// The NICs of an experiment's hosts.
#[derive(clap::Args)]
pub struct Bind {
    /// The NICs of the hosts: HOST=INTERFACE of this machine, HOST=ssh:root@board/INTERFACE of
    /// another, or HOST=NAME of those that `teiji hosts` lists; separated by commas. This program
    /// is copied to other machines, and removed afterwards.
    #[arg(long, value_name = "BINDINGS", default_value = "")]
    bind: String,
    #[command(flatten)]
    names: NamesFile,
}

/// The file with names of NICs.
#[derive(clap::Args)]
pub struct NamesFile {
    /// The file with names of NICs. Default: ~/.config/teiji/hosts.toml
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
}

impl Bind {
    /// Whether no host has one.
    pub fn is_empty(&self) -> bool {
        self.bind.is_empty()
    }

    /// The bindings without names.
    pub fn interfaces(&self) -> anyhow::Result<String> {
        if self.is_empty() {
            return Ok(String::new());
        }
        Ok(self.names.read()?.resolve(&self.bind))
    }
}

impl NamesFile {
    /// The names; none without a file.
    pub fn read(&self) -> anyhow::Result<Names> {
        Ok(Names::read(self.hosts.as_deref())?)
    }

    /// Where they are read from.
    pub fn path(&self) -> Option<PathBuf> {
        self.hosts.clone().or_else(Names::of_user)
    }
}
