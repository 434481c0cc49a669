//! Which level each value of what a frame's level is taken from has, in `prioflow`
//! (kernel/prioflow/classify.c).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use teiji_core::domain::Level;

use super::prioflow::LevelSource;

/// Entries of the largest table, that of DSCP.
const MOST: usize = 64;

/// The level of each value, 0 first.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct LevelTable {
    levels: [u8; MOST],
    entries: usize,
}

impl LevelTable {
    /// The highest level of a table: the one above is for network control, which is never paused.
    pub const TOP: u8 = Level::MOST.get() - 1;

    /// These; an error says why they are none.
    ///
    /// # Errors
    /// A sentence, if there are not 8, 16 or 64 levels, or one is above [`Self::TOP`].
    pub fn new(levels: &[u8]) -> Result<Self, String> {
        Self::up_to(Self::TOP, levels)
    }

    fn up_to(top: u8, levels: &[u8]) -> Result<Self, String> {
        let entries = levels.len();
        if !LevelSource::ALL.iter().any(|source| source.values() == entries) {
            return Err(format!(
                "a table has 64 levels (by dscp), 16 (by tos or priority) or 8 (by pcp), not {entries}"
            ));
        }
        if let Some(level) = levels.iter().find(|level| **level > top) {
            return Err(format!("levels of a table are 0 to {top}, and {level} is none of them"));
        }
        let mut table = Self { levels: [0; MOST], entries };
        table.levels[..entries].copy_from_slice(levels);
        Ok(table)
    }

    /// The kernel module's own of this source.
    pub fn default_of(source: LevelSource) -> Self {
        let level = |value| match source {
            LevelSource::Dscp => value >> 2,
            LevelSource::Pcp => 2 * value + 1,
            LevelSource::Tos | LevelSource::Priority => value,
        };
        let mut table = Self { levels: [0; MOST], entries: source.values() };
        for (entry, value) in table.levels[..table.entries].iter_mut().zip(0..) {
            *entry = level(value).min(Self::TOP);
        }
        table
    }

    /// The levels.
    pub fn levels(&self) -> &[u8] {
        &self.levels[..self.entries]
    }
}

impl TryFrom<Vec<u8>> for LevelTable {
    type Error = String;

    /// Of a record: older modules had tables up to the highest level.
    fn try_from(levels: Vec<u8>) -> Result<Self, String> {
        Self::up_to(Level::MOST.get(), &levels)
    }
}

impl From<LevelTable> for Vec<u8> {
    fn from(table: LevelTable) -> Self {
        table.levels().to_vec()
    }
}

/// As `tc` takes it: `0,0,1,…`.
impl FromStr for LevelTable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let levels: Result<Vec<u8>, _> =
            text.split(',').map(|level| level.trim().parse()).collect();
        let levels = levels.map_err(|_| {
            format!("write levels 0 to {} with commas between, as 0,0,1,1", Self::TOP)
        })?;
        Self::new(&levels)
    }
}

impl fmt::Display for LevelTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels: Vec<String> = self.levels().iter().map(u8::to_string).collect();
        f.write_str(&levels.join(","))
    }
}

impl fmt::Debug for LevelTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_is_written_and_has_the_length_of_a_source() {
        let table: LevelTable = "0, 1,2,3,4,5,6,14".parse().unwrap();
        assert_eq!(table.to_string(), "0,1,2,3,4,5,6,14");
        assert_eq!(serde_json::from_str::<LevelTable>("[0,1,2,3,4,5,6,14]").unwrap(), table);
        assert_eq!(serde_json::to_string(&table).unwrap(), "[0,1,2,3,4,5,6,14]");
        let old = serde_json::from_str::<LevelTable>("[0,1,2,3,4,5,6,15]").unwrap();
        assert_eq!(old.levels()[7], 15, "records of older modules stay readable");
        for (bad, why) in [
            ("0,1,2", "not 3"),
            ("0,1,2,3,4,5,6,15", "15 is none"),
            ("a,b", "with commas between"),
            ("", "with commas between"),
        ] {
            let error = bad.parse::<LevelTable>().unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn default_tables_are_those_of_the_kernel_module() {
        let levels = |source| LevelTable::default_of(source).levels().to_vec();
        assert_eq!(levels(LevelSource::Pcp), [1, 3, 5, 7, 9, 11, 13, 14]);
        assert_eq!(levels(LevelSource::Priority), (0..15).chain([14]).collect::<Vec<u8>>());
        let dscp = levels(LevelSource::Dscp);
        assert_eq!((dscp.len(), dscp[3], dscp[4], dscp[63]), (64, 0, 1, 14));
    }
}
