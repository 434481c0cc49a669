//! Warns where frames were late or dropped and their sender's CPU had no time left.

use teiji::load::{LoadKind, LoadReport};
use teiji_experiment::Case;
use teiji_record::MemberSummary;
use teiji_record::summary::Testbed;

/// From here on a CPU counts as saturated. A periodic sender that keeps up leaves more than that.
const SATURATED: f64 = 0.95;

/// A sentence for a member of `case` in which frames were late or dropped by ETF while a CPU of
/// their sender was saturated. `loads` ran beside; those that compute fill each CPU on
/// purpose, and utilisation explains nothing then.
pub fn warning(
    case: &Case,
    member: &MemberSummary,
    loads: &[LoadReport],
    testbed: Testbed,
) -> Option<String> {
    if loads.iter().any(|load| matches!(load.kind, LoadKind::Cpu | LoadKind::Memory)) {
        return None;
    }
    let mut cpus: Vec<(u16, f64)> = Vec::new();
    let mut flows = Vec::new();
    for flow in &case.scenario.flows {
        let Some(counts) = member.flows.get(&flow.name).map(|found| found.counts) else { continue };
        let (late, dropped) = (counts.late, counts.dropped_missed + counts.dropped_invalid);
        if late + dropped == 0 {
            continue;
        }
        let own = case.scenario.host(&flow.from).and_then(|host| host.cpu);
        let saturated: Vec<(u16, f64)> = member
            .cpu_time
            .iter()
            .filter(|(cpu, _)| own.is_none_or(|own| own == **cpu))
            .map(|(cpu, time)| (*cpu, time.utilisation()))
            .filter(|(_, utilisation)| *utilisation >= SATURATED)
            .collect();
        if saturated.is_empty() {
            continue;
        }
        let planned = counts.planned;
        flows.push(match (late, dropped) {
            (0, _) => format!("{dropped} of {planned} frames of {} were dropped", flow.name),
            (_, 0) => format!("{late} of {planned} frames of {} were late", flow.name),
            _ => format!(
                "of {planned} frames of {} {dropped} were dropped and {late} late",
                flow.name
            ),
        });
        cpus.extend(
            saturated.into_iter().filter(|found| !cpus.contains(found)).collect::<Vec<_>>(),
        );
    }
    if flows.is_empty() {
        return None;
    }
    let busy: Vec<String> = cpus
        .iter()
        .map(|(cpu, utilisation)| format!("CPU {cpu} was busy {:.1} %", utilisation * 100.0))
        .collect();
    let next = if testbed == Testbed::Lab {
        format!(
            "The virtual CPU is too slow for this experiment, so the figures say little about the \
             network: set a shorter `instruction` than \"{}\".",
            case.instruction.to_string().replace(' ', "")
        )
    } else {
        "The CPU has too much other work, so the figures say little about the network: move other work \
         to another CPU (`irq`, `napi`, a host's `cpu`) or reduce the load."
            .to_owned()
    };
    Some(format!(
        "Case {}, seed {}: {} of the time while frames were sent, and {}. {next}",
        case.name,
        member.seed,
        busy.join(" and "),
        flows.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use teiji_core::cpu_time::CpuTime;
    use teiji_core::time::Span;
    use teiji_experiment::Experiment;
    use teiji_stats::{Counts, FlowStatistics};

    use super::*;

    fn case(more: &str) -> Case {
        let text = format!(
            "name = \"e\"\nquestion = \"?\"\nwires.line = {{ between = [\"a\", \"b\"], nic = \
             \"vtsn\" }}\nflows.cycle = {{ from = \"a\", to = \"b\", period = \"1ms\", frames = \
             500 }}\n{more}"
        );
        Experiment::parse(&text, "e.toml").unwrap().cases.remove(0)
    }

    /// Idle for so many of 1 000 ms, CPU by CPU.
    fn member(late: u64, dropped_missed: u64, idle_ms: &[i64]) -> MemberSummary {
        let elapsed = Span::from_secs(1);
        let time = |ms: &i64| CpuTime { elapsed, idle: Span::from_millis(*ms) };
        let counts = Counts { planned: 500, late, dropped_missed, ..Counts::default() };
        MemberSummary {
            seed: 1,
            flows: BTreeMap::from([(
                "cycle".to_owned(),
                FlowStatistics { counts, ..FlowStatistics::default() },
            )]),
            cpu_time: (0..).zip(idle_ms.iter().map(time)).collect(),
            ..MemberSummary::default()
        }
    }

    #[test]
    fn a_saturated_virtual_cpu_with_late_frames_is_reported_with_the_key() {
        let text = warning(&case(""), &member(240, 233, &[4]), &[], Testbed::Lab).unwrap();
        assert_eq!(
            text,
            "Case default, seed 1: CPU 0 was busy 99.6 % of the time while frames were sent, and \
             of \
             500 frames of cycle 233 were dropped and 240 late. The virtual CPU is too slow for this experiment, so the figures say little about the network: set a shorter \
             `instruction` than \"2ns\"."
        );
        let fast = case("instruction = \"500ps\"\n");
        let text = warning(&fast, &member(0, 1, &[50]), &[], Testbed::Lab).unwrap();
        assert!(text.contains("CPU 0 was busy 95.0 %") && text.contains("\"500ps\""), "{text}");
    }

    #[test]
    fn on_a_real_machine_other_work_is_to_go_elsewhere() {
        let text = warning(&case(""), &member(7, 0, &[900, 0]), &[], Testbed::Local).unwrap();
        assert!(text.contains("CPU 1 was busy 100.0 %"), "{text}");
        assert!(text.contains("7 of 500 frames of cycle were late"), "{text}");
        assert!(text.contains("another CPU") && !text.contains("instruction"), "{text}");
    }

    #[test]
    fn there_is_no_warning_if_the_cpu_is_not_the_cause() {
        let quiet = |case: Case, member: MemberSummary| {
            assert_eq!(warning(&case, &member, &[], Testbed::Lab), None);
        };
        quiet(case(""), member(0, 0, &[0]));
        quiet(case(""), member(9, 9, &[60]));
        // Older runs have no utilisation.
        quiet(case(""), member(9, 9, &[]));
        // The CPU of another host.
        quiet(case("hosts = { a.cpu = 0, b.cpu = 1 }\n"), member(9, 9, &[500, 0]));
    }

    #[test]
    fn loads_that_fill_every_cpu_on_purpose_are_no_saturation() {
        let load = |kind| LoadReport::new(kind, 1, 1_000);
        let warning_of =
            |kind| warning(&case(""), &member(9, 9, &[0]), &[load(kind)], Testbed::Lab);
        assert_eq!((warning_of(LoadKind::Cpu), warning_of(LoadKind::Memory)), (None, None));
        assert!(warning_of(LoadKind::TcpTx).is_some());
    }
}
