//! A run as `JUnit` XML, for continuous integration: a test suite a case, a test a
//! requirement.

use std::fmt::Write;

use teiji_record::Summary;

/// The file's text. A case that was not measured, or not to its end, is an error.
pub fn junit(summary: &Summary) -> String {
    let mut suites = String::new();
    let (mut all, mut failed, mut broken) = (0, 0, 0);
    for case in &summary.cases {
        let own: Vec<_> = summary.verdicts.iter().filter(|v| v.case == case.name).collect();
        let failures = own.iter().filter(|verdict| !verdict.holds).count();
        let missing = case.members.is_empty() || case.members.iter().any(|m| m.incomplete);
        let name = escaped(&format!("{}.{}", summary.experiment, case.name));
        let _ = writeln!(
            suites,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\" errors=\"{}\">",
            own.len() + 1,
            u8::from(missing)
        );
        let message = "not measured to its end";
        let error = if missing { format!("<error message=\"{message}\"/>") } else { String::new() };
        let _ = writeln!(
            suites,
            "    <testcase classname=\"{name}\" name=\"measured\">{error}</testcase>"
        );
        for verdict in &own {
            let (text, measured) = (escaped(&verdict.requirement), escaped(&verdict.measured));
            let failure = if verdict.holds {
                format!("<system-out>{measured}</system-out>")
            } else {
                format!("<failure message=\"{measured}\"/>")
            };
            let _ = writeln!(
                suites,
                "    <testcase classname=\"{name}\" name=\"{text}\">{failure}</testcase>"
            );
        }
        let _ = writeln!(suites, "  </testsuite>");
        all += own.len() + 1;
        failed += failures;
        broken += usize::from(missing);
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" tests=\"{all}\" \
         failures=\"{failed}\" errors=\"{broken}\">\n{suites}</testsuites>\n",
        escaped(&summary.experiment)
    )
}

/// Text that XML 1.0 takes, in elements and attributes.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_a_requirement_are_escaped() {
        assert_eq!(
            escaped("range <= \"20us\" & more\u{1}"),
            "range &lt;= &quot;20us&quot; &amp; more "
        );
    }
}
