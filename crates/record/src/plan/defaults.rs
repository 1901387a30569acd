//! Defaults of verbs that have no plan. Each option's help text quotes its default.

use anyhow::{Result, anyhow};

use model::spec::DumpFormat;
use model::spec::convert::TableStyle;
use model::spec::load::LoadKind;
use model::values::{ErrorControl, Estimate, FailOn, FileStatistic, Percent, TimeSpan};

/// `hist --bins`.
pub const HISTOGRAM_BINS: u16 = 20;
/// `dump --format`.
pub const DUMP_FORMAT: DumpFormat = DumpFormat::Csv;
/// `slowest -n`.
pub const N_SLOWEST: u32 = 5;
/// `compare --table-format`.
pub const TABLE: TableStyle = TableStyle::Text;
/// `compare --by`.
pub const COMPARED_STATISTIC: FileStatistic = FileStatistic::T0;
/// `convert --warmup`.
pub const CONVERT_WARMUPS: u32 = 0;
/// `calibrate --budget`.
pub const CALIBRATION_BUDGET: TimeSpan = TimeSpan { ns: 60_000_000_000 };
/// `calibrate --runs`, the fewest: ten times as many as one experiment takes, so the experiments differ enough.
pub const CALIBRATION_RUNS: u32 = 600;
/// `calibrate --replays`. An experiment costs some 50 ms of CPU time, and there are ten kinds: 4 minutes.
pub const N_REPLAYS: u32 = 500;
/// `system advise --budget`.
pub const ADVICE_BUDGET: TimeSpan = TimeSpan { ns: 60_000_000_000 };
/// `history --by`.
pub const HISTORY_ESTIMATE: Estimate = Estimate::T0;
/// `history --alpha`.
pub const HISTORY_ALPHA: Percent = Percent(1.0);
/// `history show --last`.
pub const N_HISTORY_RESULTS: usize = 20;
/// `pool run --repetitions`.
pub const POOL_REPETITIONS: u32 = 10;
/// `pool run --runs`.
pub const POOL_BLOCKS: u32 = 3;
/// `gate --alpha`.
pub const GATE_ALPHA_PCT: f64 = 1.0;
/// `gate --budget`.
pub const GATE_BUDGET: TimeSpan = TimeSpan { ns: 300_000_000_000 };
/// Time for a framework's program to list its benchmarks. Go and pytest run each one once for that.
pub const ASKING: TimeSpan = TimeSpan { ns: 300_000_000_000 };
/// `gate --fail-on`. Copies of one file differ by up to a percent (docs/ci.md, "What it does").
pub const GATE_FAIL_ON: FailOn = FailOn::slower(1.0);
/// `bisect --alpha`.
pub const BISECT_ALPHA: Percent = Percent(1.0);
/// `bisect --same`. Smaller than elsewhere, because a search for 1 % must see 1 %.
pub const BISECT_SAME_PCT: f64 = 0.3;
/// `bisect --layouts`. With fewer, the interval is wider than a change that the spread of the link orders explains.
pub const BISECT_LAYOUTS: u32 = 12;
/// `bisect --budget`.
pub const BISECT_BUDGET: TimeSpan = TimeSpan { ns: 120_000_000_000 };
/// `race --within`.
pub const RACE_WITHIN_PCT: f64 = 0.5;
/// `race --alpha`.
pub const RACE_ALPHA: Percent = Percent(1.0);
/// `race --budget`.
pub const RACE_BUDGET: TimeSpan = TimeSpan { ns: 600_000_000_000 };
/// `why --budget`.
pub const WHY_BUDGET: TimeSpan = TimeSpan { ns: 30_000_000_000 };
/// `why --warmup`.
pub const WHY_WARMUPS: u32 = 1;
/// `why --rate`: samples in a second of CPU time.
pub const SAMPLES_PER_S: u32 = 1000;
/// `why --stack-kib`. On a virtual machine, 16 KiB cost up to 1 % of the CPU time, 8 KiB less than half of that.
pub const STACK_KIB: u8 = 8;
/// `campaign new --alpha`, percent of campaigns.
pub const CAMPAIGN_ALPHA: Percent = Percent(5.0);
/// `campaign new --control`.
pub const CAMPAIGN_CONTROL: ErrorControl = ErrorControl::Fwer;
/// `campaign new --attempts`.
pub const CAMPAIGN_ATTEMPTS: u32 = 100;
/// `campaign new --aim`, percent above `--at-least`.
pub const CAMPAIGN_AIM_PCT: f64 = 1.0;
/// How often an attempt with exactly the aimed-at gain is given up.
pub const CAMPAIGN_MISS: f64 = 0.05;
/// `campaign new --budget`, for a trial and for a confirmation.
pub const CAMPAIGN_BUDGET: TimeSpan = TimeSpan { ns: 30_000_000_000 };
/// `load --kind`.
pub const LOAD_KIND: LoadKind = LoadKind::Cpu;
/// `noise --for`.
pub const NOISE_TIME: TimeSpan = TimeSpan { ns: 10_000_000_000 };
/// `--side` of a criterion directory.
pub const CRITERION_SIDE: &str = formats::CRITERION_SIDE;

/// The significance level of `--alpha`, as a share of one. Errors: it is out of range.
pub fn alpha(percent: Percent) -> Result<f64> {
    percent.as_alpha().map_err(|error| anyhow!("--alpha {error}"))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, ValueEnum};

    use super::*;
    use model::spec::Cli;

    /// The help of an option; `verb` may be several words.
    fn help(verb: &str, option: &str) -> String {
        let mut command = Cli::command();
        for word in verb.split(' ') {
            command = command.find_subcommand(word).unwrap().clone();
        }
        let mut options = command.get_arguments();
        let arg = options.find(|arg| arg.get_id() == option).unwrap();
        arg.get_long_help().or(arg.get_help()).unwrap().to_string()
    }

    #[track_caller]
    fn check(verb: &str, option: &str, default: impl ToString) {
        let (help, default) = (help(verb, option), default.to_string());
        assert!(help.contains(&format!("[default: {default}")), "{verb} {option}: {help}");
    }

    fn name(value: &impl ValueEnum) -> String {
        value.to_possible_value().unwrap().get_name().into()
    }

    #[test]
    fn help_texts_quote_the_defaults() {
        check("hist", "bins", HISTOGRAM_BINS);
        check("dump", "format", name(&DUMP_FORMAT));
        check("slowest", "n", N_SLOWEST);
        check("compare", "by", name(&COMPARED_STATISTIC));
        check("convert", "warmup", CONVERT_WARMUPS);
        check("calibrate", "budget", format!("{}s", CALIBRATION_BUDGET.ns / 1_000_000_000));
        check("calibrate", "replays", N_REPLAYS);
        check("system advise", "budget", format!("{}s", ADVICE_BUDGET.ns / 1_000_000_000));
        check("history show", "by", name(&HISTORY_ESTIMATE));
        check("history changes", "alpha", HISTORY_ALPHA.0);
        check("history show", "last", N_HISTORY_RESULTS);
        check("pool run", "repetitions", POOL_REPETITIONS);
        check("pool run", "blocks", POOL_BLOCKS);
        check("gate", "budget", format!("{}s", GATE_BUDGET.ns / 1_000_000_000));
        check("gate", "alpha", GATE_ALPHA_PCT);
        assert!(help("gate", "fail_on").ends_with("[default: slower:1%]"));
        assert_eq!("slower:1%".parse(), Ok(GATE_FAIL_ON));
        check("bisect", "alpha", BISECT_ALPHA.0);
        check("bisect", "same", BISECT_SAME_PCT);
        check("bisect", "budget", format!("{}s", BISECT_BUDGET.ns / 1_000_000_000));
        check("campaign new", "alpha", CAMPAIGN_ALPHA.0);
        check("campaign new", "control", name(&CAMPAIGN_CONTROL));
        check("campaign new", "attempts", CAMPAIGN_ATTEMPTS);
        check("campaign new", "aim", CAMPAIGN_AIM_PCT);
        check("campaign new", "budget", format!("{}s", CAMPAIGN_BUDGET.ns / 1_000_000_000));
        check("race", "within", RACE_WITHIN_PCT);
        check("race", "alpha", RACE_ALPHA.0);
        check("race", "budget", format!("{}s", RACE_BUDGET.ns / 1_000_000_000));
        check("why", "budget", format!("{}s", WHY_BUDGET.ns / 1_000_000_000));
        check("why", "warmup", WHY_WARMUPS);
        check("why", "rate", SAMPLES_PER_S);
        check("why", "stack_kib", STACK_KIB);
        check("load", "kind", name(&LOAD_KIND));
        check("noise", "for_", format!("{}s", NOISE_TIME.ns / 1_000_000_000));
        check("show", "side", CRITERION_SIDE);
        let runs = format!("at least {CALIBRATION_RUNS}]");
        assert!(help("calibrate", "runs").contains(&runs));
    }
}
