//! The names of options and keys in advice, by where the session came from.

use crate::plan::Plan;

/// Where a session came from, and so what its user can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Options of `run`.
    Run,
    /// Options of `timeit`, or of `bench` with programs.
    Workers,
    /// Keys of a suite file, and options of `bench`.
    Suite,
}

impl Audience {
    /// Where the session of this plan came from.
    pub fn of(plan: &Plan) -> Self {
        match (&plan.suite, &plan.workers) {
            (Some(_), _) => Self::Suite,
            (None, Some(_)) => Self::Workers,
            (None, None) => Self::Run,
        }
    }

    /// So many warm-up runs of commands.
    pub fn warmups(self, n: usize) -> String {
        match self {
            Self::Run | Self::Workers => format!("--warmup {n}"),
            Self::Suite => format!("`policy.warmup = {n}`"),
        }
    }

    /// Exactly so many blocks.
    pub fn blocks(self, n: usize) -> String {
        match self {
            Self::Run => format!("--runs {n}"),
            Self::Workers | Self::Suite => format!("--blocks {n}"),
        }
    }

    /// Room for so many blocks, where there may be fewer; workers can only be told the exact number.
    pub fn blocks_max(self, n: usize) -> String {
        match self {
            Self::Run => format!("--max-blocks {n}"),
            Self::Workers => self.blocks(n),
            Self::Suite => format!("`policy.max_blocks = {n}`"),
        }
    }

    /// CPUs that nothing else uses.
    pub fn own_cpu(self) -> &'static str {
        match self {
            Self::Run => "--isolate, or --affinity on a quiet CPU",
            Self::Workers | Self::Suite => "--affinity on a quiet CPU, or `stillwell shield`",
        }
    }

    /// A key of a suite file, or the option that is called so.
    pub fn key(self, option: &'static str, key: &str) -> String {
        match self {
            Self::Run | Self::Workers => option.into(),
            Self::Suite => format!("`{key}`"),
        }
    }
}
