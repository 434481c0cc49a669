//! Threads by number, each with the priority that it has had most often.

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
    prios: Vec<(i32, u64)>,
}

impl Tasks {
    /// A thread is seen, with the name and priority that it has now.
    pub(crate) fn see(&mut self, pid: u32, comm: &str, prio: i32) {
        let fresh = || Seen { comm: comm.to_owned(), prios: Vec::new() };
        let seen = self.0.entry(pid).or_insert_with(fresh);
        if seen.comm != comm {
            *seen = fresh();
        }
        match seen.prios.iter_mut().find(|(known, _)| *known == prio) {
            Some((_, times)) => *times += 1,
            None => seen.prios.push((prio, 1)),
        }
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
        for (comm, prio) in [
            ("teiji", 120),
            ("talker-0", 120),
            ("talker-0", 19),
            ("talker-0", 19),
            ("talker-0", 120),
            ("talker-0", 19),
        ] {
            tasks.see(7, comm, prio);
        }
        let task = tasks.finish().remove(&7).unwrap();
        assert_eq!((task.comm.as_str(), task.prio), ("talker-0", 19));
    }
}
