//! `prioflow`: 16 levels, and flow control of the port's link.

use crate::fields::Fields;
use crate::keys::prioflow::PrioflowDraft;
use crate::scenario::{LevelSource, LevelTable, Prioflow};
use crate::tree::{Node, Value};

pub(crate) fn read(fields: &Fields<'_>) -> Option<Prioflow> {
    let mut draft = PrioflowDraft::read(fields);
    let source = draft.source;
    draft.table = draft.table.and_then(|table| match fits(&table, source) {
        Ok(()) => Some(table),
        Err(why) => {
            fields.refuse("table", why, format!("Write for example table = {EXAMPLE}"));
            None
        }
    });
    draft.finish()
}

/// What one would write as a table.
pub(crate) const EXAMPLE: &str = "[0, 0, 1, 1, 2, 2, 3, 3] with by = \"pcp\"";

/// The levels, whatever they are taken from.
pub(crate) fn table_of(items: &[Node]) -> Result<LevelTable, String> {
    let level = |item: &Node| match item.value {
        // What fits into no byte is no level either.
        Value::Integer(level) => Ok(u8::try_from(level).unwrap_or(u8::MAX)),
        _ => Err("`table` holds whole numbers only"),
    };
    let levels: Result<Vec<u8>, _> = items.iter().map(level).collect();
    LevelTable::new(&levels?)
}

/// A table has a level for each value of its source.
fn fits(table: &LevelTable, source: Option<LevelSource>) -> Result<(), String> {
    let entries = table.levels().len();
    match source {
        Some(source) if entries != source.values() => Err(format!(
            "`table` has {entries} levels, and {} has {} values",
            source.name(),
            source.values()
        )),
        _ => Ok(()),
    }
}
