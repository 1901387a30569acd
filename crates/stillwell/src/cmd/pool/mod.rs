//! `pool`: a suite on many machines.
#![expect(
    clippy::disallowed_methods,
    reason = "reads the suite, asks for its benchmarks and says where we are"
)]

mod task;

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags};
use serde::Deserialize;

use crate::cmd::print::{bar, print};
use crate::session::drawn_seed;
use analysis::pool as evidence;
use analysis::pool::{PoolEvidence, PoolLine};
use analysis::verdict::{self, Gate, Judgement};
use host::user_files::read_whole;
use host::{self, Host, sys, terminal};
use measure::clock::monotonic_ns;
use measure::interrupt::Interrupt;
use measure::supervised::wait_for;
use model::spec::{PoolAction, PoolCollect, PoolRun, PoolStatus, PoolTask};
use model::values::{Better, exit_code};
use record::plan::defaults;
use render::pool::Collection;
use render::{Styles, document, pool as shown};
use search::pool::manifest::{self, JobQueue, Pool, PoolBenchmark, PoolManifest};
use search::pool::progress::{self, PoolProgress, TaskState, node_name};
use search::pool::{collect, queue, submit};

/// Most jobs of a pool by default.
const JOBS_MAX: usize = 1000;
/// Time between two checks of the folder in `watch`, and between two queries of the queue.
const LOOK_NS: u64 = 1_000_000_000;
const ASK_NS: u64 = 10_000_000_000;

pub fn pool(action: &PoolAction) -> Result<u8> {
    match action {
        PoolAction::Run(verb) => run(verb),
        PoolAction::Status(verb) => status(verb),
        PoolAction::Watch(of) => watch(&Pool::find(&of.pool)?),
        PoolAction::Resume(of) => resume(&Pool::find(&of.pool)?),
        PoolAction::Cancel(of) => cancel(&Pool::find(&of.pool)?),
        PoolAction::Collect(verb) => collect_all(verb),
        PoolAction::Task(verb) => work(verb),
    }
}

fn run(verb: &PoolRun) -> Result<u8> {
    if let Some(template) = &verb.submit {
        submit::check_command(template)?;
    }
    let manifest = decide(verb)?;
    let folder = match &verb.output {
        Some(folder) => folder.clone(),
        None => default_folder(&verb.suite),
    };
    let pool = Pool::create(&folder, manifest)?;
    submit::write_script(&pool)?;
    let jobs: Vec<usize> = (0..pool.manifest.n_jobs()).collect();
    let submitted = submit_jobs(&pool, &jobs);
    if submitted.is_err() && pool.submissions().is_empty() {
        // Removes a pool without jobs: its name is free for the next attempt.
        pool.discard();
    }
    submitted
}

/// The manifest, with everything that the tasks need.
fn decide(verb: &PoolRun) -> Result<PoolManifest> {
    let suite = verb
        .suite
        .canonicalize()
        .with_context(|| format!("cannot read {}", verb.suite.display()))?;
    let suite_text =
        read_whole(&suite).with_context(|| format!("cannot read {}", suite.display()))?;
    let own = sys::own_path().context("cannot find this program")?;
    let listed = list(&own, &suite, verb.arms.as_deref())?;
    ensure!(!listed.benchmarks.is_empty(), "{} has no benchmark", verb.suite.display());
    let suite_text = String::from_utf8(suite_text)
        .with_context(|| format!("{} was changed meanwhile", suite.display()))?;
    if let Some(alone) = listed.benchmarks.iter().find(|it| it.variants.len() < 2) {
        bail!(
            "benchmark {:?} has one variant, so there is nothing to compare on the nodes; give it another one, or --arms",
            alone.name
        );
    }
    let engine = match &verb.submit {
        Some(template) => JobQueue::Command(template.clone()),
        None => JobQueue::Slurm {
            options: sbatch_options(verb),
            n_nodes: verb.nodes,
            array_max: queue::array_max().context(
                "cannot ask Slurm; is this a machine of its cluster? --submit is for other queues",
            )?,
        },
    };
    let seed = if let Some(seed) = verb.seed { seed } else { drawn_seed()? };
    let n_repetitions = verb.repetitions.unwrap_or(defaults::POOL_REPETITIONS);
    let tasks = manifest::tasks(listed.benchmarks.len(), n_repetitions, seed)?;
    let tasks_per_job = match verb.tasks_per_job {
        Some(n_tasks) => n_tasks as usize,
        None => tasks.len().div_ceil(JOBS_MAX).max(1),
    };
    let program = match &verb.program {
        Some(program) => std::path::absolute(program).context("--program")?,
        None => own,
    };
    Ok(PoolManifest {
        format: manifest::FORMAT.into(),
        version: manifest::VERSION,
        tool: format!("stillwell {}", env!("CARGO_PKG_VERSION")),
        created: host::local_time::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        name: format!("stillwell-{:08x}", drawn_seed()?),
        suite,
        suite_text,
        suite_name: listed.suite,
        program,
        directory: std::env::current_dir().context("cannot tell the current directory")?,
        arms: verb.arms.clone(),
        commits: listed.commits,
        n_blocks: verb.blocks.unwrap_or(defaults::POOL_BLOCKS),
        seed,
        tasks_per_job,
        engine,
        benchmarks: listed.benchmarks,
        tasks,
    })
}

/// The output of `bench SUITE --list --json`.
#[derive(Deserialize)]
struct Listing {
    suite: String,
    commits: BTreeMap<String, String>,
    benchmarks: Vec<PoolBenchmark>,
}

/// Lists a suite by calling `bench`, so both read the file in the same way.
fn list(program: &Path, suite: &Path, arms: Option<&str>) -> Result<Listing> {
    let mut command = std::process::Command::new(program);
    command.arg("bench").arg(suite).args(["--list", "--json"]);
    command.args(arms.map(|arms| format!("--arms={arms}")));
    let output = command.output().context("cannot execute this program")?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let message = stderr.trim();
        bail!("{}", message.strip_prefix("stillwell: ").unwrap_or(message));
    }
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("cannot list the benchmarks of {}", suite.display()))
}

fn sbatch_options(verb: &PoolRun) -> Vec<String> {
    let mut options = Vec::new();
    options.extend((!verb.shared).then(|| "--exclusive".to_owned()));
    options.extend(verb.constraint.iter().map(|it| format!("--constraint={it}")));
    options.extend(verb.partition.iter().map(|it| format!("--partition={it}")));
    options.extend(verb.sbatch_option.iter().cloned());
    options
}

fn default_folder(suite: &Path) -> PathBuf {
    let stem = suite.file_stem().unwrap_or_default().to_string_lossy();
    format!("{stem}-pool-{}", host::local_time::now().strftime("%Y-%m-%dT%H-%M-%S")).into()
}

fn submit_jobs(pool: &Pool, jobs: &[usize]) -> Result<u8> {
    let mut locked = pool.lock()?;
    let mut submissions = Vec::new();
    let submitted = submit::submit(pool, jobs, &mut locked, |it| submissions.push(it.clone()));
    submitted.with_context(|| match submissions.iter().map(|it| n_jobs(&it.jobs)).sum() {
        0 => "nothing was submitted".to_owned(),
        n_jobs => format!(
            "{n_jobs} of {} jobs were submitted; stillwell pool resume {} submits the others",
            jobs.len(),
            pool.folder.display()
        ),
    })?;
    print(&shown::submitted(pool, jobs.len(), &submissions))?;
    Ok(exit_code::SUCCESS)
}

fn n_jobs(list: &str) -> usize {
    model::values::parse_cpu_list(list).map_or(0, |jobs| jobs.len())
}

fn look(pool: &Pool) -> Result<PoolProgress> {
    progress::progress(pool, queue::queued(&pool.manifest)?.as_ref())
}

fn status(verb: &PoolStatus) -> Result<u8> {
    let pool = Pool::find(&verb.of.pool)?;
    let progress = look(&pool)?;
    if verb.json {
        shown::status_json(&mut terminal::data(), &pool, &progress)?;
    } else {
        print(&shown::status(&pool, &progress))?;
    }
    Ok(exit_code::SUCCESS)
}

/// Waits until all tasks are done, or no job is left to do them.
fn watch(pool: &Pool) -> Result<u8> {
    let interrupt = Interrupt::catch()?;
    let n_tasks = pool.manifest.tasks.len();
    let is_slurm = matches!(pool.manifest.engine, JobQueue::Slurm { .. });
    let is_hidden = !std::io::stderr().is_terminal();
    let bar = bar(Some(n_tasks as u64), "{bar:20} {pos} of {len} tasks  {msg}", is_hidden);
    let mut asked_ns = None;
    loop {
        let n_done = progress::done(pool)?.len();
        bar.set_position(n_done as u64);
        bar.tick();
        if n_done == n_tasks {
            break;
        }
        let now_ns = monotonic_ns();
        if is_slurm && asked_ns.is_none_or(|asked_ns| now_ns - asked_ns >= ASK_NS) {
            match look(pool) {
                Ok(now) => {
                    bar.set_message(shown::counts(&now));
                    if now.n(TaskState::Running) + now.n(TaskState::Queued) == 0 {
                        break;
                    }
                }
                // Slurm's controller may be restarting. The folder shows finished tasks without it.
                Err(_) if asked_ns.is_some() => bar.set_message("Slurm does not answer"),
                Err(error) => return Err(error),
            }
            asked_ns = Some(now_ns);
        }
        wait_for(&mut [PollFd::new(&interrupt, PollFlags::IN)], LOOK_NS)?;
        if interrupt.take() {
            bar.finish_and_clear();
            print("the jobs go on\n")?;
            return Ok(exit_code::INTERRUPTED);
        }
    }
    bar.finish_and_clear();
    let now = look(pool)?;
    print(&shown::status(pool, &now))?;
    Ok(if now.n(TaskState::Done) == n_tasks { exit_code::SUCCESS } else { exit_code::ERROR })
}

fn resume(pool: &Pool) -> Result<u8> {
    let progress = look(pool)?;
    let mut jobs: Vec<usize> =
        progress.absent().into_iter().map(|task| pool.manifest.job_of(task)).collect();
    jobs.dedup();
    if jobs.is_empty() {
        print(&format!("nothing to submit: {}\n", shown::counts(&progress)))?;
        return Ok(exit_code::SUCCESS);
    }
    submit_jobs(pool, &jobs)
}

fn cancel(pool: &Pool) -> Result<u8> {
    let n_jobs = queue::cancel(&pool.manifest)?;
    let n_done = progress::done(pool)?.len();
    print(&shown::cancelled(n_jobs, n_done))?;
    Ok(exit_code::SUCCESS)
}

fn collect_all(verb: &PoolCollect) -> Result<u8> {
    let pool = Pool::find(&verb.of.pool)?;
    let collected = collect::collect(&pool)?;
    let n_family = pool.manifest.benchmarks.iter().map(|it| it.variants.len() - 1).sum();
    let lines = evidence::pool(collected.pieces, n_family, pool.manifest.seed);
    let judgements: Vec<Judgement> = lines.iter().map(judge).collect();
    let collection = Collection {
        pool: &pool,
        n_done: collected.n_done,
        missing: &collected.missing,
        damaged: &collected.damaged,
        lines: &lines,
        judgements: &judgements,
    };
    if verb.json {
        let (body, conclusion) = shown::document(&collection);
        document::write(&mut terminal::data(), &body, conclusion, None)?;
    } else {
        print(&shown::collected(&collection, verb.by_node, &Styles::colored()))?;
    }
    Ok(match verb.fail_on {
        None => exit_code::SUCCESS,
        // A variant without a pair has no verdict.
        Some(fail_on) => match Gate::of(&judgements, fail_on).exit_code() {
            exit_code::SUCCESS if lines.len() < n_family => exit_code::UNDECIDED,
            code => code,
        },
    })
}

fn judge(line: &PoolLine) -> Judgement {
    let judged = |ratio| verdict::judge_interval(ratio, &line.plan.policy);
    match &line.evidence {
        PoolEvidence::Pooled(pooled) => judged(pooled.ratio),
        PoolEvidence::OneNode(lone) => judged(lone.ratio),
        PoolEvidence::None { because } => Judgement {
            better: Better::Lower,
            no_test: Some(*because),
            ..verdict::undecided(&line.plan.policy)
        },
    }
}

fn work(verb: &PoolTask) -> Result<u8> {
    let pool = Pool::open(&verb.directory)?;
    let facts = host::look(&Host::new("/")).facts;
    match task::work(&pool, verb.job, &node_name(facts.host))? {
        None => Ok(exit_code::INTERRUPTED),
        Some(0) => Ok(exit_code::SUCCESS),
        Some(n_failed) => {
            terminal::say(format!("{n_failed} of the tasks of job {} failed", verb.job));
            Ok(if verb.lenient { exit_code::SUCCESS } else { exit_code::ERROR })
        }
    }
}
