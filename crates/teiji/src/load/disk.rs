//! A load of the file system and its disk: a file is written and forced to the disk again
//! and again.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use super::pace::Pace;

/// Written between two looks at the clock, and then forced to the disk.
const PIECE: usize = 1 << 20;
/// The file begins anew when it has so many pieces.
const PIECES: u32 = 64;

/// A file in `folder` that has no name any more: it is gone with the process, however
/// that ends.
pub(super) fn open(folder: &Path) -> io::Result<File> {
    let path = folder.join(format!("teiji-load-{}", std::process::id()));
    let file = File::options().write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

pub(super) fn write(mut file: File, pace: &mut Pace) {
    let piece = vec![0x5a_u8; PIECE];
    for number in (0..PIECES).cycle() {
        let written = if number == 0 { file.seek(SeekFrom::Start(0)).map(drop) } else { Ok(()) };
        let written = written.and_then(|()| file.write_all(&piece)).and_then(|()| file.sync_data());
        if let Err(error) = written {
            return pace.fail(format!("its file cannot be written: {error}"));
        }
        if !pace.did(1) {
            return;
        }
    }
}
