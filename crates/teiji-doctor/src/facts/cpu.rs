//! How CPUs save energy: idle states, frequency, shared cores.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use teiji_net::system::idle_latency;

/// What is known of the CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpus {
    /// The idle states of the first CPU that has some, the shallowest first.
    pub idle: Vec<IdleState>,
    /// The wake-up latency that is allowed on every CPU, in µs (power management's quality of service:
    /// `/dev/cpu_dma_latency`, or the limits of all CPUs); `None` if none can be read.
    pub latency_limit_us: Option<i32>,
    /// The frequency governors in use, each once.
    pub governors: Vec<String>,
    /// Two threads share a core, and run now.
    pub smt: Option<bool>,
}

/// One idle state (C-state).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleState {
    /// `C1`, `POLL`, `WFI` …
    pub name: String,
    /// What leaving it takes at most, in µs, as the driver says.
    pub exit_us: u32,
    /// Somebody has switched it off.
    pub disabled: bool,
}

impl Cpus {
    /// Reads it below `root`.
    pub(super) fn read(root: &Path) -> Self {
        let folder = root.join("sys/devices/system/cpu");
        let mut cpus: Vec<u32> = entries(&folder)
            .iter()
            .filter_map(|name| name.strip_prefix("cpu")?.parse().ok())
            .collect();
        cpus.sort_unstable();
        let below = |cpu: &u32, path: &str| folder.join(format!("cpu{cpu}/{path}"));
        let mut governors: Vec<String> =
            cpus.iter().filter_map(|cpu| line(&below(cpu, "cpufreq/scaling_governor"))).collect();
        governors.sort_unstable();
        governors.dedup();
        let idle = cpus.iter().map(|cpu| idle_states(&below(cpu, "cpuidle")));
        Self {
            idle: idle.into_iter().find(|states| !states.is_empty()).unwrap_or_default(),
            latency_limit_us: latency_limit(&root.join("dev/cpu_dma_latency"))
                .into_iter()
                .chain(limit_of_all(
                    cpus.iter().map(|cpu| below(cpu, "power/pm_qos_resume_latency_us")),
                ))
                .min(),
            governors,
            smt: line(&folder.join("smt/active")).map(|value| value == "1"),
        }
    }

    /// The deepest idle state that a CPU may enter now.
    pub fn deepest(&self) -> Option<&IdleState> {
        let allowed = |state: &&IdleState| {
            !state.disabled
                && self.latency_limit_us.is_none_or(|limit| {
                    u32::try_from(limit).is_ok_and(|limit| state.exit_us <= limit)
                })
        };
        self.idle.iter().filter(allowed).max_by_key(|state| state.exit_us)
    }
}

/// `/dev/cpu_dma_latency` reads as the limit in force, a binary number of 32 bits; without one
/// it is 2 000 000 000.
fn latency_limit(path: &Path) -> Option<i32> {
    let bytes = read_start::<4>(path)?;
    Some(i32::from_ne_bytes(bytes))
}

/// The longest of the limits that each CPU has of its own (`Documentation/ABI/testing/sysfs-devices-power`); `None` if
/// one has none.
fn limit_of_all(files: impl Iterator<Item = PathBuf>) -> Option<i32> {
    let limit = |file: PathBuf| idle_latency::limit_us(&line(&file)?);
    files.map(limit).collect::<Option<Vec<i32>>>()?.into_iter().max()
}

/// The first bytes of a file: a device may go on for ever.
fn read_start<const N: usize>(path: &Path) -> Option<[u8; N]> {
    use std::io::Read as _;
    let mut bytes = [0; N];
    fs::File::open(path).ok()?.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn idle_states(folder: &Path) -> Vec<IdleState> {
    let mut states: Vec<(u32, IdleState)> = entries(folder)
        .iter()
        .filter_map(|entry| {
            let below = folder.join(entry);
            let state = IdleState {
                name: line(&below.join("name"))?,
                exit_us: line(&below.join("latency"))?.parse().ok()?,
                disabled: line(&below.join("disable")).is_some_and(|value| value != "0"),
            };
            Some((entry.strip_prefix("state")?.parse().ok()?, state))
        })
        .collect();
    states.sort_unstable_by_key(|(number, _)| *number);
    states.into_iter().map(|(_, state)| state).collect()
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn line(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_state_is_the_one_that_is_allowed() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &[u8]| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let cpu = "sys/devices/system/cpu";
        for (state, name, exit_us) in
            [(0, "POLL", "0"), (1, "C1E", "10"), (2, "C6", "133"), (10, "C8", "200")]
        {
            write(&format!("{cpu}/cpu1/cpuidle/state{state}/name"), name.as_bytes());
            write(&format!("{cpu}/cpu1/cpuidle/state{state}/latency"), exit_us.as_bytes());
            write(&format!("{cpu}/cpu1/cpuidle/state{state}/disable"), b"0\n");
        }
        write(&format!("{cpu}/cpu0/cpufreq/scaling_governor"), b"powersave\n");
        write(&format!("{cpu}/cpu1/cpufreq/scaling_governor"), b"powersave\n");
        let deepest = || Cpus::read(root.path()).deepest().map(|state| state.name.clone());
        assert_eq!(deepest().as_deref(), Some("C8"));
        write(&format!("{cpu}/cpu1/cpuidle/state10/disable"), b"1\n");
        assert_eq!(deepest().as_deref(), Some("C6"));
        write("dev/cpu_dma_latency", &20_i32.to_ne_bytes());
        assert_eq!(deepest().as_deref(), Some("C1E"));
        write("dev/cpu_dma_latency", &2_000_000_000_i32.to_ne_bytes());
        write(&format!("{cpu}/cpu0/power/pm_qos_resume_latency_us"), b"n/a\n");
        write(&format!("{cpu}/cpu1/power/pm_qos_resume_latency_us"), b"0\n");
        assert_eq!(deepest().as_deref(), Some("C6"), "CPU 1 has no limit");
        write(&format!("{cpu}/cpu1/power/pm_qos_resume_latency_us"), b"20\n");
        assert_eq!(deepest().as_deref(), Some("C1E"));
        assert_eq!(Cpus::read(root.path()).governors, ["powersave"]);
    }
}
