//! One case as a file of its own, with everything it inherits written out.

use crate::fields::Fields;
use crate::keys::file::FILE;
use crate::log::Log;
use crate::tree::{Entry, Node, Origin, Table, Value};
use crate::{Reader, cases, overrides, print, syntax};

impl Reader {
    /// The case `name` of the experiment `text`, with the overrides of this reader, as a
    /// file without cases that says the same. `None` if the file cannot be read or has no
    /// such case. What compares cases is left out: `judge`, the paper, the case's kernel.
    pub fn alone(&self, text: &str, name: &str) -> Option<String> {
        let experiment = self.read(text).experiment?;
        let mut alone = Table {
            entries: vec![
                entry("name", file_name(&experiment.name, name)),
                entry("question", experiment.question),
            ],
        };
        alone.merge(&self.table_of(text, name)?);
        Some(print::file(&alone))
    }

    /// What the file says of a case, with everything it inherits.
    pub(crate) fn table_of(&self, text: &str, name: &str) -> Option<Table> {
        let log = Log::default();
        let mut root = syntax::parse(text, &log)?;
        let overlay = overrides::overlay(&root, self.overrides(), &log);
        root.merge(&overlay);
        let top = Origin::File { start: 0, end: 0 };
        let file = Fields::new(&root, top, &FILE, "the file", &log);
        let resolved = cases::resolve(&file, &root, &overrides::for_cases(&overlay), &log);
        Some(resolved.into_iter().find(|case| case.label.name == name)?.table)
    }
}

/// `EXPERIMENT-CASE`, or the case alone if that is too long for a name.
fn file_name(experiment: &str, case: &str) -> String {
    let both = format!("{experiment}-{case}");
    if both.len() <= 32 { both } else { case.to_owned() }
}

fn entry(key: &str, text: String) -> Entry {
    let at = Origin::NOWHERE;
    Entry { key: key.to_owned(), key_at: at, node: Node { at, value: Value::Text(text) } }
}
