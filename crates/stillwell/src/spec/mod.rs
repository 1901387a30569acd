//! The command line and suite files, as the user wrote them. Pure, and without defaults: `plan` has those.

mod argument_ids;
mod calibrate;
pub mod convert;
mod files;
pub mod groups;
mod history;
pub mod input;
mod link_order;
pub mod load;
mod noise;
mod pool;
mod resume;
pub mod run;
mod shell_option;
mod shield;
pub mod suite;
mod system;
pub mod workers;

use clap::{Parser, Subcommand};

use crate::spec::run::NumberOptions;

pub use calibrate::CalibrateVerb;
pub use convert::ConvertVerb;
pub use files::{
    CheckVerb, CompareVerb, DumpFormat, DumpVerb, FilesVerb, HistVerb, MetadataVerb, PlotKind,
    PlotVerb, ReportVerb, ShowVerb, SlowestVerb, StatsVerb,
};
pub use history::{
    HistoryAction, HistoryAdd, HistoryChanges, HistoryFile, HistoryGet, HistoryReport,
    HistorySearch, HistoryShow, HistoryVerb,
};
pub use link_order::LinkOrderVerb;
pub use load::LoadVerb;
pub use noise::NoiseVerb;
pub use pool::{PoolAction, PoolCollect, PoolRun, PoolStatus, PoolTask, PoolVerb};
pub use run::{RunSpec, RunVerb};
pub use shell_option::with_shell_named;
pub use shield::{ShieldAction, ShieldExec, ShieldOptions, ShieldVerb};
pub use system::{
    SystemAction, SystemAdvise, SystemBoot, SystemRoot, SystemShow, SystemTune, SystemVerb,
};
pub use workers::{BenchVerb, TimeitVerb};

/// The same, true timing on a busy machine as on an idle one, with an honest error bar
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Time shell commands, interleaved, and compare them
    Run(Box<RunVerb>),
    /// Time Python statements in any interpreter, with nothing installed there
    Timeit(Box<TimeitVerb>),
    /// Time and compare the benchmarks of programs that speak the worker protocol
    Bench(Box<BenchVerb>),
    /// Show the summary of saved records, or of other programs' files
    Show(ShowVerb),
    /// Show every statistic of saved records, or of other programs' files
    Stats(StatsVerb),
    /// Show histograms on one scale
    Hist(HistVerb),
    /// Draw on the terminal: rows over time, distribution functions, differences block by block
    Plot(PlotVerb),
    /// Say whether the times are steady, and why runs are outliers
    Check(CheckVerb),
    /// Write the rows as CSV, JSON or text
    Dump(DumpVerb),
    /// Show what is known beside the values: machine, interpreter, plan
    Metadata(MetadataVerb),
    /// Show what took longest to measure
    Slowest(SlowestVerb),
    /// Compare the commands of one record, or files of different sessions
    Compare(CompareVerb),
    /// Make one page for the browser of records: verdicts, charts and tables, without a network
    Report(ReportVerb),
    /// Change files: their format, their benchmarks, their metadata
    Convert(Box<ConvertVerb>),
    /// How often this machine makes tests call a command different from itself, and which slowdown they can see
    Calibrate(Box<CalibrateVerb>),
    /// Keep results over months, and say when they changed
    History(Box<HistoryVerb>),
    /// Measure a suite on many machines through Slurm or another queue, and put their results together
    Pool(PoolVerb),
    /// Say where lost time went, and who took it
    Noise(NoiseVerb),
    /// Say what makes noise on this machine, and what can be done about it
    System(Box<SystemVerb>),
    /// Keep CPUs free of everything but what is put there
    Shield(Box<ShieldVerb>),
    /// Make the machine busy on purpose, to see whether a result survives it
    Load(LoadVerb),
    /// Link a program with its object files in another order, so that the luck of its layout can be averaged
    LinkOrder(LinkOrderVerb),
    /// Print the manual page
    Man,
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

impl Verb {
    /// Returns the number format of the verb's text output.
    pub fn numbers(&self) -> NumberOptions {
        match self {
            Self::Run(verb) => verb.spec.output.numbers,
            Self::Timeit(verb) => verb.spec.session.output.numbers,
            Self::Bench(verb) => verb.spec.session.output.numbers,
            Self::Show(verb) => verb.numbers,
            Self::Stats(verb) => verb.numbers,
            Self::Compare(verb) => verb.numbers,
            _ => NumberOptions::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Defaults are given in `plan`. Flags have clap's own, and the hidden `--host-root` of tests is `/`.
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
