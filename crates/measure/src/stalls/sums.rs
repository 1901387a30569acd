//! Sums up the records of a run.

use std::collections::{HashMap, HashSet};

use crate::stalls::tasks::RunTasks;
use crate::stalls::totals::{TaskTotals, TracedRun};
use crate::stalls::{TaskEvent, TaskEventKind};

/// Adds up the events of a run, which are in order of time. Events after the end do not count.
pub fn add_up(events: &[TaskEvent], run: TracedRun) -> TaskTotals {
    let events = &events[..events.partition_point(|event| event.time_ns <= run.ended_ns)];
    let process_ended_ns = process_end(events, run.first);
    let end_ns = process_ended_ns.unwrap_or(run.ended_ns);
    let mut tasks = RunTasks::new(run);
    for event in events.iter().take_while(|event| event.time_ns <= end_ns) {
        tasks.pass_time(event.time_ns);
        tasks.take(event);
    }
    let mut totals = tasks.finish(process_ended_ns);
    if let Some(process_ended_ns) = process_ended_ns {
        let (ran_ns, ended_ns) = tasks.beside_end(events, process_ended_ns);
        totals.last_hidden_ns = ran_ns;
        totals.last_beside_ending_ns = ended_ns;
    }
    let (tasks_ran_ns, n_switches) = time_on_cpus(events, run);
    TaskTotals { tasks_ran_ns, n_switches, ..totals }
}

/// Time on a CPU, over all tasks that write records until the end was seen, and how often they continued.
fn time_on_cpus(events: &[TaskEvent], run: TracedRun) -> (u64, u64) {
    let mut running = HashMap::new();
    let mut seen = HashSet::new();
    let (mut sum_ns, mut n_switches) = (0, 0);
    for event in events {
        // A task of an earlier run may run from before the start on.
        let is_first = seen.insert(event.thread);
        let is_new = is_first && event.thread != run.first;
        match event.kind {
            TaskEventKind::Executes if event.thread == run.first && is_first => {
                running.insert(event.thread, event.time_ns);
            }
            TaskEventKind::In => {
                n_switches += 1;
                running.insert(event.thread, event.time_ns);
            }
            TaskEventKind::Out | TaskEventKind::Preempted | TaskEventKind::Ended => {
                let since_ns = running.remove(&event.thread).or(is_new.then_some(run.started_ns));
                sum_ns +=
                    since_ns.map_or(0, |ns| event.time_ns.saturating_sub(ns.max(run.started_ns)));
            }
            _ => {}
        }
    }
    let unfinished = running.values().map(|ns| run.ended_ns.saturating_sub(*ns));
    (sum_ns + unfinished.sum::<u64>(), n_switches)
}

/// When the last thread of the process ended; `None` if one of them did not.
fn process_end(events: &[TaskEvent], first: u32) -> Option<u64> {
    let mut alive = vec![first];
    let mut ended_ns = None;
    for event in events {
        match event.kind {
            TaskEventKind::Made { process, .. } if process == first => alive.push(event.thread),
            TaskEventKind::Ended if alive.contains(&event.thread) => {
                alive.retain(|&thread| thread != event.thread);
                ended_ns = Some(event.time_ns);
            }
            _ => {}
        }
    }
    ended_ns.filter(|_| alive.is_empty())
}
