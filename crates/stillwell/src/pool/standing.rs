//! How far a pool is: of each task, whether it is done, and if not, what became of it.
#![expect(clippy::disallowed_methods, reason = "looks into the folder of a pool")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use serde::Serialize;

use crate::pool::manifest::Pool;
use crate::pool::queue::Queued;
use crate::record::RecordTail;

/// What became of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its record is there.
    Done,
    /// Its job runs.
    Running,
    /// Its job waits.
    Queued,
    /// It failed, and nobody is going to try again.
    Failed,
    /// It is neither done nor in the queue. Of a queue that cannot be asked: it is not done.
    Missing,
}

/// How far a pool is.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// Of each task.
    pub tasks: Vec<State>,
    /// Tasks that are done, by node.
    pub nodes: BTreeMap<String, usize>,
    /// Why jobs wait, and how many.
    pub reasons: BTreeMap<String, usize>,
    /// Whether the queue could be asked.
    pub is_queue_known: bool,
    /// The last lines of one task that failed.
    pub failure: Option<Failure>,
}

/// A task that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// Its number.
    pub task: usize,
    /// What it said, at the end.
    pub said: String,
    /// The file with all of it.
    pub file: std::path::PathBuf,
}

/// Numbers of the tasks that are done: those whose record is there.
///
/// # Errors
/// The folder cannot be read.
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

/// Looks how far a pool is, given what the queue says.
///
/// # Errors
/// The folder cannot be read.
pub fn standing(pool: &Pool, queued: Option<&BTreeMap<usize, Queued>>) -> Result<Standing> {
    let manifest = &pool.manifest;
    let done = done(pool)?;
    let failed = numbers(&pool.failed(), |name| name.split('.').next())?;
    let state = |task: usize| {
        let job = queued.and_then(|queued| queued.get(&manifest.job_of(task)));
        match job {
            _ if done.contains(&task) => State::Done,
            Some(job) if job.is_running() => State::Running,
            Some(_) => State::Queued,
            None if failed.contains_key(&task) => State::Failed,
            None => State::Missing,
        }
    };
    let tasks: Vec<State> = (0..manifest.tasks.len()).map(state).collect();
    let mut reasons = BTreeMap::new();
    for job in queued.into_iter().flatten().map(|(_, job)| job).filter(|job| !job.is_running()) {
        *reasons.entry(job.reason.clone()).or_default() += 1;
    }
    let failure = failed.iter().find(|(task, _)| tasks.get(**task) == Some(&State::Failed));
    let failure = failure.map(|(&task, name)| {
        let file = pool.failed().join(name);
        Failure { task, said: last_lines(&file), file }
    });
    let is_queue_known = queued.is_some();
    Ok(Standing { tasks, nodes: nodes(pool, &done), reasons, is_queue_known, failure })
}

impl Standing {
    /// Tasks in a state.
    pub fn n(&self, state: State) -> usize {
        self.tasks.iter().filter(|it| **it == state).count()
    }

    /// Tasks that only come if somebody submits them again.
    pub fn absent(&self) -> Vec<usize> {
        let is_absent = |task: &usize| matches!(self.tasks[*task], State::Failed | State::Missing);
        (0..self.tasks.len()).filter(is_absent).collect()
    }
}

/// Where the tasks were measured.
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

/// What to call a node; one that does not say its name still is one.
pub fn node_name(host: Option<String>) -> String {
    host.unwrap_or_else(|| "unnamed".into())
}

fn last_lines(file: &Path) -> String {
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("\n")
}
