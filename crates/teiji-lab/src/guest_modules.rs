//! The kernel's modules in the guest's file system: some loaded by init, some at hand for modprobe.
//!
//! They lie in `lib/modules/<release>` with the indexes that modprobe reads, as
//! depmod would write them; links in [`MODULES_DIR`] name what init loads, in order.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::guest::MODULES_DIR;
use crate::initramfs::Initramfs;
use crate::kernel::{Kernel, KernelError, ModuleFile};

/// The modules of one guest.
#[derive(Debug)]
pub struct GuestModules {
    folder: String,
    /// Those that init loads first, in their order; the others after them.
    files: Vec<ModuleFile>,
    loaded: usize,
}

impl GuestModules {
    /// The named modules of `kernel` with all they need. Both lists may name what is
    /// built in.
    ///
    /// # Errors
    /// If the kernel has no module of a name, neither as a file nor built in, or one cannot be
    /// read.
    pub fn new(kernel: &Kernel, loaded: &[&str], at_hand: &[&str]) -> Result<Self, KernelError> {
        let count = kernel.modules_for(loaded)?.len();
        // The order of loading goes by the order of names: those before stay before.
        let files = kernel.modules_for(&[loaded, at_hand].concat())?;
        Ok(Self { folder: format!("lib/modules/{}", kernel.release), files, loaded: count })
    }

    /// Writes files, links and indexes.
    ///
    /// # Errors
    /// If the archive cannot be written.
    pub fn write_to<W: Write>(&self, archive: &mut Initramfs<W>) -> io::Result<()> {
        archive.directory(MODULES_DIR)?;
        let folder = &self.folder;
        for (index, module) in self.files.iter().enumerate() {
            let file = format!("{folder}/{}.ko", module.name);
            archive.file(&file, 0o644, &module.bytes)?;
            if index < self.loaded {
                let link = format!("{MODULES_DIR}/{index:03}-{}.ko", module.name);
                archive.symlink(&link, &format!("/{file}"))?;
            }
        }
        archive.file(&format!("{folder}/modules.dep"), 0o644, self.dependencies().as_bytes())?;
        archive.file(&format!("{folder}/modules.alias"), 0o644, self.aliases().as_bytes())
    }

    /// `modules.dep`: each file, then all it needs, those to be loaded last first.
    fn dependencies(&self) -> String {
        self.files.iter().fold(String::new(), |mut text, module| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{}.ko:", module.name);
            for needed in self.all_needed(module).into_iter().rev() {
                let _ = write!(text, " {needed}.ko");
            }
            text.push('\n');
            text
        })
    }

    /// What a module needs, what is needed by that, and so on, in the order of loading.
    fn all_needed(&self, module: &ModuleFile) -> Vec<&str> {
        let mut needed: Vec<&str> = module.depends.iter().map(String::as_str).collect();
        let mut looked_at = 0;
        while let Some(name) = needed.get(looked_at).copied() {
            let further = self.files.iter().find(|file| file.name == name);
            for name in further.into_iter().flat_map(|file| &file.depends) {
                if !needed.contains(&name.as_str()) {
                    needed.push(name);
                }
            }
            looked_at += 1;
        }
        // Every file lies behind what it needs.
        let ordered = self.files.iter().map(|file| file.name.as_str());
        ordered.filter(|name| needed.contains(name)).collect()
    }

    /// `modules.alias`.
    fn aliases(&self) -> String {
        self.files.iter().fold(String::new(), |mut text, module| {
            for alias in &module.aliases {
                let _ = writeln!(text, "alias {alias} {}", module.name);
            }
            text
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(name: &str, depends: &[&str], aliases: &[&str]) -> ModuleFile {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        ModuleFile {
            name: name.into(),
            path: name.into(),
            bytes: name.into(),
            depends: texts(depends),
            aliases: texts(aliases),
        }
    }

    fn some() -> GuestModules {
        GuestModules {
            folder: "lib/modules/6.12".into(),
            files: vec![
                module("pps_core", &[], &[]),
                module("ptp", &["pps_core"], &[]),
                module("vtsn", &["ptp"], &["rtnl-link-vtsn"]),
                module("bridge", &[], &["rtnl-link-bridge", "devname:x"]),
            ],
            loaded: 3,
        }
    }

    #[test]
    fn the_indexes_name_all_that_is_needed_and_every_alias() {
        assert_eq!(
            some().dependencies(),
            "pps_core.ko:\nptp.ko: pps_core.ko\nvtsn.ko: ptp.ko pps_core.ko\nbridge.ko:\n"
        );
        assert_eq!(
            some().aliases(),
            "alias rtnl-link-vtsn vtsn\nalias rtnl-link-bridge bridge\nalias devname:x bridge\n"
        );
    }

    #[test]
    fn what_is_loaded_is_linked_in_order_and_what_is_at_hand_is_not() {
        let mut archive = Initramfs::new(Vec::new());
        some().write_to(&mut archive).unwrap();
        let bytes = archive.finish().unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for (index, name) in ["pps_core", "ptp", "vtsn"].iter().enumerate() {
            assert!(text.contains(&format!("{MODULES_DIR}/{index:03}-{name}.ko")));
        }
        assert!(!text.contains("003-bridge") && text.contains("lib/modules/6.12/bridge.ko"));
    }
}
