//! Puts into the program what it gives to others: the sources of Teiji's kernel modules
//! (`kernel/`), so that an installed `teiji` can build them for any kernel, and the libraries
//! that it loads into QEMU (`src/lockstep.c`, `src/recorder.c`), compiled.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Relative to this crate.
const KERNEL_DIR: &str = "../../kernel";
const LIBRARIES: [&str; 2] = ["lockstep", "recorder"];

fn main() -> io::Result<()> {
    let dir = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join(KERNEL_DIR);
    println!("cargo:rerun-if-changed={}", dir.display());
    let mut files = Vec::new();
    if dir.is_dir() {
        collect(&dir, &mut files)?;
    }
    files.sort();
    let mut list = String::from("&[\n");
    for path in files {
        let name = path.strip_prefix(&dir).unwrap_or(&path).to_string_lossy();
        let path = path.to_string_lossy();
        // As Rust literals. Writing to a String cannot fail.
        let _ = writeln!(list, "({name:?}, include_bytes!({path:?})),");
    }
    list.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("kernel_files.rs"), list)?;
    for name in LIBRARIES {
        compile(&format!("src/{name}.c"), &out.join(format!("{name}.so")))?;
    }
    Ok(())
}

/// Makes a library of one C file, with the compiler that links Rust's programs.
fn compile(source: &str, library: &Path) -> io::Result<()> {
    println!("cargo:rerun-if-changed={source}");
    // Cargo names the linker only where one is configured, as for other architectures.
    let compiler = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let done = Command::new(&compiler)
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
        .args([library, Path::new(source)])
        .arg("-ldl")
        .status()?;
    if done.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("{} could not compile {source}", compiler.to_string_lossy())))
    }
}

/// Sources; what a build by hand left behind is not one.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if is_source(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let generated = name.to_string_lossy().contains(".mod.");
    let wanted = path.extension().is_some_and(|end| end == "c" || end == "h");
    name == "Kbuild" || (wanted && !generated)
}
