//! Makes a profile from samples and a record.
#![expect(clippy::disallowed_methods, reason = "reads the samples")]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::profile::columns::SAMPLES_MIN;
use crate::profile::entries::{CountedEvent, SampledRun, TaskRecord, next_run};
use crate::profile::maps::{AddressSpaces, JitMaps};
use crate::profile::names::{file_name, is_file, system_call};
use crate::profile::saved::{CountedEvents, Profile, ProfiledRun};
use crate::profile::table::FunctionTable;
use crate::profile::waits::{TaskChange, WaitingTasks};
use model::values::metric::Metric;
use record::{Record, Rows};

/// Names the samples of a session, and joins them with the times of its runs.
pub fn collect(record: &Record, samples: &Path, period_ns: u64) -> Result<Profile> {
    let plan = &record.header.plan;
    let arms = plan.arms.iter().map(|arm| arm.label().to_owned()).collect();
    let mut profile = Profile::new(arms, plan.policy.alpha, plan.seed, period_ns);
    let programs: Vec<&str> = plan.arms.iter().map(|arm| arm.argv[0].as_str()).collect();
    let what = || format!("cannot read the samples in {}", samples.display());
    let mut table =
        FunctionTable::new(&programs, mapped_files(samples, programs.len()).with_context(what)?);
    let scripts = plan.arms.iter().map(|arm| scripts(&arm.argv)).collect::<Vec<_>>();
    table.scripts = differing(&scripts);
    let mut n_of_functions: HashMap<u32, Vec<u64>> = HashMap::new();
    let rows = &record.rows;
    let by_step: HashMap<u32, usize> = rows.measurements().map(|at| (rows.step(at), at)).collect();
    let mut file = BufReader::with_capacity(1 << 20, File::open(samples).with_context(what)?);
    while let Some(run) = next_run(&mut file).with_context(what)? {
        let Some(&row) = by_step.get(&run.step) else { continue };
        profile.has_kernel |= run.has_kernel;
        profile.counts_system_calls |= run.counts_calls;
        let NamedRun { samples, tasks, events, .. } = NamedRun::of(&run, &mut table);
        let samples: Vec<(u32, u32)> = samples.into_iter().collect();
        let about = profiled_run(&run, rows, row);
        let waits = run.sees_waits.then(|| without_delays(tasks.into_waits(), &about));
        for &(stack, n) in &samples {
            let leaf = table.stacks[stack as usize].last().copied().unwrap_or_default();
            let counts = n_of_functions.entry(leaf).or_insert_with(|| vec![0; programs.len()]);
            counts[run.arm as usize] += u64::from(n);
        }
        let events = (run.counted_every > 0).then(|| {
            let of_machine = run.n_huge_pages.map(|n| (table.event_of_run(HUGE_PAGES), n));
            let counted = events.into_iter().map(|(stack, n)| (stack, n * run.counted_every));
            CountedEvents { n_lost: run.n_uncounted, chains: counted.chain(of_machine).collect() }
        });
        profile.runs.push(ProfiledRun { samples, waits, events, ..about });
    }
    table.finish(&n_of_functions, SAMPLES_MIN);
    let FunctionTable { functions, stacks, n_user, n_whole, .. } = table;
    (profile.functions, profile.stacks) = (functions, stacks);
    (profile.n_samples, profile.n_whole_chains) = (n_user, n_whole);
    Ok(profile)
}

fn scripts(argv: &[String]) -> BTreeSet<String> {
    let names = argv.iter().flat_map(|word| word.split_ascii_whitespace()).map(file_name);
    names.filter(|name| name.ends_with(".py")).map(str::to_owned).collect()
}

/// The files that some arms have and others lack.
fn differing(of_arms: &[BTreeSet<String>]) -> BTreeSet<String> {
    let in_all = of_arms.iter().cloned().reduce(|all, it| &all & &it).unwrap_or_default();
    of_arms.iter().flatten().filter(|name| !in_all.contains(*name)).cloned().collect()
}

/// Counted for the whole machine.
const HUGE_PAGES: &str = "huge pages (machine)";
/// Runs of each arm whose mappings are read.
const RUNS_LOOKED_AT: usize = 3;

fn mapped_files(samples: &Path, n_arms: usize) -> Result<Vec<BTreeSet<String>>> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(samples)?);
    let (mut found, mut n_runs) = (vec![BTreeSet::new(); n_arms], vec![0; n_arms]);
    while n_runs.iter().any(|&n| n < RUNS_LOOKED_AT)
        && let Some(run) = next_run(&mut file)?
    {
        let arm = run.arm as usize;
        n_runs[arm] += 1;
        for (_, record) in run.records {
            if let TaskRecord::Map { path, .. } = record
                && is_file(&path)
            {
                found[arm].insert(path);
            }
        }
    }
    Ok(found)
}

#[derive(Debug, Default)]
struct NamedRun {
    /// Call chains with their number of samples.
    samples: BTreeMap<u32, u32>,
    /// Call chains with their number of counted events.
    events: BTreeMap<u32, u64>,
    tasks: WaitingTasks,
    /// The processes of the run. Samples also come from the launcher, and from the child before its exec.
    own: HashSet<u32>,
    threads: HashSet<u32>,
    /// Why each task is about to be taken off the CPU.
    reasons: HashMap<u32, u32>,
}

impl NamedRun {
    fn of(run: &SampledRun, table: &mut FunctionTable) -> Self {
        let mut spaces = AddressSpaces::default();
        table.jit = JitMaps::default();
        run.compiled.iter().for_each(|(process, function)| table.jit.add(*process, function));
        let mut named = Self::default();
        for (time_ns, record) in &run.records {
            match record {
                TaskRecord::Exec { process } => {
                    named.runs(*time_ns, *process, *process);
                    spaces.exec(*process);
                }
                TaskRecord::Fork { process, parent } => {
                    if named.own.contains(parent) {
                        named.runs(*time_ns, *process, *process);
                    }
                    spaces.fork(*process, *parent);
                }
                TaskRecord::Map { process, start, len, offset, path } => {
                    let file = table.file(path);
                    spaces.map(*process, *start, *len, *offset, file);
                }
                TaskRecord::Sample { process, chain } if named.own.contains(process) => {
                    if let Some(stack) = table.stack(run.arm as usize, &spaces, *process, chain) {
                        *named.samples.entry(stack).or_default() += 1;
                    }
                }
                TaskRecord::Counted { process, what, chain } if named.own.contains(process) => {
                    let chain = (*process, &chain[..]);
                    let stack = table.event(run.arm as usize, &spaces, chain, words(*what));
                    *named.events.entry(stack).or_default() += 1;
                }
                TaskRecord::Leaves { process, thread, chain } if named.own.contains(process) => {
                    named.reasons.insert(*thread, table.wait(chain));
                }
                TaskRecord::NewTask { process, thread } if named.own.contains(process) => {
                    named.runs(*time_ns, *process, *thread);
                }
                TaskRecord::Ended { thread } => named.change(*time_ns, *thread, TaskChange::Ended),
                TaskRecord::Continues { thread } => {
                    named.change(*time_ns, *thread, TaskChange::Runs);
                }
                TaskRecord::Stops { thread, is_preempted } => {
                    let reason = named.reasons.get(thread).copied();
                    let change = match reason.filter(|_| !is_preempted) {
                        Some(reason) => TaskChange::WaitsFor(reason),
                        None => TaskChange::Preempted,
                    };
                    named.change(*time_ns, *thread, change);
                }
                TaskRecord::Sample { .. }
                | TaskRecord::Counted { .. }
                | TaskRecord::Leaves { .. }
                | TaskRecord::NewTask { .. } => {}
            }
        }
        named
    }

    /// A task of the run is ready.
    fn runs(&mut self, time_ns: u64, process: u32, thread: u32) {
        self.own.insert(process);
        self.threads.insert(thread);
        self.tasks.take(time_ns, thread, TaskChange::Runs);
    }

    fn change(&mut self, time_ns: u64, thread: u32, change: TaskChange) {
        if self.threads.contains(&thread) {
            self.tasks.take(time_ns, thread, change);
        }
    }
}

fn words(what: CountedEvent) -> String {
    match what {
        CountedEvent::PageFault => "page faults".into(),
        CountedEvent::SystemCall(number) => match system_call(number) {
            Some(name) => format!("{name} system calls"),
            None => format!("system calls with number {number}"),
        },
    }
}

/// Waits without the time from waking to running, of which only the sum is known.
fn without_delays(mut waits: Vec<(u32, u64)>, run: &ProfiledRun) -> Vec<(u32, u64)> {
    let asleep_ns = run.wall_ns.saturating_sub(run.cpu_ns + run.stalled_ns.unwrap_or(0));
    let all_ns: u64 = waits.iter().map(|(_, ns)| ns).sum();
    if all_ns > asleep_ns {
        let share = asleep_ns as f64 / all_ns as f64;
        waits.iter_mut().for_each(|(_, ns)| *ns = (*ns as f64 * share) as u64);
    }
    waits
}

/// The times and counts of a run, without its samples.
fn profiled_run(run: &SampledRun, rows: &Rows, at: usize) -> ProfiledRun {
    let metric = |metric| rows.get(at, metric);
    let sum = |metrics: [Metric; 2]| metrics.iter().filter_map(|&it| metric(it)).sum::<u64>();
    // The event counts from the exec on, as the samples do. The usage includes the launcher's part before.
    let usage_ns = 1000 * sum([Metric::UserUs, Metric::SysUs]);
    ProfiledRun {
        arm: run.arm,
        block: run.block,
        wall_ns: metric(Metric::WallNs).unwrap_or(0),
        cpu_ns: metric(Metric::TaskClockNs).unwrap_or(usage_ns),
        stalled_ns: metric(Metric::StalledNs),
        instructions: metric(Metric::Instructions),
        branch_misses: metric(Metric::BranchMisses),
        cache_misses: metric(Metric::CacheMisses),
        faults: sum([Metric::MinorFaults, Metric::MajorFaults]),
        switches: sum([Metric::VoluntarySwitches, Metric::InvoluntarySwitches]),
        period_ns: run.period_ns,
        n_lost: run.n_lost,
        ..ProfiledRun::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waits_of_a_run_are_no_longer_than_it_was_asleep() {
        let run = ProfiledRun {
            wall_ns: 100,
            cpu_ns: 40,
            stalled_ns: Some(20),
            ..ProfiledRun::default()
        };
        assert_eq!(without_delays(vec![(1, 30), (2, 50)], &run), [(1, 15), (2, 25)]);
        assert_eq!(without_delays(vec![(1, 10), (2, 20)], &run), [(1, 10), (2, 20)]);
    }

    #[test]
    fn scripts_with_different_names_are_the_same_program() {
        let argv = |text: &str| text.split(' ').map(String::from).collect::<Vec<String>>();
        let of_arms = ["python3 a/old.py x.py", "sh -c /new.py x.py"].map(|it| scripts(&argv(it)));
        assert_eq!(differing(&of_arms).into_iter().collect::<Vec<_>>(), ["new.py", "old.py"]);
        assert!(differing(&of_arms[..1]).is_empty());
    }

    /// A forked process is in its parent's code; after an exec it is not. Everything before the first exec is the
    /// launcher's.
    #[test]
    fn samples_are_counted_by_call_chain() {
        let mut table = FunctionTable::new(&["a"], vec![BTreeSet::new()]);
        let path = "/no/such/library".to_owned();
        let sample = |process| TaskRecord::Sample { process, chain: vec![1500] };
        let fault = |process| {
            let chain = vec![1600, 77];
            TaskRecord::Counted { process, what: CountedEvent::PageFault, chain }
        };
        let records = vec![
            sample(9),
            sample(1),
            TaskRecord::Exec { process: 1 },
            TaskRecord::Map { process: 1, start: 1000, len: 1000, offset: 0, path },
            sample(1),
            fault(1),
            fault(9),
            TaskRecord::Fork { process: 2, parent: 1 },
            sample(2),
            TaskRecord::Exec { process: 2 },
            sample(2),
        ];
        let leaves = TaskRecord::Leaves { process: 2, thread: 2, chain: Vec::new() };
        let mut records: Vec<(u64, TaskRecord)> = (0..).zip(records).collect();
        // Both tasks sleep; the second one continues first, after 15.
        records.extend([
            (15, TaskRecord::Leaves { process: 1, thread: 1, chain: Vec::new() }),
            (16, TaskRecord::Stops { thread: 1, is_preempted: false }),
            (19, leaves),
            (20, TaskRecord::Stops { thread: 2, is_preempted: false }),
            (35, TaskRecord::Continues { thread: 2 }),
            (36, TaskRecord::Continues { thread: 9 }),
        ]);
        let found = NamedRun::of(&SampledRun { records, ..SampledRun::default() }, &mut table);
        let samples: Vec<(u32, u32)> = found.samples.into_iter().collect();
        assert_eq!(samples, [(0, 2), (2, 1)]);
        // The launcher's page fault does not belong to the run.
        let events: Vec<(u32, u64)> = found.events.into_iter().collect();
        assert_eq!(events, [(1, 1)]);
        assert_eq!(table.stacks[1], [0, 1]);
        assert_eq!(found.tasks.into_waits(), [(3, 15)]);
        let names: Vec<&str> = table.functions.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["[library]", "page faults", "[unknown]", "asleep"]);
    }
}
