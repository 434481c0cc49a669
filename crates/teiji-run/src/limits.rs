//! What the figures of a run do not prove, in full sentences for its report.

use teiji_experiment::{Case, Experiment, Nic, Wire};
use teiji_record::summary::Testbed;
use teiji_record::{CaseSummary, Summary};
use teiji_stats::TimestampPoint;

/// `experiment` is what was measured; `None` where it cannot be read any more, or never was
/// one.
pub fn limits(summary: &Summary, experiment: Option<&Experiment>) -> Vec<String> {
    let mut limits = match summary.testbed {
        Testbed::Lab => laboratory(&nics(experiment), &instruction_times(experiment)),
        Testbed::Local | Testbed::Machine | Testbed::Machines => vec![local(summary).to_owned()],
        Testbed::Capture if summary.cases.iter().any(is_of_two_points) => vec![
            "Two captures show the wire at two points: what happens between them is inferred. A \
             frame that is missing in one may have been lost on the way, or by the capture."
                .to_owned(),
        ],
        Testbed::Capture => vec![
            "A capture shows the wire at one point; the sender's schedule is inferred.".to_owned(),
        ],
    };
    let single = summary.cases.iter().all(|case| case.members.len() <= 1);
    if single && summary.testbed == Testbed::Lab {
        limits.push(
            "One seed is one sample. An ensemble (--seeds 1..16) shows how much the figures \
             depend on the start phase and the layout of the bus."
                .to_owned(),
        );
    }
    limits
}

/// The delay between two captures.
fn is_of_two_points(case: &CaseSummary) -> bool {
    case.members.iter().any(|member| !member.delays.is_empty())
}

/// The NICs of all cases.
fn nics(experiment: Option<&Experiment>) -> Vec<Nic> {
    let cases = experiment.into_iter().flat_map(|experiment| &experiment.cases);
    cases.flat_map(|case| &case.scenario.wires).map(|wire| wire.nic).collect()
}

/// `2 ns`; several if the cases differ.
fn instruction_times(experiment: Option<&Experiment>) -> String {
    let times = experiment.map(Experiment::instruction_times).unwrap_or_default();
    let named: Vec<String> = times.iter().map(|(time, _)| time.to_string()).collect();
    if named.is_empty() { "equally long".to_owned() } else { named.join(" or ") }
}

fn laboratory(nics: &[Nic], instruction: &str) -> Vec<String> {
    let mut limits = Vec::new();
    if nics.contains(&Nic::Vtsn) {
        limits.push(
            "The NICs are vtsn, software in the guest, whose MAC computes when a frame is on the \
             wire. A real NIC adds delay and jitter of its own, which no figure here contains."
                .to_owned(),
        );
    }
    if nics.iter().any(|nic| Nic::EMULATED.contains(nic)) {
        limits.push(
            "QEMU emulates the NICs: a frame is on the wire when the driver has handed it to the \
             NIC. A real NIC adds its own delay and jitter, and may support launch times."
                .to_owned(),
        );
    }
    limits.push(format!(
        "Every instruction takes {instruction}, whatever it does: there are no caches, no memory \
         latency and no power states. Ratios between cases carry over better than absolute times."
    ));
    limits
}

fn local(summary: &Summary) -> &'static str {
    let members = summary.cases.iter().flat_map(|case| &case.members);
    let mut points =
        members.flat_map(|member| member.flows.values()).map(|flow| flow.timestamp_point);
    let by_nics = |at| matches!(at, Some(TimestampPoint::RxHardware | TimestampPoint::TxHardware));
    if points.clone().next().is_some() && points.all(by_nics) {
        "The timestamps are the NICs' own: delays between timestamp and wire are not included."
    } else {
        "The timestamps are taken in software by the machine under test: its own delays are \
         included."
    }
}

/// What a reader must know about the testbed; `made`: this machine makes the wires of the experiment.
pub fn caveat(testbed: Testbed, experiment: &Experiment, made: bool) -> String {
    let text = match (testbed, made) {
        (Testbed::Machines, _) => {
            return format!(
                "The hosts are on several machines{} The time is real: other programs there disturb \
                 the figures.",
                over_machines(experiment)
            );
        }
        (Testbed::Lab, _) => {
            "The laboratory emulates the NIC: the figures show the software and are not \
             representative of real NICs."
        }
        (_, true) => {
            return format!(
                "The wires are {} pairs of this machine and the time is real: other programs \
                 disturb the figures, and another run will give others.",
                made_of(experiment)
            );
        }
        (_, false) => "The time is real: other programs on the machine disturb the figures.",
    };
    text.to_owned()
}

/// What figures between several machines are worth, as the end of a sentence, and further ones.
fn over_machines(experiment: &Experiment) -> &'static str {
    let synchronised = |case: &Case| case.scenario.synchronises_system_clocks();
    let mut cases = experiment.cases.iter();
    match (cases.clone().any(synchronised), cases.all(synchronised)) {
        (_, true) => {
            ", whose system clocks follow one by PTP. One-way figures contain the offsets of these clocks, \
             and half of the difference between the delays of PTP's messages in both directions, which \
             PTP cannot see."
        }
        (true, false) => {
            ", whose clocks are synchronised in some cases only: the other cases have no one-way figures."
        }
        (false, false) => {
            ", whose clocks the experiment does not synchronise: there are no one-way figures, only \
             those of each machine's own clock, losses, and round trips."
        }
    }
}

/// What the wires are where no NIC is bound to them.
fn made_of(experiment: &Experiment) -> &'static str {
    let vtsn = |wire: &Wire| wire.nic == Nic::Vtsn;
    let mut wires = experiment.cases.iter().flat_map(|case| &case.scenario.wires);
    let any = wires.clone().any(vtsn);
    match (any, wires.all(vtsn)) {
        (_, true) => "vtsn",
        (true, false) => "vtsn and veth",
        (false, false) => "veth",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_vtsn_are_not_those_of_qemus_nics() {
        let of = |nics: &[Nic]| laboratory(nics, "2 ns").join("\n");
        assert!(of(&[Nic::Vtsn]).contains("vtsn") && !of(&[Nic::Vtsn]).contains("QEMU"));
        assert!(of(&[Nic::Igb]).contains("QEMU") && !of(&[Nic::Igb]).contains("vtsn"));
        assert!(of(&[Nic::Igb, Nic::Vtsn]).contains("QEMU"));
    }

    #[test]
    fn wires_are_called_what_they_are_made_of() {
        let called = |nic: &str| {
            let text = format!(
                "name = \"x\"\nquestion = \"?\"\n[wires.line]\nbetween = [\"a\", \"b\"]\nnic = \
                 \"{nic}\"\n\
                 [flows.f]\nfrom = \"a\"\nto = \"b\"\nperiod = \"1ms\"\nframes = 5\n"
            );
            let experiment = Experiment::parse(&text, "x.toml").unwrap();
            let bound = caveat(Testbed::Local, &experiment, false);
            assert!(!bound.contains("pairs"), "{bound}");
            caveat(Testbed::Local, &experiment, true)
        };
        assert!(called("vtsn").starts_with("The wires are vtsn pairs of this machine"));
        assert!(called("igb").starts_with("The wires are veth pairs of this machine"));
    }

    #[test]
    fn one_way_figures_between_machines_are_explained() {
        let ptp = "hosts.a.ptp = { role = \"grandmaster\" }\n\
                   hosts.b.ptp = { role = \"slave\", system-clock = true }\n";
        let limit = |file: &str, of_case: &str| {
            let text = format!(
                "name = \"x\"\nquestion = \"?\"\n\
                 wires.line = {{ between = [\"a\", \"b\"], nic = \"vtsn\" }}\n{file}\
                 flows.f = {{ from = \"a\", to = \"b\", period = \"1ms\", frames = 5 }}\n\
                 [cases.plain]\n[cases.other]\n{of_case}"
            );
            let experiment = Experiment::parse(&text, "x.toml").unwrap();
            caveat(Testbed::Machines, &experiment, false)
        };
        assert!(limit("", "").contains("does not synchronise: there are no one-way"));
        assert!(limit(ptp, "").contains("follow one by PTP"));
        assert!(limit("", ptp).contains("in some cases only"));
    }
}
