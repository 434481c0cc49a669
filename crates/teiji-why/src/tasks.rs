//! Threads by number, each with the priority that it has had most often while frames were sent.

use std::collections::HashMap;

use crate::timeline::Task;

/// Threads that were seen.
#[derive(Debug, Default)]
pub(crate) struct Tasks(HashMap<u32, Seen>);

#[derive(Debug)]
struct Seen {
    comm: String,
    /// Priorities, and how often each was seen: a thread is boosted for a while, and gives its priority
    /// back at its end.
    prios: Vec<(i32, Times)>,
}

/// How often, in the order of what counts: a thread that gets ready is ordinary yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Times {
    during: u64,
    before: u64,
}

impl Tasks {
    /// A thread is seen, with the name and priority that it has now: before the first frame, or later.
    pub(crate) fn see(&mut self, pid: u32, comm: &str, prio: i32, is_before: bool) {
        let fresh = || Seen { comm: comm.to_owned(), prios: Vec::new() };
        let seen = self.0.entry(pid).or_insert_with(fresh);
        if seen.comm != comm {
            *seen = fresh();
        }
        let index = seen.prios.iter().position(|(known, _)| *known == prio);
        let index = index.unwrap_or_else(|| {
            seen.prios.push((prio, Times::default()));
            seen.prios.len() - 1
        });
        let Times { during, before } = &mut seen.prios[index].1;
        *(if is_before { before } else { during }) += 1;
    }

    /// All of them.
    pub(crate) fn finish(self) -> HashMap<u32, Task> {
        let task = |(pid, Seen { comm, prios }): (u32, Seen)| {
            let most = prios.iter().max_by_key(|(_, times)| *times);
            (pid, Task { pid, comm, prio: most.map_or(0, |(prio, _)| *prio) })
        };
        self.0.into_iter().map(task).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_usual_priority_and_its_last_name() {
        let mut tasks = Tasks::default();
        for (comm, prio, is_before) in [
            ("teiji", 120, true),
            ("talker-0", 120, true),
            ("talker-0", 120, true),
            ("talker-0", 120, true),
            ("talker-0", 19, true),
            ("talker-0", 19, false),
            ("talker-0", 19, false),
            ("talker-0", 120, false),
        ] {
            tasks.see(7, comm, prio, is_before);
        }
        for _ in 0..3 {
            tasks.see(8, "ksoftirqd/0", 120, true);
        }
        let tasks = tasks.finish();
        let seen = [7, 8].map(|pid| (tasks[&pid].comm.as_str(), tasks[&pid].prio));
        assert_eq!(seen, [("talker-0", 19), ("ksoftirqd/0", 120)]);
    }
}
