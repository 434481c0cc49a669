//! Whether a repeated run gave the same records.

use anyhow::Context;
use teiji_record::manifest::sha256_of;
use teiji_record::{RunFolder, Summary};

/// What comparing two runs gave.
pub struct Verdict {
    pub identical: bool,
    pub sentence: String,
}

/// Compares the records of `new` with those of the same members of `original`,
/// byte for byte.
pub fn compare(
    original: &RunFolder,
    new: &RunFolder,
    summary: &Summary,
) -> anyhow::Result<Verdict> {
    let mut compared = 0;
    let mut different = Vec::new();
    for case in &summary.cases {
        for member in &case.members {
            let Some(name) = &member.records else { continue };
            let read = |folder: &RunFolder| {
                let path = folder.path().join(name);
                std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
            };
            compared += 1;
            if sha256_of(&read(original)?) != sha256_of(&read(new)?) {
                different.push(format!("{} seed {}", case.name, member.seed));
            }
        }
    }
    let identical = different.is_empty() && compared > 0;
    let sentence = if identical {
        format!("identical to the last bit: {compared} of {compared} records files are equal")
    } else {
        format!(
            "different records in {} of {compared}: {}. Compare the versions, kernels and QEMUs in \
             the two manifests; in real time runs always differ.",
            different.len(),
            different.join(", ")
        )
    };
    Ok(Verdict { identical, sentence })
}
