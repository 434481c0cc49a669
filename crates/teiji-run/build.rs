//! Tells builds of the same sources from others: the laboratory's guests may run a build for
//! another architecture, which must speak with this one.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest, Sha256};

/// Relative to this crate.
const CRATES: &str = "..";

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let crates = root.join(CRATES);
    let mut files = vec![crates.join("../Cargo.lock")];
    for entry in fs::read_dir(&crates)? {
        let sources = entry?.path().join("src");
        println!("cargo:rerun-if-changed={}", sources.display());
        collect(&sources, &mut files)?;
    }
    println!("cargo:rerun-if-changed={}", files[0].display());
    files.sort();
    let mut hash = Sha256::new();
    for file in files.iter().filter(|file| file.is_file()) {
        let name = file.strip_prefix(&crates).unwrap_or(file).to_string_lossy();
        let bytes = fs::read(file)?;
        for part in [name.as_bytes(), &bytes] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    let digest = hash.finalize();
    let short = digest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    println!("cargo:rustc-env=TEIJI_SOURCES={short:016x}");
    Ok(())
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !dir.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
