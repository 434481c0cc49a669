//! The published figures (`papers/*.toml`), part of the program.

use teiji_core::figure::Figure;
use teiji_record::Summary;
use thiserror::Error;
use toml::{Table, Value};

use crate::units::{Glyphs, number};

/// The studies this project builds on, by key.
const FILES: [(&str, &str); 3] = [
    ("etf", include_str!("../../../papers/etf.toml")),
    ("ksoftirqd", include_str!("../../../papers/ksoftirqd.toml")),
    ("prioflow", include_str!("../../../papers/prioflow.toml")),
];

/// Why a paper's figures are not available.
#[derive(Debug, Error)]
pub enum PaperError {
    /// No such paper.
    #[error("there is no paper `{0}`; known are {known}", known = keys().join(", "))]
    Unknown(String),
    /// The file is not what it should be.
    #[error("papers/{key}.toml: {message}")]
    Malformed {
        /// The paper.
        key: String,
        /// What is wrong.
        message: String,
    },
}

/// The keys that [`Paper::load`] knows.
pub fn keys() -> Vec<&'static str> {
    FILES.iter().map(|(key, _)| *key).collect()
}

/// A published study: who, on what, and what came out.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Name of its file under `papers/`.
    pub key: String,
    /// Authors.
    pub authors: String,
    /// Title.
    pub title: String,
    /// Year, as text.
    pub year: String,
    /// The set-up in a few words.
    pub short: String,
    /// The set-up, as (what, which), in the file's order.
    pub setup: Vec<(String, String)>,
    /// The traffic, likewise.
    pub traffic: Vec<(String, String)>,
    /// The queueing disciplines, likewise; empty if the study says nothing.
    pub qdisc: Vec<(String, String)>,
    results: Table,
    unit_ns: f64,
}

/// The figures a study published of one case, in ns. What it does not say is
/// `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PaperFigures {
    /// Arithmetic mean of the deviation.
    pub mean_ns: Option<f64>,
    /// Smallest deviation.
    pub min_ns: Option<f64>,
    /// Largest deviation.
    pub max_ns: Option<f64>,
    /// Largest minus smallest.
    pub range_ns: Option<f64>,
    /// Standard deviation.
    pub stddev_ns: Option<f64>,
}

impl PaperFigures {
    /// A figure, in ns; `None` if the study does not have it.
    pub fn figure(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::Mean => self.mean_ns,
            Figure::Min => self.min_ns,
            Figure::Max => self.max_ns,
            Figure::Range => self.range_ns,
            Figure::Stddev => self.stddev_ns,
            Figure::Percentile(_) => None,
        }
    }
}

impl Paper {
    /// The paper called `key`.
    ///
    /// # Errors
    /// [`PaperError::Unknown`] if there is none.
    pub fn load(key: &str) -> Result<Self, PaperError> {
        let (_, text) = FILES
            .iter()
            .find(|(k, _)| *k == key)
            .ok_or_else(|| PaperError::Unknown(key.to_owned()))?;
        Self::parse(key, text)
    }

    fn parse(key: &str, text: &str) -> Result<Self, PaperError> {
        let malformed = |message: String| PaperError::Malformed { key: key.to_owned(), message };
        let root: Table = text.parse().map_err(|e: toml::de::Error| malformed(e.to_string()))?;
        let about = |name: &str| {
            root.get("about")
                .and_then(|a| a.get(name))
                .and_then(Value::as_str)
                .map(str::to_owned)
                .ok_or_else(|| malformed(format!("about.{name} is missing")))
        };
        let unit_ns = match about("unit")?.as_str() {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            other => return Err(malformed(format!("about.unit `{other}` is not ns, us or ms"))),
        };
        Ok(Self {
            key: key.to_owned(),
            authors: about("authors")?,
            title: about("title")?,
            year: about("year")?,
            short: about("short")?,
            setup: pairs(&root, "setup"),
            traffic: pairs(&root, "traffic"),
            qdisc: pairs(&root, "qdisc"),
            results: root.get("result").and_then(Value::as_table).cloned().unwrap_or_default(),
            unit_ns,
        })
    }

    /// What the paper says in words under `[result.<key>]` of `what` (`max`, `mean`,
    /// `stddev`): "better", "much better", "worse". `None` if it does not.
    pub fn word(&self, key: &str, what: &str) -> Option<String> {
        let mut table = &self.results;
        for part in key.split('.') {
            table = table.get(part)?.as_table()?;
        }
        table.get(what)?.as_str().map(str::to_owned)
    }

    /// What it published under `[result.<key>]` that [`Paper::figures`] has no place for: a sentence
    /// as `xoff: response us 446, overrun packets 4 to 5`. `None` if there is nothing.
    pub fn published(&self, key: &str) -> Option<String> {
        let table = self.results.get(key)?.as_table()?;
        if self.figures(key).is_some() || table.values().any(Value::is_table) {
            return None;
        }
        let unit = table.get("unit").and_then(Value::as_str);
        let values: Vec<String> = table
            .iter()
            .filter(|(name, _)| *name != "unit")
            .map(|(name, value)| format!("{} {}", name.replace('_', " "), span(value)))
            .collect();
        let unit = unit.map_or(String::new(), |unit| format!(" ({unit})"));
        (!values.is_empty())
            .then(|| format!("{}{unit}: {}", key.replace('_', " "), values.join(", ")))
    }

    /// The same of all cases that stand beside it, each once.
    pub fn beside(&self, summary: &Summary) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for key in summary.cases.iter().filter_map(|case| case.paper_result.as_deref()) {
            all.extend(self.published(key).filter(|figure| !all.contains(figure)));
        }
        all
    }

    /// The figures under `[result.<key>]`; `key` may go deeper with points
    /// (`jitter.none.rt1`). `None` if the paper has none there.
    pub fn figures(&self, key: &str) -> Option<PaperFigures> {
        let mut value: Option<&Value> = None;
        let mut table = Some(&self.results);
        for part in key.split('.') {
            value = table?.get(part);
            table = value.and_then(Value::as_table);
        }
        let scaled = |value: Option<&Value>| value.and_then(as_number).map(|v| v * self.unit_ns);
        if let Some(table) = table {
            let figures = PaperFigures {
                mean_ns: scaled(table.get("mean")),
                min_ns: scaled(table.get("min")),
                max_ns: scaled(table.get("max")),
                range_ns: scaled(table.get("range")),
                stddev_ns: scaled(table.get("stddev")),
            };
            return (figures != PaperFigures::default()).then_some(figures);
        }
        // The jitter table of `ksoftirqd`: [max, standard deviation].
        let pair = value?.as_array()?;
        let at = |i: usize| scaled(pair.get(i));
        (pair.len() == 2).then(|| PaperFigures {
            max_ns: at(0),
            stddev_ns: at(1),
            ..Default::default()
        })
    }
}

fn as_number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|i| i as f64))
}

/// The entries of a table as text, keys with spaces for underscores.
fn pairs(root: &Table, name: &str) -> Vec<(String, String)> {
    let Some(table) = root.get(name).and_then(Value::as_table) else { return Vec::new() };
    table.iter().map(|(key, value)| (key.replace('_', " "), text(value))).collect()
}

/// Of two numbers the first is the least, the second the most.
fn span(value: &Value) -> String {
    match value.as_array().map(Vec::as_slice) {
        Some([least, most]) => format!("{} to {}", text(least), text(most)),
        _ => text(value),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(a) => a.iter().map(text).collect::<Vec<_>>().join(" "),
        Value::Integer(value) => number(*value as f64, 0, &Glyphs::UNICODE),
        Value::Float(value) => value.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::Datetime(value) => value.to_string(),
        // A paper's set-up is flat.
        Value::Table(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paper_of_the_project_can_be_loaded() {
        for key in keys() {
            let paper = Paper::load(key).unwrap();
            assert!(!paper.setup.is_empty() && !paper.short.is_empty(), "{key}");
        }
    }

    #[test]
    fn the_etf_figures_are_in_nanoseconds() {
        let paper = Paper::load("etf").unwrap();
        let normal = paper.figures("normal").unwrap();
        assert_eq!(normal.range_ns, Some(23_460.0));
        assert_eq!(normal.mean_ns, Some(-398.3));
        assert_eq!(paper.figures("etf").unwrap().min_ns, Some(-25.0));
        assert_eq!(paper.figures("nonsense"), None);
        assert_eq!(paper.traffic[1], ("frames".to_owned(), "60 000".to_owned()));
    }

    #[test]
    fn jitter_given_as_pairs_in_milliseconds_becomes_maximum_and_deviation() {
        let paper = Paper::load("ksoftirqd").unwrap();
        let figures = paper.figures("jitter.tcp_transmit.rt1").unwrap();
        assert_eq!(figures.max_ns, Some(5_862_000.0));
        assert_eq!(figures.stddev_ns, Some(3_101_000.0));
        assert_eq!(figures.mean_ns, None);
        assert_eq!(paper.figures("jitter.none"), None, "a table of cases has no figures itself");
    }

    #[test]
    fn figures_without_a_column_are_sentences() {
        let paper = Paper::load("prioflow").unwrap();
        let published = |key| paper.published(key).unwrap().replace('\u{202f}', " ");
        assert_eq!(published("baseline_loss"), "baseline loss: sent 100 000, lost 75 000");
        assert_eq!(published("xoff"), "xoff: response us 446, overrun packets 4 to 5");
        let bandwidth = "bandwidth (Mbit/s): sum 95, a unaffected by b true";
        assert_eq!(published("bandwidth"), bandwidth);
        assert_eq!(paper.published("nonsense"), None);
        let etf = Paper::load("etf").unwrap();
        assert_eq!(etf.published("normal"), None, "its figures have columns");
    }

    #[test]
    fn an_unknown_paper_names_those_there_are() {
        let error = Paper::load("efx").unwrap_err().to_string();
        assert_eq!(error, "there is no paper `efx`; known are etf, ksoftirqd, prioflow");
    }
}
