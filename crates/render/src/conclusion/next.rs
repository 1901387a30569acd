//! The next sensible action of a conclusion: why, the words of its command line, and what it costs.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::budget::{budget, more_blocks, to_decide};
use crate::remedies::Audience;
use analysis::suite::plan_of_arm;
use analysis::verdict::{Judged, Verdict};
use analysis::{DecisionEstimate, other_quantity};
use model::spec::run::ValueOptions;
use model::spec::{complete, without_options};
use model::values::DecideOn;
use model::words::{bytes_of, path_text, text_of};
use record::Record;
use record::plan::{BlockRule, Plan};

const SECOND_NS: f64 = 1e9;

/// The next sensible action.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NextAction {
    /// The kind of action.
    pub action: ActionKind,
    /// The reason, in words for people.
    pub why: String,
    /// The words of a command line for the action, to be executed in the same directory. Empty if one of them depends
    /// on you, such as the budget of a suite.
    pub command: Vec<String>,
    /// Time that the action takes, s; null if it is not known.
    pub cost_s: Option<f64>,
}

/// The kind of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// Measure again, with more blocks: these have spent their error rate.
    MeasureLonger,
    /// Measure both programs in one session: separate ones have no verdict.
    MeasureTogether,
    /// Ask what took the time.
    FindNoise,
    /// Make the machine quieter.
    Tune,
}

/// More blocks, if a comparison is open and it is known how many would decide it.
pub fn measure_longer(judged: Judged<'_>) -> Option<NextAction> {
    let record = judged.record;
    let plan = &record.header.plan;
    let open = judged.pairs().filter(|(_, judgement)| judgement.verdict == Verdict::Undecided);
    let tests = open.filter_map(|(comparison, _)| comparison.evidence.test().ok());
    let known = tests.filter_map(|paired| Some((paired, paired.to_decide?)));
    // All comparisons share the blocks, so the most demanding one decides.
    let (paired, needed) = known.max_by_key(|(_, needed)| needed.n_pairs)?;
    Some(NextAction {
        action: ActionKind::MeasureLonger,
        why: to_decide(paired, plan),
        command: longer_command(record, needed, plan),
        cost_s: needed.time_ns.map(|time_ns| time_ns / SECOND_NS),
    })
}

/// The command line of a session with room for so many blocks. Empty if a suite sets the length, or if another program
/// made the record.
fn longer_command(record: &Record, needed: DecisionEstimate, plan: &Plan) -> Vec<String> {
    let header = &record.header;
    if matches!(Audience::of(plan), Audience::Suite | Audience::Gate) || header.imported.is_some() {
        return Vec::new();
    }
    let mut options = more_blocks(needed, plan);
    let is_whole = Audience::of(plan) == Audience::Workers && !options.is_empty();
    let has_budget = options.iter().any(|word| word == "--budget");
    // The repetition leaves out the old budget even if it was sufficient.
    if let BlockRule::Budget { budget_ns, .. } = plan.blocks
        && !has_budget
        && !is_whole
    {
        options.extend(["--budget".into(), budget(budget_ns as f64)]);
    }
    repeated(&header.command_line, &options)
}

/// Options that a repetition leaves out: the length, which it chooses anew, and the existing file.
const LEFT_OUT: [&str; 5] = ["budget", "runs", "max-runs", "min-runs", "record"];

/// The command line of a session with other options after its verb. `words` begins with the program.
pub(super) fn repeated(words: &[String], options: &[String]) -> Vec<String> {
    // The verb of a session may be implicit.
    let words = complete(words.iter().map(|word| OsString::from_vec(bytes_of(word))));
    let words = words.iter().skip(1).map(|word| text_of(word.as_encoded_bytes()));
    let mut words: Vec<String> = words.collect();
    let rest = words.split_off(words.len().min(1));
    let verb = words.pop().unwrap_or_default();
    let rest = without_options(&verb, &rest, &LEFT_OUT);
    let start = ["stillwell".to_owned(), verb].into_iter();
    start.chain(options.iter().cloned()).chain(rest).collect()
}

/// Finds out what took the time of a record's runs. `None` if no time decides, or another program made the file, which
/// has no evidence.
pub fn find_noise(record: &Record) -> Option<NextAction> {
    let can_tell = other_quantity(record).is_none() && record.header.imported.is_none();
    can_tell.then(|| NextAction {
        action: ActionKind::FindNoise,
        why: "this names what took the time".into(),
        command: words(["stillwell", "noise"]).chain([path_text(&record.path)]).collect(),
        cost_s: Some(0.0),
    })
}

/// Lists the sources of noise on this machine, and remedies.
pub fn tune() -> NextAction {
    NextAction {
        action: ActionKind::Tune,
        why: "this shows what makes noise here, and the command that makes the machine quieter"
            .into(),
        command: words(["stillwell", "system"]).collect(),
        cost_s: Some(0.0),
    }
}

/// Turns the knobs that are not at their quietest.
pub fn tune_now() -> NextAction {
    NextAction {
        action: ActionKind::Tune,
        why: "this sets the knobs; `stillwell system reset` puts them back".into(),
        command: words(["sudo", "stillwell", "system", "tune"]).collect(),
        cost_s: Some(0.0),
    }
}

/// Measures with the worthwhile steps.
pub fn measure_tuned(command: Vec<String>) -> NextAction {
    let why = "this measures with the steps that are worth taking".into();
    NextAction { action: ActionKind::Tune, why, command, cost_s: None }
}

/// Measures both commands in one session. `options`: `None` if `run` cannot measure them.
pub fn measure_together(commands: [&str; 2], options: Option<Vec<String>>) -> NextAction {
    let [old, new] = commands;
    let command = options.filter(|_| old != new).map_or_else(Vec::new, |options| {
        let both = words(["--reference", old, "--", new]);
        words(["stillwell", "run"]).chain(options).chain(both).collect()
    });
    NextAction {
        action: ActionKind::MeasureTogether,
        why: "separate sessions have no verdict: drift between them is not controlled".into(),
        command,
        cost_s: None,
    }
}

/// The options with which `run` compares this arm's quantity; `None` if `run` cannot measure it.
pub(crate) fn quantity_options(record: &Record, arm_index: usize) -> Option<Vec<String>> {
    let arm = &record.header.plan.arms[arm_index];
    match plan_of_arm(record, arm_index).policy.decide_on {
        // Benchmarks of other programs are no commands.
        _ if record.header.imported.is_some() && arm.benchmark.is_some() => None,
        None => Some(Vec::new()),
        Some(DecideOn::Value) => Some(value_words(arm.value.as_ref()?.options()?)),
        Some(quantity) => Some(vec!["--decide-on".into(), quantity.name()]),
    }
}

fn value_words(options: ValueOptions) -> Vec<String> {
    let ValueOptions { value, value_json, value_file, value_unit, value_better } = options;
    let better = value_better.map(|it| if it.is_lower() { "lower" } else { "higher" }.to_owned());
    let all = [
        ("--value", value),
        ("--value-json", value_json),
        ("--value-file", value_file),
        ("--value-unit", value_unit),
        ("--value-better", better),
    ];
    let given = all.into_iter().filter_map(|(option, text)| Some((option, text?)));
    let words = given.flat_map(|(option, text)| match text.starts_with('-') {
        true => vec![format!("{option}={text}")],
        false => vec![option.to_owned(), text],
    });
    words.collect()
}

fn words<const N: usize>(words: [&str; N]) -> impl Iterator<Item = String> {
    words.map(str::to_owned).into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::values::{Better, Headline};
    use record::plan::workers::Workers;
    use record::plan::{ValueReader, ValueRule, ValueSource};

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let words: Vec<String> = shell_words::split(line).unwrap();
        let options = ["--budget".to_owned(), "40s".to_owned()];
        assert_eq!(shell_words::join(repeated(&words, &options)), expected);
    }

    #[test]
    fn the_options_read_the_same_value() {
        let rule = ValueRule {
            reader: ValueReader::Regex("-(.*)".into()),
            source: ValueSource::File("out".into()),
            unit: Some("req/s".into()),
            scale: 1.0,
            better: Better::Higher,
        };
        let words = "--value=-(.*) --value-file out --value-unit req/s --value-better higher";
        assert_eq!(value_words(rule.options().unwrap()).join(" "), words);
    }

    /// `noise` refuses it.
    #[test]
    fn no_time_is_lost_where_memory_decides() {
        let mut record = record::fixture::record(&["a"]);
        assert!(find_noise(&record).is_some());
        let headline = Headline::Memory;
        record.header.plan.workers = Some(Workers { headline, ..Workers::default() });
        assert_eq!(find_noise(&record), None);
    }

    #[test]
    fn a_repetition_has_its_own_length_and_no_file() {
        check("/usr/bin/stillwell run a b", "stillwell run --budget 40s a b");
        check(
            "s run --budget=9s -o x.swell -r 5 -w 1 a 'b -r 7'",
            "stillwell run --budget 40s -w 1 a 'b -r 7'",
        );
        check("s ./a ./b", "stillwell run --budget 40s ./a ./b");
        check("s -w 1 a b", "stillwell run --budget 40s -w 1 a b");
        check("s run -p sync a b", "stillwell run --budget 40s -p sync a b");
        check("s timeit -r 20 x y", "stillwell timeit --budget 40s x y");
        check("s run -- -o --budget", "stillwell run --budget 40s -- -o --budget");
        check("s run -r12 --json a b", "stillwell run --budget 40s --json a b");
        check("s run -Nvr12 -m=3 -M 9 a b", "stillwell run --budget 40s -Nv a b");
        check("s run -vr 12 -ox -Nw1 a b", "stillwell run --budget 40s -v -Nw1 a b");
        // Values with the look of options.
        check("s run -n -r7 -P r 1 2 a b", "stillwell run --budget 40s -n -r7 -P r 1 2 a b");
        check(
            "s run -i --max-runs=9 -S 'a | b'",
            "stillwell run --budget 40s -i '--shell=default' 'a | b'",
        );
    }
}
