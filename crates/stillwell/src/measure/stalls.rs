//! The time in which a run was ready and did not run, from the scheduler's records of all of its tasks.
//!
//! A run is *stalled* while at least one of its tasks is ready and none of them has a CPU. The kernel's pressure
//! accounting calls that state "full" (Documentation/accounting/psi.rst). Time in which any task runs is progress, so
//! it is never taken away, however long other tasks wait. Sleeping is the run's own time.
//!
//! The records say when a task was preempted, made, or ended. When a sleeper became ready they say only if the kernel
//! permits tracepoints. Without them, the wait of the first task is known from its schedstat; for the other tasks,
//! sleeping and waiting cannot be told apart.

use std::collections::HashMap;

/// Something that happened to a task of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskEvent {
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// The task.
    pub thread: u32,
    pub kind: TaskEventKind,
    /// Index of the ring buffer, and so of the CPU.
    pub cpu: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskEventKind {
    /// The task has just been made, and is ready.
    Made,
    /// It continues.
    In,
    /// It waits for an event.
    Out,
    /// It could continue, but the kernel runs another one.
    Preempted,
    /// The event that it waited for has come.
    Woken,
    /// It ends: it gives back what it has, and then never runs again.
    Ended,
}

/// Sums over the events of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTotals {
    /// Time between being preempted and running again, over all tasks.
    pub preempted_ns: u64,
    /// Times a task continued on another CPU than it had stopped on.
    pub migrations: u64,
    /// Time in which a task was known to be ready and none ran.
    pub stalled_ns: u64,
    /// Time in which none ran and none was known to be ready: asleep, or waiting unseen.
    pub unclear_ns: u64,
    /// Number of tasks, the first one included.
    pub n_tasks: u64,
    /// Recorded waits of the first task: after preemptions, and from being woken to running.
    pub first_waited_ns: u64,
    /// Time in which the first task slept, or waited unseen, while another task ran or was known to wait.
    pub first_hidden_ns: u64,
    /// When the first task ended; `None` if no record says so.
    pub first_ended_ns: Option<u64>,
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskState {
    Running,
    /// Ready since this time; whether it was preempted, and the CPU that it was on.
    Ready {
        since_ns: u64,
        is_preempted: bool,
    },
    /// The quiet time of the run at the moment when it fell asleep.
    Asleep {
        quiet_ns: u64,
    },
    /// It gives back its memory. No record says when it is done.
    Ending,
}

/// The tasks of a run at one moment.
struct RunTasks {
    first: u32,
    states: HashMap<u32, (TaskState, usize)>,
    now_ns: u64,
    /// Time so far in which none ran and none was known to be ready.
    quiet_ns: u64,
    /// The quiet time up to which it is known whether it is clear.
    seen_quiet_ns: u64,
    totals: TaskTotals,
}

/// Adds up the events of a run in order of time. `first` is its first task, which runs from `started_ns` on. Events
/// after its end do not count, because then the run is over.
pub fn add_up(events: &[TaskEvent], first: u32, started_ns: u64) -> TaskTotals {
    let states = HashMap::from([(first, (TaskState::Running, usize::MAX))]);
    let totals = TaskTotals { n_tasks: 1, ..TaskTotals::default() };
    let (quiet_ns, seen_quiet_ns) = (0, 0);
    let mut tasks = RunTasks { first, states, now_ns: started_ns, quiet_ns, seen_quiet_ns, totals };
    for event in events {
        tasks.pass_time(event.time_ns);
        tasks.take(event);
        if event.thread == first && event.kind == TaskEventKind::Ended {
            tasks.totals.first_ended_ns = Some(event.time_ns);
            break;
        }
    }
    tasks.totals
}

impl RunTasks {
    fn pass_time(&mut self, to_ns: u64) {
        let ns = to_ns.saturating_sub(self.now_ns);
        self.now_ns = self.now_ns.max(to_ns);
        let any = |of: fn(TaskState) -> bool| self.states.values().any(|(state, _)| of(*state));
        let is_running = any(|state| state == TaskState::Running);
        let is_ready = any(|state| matches!(state, TaskState::Ready { .. }));
        // Whether an ending task still runs is not known, so time beside one is not a stall.
        let is_stalled = !is_running && is_ready && !any(|state| state == TaskState::Ending);
        if is_stalled {
            self.totals.stalled_ns += ns;
        } else if !is_running {
            self.quiet_ns += ns;
        }
        let first = self.states.get(&self.first);
        let is_first_asleep =
            first.is_some_and(|(state, _)| matches!(state, TaskState::Asleep { .. }));
        if is_first_asleep && (is_running || is_stalled) {
            self.totals.first_hidden_ns += ns;
        }
    }

    fn take(&mut self, event: &TaskEvent) {
        // Any later event shows that the kernel is past the end of an ending task, or may be.
        self.states.retain(|_, (state, _)| *state != TaskState::Ending);
        let ready = |is_preempted| TaskState::Ready { since_ns: event.time_ns, is_preempted };
        let before = self.states.get(&event.thread).copied();
        let state = match event.kind {
            TaskEventKind::Made => {
                self.totals.n_tasks += 1;
                ready(false)
            }
            TaskEventKind::In => {
                self.continues(event, before);
                TaskState::Running
            }
            TaskEventKind::Out => TaskState::Asleep { quiet_ns: self.quiet_ns },
            TaskEventKind::Preempted => ready(true),
            // A task of another run, or one that is not asleep yet: it will not fall asleep.
            TaskEventKind::Woken => match before {
                Some((TaskState::Asleep { .. }, _)) => ready(false),
                _ => return,
            },
            TaskEventKind::Ended => TaskState::Ending,
        };
        let cpu = match event.kind {
            // The record is written on the CPU of the task that wakes or makes it.
            TaskEventKind::Woken | TaskEventKind::Made => before.map_or(usize::MAX, |(_, cpu)| cpu),
            _ => event.cpu,
        };
        self.states.insert(event.thread, (state, cpu));
    }

    fn continues(&mut self, event: &TaskEvent, before: Option<(TaskState, usize)>) {
        let Some((state, cpu)) = before else { return };
        let totals = &mut self.totals;
        totals.migrations += u64::from(cpu != event.cpu && cpu != usize::MAX);
        match state {
            TaskState::Ready { since_ns, is_preempted } => {
                let waited_ns = event.time_ns.saturating_sub(since_ns);
                totals.preempted_ns += if is_preempted { waited_ns } else { 0 };
                totals.first_waited_ns += if event.thread == self.first { waited_ns } else { 0 };
            }
            // Nobody saw when it was woken.
            TaskState::Asleep { quiet_ns } => {
                totals.unclear_ns += self.quiet_ns - quiet_ns.max(self.seen_quiet_ns);
                self.seen_quiet_ns = self.quiet_ns;
            }
            TaskState::Running | TaskState::Ending => {}
        }
    }
}

/// What a run's wall time contains that is not its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Time in which it was ready and none of it ran, as far as it is known.
    pub stalled_ns: u64,
    /// Time in which it slept, or waited unseen.
    pub unclear_ns: u64,
}

impl TaskTotals {
    /// Joins the records with what schedstat says: `waited_ns`, the time that the first task waited in all while the
    /// clock ran.
    ///
    /// What schedstat has and the records have not are waits after a sleep, before the first record and after the
    /// last. While the first task slept, others may have run: so much of these waits may not have been a stall.
    pub fn stall(&self, waited_ns: Option<u64>) -> Stall {
        let unseen_ns = waited_ns.map(|ns| ns.saturating_sub(self.first_waited_ns));
        let sure_ns = unseen_ns.unwrap_or(0).saturating_sub(self.first_hidden_ns);
        let is_known = unseen_ns.is_some() && self.n_tasks == 1;
        let unclear_ns = if is_known { 0 } else { self.unclear_ns.saturating_sub(sure_ns) };
        Stall { stalled_ns: self.stalled_ns + sure_ns, unclear_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::TaskEventKind::{Ended, In, Made, Out, Preempted, Woken};
    use super::*;

    /// Time, task, kind and CPU of each event. Task 1 is the first; it starts at 0.
    fn totals(events: &[(u64, u32, TaskEventKind, usize)]) -> TaskTotals {
        let events: Vec<TaskEvent> = events
            .iter()
            .map(|&(time_ns, thread, kind, cpu)| TaskEvent { time_ns, thread, kind, cpu })
            .collect();
        add_up(&events, 1, 0)
    }

    fn stall(events: &[(u64, u32, TaskEventKind, usize)], waited_ns: Option<u64>) -> (u64, u64) {
        let found = totals(events).stall(waited_ns);
        (found.stalled_ns, found.unclear_ns)
    }

    #[test]
    fn preemptions_and_migrations_are_counted() {
        let counts = |events: &[_]| {
            let found = totals(events);
            (found.preempted_ns, found.migrations)
        };
        assert_eq!(counts(&[]), (0, 0));
        assert_eq!(counts(&[(10, 1, Preempted, 0), (25, 1, In, 0)]), (15, 0));
        assert_eq!(counts(&[(10, 1, Out, 0), (25, 1, In, 0)]), (0, 0));
        // Preempted inside the other's sleep, which ends on another CPU.
        let two = [(10, 1, Out, 0), (11, 2, Preempted, 0), (14, 2, In, 0), (30, 1, In, 1)];
        assert_eq!(counts(&two), (3, 1));
        // Preempted and never back: the run was over.
        assert_eq!(counts(&[(5, 2, In, 0), (10, 1, Preempted, 0)]), (0, 0));
    }

    #[test]
    fn one_task_is_stalled_while_it_waits() {
        let events = [(10, 1, Preempted, 0), (25, 1, In, 0), (40, 1, Ended, 0)];
        assert_eq!(stall(&events, None), (15, 0));
        // 4 more before the first record, or after the last.
        assert_eq!(stall(&events, Some(19)), (19, 0));
    }

    #[test]
    fn sleep_is_the_runs_own_time_if_it_is_known() {
        let events = [(10, 1, Out, 0), (90, 1, In, 0), (95, 1, Ended, 0)];
        assert_eq!(stall(&events, None), (0, 80));
        // Of 80 off the CPU it slept 50.
        assert_eq!(stall(&events, Some(30)), (30, 0));
        let seen = [(10, 1, Out, 0), (60, 1, Woken, 1), (90, 1, In, 0), (95, 1, Ended, 0)];
        assert_eq!(stall(&seen, None), (30, 0));
        assert_eq!(stall(&seen, Some(32)), (32, 0));
        assert_eq!(totals(&seen).first_ended_ns, Some(95));
    }

    #[test]
    fn a_stall_needs_every_task_to_be_off_the_cpu() {
        // Task 2 waits from 10 to 30, but task 1 runs until 20.
        let events = [(10, 2, Made, 0), (20, 1, Out, 0), (30, 2, In, 0), (50, 2, Ended, 0)];
        let rest = [(60, 1, In, 0), (70, 1, Ended, 0)];
        let all = [&events[..], &rest].concat();
        // From 50 to 60, task 2 ends or task 1 waits: nobody knows.
        assert_eq!(stall(&all, None), (10, 10));
        // Task 1 waited 25 after its sleep; during 30 of that sleep task 2 ran, or waited.
        assert_eq!(stall(&all, Some(25)), (10, 10));
        assert_eq!(stall(&all, Some(36)), (16, 4));
        // The kernel says when it was woken.
        let seen = [&events[..], &[(53, 1, Woken, 0)], &rest].concat();
        assert_eq!(stall(&seen, None), (17, 0));
    }

    #[test]
    fn sleepers_at_the_same_time_are_unclear_once() {
        let events = [(0, 2, Made, 1), (0, 2, In, 1), (10, 1, Out, 0), (20, 2, Out, 1)];
        let rest = [(50, 1, In, 0), (50, 2, In, 1), (60, 2, Out, 1), (70, 1, Ended, 0)];
        assert_eq!(stall(&[&events[..], &rest].concat(), None), (0, 30));
    }

    #[test]
    fn what_happens_after_the_end_does_not_count() {
        let events = [(5, 2, Made, 0), (6, 2, In, 0), (10, 1, Ended, 0), (20, 2, Preempted, 0)];
        let after = [&events[..], &[(90, 2, In, 0)]].concat();
        assert_eq!(stall(&after, None), (0, 0));
    }
}
