//! The tasks of a run, from record to record.

use std::collections::{HashMap, HashSet};

use crate::stalls::totals::{Intervals, TaskTotals, TracedRun};
use crate::stalls::{TaskEvent, TaskEventKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskState {
    Running,
    Ready {
        is_preempted: bool,
    },
    Asleep,
    /// The task gives back its memory. No record says when that is done.
    Ending,
    Dead,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    state: TaskState,
    cpu: usize,
    maker: u32,
    process: u32,
    ran_ns: u64,
    /// The run's clocks at the task's last record.
    since: Clocks,
    /// The clocks before and after the sleep that something outside ended, until the task continues.
    slept: Option<[Clocks; 2]>,
}

impl Task {
    /// A task that was on no CPU yet.
    fn new(state: TaskState, maker: u32, process: u32, since: Clocks) -> Self {
        Self { state, cpu: usize::MAX, maker, process, ran_ns: 0, since, slept: None }
    }
}

/// Time so far in which …
#[derive(Clone, Copy, Debug, Default)]
struct Clocks {
    now_ns: u64,
    /// … some task was known to be ready and none ran.
    stalled_ns: u64,
    /// … the same held, but beside an ending task.
    beside_ending_ns: u64,
    /// … none ran and none was known to be ready.
    quiet_ns: u64,
    /// … another task than the first ran or slept, or something was ready and none ran. Waits of the first task
    /// meanwhile are no stall, or are known.
    company_ns: u64,
    /// … another task ended, without other company.
    ending_company_ns: u64,
    /// … another task ran; one ended and none ran.
    others_ran_ns: u64,
    others_ended_ns: u64,
}

/// Parts of the stalled or of the quiet time in which a task slept.
#[derive(Default)]
struct Sleeps {
    /// Sleeps that something outside the run ended.
    outside: Intervals,
    /// These sleeps, and those without a record of their end.
    any: Intervals,
}

pub struct RunTasks {
    run: TracedRun,
    tasks: HashMap<u32, Task>,
    clocks: Clocks,
    in_stalls: Sleeps,
    beside_ending: Sleeps,
    in_quiet: Sleeps,
    /// Processes that another task has waited for.
    waited_for: HashSet<u32>,
    n_running: usize,
    n_ready: usize,
    n_ending: usize,
    n_asleep: usize,
    has_first_record: bool,
    totals: TaskTotals,
}

impl RunTasks {
    pub fn new(run: TracedRun) -> Self {
        let clocks = Clocks { now_ns: run.started_ns, ..Clocks::default() };
        let first = Task::new(TaskState::Running, 0, run.first, clocks);
        Self {
            run,
            tasks: HashMap::from([(run.first, first)]),
            clocks,
            in_stalls: Sleeps::default(),
            beside_ending: Sleeps::default(),
            in_quiet: Sleeps::default(),
            waited_for: HashSet::from([run.first]),
            n_running: 1,
            n_ready: 0,
            n_ending: 0,
            n_asleep: 0,
            has_first_record: false,
            totals: TaskTotals {
                n_tasks: 1,
                n_runnable_max: 1,
                n_running_max: 1,
                ..TaskTotals::default()
            },
        }
    }

    pub fn pass_time(&mut self, to_ns: u64) {
        let ns = to_ns.saturating_sub(self.clocks.now_ns);
        self.clocks.now_ns += ns;
        let is_stalled = self.n_running == 0 && self.n_ready > 0;
        if self.n_running > 0 {
            self.totals.any_ran_ns += ns;
        } else if is_stalled && self.n_ending > 0 {
            // An ending task may or may not run.
            self.clocks.beside_ending_ns += ns;
        } else if is_stalled {
            self.clocks.stalled_ns += ns;
        } else {
            self.clocks.quiet_ns += ns;
        }
        if self.n_running + self.n_ready > self.run.n_cpus {
            self.totals.crowded_ns += ns;
        }
        self.pass_time_of_others(ns, is_stalled);
    }

    fn pass_time_of_others(&mut self, ns: u64, is_stalled: bool) {
        let first = self.tasks[&self.run.first].state;
        let is_any = |n: usize, state| n > usize::from(first == state);
        let is_running = is_any(self.n_running, TaskState::Running);
        let is_ending = is_any(self.n_ending, TaskState::Ending);
        let is_company = is_stalled || is_running || is_any(self.n_asleep, TaskState::Asleep);
        let clocks = &mut self.clocks;
        for (clock, is_passing) in [
            (&mut clocks.company_ns, is_company),
            (&mut clocks.ending_company_ns, is_ending && !is_company),
            (&mut clocks.others_ran_ns, is_running),
            (&mut clocks.others_ended_ns, is_ending && !is_running),
        ] {
            *clock += if is_passing { ns } else { 0 };
        }
    }

    pub fn take(&mut self, event: &TaskEvent) {
        if let TaskEventKind::Made { maker, process } = event.kind {
            if self.tasks.contains_key(&maker) {
                self.totals.n_tasks += 1;
                let state = TaskState::Ready { is_preempted: false };
                self.enter(event.thread, Task::new(state, maker, process, self.clocks));
            }
            return;
        }
        if event.thread == self.run.first && !self.has_first_record {
            self.has_first_record = true;
            self.begin_records();
        }
        // A task of an earlier run.
        let Some(before) = self.tasks.get(&event.thread).copied() else { return };
        match event.kind {
            TaskEventKind::Made { .. } | TaskEventKind::Executes => {}
            TaskEventKind::WokenBy(_) | TaskEventKind::WokenByInterrupt => {
                // A task that is still awake will not fall asleep. One that seemed ready was asleep.
                if matches!(before.state, TaskState::Ready { .. }) {
                    self.doubt(event.thread, before);
                } else if before.state == TaskState::Asleep {
                    self.change(event.thread, TaskState::Ready { is_preempted: false }, before.cpu);
                    self.is_woken(event, before);
                }
            }
            TaskEventKind::In => {
                self.continues(event, before);
                self.change(event.thread, TaskState::Running, event.cpu);
            }
            TaskEventKind::Out | TaskEventKind::Preempted | TaskEventKind::Ended => {
                self.stops(event, before);
                let state = match event.kind {
                    TaskEventKind::Out => TaskState::Asleep,
                    TaskEventKind::Ended => TaskState::Ending,
                    _ => TaskState::Ready { is_preempted: true },
                };
                self.change(event.thread, state, event.cpu);
            }
        }
    }

    /// Until its first record the first task runs, or waits unseen.
    fn begin_records(&mut self) {
        self.totals.head_ns = self.clocks.now_ns - self.run.started_ns;
        self.totals.any_ran_ns = 0;
        self.tasks.entry(self.run.first).and_modify(|task| task.since = self.clocks);
    }

    fn change(&mut self, thread: u32, state: TaskState, cpu: usize) {
        let task = Task { state, cpu, since: self.clocks, slept: None, ..self.tasks[&thread] };
        self.enter(thread, task);
    }

    fn enter(&mut self, thread: u32, task: Task) {
        let before = self.tasks.insert(thread, task);
        if let Some(count) = before.and_then(|before| self.count(before.state)) {
            *count -= 1;
        }
        if let Some(count) = self.count(task.state) {
            *count += 1;
        }
        let n_runnable = (self.n_running + self.n_ready) as u64;
        self.totals.n_runnable_max = self.totals.n_runnable_max.max(n_runnable);
        self.totals.n_running_max =
            self.totals.n_running_max.max(self.n_running.min(self.run.n_cpus) as u64);
    }

    fn count(&mut self, state: TaskState) -> Option<&mut usize> {
        match state {
            TaskState::Running => Some(&mut self.n_running),
            TaskState::Ready { .. } => Some(&mut self.n_ready),
            TaskState::Asleep => Some(&mut self.n_asleep),
            TaskState::Ending => Some(&mut self.n_ending),
            TaskState::Dead => None,
        }
    }

    fn is_woken(&mut self, event: &TaskEvent, before: Task) {
        if let TaskEventKind::WokenBy(waker) = event.kind
            && self.tasks.contains_key(&waker)
        {
            return self.is_woken_by(waker, before);
        }
        let slept = Some([before.since, self.clocks]);
        self.tasks.entry(event.thread).and_modify(|task| task.slept = slept);
        if event.thread == self.run.first {
            let slept_ns = event.time_ns.saturating_sub(before.since.now_ns);
            let longest_ns = &mut self.totals.first_longest_sleep_ns;
            *longest_ns = slept_ns.max(*longest_ns);
        }
    }

    /// The last act of an ending task is to wake the one that waits for its end.
    fn is_woken_by(&mut self, waker: u32, woken: Task) {
        let ending = self.tasks[&waker];
        if ending.state != TaskState::Ending {
            return;
        }
        self.change(waker, TaskState::Dead, ending.cpu);
        let process = ending.process;
        let is_left = |task: &Task| {
            task.process == process && !matches!(task.state, TaskState::Ending | TaskState::Dead)
        };
        let leader = self.tasks.get(&process);
        let parent = leader.and_then(|leader| self.tasks.get(&leader.maker));
        let is_parent = parent.is_some_and(|parent| parent.process == woken.process);
        if is_parent && !self.tasks.values().any(is_left) {
            self.waited_for.insert(process);
        }
    }

    fn continues(&mut self, event: &TaskEvent, before: Task) {
        self.totals.migrations += u64::from(before.cpu != event.cpu && before.cpu != usize::MAX);
        let ns = self.clocks.now_ns - before.since.now_ns;
        if let Some([from, to]) = before.slept {
            for (sleeps, from_ns, to_ns) in self.between(from, to) {
                sleeps.outside.add(from_ns, to_ns);
                sleeps.any.add(from_ns, to_ns);
            }
        }
        match before.state {
            TaskState::Ready { is_preempted } => {
                self.totals.preempted_ns += if is_preempted { ns } else { 0 };
                self.totals.first_waited_ns += if event.thread == self.run.first { ns } else { 0 };
            }
            // No record says how the sleep ended, or that the task had stopped.
            _ => self.doubt(event.thread, before),
        }
    }

    fn stops(&mut self, event: &TaskEvent, before: Task) {
        if before.state != TaskState::Running {
            // No record says that the task continued.
            return self.doubt(event.thread, before);
        }
        let ns = self.clocks.now_ns - before.since.now_ns;
        self.tasks.entry(event.thread).and_modify(|task| task.ran_ns += ns);
        self.totals.first_ran_ns += if event.thread == self.run.first { ns } else { 0 };
    }

    /// Since its last record a task may have done anything.
    fn doubt(&mut self, thread: u32, before: Task) {
        for (sleeps, from_ns, to_ns) in self.between(before.since, self.clocks) {
            sleeps.any.add(from_ns, to_ns);
        }
        if thread == self.run.first {
            self.hide_first(before.since);
            let is_over = matches!(before.state, TaskState::Ending | TaskState::Dead);
            self.totals.is_first_replaced |= is_over;
        }
    }

    /// The first task may have waited at any time since then.
    fn hide_first(&mut self, since: Clocks) {
        self.totals.first_hidden_ns += self.clocks.company_ns - since.company_ns;
        self.totals.first_beside_ending_ns +=
            self.clocks.ending_company_ns - since.ending_company_ns;
    }

    fn between(&mut self, from: Clocks, to: Clocks) -> [(&mut Sleeps, u64, u64); 3] {
        [
            (&mut self.beside_ending, from.beside_ending_ns, to.beside_ending_ns),
            (&mut self.in_stalls, from.stalled_ns, to.stalled_ns),
            (&mut self.in_quiet, from.quiet_ns, to.quiet_ns),
        ]
    }

    pub fn finish(&mut self, process_ended_ns: Option<u64>) -> TaskTotals {
        let is_over = process_ended_ns.is_some();
        if !is_over {
            self.pass_time(self.run.ended_ns);
        }
        let alive: Vec<(u32, Task)> =
            self.tasks.iter().map(|(thread, task)| (*thread, *task)).collect();
        for (thread, task) in alive {
            // Records are missing: the task may be doing something else.
            if !is_over && task.state != TaskState::Dead {
                self.doubt(thread, task);
            }
        }
        let first = self.tasks[&self.run.first];
        if is_over {
            // It may have waited while it ended.
            self.hide_first(first.since);
        }
        let is_first_survived = first.since.now_ns < self.clocks.now_ns;
        let unseen_ns = |sleeps: &Sleeps| sleeps.any.sum_ns() - sleeps.outside.sum_ns();
        let all = [&self.in_stalls, &self.beside_ending, &self.in_quiet];
        let is_waited_for = |task: &Task| self.waited_for.contains(&task.process);
        let others = self
            .tasks
            .iter()
            .filter(|(thread, task)| **thread != self.run.first && is_waited_for(task));
        let others = others.map(|(_, task)| task);
        TaskTotals {
            stalled_ns: self.clocks.stalled_ns - self.in_stalls.any.sum_ns(),
            beside_ending_ns: self.clocks.beside_ending_ns - self.beside_ending.any.sum_ns(),
            unclear_ns: all.map(unseen_ns).iter().sum(),
            others_ran_ns: others.map(|task| task.ran_ns).sum(),
            is_first_survived,
            process_ended_ns,
            ..self.totals
        }
    }

    /// Time in which others ran, and ended, after the last record of the first process.
    pub fn beside_end(&mut self, events: &[TaskEvent], process_ended_ns: u64) -> (u64, u64) {
        let before = self.clocks;
        for event in events.iter().skip_while(|event| event.time_ns <= process_ended_ns) {
            self.pass_time(event.time_ns);
            self.take(event);
        }
        self.pass_time(self.run.ended_ns);
        let clocks = self.clocks;
        (
            clocks.others_ran_ns - before.others_ran_ns,
            clocks.others_ended_ns - before.others_ended_ns,
        )
    }
}
