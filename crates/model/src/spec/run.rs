//! The options of `stillwell run`. `None`: not on the command line. `plan` has the defaults; the help texts quote them.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::spec::argument_ids::given;
use crate::spec::groups::RevisionOptions;
use crate::spec::groups::{
    JudgementOptions, LayoutOptions, PlacementOptions, PriorityOptions, RightsOptions, StopOptions,
    TuneOptions,
};
use crate::values::{
    Better, Cpus, ExitStatuses, IgnoreFailure, MetricList, Order, OutputTarget, Shell, TimeSpan,
    TimeUnit,
};
use crate::words::command_parser;

use crate::spec::answer::AnswerOptions;
pub use crate::spec::answer::{Style, TableOrder};

/// `run`.
#[derive(Debug, clap::Args)]
pub struct RunVerb {
    #[command(flatten)]
    pub spec: RunSpec,
    /// Afterwards, measure again with what removes the largest source of noise, and show both. It is turned on for the runs
    /// alone: --isolate, --affinity with one quiet CPU, or a knob of --tune
    #[arg(long, conflicts_with_all = ["json", "copies"])]
    pub explain: bool,
    /// Afterwards, if a command differs from the reference: measure both again with samples, for TIME, and say which functions
    /// make the difference (`stillwell why`). The verdict is that of the runs before [default: 30s]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, conflicts_with_all = ["json", "copies"],
          value_parser = TimeSpan::above_zero)]
    pub why: Option<Option<TimeSpan>>,
    /// Watch by tracepoints who takes the CPU from the runs, by name; `stillwell noise` shows it. Needs root or CAP_PERFMON,
    /// and makes every switch and interrupt take a little longer
    #[arg(long, conflicts_with = "copies")]
    pub attribute: bool,
    /// Play these times instead of running anything (for tests)
    #[arg(long, hide = true, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

impl RunVerb {
    /// A session that another verb runs with these options.
    pub fn of(spec: RunSpec, host_root: &Path) -> Self {
        let host_root = host_root.to_owned();
        Self { spec, explain: false, why: None, attribute: false, script: None, host_root }
    }
}

/// Options of `stillwell run`.
#[derive(Args, Clone, Debug, Default)]
pub struct RunSpec {
    /// Commands to time, each one argument. The first is the reference that the others are compared with
    #[arg(value_name = "COMMAND", required_unless_present = "reference", value_parser = command_parser())]
    pub commands: Vec<String>,
    #[command(flatten)]
    pub arms: ArmOptions,
    #[command(flatten)]
    pub revisions: RevisionOptions,
    #[command(flatten)]
    pub length: LengthOptions,
    #[command(flatten)]
    pub hooks: HookOptions,
    #[command(flatten)]
    pub process: ProcessOptions,
    /// Run NUM copies of each command at the same time, as a load of themselves: a run is all of them, from the first start
    /// to the last end, and the summary has the throughput. Each has CPUs of its own, if there are enough [default: 1]
    #[arg(short = 'j', long, value_name = "NUM", help_heading = "The process that is timed",
          value_parser = clap::value_parser!(u32).range(1..=1024),
          conflicts_with_all = ["validate", "value", "value_json", "output", "show_output"])]
    pub copies: Option<u32>,
    #[command(flatten)]
    pub judgement: JudgementOptions,
    #[command(flatten)]
    pub display: DisplayOptions,
    #[command(flatten)]
    pub output: OutputOptions,
}

/// What the summary shows.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct DisplayOptions {
    /// Metrics to show, each with an optional :UNIT, or default, time, all; `wall` alone also collects nothing else,
    /// which is fastest [default: wall, CPU times, memory]
    #[arg(long, value_name = "METRIC[:UNIT],...")]
    pub metrics: Option<MetricList>,
    /// Unit of the times: microsecond, millisecond, second, or ns, us, ms, s, min, h [default: the one that fits]
    #[arg(short = 'u', long, value_name = "UNIT")]
    pub time_unit: Option<TimeUnit>,
    /// Order of the table, and of exported ones: auto (the fastest first, a scan and exports in their order), command (as on
    /// the command line) or mean-time (the fastest first) [default: auto]
    #[arg(long, value_name = "ORDER")]
    pub sort: Option<TableOrder>,
    /// Show also the statistics behind the answer: spread, means, histograms, p, the statistic and the level of each
    /// comparison, every note, and what perf stat counts
    #[arg(short = 'v', long, conflicts_with = "json")]
    pub verbose: bool,
}

/// What is compared.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "What is compared")]
pub struct ArmOptions {
    /// Time this command too and compare the others with it; it becomes number 1 [default: the first COMMAND]
    #[arg(long, value_name = "COMMAND", value_parser = command_parser())]
    pub reference: Option<String>,
    /// Name to show for the command of --reference [default: the command itself]
    #[arg(long, value_name = "NAME", requires = "reference")]
    pub reference_name: Option<String>,
    /// Name to show for a command; give it once for each command [default: the command itself]
    #[arg(short = 'n', long = "command-name", value_name = "NAME")]
    pub command_names: Vec<String>,
    /// Run every command for each VAR from MIN to MAX; {VAR} in commands, names, variables and hooks is replaced
    #[arg(short = 'P', long, num_args = 3, value_names = ["VAR", "MIN", "MAX"], allow_hyphen_values = true,
          conflicts_with = "parameter_lists")]
    pub parameter_scan: Option<Vec<String>>,
    /// Step of --parameter-scan [default: 1]
    #[arg(
        short = 'D',
        long,
        value_name = "DELTA",
        requires = "parameter_scan",
        allow_hyphen_values = true
    )]
    pub parameter_step_size: Option<String>,
    /// Run every command for each of the comma-separated VALUES of VAR (`\,` is a comma), or of the lines of a file
    /// (@FILE; `\@` begins a value with @); several lists combine. VAR,VAR @FILE.csv takes columns of a table row by row; its
    /// first line names them
    #[arg(short = 'L', long = "parameter-list", num_args = 2, value_names = ["VAR", "VALUES"],
          action = clap::ArgAction::Append)]
    pub parameter_lists: Vec<String>,
    /// Pair the values of several -L, the first with the first, instead of combining each with all
    #[arg(long, requires = "parameter_lists")]
    pub zip: bool,
    /// Subtract the time of this command, measured in the same blocks, from all others
    #[arg(long, value_name = "COMMAND", value_parser = command_parser())]
    pub subtract: Option<String>,
    /// How commands are executed: auto (a shell only if some command needs one), none, default (sh), or a shell's
    /// command line; -S alone is --shell=default [default: auto]
    #[arg(short = 'S', long, value_name = "SHELL")]
    pub shell: Option<Shell>,
    /// Execute commands directly; the same as --shell=none
    #[arg(short = 'N', conflicts_with = "shell")]
    pub no_shell: bool,
}

/// How long to measure, and in which order.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "How long, in which order")]
pub struct LengthOptions {
    /// Warm-up runs of each command before the timed ones; they also show that the commands work [default: 1, or 0 with
    /// --runs]
    #[arg(short = 'w', long, value_name = "NUM")]
    pub warmup: Option<u32>,
    /// Fewest timed runs of each command, which is also the fewest blocks; they are made even if the budget is too short
    /// [default: 10, or 24 for a single command, as far as they fit the budget]
    #[arg(short = 'm', long, value_name = "NUM", value_parser = clap::value_parser!(u32).range(1..))]
    pub min_runs: Option<u32>,
    /// Most timed runs of each command [default: 500, or no limit for a single command]
    #[arg(short = 'M', long, value_name = "NUM", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_runs: Option<u32>,
    /// This many timed runs of each command that count, whatever they show. A block that is left out as warm-up is
    /// replaced. So are up to NUM blocks with a run that --timeout ended or that has no value; their other runs count too.
    /// A --budget that is used up ends the session earlier [default: until everything is decided, at most as many as fit
    /// the budget]
    #[arg(short = 'r', long, value_name = "NUM", conflicts_with_all = ["min_runs", "max_runs"],
          value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: Option<u32>,
    #[command(flatten)]
    pub stop: StopOptions,
    /// End a run that takes longer, as a failure, for example 30s; SIGTERM first, SIGKILL two seconds later
    /// [default: no limit]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<TimeSpan>,
    /// Order of the runs: interleave (every block runs each command once, in random order), listed (the same in the order
    /// of the command line; what a command leaves to the next one then counts as a difference) or sequential (all runs of
    /// one command, then the next; drift is not controlled, so there is no verdict) [default: interleave]
    #[arg(long, value_name = "ORDER")]
    pub order: Option<Order>,
    /// Seed of the random order and padding; the same seed gives the same [default: drawn anew, and recorded]
    #[arg(long, value_name = "NUM")]
    pub seed: Option<u64>,
}

/// Commands around the runs.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "Hooks (always executed by a shell, never timed)")]
pub struct HookOptions {
    /// Execute once before everything else. If it mentions a parameter, execute it once for each value, whose runs then
    /// follow each other, without a verdict
    #[arg(short = 's', long, value_name = "COMMAND", value_parser = command_parser())]
    pub setup: Option<String>,
    /// Execute before each run; once for all commands, or once for each command
    #[arg(short = 'p', long, value_name = "COMMAND", value_parser = command_parser())]
    pub prepare: Vec<String>,
    /// Execute after each run, also after a failed one; once for all commands, or once for each command
    #[arg(short = 'C', long, value_name = "COMMAND", value_parser = command_parser())]
    pub conclude: Vec<String>,
    /// Execute once after everything else, also after a failure or ^C; once for each value if it mentions a parameter
    #[arg(short = 'c', long, value_name = "COMMAND", value_parser = command_parser())]
    pub cleanup: Option<String>,
    /// Execute after each run with the run's standard output as its input; the session ends unless this
    /// exits with 0, also with -i
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["output", "show_output"])]
    pub validate: Option<String>,
    /// Write back and drop the page cache before each run (sync, then drop_caches; needs root)
    #[arg(long)]
    pub cold_cache: bool,
}

/// In what state the commands run.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "The process that is timed")]
pub struct ProcessOptions {
    /// Allow only these CPUs, for example 2 or 0-3,6 [default: one of those that were isolated at boot, or else all that
    /// are allowed now]
    #[arg(long, value_name = "CPUS")]
    pub affinity: Option<Cpus>,
    #[command(flatten)]
    pub tuning: TuneOptions,
    /// Run the commands on CPUs that nothing else may use, and give these back whatever happens: one whole core, or the
    /// cores of --affinity. As a user it needs sudo or doas without a password. What is in force is in the record
    /// (docs/isolation.md)
    #[arg(long)]
    pub isolate: bool,
    #[command(flatten)]
    pub placement: PlacementOptions,
    #[command(flatten)]
    pub rights: RightsOptions,
    #[command(flatten)]
    pub priority: PriorityOptions,
    #[command(flatten)]
    pub layout: LayoutOptions,
    #[command(flatten)]
    pub execution: ExecutionOptions,
}

/// The value that a command says of each of its runs.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "A value that the commands say")]
pub struct ValueOptions {
    /// The value of a run is what the first group of this expression matches in its standard output, or the whole match;
    /// the last match counts. A run that does not say it is a failure. It is a metric, and decides unless --decide-on says
    /// another [default: none; times decide]
    #[arg(long, value_name = "REGEX", conflicts_with = "value_json")]
    pub value: Option<String>,
    /// The value of a run is the number at this JSON Pointer in its standard output, for example /latency/p99 [default: none]
    #[arg(long, value_name = "POINTER")]
    pub value_json: Option<String>,
    /// Look for the value in this file and not in standard output; the file is removed before each run [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub value_file: Option<String>,
    /// Unit of the value. Times (ns, us, ms, s, min, h) and memory (B, kB, KiB, ...) are converted; another one is only
    /// shown [default: none]
    #[arg(long, value_name = "UNIT")]
    pub value_unit: Option<String>,
    /// Which values are better: lower, or higher as for throughput [default: lower]
    #[arg(long, value_name = "WHICH")]
    pub value_better: Option<Better>,
}

/// How the commands are executed, and which of their exits are failures.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecutionOptions {
    /// Set variables, quoted as in a shell: 'A=1 B="x y"'; once for all commands, or once for each command
    #[arg(long, value_name = "VARS")]
    pub env: Vec<String>,
    /// Standard input of the runs: null or a file [default: null]
    #[arg(long, value_name = "WHERE")]
    pub input: Option<String>,
    /// Standard output of the runs: null, pipe, tty (a terminal of 80 columns and 24 lines, or tty:120x40), inherit or a path
    /// with a slash; once for all commands, or once for each command [default: null]
    #[arg(long, value_name = "WHERE", conflicts_with = "show_output")]
    pub output: Vec<OutputTarget>,
    /// Let the runs write to the terminal; the same as --output=inherit
    #[arg(long)]
    pub show_output: bool,
    /// Go on when a run fails: all-non-zero (the default value; signals and timeouts too), or a list of exit
    /// statuses to ignore [default: a failure ends everything]
    #[arg(short = 'i', long, value_name = "MODE", num_args = 0..=1, require_equals = true)]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub ignore_failure: Option<Option<IgnoreFailure>>,
    /// Exit statuses that are right, for example 1 or 0,3; any other is a failure [default: 0]
    #[arg(long, value_name = "STATUSES", conflicts_with = "ignore_failure")]
    pub expect_exit: Option<ExitStatuses>,
    #[command(flatten)]
    pub value: ValueOptions,
}

/// What is shown and written.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Where to keep the record; the file must not exist [default: a new file in $XDG_STATE_HOME/stillwell]
    #[arg(short = 'o', long = "record", value_name = "RECORD")]
    pub record: Option<PathBuf>,
    /// Let other users read the record, as far as the umask and the directory do [default: only you]
    #[arg(long)]
    pub shared: bool,
    /// Print the analysis as JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Style of the output: auto, basic (no progress), full, nocolor, color (no progress), none (errors only)
    /// [default: auto]
    #[arg(long, value_name = "STYLE")]
    pub style: Option<Style>,
    #[command(flatten)]
    pub exports: ExportOptions,
}

impl OutputOptions {
    /// The output of a session that another verb drives.
    pub fn driven(AnswerOptions { json, style }: AnswerOptions, record: Option<PathBuf>) -> Self {
        Self { record, json, style, ..Self::default() }
    }
}

/// Files for other programs; `-` is standard output.
#[derive(Args, Clone, Debug, Default)]
pub struct ExportOptions {
    /// Write a file in a format: json (the whole analysis), markdown, asciidoc, org, csv, times (TIME<TAB>COMMAND of each run,
    /// as tim -s), hyperfine, hyperfine-1 (as its versions 1.x did), pyperf or bmf (Bencher); can be repeated. A name that
    /// ends with .gz is compressed. hyperfine's --export-json and the like are known too
    #[arg(long, num_args = 2, value_names = ["FORMAT", "FILE"], action = clap::ArgAction::Append)]
    pub export: Vec<String>,
    /// Write hyperfine's JSON, schema 2, with our fields beside it
    #[arg(long, hide = true, value_name = "FILE")]
    pub export_json: Option<PathBuf>,
    /// Write one line of comma-separated values for each command
    #[arg(long, hide = true, value_name = "FILE")]
    pub export_csv: Option<PathBuf>,
    /// Write a Markdown table
    #[arg(long, hide = true, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,
    /// Write an AsciiDoc table
    #[arg(long, hide = true, value_name = "FILE")]
    pub export_asciidoc: Option<PathBuf>,
    /// Write an org-mode table
    #[arg(long, hide = true, value_name = "FILE")]
    pub export_orgmode: Option<PathBuf>,
    /// Write a page for the browser: verdicts, charts and tables in one file that needs no network
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}
