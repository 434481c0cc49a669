//! The files of `mistakes/`: many go on where a common text ends.

use std::fs;
use std::path::{Path, PathBuf};

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes")
}

/// The text of a file. A first line `# base: NAME` stands for `base/NAME.toml`.
pub fn read(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let Some((base, rest)) = text.strip_prefix("# base: ").and_then(|text| text.split_once('\n'))
    else {
        return text;
    };
    let base = fs::read_to_string(folder().join(format!("base/{base}.toml"))).unwrap();
    base + rest
}
