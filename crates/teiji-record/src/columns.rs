//! The columns of the records: name, type, and how each is taken from and put
//! into a [`FrameRow`].

use ::parquet::column::reader::ColumnReader;
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::RowGroupReader;
use ::parquet::file::writer::SerializedRowGroupWriter;
use std::io::Write;

use teiji_core::time::Instant;

use crate::{FrameRow, fate};

/// One column.
pub(crate) struct Column {
    /// Says what it holds, its clock and its unit.
    pub(crate) name: &'static str,
    optional: bool,
    kind: Kind,
}

/// Physical and logical type, and access to the row.
enum Kind {
    /// INT64 of the given logical type (may be empty).
    Int64(&'static str, fn(&FrameRow) -> Option<i64>, fn(&mut FrameRow, i64)),
    /// INT32 of the given logical type.
    Int32(&'static str, fn(&FrameRow) -> i32, fn(&mut FrameRow, i32)),
    /// The fate, as text.
    Fate,
}

/// Declares a column of optional stamps.
macro_rules! stamp {
    ($name:literal, $field:ident) => {
        Column {
            name: $name,
            optional: true,
            kind: Kind::Int64(
                "",
                |row| row.$field.map(Instant::as_ns),
                |row, ns| row.$field = Some(Instant::from_ns(ns)),
            ),
        }
    };
}

/// All columns, in the file's order.
pub(crate) const COLUMNS: [Column; 14] = [
    Column {
        name: "flow",
        optional: false,
        kind: Kind::Int32(
            "(INTEGER(16,false))",
            |row| i32::from(row.flow),
            |row, flow| row.flow = u16::try_from(flow).unwrap_or(u16::MAX),
        ),
    },
    Column {
        name: "seq",
        optional: false,
        kind: Kind::Int64(
            "(INTEGER(64,false))",
            |row| Some(as_stored(row.seq)),
            |row, seq| row.seq = as_counted(seq),
        ),
    },
    Column {
        name: "scheduled_tai_ns",
        optional: false,
        kind: Kind::Int64(
            "",
            |row| Some(row.scheduled.as_ns()),
            |row, ns| row.scheduled = Instant::from_ns(ns),
        ),
    },
    stamp!("woke_tai_ns", woke),
    stamp!("handed_over_tai_ns", handed_over),
    stamp!("tx_sched_tai_ns", tx_sched),
    stamp!("tx_kernel_tai_ns", tx_kernel),
    stamp!("tx_hardware_phc_ns", tx_hardware),
    stamp!("wire_capture_ns", wire),
    stamp!("rx_kernel_tai_ns", rx_kernel),
    stamp!("rx_hardware_phc_ns", rx_hardware),
    Column {
        name: "arrival",
        optional: true,
        kind: Kind::Int64(
            "(INTEGER(64,false))",
            |row| row.arrival.map(as_stored),
            |row, arrival| row.arrival = Some(as_counted(arrival)),
        ),
    },
    Column {
        name: "copies",
        optional: false,
        kind: Kind::Int32(
            "(INTEGER(32,false))",
            |row| i32::from_ne_bytes(row.copies.to_ne_bytes()),
            |row, copies| row.copies = u32::from_ne_bytes(copies.to_ne_bytes()),
        ),
    },
    Column { name: "fate", optional: true, kind: Kind::Fate },
];

/// Parquet stores unsigned numbers in the bits of signed ones.
fn as_stored(number: u64) -> i64 {
    i64::from_ne_bytes(number.to_ne_bytes())
}

fn as_counted(stored: i64) -> u64 {
    u64::from_ne_bytes(stored.to_ne_bytes())
}

impl Column {
    /// True for columns of numbers.
    pub(crate) fn is_integer(&self) -> bool {
        !matches!(self.kind, Kind::Fate)
    }

    /// The column in Parquet's schema language.
    pub(crate) fn declaration(&self) -> String {
        let repetition = if self.optional { "optional" } else { "required" };
        let (physical, logical) = match self.kind {
            Kind::Int64(logical, ..) => ("int64", logical),
            Kind::Int32(logical, ..) => ("int32", logical),
            Kind::Fate => ("binary", "(STRING)"),
        };
        format!("{repetition} {physical} {} {logical}; ", self.name)
    }
}

/// Writes the rows as one row group.
pub(crate) fn write<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[FrameRow],
) -> Result<(), ParquetError> {
    for column in &COLUMNS {
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
            (Kind::Fate, ColumnWriter::ByteArrayColumnWriter(typed)) => {
                let texts = rows.iter().map(|row| row.fate.map(fate::emit));
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
pub(crate) fn read(
    group: &dyn RowGroupReader,
    rows: &mut Vec<FrameRow>,
) -> Result<(), ParquetError> {
    let count = usize::try_from(group.metadata().num_rows())
        .map_err(|_| ParquetError::General("a row group of negative length".to_owned()))?;
    let first = rows.len();
    for (index, column) in COLUMNS.iter().enumerate() {
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
                    rows.resize(first + values.len(), EMPTY);
                }
                put(column, &mut rows[first..], values, &levels, |row, value| {
                    set(row, value);
                    Ok(())
                })?;
            }
            (Kind::Fate, ColumnReader::ByteArrayColumnReader(mut typed)) => {
                let mut values = Vec::new();
                typed.read_records(count, Some(&mut levels), None, &mut values)?;
                put(column, &mut rows[first..], values, &levels, |row, text: ByteArray| {
                    let text = text.as_utf8()?;
                    let unknown = || ParquetError::General(format!("`{text}` is no known fate"));
                    row.fate = Some(fate::parse(text).ok_or_else(unknown)?);
                    Ok(())
                })?;
            }
            _ => return Err(wrong_type(column)),
        }
    }
    if rows.len() - first == count { Ok(()) } else { Err(incomplete("flow")) }
}

/// A row before its columns are read.
pub(crate) const EMPTY: FrameRow = FrameRow {
    flow: 0,
    seq: 0,
    scheduled: Instant::from_ns(0),
    woke: None,
    handed_over: None,
    tx_sched: None,
    tx_kernel: None,
    tx_hardware: None,
    wire: None,
    rx_kernel: None,
    rx_hardware: None,
    arrival: None,
    copies: 0,
    fate: None,
};

/// Puts the values of a column into the rows of its group.
fn put<T>(
    column: &Column,
    rows: &mut [FrameRow],
    values: Vec<T>,
    levels: &[i16],
    mut set: impl FnMut(&mut FrameRow, T) -> Result<(), ParquetError>,
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

fn wrong_type(column: &Column) -> ParquetError {
    ParquetError::General(format!("column `{}` has another type", column.name))
}
