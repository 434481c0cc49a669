//! How far the scripts' guest is, by the marks on its console.

use std::fs;
use std::path::Path;

use teiji_lab::console;
use teiji_lab::suite::gate;
use teiji_run::{Progress as _, Step};

use super::scripts::Script;

use crate::progress::Progress;

/// Shows it.
pub struct GuestSteps<'a> {
    progress: &'a Progress,
    console: &'a Path,
    scripts: &'a [Script],
    /// Bytes of the console at the last look.
    length: u64,
    marks: usize,
    current: Option<Box<dyn Step + 'a>>,
}

impl<'a> GuestSteps<'a> {
    pub fn new(progress: &'a Progress, console: &'a Path, scripts: &'a [Script]) -> Self {
        let current = Some(progress.step("boot", 0));
        Self { progress, console, scripts, length: 0, marks: 0, current }
    }

    pub fn look(&mut self) {
        let length = fs::metadata(self.console).map_or(0, |file| file.len());
        if length == self.length {
            return;
        }
        self.length = length;
        let marks = gate::marks(&console::text(self.console));
        if marks <= self.marks {
            return;
        }
        self.marks = marks;
        let what = match self.scripts.get(marks - 1) {
            Some(script) => format!("{}, {marks} of {}", script.name, self.scripts.len()),
            None => "a look at the kernel".into(),
        };
        // The bar of what is over goes before the next one comes.
        self.current = None;
        self.current = Some(self.progress.step(&what, 0));
    }
}
