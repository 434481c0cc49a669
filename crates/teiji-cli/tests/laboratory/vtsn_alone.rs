//! Modules as people use them without Teiji: the commands of vtsn's README, and DKMS.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{repository, teiji};

/// The commands in the README's blocks of `sh`, each in one line.
fn commands(readme: &str) -> Vec<String> {
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let text: String = blocks.collect();
    let lines = text.replace("\\\n", " ");
    let lines = lines.lines().map(|line| line.split(" #").next().unwrap_or_default());
    let words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    words.filter(|line| !line.is_empty()).collect()
}

/// A suite script of them. What ends in `&` must still run a second later.
fn script(commands: &[String]) -> String {
    let mut text = String::from("#!/bin/sh\n# The README's commands.\n#\n# module: vtsn\n");
    for module in ["sch_mqprio", "sch_etf", "sch_cbs", "sch_taprio"] {
        let _ = writeln!(text, "# module: {module}");
    }
    for package in ["iproute2", "ethtool", "linuxptp"] {
        let _ = writeln!(text, "# package: {package}");
    }
    text.push_str("# plugin: vtsn/ip/link_vtsn.c\n. /suite/lib\nmust modprobe vtsn\n");
    for command in commands {
        let quoted = command.replace('\'', r"'\''");
        let _ = match command.strip_suffix('&') {
            Some(program) => writeln!(
                text,
                "{program} >log 2>&1 &\nsleep 1\ncheck '{quoted}' kill -0 $!\nkill $!"
            ),
            None => writeln!(text, "check '{quoted}' {command}"),
        };
    }
    text.push_str("rmmod vtsn\nip netns del B\nend\n");
    text
}

#[test]
fn every_command_of_the_readme_works() {
    let readme = std::fs::read_to_string(repository().join("kernel/vtsn/README.md")).unwrap();
    let commands = commands(&readme);
    assert!(commands.len() >= 15, "{commands:#?}");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("readme.sh"), script(&commands)).unwrap();
    let result = teiji(&["lab", "suite", dir.path().to_str().unwrap()]);
    assert_eq!(result.code, 0, "{}{}", result.out, result.err);
    let found = format!("readme.sh: {} true", commands.len());
    assert!(result.out.contains(&found), "no `{found}` in {}", result.out);
}

#[test]
fn a_command_that_fails_is_noticed() {
    let readme =
        "```sh\nip link add va type vtsn\nip link set none \\\n    up   # no such port\n```";
    let dir = tempfile::tempdir().unwrap();
    let text = script(&commands(readme));
    assert!(text.contains("check 'ip link set none up' ip link set none up\n"), "{text}");
    std::fs::write(dir.path().join("readme.sh"), text).unwrap();
    let result = teiji(&["lab", "suite", dir.path().to_str().unwrap()]);
    assert_eq!(result.code, 1, "{}{}", result.out, result.err);
    assert!(result.out.contains("failed: ip link set none up: "), "{}", result.out);
}

/// The newest cached build tree of a kernel, and the kernel's release.
fn build_tree() -> (PathBuf, String) {
    // Fetches it, if it is not there.
    let result = teiji(&["lab", "build", "--module", "vtsn", "--kernel", "debian:6.12"]);
    assert_eq!(result.code, 0, "{}{}", result.out, result.err);
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"),
        PathBuf::from,
    );
    let trees = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let sources = trees(&cache.join("teiji/headers")).into_iter().map(|p| p.join("root/usr/src"));
    let mut found: Vec<_> = sources
        .flat_map(|source| trees(&source))
        .filter_map(|tree| {
            let name = tree.file_name()?.to_str()?.to_owned();
            let release = name.strip_prefix("linux-headers-")?;
            let wanted = release.starts_with("6.12.")
                && release.ends_with("-amd64")
                && !release.ends_with("-rt-amd64");
            wanted.then(|| (tree, release.to_owned()))
        })
        .collect();
    found.sort();
    found.pop().expect("the headers that vtsn was built with")
}

#[test]
fn dkms_builds_modules_from_the_tree_that_the_script_writes() {
    if Command::new("dkms").arg("--version").output().is_err() {
        return println!("SKIP: no dkms here");
    }
    let (kernel, release) = build_tree();
    // Who uses dkms has the compiler of the own kernel, and this is a kernel of Debian 12.
    let variables = std::fs::read_to_string(kernel.join(".kernelvariables")).unwrap();
    let compiler = variables.lines().find_map(|line| line.strip_prefix("CC = ")).unwrap();
    let compiler = compiler.rsplit([' ', ')']).next().unwrap();
    if Command::new(format!("x86_64-linux-gnu-{compiler}")).arg("--version").output().is_err() {
        return println!("SKIP: no {compiler} here, which this kernel's modules are built with");
    }
    for module in ["vtsn", "prioflow"] {
        dkms_builds(module, &kernel, &release);
    }
}

/// In a folder of its own: nothing is added to this system, and nothing is installed.
fn dkms_builds(module: &str, kernel: &Path, release: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (sources, dkms_tree) = (path("src"), path("dkms"));
    std::fs::create_dir(&sources).unwrap();
    std::fs::create_dir(&dkms_tree).unwrap();
    let run = |program: &str, args: &[&str]| {
        let done = Command::new(program).args(args).output().unwrap();
        let out = String::from_utf8_lossy(&done.stdout).into_owned();
        let log = format!("dkms/{module}/{}/build/make.log", env!("CARGO_PKG_VERSION"));
        let log = std::fs::read_to_string(dir.path().join(log));
        let error = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{program}:\n{out}{error}{}", log.unwrap_or_default());
        out
    };
    let write = repository().join("kernel/dkms");
    let tree = run(write.to_str().unwrap(), &[module, &sources]);
    let version = tree.trim().rsplit('-').next().unwrap().to_owned();
    let places = ["--dkmstree", &dkms_tree, "--sourcetree", &sources];
    run("dkms", &[&["add", "-m", module, "-v", &version], &places[..]].concat());
    let build = ["build", "-m", module, "-v", &version, "-k", release];
    let kernel = kernel.to_str().unwrap();
    run("dkms", &[&build[..], &["--kernelsourcedir", kernel], &places[..]].concat());
    let place = format!("{dkms_tree}/{module}/{version}/{release}");
    let found = run("find", &[&place, "-name", &format!("{module}.ko*")]);
    let info = run("/sbin/modinfo", &["-F", "vermagic", found.trim()]);
    assert!(info.starts_with(&format!("{release} ")), "{info}");
}
