//! Reads the records of finished tasks as pairs with their node. Reports, and does not count, a record of another task.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;

use crate::pool::manifest::{BenchmarkTask, Pool, PoolBenchmark, seed_option};
use crate::pool::progress::{done, node_name};
use analysis::launches;
use analysis::pool::NodePairs;
use analysis::walls::Walls;
use analysis::{MemoryLimits, may_have_steps};
use model::words::in_words;
use record::plan::Role;
use record::{EndReason, Record};

#[derive(Debug)]
pub struct PoolPairs {
    /// The pairs of all finished tasks, in the order of the suite.
    pub pieces: Vec<NodePairs>,
    pub n_done: usize,
    pub missing: Vec<usize>,
    /// Tasks with a wrong or damaged record, and the error.
    pub damaged: Vec<(usize, String)>,
}

/// Reads the records of all finished tasks.
pub fn collect(pool: &Pool) -> Result<PoolPairs> {
    let done = done(pool)?;
    let read: Vec<(usize, Result<Vec<NodePairs>>)> =
        done.par_iter().map(|&task| (task, pieces(pool, task))).collect();
    let n_tasks = pool.manifest.tasks.len();
    let missing = (0..n_tasks).filter(|task| !done.contains(task)).collect();
    let mut collected = PoolPairs { pieces: Vec::new(), n_done: 0, missing, damaged: Vec::new() };
    let mut by_place = Vec::new();
    for (task, pieces) in read {
        match pieces {
            Ok(pieces) => {
                collected.n_done += 1;
                let benchmark = pool.manifest.tasks[task].benchmark;
                by_place.extend(pieces.into_iter().enumerate().map(|(at, it)| (benchmark, at, it)));
            }
            Err(error) => collected.damaged.push((task, in_words(&error))),
        }
    }
    // The order of the suite; the tasks are in random order.
    by_place.sort_by_key(|(benchmark, at, _)| (*benchmark, *at));
    collected.pieces = by_place.into_iter().map(|(_, _, piece)| piece).collect();
    Ok(collected)
}

fn pieces(pool: &Pool, task: usize) -> Result<Vec<NodePairs>> {
    let expected = pool.manifest.tasks[task];
    let listed = &pool.manifest.benchmarks[expected.benchmark];
    let record = launches::gather(Record::read(&pool.record(task))?);
    let commits = &pool.manifest.commits;
    check(&record, expected, listed, commits)
        .with_context(|| format!("{}", record.path.display()))?;
    let walls = Walls::of(&record);
    let node = node_name(record.header.facts.host.clone());
    let plan = Arc::new(record.header.plan.clone());
    let piece = |arm: usize| {
        let reference = plan.reference_of(arm);
        NodePairs {
            node: node.clone(),
            benchmark: listed.name.clone(),
            arm: plan.arms[arm].label().to_owned(),
            reference: plan.arms[reference].label().to_owned(),
            plan: Arc::clone(&plan),
            slots: walls.slots(reference, arm),
            has_steps: may_have_steps(&record),
            memory: MemoryLimits::of(&record, &walls, reference, arm),
        }
    };
    Ok(plan.compared().into_iter().map(piece).collect())
}

/// Checks that a record belongs to this task and its commits, and is complete.
fn check(
    record: &Record,
    expected: BenchmarkTask,
    listed: &PoolBenchmark,
    commits: &BTreeMap<String, String>,
) -> Result<()> {
    let plan = &record.header.plan;
    // The seed in the plan differs: it also depends on the benchmark's position in the suite.
    let seed = seed_option(expected.seed);
    ensure!(
        record.header.command_line.contains(&seed),
        "it is of another task: it was not measured with {seed}"
    );
    let suite = plan.suite.as_ref().map(|suite| &suite.benchmark);
    ensure!(
        suite == Some(&listed.name),
        "it is not of {}, but of {}",
        listed.name,
        suite.map_or("no suite", |benchmark| benchmark)
    );
    for arm in plan.arms.iter().filter(|arm| arm.role == Role::Candidate) {
        let Some(wanted) = commits.get(arm.label()) else { continue };
        let revision = arm.git.as_ref().map_or("none", |git| &git.revision);
        ensure!(
            revision == wanted,
            "its variant {:?} is of commit {revision}, and the pool's of {wanted}",
            arm.label()
        );
    }
    ensure!(record.end_reason() == Some(EndReason::Complete), "it has no proper end");
    Ok(())
}
