//! docs/experiments.md says what the reader accepts, key by key, and nothing
//! else. `UPDATE=1 cargo test` writes its tables anew. That each key is really
//! read is tested beside the declarations.

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
