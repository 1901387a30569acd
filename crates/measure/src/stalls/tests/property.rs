//! Whatever a run does and whatever the records lack: clean time is never below the truth.
#![expect(clippy::disallowed_methods, reason = "the environment has the number of schedules")]

use std::collections::HashMap;

use crate::proc_counts::{CpuTimes, Waits};
use crate::stalls::tests::simulated::{FIRST, STEP_NS, Simulated, simulate};
use crate::stalls::tests::simulated_task::Random;
use crate::stalls::{RunTimes, Stall, TaskEvent, TaskEventKind, TracedRun, add_up};

/// Default number of schedules.
const N_SCHEDULES: u64 = 10_000;
const N_SCHEDULES_VARIABLE: &str = "STILLWELL_SCHEDULES";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    Nothing,
    /// The kernel writes no wakes.
    Wakes,
    /// A third of the wakes is missing, or is written after the task continues.
    SomeWakes,
    /// One task on its CPUs, from some time on.
    Task,
    /// All tasks on one CPU, from some time on.
    Cpu,
    /// So many that the kernel reports it.
    All,
}

const LACKS: [Lack; 6] =
    [Lack::Nothing, Lack::Wakes, Lack::SomeWakes, Lack::Task, Lack::Cpu, Lack::All];

/// The clean time that Stillwell finds, ns.
fn clean_ns(run: &Simulated, lack: Lack, random: &mut Random) -> Option<u64> {
    let wall_ns = run.wall_steps * STEP_NS;
    let used_ns = run.used_steps * STEP_NS;
    let task_clock_ns = run.task_clock_steps * STEP_NS + 32_000 * run.n_switches;
    let first_ran_ns = run.first_ran_steps * STEP_NS;
    let times = RunTimes {
        started_ns: 0,
        ended_ns: wall_ns,
        usage_ns: used_ns,
        others_usage_ns: used_ns - first_ran_ns,
        busy_ns: used_ns,
        task_clock_ns: Some(task_clock_ns),
        first: Some(CpuTimes { ran_ns: first_ran_ns, waited_ns: run.first_waited_steps * STEP_NS }),
        launcher: Waits {
            waited_ns: run.launcher_waited_steps * STEP_NS,
            n_arrivals: run.launcher_arrivals,
        },
    };
    let stall = if lack == Lack::All {
        // Without any records, nothing shows other tasks that sleep.
        if run.n_tasks > 1 {
            return None;
        }
        Stall::for_single_task(&times)?
    } else {
        let (events, lacking_ns) = lacking(&run.events, wall_ns, lack, random);
        // Two counts of CPU time may differ by this much.
        if 0 < lacking_ns && lacking_ns <= task_clock_ns / 1_000 {
            return None;
        }
        let traced =
            TracedRun { first: FIRST, started_ns: 0, ended_ns: wall_ns, n_cpus: run.n_cpus };
        add_up(&events, traced).stall(&times)
    };
    let Stall { stalled_ns, unclear_ns, .. } = stall;
    assert!(stalled_ns + unclear_ns <= wall_ns, "{stall:?} of {wall_ns}");
    Some(wall_ns - stalled_ns)
}

/// The remaining records, and the CPU time in the missing ones.
fn lacking(
    events: &[TaskEvent],
    wall_ns: u64,
    lack: Lack,
    random: &mut Random,
) -> (Vec<TaskEvent>, u64) {
    let is_wake = |event: &TaskEvent| {
        matches!(event.kind, TaskEventKind::WokenBy(_) | TaskEventKind::WokenByInterrupt)
    };
    let mut events = events.to_vec();
    let mut lacking_ns = 0;
    match lack {
        Lack::Nothing | Lack::All => {}
        Lack::Wakes => events.retain(|event| !is_wake(event)),
        Lack::SomeWakes => {
            events.retain(|event| !is_wake(event) || !random.is(20));
            for index in 0..events.len() {
                let TaskEvent { thread, .. } = events[index];
                let is_next = |event: &&TaskEvent| event.thread == thread;
                if is_wake(&events[index])
                    && random.is(20)
                    && let Some(next) = events[index + 1..].iter().find(is_next)
                {
                    events[index].time_ns = next.time_ns + 1;
                }
            }
        }
        Lack::Task | Lack::Cpu => {
            let (task, cpu) = (FIRST + random.below(8) as u32, random.below(4) as usize);
            let from_ns = random.below(wall_ns + 1);
            let mut unrecorded = HashMap::new();
            events.retain(|event| {
                let is_there =
                    if lack == Lack::Cpu { event.cpu == cpu } else { event.thread == task };
                if is_wake(event) {
                    return true;
                }
                if event.kind == TaskEventKind::In && is_there && event.time_ns >= from_ns {
                    unrecorded.insert(event.thread, event.time_ns);
                    return false;
                }
                let since_ns = unrecorded.remove(&event.thread);
                lacking_ns += since_ns.map_or(0, |ns| event.time_ns - ns);
                since_ns.is_none()
            });
            lacking_ns += unrecorded.values().map(|ns| wall_ns - ns).sum::<u64>();
        }
    }
    events.sort_unstable();
    (events, lacking_ns)
}

#[test]
fn clean_time_is_never_below_the_truth() {
    let n_schedules = std::env::var(N_SCHEDULES_VARIABLE).ok();
    let n_schedules = n_schedules.map_or(N_SCHEDULES, |n| n.parse().expect("a number"));
    let (mut below, mut far) = (Vec::new(), Vec::new());
    for seed in 0..n_schedules {
        let Some(run) = simulate(seed) else { continue };
        let true_ns = run.clean_steps * STEP_NS;
        let most_ns = true_ns + true_ns / 100 + (4 + 2 * run.ending_steps) * STEP_NS;
        for lack in LACKS {
            let mut random = Random(!seed);
            let Some(found_ns) = clean_ns(&run, lack, &mut random) else { continue };
            if found_ns + STEP_NS / 2 < true_ns {
                below.push((seed, lack, found_ns, true_ns));
            }
            if lack == Lack::Nothing && !run.is_untold && found_ns > most_ns {
                far.push((seed, found_ns, true_ns));
            }
        }
    }
    assert!(below.is_empty(), "{} are below: {:?} …", below.len(), below.first());
    assert!(far.is_empty(), "{} are more than 1 % above: {:?} …", far.len(), far.first());
}
