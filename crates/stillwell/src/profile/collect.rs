//! Samples and record → profile.
#![expect(clippy::disallowed_methods, reason = "reads the samples")]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::profile::columns::SAMPLES_MIN;
use crate::profile::entries::{SampledRun, TaskRecord, next_run};
use crate::profile::jit::JitMaps;
use crate::profile::maps::AddressSpaces;
use crate::profile::saved::{Profile, ProfiledRun};
use crate::profile::table::FunctionTable;
use crate::record::{Record, Rows};
use crate::values::metric::Metric;

/// Names the samples of a session, and joins them with the times of its runs.
///
/// # Errors
/// The file of samples cannot be read.
pub fn collect(record: &Record, samples: &Path, period_ns: u64) -> Result<Profile> {
    let plan = &record.header.plan;
    let arms = plan.arms.iter().map(|arm| arm.label().to_owned()).collect();
    let mut profile = Profile::new(arms, plan.policy.alpha, plan.seed, period_ns);
    let programs: Vec<&str> = plan.arms.iter().map(|arm| arm.argv[0].as_str()).collect();
    let what = || format!("cannot read the samples in {}", samples.display());
    let mut table =
        FunctionTable::new(&programs, mapped_files(samples, programs.len()).with_context(what)?);
    let mut n_of_functions: HashMap<u32, Vec<u64>> = HashMap::new();
    let rows = &record.rows;
    let is_kept = |&at: &usize| rows.is_measurement(at) && rows.block(at).is_some();
    let by_step: HashMap<u32, usize> =
        (0..rows.len()).filter(is_kept).map(|at| (rows.step(at), at)).collect();
    let mut file = BufReader::with_capacity(1 << 20, File::open(samples).with_context(what)?);
    while let Some(run) = next_run(&mut file).with_context(what)? {
        let Some(&row) = by_step.get(&run.step) else { continue };
        profile.has_kernel |= run.has_kernel;
        let samples = named(&run, &mut table);
        for &(stack, n) in &samples {
            let leaf = table.stacks[stack as usize].last().copied().unwrap_or_default();
            let counts = n_of_functions.entry(leaf).or_insert_with(|| vec![0; programs.len()]);
            counts[run.arm as usize] += u64::from(n);
        }
        profile.runs.push(ProfiledRun { samples, ..of_row(&run, rows, row) });
    }
    table.finish(&n_of_functions, SAMPLES_MIN);
    let FunctionTable { functions, stacks, n_user, n_whole, .. } = table;
    (profile.functions, profile.stacks) = (functions, stacks);
    (profile.n_samples, profile.n_whole_chains) = (n_user, n_whole);
    Ok(profile)
}

/// Runs of each arm whose mappings are looked at.
const RUNS_LOOKED_AT: usize = 3;

/// The files that the runs of each arm map.
fn mapped_files(samples: &Path, n_arms: usize) -> Result<Vec<BTreeSet<String>>> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(samples)?);
    let (mut found, mut n_runs) = (vec![BTreeSet::new(); n_arms], vec![0; n_arms]);
    while n_runs.iter().any(|&n| n < RUNS_LOOKED_AT)
        && let Some(run) = next_run(&mut file)?
    {
        let arm = run.arm as usize;
        n_runs[arm] += 1;
        for record in run.records {
            if let TaskRecord::Map { path, .. } = record
                && path.starts_with('/')
                && !path.starts_with("//")
            {
                found[arm].insert(path);
            }
        }
    }
    Ok(found)
}

/// The call chains of a run, and the number of samples of each.
fn named(run: &SampledRun, table: &mut FunctionTable) -> Vec<(u32, u32)> {
    let mut spaces = AddressSpaces::default();
    table.jit = JitMaps::default();
    run.compiled.iter().for_each(|(process, function)| table.jit.add(*process, function));
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    // The launcher, and the child before its exec, are sampled too.
    let mut own: HashSet<u32> = HashSet::new();
    for record in &run.records {
        match record {
            TaskRecord::Exec { process } => {
                own.insert(*process);
                spaces.exec(*process);
            }
            TaskRecord::Fork { process, parent } => {
                if own.contains(parent) {
                    own.insert(*process);
                }
                spaces.fork(*process, *parent);
            }
            TaskRecord::Map { process, start, len, offset, path } => {
                let file = table.file(path);
                spaces.map(*process, *start, *len, *offset, file);
            }
            TaskRecord::Sample { process, .. } if !own.contains(process) => {}
            TaskRecord::Sample { process, chain } => {
                if let Some(stack) = table.stack(run.arm as usize, &spaces, *process, chain) {
                    *counts.entry(stack).or_default() += 1;
                }
            }
        }
    }
    counts.into_iter().collect()
}

/// The times and counts of a run, without its samples.
fn of_row(run: &SampledRun, rows: &Rows, at: usize) -> ProfiledRun {
    let metric = |metric| rows.get(at, metric);
    let sum = |metrics: [Metric; 2]| metrics.iter().filter_map(|&it| metric(it)).sum::<u64>();
    // The event counts from the exec on, as the samples do; the usage also has the launcher's part before it.
    let usage_ns = 1000 * sum([Metric::UserUs, Metric::SysUs]);
    ProfiledRun {
        arm: run.arm,
        block: run.block,
        wall_ns: metric(Metric::WallNs).unwrap_or(0),
        cpu_ns: metric(Metric::TaskClockNs).unwrap_or(usage_ns),
        stalled_ns: metric(Metric::StalledNs),
        instructions: metric(Metric::Instructions),
        faults: sum([Metric::MinorFaults, Metric::MajorFaults]),
        switches: sum([Metric::VoluntarySwitches, Metric::InvoluntarySwitches]),
        period_ns: run.period_ns,
        n_lost: run.n_lost,
        samples: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that was forked is at the code of its parent; after an exec it is not. What was before the first exec is
    /// the launcher's.
    #[test]
    fn samples_are_counted_by_call_chain() {
        let mut table = FunctionTable::new(&["a"], vec![BTreeSet::new()]);
        let path = "/no/such/library".to_owned();
        let sample = |process| TaskRecord::Sample { process, chain: vec![1500] };
        let records = vec![
            sample(9),
            sample(1),
            TaskRecord::Exec { process: 1 },
            TaskRecord::Map { process: 1, start: 1000, len: 1000, offset: 0, path },
            sample(1),
            TaskRecord::Fork { process: 2, parent: 1 },
            sample(2),
            TaskRecord::Exec { process: 2 },
            sample(2),
        ];
        let found = named(&SampledRun { records, ..SampledRun::default() }, &mut table);
        assert_eq!(found, [(0, 2), (1, 1)]);
        let names: Vec<&str> = table.functions.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["[library]", "[unknown]"]);
    }
}
