//! Golden findings: every `mistakes/*.toml` and what a user is told about it,
//! in the `.txt` beside it. A first line `# base: NAME` puts `base/NAME.toml` in its
//! place; lines `# --set PATH=VALUE` are overrides, and `# nics: own` has real NICs. `UPDATE=1 cargo test` writes the files
//! anew; read the diff.

mod mistake_files;

use std::fs;

use mistake_files::folder;
use teiji_experiment::reader::NicSource;
use teiji_experiment::{Reader, Severity};

fn reader(name: &str, text: &str) -> Reader {
    let overrides = text.lines().filter_map(|line| line.strip_prefix("# --set ")?.split_once('='));
    let own = text.lines().any(|line| line == "# nics: own");
    let nics = if own { NicSource::Own } else { NicSource::Emulated };
    let reader = Reader::new(name).nics(nics);
    overrides.fold(reader, |reader, (path, value)| reader.set(path, value))
}

#[test]
fn every_mistake_has_the_message_of_its_golden_file() {
    let mut seen = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        seen += 1;
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = mistake_files::read(&path);
        let reading = reader(name, &text).read(&text);
        let text = reading.findings.to_string();
        assert!(!reading.findings.is_empty(), "{name} has no mistake at all");
        assert_eq!(
            reading.experiment.is_none(),
            reading.findings.mistakes() > 0,
            "{name}: an experiment comes out exactly when nothing is fatal"
        );
        let golden = path.with_extension("txt");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&golden, &text).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if text != expected {
            wrong.push(format!("--- {name}: expected\n{expected}--- told\n{text}"));
        }
    }
    assert!(seen >= 60, "only {seen} files found: is the folder complete?");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_golden_text_belongs_to_a_file() {
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        assert!(path.with_extension("toml").exists(), "{} is an orphan", path.display());
    }
}

#[test]
fn findings_serialise_for_machines() {
    let text = "name = \"a\"\nquestion = \"?\"\npaper = \"etc\"\n[wires.l]\nbetween = [\"a\", \"b\"]\n\
                [flows.f]\nfrom = \"a\"\nto = \"b\"\nperiod = \"1ms\"\nframes = 1\n";
    let reading = Reader::new("a.toml").set("flows.f.frames", "0").read(text);
    let json = serde_json::to_value(&reading.findings).unwrap();
    assert_eq!(json["file"], "a.toml");
    let [set, paper] = json["findings"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!(set["set"], "flows.f.frames=0");
    assert_eq!(paper["line"], 3);
    assert_eq!(paper["column"], 9);
    assert_eq!(paper["severity"], "mistake");
    assert!(paper["message"].as_str().unwrap().contains("did you mean `etf`"), "{paper}");
    assert!(reading.findings.findings.iter().all(|f| f.severity == Severity::Mistake));
}
