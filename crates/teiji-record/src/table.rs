//! Rows as a Parquet file, whichever their kind: one row group after the other, and
//! in the metadata all that the statistics need beside the rows. Columns are
//! documented in `docs/records.md`.
//!
//! Equal rows give byte-identical files: nothing of the machine, the path or the hour
//! is written.

use std::fs::File;
use std::io::{self, Write};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::{ColumnPath, Type};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::atomic::write_atomically;
use crate::columns::{self, Column, Row};

/// Rows of a row group: bounds the memory of any reader.
pub(crate) const ROW_GROUP: usize = 1 << 16;

const FORMAT_KEY: &str = "teiji.format";
const ABOUT_KEY: &str = "teiji.about";
const FACTS_KEY: &str = "teiji.facts";

/// Why records could not be written or read.
#[derive(Debug, Error)]
pub enum RecordsError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its message.
        source: io::Error,
    },
    /// The file could not be encoded.
    #[error("{}: cannot write the records: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the Parquet writer said.
        reason: String,
    },
    /// It is no Parquet file, or a damaged one.
    #[error(
        "{}: not a readable Parquet file ({reason}); \
         if the run was cut short, its other cases are still good", path.display()
    )]
    NotParquet {
        /// The file.
        path: PathBuf,
        /// What the Parquet reader said.
        reason: String,
    },
    /// It is a Parquet file of something else.
    #[error("{}: a Parquet file, but not Teiji's records (no `{FORMAT_KEY}` in its metadata)",
        path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It has another version of the format.
    #[error(
        "{}: holds records of format `{found}`, this Teiji reads `{expected}`; \
         use the version of Teiji that wrote it (see manifest.json)", path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The format it names.
        found: String,
        /// The format it should have.
        expected: &'static str,
    },
    /// It claims our format and does not keep it.
    #[error("{}: damaged records: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// Rows, what they are of, and what is known beside them.
pub(crate) struct Table<A, F, R> {
    pub about: A,
    pub facts: F,
    pub rows: R,
}

impl<A: Serialize, F: Serialize, R: Row> Table<&A, &F, &[R]> {
    /// Writes the file, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), RecordsError> {
        write_atomically(path, |file| Ok::<_, WriteError>(self.write_to(file)?)).map_err(|error| {
            let path = path.to_owned();
            match error {
                WriteError::Io(source) => RecordsError::Io { path, source },
                WriteError::Parquet(e) => RecordsError::Write { path, reason: e.to_string() },
            }
        })
    }

    fn write_to(&self, sink: impl Write + Send) -> Result<(), ParquetError> {
        let mut writer =
            SerializedFileWriter::new(sink, schema::<R>()?, Arc::new(self.properties()?))?;
        for rows in self.rows.chunks(ROW_GROUP) {
            let mut group = writer.next_row_group()?;
            columns::write(&mut group, rows)?;
            group.close()?;
        }
        writer.close()?;
        Ok(())
    }

    fn properties(&self) -> Result<WriterProperties, ParquetError> {
        let json = |result: Result<String, serde_json::Error>| {
            result.map_err(|e| ParquetError::External(Box::new(e)))
        };
        let about = json(serde_json::to_string(self.about))?;
        let facts = json(serde_json::to_string(self.facts))?;
        let pairs = [(FORMAT_KEY, R::FORMAT.to_owned()), (ABOUT_KEY, about), (FACTS_KEY, facts)]
            .map(|(key, value)| KeyValue::new(key.to_owned(), value));
        let mut builder = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(pairs.to_vec()));
        // Stamps grow steadily: their differences take a fraction of the room.
        for column in R::COLUMNS.iter().filter(|c| c.is_integer()) {
            let path = ColumnPath::from(column.name);
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        Ok(builder.build())
    }
}

impl<A: DeserializeOwned, F: DeserializeOwned, R: Row> Table<A, F, Vec<R>> {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, RecordsError> {
        // The parquet crate asserts what a damaged file may break (for example
        // that a column's length is not negative): a panic there is damage.
        catch_unwind(|| Self::read_trusting(path)).unwrap_or_else(|_| {
            let what = "its parts contradict each other".to_owned();
            Err(RecordsError::Damaged { path: path.to_owned(), what })
        })
    }

    fn read_trusting(path: &Path) -> Result<Self, RecordsError> {
        let io = |source| RecordsError::Io { path: path.to_owned(), source };
        let not_parquet = |e: ParquetError| RecordsError::NotParquet {
            path: path.to_owned(),
            reason: e.to_string(),
        };
        let damaged = |what: String| RecordsError::Damaged { path: path.to_owned(), what };
        let file = File::open(path).map_err(io)?;
        if !file.metadata().map_err(io)?.is_file() {
            return Err(io(io::Error::other("is not a file")));
        }
        let reader = SerializedFileReader::new(file).map_err(not_parquet)?;
        let metadata = reader.metadata().file_metadata();
        let value = |key: &str| {
            let pairs = metadata.key_value_metadata()?;
            pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
        };
        let Some(format) = value(FORMAT_KEY) else {
            return Err(RecordsError::Foreign { path: path.to_owned() });
        };
        if format != R::FORMAT {
            let found = format.to_owned();
            return Err(RecordsError::Version {
                path: path.to_owned(),
                found,
                expected: R::FORMAT,
            });
        }
        let missing = |key| damaged(format!("its metadata has no `{key}`"));
        let invalid = |e: serde_json::Error| damaged(format!("its metadata is invalid: {e}"));
        let about = value(ABOUT_KEY).ok_or_else(|| missing(ABOUT_KEY))?;
        let facts = value(FACTS_KEY).ok_or_else(|| missing(FACTS_KEY))?;
        let (about, facts) = (
            serde_json::from_str(about).map_err(invalid)?,
            serde_json::from_str(facts).map_err(invalid)?,
        );
        let names = metadata.schema_descr().columns().iter().map(|c| c.name());
        if !names.eq(R::COLUMNS.iter().map(|c| c.name)) {
            return Err(damaged("its columns are not those of the format".to_owned()));
        }
        let mut rows = Vec::new();
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group).map_err(not_parquet)?;
            columns::read(&*group, &mut rows).map_err(|e| damaged(e.to_string()))?;
        }
        Ok(Self { about, facts, rows })
    }
}

fn schema<R: Row>() -> Result<Arc<Type>, ParquetError> {
    let fields: String = R::COLUMNS.iter().map(Column::declaration).collect();
    parse_message_type(&format!("message {} {{ {fields} }}", R::MESSAGE)).map(Arc::new)
}

/// What can go wrong while the file is open.
#[derive(Debug)]
enum WriteError {
    Io(io::Error),
    Parquet(ParquetError),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ParquetError> for WriteError {
    fn from(error: ParquetError) -> Self {
        Self::Parquet(error)
    }
}
