//! Progress of a pool: the state of each task.
#![expect(clippy::disallowed_methods, reason = "looks into the folder of a pool")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use serde::Serialize;

use crate::pool::manifest::Pool;
use crate::pool::queue::QueuedJob;
use host::user_files::read_whole;
use record::RecordTail;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Done,
    Running,
    Queued,
    /// The task failed, and no job for it is in the queue.
    Failed,
    /// The task is not done and not in the queue. Without Slurm: it is not done.
    Missing,
}

#[derive(Clone, Debug, Serialize)]
pub struct PoolProgress {
    pub tasks: Vec<TaskState>,
    /// Number of finished tasks, by node.
    pub nodes: BTreeMap<String, usize>,
    /// Number of waiting jobs, by reason.
    pub reasons: BTreeMap<String, usize>,
    pub is_queue_known: bool,
    pub failure: Option<TaskFailure>,
}

#[derive(Clone, Debug, Serialize)]
pub struct TaskFailure {
    pub task: usize,
    /// Last lines of the output.
    pub said: String,
    /// File with the whole output.
    pub file: std::path::PathBuf,
}

/// Numbers of the finished tasks: those with a record.
pub fn done(pool: &Pool) -> Result<BTreeSet<usize>> {
    let n_tasks = pool.manifest.tasks.len();
    numbers(&pool.done(), |name| name.strip_suffix(".swell"))
        .map(|done| done.into_keys().filter(|&task| task < n_tasks).collect())
}

/// The files of a folder by the number in their name.
fn numbers(folder: &Path, part: fn(&str) -> Option<&str>) -> Result<BTreeMap<usize, String>> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let number = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        Some((part(&name)?.parse().ok()?, name))
    };
    Ok(entries.flatten().filter_map(number).collect())
}

/// Progress of a pool. `queued`: the jobs in the queue.
pub fn progress(pool: &Pool, queued: Option<&BTreeMap<usize, QueuedJob>>) -> Result<PoolProgress> {
    let manifest = &pool.manifest;
    let done = done(pool)?;
    let failed = numbers(&pool.failed(), |name| name.split('.').next())?;
    let state = |task: usize| {
        let job = queued.and_then(|queued| queued.get(&manifest.job_of(task)));
        match job {
            _ if done.contains(&task) => TaskState::Done,
            Some(job) if job.is_running => TaskState::Running,
            Some(_) => TaskState::Queued,
            None if failed.contains_key(&task) => TaskState::Failed,
            None => TaskState::Missing,
        }
    };
    let tasks: Vec<TaskState> = (0..manifest.tasks.len()).map(state).collect();
    let mut reasons = BTreeMap::new();
    for job in queued.into_iter().flatten().map(|(_, job)| job).filter(|job| !job.is_running) {
        *reasons.entry(job.reason.clone()).or_default() += 1;
    }
    let failure = failed.iter().find(|(task, _)| tasks.get(**task) == Some(&TaskState::Failed));
    let failure = failure.map(|(&task, name)| {
        let file = pool.failed().join(name);
        TaskFailure { task, said: last_lines(&file), file }
    });
    let is_queue_known = queued.is_some();
    Ok(PoolProgress { tasks, nodes: nodes(pool, &done), reasons, is_queue_known, failure })
}

impl PoolProgress {
    pub fn n(&self, state: TaskState) -> usize {
        self.tasks.iter().filter(|it| **it == state).count()
    }

    /// Tasks that need a new submission.
    pub fn absent(&self) -> Vec<usize> {
        let is_absent =
            |task: &usize| matches!(self.tasks[*task], TaskState::Failed | TaskState::Missing);
        (0..self.tasks.len()).filter(is_absent).collect()
    }
}

fn nodes(pool: &Pool, done: &BTreeSet<usize>) -> BTreeMap<String, usize> {
    let node = |task: &usize| {
        let header = RecordTail::open(&pool.record(*task)).ok()?.1;
        Some(node_name(header.facts.host))
    };
    let found: Vec<String> = done.par_iter().filter_map(node).collect();
    let mut nodes = BTreeMap::new();
    for node in found {
        *nodes.entry(node).or_default() += 1;
    }
    nodes
}

/// Name of a node, also for a record without a host name.
pub fn node_name(host: Option<String>) -> String {
    host.unwrap_or_else(|| "unnamed".into())
}

fn last_lines(file: &Path) -> String {
    let text = read_whole(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("\n")
}
