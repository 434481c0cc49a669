//! Whatever is typed, the reader answers: it never panics, and it never says
//! "wrong" without saying where.

use proptest::prelude::*;
use teiji_experiment::{Place, Reader};

const FILES: [&str; 2] =
    [include_str!("../../../experiments/etf.toml"), include_str!("mistakes/many-at-once.toml")];

/// Pieces that have a meaning somewhere in a file.
const PIECES: [&str; 24] = [
    "[",
    "]",
    "\"",
    "'",
    "=",
    ".",
    ",",
    "{",
    "}",
    "#",
    "\n",
    "0",
    "-1",
    "99999999999999999999",
    "1e9",
    "nan",
    "2021-01-01",
    "[cases.x]\n",
    "inherits = \"etf\"\n",
    "kind = \"etf\"\n",
    "\"0ms\"",
    "µs",
    "[[flows]]\n",
    "\\",
];

fn check(text: &str, set: &[(String, String)]) {
    let reader = set.iter().fold(Reader::new("f.toml"), |r, (p, v)| r.set(p.as_str(), v.as_str()));
    let reading = reader.read(text);
    assert_eq!(reading.experiment.is_none(), reading.findings.mistakes() > 0);
    let lines = text.matches('\n').count() + 1;
    for finding in &reading.findings.findings {
        assert!(!finding.message.is_empty());
        if let Place::File { line, column } = finding.place {
            let content = text.split('\n').nth(line - 1).unwrap_or_default();
            assert!(line <= lines && column <= content.chars().count() + 1, "{finding:?}");
        }
    }
    let _ = reading.findings.to_string();
}

fn cut(text: &str, at: usize) -> usize {
    (0..=at % (text.len() + 1)).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        check(&text, &[]);
    }

    #[test]
    fn no_change_to_a_file_makes_the_reader_panic(
        file in 0..FILES.len(),
        changes in prop::collection::vec((any::<usize>(), 0_usize..12, 0..PIECES.len()), 1..6),
    ) {
        let mut text = FILES[file].to_owned();
        for (at, removed, piece) in changes {
            let start = cut(&text, at);
            let end = cut(&text, (start + removed).min(text.len())).max(start);
            text.replace_range(start..end, PIECES[piece]);
        }
        check(&text, &[]);
    }

    #[test]
    fn swapping_lines_does_not_make_the_reader_panic(
        file in 0..FILES.len(),
        swaps in prop::collection::vec((any::<usize>(), any::<usize>()), 1..5),
    ) {
        let mut lines: Vec<&str> = FILES[file].lines().collect();
        for (a, b) in swaps {
            let count = lines.len();
            lines.swap(a % count, b % count);
        }
        check(&lines.join("\n"), &[]);
    }

    #[test]
    fn no_override_makes_the_reader_panic(
        path in "[a-z.]{0,12}|(flows|hosts|wires|cases)(\\.(cycle|talker|line|etf|ports|qdisc|classes|0)){0,6}",
        value in "\\PC{0,20}|[0-9]{1,22}|\\{.{0,9}\\}",
    ) {
        check(FILES[0], &[(path, value)]);
    }
}
