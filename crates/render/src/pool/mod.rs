//! Output of the verb `pool`.

pub mod result;

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::columns::{COLUMNS, one_line, shorten, wrap};
use crate::json::pretty;
use crate::units::counted;
use search::pool::manifest::{JobQueue, Submission};
use search::pool::{Pool, PoolManifest, PoolProgress, TaskState};

pub use result::{Collection, collected, document};

/// Widest name of a benchmark, a variant or a node, columns.
const NAME_MAX: usize = 24;
/// Longest list of tasks, jobs, benchmarks or nodes by name. Longer ones are counted.
const NAMED_MAX: usize = 8;

/// The message after submitting: the tasks, the jobs and the next commands.
pub fn submitted(pool: &Pool, n_jobs: usize, submissions: &[Submission]) -> String {
    let mut out = String::new();
    let manifest = &pool.manifest;
    let ids: Vec<&str> =
        submissions.iter().map(|it| &it.id[..]).filter(|id| !id.is_empty()).collect();
    writeln!(out, "{}", tasks(manifest)).ok();
    let named = if ids.is_empty() || ids.len() > NAMED_MAX {
        String::new()
    } else {
        format!(": {}", ids.join(", "))
    };
    writeln!(out, "{} submitted{named}", counted(n_jobs, "job")).ok();
    let folder = shell_words::quote(&pool.folder.to_string_lossy()).into_owned();
    writeln!(out, "stillwell pool watch {folder}    waits for them").ok();
    writeln!(out, "stillwell pool collect {folder}  shows the result").ok();
    out
}

/// The size of a pool: `12 tasks: 3 benchmarks × 4 repetitions, 3 blocks each`.
fn tasks(manifest: &PoolManifest) -> String {
    let n_benchmarks = manifest.benchmarks.len();
    let n_repetitions = manifest.tasks.len() / n_benchmarks.max(1);
    format!(
        "{}: {} × {}, {} each",
        counted(manifest.tasks.len(), "task"),
        counted(n_benchmarks, "benchmark"),
        counted(n_repetitions, "repetition"),
        counted(manifest.n_blocks as usize, "block")
    )
}

/// The message after cancelling.
pub fn cancelled(n_jobs: usize, n_done: usize) -> String {
    format!(
        "{} taken from the queue; {} done and kept\n",
        counted(n_jobs, "job"),
        counted(n_done, "task")
    )
}

/// The progress of a pool: tasks by state, nodes, reasons to wait and the last failure.
pub fn status(pool: &Pool, progress: &PoolProgress) -> String {
    let mut out = String::new();
    writeln!(out, "{}", tasks(&pool.manifest)).ok();
    writeln!(out, "{}", counts(progress)).ok();
    for (node, n_done) in &progress.nodes {
        writeln!(out, "   {}: {n_done} done", shorten(node, NAME_MAX)).ok();
    }
    let told = |reason: &str| !matches!(reason, "" | "None");
    for (reason, n) in progress.reasons.iter().filter(|(reason, _)| told(reason)) {
        writeln!(out, "{} wait: {}", counted(*n, "job"), one_line(reason)).ok();
    }
    if let Some(failure) = &progress.failure {
        writeln!(out, "{} failed: {}", pool.manifest.label(failure.task), failure.file.display())
            .ok();
        for line in failure.said.lines() {
            writeln!(out, "   {}", shorten(line, COLUMNS - 3)).ok();
        }
    }
    advice(&mut out, pool, progress);
    out
}

/// Numbers of tasks by state: `7 done, 2 in running jobs, 3 queued`.
pub fn counts(progress: &PoolProgress) -> String {
    let named = [
        (TaskState::Done, "done"),
        (TaskState::Running, "in running jobs"),
        (TaskState::Queued, "queued"),
        (TaskState::Failed, "failed"),
        (TaskState::Missing, if progress.is_queue_known { "missing" } else { "not done" }),
    ];
    let said =
        named.iter().filter(|(state, _)| *state == TaskState::Done || progress.n(*state) > 0);
    let said: Vec<String> =
        said.map(|(state, name)| format!("{} {name}", progress.n(*state))).collect();
    said.join(", ")
}

fn advice(out: &mut String, pool: &Pool, progress: &PoolProgress) {
    if progress.absent().is_empty() {
        return;
    }
    let resume = format!("stillwell pool resume {}", pool.folder.display());
    let text = match &pool.manifest.engine {
        JobQueue::Slurm { .. } => format!(
            "nobody is working on {}; {resume} submits them again",
            counted(progress.absent().len(), "task")
        ),
        JobQueue::Command(_) => format!(
            "what the queue does with the others is not known here; if they are not in it any more, {resume} submits them \
             again"
        ),
    };
    wrap(out, "", 3, &text);
}

#[derive(Serialize)]
struct StatusDocument<'a> {
    pool: &'a Path,
    suite: &'a Path,
    n_tasks: usize,
    done: usize,
    running: usize,
    queued: usize,
    failed: usize,
    missing: usize,
    #[serde(flatten)]
    standing: &'a PoolProgress,
    submissions: Vec<Submission>,
}

/// Writes the progress of a pool as JSON.
pub fn status_json(
    to: &mut impl io::Write,
    pool: &Pool,
    progress: &PoolProgress,
) -> io::Result<()> {
    let document = StatusDocument {
        pool: &pool.folder,
        suite: &pool.manifest.suite,
        n_tasks: progress.tasks.len(),
        done: progress.n(TaskState::Done),
        running: progress.n(TaskState::Running),
        queued: progress.n(TaskState::Queued),
        failed: progress.n(TaskState::Failed),
        missing: progress.n(TaskState::Missing),
        standing: progress,
        submissions: pool.submissions(),
    };
    pretty(to, &document)
}
