//! `why`: the difference of two commands by function.

use std::path::{Path, PathBuf};

use crate::spec::argument_ids::ArgumentIds;
use crate::spec::resume::{first_refused, first_that};
use crate::spec::run::{HookOptions, ProcessOptions, RunVerb, Style};
use crate::values::{Percent, Shell, TimeSpan};
use crate::words::{command_parser, text_of};

/// Arguments for showing an earlier `why`: they affect only the output.
const OF_OUTPUT: [&str; 6] = ["commands", "json", "folded", "report", "style", "host_root"];

/// Arguments for executing a command. An earlier session's commands are executed as they were.
const OF_EXECUTION: [&str; 18] = [
    "shell",
    "setup",
    "prepare",
    "conclude",
    "cleanup",
    "validate",
    "cold_cache",
    "env",
    "input",
    "output",
    "show_output",
    "ignore_failure",
    "expect_exit",
    "value",
    "value_json",
    "value_file",
    "value_unit",
    "value_better",
];

/// `why`.
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "One file or directory instead of commands: an earlier `why` is shown again (its record or its profile); the \
                  commands of a record of `run`, `timeit` or `bench`, of a benchmark of a suite or gate (--only), and the commit \
                  that `bisect` found and its parent are measured again with samples. docs/why.md explains the numbers."
)]
pub struct WhyVerb {
    #[command(flatten)]
    pub(super) given: ArgumentIds,
    /// Commands to profile, each one argument: the reference and the other one. One alone gets a profile with error bars.
    /// Or the result of an earlier session
    #[arg(value_name = "COMMAND|RESULT", required = true, num_args = 1..=2, value_parser = command_parser())]
    pub commands: Vec<String>,
    /// Of an earlier session: only this benchmark
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Of an earlier session: what to compare with its reference: slower or faster (the largest such difference), or a
    /// command by its name or number [default: the only one; else the one that is slower]
    #[arg(long, value_name = "WHICH")]
    pub of: Option<String>,
    /// Name to show for a command; give it once for each command [default: the command itself]
    #[arg(short = 'n', long = "command-name", value_name = "NAME")]
    pub command_names: Vec<String>,
    /// How commands are executed: auto (a shell only if some command needs one), none, default (sh), or a shell's
    /// command line [default: auto]
    #[arg(short = 'S', long, value_name = "SHELL")]
    pub shell: Option<Shell>,
    /// Time to measure, for example 30s or 2min. A smaller difference needs more [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::above_zero)]
    pub budget: Option<TimeSpan>,
    /// Exactly this many timed runs of each command, at least 10 [default: as many as fit the budget]
    #[arg(short = 'r', long, value_name = "NUM", conflicts_with = "budget",
          value_parser = clap::value_parser!(u32).range(10..))]
    pub runs: Option<u32>,
    /// Warm-up runs of each command before the timed ones [default: 1]
    #[arg(short = 'w', long, value_name = "NUM")]
    pub warmup: Option<u32>,
    /// Seed of the random order and of the test [default: drawn anew, and recorded]
    #[arg(long, value_name = "NUM")]
    pub seed: Option<u64>,
    /// In how many percent of sessions any function of the same program may be named [default: 1]
    #[arg(long, value_name = "PCT", value_parser = Percent::parse_alpha)]
    pub alpha: Option<Percent>,
    /// Samples in a second of CPU time, 10 to 20000. More see more, and slow the runs more; the output says how much
    /// [default: 1000]
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u32).range(10..=20_000))]
    pub rate: Option<u32>,
    /// KiB of the stack that are copied with each sample, 1 to 60, to find the callers of a function. More find those of a deep
    /// recursion, and slow the runs more. Unless this is given, they become 60 where Python or a just-in-time compiler
    /// names its functions and needs more [default: 8]
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u8).range(1..=60))]
    pub stack_kib: Option<u8>,
    #[command(flatten)]
    pub hooks: HookOptions,
    #[command(flatten)]
    pub process: ProcessOptions,
    /// Where to keep the record, with the profile next to it; the file must not exist [default: a new file in
    /// $XDG_STATE_HOME/stillwell]
    #[arg(short = 'o', long = "record", value_name = "RECORD", help_heading = "Output")]
    pub record: Option<PathBuf>,
    /// Let other users read the record and the profile [default: only you]
    #[arg(long, help_heading = "Output")]
    pub shared: bool,
    /// Print the answer as JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write folded stacks for flame graphs: call chain, then the time per run of each command, ns
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub folded: Option<PathBuf>,
    /// Write a page for the browser, with a flame graph in which only branches that differ have a colour
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// Style of the output: auto, basic (no progress), full, nocolor, color (no progress), none (errors only)
    /// [default: auto]
    #[arg(long, value_name = "STYLE", help_heading = "Output")]
    pub style: Option<Style>,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

impl WhyVerb {
    /// The first option without effect on an earlier `why` that is shown again, by all its names.
    pub fn refused_with_profile(&self) -> Option<String> {
        first_refused::<Self>(&self.given, &OF_OUTPUT)
    }

    /// The first option without effect on an earlier session's commands, by all its names.
    pub fn refused_with_session(&self) -> Option<String> {
        first_that::<Self>(&self.given, |id| OF_EXECUTION.contains(&id))
    }

    /// `why` for the record of a session that has just ended.
    pub fn for_record(record: &Path, budget: Option<TimeSpan>, run: &RunVerb) -> Self {
        let output = &run.spec.output;
        Self {
            commands: vec![text_of(record.as_os_str().as_encoded_bytes())],
            budget,
            alpha: run.spec.judgement.alpha,
            process: run.spec.process.clone(),
            shared: output.shared,
            style: output.style,
            host_root: run.host_root.clone(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command};

    use super::*;

    #[test]
    fn the_arguments_of_execution_exist() {
        let command = WhyVerb::augment_args(Command::new("why"));
        let ids: Vec<&str> = command.get_arguments().map(|arg| arg.get_id().as_str()).collect();
        for id in OF_EXECUTION.iter().chain(&OF_OUTPUT) {
            assert!(ids.contains(id), "{id}");
        }
    }
}
