//! Columns of a Parquet file: name, type, and how each is taken from and put into
//! its kind of row. Which columns a kind has: `frame_columns`, `rounds`.

use ::parquet::column::reader::ColumnReader;
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::RowGroupReader;
use ::parquet::file::writer::SerializedRowGroupWriter;
use std::io::Write;

/// A row of a file.
pub(crate) trait Row: Clone + 'static {
    /// Format name and version of a file of them.
    const FORMAT: &'static str;
    /// What the file calls them.
    const MESSAGE: &'static str;
    /// All columns, in the file's order. The first is a required [`Kind::Int32`].
    const COLUMNS: &'static [Column<Self>];
    /// A row before its columns are read.
    const EMPTY: Self;
}

/// One column.
pub(crate) struct Column<R> {
    /// Says what it holds, its clock and its unit.
    pub(crate) name: &'static str,
    pub(crate) optional: bool,
    pub(crate) kind: Kind<R>,
}

/// Physical and logical type, and access to the row.
pub(crate) enum Kind<R> {
    /// INT64 of the given logical type (may be empty).
    Int64(&'static str, fn(&R) -> Option<i64>, fn(&mut R, i64)),
    /// INT32 of the given logical type.
    Int32(&'static str, fn(&R) -> i32, fn(&mut R, i32)),
    /// Text; `None` if the text cannot be understood.
    Text(fn(&R) -> Option<String>, fn(&mut R, &str) -> Option<()>),
}

/// Declares a column of optional stamps.
macro_rules! stamp {
    ($name:literal, $($field:ident).+) => {
        $crate::columns::Column {
            name: $name,
            optional: true,
            kind: $crate::columns::Kind::Int64(
                "",
                |row| row.$($field).+.map(teiji_core::time::Instant::as_ns),
                |row, ns| row.$($field).+ = Some(teiji_core::time::Instant::from_ns(ns)),
            ),
        }
    };
}
pub(crate) use stamp;

/// Declares the column of the instant that every row has.
macro_rules! instant {
    ($name:literal, $($field:ident).+) => {
        $crate::columns::Column {
            name: $name,
            optional: false,
            kind: $crate::columns::Kind::Int64(
                "",
                |row| Some(row.$($field).+.as_ns()),
                |row, ns| row.$($field).+ = teiji_core::time::Instant::from_ns(ns),
            ),
        }
    };
}
pub(crate) use instant;

/// Declares the column of the identifier in the test header, `flow`.
macro_rules! flow {
    () => {
        $crate::columns::Column {
            name: "flow",
            optional: false,
            kind: $crate::columns::Kind::Int32(
                "(INTEGER(16,false))",
                |row| i32::from(row.flow),
                |row, flow| row.flow = u16::try_from(flow).unwrap_or(u16::MAX),
            ),
        }
    };
}
pub(crate) use flow;

/// Declares the column of the sequence number, `seq`.
macro_rules! seq {
    ($($field:ident).+) => {
        $crate::columns::Column {
            name: "seq",
            optional: false,
            kind: $crate::columns::Kind::Int64(
                "(INTEGER(64,false))",
                |row| Some($crate::columns::as_stored(row.$($field).+)),
                |row, seq| row.$($field).+ = $crate::columns::as_counted(seq),
            ),
        }
    };
}
pub(crate) use seq;

/// Parquet stores unsigned numbers in the bits of signed ones.
pub(crate) fn as_stored(number: u64) -> i64 {
    i64::from_ne_bytes(number.to_ne_bytes())
}

pub(crate) fn as_counted(stored: i64) -> u64 {
    u64::from_ne_bytes(stored.to_ne_bytes())
}

impl<R> Column<R> {
    /// True for columns of numbers.
    pub(crate) fn is_integer(&self) -> bool {
        !matches!(self.kind, Kind::Text(..))
    }

    /// The column in Parquet's schema language.
    pub(crate) fn declaration(&self) -> String {
        let repetition = if self.optional { "optional" } else { "required" };
        let (physical, logical) = match self.kind {
            Kind::Int64(logical, ..) => ("int64", logical),
            Kind::Int32(logical, ..) => ("int32", logical),
            Kind::Text(..) => ("binary", "(STRING)"),
        };
        format!("{repetition} {physical} {} {logical}; ", self.name)
    }
}

/// Writes the rows as one row group.
pub(crate) fn write<R: Row, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[R],
) -> Result<(), ParquetError> {
    for column in R::COLUMNS {
        let mut writer = group
            .next_column()?
            .ok_or_else(|| ParquetError::General("the schema ends early".to_owned()))?;
        match (&column.kind, writer.untyped()) {
            (Kind::Int64(_, get, _), ColumnWriter::Int64ColumnWriter(typed)) => {
                let (values, levels) = split(rows.iter().map(get));
                typed.write_batch(&values, column.optional.then_some(&levels), None)?;
            }
            (Kind::Int32(_, get, _), ColumnWriter::Int32ColumnWriter(typed)) => {
                let values: Vec<i32> = rows.iter().map(get).collect();
                typed.write_batch(&values, None, None)?;
            }
            (Kind::Text(get, _), ColumnWriter::ByteArrayColumnWriter(typed)) => {
                let texts = rows.iter().map(get);
                let (values, levels) = split(texts.map(|t| t.map(|t| ByteArray::from(&*t))));
                typed.write_batch(&values, Some(&levels), None)?;
            }
            _ => return Err(wrong_type(column)),
        }
        writer.close()?;
    }
    Ok(())
}

/// The values there are, and for each row whether it has one.
fn split<T>(values: impl Iterator<Item = Option<T>>) -> (Vec<T>, Vec<i16>) {
    let mut present = Vec::new();
    let levels = values
        .map(|value| {
            let level = i16::from(value.is_some());
            present.extend(value);
            level
        })
        .collect();
    (present, levels)
}

/// Appends the rows of one row group.
pub(crate) fn read<R: Row>(
    group: &dyn RowGroupReader,
    rows: &mut Vec<R>,
) -> Result<(), ParquetError> {
    let count = usize::try_from(group.metadata().num_rows())
        .map_err(|_| ParquetError::General("a row group of negative length".to_owned()))?;
    let first = rows.len();
    for (index, column) in R::COLUMNS.iter().enumerate() {
        let mut levels = Vec::new();
        match (&column.kind, group.get_column_reader(index)?) {
            (Kind::Int64(_, _, set), ColumnReader::Int64ColumnReader(mut typed)) => {
                let mut values = Vec::new();
                typed.read_records(count, Some(&mut levels), None, &mut values)?;
                put(column, &mut rows[first..], values, &levels, |row, value| {
                    set(row, value);
                    Ok(())
                })?;
            }
            (Kind::Int32(_, _, set), ColumnReader::Int32ColumnReader(mut typed)) => {
                let mut values = Vec::new();
                typed.read_records(count, Some(&mut levels), None, &mut values)?;
                if index == 0 {
                    // Never missing, so its values say how many rows there
                    // are; the footer's number might be anything.
                    rows.resize(first + values.len(), R::EMPTY);
                }
                put(column, &mut rows[first..], values, &levels, |row, value| {
                    set(row, value);
                    Ok(())
                })?;
            }
            (Kind::Text(_, set), ColumnReader::ByteArrayColumnReader(mut typed)) => {
                let mut values = Vec::new();
                typed.read_records(count, Some(&mut levels), None, &mut values)?;
                put(column, &mut rows[first..], values, &levels, |row, text: ByteArray| {
                    let text = text.as_utf8()?;
                    let unknown =
                        || ParquetError::General(format!("`{text}` is no known {}", column.name));
                    set(row, text).ok_or_else(unknown)
                })?;
            }
            _ => return Err(wrong_type(column)),
        }
    }
    if rows.len() - first == count { Ok(()) } else { Err(incomplete("flow")) }
}

/// Puts the values of a column into the rows of its group.
fn put<R, T>(
    column: &Column<R>,
    rows: &mut [R],
    values: Vec<T>,
    levels: &[i16],
    mut set: impl FnMut(&mut R, T) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let has_value = |i: usize| !column.optional || levels.get(i) == Some(&1);
    let levels_fit = !column.optional || levels.len() == rows.len();
    if !levels_fit || (0..rows.len()).filter(|i| has_value(*i)).count() != values.len() {
        return Err(incomplete(column.name));
    }
    let wanted = rows.iter_mut().enumerate().filter(|(i, _)| has_value(*i));
    for ((_, row), value) in wanted.zip(values) {
        set(row, value)?;
    }
    Ok(())
}

fn incomplete(column: &str) -> ParquetError {
    ParquetError::General(format!("column `{column}` is incomplete"))
}

fn wrong_type<R>(column: &Column<R>) -> ParquetError {
    ParquetError::General(format!("column `{}` has another type", column.name))
}
