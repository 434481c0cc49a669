//! How far a longer step of the cache has come, for progress bars.

/// One step that takes long enough to be shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step<'a> {
    /// What is being done, ready to print: `fetch linux-image-6.12.1-rt-amd64`.
    pub what: &'a str,
    /// Part done, 0.0 to 1.0; 1.0 is reported once, when the step has ended well.
    pub fraction: f64,
    /// Size of the whole in bytes, where one is known (downloads).
    pub total_bytes: Option<u64>,
}

/// Receives the steps of the cache; the command line draws bars from it.
pub trait Progress {
    /// The step `step.what` moved; the first call for a name starts it.
    fn step(&mut self, step: &Step<'_>);
    /// A sentence the user should read: a wait, a damaged item fetched again.
    fn note(&mut self, text: &str);
}

/// Shows nothing.
impl Progress for () {
    fn step(&mut self, _: &Step<'_>) {}
    fn note(&mut self, _: &str) {}
}
