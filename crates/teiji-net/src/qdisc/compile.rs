//! From a qdisc of the experiment to the steps that make it, and what the kernel would
//! refuse.

use std::collections::BTreeMap;

use teiji_experiment::scenario::{Etf, Mqprio, Prio, Qdisc, QdiscTree, QueueRange, Taprio};

use super::{Handle, Kind, MAX_CLASSES, PlannedQdisc, ROOT_HANDLE, kind};

/// Why a qdisc cannot be given to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QdiscError {
    /// The kernel knows 1 to 16 traffic classes.
    #[error("{0} traffic classes; the kernel knows 1 to {most}", most = MAX_CLASSES)]
    Classes(usize),
    /// The kernel knows 2 to 16 bands.
    #[error("prio with {0} bands; the kernel knows 2 to {most}", most = MAX_CLASSES)]
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
    #[error("there is a qdisc below class {class}, but the last class is {last}")]
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
    #[error("etf delta of {0} ns; the kernel takes 0 to {most} ns (2.1 s)", most = Etf::LONGEST_DELTA.as_ns())]
    Delta(i64),
}

/// How many transmit queues a device must have for these qdiscs.
pub fn queues_needed(tree: &QdiscTree) -> u16 {
    match tree.queue_ranges() {
        // The kernel refuses classes with queues on a device that has one queue.
        Some(_) => tree.queues().unwrap_or(0).max(2),
        None => 1,
    }
}

/// The steps to a root qdisc and what is below it, in order.
///
/// # Errors
/// [`QdiscError`] for what the kernel would refuse: classes without queues, bands that do not
/// exist, values out of range.
pub fn compile(tree: &QdiscTree) -> Result<Vec<PlannedQdisc>, QdiscError> {
    let QdiscTree { root, classes } = tree;
    for qdisc in tree.all() {
        kind(qdisc).map_or(Ok(()), Kind::check)?;
    }
    let planned =
        PlannedQdisc { parent: Handle::ROOT, handle: Some(ROOT_HANDLE), settings: root.clone() };
    match root {
        Qdisc::Mqprio(Mqprio { map, queues, .. }) | Qdisc::Taprio(Taprio { map, queues, .. }) => {
            below_queues(planned, map, queues, classes)
        }
        Qdisc::Prio(Prio { bands, map }) => {
            check_classes(map, classes.keys().copied(), usize::from(*bands))?;
            let below = classes.iter().map(|(band, leaf)| child(u16::from(*band) + 1, leaf));
            Ok(std::iter::once(planned).chain(below).collect())
        }
        _ => Ok(vec![planned]),
    }
}

/// A root with traffic classes, and each class's qdisc below all its queues.
fn below_queues(
    root: PlannedQdisc,
    map: &[u8; 16],
    queues: &[QueueRange],
    classes: &BTreeMap<u8, Qdisc>,
) -> Result<Vec<PlannedQdisc>, QdiscError> {
    if !(1..=MAX_CLASSES).contains(&queues.len()) {
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
            steps.push(child(queue.saturating_add(1), leaf));
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

fn child(minor: u16, leaf: &Qdisc) -> PlannedQdisc {
    PlannedQdisc { parent: ROOT_HANDLE.class(minor), handle: None, settings: leaf.clone() }
}
