//! The unit of systemd that applies a profile at each start of the machine.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use teiji_net::in_place::InPlace;

use crate::error::ProfileError;
use crate::store::{Source, write_whole};

/// The unit's name.
pub const UNIT: &str = "teiji-profile.service";
const UNIT_FILE: &str = "/etc/systemd/system/teiji-profile.service";
/// The profile that the unit applies.
pub const PROFILE: &str = "/etc/teiji/profile.toml";
/// systemd runs (`sd_booted(3)`).
const SYSTEMD: &str = "/run/systemd/system";
/// Folders that a start of the machine empties.
const PASSING: [&str; 4] = ["/tmp/", "/run/", "/dev/shm/", "/var/tmp/"];

/// Everybody may read the files.
const READABLE: u32 = 0o644;

/// True if a profile is applied at each start.
pub fn is_installed() -> bool {
    Path::new(UNIT_FILE).exists()
}

/// The unit: after the NICs are there and the network's services have been started. These may still set up a
/// NIC then (`network.target` waits for no address).
///
/// # Errors
/// If systemd could not read the program's path.
fn unit(program: &Path, plan: &InPlace) -> Result<String, ProfileError> {
    let path = program.to_str().filter(|path| !path.contains(['"', '\\', '%', '$', '\n']));
    let Some(path) = path else {
        let why = format!(
            "the path of this program ({}) has characters that systemd reads otherwise",
            program.display()
        );
        return Err(ProfileError::AtBoot(why));
    };
    let mut devices = String::new();
    for interface in plan.interfaces() {
        // Writing to a String cannot fail.
        let _ = write!(devices, " sys-subsystem-net-devices-{}.device", escaped(interface));
    }
    let wants = if devices.is_empty() {
        String::new()
    } else {
        format!("Wants={}\n", devices.trim_start())
    };
    Ok(format!(
        "[Unit]\nDescription=Profile of teiji: NICs, qdiscs and priorities\n{wants}\
         After=network.target systemd-modules-load.service{devices}\n\n\
         [Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=\"{path}\" apply {PROFILE}\n\n\
         [Install]\nWantedBy=multi-user.target\n"
    ))
}

/// As `systemd-escape` does it.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for (index, byte) in name.bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric()
            || byte == b'_'
            || byte == b':'
            || (byte == b'.' && index > 0);
        if plain {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Has the profile applied at each start.
///
/// # Errors
/// Without systemd, or if this program will not be there then. Nothing was installed.
pub(crate) fn install(source: &Source, plan: &InPlace) -> Result<(), ProfileError> {
    let failed = |why: String| ProfileError::AtBoot(why);
    if !Path::new(SYSTEMD).is_dir() {
        let why = "this machine was not started by systemd; have its init run `teiji apply FILE` after the network is up";
        return Err(failed(why.to_owned()));
    }
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    if PASSING.iter().any(|folder| program.starts_with(folder)) || is_pushed(&program) {
        return Err(failed(format!(
            "{} does not stay there: install this program first, for example in /usr/local/bin",
            program.display()
        )));
    }
    let unit = unit(&program, plan)?;
    let before = Files::read().map_err(failed)?;
    let files = Files { profile: Some(source.text.clone()), unit: Some(unit) };
    let installed = files.write().and_then(|()| systemctl(&["enable", UNIT]));
    installed.map_err(|why| {
        // What was applied at each start before still is.
        let back = before.put_back().err().map(|error| format!("; {error}")).unwrap_or_default();
        failed(why + &back)
    })
}

/// Whether a program was copied to this machine for one command (`teiji-remote` names its folder so).
fn is_pushed(program: &Path) -> bool {
    let folder = program.parent().and_then(Path::file_name);
    folder.is_some_and(|name| name.as_encoded_bytes().starts_with(b"teiji."))
}

/// What is in the files of the unit; `None`: there is none.
struct Files {
    profile: Option<String>,
    unit: Option<String>,
}

impl Files {
    fn read() -> Result<Self, String> {
        let read = |path| match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).map_err(|error| format!("{path}: {error}")),
        };
        Ok(Self { profile: read(PROFILE)?, unit: read(UNIT_FILE)? })
    }

    fn write(&self) -> Result<(), String> {
        for (path, text) in [(PROFILE, &self.profile), (UNIT_FILE, &self.unit)] {
            let done = match text {
                Some(text) => write_whole(Path::new(path), READABLE, text),
                None => fs::remove_file(path).or_else(|error| match error.kind() {
                    io::ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                }),
            };
            done.map_err(|error| format!("{path}: {error}"))?;
        }
        Ok(())
    }

    /// After others were written in their place.
    fn put_back(&self) -> Result<(), String> {
        if self.unit.is_none() {
            // It may not have been enabled yet.
            let _ = systemctl(&["disable", UNIT]);
        }
        self.write()
    }
}

/// Has none applied any more. Returns the file, if one was.
///
/// # Errors
/// If it cannot be removed.
pub(crate) fn remove() -> Result<Option<String>, ProfileError> {
    if !is_installed() {
        return Ok(None);
    }
    let disabled = systemctl(&["disable", UNIT]);
    for path in [UNIT_FILE, PROFILE] {
        match fs::remove_file(PathBuf::from(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ProfileError::Journal { action: "remove", path: path.into(), error });
            }
            _ => {}
        }
    }
    disabled.map_err(ProfileError::AtBoot)?;
    Ok(Some(PROFILE.to_owned()))
}

fn systemctl(words: &[&str]) -> Result<(), String> {
    let output = Command::new("systemctl").args(words).output();
    let output = output.map_err(|error| format!("cannot run systemctl: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("`systemctl {}` failed: {}", words.join(" "), text.trim()))
}

#[cfg(test)]
mod tests {
    use teiji_experiment::Profile;

    use super::*;

    fn plan(text: &str) -> InPlace {
        InPlace::compile(&Profile::parse(text, "drive.toml").unwrap()).unwrap()
    }

    #[test]
    fn the_unit_waits_for_the_nics_by_the_names_that_systemd_gives_them() {
        let plan = plan("[ports.\"enp3s0.5\"]\neee = false\n[ports.br-lan]\neee = false\n");
        let unit = unit(Path::new("/usr/local/bin/teiji"), &plan).unwrap();
        let devices =
            "sys-subsystem-net-devices-enp3s0.5.device sys-subsystem-net-devices-br\\x2dlan.device";
        assert!(unit.contains(&format!("Wants={devices}\n")), "{unit}");
        assert!(
            unit.contains(&format!(
                "After=network.target systemd-modules-load.service {devices}\n"
            ))
        );
        assert!(
            unit.contains("ExecStart=\"/usr/local/bin/teiji\" apply /etc/teiji/profile.toml\n"),
            "{unit}"
        );
    }

    #[test]
    fn a_path_that_systemd_would_read_otherwise_is_refused() {
        let plan = plan("[system]\nnetdev-budget = 64\n");
        assert!(unit(Path::new("/opt/100%/teiji"), &plan).is_err());
        assert!(!unit(Path::new("/opt/teiji"), &plan).unwrap().contains("Wants"), "no NIC");
    }

    #[test]
    fn a_program_copied_for_one_command_is_recognised() {
        for pushed in ["/tmp/teiji.x3Fa9Q/teiji", "/root/teiji.AbCdEf/teiji"] {
            assert!(is_pushed(Path::new(pushed)), "{pushed}");
        }
        for kept in ["/usr/local/bin/teiji", "/opt/teiji/teiji", "/teiji"] {
            assert!(!is_pushed(Path::new(kept)), "{kept}");
        }
    }

    #[test]
    fn a_file_is_written_as_a_whole_or_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/profile.toml");
        write_whole(&path, READABLE, "one").unwrap();
        write_whole(&path, READABLE, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        // A folder in its place stays.
        assert!(write_whole(path.parent().unwrap(), READABLE, "three").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
    }

    /// systemd's own program, where there is one, agrees on the names.
    #[test]
    fn systemd_escapes_names_in_the_same_way() {
        for name in ["enp3s0", "enp3s0.5", "br-lan", ".a", "a b"] {
            let Ok(output) = Command::new("systemd-escape").arg(name).output() else { return };
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), escaped(name));
        }
    }
}
