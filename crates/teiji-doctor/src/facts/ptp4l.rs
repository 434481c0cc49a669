//! The state of the local `ptp4l`, by linuxptp's `pmc`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;
use teiji_net::daemon::{self, Daemon};

/// State of the local `ptp4l`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ptp4l {
    /// It follows a master, or is the grandmaster. Before that its offset is 0.
    pub has_time: bool,
    /// Offset from its master.
    #[serde(rename = "offset_ns")]
    pub offset: Span,
}

impl Ptp4l {
    /// Read by linuxptp's `pmc`; `None` without `pmc`, `ptp4l` or permission.
    pub fn look() -> Option<Self> {
        let root = Path::new("/");
        let running = daemon::running(root);
        let ours = running.iter().filter(|daemon| daemon.name == "ptp4l");
        let mut places: Vec<Vec<String>> = ours.map(|daemon| place(root, daemon)).collect();
        if places.is_empty() {
            // One in another process namespace may answer.
            places.push(Vec::new());
        }
        // The default one is the machine's; those of other domains serve other networks.
        places.sort_by_key(|place| !place.is_empty());
        places.iter().find_map(|place| Self::query(place))
    }

    /// `place`: options of `pmc`.
    fn query(place: &[String]) -> Option<Self> {
        // ptp4l answers its own transportSpecific only: 0, or 1 with the gPTP profile.
        ["0", "1"].into_iter().find_map(|transport| {
            let output = Command::new("pmc")
                .args(["-u", "-b", "0", "-t", transport])
                .args(place)
                .args(["GET CURRENT_DATA_SET", "GET PORT_DATA_SET"])
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .output()
                .ok()?;
            Self::read(&String::from_utf8_lossy(&output.stdout))
        })
    }

    fn read(text: &str) -> Option<Self> {
        let values = |name: &'static str| {
            text.lines().filter_map(move |line| {
                let mut words = line.split_whitespace();
                (words.next() == Some(name)).then(|| words.next()).flatten()
            })
        };
        let ns: f64 = values("offsetFromMaster").next()?.parse().ok()?;
        let is_grandmaster = values("stepsRemoved").next() == Some("0");
        let has_time = values("portState")
            .any(|state| state == "SLAVE" || (state == "MASTER" && is_grandmaster));
        #[expect(clippy::cast_possible_truncation, reason = "nanoseconds; saturates")]
        Some(Self { has_time, offset: Span::from_ns(ns.round() as i64) })
    }
}

/// What `pmc` must know of a `ptp4l`: its domain and its socket, where they are not the defaults. It answers its
/// own domain only, and timemaster gives each a socket of its own.
fn place(root: &Path, ptp4l: &Daemon) -> Vec<String> {
    let of_file = ptp4l.value('f').and_then(|file| {
        let folder = root.join(format!("proc/{}/cwd", ptp4l.pid));
        fs::read_to_string(folder.join(file)).ok()
    });
    let of_file = of_file.unwrap_or_default();
    let setting = |name: &str| {
        let line = |line: &str| {
            let (key, value) = line.trim().split_once(char::is_whitespace)?;
            (key == name).then(|| value.trim().to_owned())
        };
        // The command line goes before the file.
        ptp4l.long_value(name).map(str::to_owned).or_else(|| of_file.lines().find_map(line))
    };
    let options = [("-d", "domainNumber"), ("-s", "uds_address")];
    let given =
        options.into_iter().filter_map(|(option, name)| Some([option.to_owned(), setting(name)?]));
    given.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ptp4l_is_queried_in_its_domain_and_at_its_socket() {
        let root = tempfile::tempdir().unwrap();
        let config = root.path().join("ptp4l.0.conf");
        fs::write(&config, "[global]\n# domainNumber 1\ndomainNumber\t\t24\nuds_address  /s.0\n")
            .unwrap();
        let config = config.to_str().unwrap();
        let of = |arguments: &[&str]| {
            let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
            let daemon = Daemon { name: "ptp4l".to_owned(), pid: 1, arguments, unit: None };
            place(root.path(), &daemon)
        };
        assert_eq!(of(&["-f", config, "-i", "eth0"]), ["-d", "24", "-s", "/s.0"]);
        assert_eq!(of(&["-f", config, "--domainNumber=3"]), ["-d", "3", "-s", "/s.0"]);
        assert_eq!(of(&["-i", "eth0", "-f", "/not/there"]), [""; 0]);
    }

    fn answer(steps: u32, offset: &str, states: &[&str]) -> Option<Ptp4l> {
        let mut text = format!(
            "\t\tstepsRemoved     {steps}\n\t\toffsetFromMaster {offset}\n\t\tmeanPathDelay 50.0\n"
        );
        for state in states {
            text = text + "\t\tportState               " + state + "\n";
        }
        Ptp4l::read(&text)
    }

    #[test]
    fn pmcs_answer_is_understood() {
        let offset = Span::from_ns(-12);
        let of = |steps, states| answer(steps, "-12.4", states).unwrap();
        assert_eq!(of(1, &["SLAVE"]), Ptp4l { has_time: true, offset });
        assert_eq!(Ptp4l::read("sending: GET CURRENT_DATA_SET\n"), None);
    }

    #[test]
    fn ptp4l_has_the_time_from_a_master_or_as_grandmaster() {
        let has_time = |steps, states| answer(steps, "0.0", states).unwrap().has_time;
        assert!(!has_time(0, &["LISTENING"]), "its offset is 0, too");
        assert!(!has_time(1, &["UNCALIBRATED", "MASTER"]));
        assert!(has_time(1, &["FAULTY", "MASTER", "SLAVE"]));
        assert!(has_time(0, &["MASTER", "FAULTY"]));
    }
}
