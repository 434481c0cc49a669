//! What the kernel had before it was changed: values of files and scheduling of
//! threads, to be put back where they differ.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use teiji_sys::debugfs::Debugfs;
use teiji_sys::thread::{self, ThreadPolicy};
use teiji_sys::tracefs::Instance;

use crate::threads::{self, KernelThread};

/// Files and threads as they were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelBefore {
    files: Vec<FileBefore>,
    threads: Vec<ThreadBefore>,
    /// Files of debugfs, which need not be mounted.
    #[serde(default)]
    debugfs: Vec<FileBefore>,
    /// Ring buffers of tracepoints that there will be and were not.
    #[serde(default)]
    traces: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileBefore {
    path: String,
    value: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ThreadBefore {
    thread: KernelThread,
    policy: i32,
    priority: i32,
    cpus: Vec<u16>,
}

impl KernelBefore {
    /// True if nothing is to be put back.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
            && self.threads.is_empty()
            && self.debugfs.is_empty()
            && self.traces.is_empty()
    }

    /// Remembers a file's value; what cannot be read cannot be changed either.
    pub(crate) fn remember_file(&mut self, path: &str) {
        let known = self.files.iter().any(|file| file.path == path);
        if let (false, Ok(value)) = (known, fs::read_to_string(path)) {
            let value = value.trim().to_owned();
            self.files.push(FileBefore { path: path.to_owned(), value });
        }
    }

    /// Remembers the value of a file below debugfs.
    pub(crate) fn remember_debugfs(&mut self, debugfs: &Debugfs, path: &str) {
        let known = self.debugfs.iter().any(|file| file.path == path);
        if let (false, Ok(value)) = (known, debugfs.read(path)) {
            let value = value.trim().to_owned();
            self.debugfs.push(FileBefore { path: path.to_owned(), value });
        }
    }

    /// Remembers how a thread is scheduled; one that ended needs nothing.
    pub(crate) fn remember_thread(&mut self, thread: &KernelThread) {
        let known = self.threads.iter().any(|before| before.thread == *thread);
        let now = thread::policy(thread.tid).and_then(|is| Ok((is, thread::cpus(thread.tid)?)));
        if let (false, Ok((ThreadPolicy { policy, priority }, cpus))) = (known, now) {
            self.threads.push(ThreadBefore { thread: thread.clone(), policy, priority, cpus });
        }
    }

    /// Remembers that there are no ring buffers of this name.
    pub(crate) fn remember_trace(&mut self, name: String) {
        self.traces.push(name);
    }

    /// Files that are not there any more, and so are not put back.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &str> {
        let paths = self.files.iter().map(|file| file.path.as_str());
        paths.filter(|path| !Path::new(path).exists())
    }

    /// Puts back what differs, the last first. Doing it twice does no harm. Returns
    /// what could not be put back, as sentences.
    pub(crate) fn put_back(&self) -> Vec<String> {
        let now = if self.threads.is_empty() { Vec::new() } else { threads::list() };
        // A thread that ended took its scheduling with it.
        let living = self.threads.iter().rev().filter(|before| now.contains(&before.thread));
        let left = living.filter_map(ThreadBefore::put_back);
        // debugfs first: the fair servers take their old values only while the sysctl is as the
        // plan set it.
        let left = left.chain(self.put_back_debugfs());
        let left = left.chain(self.files.iter().rev().filter_map(FileBefore::put_back));
        let traces = self.traces.iter().filter_map(|name| Instance::remove(name).err());
        left.chain(traces.map(|error| error.to_string())).collect()
    }
}

/// Nothing is to be written: the file has the value, or has gone together with what it was about, as that of
/// an interrupt whose driver was unloaded.
fn is_done(read: &io::Result<String>, value: &str) -> bool {
    match read {
        Ok(is) => is.trim() == value,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

impl KernelBefore {
    fn put_back_debugfs(&self) -> Vec<String> {
        if self.debugfs.is_empty() {
            return Vec::new();
        }
        let debugfs = match Debugfs::open() {
            Ok(debugfs) => debugfs,
            Err(error) => return vec![format!("debugfs was not put back: {error}")],
        };
        let put_back = |FileBefore { path, value }: &FileBefore| {
            if is_done(&debugfs.read(path), value) {
                return None;
            }
            let error = debugfs.write(path, value).err()?;
            Some(format!("debugfs, {path}: its value {value} was not put back: {error}"))
        };
        self.debugfs.iter().rev().filter_map(put_back).collect()
    }
}

impl FileBefore {
    fn put_back(&self) -> Option<String> {
        let Self { path, value } = self;
        if is_done(&fs::read_to_string(path), value) {
            return None;
        }
        let error = fs::write(path, value).err()?;
        Some(format!("{path}: its value {value} was not put back: {error}"))
    }
}

impl ThreadBefore {
    fn put_back(&self) -> Option<String> {
        let Self { thread, policy, priority, cpus } = self;
        let was = ThreadPolicy { policy: *policy, priority: *priority };
        let work = || {
            if thread::policy(thread.tid)? != was {
                thread::set_policy(thread.tid, was)?;
            }
            if thread::cpus(thread.tid)? != *cpus {
                thread::set_cpus(thread.tid, cpus)?;
            }
            Ok::<(), teiji_sys::SysError>(())
        };
        let error = work().err()?;
        Some(format!("{} has not been scheduled as before: {error}", thread.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_restored_where_they_differ_and_others_are_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let [changed, refused, deleted] = ["changed", "refused", "gone"].map(path);
        fs::write(&changed, "300\n").unwrap();
        fs::write(&refused, "1\n").unwrap();
        fs::write(&deleted, "2\n").unwrap();
        let mut before = KernelBefore::default();
        for file in [&changed, &refused, &deleted, &path("missing")] {
            before.remember_file(file);
        }
        fs::write(&changed, "64\n").unwrap();
        // The first value counts.
        before.remember_file(&changed);
        fs::remove_file(&refused).unwrap();
        fs::create_dir(&refused).unwrap();
        fs::remove_file(&deleted).unwrap();
        let left = before.put_back();
        assert_eq!(before.missing().collect::<Vec<_>>(), [deleted.as_str()]);
        assert_eq!(fs::read_to_string(&changed).unwrap(), "300");
        let [only] = &left[..] else { panic!("{left:?}") };
        assert!(only.contains("its value 1 was not put back: Is a directory"), "{only}");
        let again: KernelBefore =
            serde_json::from_str(&serde_json::to_string(&before).unwrap()).unwrap();
        assert_eq!(again, before);
    }
}
