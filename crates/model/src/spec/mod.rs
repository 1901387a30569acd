//! The command line and suite files, as the user wrote them. Pure, and without defaults: `plan` has those.
#![cfg_attr(doc, allow(rustdoc::all, reason = "the documentation of an option is its help text"))]

pub mod answer;
pub mod argument_ids;
mod bisect;
mod calibrate;
pub mod campaign;
mod command_line;
pub mod convert;
mod default_verbs;
pub mod defaults;
mod fair_play;
mod files;
mod gate;
pub mod groups;
mod history;
pub mod input;
pub mod load;
mod noise;
mod pool;
mod race;
pub mod request;
mod result_file;
mod resume;
pub mod run;
mod schema;
mod shield;
mod short_help;
pub mod suite;
mod system;
pub mod verb_groups;
mod why;
pub mod workers;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub use bisect::BisectVerb;
pub use calibrate::CalibrateVerb;
pub use campaign::CampaignAction;
pub use command_line::{complete, renamed, without_options};
pub use convert::ConvertVerb;
pub use fair_play::{FairPlayAction, FairPlayAudit, FairPlayOptions};
pub use files::{
    CheckVerb, CompareVerb, DumpFormat, DumpVerb, FilesVerb, HistVerb, MetadataVerb, ReportVerb,
    ShowVerb, SlowestVerb, StatsVerb,
};
pub use gate::{GateCounting, GateSelection, GateVerb};
pub use groups::RevisionOptions;
pub use history::{
    HistoryAction, HistoryAdd, HistoryChanges, HistoryFile, HistoryGet, HistoryReport,
    HistorySearch, HistoryShow,
};
pub use load::LoadVerb;
pub use noise::NoiseVerb;
pub use pool::{PoolAction, PoolCollect, PoolRun, PoolStatus, PoolTask};
pub use race::RaceVerb;
pub use run::{RunSpec, RunVerb};
pub use schema::{DOCUMENTS, JsonTarget, Request, command, json_target, parse};
pub use shield::{ShieldAction, ShieldExec, ShieldOptions};
pub use system::{
    SystemAction, SystemAdvise, SystemBoot, SystemRoot, SystemShow, SystemTune, SystemVerb,
};
pub use why::WhyVerb;
pub use workers::{BenchVerb, TimeitVerb};

/// The same, true timing on a busy machine as on an idle one, with an honest error bar
#[derive(Debug, Parser)]
#[command(
    name = "stillwell",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    subcommand_value_name = "VERB",
    override_usage = verb_groups::USAGE,
    after_help = verb_groups::AFTER
)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Time commands and compare them
    Run(Box<RunVerb>),
    /// Time Python statements, in any interpreter
    Timeit(Box<TimeitVerb>),
    /// Time a suite, or the benchmarks of programs, and compare them
    Bench(Box<BenchVerb>),
    /// Compare the benchmarks of two builds, for a pull request
    Gate(Box<GateVerb>),
    /// Find the commits that made a program slower or faster
    Bisect(Box<BisectVerb>),
    /// Try attempts to make a program faster, and keep the real gains
    #[command(subcommand, disable_help_subcommand = true)]
    Campaign(Box<CampaignAction>),
    /// Find the best of many commands, with a known error of the choice
    Race(Box<RaceVerb>),
    /// Say which functions make one command slower than another
    Why(Box<WhyVerb>),
    /// Show the summary of results, or what is recorded beside them
    Show(ShowVerb),
    /// Show every statistic
    Stats(StatsVerb),
    /// Draw histograms, all files on one scale
    Hist(HistVerb),
    /// Say whether the times are steady, and explain outliers
    Check(CheckVerb),
    /// Write the rows as CSV, JSON or text
    Dump(DumpVerb),
    /// Show what is known beside the values: the same as show --metadata
    #[command(hide = true)]
    Metadata(MetadataVerb),
    /// Show what took longest to measure: the same as show --slowest
    #[command(hide = true)]
    Slowest(SlowestVerb),
    /// Compare the commands of one record, or files of several sessions
    #[command(alias = "compare_to")]
    Compare(CompareVerb),
    /// Write a page for the browser: verdicts, charts and tables
    Report(ReportVerb),
    /// Change files: their format, their benchmarks, their metadata
    Convert(Box<ConvertVerb>),
    /// Measure how small a slowdown can be detected here
    Calibrate(Box<CalibrateVerb>),
    /// Keep results for months, and find when they changed
    #[command(subcommand, disable_help_subcommand = true)]
    History(Box<HistoryAction>),
    /// Measure a suite on many machines, through Slurm or another queue
    #[command(subcommand, disable_help_subcommand = true)]
    Pool(PoolAction),
    /// Show where lost time goes, and what takes it
    Noise(NoiseVerb),
    /// Show what makes noise on this machine; tune it, and put it back
    System(Box<SystemVerb>),
    /// Keep CPUs free of all other work
    #[command(subcommand, disable_help_subcommand = true)]
    Shield(Box<ShieldAction>),
    /// Make the machine busy on purpose
    Load(LoadVerb),
    /// Link a program with its object files in another order
    LinkOrder(LinkOrderVerb),
    /// Look whether an attempt is fair
    #[command(subcommand, hide = true)]
    FairPlay(FairPlayAction),
    /// Serve measurements to a program, by the Model Context Protocol
    Mcp(McpVerb),
    /// Describe a verb and its options
    Help(VerbName),
    /// Print or show a manual page
    Man(ManVerb),
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `help`.
#[derive(Debug, clap::Args)]
pub struct VerbName {
    /// A verb, and an action of it: run, or system tune [default: all verbs]
    #[arg(value_name = "VERB")]
    pub words: Vec<String>,
}

/// `man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "On a terminal man(1) shows the page. Otherwise it is printed as roff: \
    stillwell man run > stillwell-run.1")]
pub struct ManVerb {
    #[command(flatten)]
    pub verb: VerbName,
    /// Write all pages into this directory, as a package needs them: stillwell.1, stillwell-run.1, ...
    #[arg(long, value_name = "DIR", conflicts_with = "words")]
    pub dir: Option<PathBuf>,
}

/// `mcp`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The client starts it, for example by `{\"command\": \"stillwell\", \"args\": [\"mcp\"]}`. The tools are measure, \
                  compare, try and status; each executes this program with --json (docs/mcp.md)"
)]
pub struct McpVerb {}

/// `link-order`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: that of COMMAND. docs/layout.md says which objects change places, and what for"
)]
pub struct LinkOrderVerb {
    /// Which order: the same seed makes the same order of the same command
    #[arg(long, value_name = "NUM")]
    pub seed: u64,
    /// Make a directory of compilers that do this, one for each compiler and linker in PATH, and print the PATH to build with
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub wrappers: Option<PathBuf>,
    /// A compiler or linker and its arguments
    #[arg(last = true, required_unless_present = "wrappers", value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn timeit_names_only_what_a_worker_counts() {
        let all = Cli::command();
        let help = all.find_subcommand("timeit").unwrap().clone().render_long_help().to_string();
        for word in ["instructions", "--counter", "tree-memory", "switches"] {
            assert!(!help.contains(word), "{word}: {help}");
        }
    }

    #[test]
    fn the_help_of_decide_on_names_each_value() {
        let all = Cli::command();
        for verb in ["run", "race", "bisect"] {
            let mut options = all.find_subcommand(verb).unwrap().get_arguments();
            let option = options.find(|arg| arg.get_id() == "decide_on").unwrap();
            let help = option.get_help().unwrap().to_string();
            for value in option.get_possible_values() {
                assert!(help.contains(value.get_name()), "{verb}: {help}");
            }
        }
    }

    /// Collects the meanings of each letter in all verbs and actions.
    fn letters(command: &clap::Command, meanings: &mut BTreeMap<char, BTreeSet<String>>) {
        for arg in command.get_arguments() {
            if let Some(letter) = arg.get_short() {
                let long = arg.get_long().map(|long| format!("--{long}")).unwrap_or_default();
                meanings.entry(letter).or_default().insert(long);
            }
        }
        command.get_subcommands().for_each(|verb| letters(verb, meanings));
    }

    /// docs/compatibility.md has the table.
    #[test]
    fn each_letter_has_one_meaning_in_all_verbs() {
        let page = include_str!("../../../../docs/compatibility.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `-")?.split_once("` | "));
        let rows = rows.filter(|(letter, _)| letter.len() == 1);
        let row = |(letter, rest): (&str, &str)| {
            let words = rest.split('|').next().unwrap_or_default();
            let words = words.split('`').filter(|word| word.starts_with("--"));
            let mut words: BTreeSet<String> = words.map(str::to_owned).collect();
            if words.is_empty() {
                words.insert(String::new());
            }
            (letter.chars().next().unwrap(), words)
        };
        let listed: BTreeMap<char, BTreeSet<String>> = rows.map(row).collect();
        let mut found = BTreeMap::new();
        letters(&Cli::command(), &mut found);
        assert_eq!(found, listed);
    }

    /// Checks that clap has no defaults: they belong into `plan`. Flags and the hidden `--host-root` are exempt.
    fn check_defaults(command: &clap::Command) {
        for arg in command.get_arguments() {
            let is_flag = !arg.get_action().takes_values();
            let is_exempt = is_flag || arg.get_id() == "host_root";
            let has_default = !arg.get_default_values().is_empty();
            assert!(is_exempt || !has_default, "{} {arg}", command.get_name());
        }
        command.get_subcommands().for_each(check_defaults);
    }

    #[test]
    fn no_option_has_a_default() {
        check_defaults(&Cli::command());
    }
}
