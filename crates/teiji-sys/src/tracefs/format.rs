//! Where an event's fields are in its record (`events/SYSTEM/EVENT/format`).

/// The layout of one kind of event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// What its records begin with.
    pub(super) id: u16,
    fields: Vec<(String, Field)>,
}

/// Where a field is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// Its bytes in a record.
    pub(super) fn of<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        data.get(self.offset..self.offset.checked_add(self.size)?)
    }
}

impl Format {
    /// Reads the kernel's description: `ID: 123`, and a line for each field.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID: "))?.trim().parse().ok()?;
        let fields = text.lines().filter_map(|line| {
            let mut parts = line.trim().strip_prefix("field:")?.split(';');
            // `char comm[16]`, `unsigned int vec`
            let name = parts.next()?.rsplit([' ', '*']).next()?.split('[').next()?.to_owned();
            let mut number = |key: &str| parts.next()?.trim().strip_prefix(key)?.parse().ok();
            let (offset, size) = (number("offset:")?, number("size:")?);
            Some((name, Field { offset, size }))
        });
        Some(Self { id, fields: fields.collect() })
    }

    /// The field of this name.
    pub(super) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, field)| *field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.12 prints it.
    const WAKING: &str = "\
name: sched_waking
ID: 318
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;

print fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, REC->target_cpu
";

    #[test]
    fn fields_are_found_by_name() {
        let format = Format::parse(WAKING).unwrap();
        assert_eq!(format.id, 318);
        assert_eq!(format.field("comm"), Some(Field { offset: 8, size: 16 }));
        assert_eq!(format.field("target_cpu"), Some(Field { offset: 32, size: 4 }));
        assert_eq!(format.field("cpu"), None);
        let record: Vec<u8> = (0..36).collect();
        assert_eq!(format.field("pid").unwrap().of(&record), Some(&[24, 25, 26, 27][..]));
        assert_eq!(format.field("pid").unwrap().of(&record[..27]), None, "cut short");
    }

    #[test]
    fn what_has_no_number_is_no_format() {
        assert_eq!(Format::parse("name: x\nformat:\n"), None);
    }
}
