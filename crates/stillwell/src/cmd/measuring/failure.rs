//! A failure in words: what failed, how, and the end of what it said.

use crate::cmd::measuring::worker_failure;
use crate::measure::{Failure, Hook};
use crate::record::Record;

/// Lines of standard error that are shown.
const STDERR_LINES_MAX: usize = 10;

/// The message for the end of the output.
pub fn explain(record: &Record, failure: &Failure) -> String {
    let plan = &record.header.plan;
    let kept = match record.rows.len() {
        0 => "no run had finished".into(),
        _ => format!("the finished runs are in {}", record.path.display()),
    };
    match failure {
        Failure::Run { arm, exit, timed_out, stderr, .. } => {
            let command = plan.arms[*arm].label();
            let how =
                if *timed_out { "took longer than --timeout".into() } else { exit_in_words(*exit) };
            let advice = if *timed_out {
                "-i goes on without such runs"
            } else {
                "-i goes on in spite of failures"
            };
            format!("command {} ({command:?}) {how}; {advice}; {kept}{}", arm + 1, tail(stderr))
        }
        Failure::Hook { hook: Hook::Validate, arm, command, exit, stderr } => {
            let (label, how) = (plan.arms[*arm].label(), exit_in_words(*exit));
            let what = format!("the output of command {} ({label:?}) is not valid", arm + 1);
            format!("{what}: {command:?} {how}; {kept}{}", tail(stderr))
        }
        Failure::Hook { hook, command, exit, stderr, .. } => {
            let option = match hook {
                Hook::Setup => "--setup",
                Hook::Prepare => "--prepare",
                Hook::Conclude => "--conclude",
                Hook::Cleanup | Hook::Validate => "--cleanup",
            };
            format!(
                "the hook {option} {command:?} {}; {kept}{}",
                exit_in_words(*exit),
                tail(stderr)
            )
        }
        Failure::Worker { arm, failure } => {
            let label = plan.arms[*arm].label();
            {
                let kind = if plan.arms[*arm].source.is_some() { "statement" } else { "program" };
                worker_failure::explain(&format!("{kind} {} ({label:?})", arm + 1), &kept, failure)
            }
        }
        Failure::Start { why } => why.clone(),
        Failure::Record { error, .. } => format!("{error}; {kept}"),
    }
}

/// How a process ended: a status, or minus a signal.
pub fn exit_in_words(exit: i32) -> String {
    if exit < 0 {
        let name = signal_hook::low_level::signal_name(-exit).unwrap_or("unknown signal");
        format!("was ended by signal {} ({name})", -exit)
    } else {
        format!("exited with {exit}")
    }
}

fn tail(stderr: &str) -> String {
    let lines: Vec<&str> = stderr.trim_end().lines().collect();
    let from = lines.len().saturating_sub(STDERR_LINES_MAX);
    let lines: String = lines[from..].iter().map(|line| format!("\n  | {line}")).collect();
    if lines.is_empty() {
        "; it wrote nothing to standard error".into()
    } else {
        format!("; it said:{lines}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exits_in_words() {
        assert_eq!(exit_in_words(3), "exited with 3");
        assert_eq!(exit_in_words(-9), "was ended by signal 9 (SIGKILL)");
    }

    #[test]
    fn only_the_end_of_standard_error_is_shown() {
        let long: String = (0..30).map(|line| format!("line {line}\n")).collect();
        let shown = tail(&long);
        assert!(
            shown.starts_with("; it said:\n  | line 20\n") && shown.ends_with("line 29"),
            "{shown}"
        );
        assert_eq!(tail("\n"), "; it wrote nothing to standard error");
    }
}
