//! What a run waited for while none of its tasks ran or was ready: such a time is charged to the wait that ended it.

use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskChange {
    /// The task was made, or continues.
    Runs,
    /// Another task runs instead; this one could go on.
    Preempted,
    WaitsFor(u32),
    Ended,
}

#[derive(Debug, Default)]
pub struct WaitingTasks {
    /// Why each task waits; `None` for a ready one.
    states: HashMap<u32, Option<u32>>,
    n_ready: usize,
    /// When the last task stopped being ready.
    quiet_since: Option<u64>,
    waits: HashMap<u32, u64>,
}

impl WaitingTasks {
    pub fn take(&mut self, time_ns: u64, thread: u32, change: TaskChange) {
        let before = self.states.remove(&thread);
        self.n_ready -= usize::from(before == Some(None));
        match change {
            TaskChange::Runs | TaskChange::Preempted => {
                if let (Some(since), Some(Some(reason))) = (self.quiet_since, before) {
                    *self.waits.entry(reason).or_default() += time_ns.saturating_sub(since);
                }
                self.quiet_since = None;
                self.n_ready += 1;
                self.states.insert(thread, None);
            }
            TaskChange::WaitsFor(reason) => drop(self.states.insert(thread, Some(reason))),
            TaskChange::Ended => {}
        }
        if self.n_ready == 0 && self.quiet_since.is_none() {
            self.quiet_since = Some(time_ns);
        }
    }

    /// The time that each reason took, ns.
    pub fn into_waits(self) -> Vec<(u32, u64)> {
        let mut waits: Vec<(u32, u64)> = self.waits.into_iter().collect();
        waits.sort_unstable();
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TaskChange::*;

    fn waits(events: &[(u64, u32, TaskChange)]) -> Vec<(u32, u64)> {
        let mut tasks = WaitingTasks::default();
        events.iter().for_each(|&(time_ns, thread, change)| tasks.take(time_ns, thread, change));
        tasks.into_waits()
    }

    #[test]
    fn the_wait_of_a_single_task_is_its_own() {
        let events =
            [(0, 1, Runs), (5, 1, WaitsFor(7)), (25, 1, Runs), (30, 1, Preempted), (90, 1, Runs)];
        assert_eq!(waits(&events), [(7, 20)]);
    }

    #[test]
    fn a_wait_beside_a_task_that_runs_costs_nothing() {
        // The first task waits for the second one, which sleeps from 20 to 50 and ends.
        let events = [
            (0, 1, Runs),
            (5, 2, Runs),
            (10, 1, WaitsFor(7)),
            (20, 2, WaitsFor(8)),
            (50, 2, Runs),
            (60, 2, Ended),
            (61, 1, Runs),
        ];
        assert_eq!(waits(&events), [(7, 1), (8, 30)]);
    }
}
