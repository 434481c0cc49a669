//! The commands of docs/tutorial.md, as they stand on the page.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{CommandOutput, output_of, repository};

/// The page's blocks with this mark, one after the other, of which there are some.
pub fn commands(mark: &str, at_least: usize) -> String {
    let page = fs::read_to_string(repository().join("docs/tutorial.md")).unwrap();
    let mark = format!("```sh {mark}\n");
    let blocks = page.split(&mark).skip(1).map(|rest| rest.split("```").next());
    let blocks: Option<Vec<&str>> = blocks.collect();
    let blocks = blocks.unwrap();
    assert!(blocks.len() >= at_least, "the page has other marks");
    blocks.concat()
}

/// Runs a script in a folder that has the experiments. `teiji` is the one that was just built.
pub fn shell(folder: &Path, script: &str) -> CommandOutput {
    std::os::unix::fs::symlink(repository().join("experiments"), folder.join("experiments"))
        .unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_teiji"));
    let path =
        format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.current_dir(folder).env("PATH", path).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    output_of(&shell.args(["-e", "-c", script]).output().unwrap())
}
