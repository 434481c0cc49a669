//! Histograms that the kernel keeps of an event's field (`Documentation/trace/histogram.rst`).

use std::collections::BTreeMap;

/// The names of a field's values, by an event's `format`: of `__print_symbolic(REC->field, { 2, "NAME" }, …)`.
pub(super) fn names(format: &str, field: &str) -> BTreeMap<u64, String> {
    let mark = format!("__print_symbolic(REC->{field}");
    let list = format.split_once(&mark).map_or("", |(_, list)| list);
    // The list ends with the call.
    let list = list.split_once("})").map_or(list, |(list, _)| list);
    list.split('{')
        .skip(1)
        .filter_map(|entry| {
            let (number, name) = entry.split_once(',')?;
            let name = name.split('"').nth(1)?;
            Some((unsigned(number)?, name.to_owned()))
        })
        .collect()
}

/// The hits of each value, by an event's `hist`: lines as `{ reason:          2 } hitcount:          1`.
/// Values of one name are one.
pub(super) fn counts(hist: &str, names: &BTreeMap<u64, String>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in hist.lines() {
        let Some((key, hits)) = line.split_once("} hitcount:") else { continue };
        let value = key.rsplit(':').next().and_then(unsigned);
        let (Some(value), Ok(hits)) = (value, hits.trim().parse::<u64>()) else { continue };
        let name = names.get(&value).cloned().unwrap_or_else(|| value.to_string());
        *counts.entry(name).or_default() += hits;
    }
    counts
}

fn unsigned(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_texts_are_read() {
        // Of 6.12: events/skb/kfree_skb/format and hist, shortened.
        let format = "print fmt: \"skbaddr=%p reason: %s\", REC->skbaddr, \
                      __print_symbolic(REC->reason, { 1, \"CONSUMED\" }, { 2, \"NOT_SPECIFIED\" }, \
                      { 0x10003, \"NO_SOCKET\" })\n";
        let names = names(format, "reason");
        assert_eq!(names.len(), 3);
        assert_eq!(names[&0x10003], "NO_SOCKET");
        let hist = "# event histogram\n#\n# trigger info: hist:keys=reason:vals=hitcount [active]\n#\n\n\
                    { reason:          2 } hitcount:          7\n\
                    { reason:      65539 } hitcount:         12\n\
                    { reason:         77 } hitcount:          1\n\nTotals:\n    Hits: 20\n";
        let counts = counts(hist, &names);
        let expected = [("77", 1), ("NOT_SPECIFIED", 7), ("NO_SOCKET", 12)];
        assert_eq!(counts, expected.map(|(name, hits)| (name.to_owned(), hits)).into());
        assert!(super::names("print fmt: \"%d\", REC->reason", "reason").is_empty());
    }
}
