//! The folder of a pool and its manifest, which is written once.
#![expect(clippy::disallowed_methods, reason = "reads and writes the folder of a pool")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use stats::Stream;

use host::user_files::{read_text, read_whole, replace};

pub const FORMAT: &str = "stillwell-pool";
/// Version of the manifest that this program writes and reads.
pub const VERSION: u32 = 1;
/// Most tasks in a pool; such a manifest has some 60 MB.
const TASKS_MAX: usize = 1_000_000;
const MANIFEST: &str = "pool.json";
/// File name of the submissions, one a line.
const SUBMISSIONS: &str = "submissions.jsonl";

/// The benchmarks and tasks of a pool, and the queue for them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PoolManifest {
    pub format: String,
    pub version: u32,
    /// Name and version of the writing program.
    pub tool: String,
    pub created: String,
    /// Prefix of the job names in the queue; the number of the first job follows.
    pub name: String,
    pub suite: PathBuf,
    /// Text of the suite file at creation.
    pub suite_text: String,
    pub suite_name: String,
    /// Path of Stillwell on the nodes.
    pub program: PathBuf,
    /// Working directory of the tasks.
    pub directory: PathBuf,
    /// Variants that replace the suite's.
    pub arms: Option<String>,
    /// Commit of each variant with a revision, at creation of the pool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commits: BTreeMap<String, String>,
    /// Blocks of each task.
    pub n_blocks: u32,
    pub seed: u64,
    /// Tasks per job of the queue.
    pub tasks_per_job: usize,
    pub engine: JobQueue,
    pub benchmarks: Vec<PoolBenchmark>,
    pub tasks: Vec<BenchmarkTask>,
}

/// A queue, and how jobs are submitted to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobQueue {
    /// Slurm, with job arrays.
    Slurm {
        /// Options of sbatch that select the nodes.
        options: Vec<String>,
        /// Most jobs at a time.
        n_nodes: Option<u32>,
        /// Most jobs in an array.
        array_max: usize,
    },
    /// Another queue, by a command of the user for each job.
    Command(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolBenchmark {
    pub name: String,
    /// Names of the variants; the first is the reference.
    pub variants: Vec<String>,
}

/// A benchmark × repetition: some blocks, on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchmarkTask {
    pub benchmark: usize,
    pub repetition: u32,
    pub seed: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Submission {
    /// Id of the job or array that the queue printed; may be empty.
    pub id: String,
    /// Number of the job with array index 0.
    pub offset: usize,
    /// The jobs, as a list like 0-3,7.
    pub jobs: String,
}

/// Option with the seed of a task. The seed is unique in a pool, so it identifies the record of the task.
pub fn seed_option(seed: u64) -> String {
    format!("--seed={seed}")
}

/// All tasks of a pool with their seeds, in rounds. A round has each benchmark once, in random order, so a benchmark's
/// tasks are spread out, and a node measures most benchmarks.
pub fn tasks(n_benchmarks: usize, n_repetitions: u32, seed: u64) -> Result<Vec<BenchmarkTask>> {
    let n_tasks = n_benchmarks.saturating_mul(n_repetitions as usize);
    ensure!(
        n_tasks <= TASKS_MAX,
        "{n_benchmarks} benchmarks × {n_repetitions} repetitions are {n_tasks} tasks; {TASKS_MAX} is the most"
    );
    let mut stream = Stream::new(seed);
    let mut order: Vec<(usize, u32)> = Vec::with_capacity(n_tasks);
    for repetition in 0..n_repetitions {
        let mut round: Vec<_> =
            (0..n_benchmarks).map(|benchmark| (benchmark, repetition)).collect();
        stream.shuffle(&mut round);
        order.extend(round);
    }
    // 52 bits: JSON readers that store all numbers as floating point must read the seed exactly.
    let mut task_seed = || stream.next_u64() >> 12;
    let task = |(benchmark, repetition)| BenchmarkTask { benchmark, repetition, seed: task_seed() };
    Ok(order.into_iter().map(task).collect())
}

impl PoolManifest {
    pub fn n_jobs(&self) -> usize {
        self.tasks.len().div_ceil(self.tasks_per_job)
    }

    pub fn job_of(&self, task: usize) -> usize {
        task / self.tasks_per_job
    }

    pub fn tasks_of(&self, job: usize) -> std::ops::Range<usize> {
        let first = job.saturating_mul(self.tasks_per_job).min(self.tasks.len());
        first..first.saturating_add(self.tasks_per_job).min(self.tasks.len())
    }

    pub fn label(&self, task: usize) -> String {
        let BenchmarkTask { benchmark, repetition, .. } = self.tasks[task];
        format!("{} #{}", self.benchmarks[benchmark].name, u64::from(repetition) + 1)
    }

    fn check(&self) -> Result<()> {
        ensure!(self.format == FORMAT, "format {:?} is not {FORMAT:?}", self.format);
        ensure!(
            self.version <= VERSION,
            "written by a later Stillwell (version {}; this one reads up to {VERSION})",
            self.version
        );
        ensure!(self.tasks_per_job > 0, "tasks_per_job is 0");
        ensure!(
            !matches!(self.engine, JobQueue::Slurm { array_max: 0, .. }),
            "engine.slurm.array_max is 0"
        );
        let n_benchmarks = self.benchmarks.len();
        let unknown = self.tasks.iter().position(|task| task.benchmark >= n_benchmarks);
        ensure!(
            unknown.is_none(),
            "task {} is of a benchmark that is not there",
            unknown.unwrap_or(0)
        );
        Ok(())
    }
}

#[derive(Debug)]
pub struct Pool {
    /// The folder, absolute.
    pub folder: PathBuf,
    pub manifest: PoolManifest,
}

impl Pool {
    /// Creates the folder of a new pool. Errors: the folder exists, or cannot be created.
    pub fn create(folder: &Path, manifest: PoolManifest) -> Result<Self> {
        let shown = folder.display();
        match std::fs::DirBuilder::new().create(folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                bail!("{shown} exists already; choose another folder with -o")
            }
            made => made.with_context(|| format!("cannot make the folder {shown}"))?,
        }
        let folder = folder.canonicalize().with_context(|| format!("cannot find {shown}"))?;
        let pool = Self { folder, manifest };
        for part in [pool.done(), pool.part(), pool.failed(), pool.log()] {
            std::fs::create_dir_all(&part)
                .with_context(|| format!("cannot make {}", part.display()))?;
        }
        let mut text = serde_json::to_vec(&pool.manifest).context("cannot write the manifest")?;
        text.push(b'\n');
        pool.write(MANIFEST, &text, 0o644)?;
        Ok(pool)
    }

    /// Removes the folder of a pool without submissions.
    pub fn discard(self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }

    /// Opens the pool in a folder. Errors: the folder has no manifest, or a damaged one.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let text = read_whole(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                anyhow!("{} is no pool: there is no {MANIFEST} in it", folder.display())
            }
            _ => anyhow::Error::from(error).context(format!("cannot read {}", path.display())),
        })?;
        let manifest: PoolManifest = serde_json::from_slice(&text)
            .map_err(anyhow::Error::from)
            .and_then(|manifest: PoolManifest| manifest.check().map(|()| manifest))
            .with_context(|| format!("{}", path.display()))?;
        let folder =
            folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))?;
        Ok(Self { folder, manifest })
    }

    /// Opens a pool by its folder, or by the id of one of its jobs. Errors: see [`Pool::open`]; or the job is unknown.
    pub fn find(named: &Path) -> Result<Self> {
        let job = named.to_str().filter(|name| !named.exists() && is_job(name));
        let Some(job) = job else { return Self::open(named) };
        let index = record::pools_path()?;
        let folder = JobIndexEntry::of(&index, job).with_context(|| {
            format!("{} knows no pool of job {job}; name the folder of the pool", index.display())
        })?;
        Self::open(&folder)
    }

    /// Folder of the finished records.
    pub fn done(&self) -> PathBuf {
        self.folder.join("done")
    }

    /// Folder of the records in progress.
    pub fn part(&self) -> PathBuf {
        self.folder.join("part")
    }

    pub fn failed(&self) -> PathBuf {
        self.folder.join("failed")
    }

    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Record of a finished task.
    pub fn record(&self, task: usize) -> PathBuf {
        self.done().join(format!("{task}.swell"))
    }

    /// Writes a file of the folder atomically.
    pub fn write(&self, name: &str, bytes: &[u8], mode: u32) -> Result<()> {
        let path = self.folder.join(name);
        let written = replace(&path, mode, bytes);
        let written = written.and_then(|()| File::open(&self.folder)?.sync_all());
        written.with_context(|| format!("cannot write {}", path.display()))
    }

    /// Locks the submissions of the pool until the file is dropped. Errors: another process is submitting.
    pub fn lock(&self) -> Result<File> {
        let path = self.folder.join(SUBMISSIONS);
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => {
                bail!("somebody else is submitting tasks of {}", self.folder.display())
            }
            // Some shared file systems have no locks. A task that is submitted twice is still measured once.
            _ => Ok(file),
        }
    }

    /// Notes a submission in the folder, and its job id in the user's index for `collect JOB`.
    pub fn keep(&self, locked: &mut File, submission: &Submission) -> Result<()> {
        append(locked, submission).with_context(|| {
            format!("cannot write to {SUBMISSIONS} in {}", self.folder.display())
        })?;
        if submission.id.is_empty() {
            return Ok(());
        }
        let known = JobIndexEntry { job: submission.id.clone(), folder: self.folder.clone() };
        // The job is submitted, and the user can name the pool by its folder, so an error here is no failure.
        known.keep().ok();
        Ok(())
    }

    pub fn submissions(&self) -> Vec<Submission> {
        let text = read_text(&self.folder.join(SUBMISSIONS)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

fn is_job(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

fn append(file: &mut File, value: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(file.write_all(&line)?)
}

/// A line in the user's index of jobs: the pool of a job.
#[derive(Serialize, Deserialize)]
struct JobIndexEntry {
    job: String,
    folder: PathBuf,
}

impl JobIndexEntry {
    fn keep(&self) -> Result<()> {
        let path = record::pools_path()?;
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        append(&mut file, self)
    }

    fn of(index: &Path, job: &str) -> Option<PathBuf> {
        let text = read_text(index).ok()?;
        let known = text.lines().rev().filter_map(|line| serde_json::from_str::<Self>(line).ok());
        known.into_iter().find(|known| known.job == job).map(|known| known.folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_every_repetition_once_in_an_order_that_the_seed_fixes() {
        let made = tasks(3, 4, 7).unwrap();
        assert_eq!(made, tasks(3, 4, 7).unwrap());
        assert_ne!(made, tasks(3, 4, 8).unwrap());
        let mut pairs: Vec<_> = made.iter().map(|task| (task.benchmark, task.repetition)).collect();
        // Each round has all benchmarks, and the order varies.
        assert!(pairs.is_sorted_by_key(|(_, repetition)| *repetition));
        let orders: std::collections::BTreeSet<Vec<usize>> =
            pairs.chunks(3).map(|round| round.iter().map(|it| it.0).collect()).collect();
        assert!(orders.len() > 1, "{orders:?}");
        pairs.sort_unstable();
        let all: Vec<_> =
            (0..3).flat_map(|benchmark| (0..4).map(move |it| (benchmark, it))).collect();
        assert_eq!(pairs, all);
        let mut seeds: Vec<u64> = made.iter().map(|task| task.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 12);
        assert!(tasks(20_000, 100_000, 1).is_err());
    }
}
