//! `pool`: a suite on many machines.

use std::path::PathBuf;

use clap::Subcommand;

use crate::values::FailOn;

/// `pool`: what to do with it.
#[derive(Debug, Subcommand)]
pub enum PoolAction {
    /// Submit a suite: each benchmark × repetition is a task, and all its variants are measured on one node, interleaved
    Run(Box<PoolRun>),
    /// Say how many tasks are done, running, queued, failed or missing, and on which nodes
    Status(PoolStatus),
    /// Wait until all tasks are done; ^C ends the waiting only
    Watch(PoolOf),
    /// Submit what is not done and not queued any more
    Resume(PoolOf),
    /// Take what is queued or running from the queue; what is done stays
    Cancel(PoolOf),
    /// Put the results of all nodes together: ratios that hold across the nodes, and what each node says
    Collect(PoolCollect),
    /// Measure the tasks of one job (what the job script does)
    #[command(hide = true)]
    Task(PoolTask),
}

/// `pool run`.
#[derive(Debug, clap::Args)]
pub struct PoolRun {
    /// The suite; it and the programs it names must be at the same path on the nodes
    #[arg(value_name = "SUITE.toml")]
    pub suite: PathBuf,
    /// Most nodes that work at one time [default: as many as the queue gives]
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u32).range(1..))]
    pub nodes: Option<u32>,
    /// Only nodes with these features, as sbatch --constraint has them: "zen3&bench"
    #[arg(long, value_name = "FEATURES", conflicts_with = "submit")]
    pub constraint: Option<String>,
    /// Slurm partition
    #[arg(long, value_name = "NAME", conflicts_with = "submit")]
    pub partition: Option<String>,
    /// Tasks of each benchmark. The queue decides which nodes they are measured on [default: 10]
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repetitions: Option<u32>,
    /// Blocks in each task: rounds in which every variant runs once [default: 3]
    #[arg(long = "runs", value_name = "NUM", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub blocks: Option<u32>,
    /// Variants, in place of those of the suite: base=./old,new=./new
    #[arg(long, value_name = "NAME=PREFIX,…")]
    pub arms: Option<String>,
    /// Tasks in each job of the queue [default: 1, or as many as keep it below 1000 jobs]
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u32).range(1..))]
    pub tasks_per_job: Option<u32>,
    /// Let other jobs run on the nodes meanwhile [default: sbatch --exclusive]
    #[arg(long, conflicts_with = "submit")]
    pub shared: bool,
    /// Another option for sbatch, for example --account=lab; can be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true, conflicts_with = "submit")]
    pub sbatch_option: Vec<String>,
    /// Submit by this command instead of Slurm's, once for each job; {script} is the job's command
    #[arg(long, value_name = "CMD {script}", conflicts_with = "nodes")]
    pub submit: Option<String>,
    /// Stillwell on the nodes, where it is at another path there [default: this program]
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// Seed of all random choices [default: drawn anew, and recorded]
    #[arg(long, value_name = "NUM")]
    pub seed: Option<u64>,
    /// Folder for the pool, new, on a file system that the nodes share [default: SUITE-pool-TIME]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// A pool that is there already.
#[derive(Debug, clap::Args)]
pub struct PoolOf {
    /// Its folder, or the number of one of its jobs
    #[arg(value_name = "POOL")]
    pub pool: PathBuf,
}

/// `pool status`.
#[derive(Debug, clap::Args)]
pub struct PoolStatus {
    #[command(flatten)]
    pub of: PoolOf,
    /// Print it as JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// `pool collect`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: with --fail-on, 1 if something is slower and 3 if that is undecided; otherwise 0; 2 after an error"
)]
pub struct PoolCollect {
    #[command(flatten)]
    pub of: PoolOf,
    /// Show what each node says of each benchmark too
    #[arg(long)]
    pub by_node: bool,
    /// Print everything as JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Exit with 1 when a variant is slower (by more than PCT percent), and with 3 when that is undecided
    #[arg(long, value_name = "slower[:PCT]", value_parser = FailOn::parse_ratios)]
    pub fail_on: Option<FailOn>,
}

/// `pool task`.
#[derive(Debug, clap::Args)]
pub struct PoolTask {
    /// The folder of the pool
    pub directory: PathBuf,
    /// Number of the job, from 0
    pub job: usize,
    /// Exit with 0 where tasks failed: it is told by `pool status`
    #[arg(long)]
    pub lenient: bool,
}
