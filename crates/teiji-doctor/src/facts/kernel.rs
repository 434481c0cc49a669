//! What the running kernel was built with: its configuration, its modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};

/// What is known of a kernel's build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its options without `CONFIG_`, as `y`, `m` or a value; those that are not set are not there.
    /// `None` if no file has them.
    pub options: Option<BTreeMap<String, String>>,
    /// Modules that are loaded, built in or installed, with `_` for `-`. `None` if the kernel's
    /// folder below /lib/modules is not there.
    pub modules: Option<BTreeSet<String>>,
    /// Those of them that are loaded, or built in and have parameters.
    pub loaded: BTreeSet<String>,
}

impl Kernel {
    /// Reads it below `root`.
    pub(super) fn read(root: &Path, release: &str) -> Self {
        let loaded = loaded(root);
        let installed = installed(&root.join("lib/modules").join(release));
        Self {
            options: configuration(root, release).map(|text| options(&text)),
            modules: installed.map(|names| names.union(&loaded).cloned().collect()),
            loaded,
        }
    }

    /// Whether it has a module or the option that builds it in: `sch_etf`, `NET_SCH_ETF`. `None`
    /// if nothing tells.
    pub fn has(&self, module: &str, option: &str) -> Option<bool> {
        if self.loaded.contains(module) {
            return Some(true);
        }
        let installed = self.modules.as_ref().map(|names| names.contains(module));
        let built_in = self.option(option).map(|value| value == Some("y"));
        match (installed, built_in) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            // A module that the configuration names may be missing from the board.
            (Some(false), _) => Some(false),
            (None, Some(false)) => self.option(option).map(|value| value.is_some()),
            (None, None) => None,
        }
    }

    /// The value of an option; `None` if no file tells, `Some(None)` if it is not set.
    pub fn option(&self, name: &str) -> Option<Option<&str>> {
        self.options.as_ref().map(|options| options.get(name).map(String::as_str))
    }

    /// True if it was built with this option.
    pub fn is_set(&self, name: &str) -> bool {
        self.option(name).flatten().is_some()
    }
}

fn configuration(root: &Path, release: &str) -> Option<String> {
    if let Ok(file) = fs::File::open(root.join("proc/config.gz")) {
        let mut text = String::new();
        if GzDecoder::new(file).read_to_string(&mut text).is_ok() {
            return Some(text);
        }
    }
    let places = [format!("boot/config-{release}"), format!("lib/modules/{release}/config")];
    places.iter().find_map(|place| fs::read_to_string(root.join(place)).ok())
}

fn options(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
        .collect()
}

fn loaded(root: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(root.join("sys/module")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The modules of `modules.dep` and `modules.builtin`, whose lines begin with a path.
fn installed(folder: &Path) -> Option<BTreeSet<String>> {
    let dep = fs::read_to_string(folder.join("modules.dep")).ok()?;
    let builtin = fs::read_to_string(folder.join("modules.builtin")).unwrap_or_default();
    let name = |line: &str| {
        let path = line.split(':').next()?;
        let file = path.rsplit('/').next()?;
        Some(file.split_once(".ko")?.0.replace('-', "_"))
    };
    Some(dep.lines().chain(builtin.lines()).filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn kernel(files: &[(&str, &[u8])]) -> Kernel {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Kernel::read(root.path(), "6.12")
    }

    #[test]
    fn modules_are_found_loaded_built_in_or_installed() {
        let kernel = kernel(&[
            ("lib/modules/6.12/modules.dep", b"kernel/net/sched/sch_etf.ko.xz:\nextra/a-b.ko: x\n"),
            ("lib/modules/6.12/modules.builtin", b"kernel/net/sched/sch_mqprio.ko\n"),
            ("sys/module/vtsn/refcnt", b"0\n"),
        ]);
        for name in ["sch_etf", "sch_mqprio", "vtsn", "a_b"] {
            assert_eq!(kernel.has(name, "NONE"), Some(true), "{name}");
        }
        assert_eq!(kernel.has("sch_taprio", "NET_SCH_TAPRIO"), Some(false));
    }

    #[test]
    fn a_kernel_without_configuration_is_not_reported_to_lack_something() {
        assert_eq!(kernel(&[]).has("sch_etf", "NET_SCH_ETF"), None);
        assert!(!kernel(&[]).is_set("KASAN"));
    }

    #[test]
    fn a_configuration_is_read_packed_or_plain() {
        let text =
            b"# CONFIG_KASAN is not set\nCONFIG_NET_SCH_ETF=y\nCONFIG_HZ=250\nCONFIG_X=\"a\"\n";
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text).unwrap();
        let packed = packed.finish().unwrap();
        for kernel in [
            kernel(&[("proc/config.gz", &packed)]),
            kernel(&[("boot/config-6.12", text)]),
            // A broken one falls back to the next.
            kernel(&[("proc/config.gz", b"x"), ("boot/config-6.12", text)]),
        ] {
            assert_eq!(kernel.has("sch_etf", "NET_SCH_ETF"), Some(true));
            assert_eq!(kernel.has("sch_taprio", "NET_SCH_TAPRIO"), Some(false));
            assert_eq!(kernel.option("HZ"), Some(Some("250")));
            assert!(!kernel.is_set("KASAN") && kernel.is_set("X"));
        }
    }
}
