//! Made-up runs whose clean time is known: a machine in steps of 0.2 ms, with a scheduler and other programs. It shares
//! no code with `add_up`.
//!
//! True clean time is the wall time less every step in which
//! - a task of the run was ready, none had a CPU, and none was in an outside sleep: one that a timer or another program
//!   ended, and after which the task continued before the first process ended;
//! - or the first process had ended, and the launcher had yet to see it.
//!
//! A task belongs to the run if the first task, or another task of the run, made it. It also has a CPU while it gives
//! back its memory, which no record shows, if it is waited for.

use crate::stalls::tests::simulated_task::{Action, Random, SimulatedState, SimulatedTask};
use crate::stalls::{TaskEvent, TaskEventKind};

pub const STEP_NS: u64 = 200_000;
const TASKS_MAX: usize = 8;
const STEPS_MAX: u64 = 4_000;
/// Number of the first task. Numbers from 900 on belong to an earlier run.
pub const FIRST: u32 = 1;
const OTHER_PROGRAM: u32 = 700;

#[derive(Debug, Default)]
pub struct Simulated {
    pub n_cpus: usize,
    /// In order of time, including tasks of an earlier run.
    pub events: Vec<TaskEvent>,
    pub wall_steps: u64,
    pub clean_steps: u64,
    /// CPU time that wait4(2) counts.
    pub used_steps: u64,
    /// CPU time of all tasks while they write records.
    pub task_clock_steps: u64,
    pub n_switches: u64,
    pub first_waited_steps: u64,
    pub first_ran_steps: u64,
    pub launcher_waited_steps: u64,
    pub launcher_arrivals: u64,
    /// CPU time of tasks after their last record.
    pub ending_steps: u64,
    /// Whether something happened that no record shows: a task waited after its last record, threads outlived the first
    /// task, a task was waited for after it had ended, or the launcher waited before the end.
    pub is_untold: bool,
    pub n_tasks: usize,
}

struct Machine {
    random: Random,
    now: u64,
    tasks: Vec<SimulatedTask>,
    /// Steps for which each CPU runs other programs; `u64::MAX` while it runs a task of the run.
    others: Vec<u64>,
    load_percent: u64,
    posts: u64,
    /// Steps until the first task's exec starts the records.
    head_left: u64,
    has_begun: bool,
    /// Whether a task of an earlier run is on a CPU.
    has_stranger: bool,
    /// Steps in which something was ready and nothing ran but these ending tasks.
    waiting: Vec<(u64, Vec<usize>)>,
    /// Sleeps that something outside ended.
    outside: Vec<(u64, u64)>,
    /// How many of them had ended when the last thread of the first process began to end.
    n_outside: usize,
    out: Simulated,
}

/// Makes up a run. `None` if it does not end.
pub fn simulate(seed: u64) -> Option<Simulated> {
    let mut random = Random(seed);
    let n_cpus = 1 + random.below(4) as usize;
    let load_percent = [0, 2, 10, 40][random.below(4) as usize];
    let head_left = 1 + random.below(3);
    let mut machine = Machine {
        random,
        now: 0,
        tasks: Vec::new(),
        others: vec![0; n_cpus],
        load_percent,
        posts: 0,
        head_left,
        has_begun: false,
        has_stranger: false,
        waiting: Vec::new(),
        outside: Vec::new(),
        n_outside: 0,
        out: Simulated { n_cpus, ..Simulated::default() },
    };
    machine.make(0, FIRST);
    let is_ended = |machine: &Machine| {
        machine.tasks.iter().all(|task| task.process != FIRST || task.state == SimulatedState::Gone)
    };
    while !is_ended(&machine) {
        if machine.now > STEPS_MAX {
            return None;
        }
        machine.step();
    }
    Some(machine.end())
}

impl Machine {
    fn record(&mut self, number: u32, kind: TaskEventKind, cpu: usize) {
        // Later records have later times, even within a step.
        let is_same_step = |event: &&TaskEvent| event.time_ns >= self.now * STEP_NS;
        let n_before = self.out.events.iter().rev().take_while(is_same_step).count();
        let time_ns = self.now * STEP_NS + n_before as u64;
        self.out.n_switches += u64::from(kind == TaskEventKind::In);
        self.out.events.push(TaskEvent { time_ns, thread: number, kind, cpu });
    }

    fn make(&mut self, parent: usize, process: u32) {
        let number = FIRST + self.tasks.len() as u32;
        let process = if process == 0 { number } else { process };
        if !self.tasks.is_empty() {
            let maker = self.tasks[parent].number;
            self.record(number, TaskEventKind::Made { maker, process }, usize::MAX);
        }
        self.tasks.push(SimulatedTask::made_up(&mut self.random, number, parent, process));
    }

    /// Whether this task's records have begun and not ended.
    fn is_recorded(&self, task: usize) -> bool {
        (task != 0 || self.head_left == 0) && !self.tasks[task].is_ending
    }

    fn step(&mut self) {
        self.fire_timers();
        self.dispatch();
        if self.has_stranger || self.load_percent > 0 {
            self.stranger();
        }
        let is_on = |task: &SimulatedTask| matches!(task.state, SimulatedState::On(_));
        if self.tasks.iter().any(|task| task.state == SimulatedState::Ready) {
            let on: Vec<usize> =
                (0..self.tasks.len()).filter(|&index| is_on(&self.tasks[index])).collect();
            if on.iter().all(|&index| self.tasks[index].is_ending) {
                self.waiting.push((self.now, on));
            }
        }
        let has_company = self.tasks[1..].iter().any(|task| task.state != SimulatedState::Gone);
        for index in 0..self.tasks.len() {
            let is_recorded = self.is_recorded(index);
            let task = &mut self.tasks[index];
            match task.state {
                SimulatedState::Ready => {
                    task.waited_steps += 1;
                    self.out.is_untold |= task.is_ending && (index > 0 || has_company);
                }
                SimulatedState::On(_) => {
                    task.cpu_steps += 1;
                    self.out.ending_steps += u64::from(task.is_ending);
                    self.out.task_clock_steps += u64::from(is_recorded);
                    self.head_left -= u64::from(index == 0 && self.head_left > 0);
                    task.left = task.left.saturating_sub(1);
                }
                _ => {}
            }
        }
        self.now += 1;
        if self.head_left == 0 && !self.has_begun {
            self.has_begun = true;
            self.record(FIRST, TaskEventKind::Executes, 0);
        }
        for index in 0..self.tasks.len() {
            if let SimulatedState::On(cpu) = self.tasks[index].state {
                self.advance(index, cpu);
            }
        }
        if self.tasks.iter().all(|task| !is_on(task) && task.state != SimulatedState::Ready) {
            self.wake_someone();
        }
    }

    /// A task of an earlier run comes and goes.
    fn stranger(&mut self) {
        const STRANGER: u32 = 900;
        if self.random.is(5) {
            let kinds = [TaskEventKind::In, TaskEventKind::Preempted];
            self.record(STRANGER, kinds[usize::from(self.has_stranger)], self.out.n_cpus);
            self.has_stranger = !self.has_stranger;
        }
        self.out.task_clock_steps += u64::from(self.has_stranger);
    }

    /// Wakes a task from outside unless a timer will.
    fn wake_someone(&mut self) {
        let has_timer =
            self.tasks.iter().any(|task| matches!(task.state, SimulatedState::Timer(_)));
        let asleep = |task: &SimulatedTask| {
            matches!(task.state, SimulatedState::Child | SimulatedState::Post)
        };
        if !has_timer && let Some(index) = self.tasks.iter().position(asleep) {
            let kind = match self.random.is(50) {
                true => TaskEventKind::WokenByInterrupt,
                false => TaskEventKind::WokenBy(OTHER_PROGRAM),
            };
            self.wake(index, kind);
        }
    }

    fn fire_timers(&mut self) {
        for index in 0..self.tasks.len() {
            if matches!(self.tasks[index].state, SimulatedState::Timer(at) if at <= self.now) {
                self.wake(index, TaskEventKind::WokenByInterrupt);
            }
        }
    }

    fn wake(&mut self, index: usize, by: TaskEventKind) {
        let number = self.tasks[index].number;
        let is_own = matches!(by, TaskEventKind::WokenBy(waker) if waker < OTHER_PROGRAM);
        self.tasks[index].outside = (!is_own).then_some((self.tasks[index].slept_since, self.now));
        self.record(number, by, usize::MAX);
        self.tasks[index].state = SimulatedState::Ready;
    }

    /// Takes CPUs away for other programs, and gives free ones to ready tasks.
    fn dispatch(&mut self) {
        for cpu in 0..self.others.len() {
            let on_it = self.tasks.iter().position(|task| task.state == SimulatedState::On(cpu));
            if let Some(index) = on_it {
                if self.random.is(self.load_percent) {
                    self.others[cpu] = 1 + self.random.below(20);
                    if self.is_recorded(index) {
                        self.record(self.tasks[index].number, TaskEventKind::Preempted, cpu);
                    }
                    self.tasks[index].state = SimulatedState::Ready;
                }
                continue;
            }
            if self.others[cpu] > 0 {
                self.others[cpu] -= 1;
                continue;
            }
            if self.random.is(self.load_percent) {
                self.others[cpu] = 1 + self.random.below(20);
                continue;
            }
            let ready: Vec<usize> = (0..self.tasks.len())
                .filter(|&index| self.tasks[index].state == SimulatedState::Ready)
                .collect();
            if ready.is_empty() {
                continue;
            }
            let index = ready[self.random.below(ready.len() as u64) as usize];
            if self.is_recorded(index) {
                self.record(self.tasks[index].number, TaskEventKind::In, cpu);
            }
            self.tasks[index].state = SimulatedState::On(cpu);
            self.outside.extend(self.tasks[index].outside.take());
        }
    }

    /// The next action of a task on a CPU.
    fn advance(&mut self, index: usize, cpu: usize) {
        while self.tasks[index].left == 0 && self.tasks[index].state == SimulatedState::On(cpu) {
            if index == 0 && self.head_left > 0 {
                return;
            }
            if self.tasks[index].is_ending {
                return self.is_gone(index);
            }
            let actions = &mut self.tasks[index].actions;
            let Some(action) = (!actions.is_empty()).then(|| actions.remove(0)) else {
                return self.begin_to_end(index, cpu);
            };
            self.act(index, cpu, action);
        }
    }

    fn act(&mut self, index: usize, cpu: usize, action: Action) {
        let number = self.tasks[index].number;
        match action {
            Action::Run(steps) => self.tasks[index].left = steps,
            Action::Timer(steps) => self.sleep(index, cpu, SimulatedState::Timer(self.now + steps)),
            Action::MakeThread | Action::MakeProcess if self.tasks.len() >= TASKS_MAX => {}
            Action::MakeThread => self.make(index, self.tasks[index].process),
            Action::MakeProcess => self.make(index, 0),
            Action::WaitForChild => {
                if self.reap(index) {
                    self.out.is_untold = true;
                    return;
                }
                let is_child = |task: &SimulatedTask| {
                    task.parent == index && task.process == task.number && task.number != FIRST
                };
                let is_child = |task: &SimulatedTask| is_child(task) && !task.is_reaped;
                if self.tasks.iter().any(is_child) {
                    self.sleep(index, cpu, SimulatedState::Child);
                }
            }
            Action::Wait if self.posts > 0 => self.posts -= 1,
            Action::Wait => self.sleep(index, cpu, SimulatedState::Post),
            Action::Post => {
                match self.tasks.iter().position(|task| task.state == SimulatedState::Post) {
                    Some(waiter) => self.wake(waiter, TaskEventKind::WokenBy(number)),
                    None => self.posts += 1,
                }
            }
        }
    }

    fn reap(&mut self, parent: usize) -> bool {
        let is_zombie = |task: &SimulatedTask| task.parent == parent && task.is_zombie;
        let Some(leader) = self.tasks.iter().position(is_zombie) else { return false };
        self.tasks[leader].is_zombie = false;
        let process = self.tasks[leader].process;
        let threads = self.tasks.iter_mut().filter(|task| task.process == process);
        threads.for_each(|task| task.is_reaped = true);
        true
    }

    fn sleep(&mut self, index: usize, cpu: usize, state: SimulatedState) {
        self.record(self.tasks[index].number, TaskEventKind::Out, cpu);
        self.tasks[index].state = state;
        self.tasks[index].slept_since = self.now;
    }

    fn begin_to_end(&mut self, index: usize, cpu: usize) {
        let process = self.tasks[index].process;
        let number = self.tasks[index].number;
        // Half of the first tasks end their whole process, as exit(3) does. The threads of the others survive.
        if index == 0 && self.random.is(50) {
            for thread in 1..self.tasks.len() {
                if self.tasks[thread].process == process
                    && self.tasks[thread].state != SimulatedState::Gone
                    && !self.tasks[thread].is_ending
                {
                    self.tasks[thread].actions.clear();
                    self.tasks[thread].left = 0;
                    if matches!(
                        self.tasks[thread].state,
                        SimulatedState::Timer(_) | SimulatedState::Child | SimulatedState::Post
                    ) {
                        self.wake(thread, TaskEventKind::WokenBy(number));
                    }
                }
            }
        }
        self.record(number, TaskEventKind::Ended, cpu);
        let is_after_first = self.tasks[0].is_ending;
        self.n_outside = if process == FIRST { self.outside.len() } else { self.n_outside };
        let task = &mut self.tasks[index];
        task.is_ending = true;
        self.out.is_untold |= process == FIRST && index != 0 && is_after_first;
        task.tail_steps =
            if process == number { 1 + self.random.below(4) } else { self.random.below(2) };
        task.left = task.tail_steps;
    }

    fn is_gone(&mut self, index: usize) {
        self.tasks[index].state = SimulatedState::Gone;
        let process = self.tasks[index].process;
        let is_left =
            |task: &SimulatedTask| task.process == process && task.state != SimulatedState::Gone;
        if process == FIRST || self.tasks.iter().any(is_left) {
            return;
        }
        // A process has the number of its first task.
        let leader = (process - FIRST) as usize;
        self.tasks[leader].is_zombie = true;
        let parent = self.tasks[leader].parent;
        if self.tasks[parent].state == SimulatedState::Child {
            self.wake(parent, TaskEventKind::WokenBy(self.tasks[index].number));
            self.reap(parent);
        }
    }

    fn end(mut self) -> Simulated {
        let late = if self.random.is(50) { 0 } else { self.random.below(60) };
        // Other tasks continue meanwhile.
        let is_on = |index: &usize| matches!(self.tasks[*index].state, SimulatedState::On(_));
        let on = (0..self.tasks.len()).filter(is_on).filter(|&index| self.is_recorded(index));
        self.out.task_clock_steps += late * (on.count() as u64 + u64::from(self.has_stranger));
        let early = if self.random.is(80) { 0 } else { self.random.below(20) };
        let outside = &self.outside[..self.n_outside];
        let is_outside = |step: u64| outside.iter().any(|&(from, to)| from <= step && step < to);
        let is_used = |task: &SimulatedTask| task.is_reaped || task.process == FIRST;
        let is_stalled = |(step, ending): &&(u64, Vec<usize>)| {
            !is_outside(*step) && !ending.iter().any(|&index| is_used(&self.tasks[index]))
        };
        let n_stalled = self.waiting.iter().filter(is_stalled).count() as u64;
        let used = self.tasks.iter().filter(|task| is_used(task));
        self.out.used_steps = used.map(|task| task.cpu_steps).sum();
        self.out.clean_steps = self.now - n_stalled;
        self.out.wall_steps = self.now + late;
        self.out.launcher_waited_steps = late + early;
        self.out.is_untold |= early > 0;
        self.out.launcher_arrivals = 1 + u64::from(early > 0);
        self.out.first_waited_steps = self.tasks[0].waited_steps;
        self.out.first_ran_steps = self.tasks[0].cpu_steps;
        self.out.n_tasks = self.tasks.len();
        self.out
    }
}
