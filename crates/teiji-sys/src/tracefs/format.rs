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
    /// It says where a text is in the record (`__data_loc`).
    pub(super) elsewhere: bool,
}

impl Field {
    /// Its bytes in a record.
    pub(super) fn of<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        data.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// The bytes that it tells the place of: offset in the lower half, length in the upper one.
    pub(super) fn there<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        let place = u32::from_ne_bytes(*self.of(data)?.first_chunk()?);
        let (offset, length) = (place & 0xffff, place >> 16);
        data.get(usize::try_from(offset).ok()?..usize::try_from(offset + length).ok()?)
    }

    /// Where it begins.
    pub(super) fn start(&self) -> usize {
        self.offset
    }
}

impl Format {
    /// Reads the kernel's description: `ID: 123`, and a line for each field.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID: "))?.trim().parse().ok()?;
        Some(Self { id, fields: fields(text) })
    }

    /// The field of this name.
    pub(super) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, field)| *field)
    }
}

/// The fields that lines describe.
fn fields(text: &str) -> Vec<(String, Field)> {
    let fields = text.lines().filter_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';');
        // `char comm[16]`, `unsigned int vec`
        let declared = parts.next()?.trim_start();
        let name = declared.rsplit([' ', '*']).next()?.split('[').next()?.to_owned();
        let elsewhere = declared.starts_with("__data_loc");
        let mut number = |key: &str| parts.next()?.trim().strip_prefix(key)?.parse().ok();
        let (offset, size) = (number("offset:")?, number("size:")?);
        Some((name, Field { offset, size, elsewhere }))
    });
    fields.collect()
}

/// What a page of the buffer begins with (`events/header_page`): it differs by the kernel's `long`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageLayout {
    /// How many bytes of records follow: a `long` of the kernel.
    pub(super) count: Field,
    /// Where the records begin.
    pub(super) records: usize,
}

impl PageLayout {
    /// Reads the kernel's description.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let fields = fields(text);
        let field = |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, f)| *f);
        Some(Self { count: field("commit")?, records: field("data")?.offset })
    }

    /// Octets of the kernel's `long`.
    pub(super) fn long(&self) -> usize {
        self.count.size
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// As Linux 6.12 prints it on 64 bits, and on 32.
    const PAGES: [&str; 2] = [
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n",
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:12;\tsize:4084;\tsigned:0;\n",
    ];

    /// The layout of pages on 64 bits, and on 32.
    pub(in crate::tracefs) fn page_layouts() -> [PageLayout; 2] {
        PAGES.map(|text| PageLayout::parse(text).unwrap())
    }

    #[test]
    fn where_a_pages_records_begin_goes_by_the_kernels_long() {
        let [wide, narrow] = page_layouts();
        assert_eq!(
            [(wide.long(), wide.records), (narrow.long(), narrow.records)],
            [(8, 16), (4, 12)]
        );
        assert_eq!(PageLayout::parse("\tfield: char data;\toffset:16;\tsize:1;\n"), None);
    }

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
        assert_eq!(format.field("comm"), Some(Field { offset: 8, size: 16, elsewhere: false }));
        assert_eq!(
            format.field("target_cpu"),
            Some(Field { offset: 32, size: 4, elsewhere: false })
        );
        assert_eq!(format.field("cpu"), None);
        let record: Vec<u8> = (0..36).collect();
        assert_eq!(format.field("pid").unwrap().of(&record), Some(&[24, 25, 26, 27][..]));
        assert_eq!(format.field("pid").unwrap().of(&record[..27]), None, "cut short");
    }

    #[test]
    fn a_text_may_be_elsewhere_in_the_record() {
        let format = Format::parse(
            "ID: 9\n\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n",
        );
        let field = format.unwrap().field("name").unwrap();
        let mut record = vec![0; 8];
        record.extend(((5_u32 << 16) + 12).to_ne_bytes());
        record.extend(b"veth\0");
        assert!(field.elsewhere);
        assert_eq!(field.there(&record), Some(&b"veth\0"[..]));
        assert_eq!(field.there(&record[..16]), None, "cut short");
    }

    #[test]
    fn what_has_no_number_is_no_format() {
        assert_eq!(Format::parse("name: x\nformat:\n"), None);
    }
}
