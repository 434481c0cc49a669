//! What a named port is: its NIC and its machine, as a shell there tells. Nothing is put there.

use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use teiji_core::shell::quote;
use teiji_lab::arch::Arch;
use teiji_remote::{Destination, Host, RemoteError, SshOptions};

use super::PortPlace;
use crate::guest_program;

/// A port's NIC and machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The kernel's release.
    pub kernel: String,
    /// The kernel is a PREEMPT_RT one.
    pub preempt_rt: bool,
    /// As `uname -m` names it.
    pub processor: String,
    /// Commands there are root's.
    pub root: bool,
    /// `Err`: there is no such interface, but these.
    pub nic: Result<Nic, Vec<String>>,
}

/// An interface as sysfs describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nic {
    /// `None`: no device's, as those of `lo` or veth.
    pub driver: Option<String>,
    /// RFC 2863: `up`, `down`, `unknown`, …
    pub state: String,
    /// Mbit/s; `None`: it has no link, or no rate.
    pub mbit_s: Option<u32>,
}

/// A shell on the machine of some ports.
#[derive(Debug)]
pub enum Shell {
    /// On this machine.
    Here,
    /// By SSH.
    There(Arc<Host>),
}

impl Shell {
    /// Connects; `None`: to this machine.
    ///
    /// # Errors
    /// [`RemoteError::Connect`] with ssh's own words.
    pub fn open(machine: Option<&Destination>, ssh: &SshOptions) -> Result<Self, RemoteError> {
        Ok(match machine {
            None => Self::Here,
            Some(machine) => Self::There(Arc::new(Host::connect(machine.clone(), ssh.clone())?)),
        })
    }

    /// Looks at a port of this machine.
    ///
    /// # Errors
    /// If the connection is lost, or no shell answers there.
    pub fn port(&self, place: &PortPlace) -> anyhow::Result<Port> {
        let script = script(&place.interface);
        let text = match self {
            Self::There(host) => host.text(&script, Stdio::null())?,
            Self::Here => {
                let output =
                    Command::new("sh").arg("-c").arg(script).output().context("cannot run sh")?;
                ensure!(output.status.success(), "a shell here failed: {}", output.status);
                String::from_utf8_lossy(&output.stdout).into_owned()
            }
        };
        let Some(port) = read(&text) else { bail!("no shell answers there") };
        Ok(port)
    }
}

impl Port {
    /// Why an experiment cannot be run there, with the next step.
    pub fn obstacles(&self, place: &PortPlace) -> Vec<String> {
        let mut obstacles = Vec::new();
        if let Err(others) = &self.nic {
            obstacles.push(format!(
                "no interface {}; there are {}",
                place.interface,
                others.join(", ")
            ));
        }
        if !self.root {
            obstacles.push(match &place.machine {
                Some(_) => "the user there is not root: write ssh:root@…".to_owned(),
                None => "only root may set up interfaces: use sudo, with --hosts, because root has a file of its own".to_owned(),
            });
        }
        match Arch::of_uname(&self.processor) {
            None => {
                obstacles.push(format!("teiji does not run on a processor of {}", self.processor));
            }
            Some(arch) => obstacles.extend(guest_program::find(arch).err().map(|e| e.to_string())),
        }
        obstacles
    }
}

/// A line for each fact.
fn script(interface: &str) -> String {
    let interface = quote(interface);
    format!(
        "uname -r; uname -m; uname -v; id -u; cd /sys/class/net/ || exit; \
         if ! [ -e {interface} ]; then echo none; ls; exit; fi; cd {interface} || exit; \
         driver=$(readlink device/driver); echo \"driver ${{driver##*/}}\"; \
         cat operstate; cat speed 2>/dev/null || :"
    )
}

fn read(text: &str) -> Option<Port> {
    let mut lines = text.lines();
    let (kernel, processor) = (lines.next()?.to_owned(), lines.next()?.to_owned());
    let preempt_rt = lines.next()?.contains("PREEMPT_RT");
    let root = lines.next()? == "0";
    let nic = match lines.next()?.strip_prefix("driver ") {
        None => Err(lines.map(str::to_owned).collect()),
        Some(driver) => Ok(Nic {
            driver: Some(driver.to_owned()).filter(|driver| !driver.is_empty()),
            state: lines.next()?.to_owned(),
            mbit_s: lines.next().and_then(|speed| speed.parse().ok()),
        }),
    };
    Some(Port { kernel, preempt_rt, processor, root, nic })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(interface: &str) -> (Port, PortPlace) {
        let place: PortPlace = interface.parse().unwrap();
        (Shell::Here.port(&place).unwrap(), place)
    }

    #[test]
    fn a_port_of_this_machine_is_looked_at() {
        let (port, place) = here("lo");
        let nic = port.nic.clone().unwrap();
        assert_eq!((nic.driver, nic.mbit_s), (None, None));
        assert_eq!(nic.state, "unknown");
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(port.kernel, release.trim());
        let obstacles = Port { root: true, ..port }.obstacles(&place);
        assert_eq!(obstacles, [""; 0]);
    }

    #[test]
    fn a_missing_interface_is_reported_with_those_present() {
        let (port, place) = here("nowhere0");
        let obstacles = Port { root: false, ..port }.obstacles(&place);
        assert!(obstacles[0].contains("no interface nowhere0; there are "), "{obstacles:?}");
        assert!(obstacles[0].contains("lo"), "{obstacles:?}");
        assert!(obstacles[1].contains("sudo"), "{obstacles:?}");
    }

    #[test]
    fn a_board_is_read_from_its_shell() {
        let text = "6.12.95-rt\naarch64\n#1 SMP PREEMPT_RT Debian\n0\ndriver igb\nup\n1000\n";
        let port = read(text).unwrap();
        assert!(port.preempt_rt && port.root && port.processor == "aarch64");
        let nic = Nic { driver: Some("igb".into()), state: "up".into(), mbit_s: Some(1000) };
        assert_eq!(port.nic, Ok(nic));
        // Without a link the kernel says -1, or refuses to be read.
        let down = text.replace("up\n1000", "down\n-1");
        assert_eq!(read(&down).unwrap().nic.unwrap().mbit_s, None);
        assert_eq!(read("6.12\n"), None);
        let strange = Port { processor: "riscv64".into(), ..port };
        let place: PortPlace = "ssh:root@a/eth0".parse().unwrap();
        assert!(strange.obstacles(&place)[0].contains("riscv64"));
    }
}
