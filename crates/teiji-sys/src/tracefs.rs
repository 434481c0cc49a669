//! Tracepoints of the kernel, recorded in ring buffers of one's own
//! (`Documentation/trace/ftrace.rst`, "Instances"), by `CLOCK_TAI`.

mod format;
mod histogram;
mod page;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::detached::Detached;
use crate::error::SysError;
use format::{Format, PageLayout};

/// Why tracepoints cannot be recorded, each with the next step.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// No tracefs.
    #[error(
        "the kernel's tracepoints are out of reach ({0}); run as root on a kernel with CONFIG_FTRACE, or do without"
    )]
    Unreachable(SysError),
    /// The kernel lacks one.
    #[error("this kernel has no tracepoint {event}; take another kernel, or do without")]
    NoEvent {
        /// Its system and name, as `irq/softirq_entry`.
        event: &'static str,
    },
    /// The kernel cannot count events by a field.
    #[error(
        "this kernel cannot count events (CONFIG_HIST_TRIGGERS is not set); take another kernel, or do without"
    )]
    NoHistograms,
    /// A file of tracefs could not be used.
    #[error("tracefs, {file}: {error}")]
    File {
        /// Which, below its root.
        file: String,
        /// The kernel's error.
        error: io::Error,
    },
    /// What the kernel says of its own events is not understood.
    #[error("tracefs, {file}: cannot be understood; please report this with the kernel's version")]
    Unknown {
        /// Which file.
        file: String,
    },
}

/// Looks whether tracepoints can be recorded, and whether these are there.
///
/// # Errors
/// See [`TraceError`].
pub fn check(events: &[&'static str]) -> Result<(), TraceError> {
    let root = Detached::open(c"tracefs").map_err(TraceError::Unreachable)?;
    let missing = |event: &&&'static str| !root.path(&format!("events/{event}")).exists();
    match events.iter().find(missing) {
        Some(event) => Err(TraceError::NoEvent { event }),
        None => Ok(()),
    }
}

/// Whether the kernel has this tracepoint.
///
/// # Errors
/// See [`TraceError`].
pub fn exists(event: &str) -> Result<bool, TraceError> {
    let root = Detached::open(c"tracefs").map_err(TraceError::Unreachable)?;
    Ok(root.path(&format!("events/{event}")).exists())
}

/// The stack of who passed the tracepoint before: what `stacktrace` among its
/// [triggers](Instance::trigger) adds.
pub const KERNEL_STACK: &str = "ftrace/kernel_stack";

/// One time that a tracepoint was passed.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence<'a> {
    /// When, in ns of `CLOCK_TAI`.
    pub at_ns: i64,
    /// On which CPU.
    pub cpu: u16,
    /// Its tracepoint's system and name, as it was enabled.
    pub event: &'static str,
    format: &'a Format,
    data: &'a [u8],
    /// Octets of the kernel's `long`.
    long: usize,
}

impl Occurrence<'_> {
    /// A field that is a number of up to 4 bytes; `None` if there is none of this name.
    pub fn number(&self, field: &str) -> Option<i32> {
        let bytes = self.format.field(field)?.of(self.data)?;
        match *bytes {
            [a, b, c, d] => Some(i32::from_ne_bytes([a, b, c, d])),
            [a, b] => Some(i16::from_ne_bytes([a, b]).into()),
            [a] => Some(a.into()),
            _ => None,
        }
    }

    /// A field that is a number of 8 bytes; `None` if there is none of this name.
    pub fn long(&self, field: &str) -> Option<i64> {
        let bytes = self.format.field(field)?.of(self.data)?;
        Some(i64::from_ne_bytes(*bytes.first_chunk()?))
    }

    /// A field that is an address; `None` if there is none of this name.
    pub fn address(&self, field: &str) -> Option<u64> {
        match *self.format.field(field)?.of(self.data)? {
            [a, b, c, d] => Some(u32::from_ne_bytes([a, b, c, d]).into()),
            ref bytes => Some(u64::from_ne_bytes(*bytes.first_chunk()?)),
        }
    }

    /// A field that is a text; `None` if there is none of this name.
    pub fn text(&self, field: &str) -> Option<&str> {
        let field = self.format.field(field)?;
        let bytes = if field.elsewhere { field.there(self.data)? } else { field.of(self.data)? };
        std::str::from_utf8(bytes.split(|byte| *byte == 0).next()?).ok()
    }

    /// The callers in a [`KERNEL_STACK`], innermost first.
    pub fn callers(&self) -> Vec<u64> {
        let Some(field) = self.format.field("caller") else { return Vec::new() };
        let count = self.number("size").and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
        let words = self.data.get(field.start()..).unwrap_or_default();
        let word = |bytes: &[u8]| match *bytes {
            [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
            _ => bytes.try_into().map_or(0, u64::from_ne_bytes),
        };
        words.chunks_exact(self.long).take(count).map(word).collect()
    }
}

/// Ring buffers of their own, one for each CPU. They go when this is dropped.
#[derive(Debug)]
pub struct Instance {
    root: Detached,
    name: String,
    events: Vec<(&'static str, Format)>,
}

impl Instance {
    /// Makes ring buffers that record nothing yet, of `kib` KiB for each CPU.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn create(name: &str, kib: u32) -> Result<Self, TraceError> {
        let root = Detached::open(c"tracefs").map_err(TraceError::Unreachable)?;
        let dir = format!("instances/{name}");
        fs::create_dir(root.path(&dir)).map_err(|error| TraceError::File { file: dir, error })?;
        // Not before: it removes what it is of.
        let instance = Self { root, name: name.to_owned(), events: Vec::new() };
        instance.write("tracing_on", "0")?;
        instance.write("trace_clock", "tai")?;
        instance.write("buffer_size_kb", &kib.to_string())?;
        Ok(instance)
    }

    /// Removes the ring buffers of that name, whoever made them; nothing if there are none.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn remove(name: &str) -> Result<(), TraceError> {
        let root = Detached::open(c"tracefs").map_err(TraceError::Unreachable)?;
        let file = format!("instances/{name}");
        match fs::remove_dir(root.path(&file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(TraceError::File { file, error })
            }
            _ => Ok(()),
        }
    }

    /// The names of all ring buffers that somebody has made.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn names() -> Result<Vec<String>, TraceError> {
        let root = Detached::open(c"tracefs").map_err(TraceError::Unreachable)?;
        let file = "instances";
        let failed = |error| TraceError::File { file: file.to_owned(), error };
        let entries = fs::read_dir(root.path(file)).map_err(failed)?;
        let name =
            |entry: io::Result<fs::DirEntry>| entry.map(|e| e.file_name().into_string().ok());
        entries
            .filter_map(|entry| name(entry).transpose())
            .collect::<io::Result<_>>()
            .map_err(failed)
    }

    /// Has a tracepoint recorded, where `filter` is true (`Documentation/trace/events.rst`,
    /// "Event filtering").
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn enable(&mut self, event: &'static str, filter: &str) -> Result<(), TraceError> {
        let format = read_format(&self.path(&format!("events/{event}/format")), event)?;
        self.write(&format!("events/{event}/filter"), filter)?;
        self.write(&format!("events/{event}/enable"), "1")?;
        self.events.push((event, format));
        Ok(())
    }

    /// Adds to the recorded tracepoint `event` what else happens each time
    /// (`Documentation/trace/events.rst`, "Event triggers"), for example `stacktrace`.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn trigger(&mut self, event: &str, trigger: &str) -> Result<(), TraceError> {
        // This event is of no system that can be enabled, and its format is the same for all.
        if !self.events.iter().any(|(known, _)| *known == KERNEL_STACK) {
            let path = self.root.path(&format!("events/{KERNEL_STACK}/format"));
            self.events.push((KERNEL_STACK, read_format(&path, KERNEL_STACK)?));
        }
        self.write(&format!("events/{event}/trigger"), trigger)
    }

    /// Has the kernel count how often `event` is passed, for each value of `field`
    /// (`Documentation/trace/histogram.rst`). Nothing is recorded.
    ///
    /// # Errors
    /// [`TraceError::NoHistograms`] from a kernel that was built without them, or see there.
    pub fn count(&self, event: &str, field: &str) -> Result<(), TraceError> {
        let known = self.path(&format!("events/{event}/hist")).exists();
        if !known && self.path(&format!("events/{event}")).exists() {
            return Err(TraceError::NoHistograms);
        }
        self.write(&format!("events/{event}/trigger"), &format!("hist:keys={field}"))
    }

    /// What [`Instance::count`] has counted, by the value's name, or its number where the kernel has
    /// no name for it.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn counts(&self, event: &str, field: &str) -> Result<BTreeMap<String, u64>, TraceError> {
        let read = |file: &str| {
            let file = format!("events/{event}/{file}");
            fs::read_to_string(self.path(&file)).map_err(|error| TraceError::File { file, error })
        };
        Ok(histogram::counts(&read("hist")?, &histogram::names(&read("format")?, field)))
    }

    /// What ends recording when `0` is written to it, from any thread.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn switch(&self) -> Result<File, TraceError> {
        let file = "tracing_on";
        OpenOptions::new()
            .write(true)
            .open(self.path(file))
            .map_err(|error| TraceError::File { file: file.to_owned(), error })
    }

    /// Records from now on.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn start(&self) -> Result<(), TraceError> {
        self.write("tracing_on", "1")
    }

    /// Ends recording and gives all that was recorded, CPU by CPU, each in the order of time.
    /// Returns how many occurrences the buffer of each CPU had no room for: the oldest.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn finish(
        self,
        mut each: impl FnMut(&Occurrence<'_>),
    ) -> Result<BTreeMap<u16, u64>, TraceError> {
        self.write("tracing_on", "0")?;
        let mut lost = BTreeMap::new();
        let layout = self.page_layout()?;
        for cpu in self.cpus()? {
            self.read(cpu, layout, &mut each)?;
            lost.insert(cpu, self.overrun(cpu)?);
        }
        Ok(lost)
    }

    fn page_layout(&self) -> Result<PageLayout, TraceError> {
        let file = "events/header_page";
        // The kernel gives it in one piece only.
        let mut text = [0; 4096];
        let length = File::open(self.root.path(file))
            .and_then(|mut opened| opened.read(&mut text))
            .map_err(|error| TraceError::File { file: file.to_owned(), error })?;
        let known = |layout: &PageLayout| [4, 8].contains(&layout.long());
        PageLayout::parse(&String::from_utf8_lossy(&text[..length]))
            .filter(known)
            .ok_or_else(|| TraceError::Unknown { file: file.to_owned() })
    }

    fn cpus(&self) -> Result<Vec<u16>, TraceError> {
        let file = "per_cpu";
        let failed = |error| TraceError::File { file: file.to_owned(), error };
        let mut cpus = Vec::new();
        for entry in fs::read_dir(self.path(file)).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("cpu"));
            cpus.extend(number.and_then(|number| number.parse::<u16>().ok()));
        }
        cpus.sort_unstable();
        Ok(cpus)
    }

    fn read(
        &self,
        cpu: u16,
        layout: PageLayout,
        each: &mut impl FnMut(&Occurrence<'_>),
    ) -> Result<(), TraceError> {
        let file = format!("per_cpu/cpu{cpu}/trace_pipe_raw");
        let failed = |error| TraceError::File { file: file.clone(), error };
        let mut pages = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(self.path(&file))
            .map_err(failed)?;
        let mut buffer = vec![0; page::LARGEST];
        while let Some(length) = next_page(&mut pages, &mut buffer).map_err(failed)? {
            let page = page::Page::new(layout, &buffer[..length])
                .ok_or_else(|| TraceError::Unknown { file: file.clone() })?;
            for (at_ns, data) in page {
                let id = data.get(..2).map(|id| u16::from_ne_bytes([id[0], id[1]]));
                let known = self.events.iter().find(|(_, format)| Some(format.id) == id);
                if let Some((event, format)) = known {
                    let long = layout.long();
                    each(&Occurrence { at_ns, cpu, event, format, data, long });
                }
            }
        }
        Ok(())
    }

    fn overrun(&self, cpu: u16) -> Result<u64, TraceError> {
        let file = format!("per_cpu/cpu{cpu}/stats");
        let text = fs::read_to_string(self.path(&file))
            .map_err(|error| TraceError::File { file: file.clone(), error })?;
        let line = text.lines().find_map(|line| line.strip_prefix("overrun:"));
        line.and_then(|count| count.trim().parse().ok()).ok_or(TraceError::Unknown { file })
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path(&format!("instances/{}/{below}", self.name))
    }

    fn write(&self, file: &str, text: &str) -> Result<(), TraceError> {
        write(&self.path(file), text)
            .map_err(|error| TraceError::File { file: file.to_owned(), error })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Only somebody who reads them keeps them, and they go with the next attempt.
        let _ = fs::remove_dir(self.root.path(&format!("instances/{}", self.name)));
    }
}

/// A thread of the kernel disables interrupts again and again, one CPU after the other: the tracer
/// `hwlat` (`Documentation/trace/hwlat_detector.rst`), which looks for gaps in that time. It ends when
/// this is dropped, not when the process is killed.
#[derive(Debug)]
pub struct Stalls(Detached);

/// Beginning of the name of that thread.
const STALLS_THREAD: &str = "hwlatd";

impl Stalls {
    /// For `width_us` in each `window_us`.
    ///
    /// # Errors
    /// If the kernel has no such tracer, or another one is in use.
    pub fn start(width_us: u32, window_us: u32) -> Result<Self, TraceError> {
        let root = Detached::open(c"tracefs").map_err(TraceError::Unreachable)?;
        let used = "current_tracer";
        let current = fs::read_to_string(root.path(used))
            .map_err(|error| TraceError::File { file: used.to_owned(), error })?;
        if current.trim() != "nop" {
            let error = io::Error::other(format!("the tracer {} is in use", current.trim()));
            return Err(TraceError::File { file: used.to_owned(), error });
        }
        // The width first: it must be less than the window, which is longer at first.
        for (file, text) in [
            ("hwlat_detector/width", width_us.to_string()),
            ("hwlat_detector/window", window_us.to_string()),
            (used, "hwlat".to_owned()),
        ] {
            write(&root.path(file), &text)
                .map_err(|error| TraceError::File { file: file.to_owned(), error })?;
        }
        Ok(Self(root))
    }

    /// How often so far: the thread sleeps after each.
    ///
    /// # Errors
    /// If the thread is not there.
    pub fn count() -> io::Result<u64> {
        let mut sum = None;
        for entry in fs::read_dir("/proc")? {
            let path = entry?.path();
            // A process may end meanwhile.
            let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
            if name.starts_with(STALLS_THREAD) {
                let status = fs::read_to_string(path.join("status"))?;
                let slept = status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"));
                let slept: u64 = slept.and_then(|count| count.trim().parse().ok()).unwrap_or(0);
                sum = Some(sum.unwrap_or(0) + slept);
            }
        }
        sum.ok_or_else(|| io::Error::other("the kernel's thread hwlatd has ended"))
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        // What is left ends with the laboratory's guest.
        let _ = write(&self.0.path("current_tracer"), "nop");
    }
}

/// The layout of an event's records.
fn read_format(path: &Path, event: &'static str) -> Result<Format, TraceError> {
    let file = || format!("events/{event}/format");
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => TraceError::NoEvent { event },
        _ => TraceError::File { file: file(), error },
    })?;
    Format::parse(&text).ok_or_else(|| TraceError::Unknown { file: file() })
}

/// Not `fs::write`: that would try to create the file.
fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// Reads one page; `None` when there is nothing more.
fn next_page(pages: &mut File, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match pages.read(buffer) {
        Ok(0) => Ok(None),
        Ok(length) => Ok(Some(length)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tracepoint_that_is_not_there_is_named() {
        match check(&["sched/sched_waking", "irq/no_such_thing"]) {
            Err(TraceError::Unreachable(error)) => println!("SKIP: tracepoints need root: {error}"),
            result => {
                let error = result.unwrap_err().to_string();
                assert!(error.contains("no tracepoint irq/no_such_thing"), "{error}");
                check(&["sched/sched_waking"]).unwrap();
            }
        }
    }

    #[test]
    fn what_happens_between_start_and_finish_is_there_in_order_and_the_buffers_go() {
        let name = format!("teiji-test-{}", std::process::id());
        let mut instance = match Instance::create(&name, 64) {
            Ok(instance) => instance,
            Err(TraceError::Unreachable(error)) => {
                println!("SKIP: tracepoints need root: {error}");
                return;
            }
            Err(other) => panic!("{other}"),
        };
        let thread = "teiji-woken";
        // Another of this name is refused, and takes nothing away.
        let twice = Instance::create(&name, 64).unwrap_err();
        assert!(twice.to_string().contains("File exists"), "{twice}");
        instance.enable("sched/sched_waking", &format!("comm == \"{thread}\"")).unwrap();
        instance.start().unwrap();
        let (ring, bell) = std::sync::mpsc::channel::<()>();
        let before = crate::clock::now::<teiji_core::time::Tai>().as_ns();
        let sleeper = std::thread::Builder::new().name(thread.to_owned());
        let sleeper = sleeper.spawn(move || bell.iter().count()).unwrap();
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(5));
            ring.send(()).unwrap();
        }
        drop(ring);
        assert_eq!(sleeper.join().unwrap(), 20);
        let after = crate::clock::now::<teiji_core::time::Tai>().as_ns();
        let mut wakings = Vec::new();
        let lost = instance
            .finish(|seen| {
                assert_eq!(seen.text("comm"), Some(thread));
                assert!(seen.number("pid") > Some(0) && seen.number("no such field").is_none());
                wakings.push(seen.at_ns);
            })
            .unwrap();
        assert_eq!(lost.values().sum::<u64>(), 0);
        // One for each ring before which it slept: not for all of them on a busy machine.
        assert!(wakings.len() >= 5, "{wakings:?}");
        assert!(
            wakings.iter().all(|at| (before..=after).contains(at)),
            "{before} {wakings:?} {after}"
        );
        let root = Detached::open(c"tracefs").unwrap();
        assert!(!root.path(&format!("instances/{name}")).exists());
    }
}
