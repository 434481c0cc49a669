//! From a qdisc of the experiment to the steps that make it, and what the kernel would
//! refuse.

use std::collections::BTreeMap;

use teiji_experiment::scenario::{Gate, LeafQdisc, Qdisc, QueueRange, Taprio};

use super::{Handle, PlannedQdisc, ROOT_HANDLE, Settings};

/// Why a qdisc cannot be told to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QdiscError {
    /// The kernel knows 1 to 16 traffic classes.
    #[error("{0} traffic classes; the kernel knows 1 to 16")]
    Classes(usize),
    /// The kernel knows 2 to 16 bands.
    #[error("prio with {0} bands; the kernel knows 2 to 16")]
    Bands(u8),
    /// A priority is mapped to a class that does not exist.
    #[error("priority {priority} is mapped to class {class}, but the last class is {last}")]
    Map {
        /// The priority.
        priority: usize,
        /// Its class.
        class: u8,
        /// The last class there is.
        last: usize,
    },
    /// A qdisc hangs below a class that does not exist.
    #[error("a qdisc is asked for below class {class}, but the last class is {last}")]
    Child {
        /// The class.
        class: u8,
        /// The last class there is.
        last: usize,
    },
    /// A traffic class without queues.
    #[error("traffic class {0} has no queues")]
    NoQueues(usize),
    /// `delta` does not fit the kernel's `s32` of nanoseconds.
    #[error("etf delta of {0} ns; the kernel takes 0 to 2147483647 ns (2.1 s)")]
    Delta(i64),
}

/// How many transmit queues a device must have for this qdisc.
pub fn queues_needed(qdisc: &Qdisc) -> u16 {
    match qdisc {
        // The kernel refuses both on a device that has one queue.
        Qdisc::Mqprio { .. } | Qdisc::Taprio(_) => qdisc.queues().unwrap_or(0).max(2),
        Qdisc::Prio { .. } | Qdisc::Leaf(_) => 1,
    }
}

/// The steps to a root qdisc and what hangs below it, in order.
pub fn compile(qdisc: &Qdisc) -> Result<Vec<PlannedQdisc>, QdiscError> {
    let root =
        |settings| PlannedQdisc { parent: Handle::ROOT, handle: Some(ROOT_HANDLE), settings };
    match qdisc {
        Qdisc::Mqprio { map, queues, hw, classes } => {
            let settings = Settings::Mqprio { map: *map, queues: queues.clone(), hw: *hw };
            below_queues(root(settings), map, queues, classes)
        }
        Qdisc::Taprio(taprio) => {
            let Taprio { map, queues, base_time, cycle, extension, entries, mode, classes } =
                taprio;
            let settings = Settings::Taprio {
                map: *map,
                queues: queues.clone(),
                base_time: *base_time,
                cycle: *cycle,
                extension: *extension,
                entries: entries.iter().map(|gate: &Gate| (gate.mask(), gate.interval)).collect(),
                mode: *mode,
            };
            below_queues(root(settings), map, queues, classes)
        }
        Qdisc::Prio { bands, map, classes } => {
            if !(2..=16).contains(bands) {
                return Err(QdiscError::Bands(*bands));
            }
            check_classes(map, classes.keys().copied(), usize::from(*bands))?;
            let mut steps = vec![root(Settings::Prio { bands: u32::from(*bands), map: *map })];
            for (band, leaf) in classes {
                steps.push(child(u16::from(*band) + 1, leaf)?);
            }
            Ok(steps)
        }
        Qdisc::Leaf(leaf) => Ok(vec![root(settings(leaf)?)]),
    }
}

/// A root with traffic classes, and each class's qdisc below all its queues.
fn below_queues(
    root: PlannedQdisc,
    map: &[u8; 16],
    queues: &[QueueRange],
    classes: &BTreeMap<u8, LeafQdisc>,
) -> Result<Vec<PlannedQdisc>, QdiscError> {
    if !(1..=16).contains(&queues.len()) {
        return Err(QdiscError::Classes(queues.len()));
    }
    if let Some(class) = queues.iter().position(|range| range.count == 0) {
        return Err(QdiscError::NoQueues(class));
    }
    check_classes(map, classes.keys().copied(), queues.len())?;
    let mut steps = vec![root];
    for (class, leaf) in classes {
        let range = queues[usize::from(*class)];
        // The classes 1… are the device's queues 0…; mqprio's traffic classes
        // themselves come after them and take no qdisc.
        for queue in range.offset..range.offset.saturating_add(range.count) {
            steps.push(child(queue.saturating_add(1), leaf)?);
        }
    }
    Ok(steps)
}

fn check_classes(
    map: &[u8; 16],
    children: impl Iterator<Item = u8>,
    count: usize,
) -> Result<(), QdiscError> {
    let last = count - 1;
    for (priority, class) in map.iter().enumerate() {
        if usize::from(*class) > last {
            return Err(QdiscError::Map { priority, class: *class, last });
        }
    }
    for class in children {
        if usize::from(class) > last {
            return Err(QdiscError::Child { class, last });
        }
    }
    Ok(())
}

fn child(minor: u16, leaf: &LeafQdisc) -> Result<PlannedQdisc, QdiscError> {
    Ok(PlannedQdisc { parent: ROOT_HANDLE.class(minor), handle: None, settings: settings(leaf)? })
}

fn settings(leaf: &LeafQdisc) -> Result<Settings, QdiscError> {
    match leaf {
        LeafQdisc::Etf(etf) => {
            let delta_ns = etf.delta.as_ns();
            if !(0..=i64::from(i32::MAX)).contains(&delta_ns) {
                return Err(QdiscError::Delta(delta_ns));
            }
            Ok(Settings::Etf(*etf))
        }
        LeafQdisc::Cbs(cbs) => Ok(Settings::Cbs(*cbs)),
        LeafQdisc::Prioflow(settings) => Ok(Settings::Prioflow(*settings)),
        LeafQdisc::Pfifo { limit } => Ok(Settings::Pfifo { limit: *limit }),
    }
}
