//! The QEMU that the laboratory runs on: the system's if it fits, else a private
//! one, unpacked from Debian's packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::arch::Arch;
use crate::fetch::apt::Tools;
use crate::fetch::sources::{self, BOOKWORM, Origin, TRIXIE};
pub use crate::qemu_version::{MINIMUM, QemuVersion};
use crate::store::lock::Lease;

/// The NICs that experiments may name.
const DEVICES: [&str; 3] = ["e1000e", "igb", "rtl8139"];
/// Where Debian's packages put folders of libraries; those of Debian 12 use both.
const LIBRARIES: [&str; 2] = ["usr/lib", "lib"];

/// No QEMU of the system fits, and none can be fetched.
#[derive(Debug, thiserror::Error)]
#[error("no fitting QEMU: {found}; {advice}")]
pub struct QemuError {
    /// What was found, and why it does not fit.
    pub found: String,
    /// The next step.
    pub advice: String,
}

/// A QEMU that starts and has the NICs.
#[derive(Debug, Clone)]
pub struct Qemu {
    /// The program.
    pub program: PathBuf,
    /// Its version.
    pub version: QemuVersion,
    /// Its package, such as `1:10.0.2+ds-2+deb13u1~bpo12+1`, where this is a private one.
    pub package_version: Option<String>,
    /// Variables it must be started with.
    pub env: Vec<(String, String)>,
    /// Folders of its firmware (`-L`); empty where it finds them itself.
    pub data_dirs: Vec<PathBuf>,
    /// Keeps `teiji lab clean` away while it is in use.
    lease: Option<Arc<Lease>>,
}

impl Qemu {
    /// The program with its environment and firmware folders, ready for a machine's options.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
        for dir in &self.data_dirs {
            command.arg("-L").arg(dir);
        }
        command
    }

    /// The system's QEMU for guests of `arch`; the error says why there is none that fits.
    pub(crate) fn of_system(arch: Arch, path: Option<&std::ffi::OsStr>) -> Result<Self, String> {
        let program = path
            .into_iter()
            .flat_map(std::env::split_paths)
            .map(|dir| dir.join(arch.names().qemu.0))
            .find(|program| program.is_file())
            .ok_or_else(|| "none is installed".to_owned())?;
        Self::probe(program, Vec::new(), Vec::new())
    }

    /// The QEMU unpacked below `root`.
    pub(crate) fn of_root(
        arch: Arch,
        root: &Path,
        package_version: String,
        lease: Arc<Lease>,
    ) -> Result<Self, String> {
        let triplet = Arch::of_this_program().names().triplet;
        let libraries =
            LIBRARIES.map(|dir| root.join(dir).join(triplet).to_string_lossy().into_owned());
        let modules = format!("{}/qemu", libraries[0]);
        let env = [("LD_LIBRARY_PATH", libraries.join(":")), ("QEMU_MODULE_DIR", modules)]
            .map(|(key, value)| (key.to_owned(), value));
        let data_dirs = ["usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu"]
            .map(|dir| root.join(dir))
            .into_iter()
            .filter(|dir| dir.is_dir())
            .collect();
        let program = root.join("usr/bin").join(arch.names().qemu.0);
        let mut qemu = Self::probe(program, env.into(), data_dirs)?;
        qemu.package_version = Some(package_version);
        qemu.lease = Some(lease);
        Ok(qemu)
    }

    /// Starts the program to learn its version and devices.
    fn probe(
        program: PathBuf,
        env: Vec<(String, String)>,
        data_dirs: Vec<PathBuf>,
    ) -> Result<Self, String> {
        let mut qemu =
            Self { program, version: MINIMUM, package_version: None, env, data_dirs, lease: None };
        let text = qemu.run(&["--version"])?;
        let shown = qemu.program.display();
        qemu.version = QemuVersion::parse(&text)
            .ok_or_else(|| format!("{shown} does not print its version"))?;
        if qemu.version < MINIMUM {
            return Err(format!("{shown} is {}", qemu.version));
        }
        let devices = qemu.run(&["-M", "none", "-device", "help"])?;
        for device in DEVICES {
            if !devices.contains(&format!("name \"{device}\"")) {
                return Err(format!("{shown} {} has no NIC {device}", qemu.version));
            }
        }
        Ok(qemu)
    }

    fn run(&self, args: &[&str]) -> Result<String, String> {
        let shown = self.program.display();
        let mut command = self.command();
        teiji_sys::process::die_with_parent(&mut command);
        let output = command
            .args(args)
            .stdin(std::process::Stdio::null())
            .output()
            .map_err(|e| format!("{shown} does not start ({e})"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(format!("{shown} does not start ({})", stderr.lines().next().unwrap_or("no message")))
    }
}

/// The packages and suite whose QEMU, for guests of `arch`, runs with this system's libraries.
pub(crate) fn private_source(
    arch: Arch,
    found: &str,
    tools: &Tools,
) -> Result<(Origin, String), QemuError> {
    let os = fs::read_to_string("/etc/os-release").unwrap_or_default();
    choose_source(arch, found, &os, tools.dir.is_some())
}

fn choose_source(
    arch: Arch,
    found: &str,
    os_release: &str,
    any_system: bool,
) -> Result<(Origin, String), QemuError> {
    let value = |key| sources::os_release(os_release, key);
    let here = |release| Origin { release, arch: Arch::of_this_program() };
    match (value("ID"), value("VERSION_ID")) {
        (Some("debian"), Some(number)) if number == TRIXIE.number => {
            Ok((here(TRIXIE), TRIXIE.codename.to_owned()))
        }
        (Some("debian"), Some(number)) if number == BOOKWORM.number || any_system => {
            Ok((here(BOOKWORM), format!("{}-backports", BOOKWORM.codename)))
        }
        _ if any_system => Ok((here(BOOKWORM), format!("{}-backports", BOOKWORM.codename))),
        _ => Err(QemuError {
            found: found.to_owned(),
            advice: format!(
                "install {} {MINIMUM} or newer with {}'s packages (private copies are \
                 fetched on Debian 12 and 13 only)",
                arch.names().qemu.0,
                value("PRETTY_NAME").unwrap_or("your system")
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn versions_are_read_and_ordered() {
        let of = |text| QemuVersion::parse(text).unwrap();
        let bookworm = of("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\n");
        let backport = of("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)\nCopyright");
        assert!(bookworm < MINIMUM && backport > MINIMUM);
        assert_eq!(of("QEMU emulator version 11.0\n").to_string(), "11.0.0");
        assert_eq!(QemuVersion::parse("qemu"), None);
    }

    fn fake(dir: &Path, version: &str, devices: &str) {
        let program = dir.join("qemu-system-x86_64");
        let text = format!(
            "#!/bin/sh\ncase \"$*\" in *--version) echo 'QEMU emulator version {version}';;\n\
             *) echo '{devices}';; esac\n"
        );
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_system_qemu_is_taken_only_if_new_enough_and_with_every_nic() {
        let dir = tempfile::tempdir().unwrap();
        let path = Some(dir.path().as_os_str());
        let all = "name \"e1000e\" name \"igb\" name \"rtl8139\"";
        assert!(Qemu::of_system(Arch::X86_64, path).unwrap_err().contains("none is installed"));
        fake(dir.path(), "7.2.0", all);
        assert!(Qemu::of_system(Arch::X86_64, path).unwrap_err().ends_with("is 7.2.0"));
        fake(dir.path(), "10.1.0", "name \"e1000e\" name \"rtl8139\"");
        assert!(Qemu::of_system(Arch::X86_64, path).unwrap_err().contains("no NIC igb"));
        fake(dir.path(), "10.1.0", all);
        let qemu = Qemu::of_system(Arch::X86_64, path).unwrap();
        assert_eq!(qemu.version.to_string(), "10.1.0");
        assert_eq!(qemu.command().get_args().count(), 0);
    }

    #[test]
    fn private_copies_are_for_debian_12_and_13_and_others_get_advice() {
        let os =
            |id, number| format!("PRETTY_NAME=\"{id} {number}\"\nID={id}\nVERSION_ID={number}\n");
        let suite =
            |os: String| choose_source(Arch::X86_64, "none", &os, false).map(|(_, suite)| suite);
        assert_eq!(suite(os("debian", "12")).unwrap(), "bookworm-backports");
        assert_eq!(suite(os("debian", "13")).unwrap(), "trixie");
        let why = suite(os("fedora", "44")).unwrap_err().to_string();
        assert!(why.contains("fedora 44") && why.contains("10.0.0"), "{why}");
    }
}
