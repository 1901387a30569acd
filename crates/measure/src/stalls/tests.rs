//! The records of single cases.

mod property;
mod simulated;
mod simulated_task;

use crate::proc_counts::{CpuTimes, Waits};
use crate::stalls::TaskEventKind::{
    Ended, Executes, In, Made, Out, Preempted, WokenBy, WokenByInterrupt,
};
use crate::stalls::{RunTimes, Stall, TaskEvent, TaskEventKind, TaskTotals, TracedRun, add_up};

const PROCESS: TaskEventKind = Made { maker: 1, process: 2 };
const THREAD: TaskEventKind = Made { maker: 1, process: 1 };

type Event = (u64, u32, TaskEventKind, usize);

/// Time, task, kind and CPU of each event. Task 1 is the first; it starts at 0, and the last event is the end.
fn totals(events: &[Event]) -> TaskTotals {
    totals_on(events, 1)
}

fn totals_on(events: &[Event], n_cpus: usize) -> TaskTotals {
    let event = |&(time_ns, thread, kind, cpu)| TaskEvent { time_ns, thread, kind, cpu };
    let events: Vec<TaskEvent> = events.iter().map(event).collect();
    let ended_ns = events.last().map_or(0, |event| event.time_ns);
    add_up(&events, TracedRun { first: 1, started_ns: 0, ended_ns, n_cpus })
}

/// A run of which only the time and the first task's waits are known.
fn times(ended_ns: u64, waited_ns: Option<u64>) -> RunTimes {
    RunTimes {
        started_ns: 0,
        ended_ns,
        usage_ns: 0,
        others_usage_ns: 0,
        busy_ns: 0,
        task_clock_ns: None,
        first: waited_ns.map(|waited_ns| CpuTimes { ran_ns: 0, waited_ns }),
        launcher: Waits::default(),
    }
}

fn stall(events: &[Event], waited_ns: Option<u64>) -> (u64, u64) {
    let ended_ns = events.last().map_or(0, |event| event.0);
    let found = totals(events).stall(&times(ended_ns, waited_ns));
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
    let child = [(0, 2, PROCESS, 0), (1, 2, In, 0), (10, 1, Out, 0), (11, 2, Preempted, 0)];
    let rest = [(14, 2, In, 0), (30, 1, In, 1)];
    assert_eq!(counts(&[&child[..], &rest].concat()), (3, 1));
    // Preempted and never back: the run was over.
    assert_eq!(counts(&[(10, 1, Preempted, 0), (20, 1, Out, 0)]), (0, 0));
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
    let seen = [(10, 1, Out, 0), (60, 1, WokenByInterrupt, 1), (90, 1, In, 0), (95, 1, Ended, 0)];
    assert_eq!(stall(&seen, None), (30, 0));
    assert_eq!(stall(&seen, Some(32)), (32, 0));
    let found = totals(&seen);
    assert_eq!((found.process_ended_ns, found.first_longest_sleep_ns), (Some(95), 50));
}

#[test]
fn a_stall_needs_every_task_to_be_off_the_cpu() {
    // Task 2 waits from 10 to 30, but task 1 runs until 20.
    let events = [(10, 2, PROCESS, 0), (20, 1, Out, 0), (30, 2, In, 0), (50, 2, Ended, 0)];
    let rest = [(60, 1, In, 0), (70, 1, Ended, 0)];
    let all = [&events[..], &rest].concat();
    // Task 1 may have slept until 59, whatever task 2 did.
    assert_eq!(stall(&all, None), (0, 20));
    // During 30 of its sleep task 2 waited or ran, and then it ended, for which it needed no CPU time.
    assert_eq!(stall(&all, Some(30)), (0, 20));
    assert_eq!(stall(&all, Some(35)), (5, 20));
    // The kernel says when it was woken.
    let seen = [&events[..], &[(53, 1, WokenBy(2), 0)], &rest].concat();
    assert_eq!(stall(&seen, None), (17, 0));
}

#[test]
fn a_wait_beside_a_timer_is_no_stall() {
    // Task 2 sleeps from 20 to 90. Task 1 is ready from 30 to 60, and then waits for task 2.
    let events = [(10, 2, PROCESS, 1), (10, 2, In, 1), (20, 2, Out, 1)];
    let first = [(30, 1, Preempted, 0), (60, 1, In, 0), (61, 1, Out, 0)];
    let timer = [(90, 2, WokenByInterrupt, 1)];
    let end = [(95, 2, In, 1), (97, 2, Ended, 1)];
    let seen_end = [(97, 1, WokenBy(2), 1), (99, 1, In, 0), (100, 1, Ended, 0)];
    // 90 to 95 and 97 to 99.
    let seen = [&events[..], &first, &timer, &end, &seen_end].concat();
    assert_eq!(stall(&seen, None), (7, 0));
    // Task 2 waited for task 1, until 95.
    let own = [&events[..], &first[..2], &[(60, 2, WokenBy(1), 0)], &first[2..], &end, &seen_end];
    assert_eq!(stall(&own.concat(), None), (30 + 34 + 2, 0));
    // The wake of its sleep was not seen.
    let unseen = [&events[..], &first, &end, &seen_end[1..]].concat();
    assert_eq!(stall(&unseen, None), (0, 30 + 34 + 2));
}

/// Task 1 sleeps on a timer. Task 2 sleeps twice meanwhile, and waits before and between.
#[test]
fn a_short_sleep_does_not_end_a_longer_one() {
    let events = [(0, 2, PROCESS, 0), (10, 1, Out, 0), (40, 2, In, 0), (50, 2, Out, 0)];
    let rest = [(55, 2, In, 0), (60, 2, Preempted, 0), (100, 1, In, 0), (110, 1, Ended, 0)];
    assert_eq!(stall(&[&events[..], &rest].concat(), None), (0, 30 + 5 + 40));
    let wakes = [(54, 2, WokenByInterrupt, 0)];
    let timer = [(99, 1, WokenByInterrupt, 0)];
    let seen = [&events[..], &wakes, &rest[..2], &timer, &rest[2..]].concat();
    assert_eq!(stall(&seen, None), (1, 0));
}

#[test]
fn a_child_is_stalled_while_its_parent_waits_for_it() {
    let events = [(10, 2, PROCESS, 1), (11, 1, Out, 0), (20, 2, In, 1), (30, 2, Preempted, 1)];
    let end = [(50, 2, In, 1), (60, 2, Ended, 1), (61, 1, WokenBy(2), 1)];
    let rest = [(65, 1, In, 0), (70, 1, Ended, 0)];
    assert_eq!(stall(&[&events[..], &end, &rest].concat(), None), (9 + 20 + 4, 0));
    // It may also have slept on a timer.
    assert_eq!(stall(&[&events[..], &end[..2], &rest].concat(), None), (0, 9 + 20 + 5));
}

#[test]
fn sleepers_at_the_same_time_are_unclear_once() {
    let events = [(0, 2, PROCESS, 1), (0, 2, In, 1), (10, 1, Out, 0), (20, 2, Out, 1)];
    let rest = [(50, 1, In, 0), (50, 2, In, 1), (60, 2, Out, 1), (70, 1, Ended, 0)];
    assert_eq!(stall(&[&events[..], &rest].concat(), None), (0, 30));
}

#[test]
fn tasks_of_an_earlier_run_are_none_of_this_one() {
    let own = [(2, 1, Executes, 0), (10, 1, Preempted, 0), (30, 1, In, 0), (40, 1, Ended, 0)];
    let stranger =
        [(11, 9, In, 0), (20, 9, Preempted, 0), (25, 8, Made { maker: 9, process: 8 }, 0)];
    let found = totals(&[&own[..2], &stranger, &own[2..]].concat());
    assert_eq!((found.stalled_ns, found.n_tasks, found.preempted_ns), (20, 1, 20));
    // But the task clock has their CPU time.
    assert_eq!(found.tasks_ran_ns, 8 + 9 + 10);
}

#[test]
fn a_run_lasts_until_the_last_thread_of_its_process_ends() {
    let events = [(10, 2, THREAD, 0), (11, 2, In, 1), (20, 1, Ended, 0), (30, 2, Preempted, 1)];
    let all = [&events[..], &[(50, 2, In, 1), (60, 2, Ended, 1), (90, 9, In, 1)]].concat();
    let found = totals(&all);
    assert_eq!(found.process_ended_ns, Some(60));
    // The first task may still end then.
    assert_eq!((found.stalled_ns, found.beside_ending_ns), (0, 20));
    // The launcher waited 40, at most 30 after that.
    let waits = |n_arrivals| Waits { waited_ns: 40, n_arrivals };
    let of = |n_arrivals| found.stall(&RunTimes { launcher: waits(n_arrivals), ..times(90, None) });
    assert_eq!([of(1).stalled_ns, of(2).stalled_ns], [20 + 30, 20]);
}

#[test]
fn a_run_whose_records_lack_cpu_time_has_no_stall() {
    let events = [(0, 1, Executes, 0), (10, 1, Preempted, 0), (40, 1, In, 0), (60, 1, Ended, 0)];
    let found = |task_clock_ns| {
        let times = RunTimes { task_clock_ns: Some(task_clock_ns), ..times(60, None) };
        totals(&events).stall(&times)
    };
    assert_eq!(found(30), Stall { stalled_ns: 30, unclear_ns: 0, impossible_ns: 0 });
    // Reading the counters at a switch takes up to 32 µs.
    assert_eq!(found(32_030).stalled_ns, 30);
    assert_eq!(found(32_070), Stall { stalled_ns: 0, unclear_ns: 30, impossible_ns: 30 });
    // The kernel counted 20 of them as waits of the only task.
    let counted = RunTimes { task_clock_ns: Some(32_070), ..times(60, Some(20)) };
    assert_eq!(totals(&events).stall(&counted).stalled_ns, 20);
    // Another task worked meanwhile.
    let counted = RunTimes { usage_ns: 10, others_usage_ns: 10, ..counted };
    assert_eq!(totals(&events).stall(&counted).stalled_ns, 0);
}

#[test]
fn what_cannot_be_a_stall_is_unclear() {
    let totals = TaskTotals {
        stalled_ns: 90,
        n_tasks: 2,
        n_running_max: 2,
        tasks_ran_ns: 80,
        ..TaskTotals::default()
    };
    let stall = |totals: TaskTotals| {
        let times = RunTimes { task_clock_ns: Some(80), usage_ns: 80, ..times(100, None) };
        let found = totals.stall(&times);
        (found.stalled_ns, found.unclear_ns, found.impossible_ns)
    };
    assert_eq!(stall(totals), (60, 30, 30));
    assert_eq!(stall(TaskTotals { n_running_max: 1, ..totals }), (20, 70, 70));
    assert_eq!(stall(TaskTotals { any_ran_ns: 70, ..totals }), (30, 0, 60));
    assert_eq!(stall(TaskTotals { first_longest_sleep_ns: 95, ..totals }), (5, 85, 85));
    let single = RunTimes { usage_ns: 40, busy_ns: 40, ..times(100, Some(70)) };
    let found = Stall::for_single_task(&single).unwrap();
    assert_eq!((found.stalled_ns, found.unclear_ns, found.impossible_ns), (60, 10, 10));
}

#[test]
fn a_run_is_crowded_while_more_tasks_are_ready_than_it_has_cpus() {
    // Both are runnable from 10 to 40, and from 60 to 65.
    let events = [(10, 2, PROCESS, 0), (20, 1, Preempted, 0), (20, 2, In, 0)];
    let rest = [(40, 2, Out, 0), (41, 1, In, 0), (60, 2, WokenBy(1), 0), (65, 2, Ended, 0)];
    let all = [&events[..], &rest, &[(80, 1, Ended, 0)]].concat();
    let found = totals(&all);
    assert_eq!((found.n_runnable_max, found.crowded_ns), (2, 30 + 5));
    let on_two = totals_on(&all, 2);
    assert_eq!((on_two.n_runnable_max, on_two.crowded_ns), (2, 0));
    assert_eq!(totals(&[]).n_runnable_max, 1);
}

#[test]
fn what_happens_after_the_end_does_not_count() {
    let events = [(5, 2, PROCESS, 0), (6, 2, In, 0), (10, 1, Ended, 0), (20, 2, Preempted, 0)];
    let after = [&events[..], &[(90, 2, In, 0)]].concat();
    let found = totals(&after).stall(&times(90, None));
    assert_eq!(found, Stall { stalled_ns: 0, unclear_ns: 0, impossible_ns: 0 });
}
