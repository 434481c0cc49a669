//! The laboratory's machines as processes of this host.

use std::fs;
use std::path::Path;

/// Machines whose command line names `folder`.
pub fn machines(folder: &Path) -> Vec<u32> {
    let folder = folder.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains("qemu-system") && line.contains(folder)
        })
        .collect()
}
