//! TOML text → [`Table`], with syntax errors in human words.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::log::Log;
use crate::tree::{Entry, Node, Origin, Table, Value};

/// Reads the file. `None` if its structure cannot be trusted: what follows an
/// unclosed bracket would only produce misleading findings. Errors that
/// concern a single value leave a [`Value::Broken`] and the rest is read on.
pub(crate) fn parse(text: &str, log: &Log) -> Option<Table> {
    let (document, mut errors) = DeTable::parse_recoverable(text);
    errors.sort_by_key(|e| e.span().map_or(text.len(), |span| span.start));
    if let Some(opening) = unclosed_list(document.get_ref(), text, &errors) {
        log.mistake(
            Origin::File { start: opening, end: opening + 1 },
            "this list is not closed",
            "Write `]` behind its last value.",
        );
        return None;
    }
    let mut broken = Vec::new();
    let mut spoiled_lines = BTreeSet::new();
    for error in &errors {
        let span = error.span().unwrap_or(text.len()..text.len());
        let (message, help, scope) = explain(error.message(), text, &span);
        let line = text.get(..span.start).unwrap_or(text).matches('\n').count();
        // One error in the structure of a line brings others with it.
        if matches!(scope, Scope::Structure) && !spoiled_lines.insert(line) {
            continue;
        }
        log.mistake(Origin::File { start: span.start, end: span.end }, message, help);
        if let Scope::Value = scope {
            broken.push(span);
        }
    }
    let mut out_of_range = Vec::new();
    let origin = |span: Range<usize>| Origin::File { start: span.start, end: span.end };
    let table = convert(document.get_ref(), &origin, &broken, &mut out_of_range);
    for at in out_of_range {
        log.mistake(at, "this number is too large", "Numbers have at most 63 bits.");
    }
    spoiled_lines.is_empty().then_some(table)
}

/// Where the list begins that the parser ran out of, if there is one: every
/// other error behind that place is a consequence.
fn unclosed_list(document: &DeTable<'_>, text: &str, errors: &[toml::de::Error]) -> Option<usize> {
    let error = errors.iter().find(|e| e.message().starts_with("unclosed array,"))?;
    let end = error.span().map_or(text.len(), |span| span.start);
    let mut openings = Vec::new();
    for value in document.values() {
        collect_lists_until(value, end, &mut openings);
    }
    openings.into_iter().min()
}

fn collect_lists_until(node: &Spanned<DeValue<'_>>, end: usize, openings: &mut Vec<usize>) {
    match node.get_ref() {
        DeValue::Array(_) if node.span().end >= end => openings.push(node.span().start),
        DeValue::Table(table) => {
            table.values().for_each(|value| collect_lists_until(value, end, openings));
        }
        _ => {}
    }
}

/// Reads what stands behind `--set PATH=`: a TOML value, or else plain text, so
/// that `margin=400us` needs no quotes.
pub(crate) fn parse_value(text: &str, at: Origin) -> Node {
    let (value, errors) = DeValue::parse_recoverable(text.trim());
    if text.trim().is_empty() || !errors.is_empty() {
        return Node { at, value: Value::Text(text.to_owned()) };
    }
    let mut out_of_range = Vec::new();
    let value = convert_value(value.get_ref(), &|_| at, &[], &mut out_of_range);
    let value = if out_of_range.is_empty() { value } else { Value::Text(text.to_owned()) };
    Node { at, value }
}

/// What a syntax error spoils.
enum Scope {
    /// Nothing: both keys could be read.
    Key,
    /// The value at that place.
    Value,
    /// Everything behind it.
    Structure,
}

fn explain(message: &str, text: &str, span: &Range<usize>) -> (String, String, Scope) {
    let excerpt = word_at(text, span);
    let (what, expected) = message.split_once(", expected ").unwrap_or((message, ""));
    match what {
        "duplicate key" => (
            format!("`{excerpt}` is defined twice"),
            "Keep one of the two; a case overrides a value under [cases.NAME] instead.".to_owned(),
            Scope::Key,
        ),
        "string values must be quoted" | "missing value" | "missing value for key"
            if excerpt.is_empty() =>
        {
            ("the value is missing".to_owned(), "Write it behind the `=`.".to_owned(), Scope::Value)
        }
        "string values must be quoted"
        | "invalid boolean"
        | "invalid float"
        | "invalid date-time"
        | "invalid integer number" => {
            let help = match excerpt.to_lowercase().as_str() {
                "yes" | "on" | "true" => "Write true.".to_owned(),
                "no" | "off" | "false" => "Write false.".to_owned(),
                _ => format!("Write \"{excerpt}\"."),
            };
            (format!("`{excerpt}` is text and needs quotes"), help, Scope::Value)
        }
        "unexpected leading zero" => (
            "a number must not begin with 0".to_owned(),
            "Leave the leading zeros out.".to_owned(),
            Scope::Value,
        ),
        "`_` may only go between digits" => {
            (what.to_owned(), "Write for example 60_000.".to_owned(), Scope::Value)
        }
        "unclosed table" | "unclosed array table" => (
            "this table's header is not closed".to_owned(),
            "Write `]` at its end, for example [flows.cycle].".to_owned(),
            Scope::Structure,
        ),
        "unclosed inline table" => (
            "this table in braces is not closed".to_owned(),
            "Write `}` behind its last value.".to_owned(),
            Scope::Structure,
        ),
        "invalid basic string" | "invalid literal string" if span.is_empty() => (
            "this text is not closed".to_owned(),
            format!("Write {} where it ends.", expected.trim_matches('`')),
            Scope::Structure,
        ),
        "key with no value" => (
            "a key without a value".to_owned(),
            "A line is `key = value`; a comment begins with #.".to_owned(),
            Scope::Structure,
        ),
        "invalid unquoted key" if excerpt.starts_with(':') => (
            "a key and its value are joined by `=`, not by `:`".to_owned(),
            "A line is `key = value`.".to_owned(),
            Scope::Structure,
        ),
        "missing comma between array elements" | "missing comma between key-value pairs" => (
            "a comma is missing".to_owned(),
            "Values in a list or in braces are separated by commas.".to_owned(),
            Scope::Structure,
        ),
        "missing escaped value" => (
            "a backslash begins an escape here, and this is none".to_owned(),
            "Write \\\\ for a backslash, or put the text in 'single quotes'.".to_owned(),
            Scope::Value,
        ),
        _ => {
            let expected = match expected {
                "" | "nothing" => String::new(),
                some => format!("Expected here: {some}."),
            };
            (format!("this is not TOML: {what}"), expected, Scope::Structure)
        }
    }
}

/// The text of `span`; of an empty one, the bare word it stands in.
fn word_at<'a>(text: &'a str, span: &Range<usize>) -> &'a str {
    let excerpt = text.get(span.clone()).unwrap_or_default().trim();
    if !excerpt.is_empty() {
        return excerpt;
    }
    let bare = |c: char| c.is_alphanumeric() || "._+-/:%".contains(c);
    let before = text.get(..span.start).unwrap_or_default();
    let after = text.get(span.start..).unwrap_or_default();
    let start = before.trim_end_matches(bare).len();
    let end = text.len() - after.trim_start_matches(bare).len();
    text.get(start..end).unwrap_or_default()
}

fn convert(
    table: &DeTable<'_>,
    origin: &dyn Fn(Range<usize>) -> Origin,
    broken: &[Range<usize>],
    out_of_range: &mut Vec<Origin>,
) -> Table {
    let mut entries: Vec<(usize, Entry)> = table
        .iter()
        .map(|(key, value)| {
            let entry = Entry {
                key: key.get_ref().to_string(),
                key_at: origin(key.span()),
                node: convert_node(value, origin, broken, out_of_range),
            };
            (key.span().start, entry)
        })
        .collect();
    entries.sort_by_key(|(start, _)| *start);
    Table { entries: entries.into_iter().map(|(_, entry)| entry).collect() }
}

fn convert_node(
    node: &Spanned<DeValue<'_>>,
    origin: &dyn Fn(Range<usize>) -> Origin,
    broken: &[Range<usize>],
    out_of_range: &mut Vec<Origin>,
) -> Node {
    let span = node.span();
    let at = origin(span.clone());
    let scalar = !matches!(node.get_ref(), DeValue::Table(_) | DeValue::Array(_));
    // Touching counts: an error's place may be the empty range at a value's end.
    let spoiled = |b: &Range<usize>| b.start <= span.end && span.start <= b.end;
    if scalar && broken.iter().any(spoiled) {
        return Node { at, value: Value::Broken };
    }
    let before = out_of_range.len();
    let value = convert_value(node.get_ref(), origin, broken, out_of_range);
    if scalar && out_of_range.len() > before {
        out_of_range.truncate(before);
        out_of_range.push(at);
    }
    Node { at, value }
}

fn convert_value(
    value: &DeValue<'_>,
    origin: &dyn Fn(Range<usize>) -> Origin,
    broken: &[Range<usize>],
    out_of_range: &mut Vec<Origin>,
) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => {
            if let Ok(number) = i64::from_str_radix(number.as_str(), number.radix()) {
                Value::Integer(number)
            } else {
                out_of_range.push(origin(0..0));
                Value::Broken
            }
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::Array(
            items.iter().map(|item| convert_node(item, origin, broken, out_of_range)).collect(),
        ),
        DeValue::Table(table) => Value::Table(convert(table, origin, broken, out_of_range)),
    }
}
