//! The time in which a run was ready and did not run, from the scheduler's records of all of its tasks.
//!
//! A run is *stalled* while at least one of its tasks is ready and none of them has a CPU. The kernel's pressure
//! accounting calls that state "full" (Documentation/accounting/psi.rst). Time in which any task runs is progress, so
//! it is never taken away, however long other tasks wait. Sleeping is the run's own time: while a task waits for a timer
//! or a device, the wait of another task may cost nothing, so it is no stall either.
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
    /// The task has just been made by this one, and is ready.
    MadeBy(u32),
    /// It continues.
    In,
    /// It waits for an event.
    Out,
    /// It could continue, but the kernel runs another one.
    Preempted,
    /// Another task has done what it waited for.
    WokenBy(u32),
    /// A timer or a device has.
    WokenByInterrupt,
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
    /// Most tasks that ran or were known to be ready at a time.
    pub n_runnable_max: u64,
    /// Time in which these were more than the run had CPUs.
    pub crowded_ns: u64,
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
    /// The quiet and the stalled time of the run at the moment when it fell asleep.
    Asleep {
        quiet_ns: u64,
        stalled_ns: u64,
    },
    /// It gives back its memory. No record says when it is done.
    Ending,
}

/// The tasks of a run at one moment.
#[derive(Default)]
struct RunTasks {
    first: u32,
    states: HashMap<u32, (TaskState, usize)>,
    now_ns: u64,
    /// Time so far in which none ran and none was known to be ready.
    quiet_ns: u64,
    /// Time so far in which some task was known to be ready and none ran.
    stalled_ns: u64,
    /// The quiet and the stalled time up to which a task that slept has told something about them.
    seen_quiet_ns: u64,
    seen_stalled_ns: u64,
    /// Stalls in which another task waited for something outside, or may have.
    taken_back_ns: u64,
    /// The maker of each task.
    makers: HashMap<u32, u32>,
    /// The maker of the task whose end was the last event.
    maker_of_ended: Option<u32>,
    n_cpus: usize,
    totals: TaskTotals,
}

/// Adds up the events of a run on `n_cpus` CPUs in order of time. `first` is its first task, which runs from
/// `started_ns` on. Events after its end do not count, because then the run is over.
pub fn add_up(events: &[TaskEvent], first: u32, started_ns: u64, n_cpus: usize) -> TaskTotals {
    let states = HashMap::from([(first, (TaskState::Running, usize::MAX))]);
    let totals = TaskTotals { n_tasks: 1, n_runnable_max: 1, ..TaskTotals::default() };
    let makers = HashMap::from([(first, 0)]);
    let now_ns = started_ns;
    let mut tasks =
        RunTasks { first, states, now_ns, makers, n_cpus, totals, ..RunTasks::default() };
    for event in events {
        tasks.pass_time(event.time_ns);
        tasks.take(event);
        if event.thread == first && event.kind == TaskEventKind::Ended {
            tasks.totals.first_ended_ns = Some(event.time_ns);
            break;
        }
    }
    let stalled_ns = tasks.stalled_ns - tasks.taken_back_ns;
    TaskTotals { stalled_ns, ..tasks.totals }
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
            self.stalled_ns += ns;
        } else if !is_running {
            self.quiet_ns += ns;
        }
        if self.n_runnable() > self.n_cpus {
            self.totals.crowded_ns += ns;
        }
        let first = self.states.get(&self.first);
        let is_first_asleep =
            first.is_some_and(|(state, _)| matches!(state, TaskState::Asleep { .. }));
        if is_first_asleep && (is_running || is_stalled) {
            self.totals.first_hidden_ns += ns;
        }
    }

    /// Tasks that run or are known to be ready.
    fn n_runnable(&self) -> usize {
        let is_runnable = |state| matches!(state, TaskState::Running | TaskState::Ready { .. });
        self.states.values().filter(|(state, _)| is_runnable(*state)).count()
    }

    fn take(&mut self, event: &TaskEvent) {
        // Any later event shows that the kernel is past the end of an ending task, or may be.
        self.states.retain(|_, (state, _)| *state != TaskState::Ending);
        let ready = |is_preempted| TaskState::Ready { since_ns: event.time_ns, is_preempted };
        let before = self.states.get(&event.thread).copied();
        let state = match event.kind {
            TaskEventKind::MadeBy(maker) => {
                self.totals.n_tasks += 1;
                self.makers.insert(event.thread, maker);
                ready(false)
            }
            TaskEventKind::In => {
                self.continues(event, before);
                TaskState::Running
            }
            TaskEventKind::Out => {
                TaskState::Asleep { quiet_ns: self.quiet_ns, stalled_ns: self.stalled_ns }
            }
            TaskEventKind::Preempted => ready(true),
            // A task of another run, or one that is not asleep yet: it will not fall asleep.
            TaskEventKind::WokenBy(_) | TaskEventKind::WokenByInterrupt => match before {
                Some((TaskState::Asleep { stalled_ns, .. }, _)) => {
                    self.woken(event.kind, stalled_ns);
                    ready(false)
                }
                _ => return,
            },
            TaskEventKind::Ended => TaskState::Ending,
        };
        self.maker_of_ended =
            (state == TaskState::Ending).then(|| self.makers.get(&event.thread).copied()).flatten();
        let cpu = match event.kind {
            // The record is written on the CPU of the task that wakes or makes it.
            TaskEventKind::WokenBy(_)
            | TaskEventKind::WokenByInterrupt
            | TaskEventKind::MadeBy(_) => before.map_or(usize::MAX, |(_, cpu)| cpu),
            _ => event.cpu,
        };
        self.states.insert(event.thread, (state, cpu));
        self.totals.n_runnable_max = self.totals.n_runnable_max.max(self.n_runnable() as u64);
    }

    /// A task is woken that slept since the stalled time was `stalled_ns`.
    fn woken(&mut self, by: TaskEventKind, stalled_ns: u64) {
        let is_own = matches!(by, TaskEventKind::WokenBy(task) if self.makers.contains_key(&task));
        if !is_own {
            self.take_back_since(stalled_ns);
        }
    }

    /// Takes back the stalls since the stalled time was this, because a task waited meanwhile for something outside, or
    /// may have. Returns how long they were, without those that were taken back before.
    fn take_back_since(&mut self, stalled_ns: u64) -> u64 {
        let ns = self.stalled_ns - stalled_ns.max(self.seen_stalled_ns);
        self.seen_stalled_ns = self.stalled_ns;
        self.taken_back_ns += ns;
        ns
    }

    fn continues(&mut self, event: &TaskEvent, before: Option<(TaskState, usize)>) {
        let Some((state, cpu)) = before else { return };
        self.totals.migrations += u64::from(cpu != event.cpu && cpu != usize::MAX);
        match state {
            TaskState::Ready { since_ns, is_preempted } => {
                let waited_ns = event.time_ns.saturating_sub(since_ns);
                let totals = &mut self.totals;
                totals.preempted_ns += if is_preempted { waited_ns } else { 0 };
                totals.first_waited_ns += if event.thread == self.first { waited_ns } else { 0 };
            }
            // Its wake was not seen.
            TaskState::Asleep { quiet_ns, stalled_ns } => {
                self.totals.unclear_ns += self.quiet_ns - quiet_ns.max(self.seen_quiet_ns);
                self.seen_quiet_ns = self.quiet_ns;
                // A task that continues when one that it made has ended waited for that.
                if self.maker_of_ended != Some(event.thread) {
                    self.totals.unclear_ns += self.take_back_since(stalled_ns);
                }
            }
            TaskState::Running | TaskState::Ending => {}
        }
    }
}

/// The part of a run's wall time that is not its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Time in which it was ready and none of it ran, as far as it is known.
    pub stalled_ns: u64,
    /// Time in which it slept, or waited unseen.
    pub unclear_ns: u64,
}

impl Stall {
    /// The stall of a run that took `wall_ns`, and in which some task had a CPU for at least `busy_ns`. The waits of the
    /// launcher and of the last task may be the same time. What exceeds the rest of the run is unclear.
    pub fn within(self, wall_ns: u64, busy_ns: u64) -> Self {
        let stalled_ns = self.stalled_ns.min(wall_ns.saturating_sub(busy_ns));
        Self { stalled_ns, unclear_ns: self.unclear_ns + (self.stalled_ns - stalled_ns) }
    }
}

impl TaskTotals {
    /// Joins the records with what schedstat says: `waited_ns`, the time that the first task waited in all while the
    /// clock ran.
    ///
    /// Waits that schedstat has and the records have not come after a sleep, before the first record and after the
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
    use super::TaskEventKind::{Ended, In, MadeBy, Out, Preempted, WokenBy, WokenByInterrupt};
    use super::*;

    /// Time, task, kind and CPU of each event. Task 1 is the first; it starts at 0.
    fn totals(events: &[(u64, u32, TaskEventKind, usize)]) -> TaskTotals {
        let events: Vec<TaskEvent> = events
            .iter()
            .map(|&(time_ns, thread, kind, cpu)| TaskEvent { time_ns, thread, kind, cpu })
            .collect();
        add_up(&events, 1, 0, 1)
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
    fn a_run_is_not_stalled_while_it_has_a_cpu() {
        let stall = Stall { stalled_ns: 90, unclear_ns: 3 };
        assert_eq!(stall.within(100, 10), stall);
        assert_eq!(stall.within(100, 40), Stall { stalled_ns: 60, unclear_ns: 33 });
        assert_eq!(stall.within(100, 140), Stall { stalled_ns: 0, unclear_ns: 93 });
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
        let seen =
            [(10, 1, Out, 0), (60, 1, WokenByInterrupt, 1), (90, 1, In, 0), (95, 1, Ended, 0)];
        assert_eq!(stall(&seen, None), (30, 0));
        assert_eq!(stall(&seen, Some(32)), (32, 0));
        assert_eq!(totals(&seen).first_ended_ns, Some(95));
    }

    #[test]
    fn a_stall_needs_every_task_to_be_off_the_cpu() {
        // Task 2 waits from 10 to 30, but task 1 runs until 20.
        let events = [(10, 2, MadeBy(1), 0), (20, 1, Out, 0), (30, 2, In, 0), (50, 2, Ended, 0)];
        let rest = [(60, 1, In, 0), (70, 1, Ended, 0)];
        let all = [&events[..], &rest].concat();
        // From 50 to 60, task 2 ends or task 1 waits. Without a wake, both are possible.
        assert_eq!(stall(&all, None), (10, 10));
        // Task 1 waited 25 after its sleep; during 30 of that sleep task 2 ran, or waited.
        assert_eq!(stall(&all, Some(25)), (10, 10));
        assert_eq!(stall(&all, Some(36)), (16, 4));
        // The kernel says when it was woken.
        let seen = [&events[..], &[(53, 1, WokenBy(2), 0)], &rest].concat();
        assert_eq!(stall(&seen, None), (17, 0));
    }

    #[test]
    fn a_wait_beside_a_timer_is_no_stall() {
        // Task 2 sleeps from 20 to 90. Task 1 is ready from 30 to 60, and then waits for task 2.
        let events = [(10, 2, MadeBy(1), 1), (10, 2, In, 1), (20, 2, Out, 1)];
        let first = [(30, 1, Preempted, 0), (60, 1, In, 0), (61, 1, Out, 0)];
        let timer = [(90, 2, WokenByInterrupt, 1)];
        let end = [(95, 2, In, 1), (97, 2, Ended, 1)];
        let seen_end = [(97, 1, WokenBy(2), 1), (99, 1, In, 0), (100, 1, Ended, 0)];
        // 90 to 95 and 97 to 99.
        let seen = [&events[..], &first, &timer, &end, &seen_end].concat();
        assert_eq!(stall(&seen, None), (7, 0));
        // Task 1 did what task 2 waited for.
        let own = [&events[..], &first[..2], &[(60, 2, WokenBy(1), 0)], &end, &seen_end].concat();
        assert_eq!(stall(&own, None), (30, 0));
        // The wake of its sleep was not seen.
        let unseen = [&events[..], &first, &end, &seen_end[1..]].concat();
        assert_eq!(stall(&unseen, None), (0, 30 + 34 + 2));
    }

    #[test]
    fn a_child_is_stalled_while_its_parent_waits_for_it() {
        let events =
            [(10, 2, MadeBy(1), 1), (11, 1, Out, 0), (20, 2, In, 1), (30, 2, Preempted, 1)];
        let end = [(50, 2, In, 1), (60, 2, Ended, 1), (65, 1, In, 0), (70, 1, Ended, 0)];
        assert_eq!(stall(&[&events[..], &end].concat(), None), (9 + 20, 5));
    }

    #[test]
    fn sleepers_at_the_same_time_are_unclear_once() {
        let events = [(0, 2, MadeBy(1), 1), (0, 2, In, 1), (10, 1, Out, 0), (20, 2, Out, 1)];
        let rest = [(50, 1, In, 0), (50, 2, In, 1), (60, 2, Out, 1), (70, 1, Ended, 0)];
        assert_eq!(stall(&[&events[..], &rest].concat(), None), (0, 30));
    }

    #[test]
    fn a_run_is_crowded_while_more_tasks_are_ready_than_it_has_cpus() {
        // Both are runnable from 10 to 40, and from 60 to 65.
        let events = [(10, 2, MadeBy(1), 0), (20, 1, Preempted, 0), (20, 2, In, 0)];
        let rest = [(40, 2, Out, 0), (41, 1, In, 0), (60, 2, WokenBy(1), 0), (65, 2, Ended, 0)];
        let all = [&events[..], &rest, &[(80, 1, Ended, 0)]].concat();
        let found = totals(&all);
        assert_eq!((found.n_runnable_max, found.crowded_ns), (2, 30 + 5));
        let task = |&(time_ns, thread, kind, cpu)| TaskEvent { time_ns, thread, kind, cpu };
        let on_two = add_up(&all.iter().map(task).collect::<Vec<_>>(), 1, 0, 2);
        assert_eq!((on_two.n_runnable_max, on_two.crowded_ns), (2, 0));
        assert_eq!(totals(&[]).n_runnable_max, 1);
    }

    #[test]
    fn what_happens_after_the_end_does_not_count() {
        let events =
            [(5, 2, MadeBy(1), 0), (6, 2, In, 0), (10, 1, Ended, 0), (20, 2, Preempted, 0)];
        let after = [&events[..], &[(90, 2, In, 0)]].concat();
        assert_eq!(stall(&after, None), (0, 0));
    }
}
