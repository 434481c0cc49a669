//! The rows of `teiji talk --csv` and `teiji listen --csv`, read again.

use std::num::ParseIntError;

use crate::commands::{LISTEN_CSV, TALK_CSV};

/// A frame as its talker saw it. Times in ns of `CLOCK_TAI`, hardware timestamps of the PHC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) seq: u64,
    pub(super) scheduled: i64,
    pub(super) tx_kernel: Option<i64>,
    pub(super) tx_hardware: Option<i64>,
    /// Why it was not sent, if the kernel said so.
    pub(super) tx_error: String,
}

/// An arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) flow: u16,
    pub(super) seq: u64,
    pub(super) scheduled: i64,
    pub(super) rx_kernel: Option<i64>,
    pub(super) rx_hardware: Option<i64>,
}

pub(super) fn sent(text: &str) -> Result<Vec<Sent>, String> {
    rows(text, TALK_CSV, "talk", |row| {
        Some(Sent {
            seq: row[0].parse().ok()?,
            scheduled: row[1].parse().ok()?,
            tx_kernel: optional(row[5]).ok()?,
            tx_hardware: optional(row[6]).ok()?,
            tx_error: row[7].to_owned(),
        })
    })
}

pub(super) fn received(text: &str) -> Result<Vec<Received>, String> {
    rows(text, LISTEN_CSV, "listen", |row| {
        Some(Received {
            flow: row[0].parse().ok()?,
            seq: row[1].parse().ok()?,
            scheduled: row[2].parse().ok()?,
            rx_kernel: optional(row[3]).ok()?,
            rx_hardware: optional(row[4]).ok()?,
        })
    })
}

/// Empty is no timestamp.
fn optional(field: &str) -> Result<Option<i64>, ParseIntError> {
    if field.is_empty() { Ok(None) } else { field.parse().map(Some) }
}

fn rows<T>(
    text: &str,
    header: &str,
    command: &str,
    parse: impl Fn(&[&str]) -> Option<T>,
) -> Result<Vec<T>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(header) {
        return Err(format!(
            "this is no output of `teiji {command} --csv`: its first line should be `{header}`"
        ));
    }
    let columns = header.split(',').count();
    lines
        .enumerate()
        .map(|(index, line)| {
            let fields: Vec<&str> = line.split(',').collect();
            let row = (fields.len() == columns).then(|| parse(&fields)).flatten();
            row.ok_or_else(|| format!("line {} is no row of `teiji {command} --csv`", index + 2))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_printed() {
        let text = format!("{TALK_CSV}\n7,1000,900,950,960,,1064,\n8,2000,1900,1950,,,,missed\n");
        let sent = sent(&text).unwrap();
        assert_eq!((sent[0].seq, sent[0].scheduled, sent[0].tx_hardware), (7, 1000, Some(1064)));
        assert_eq!((sent[1].tx_hardware, sent[1].tx_error.as_str()), (None, "missed"));
        let text = format!("{LISTEN_CSV}\n2,7,1000,1200,1114\n");
        let received = received(&text).unwrap();
        assert_eq!((received[0].flow, received[0].rx_hardware), (2, Some(1114)));
    }

    #[test]
    fn what_is_no_row_is_named_by_its_line() {
        let cut = format!("{LISTEN_CSV}\n2,7,1000,1200,1114\n2,8,10");
        assert!(received(&cut).unwrap_err().contains("line 3 is no row"));
        let wrong = format!("{LISTEN_CSV}\n2,7,1000,x,1114\n");
        assert!(received(&wrong).unwrap_err().contains("line 2"));
        assert!(sent(&cut).unwrap_err().contains("no output of `teiji talk --csv`"));
        assert!(sent("").is_err());
    }
}
