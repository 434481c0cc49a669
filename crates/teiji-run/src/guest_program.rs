//! This program for guests and other machines: itself, or its build for another architecture.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use teiji_lab::arch::Arch;
use teiji_remote::{Destination, Host, Program, SshOptions};

/// What every build has in its file: of the same sources the same. Both ends must agree on what
/// they tell each other.
fn sources() -> &'static [u8] {
    // Whole, not in pieces among the instructions of a comparison.
    std::hint::black_box(concat!("teiji-sources:", env!("TEIJI_SOURCES")).as_bytes())
}

/// The file of the program for guests and machines of `arch`.
///
/// # Errors
/// If there is no build for it beside this program, or it is one of other sources.
pub fn find(arch: Arch) -> anyhow::Result<PathBuf> {
    if arch == Arch::of_this_program() {
        // Also while another build is put in its place.
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    let own = std::env::current_exe().context("cannot find this program")?;
    let places = places(&own, arch);
    let Some(found) = places.iter().find(|path| path.is_file()) else {
        bail!(
            "a guest or machine of {arch} needs teiji built for {arch}, and there is none beside this program \
             (looked for {}): in its source folder call scripts/program-for {arch}",
            places.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
        );
    };
    let bytes = fs::read(found).with_context(|| format!("cannot read {}", found.display()))?;
    if !contains(&bytes, sources()) {
        bail!(
            "{} was built from other sources than this program: in its source folder call \
             scripts/program-for {arch}",
            found.display()
        );
    }
    Ok(found.clone())
}

/// Puts the program on another machine, by SSH.
///
/// # Errors
/// If the machine cannot be reached, has a processor that Teiji has no build for, or no room for it.
pub fn put_on(destination: Destination, options: SshOptions) -> anyhow::Result<Program> {
    let host = Arc::new(Host::connect(destination, options)?);
    let processor = host.processor()?;
    let Some(arch) = Arch::of_uname(&processor) else {
        let known: Vec<String> = Arch::ALL.iter().map(Arch::to_string).collect();
        bail!("{} has a processor of {processor}; teiji runs on {}", host.name(), known.join(", "));
    };
    Ok(host.push(&find(arch)?)?)
}

/// Beside this program, as a release has it; or where cargo builds it.
fn places(own: &Path, arch: Arch) -> Vec<PathBuf> {
    let mut places = Vec::new();
    if let Some(dir) = own.parent() {
        places.push(dir.join(format!("teiji-{arch}")));
        // target/TARGET/PROFILE/teiji
        if let Some(target) = dir.ancestors().nth(2) {
            let of_arch = target.join(arch.names().rust_target);
            places.push(of_arch.join("release/teiji"));
        }
    }
    places
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|part| part == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_for_another_architecture_lies_beside_or_where_cargo_puts_it() {
        let own = Path::new("/w/target/x86_64-unknown-linux-gnu/debug/teiji");
        let places = places(own, Arch::Arm64);
        let beside = "/w/target/x86_64-unknown-linux-gnu/debug/teiji-arm64";
        let built = "/w/target/aarch64-unknown-linux-gnu/release/teiji";
        assert_eq!(places, [PathBuf::from(beside), PathBuf::from(built)]);
    }

    #[test]
    fn this_program_is_marked_with_its_sources() {
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(contains(&own, sources()));
        assert!(!contains(&own[..1000], sources()));
    }
}
