//! Why the kernel drops packets: its tracepoint `skb/kfree_skb`, counted in the kernel by reason.

use std::collections::BTreeMap;
use std::path::Path;

use teiji_sys::tracefs::{Instance, TraceError};

const EVENT: &str = "skb/kfree_skb";
const FIELD: &str = "reason";
/// Nothing is recorded.
const KIB_PER_CPU: u32 = 4;
const NAME: &str = "teiji-drops-";

/// The kernel counts, until this is dropped.
#[derive(Debug)]
pub(crate) struct DropReasons(Instance);

impl DropReasons {
    pub(crate) fn start() -> Result<Self, TraceError> {
        // Those of a process that was killed.
        for name in Instance::names()? {
            let pid = name.strip_prefix(NAME);
            if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                Instance::remove(&name)?;
            }
        }
        let instance = Instance::create(&format!("{NAME}{}", std::process::id()), KIB_PER_CPU)?;
        instance.count(EVENT, FIELD)?;
        instance.start()?;
        Ok(Self(instance))
    }

    pub(crate) fn read(&self) -> Result<BTreeMap<String, u64>, TraceError> {
        self.0.counts(EVENT, FIELD)
    }
}
