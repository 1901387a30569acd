//! Describes a failure: the failed run, the cause, and the end of its output.

pub mod worker;

use crate::document::ErrorCode;
use crate::remedies::Audience;
use crate::shorten;
use crate::units::processes;
use measure::valgrind::Uncounted;
use measure::{Hook, MeasurementFailure};
use model::prose::{OptionName, prose};
use record::plan::{Arm, Plan};
use record::{Record, Survivors};

/// Maximum number of quoted lines of a stream.
const LINES_MAX: usize = 10;

/// Where the user sees the end of a failed run's standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    /// In the message.
    Here,
    /// In the summary that is printed before.
    InSummary,
    /// In the message about a step of a search or a campaign, which has its own name for the command and goes on.
    Step,
}

/// Formats the message for the end of the output.
pub fn explain(record: &Record, failure: &MeasurementFailure, quote: Quote) -> String {
    let plan = &record.header.plan;
    let audience = Audience::of(plan);
    let shown = record.path.display();
    let named = |arm: usize| named(plan, arm);
    let rows = &record.rows;
    // A control is no run of a command.
    let is_run = |index: usize| !plan.arms[rows.arm(index)].role.is_control();
    let kept = match rows.len() {
        0 => "no run had finished".into(),
        _ if rows.measurements().any(is_run) => format!("the finished runs are in {shown}"),
        _ => format!("no timed run had succeeded; what is known of this one is in {shown}"),
    };
    match failure {
        MeasurementFailure::Run { arm, exit, timed_out, stderr, .. } => {
            let command = named(*arm);
            let how = match (*timed_out, audience) {
                (true, Audience::Suite) => "took longer than its timeout".into(),
                (true, _) => "took longer than --timeout".into(),
                (false, _) => exit_in_words(*exit),
            };
            if quote == Quote::Step {
                let said = if stderr.trim().is_empty() { String::new() } else { tail(stderr) };
                return format!("{command} {how}{said}");
            }
            let advice = advice(audience, *exit, *timed_out);
            let said = if quote == Quote::Here { tail(stderr) } else { String::new() };
            format!("{command} {how}; {advice}; {kept}{said}")
        }
        MeasurementFailure::Hook { hook: Hook::Validate, arm, command, exit, stderr, .. } => {
            let said = if quote == Quote::InSummary { String::new() } else { tail(stderr) };
            let what = format!("the output of {} is not valid", named(*arm));
            format!("{what}: {command:?} {}; {kept}{said}", exit_in_words(*exit))
        }
        MeasurementFailure::Hook { hook, command, exit, stderr, .. } => {
            let option = audience.name(match hook {
                Hook::Setup => OptionName::Setup,
                Hook::Prepare => OptionName::Prepare,
                Hook::Conclude => OptionName::Conclude,
                Hook::Cleanup | Hook::Validate => OptionName::Cleanup,
            });
            let how = exit_in_words(*exit);
            format!("the hook {option} {command:?} {how}; {kept}{}", tail(stderr))
        }
        MeasurementFailure::Survivors(left) => {
            let command = named(left.arm as usize);
            format!("{command} {}; {kept}", left_behind(left, audience))
        }
        MeasurementFailure::Value { arm, why, stderr, .. } => {
            let said = if quote == Quote::InSummary { String::new() } else { tail(stderr) };
            format!("{} did not say its value: {why}; {kept}{said}", named(*arm))
        }
        MeasurementFailure::NotCounted { arm, exit, uncounted, stderr, .. } => {
            let (command, said) = (named(*arm), tail(stderr));
            let how = not_counted(plan, *exit, uncounted);
            let remedy = audience.words(
                &prose![Counter " pmu needs no valgrind, " DecideOn " can name another metric"],
            );
            format!("{command} was not counted: {how}; {remedy}; {kept}{said}")
        }
        MeasurementFailure::Worker { arm, failure } => {
            worker::explain_arm(&named(*arm), &plan.arms[*arm], &kept, failure, audience)
        }
        MeasurementFailure::Start { why, .. } => audience.words(why),
        MeasurementFailure::Unfit { why } => format!("{why}; {kept}"),
        MeasurementFailure::Record { error, .. } => format!("{error}; {kept}"),
    }
}

/// An arm in words, by its benchmark if it has one: with several benchmarks the number of an arm is not the number of
/// its program. A suite says the name of the benchmark before.
fn named(plan: &Plan, arm: usize) -> String {
    let Arm { source, benchmark, .. } = &plan.arms[arm];
    let label = plan.arms[arm].label();
    let kind = match (source, &plan.workers) {
        (Some(_), _) => "statement",
        (None, _) if plan.is_forked() => "function",
        (None, Some(_)) => "program",
        (None, None) => "command",
    };
    match benchmark {
        Some(benchmark) if plan.suite.is_none() && matches!(kind, "program" | "command") => {
            format!("benchmark {benchmark:?} of {label:?}")
        }
        _ => format!("{kind} {} ({label:?})", arm + 1),
    }
}

/// The processes that a run has left behind, and how to go on.
fn left_behind(left: &Survivors, audience: Audience) -> String {
    let (them, conclude) = (processes(left.n_left), audience.name(OptionName::Conclude));
    format!(
        "left {them} behind ({:?}), which would load the later runs; end what it leaves with {conclude}, or allow it \
         with `,allow-processes` behind --fail-on",
        left.name
    )
}

/// Why a run under valgrind has no count.
fn not_counted(plan: &Plan, exit: i32, uncounted: &Uncounted) -> String {
    let before = if plan.n_warmups > 0 { ", which it does not without valgrind" } else { "" };
    let how = match (exit, uncounted.why.as_str()) {
        (0, "") => "there is no count".into(),
        (0, why) => why.to_owned(),
        (exit, _) => format!("under valgrind it {}{before}", exit_in_words(exit)),
    };
    match uncounted.said.as_str() {
        "" => how,
        said => format!("{how}; valgrind said: {}", shorten(said, LINE_MAX)),
    }
}

pub fn code(failure: &MeasurementFailure) -> ErrorCode {
    match failure {
        MeasurementFailure::Run { timed_out: true, .. } => ErrorCode::Timeout,
        MeasurementFailure::Run { .. } | MeasurementFailure::Survivors(_) => {
            ErrorCode::CommandFailed
        }
        MeasurementFailure::Hook { .. } => ErrorCode::HookFailed,
        MeasurementFailure::Value { .. } | MeasurementFailure::NotCounted { .. } => {
            ErrorCode::ValueMissing
        }
        MeasurementFailure::Worker { .. } => ErrorCode::WorkerFailed,
        MeasurementFailure::Start { .. } => ErrorCode::CannotStart,
        MeasurementFailure::Unfit { .. } => ErrorCode::Failed,
        MeasurementFailure::Record { .. } => ErrorCode::RecordFull,
    }
}

/// Returns the remedy for a failed run, if the command itself is correct.
fn advice(audience: Audience, exit: i32, timed_out: bool) -> String {
    match (audience, timed_out) {
        (Audience::Gate | Audience::Workers, true) => "--timeout can be longer".into(),
        (Audience::Gate | Audience::Workers, false) => "run it by itself to see why".into(),
        (Audience::Suite, true) => "`policy.timeout` can be longer".into(),
        (Audience::Suite, false) => {
            let status = if exit < 0 { 128 - exit } else { exit };
            format!("if that is right, `expect_exit = [{status}]` says so")
        }
        (_, true) => "`stillwell run -i` goes on without such runs".into(),
        (_, false) => "`stillwell run -i` goes on in spite of failures".into(),
    }
}

fn tail(stderr: &str) -> String {
    match last_lines(stderr).as_str() {
        "" => "; the command wrote nothing to standard error".into(),
        lines => format!("; the command said:{lines}"),
    }
}

/// The last lines of a stream, each quoted below the one before.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let last = &lines[lines.len().saturating_sub(LINES_MAX)..];
    last.iter().map(|line| format!("\n  | {}", shorten(line, LINE_MAX))).collect()
}

/// Maximum columns of a quoted line. Lines of a traceback are long, and binary output has no line ends.
pub const LINE_MAX: usize = 500;

/// Describes an exit status. A negative value is a signal.
pub fn exit_in_words(exit: i32) -> String {
    if matches!(-exit, libc::SIGTTIN | libc::SIGTTOU) {
        let name = signal_hook::low_level::signal_name(-exit).unwrap_or_default();
        let what = if -exit == libc::SIGTTIN { "read from" } else { "write to or change" };
        // The command's own process group is in the background of the terminal.
        return format!(
            "wanted to {what} the terminal, for which the kernel stopped it ({name}), so it was ended"
        );
    }
    if exit < 0 {
        let name = signal_hook::low_level::signal_name(-exit).unwrap_or("unknown signal");
        format!("was ended by signal {} ({name})", -exit)
    } else {
        format!("exited with {exit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::worker::{FailureCause, OutputTail, WorkerFailure};
    use record::plan::workers::Workers;

    #[test]
    fn only_the_end_of_standard_error_is_shown() {
        let long: String = (0..30).map(|line| format!("line {line}\n")).collect();
        let shown = tail(&long);
        assert!(
            shown.starts_with("; the command said:\n  | line 20\n") && shown.ends_with("line 29"),
            "{shown}"
        );
        assert_eq!(tail("\n"), "; the command wrote nothing to standard error");
    }

    /// A cut in the middle of a line leaves its end.
    #[test]
    fn a_step_that_failed_ends_with_how() {
        let record = record::fixture::record(&["./a"]);
        let failure = MeasurementFailure::Run {
            step: 0,
            arm: 0,
            exit: 3,
            timed_out: false,
            stderr: String::new(),
        };
        let said = explain(&record, &failure, Quote::Step);
        assert_eq!(said, "command 1 (\"./a\") exited with 3");
        // `bench` has no -i.
        assert_eq!(advice(Audience::Workers, 3, false), "run it by itself to see why");
    }

    /// Whether the shell or the command comes first is random.
    #[test]
    fn the_empty_shell_is_no_finished_run() {
        let mut record = record::fixture::record(&["exit 4 | cat"]);
        record::fixture::run(&mut record, 1, Some(0), 1_000_000);
        record::fixture::run(&mut record, 0, None, 1_000_000);
        let failure = MeasurementFailure::Unfit { why: "odd".into() };
        let said = explain(&record, &failure, Quote::Here);
        assert!(said.starts_with("odd; no timed run had succeeded; "), "{said}");
        record::fixture::run(&mut record, 0, Some(0), 1_000_000);
        let said = explain(&record, &failure, Quote::Here);
        assert!(said.starts_with("odd; the finished runs are in "), "{said}");
    }

    /// Its fourth benchmark made `program 4` of the only program.
    #[test]
    fn a_benchmark_that_failed_is_named() {
        let mut record = record::fixture::record(&["./a", "./b"]);
        record.header.plan.workers = Some(Workers::default());
        for (arm, benchmark) in record.header.plan.arms.iter_mut().zip(["ok", "die"]) {
            arm.benchmark = Some(benchmark.into());
        }
        let failure = MeasurementFailure::Worker {
            arm: 1,
            failure: Box::new(WorkerFailure {
                request: Some("run 1".into()),
                what: FailureCause::Died { exit: Some(7) },
                output_tail: OutputTail::default(),
            }),
        };
        let said = |record: &Record| explain(record, &failure, Quote::Here);
        let expected =
            "benchmark \"die\" of \"./b\" (asked to \"run 1\") exited with 7; no run had finished";
        assert_eq!(said(&record), expected);
        // A fork has no program.
        record.header.plan.arms.iter_mut().for_each(|arm| arm.argv.clear());
        assert!(said(&record).starts_with("function 2 (\"./b\") "), "{}", said(&record));
    }

    #[test]
    fn exits_in_words() {
        assert_eq!(exit_in_words(3), "exited with 3");
        assert_eq!(exit_in_words(-9), "was ended by signal 9 (SIGKILL)");
        let expected = "wanted to read from the terminal, for which the kernel stopped it (SIGTTIN), so it was ended";
        assert_eq!(exit_in_words(-21), expected);
    }
}
