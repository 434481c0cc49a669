//! What `teiji doctor` says: the verdicts, then each finding with what to do.

use teiji_core::time::Span;
use teiji_doctor::probe::{Lateness, Probe};
use teiji_doctor::{
    Diagnosis, Examination, Facts, Feature, Finding, Fix, Nic, Readiness, Verdict, Weight,
};

use super::Options;
use super::screen::{Screen, Style};
use crate::units::{count, duration};

/// Columns before a finding's sentence, and before what to do about it.
const INDENT: usize = 4;
const FIX: usize = 8;

/// The verdicts on a machine and its interfaces, and what they rest on. `host` names a machine other
/// than this one. Ends with a newline.
pub fn diagnosis(
    Examination { facts, probe }: &Examination,
    found: &Diagnosis,
    host: Option<&str>,
    options: &Options,
) -> String {
    let mut screen = Screen::new(*options);
    if facts.nics.is_empty() {
        let title = format!("{} has no Ethernet interface that is shown.", name(host, &screen));
        screen.wrapped(&title, 0, 0);
    }
    for nic in &facts.nics {
        screen.wrapped(&about(nic, &screen), 0, INDENT);
        verdicts(found, Some(&nic.name), &mut screen);
    }
    if facts.nics.is_empty() {
        verdicts(found, None, &mut screen);
    }
    section(&machine(facts, host, &screen), found, None, &mut screen);
    for nic in &facts.nics {
        section(&nic.name, found, Some(&nic.name), &mut screen);
    }
    if let Some(probe) = probe {
        screen.blank();
        screen.wrapped(&measured(probe, &screen), 0, 2);
    }
    screen.finish()
}

/// An interface: driver, firmware, speed.
fn about(nic: &Nic, screen: &Screen) -> String {
    let mut parts = Vec::new();
    if let Some(driver) = &nic.driver {
        parts.push(driver.name.clone());
        if !matches!(driver.firmware.as_str(), "" | "N/A") {
            parts.push(format!("firmware {}", driver.firmware));
        }
    }
    parts.extend(nic.pci.as_ref().map(|pci| format!("PCI {pci}")));
    parts.extend(nic.speed_mbps.map(|mbps| match mbps {
        mbps if mbps >= 1000 && mbps % 1000 == 0 => format!("{} Gbit/s", mbps / 1000),
        mbps => format!("{mbps} Mbit/s"),
    }));
    let parts = screen.foreign(&parts.join(", "));
    let name = screen.paint(&screen.foreign(&nic.name), Style::Bold);
    if parts.is_empty() { name } else { format!("{name} ({parts})") }
}

fn verdicts(found: &Diagnosis, interface: Option<&str>, screen: &mut Screen) {
    let width = Feature::ALL.map(|feature| feature.name().len()).into_iter().max().unwrap_or(0);
    let ours = |verdict: &&Verdict| verdict.interface.as_deref() == interface;
    let lines: Vec<String> = found
        .verdicts
        .iter()
        .filter(ours)
        .map(|verdict| {
            let (words, style) = match verdict.readiness {
                Readiness::Ready => ("READY", Style::Green),
                Readiness::NotReady => ("NOT READY", Style::Red),
                Readiness::NotApplicable => ("not applicable", Style::Dim),
            };
            let findings = match verdict.findings {
                _ if verdict.readiness == Readiness::NotApplicable => String::new(),
                0 => String::new(),
                1 => ", 1 finding".to_owned(),
                several => format!(", {several} findings"),
            };
            let name = verdict.feature.name();
            format!("    {name:width$}  {}{findings}", screen.paint(words, style))
        })
        .collect();
    for line in lines {
        screen.line(&line);
    }
}

fn name(host: Option<&str>, screen: &Screen) -> String {
    host.map_or_else(|| "This machine".to_owned(), |host| screen.foreign(host))
}

/// The machine in one line.
fn machine(facts: &Facts, host: Option<&str>, screen: &Screen) -> String {
    let machine = &facts.machine;
    let parts = [
        machine.kernel_release.clone(),
        machine.preempt_rt.then(|| "PREEMPT_RT".to_owned()),
        machine.cpu_model.clone(),
        machine.cpus_online.as_ref().map(|cpus| format!("CPUs {cpus}")),
        machine.clocksource.as_ref().map(|clock| format!("clock source {clock}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{}: {}", name(host, screen), screen.foreign(&parts.join(", ")))
}

fn section(title: &str, found: &Diagnosis, interface: Option<&str>, screen: &mut Screen) {
    let ours = |finding: &&Finding| finding.interface.as_deref() == interface;
    let mut findings = found.findings.iter().filter(ours).peekable();
    // The machine is named in any case: what was looked at is part of the result.
    if findings.peek().is_none() && interface.is_some() {
        return;
    }
    screen.blank();
    screen.wrapped(title, 0, INDENT);
    for finding in findings {
        let (mark, style) = match finding.weight {
            Weight::Blocks => ("✗", Style::Red),
            Weight::Costs => ("!", Style::Yellow),
            Weight::Note => ("·", Style::Dim),
        };
        let mark = screen.paint(&screen.foreign(mark), style);
        screen.wrapped(&format!("{mark} {}", screen.foreign(&finding.seen)), 2, INDENT);
        match &finding.fix {
            // Unbroken, so that it can be copied.
            Fix::Command(command) => {
                screen.line(&format!("{:FIX$}{}", "", screen.foreign(command)));
            }
            Fix::Advice(advice) => screen.wrapped(&screen.foreign(advice), FIX, FIX),
            Fix::NotOnThisHardware => {
                screen.wrapped_in("not to be changed on this hardware", FIX, FIX, Style::Dim);
            }
        }
    }
}

fn measured(probe: &Probe, screen: &Screen) -> String {
    let glyphs = screen.glyphs();
    let time = |span: Span| duration(span.as_ns() as f64, glyphs);
    let late = |late: &Lateness| {
        format!(
            "{} (median), {} (p99), {} at most",
            time(late.median),
            time(late.p99),
            time(late.max)
        )
    };
    let awake =
        probe.awake.as_ref().map(|awake| format!("; with idle states held off by {}", late(awake)));
    format!(
        "Measured: a thread of real-time priority 79 woke late by {} in {} times{}. Reading the clock \
         takes {}.",
        late(&probe.as_is),
        count(probe.as_is.wakes as u64, glyphs),
        awake.unwrap_or_default(),
        time(probe.clock_reading)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_come_first_and_commands_stay_in_one_line() {
        let facts = Facts::read(&["lo".to_owned()]).unwrap();
        let long = "ethtool -C lo ".repeat(20).trim_end().to_owned();
        let finding = |weight, fix| Finding {
            id: "test",
            interface: Some("lo".to_owned()),
            affects: &Feature::ALL,
            weight,
            seen: "its\u{1b}[31m interrupts wait".to_owned(),
            fix,
        };
        let found = Diagnosis {
            verdicts: vec![
                Verdict {
                    interface: Some("lo".to_owned()),
                    feature: Feature::LaunchTimes,
                    readiness: Readiness::NotReady,
                    findings: 2,
                },
                Verdict {
                    interface: Some("lo".to_owned()),
                    feature: Feature::FlowControl,
                    readiness: Readiness::NotApplicable,
                    findings: 2,
                },
            ],
            findings: vec![
                finding(Weight::Blocks, Fix::Command(long.clone())),
                finding(Weight::Note, Fix::NotOnThisHardware),
            ],
        };
        let options = Options { width: 60, color: false, unicode: false };
        let late = Lateness {
            wakes: 1000,
            median: Span::from_micros(5),
            p99: Span::from_micros(9),
            max: Span::from_micros(31),
        };
        let probe = Probe { as_is: late, awake: None, clock_reading: Span::from_ns(27) };
        let seen = Examination { facts, probe: Some(probe) };
        let text = diagnosis(&seen, &found, Some("board\u{7}"), &options);
        assert!(text.contains("board : "), "{text}");
        assert!(text.starts_with("lo"), "{text}");
        assert!(text.contains("launch times  NOT READY, 2 findings\n"), "{text}");
        assert!(text.contains("flow control  not applicable\n"), "{text}");
        assert!(text.contains(&long), "{text}");
        assert!(text.contains("x its [31m interrupts wait"), "{text}");
        assert!(text.contains("not to be changed on this hardware"), "{text}");
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            joined.contains("5 us (median), 9 us (p99), 31 us at most in 1 000 times"),
            "{joined}"
        );
        assert!(joined.contains("Reading the clock takes 27 ns."), "{joined}");
    }
}
