//! One topic of the report: built once, shown by the terminal and by HTML.

use crate::units::Glyphs;

/// A heading and what stands below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its anchor in the page.
    pub id: &'static str,
    /// Its name in the page's contents.
    pub link: &'static str,
    /// What it is about.
    pub heading: String,
    /// What the figures are; beside the heading.
    pub about: String,
    /// A paragraph that only the page has room for.
    pub explanation: String,
    /// The table or the list.
    pub body: Body,
    /// Sentences below it.
    pub notes: Vec<String>,
}

/// What a block shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Figures, a row for each case and item.
    Table(Table),
    /// Sentences, by case.
    Sentences(Vec<(String, Vec<String>)>),
}

/// Figures in columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What a row is about beside its case: `flow`. Empty if there is one row for each case.
    pub item: &'static str,
    /// The columns' heads.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The case.
    pub case: String,
    /// What else it is about: the flow.
    pub item: String,
    /// As many as there are columns.
    pub cells: Vec<String>,
}

impl Block {
    /// A table; `None` without rows.
    pub fn table(
        id: &'static str,
        link: &'static str,
        heading: impl Into<String>,
        table: Table,
    ) -> Option<Self> {
        (!table.rows.is_empty()).then(|| Self::of(id, link, heading, Body::Table(table)))
    }

    /// A heading and its body, with nothing around them.
    pub fn of(
        id: &'static str,
        link: &'static str,
        heading: impl Into<String>,
        body: Body,
    ) -> Self {
        let (about, explanation, notes) = (String::new(), String::new(), Vec::new());
        Self { id, link, heading: heading.into(), about, explanation, body, notes }
    }

    /// The same with what the figures are.
    #[must_use]
    pub fn about(self, about: impl Into<String>) -> Self {
        Self { about: about.into(), ..self }
    }

    /// The same with a paragraph for the page.
    #[must_use]
    pub fn explained(self, explanation: impl Into<String>) -> Self {
        Self { explanation: explanation.into(), ..self }
    }

    /// The same with sentences below.
    #[must_use]
    pub fn notes(self, notes: impl IntoIterator<Item = String>) -> Self {
        Self { notes: notes.into_iter().collect(), ..self }
    }
}

impl Table {
    /// A table of `items` (`flow`), whose figures have these heads.
    pub fn of<const N: usize>(
        item: &'static str,
        columns: [&str; N],
        rows: impl Iterator<Item = (String, String, [String; N])>,
    ) -> Self {
        let row = |(case, item, cells): (String, String, [String; N])| Row {
            case,
            item,
            cells: cells.to_vec(),
        };
        Self { item, columns: columns.map(str::to_owned).to_vec(), rows: rows.map(row).collect() }
    }

    /// Its items, each once, in the order of their first row.
    pub fn items(&self) -> Vec<&str> {
        let mut items: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !items.contains(&row.item.as_str()) {
                items.push(&row.item);
            }
        }
        items
    }
}

/// `shown`, or what stands for a figure that there is not.
pub fn or_none(shown: Option<String>, glyphs: &Glyphs) -> String {
    shown.unwrap_or_else(|| glyphs.none.to_owned())
}
