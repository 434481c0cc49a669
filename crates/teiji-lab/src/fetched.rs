//! Files that a person wants out of a guest: the guest sends them when its shell has ended,
//! the host writes them into a folder.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::protocol::{self, Kind, Message, Reader};

/// Where the guest finds the paths, one per line.
pub const LIST_PATH: &str = "teiji/fetch";
/// Where a path that does not begin with `/` begins: where the shell does.
const HOME: &str = "/root";
/// Bytes of a file at most: the guest holds it in memory, more than once.
const MOST: u64 = 64 << 20;
/// Bytes of a file's number in front of its contents.
const NUMBER: usize = 4;

/// Why files cannot be fetched.
#[derive(Debug, Error)]
pub enum FetchError {
    /// A path that names no file.
    #[error("`{0}` names no file of the guest; write for example /root/result.csv")]
    Path(String),
    /// Two paths with the same name.
    #[error(
        "two of the files are called `{0}`, and both would go into one folder; fetch one of them"
    )]
    Twice(String),
    /// A file of the host could not be used.
    #[error("cannot use {}: {source}", path.display())]
    Host {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The guest could not send some of them.
    #[error("{}", .0.join("; "))]
    Missing(Vec<String>),
}

/// The files to fetch, and the folder they go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    files: Vec<(String, String)>,
    folder: PathBuf,
}

impl Fetch {
    /// Takes paths of the guest; each keeps its name in `folder`.
    ///
    /// # Errors
    /// [`FetchError::Path`], [`FetchError::Twice`].
    pub fn new(paths: &[String], folder: &Path) -> Result<Self, FetchError> {
        let mut files: Vec<(String, String)> = Vec::new();
        for path in paths {
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            let wrong = matches!(&*name, "" | "." | "..") || path.contains(['\n', '\0']);
            if wrong {
                return Err(FetchError::Path(path.clone()));
            }
            if files.iter().any(|(_, other)| *other == name) {
                return Err(FetchError::Twice(name));
            }
            files.push((path.clone(), name));
        }
        Ok(Self { files, folder: folder.to_owned() })
    }

    /// True if nothing is to be fetched.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What the guest reads at [`LIST_PATH`].
    pub fn list(&self) -> String {
        self.files.iter().flat_map(|(path, _)| [path, "\n"]).collect()
    }

    /// Makes the folder.
    ///
    /// # Errors
    /// [`FetchError::Host`].
    pub fn make_folder(&self) -> Result<(), FetchError> {
        fs::create_dir_all(&self.folder).map_err(host_error(&self.folder))
    }

    /// Writes the files from what the guest sent; gives their paths.
    ///
    /// # Errors
    /// [`FetchError::Missing`] after all others were written, [`FetchError::Host`].
    pub fn write(&self, results: &Path) -> Result<Vec<PathBuf>, FetchError> {
        let messages = Reader::open(results).and_then(|mut reader| reader.poll());
        let messages = messages.map_err(host_error(results))?;
        let (mut written, mut missing) = (Vec::new(), Vec::new());
        for (number, (path, name)) in (0_u32..).zip(&self.files) {
            match sent(&messages, number) {
                Some((Kind::File, contents)) => {
                    let target = self.folder.join(name);
                    fs::write(&target, contents).map_err(host_error(&target))?;
                    written.push(target);
                }
                Some((_, sentence)) => {
                    let sentence = String::from_utf8_lossy(sentence);
                    missing.push(format!("cannot fetch {path}: {sentence}"));
                }
                None => missing.push(format!(
                    "cannot fetch {path}: the guest ended without sending it; leave its shell with \
                     `exit`"
                )),
            }
        }
        if missing.is_empty() { Ok(written) } else { Err(FetchError::Missing(missing)) }
    }
}

fn host_error(path: &Path) -> impl FnOnce(io::Error) -> FetchError {
    let path = path.to_owned();
    move |source| FetchError::Host { path, source }
}

/// What was sent of a file.
fn sent(messages: &[Message], number: u32) -> Option<(Kind, &[u8])> {
    messages.iter().find_map(|message| {
        let (head, rest) = message.payload.split_at_checked(NUMBER)?;
        let of_a_file = matches!(message.kind, Kind::File | Kind::NoFile);
        (of_a_file && head == number.to_le_bytes()).then_some((message.kind, rest))
    })
}

/// Sends the files that are listed, in the guest.
pub(crate) fn send(list: &str, port: &mut impl Write) -> io::Result<()> {
    for (number, path) in (0_u32..).zip(list.lines()) {
        let (kind, contents) = match read(&Path::new(HOME).join(path)) {
            Ok(contents) => (Kind::File, contents),
            Err(sentence) => (Kind::NoFile, sentence.into_bytes()),
        };
        let payload = [&number.to_le_bytes()[..], &contents].concat();
        protocol::send(port, kind, &payload)?;
    }
    Ok(())
}

/// A regular file's contents; files of procfs and the like have no length.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let message = |error: io::Error| error.to_string();
    if !fs::metadata(path).map_err(message)?.is_file() {
        return Err("it is no regular file; pack a folder with `tar` first".to_owned());
    }
    let mut contents = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST + 1).read_to_end(&mut contents))
        .map_err(message)?;
    if contents.len() as u64 > MOST {
        return Err(format!("it has more than {} MiB; pack it with `gzip` first", MOST >> 20));
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch(paths: &[&str], folder: &Path) -> Result<Fetch, FetchError> {
        Fetch::new(&paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>(), folder)
    }

    #[test]
    fn files_arrive_byte_for_byte_and_the_missing_ones_are_named() {
        let (guest, host) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        let path = |name: &str| guest.path().join(name).to_str().unwrap().to_owned();
        fs::write(path("a.bin"), &bytes).unwrap();
        fs::write(path("empty"), "").unwrap();
        let wanted =
            [path("a.bin"), path("nowhere"), path("empty"), guest.path().display().to_string()];
        let fetch = Fetch::new(&wanted, &host.path().join("into")).unwrap();
        fetch.make_folder().unwrap();
        let results = host.path().join("results");
        send(&fetch.list(), &mut File::create(&results).unwrap()).unwrap();
        let error = fetch.write(&results).unwrap_err().to_string();
        assert!(error.contains("nowhere: No such file") && error.contains("no regular"), "{error}");
        assert_eq!(error.matches("cannot fetch").count(), 2, "{error}");
        assert_eq!(fs::read(host.path().join("into/a.bin")).unwrap(), bytes);
        assert_eq!(fs::read(host.path().join("into/empty")).unwrap(), b"");
        // Of a guest that ended at once nothing came.
        fs::write(&results, "").unwrap();
        assert!(fetch.write(&results).unwrap_err().to_string().contains("ended without sending"));
    }

    #[test]
    fn names_that_lead_elsewhere_or_meet_are_refused() {
        let folder = Path::new(".");
        for wrong in ["", "/", "/root/", "..", "/root/..", "a\nb"] {
            assert!(matches!(fetch(&[wrong], folder), Err(FetchError::Path(_))), "{wrong:?}");
        }
        assert!(matches!(fetch(&["/a/x", "/b/x"], folder), Err(FetchError::Twice(_))));
        assert_eq!(fetch(&["../etc/x", "y"], folder).unwrap().list(), "../etc/x\ny\n");
    }
}
