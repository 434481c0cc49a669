//! The state of the local `ptp4l`, which linuxptp's `pmc` asks for.

use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;

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
        // ptp4l answers its own transportSpecific only: 0, or 1 with the gPTP profile.
        ["0", "1"].into_iter().find_map(|transport| {
            let output = Command::new("pmc")
                .args(["-u", "-b", "0", "-t", transport])
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

#[cfg(test)]
mod tests {
    use super::*;

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
