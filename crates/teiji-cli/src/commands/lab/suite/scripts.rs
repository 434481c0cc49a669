//! The test scripts that a person named, and what lies beside them.

use std::fs;
use std::path::{Path, PathBuf};

use teiji_lab::suite::Needs;

use crate::exit::{self, mistake};
use crate::output;

/// A script as it was read.
pub struct Script {
    pub name: String,
    pub text: String,
}

/// The scripts in the order of their names, which is the order of running.
pub fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<Script>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(files_with(path, "sh")?);
        } else {
            files.push(path.clone());
        }
    }
    files.sort();
    if files.is_empty() {
        mistake!("no script (*.sh) in {}", paths[0].display());
    }
    files.iter().map(|path| read_script(path)).collect()
}

/// Those that do not take long; says which do.
pub fn without_long(scripts: Vec<Script>) -> anyhow::Result<Vec<Script>> {
    let mut short = Vec::new();
    for script in scripts {
        match Needs::of(&script.text).long {
            None => short.push(script),
            Some(why) => {
                let name = script.name;
                output::line(format_args!("– {name}: left out, it takes long: {why}"))?;
            }
        }
    }
    if short.is_empty() {
        mistake!("every script here takes long, and --short leaves those out");
    }
    Ok(short)
}

/// What the scripts of a folder share.
pub fn includes(paths: &[PathBuf]) -> anyhow::Result<Vec<Script>> {
    let mut folders: Vec<&Path> = paths
        .iter()
        .filter_map(|path| if path.is_dir() { Some(path.as_path()) } else { path.parent() })
        .collect();
    folders.dedup();
    let mut includes = Vec::new();
    for folder in folders {
        // A script that is named without its folder lies here.
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        for path in files_with(folder, "inc")? {
            includes.push(read_script(&path)?);
        }
    }
    Ok(includes)
}

fn files_with(folder: &Path, extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| exit::unreadable(folder, &error))?;
    let all = entries.flatten().map(|entry| entry.path());
    Ok(all.filter(|file| file.extension().is_some_and(|end| end == extension)).collect())
}

fn read_script(path: &Path) -> anyhow::Result<Script> {
    let text = fs::read_to_string(path).map_err(|error| exit::unreadable(path, &error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Script { name, text })
}
