//! A case that overrides something by a name that is nearly right.

use crate::fields::Named;
use crate::log::Log;
use crate::suggest::did_you_mean;
use crate::tree::Table;

/// Reports a table that lacks both ends, because its name was meant to be that of another
/// one; true if so. `what` it is, as `a flow`; `section` is where it stands.
pub(super) fn is_slip(
    table: &Named<'_>,
    all: &[Named<'_>],
    (what, section): (&str, &str),
    log: &Log,
) -> bool {
    let has_ends = |table: &Table| ["from", "to"].iter().any(|end| table.get(end).is_some());
    if has_ends(table.table) {
        return false;
    }
    let whole = all.iter().filter(|other| has_ends(other.table)).map(|other| other.name);
    let guess = did_you_mean(table.name, whole);
    if guess.is_empty() {
        return false;
    }
    let name = table.name;
    log.mistake(
        table.at,
        format!("there is no {what} `{name}`{guess}"),
        format!("A new [{section}.{name}] needs at least from and to."),
    );
    true
}
