//! docs/experiments.md says what the reader accepts, key by key, and nothing
//! else; and each key is really read. `UPDATE=1 cargo test` writes its tables
//! anew.

use std::fs;
use std::path::{Path, PathBuf};

use teiji_experiment::keys::{self, Section};
use teiji_experiment::{Profile, Reader};

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments.md")
}

fn document() -> String {
    fs::read_to_string(path()).unwrap()
}

/// The document with the table behind each `<!-- table: HEADER -->` written
/// anew.
fn with_tables(document: &str) -> String {
    keys::SECTIONS.iter().fold(document.to_owned(), |text, section| with_table(&text, section))
}

/// The same for one section.
fn with_table(text: &str, section: &Section) -> String {
    let mark = format!("<!-- table: {} -->\n", section.header);
    let (before, rest) = text.split_once(&mark).unwrap_or_else(|| panic!("no {mark}"));
    let old: usize =
        rest.split_inclusive('\n').take_while(|l| l.starts_with('|')).map(str::len).sum();
    format!("{before}{mark}{}{}", keys::markdown(section), &rest[old..])
}

#[test]
fn every_accepted_key_is_documented_and_every_documented_key_is_accepted() {
    let current = document();
    let expected = with_tables(&current);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path(), &expected).unwrap();
        return;
    }
    assert!(
        current == expected,
        "docs/experiments.md is behind the declared keys: UPDATE=1 cargo test"
    );
    let keys: usize = keys::SECTIONS.iter().map(|section| section.keys().count()).sum();
    let documented = current.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(documented, keys, "docs/experiments.md documents keys that do not exist");
}

/// The first example of a page, whose tables are those of `sections`.
fn example_of(page: &str, sections: &[&Section]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let current = fs::read_to_string(&path).unwrap();
    let expected =
        sections.iter().fold(current.clone(), |text, section| with_table(&text, section));
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, &expected).unwrap();
    } else {
        assert!(
            current == expected,
            "docs/{page} is behind the declared keys: UPDATE=1 cargo test"
        );
    }
    expected.split("```toml\n").nth(1).unwrap().split("```").next().unwrap().to_owned()
}

#[test]
fn every_key_of_a_profile_is_documented_and_its_example_is_read() {
    let example = example_of("profiles.md", &[&keys::PROFILE, &keys::PROFILE_PORT]);
    assert_eq!(Profile::parse(&example, "drive.toml").unwrap().ports.len(), 1);
}

#[test]
fn the_examples_of_the_document_are_read_without_a_finding() {
    let document = document();
    let examples: Vec<&str> =
        document.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let reading = Reader::new("example.toml").read(example);
        assert!(reading.findings.is_empty(), "{example}\n{}", reading.findings);
    }
}

/// The lines around a key of `section`: what comes before its table, its
/// header, and what else the table needs.
fn surroundings(section: &str, key: &str) -> [&'static str; 3] {
    const HEAD: &str = "name = \"demo\"\nquestion = \"?\"\nwires.line.between = [\"a\", \"b\"]\n";
    const VTSN: &str = "name = \"demo\"\nquestion = \"?\"\nwires.line.between = [\"a\", \"b\"]\n\
                        wires.line.nic = \"vtsn\"\n";
    const FLOW: &str = "from = \"a\"\nto = \"b\"\nperiod = \"1ms\"\nframes = 9\n";
    let qdisc = match key {
        "map" | "queues" | "hw" => {
            "kind = \"mqprio\"\nmap = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n\
             queues = [\"1@0\"]\n"
        }
        "bands" | "classes" => "kind = \"prio\"\n",
        "entries" | "mode" | "base-time" | "cycle" | "extension" | "txtime-delay" => {
            "kind = \"taprio\"\nmap = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n\
             queues = [\"1@0\"]\nmode = \"txtime-assist\"\n\
             entries = [{ open = [0], interval = \"1ms\" }]\n"
        }
        "bandwidth" | "max-frame" | "idleslope" | "sendslope" | "hicredit" | "locredit" => {
            "kind = \"cbs\"\n"
        }
        "limit" => "kind = \"pfifo\"\n",
        "by" | "link" | "storm" | "reaction" | "ring" | "room" => "kind = \"prioflow\"\n",
        _ => "kind = \"etf\"\ndelta = \"1us\"\n",
    };
    match section {
        "(top of the file)" => ["", "", "name = \"demo\"\nquestion = \"?\"\n"],
        "judge = { … } of the file" => [HEAD, "[judge]\n", ""],
        "[wires.NAME]" => [HEAD, "[wires.other]\n", "between = [\"a\", \"b\"]\n"],
        "[hosts.NAME]" => [HEAD, "[hosts.a]\n", ""],
        "ptp = { … } of a host" => [VTSN, "[hosts.a.ptp]\n", ""],
        "[hosts.NAME.system]" => [HEAD, "[hosts.a.system]\n", ""],
        "ksoftirqd, ktimers = { … } of a system" => [HEAD, "[hosts.a.system.ksoftirqd]\n", ""],
        "irq = { … } of a port" => [HEAD, "[hosts.a.ports.line.irq]\n", ""],
        "napi = { … } of a port" => [HEAD, "[hosts.a.ports.line.napi]\n", ""],
        "[hosts.NAME.ports.WIRE]" => [HEAD, "[hosts.a.ports.line]\n", ""],
        "ring = { … } of a port" => [VTSN, "[hosts.a.ports.line.ring]\n", ""],
        "moderation = { … } of a port" => [VTSN, "[hosts.a.ports.line.moderation]\n", ""],
        "phc = { … } of a port" => [VTSN, "[hosts.a.ports.line.phc]\n", ""],
        "entries = [{ … }] of taprio" => [
            "name = \"demo\"\nquestion = \"?\"\nwires.line.between = [\"a\", \"b\"]\n\
             [hosts.a.ports.line.qdisc]\nkind = \"taprio\"\nqueues = [\"1@0\"]\n\
             map = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n",
            // The only table whose keys have no header of their own.
            "entries = [{",
            "",
        ],
        "[hosts.NAME.ports.WIRE.qdisc]" => [HEAD, "[hosts.a.ports.line.qdisc]\n", qdisc],
        "[hosts.NAME.ports.WIRE.qdisc.classes.NUMBER]" => [
            "name = \"demo\"\nquestion = \"?\"\nwires.line.between = [\"a\", \"b\"]\n\
             hosts.a.ports.line.qdisc.kind = \"prio\"\n",
            "[hosts.a.ports.line.qdisc.classes.0]\n",
            qdisc,
        ],
        "[flows.NAME]" => [HEAD, "[flows.other]\n", FLOW],
        "[round-trips.NAME]" => {
            [HEAD, "[round-trips.other]\n", "from = \"a\"\nto = \"b\"\ncount = 9\n"]
        }
        "vlan = { … } of a flow" => [
            "name = \"demo\"\nquestion = \"?\"\nwires.line.between = [\"a\", \"b\"]\n\
             flows.f = { from = \"a\", to = \"b\", period = \"1s\", frames = 9, transport = \"ethernet\" }\n\
             [cases.one]\n",
            "[cases.one.flows.f.vlan]\n",
            "",
        ],
        "[cases.NAME]" => [HEAD, "[cases.one]\n", ""],
        other => panic!("{other} is not covered"),
    }
}

/// Each key gets a date, which no key accepts: one about which nothing is said
/// is not read at all.
#[test]
fn every_declared_key_is_read() {
    for section in keys::SECTIONS {
        for key in section.keys() {
            let [before, header, rest] = surroundings(section.header, key.name());
            let own = format!("{} = ", key.name());
            let others: Vec<&str> = rest.lines().filter(|line| !line.starts_with(&own)).collect();
            let end = if header.ends_with('{') { " }]" } else { "" };
            let text = format!("{before}{header}{own}2021-01-01{end}\n{}\n", others.join("\n"));
            let place = format!("f:{}:", format!("{before}{header}").matches('\n').count() + 1);
            let findings = Reader::new("f").read(&text).findings.to_string();
            assert!(
                findings.contains(&place),
                "{}: `{}` is not read\n{text}\n{findings}",
                section.header,
                key.name()
            );
        }
    }
}
