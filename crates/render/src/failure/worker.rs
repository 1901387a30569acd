//! Describes the failure of a worker: the arm, the request, the answer, the remedy, and the end of its output.

use std::io::{self, ErrorKind};

use crate::failure::{exit_in_words, last_lines};
use crate::remedies::Audience;
use host::sys::Stage;
use measure::worker::{AnswerFault, FailureCause, OutputTail, WorkerFailure};
use model::prose::{Prose, prose};
use model::words::reason;
use record::plan::Arm;

/// Formats the message for the end of the output.
/// `arm` names the arm, for example `command 2 ("./bench")`. `kept` tells where the earlier measurements are.
/// `audience` selects the names of options in remedies.
pub fn explain(arm: &str, kept: &str, failure: &WorkerFailure, audience: Audience) -> String {
    // A worker that answers with an error says itself what went wrong.
    let request = match (&failure.request, &failure.what) {
        (Some(request), what) if !matches!(what, FailureCause::ErrorAnswer(_)) => {
            format!(" (asked to {request:?})")
        }
        _ => String::new(),
    };
    let (what, advice) = in_words(&failure.what);
    let advice = advice.map_or_else(String::new, |advice| format!("; {}", audience.words(&advice)));
    format!("{arm}{request} {what}{advice}; {kept}{}", end_of(&failure.output_tail))
}

/// Like [`explain`], with a remedy if the interpreter of a statement ends before the worker's first line: it is not
/// Python, is too old, or refused its arguments.
pub fn explain_arm(
    name: &str,
    arm: &Arm,
    kept: &str,
    failure: &WorkerFailure,
    audience: Audience,
) -> String {
    match failure.what {
        FailureCause::Died { exit: Some(exit @ 0..) } | FailureCause::NotAWorker { exit }
            if arm.source.is_some() && failure.request.is_none() =>
        {
            let (interpreter, how) = (arm.argv.join(" "), exit_in_words(exit));
            format!(
                "{name}: the interpreter {interpreter:?} {how} before it ran the statement; check that it is Python \
                 3.6 or later and knows its arguments; {kept}{}",
                end_of(&failure.output_tail)
            )
        }
        _ => explain(name, kept, failure, audience),
    }
}

/// Describes the event, in words that follow the name of the arm, and its remedy.
fn in_words(what: &FailureCause) -> (String, Option<Prose>) {
    const PROTOCOL: &str = "docs/worker-protocol.md says what a worker answers";
    match what {
        FailureCause::NoProgram(why) => {
            (format!("was not started: {why}"), Some("check its path, or PATH".into()))
        }
        FailureCause::Start { stage, errno } => {
            let (step, advice) = step(*stage);
            (format!("was not started: cannot {step}: {}", cause(*errno)), Some(advice))
        }
        FailureCause::Died { exit: Some(exit) } => (exit_in_words(*exit), None),
        FailureCause::Died { exit: None } => ("ended".into(), None),
        FailureCause::HungUp => ("closed its pipe to Stillwell and went on".into(), Some(PROTOCOL.into())),
        FailureCause::TimedOut(limit) => (
            format!("did not answer within {limit:?}"),
            Some(prose!["allow more with " Timeout ", or see what it waits for"]),
        ),
        FailureCause::Rubbish { line, why } => {
            let why = match why {
                AnswerFault::Form => "answered what is no answer",
                AnswerFault::TooLong => "answered more than an answer may be",
                AnswerFault::Unasked => "said something that it was not asked for",
                AnswerFault::LongerThanPossible => {
                    "answered a time longer than it had taken to answer"
                }
                AnswerFault::FarTooShort => {
                    "answered a time far shorter than it had taken to answer"
                }
            };
            let shown = if line.is_empty() { "an empty line".into() } else { format!("'{line}'") };
            (format!("{why}: {shown}"), Some(PROTOCOL.into()))
        }
        FailureCause::WrongVersion(version) => (
            format!(
                "speaks version {version} of the worker protocol, and this Stillwell version 1"
            ),
            Some("use worker and Stillwell of the same release".into()),
        ),
        FailureCause::ErrorAnswer(text) => (format!("failed: {text}"), None),
        FailureCause::NotAWorker { exit } => (
            format!("{} without having offered any benchmark", exit_in_words(*exit)),
            Some(
                "a benchmark program makes a stillwell.Runner (Python) or includes stillwell.h (C, C++); other programs \
                 are timed as a whole by `stillwell run`"
                    .into(),
            ),
        ),
        FailureCause::Interrupted => ("was interrupted".into(), None),
        FailureCause::System { what, errno } => (
            format!("cannot be used: cannot {what}: {}", cause(*errno)),
            // No limit makes a file disappear.
            (io::Error::from_raw_os_error(*errno).kind() != ErrorKind::NotFound)
                .then(|| "check the limits on open files and memory (ulimit -a)".into()),
        ),
        FailureCause::Over => ("cannot be asked any more: it has failed before".into(), None),
    }
}

/// Names a step of the start, and the remedy if it fails.
fn step(stage: Stage) -> (&'static str, Prose) {
    match stage {
        Stage::Clone => (
            "make a process",
            "check the limits on processes and memory (ulimit -u, ulimit -v, pids.max of the control group)".into(),
        ),
        Stage::Stdin | Stage::Stdout | Stage::Stderr | Stage::Descriptor => {
            ("hand its descriptors to it", "check the limit on open files (ulimit -n)".into())
        }
        Stage::Affinity => {
            ("run on those CPUs", prose!["they are offline or not allowed; check " Affinity])
        }
        Stage::Memory => (
            "take its memory from the nodes that were chosen",
            prose!["they are not allowed here, or the kernel has no NUMA; check " Numa],
        ),
        Stage::Nice => ("set its nice level", "a lower one needs root or CAP_SYS_NICE".into()),
        Stage::Policy => {
            ("set its scheduling policy", "real-time policies need root or CAP_SYS_NICE".into())
        }
        Stage::Personality => (
            "switch address space randomisation off",
            prose!["a seccomp filter forbids it; leave " NoAslr " out"],
        ),
        Stage::Directory => ("go to the directory it runs in", "check that it is there (`cwd`)".into()),
        Stage::User => ("become another user", "run it without sudo".into()),
        Stage::Exec => (
            "execute it",
            "check that it is a binary for this machine, or a script whose #! line names a program that exists".into(),
        ),
    }
}

fn cause(errno: i32) -> String {
    reason(io::Error::from_raw_os_error(errno))
}

/// Quotes the last lines of both streams. An empty stream is not mentioned, because a worker need not print anything.
fn end_of(output_tail: &OutputTail) -> String {
    let mut shown = String::new();
    for (text, stream) in
        [(&output_tail.stdout, "standard output"), (&output_tail.stderr, "standard error")]
    {
        let last = last_lines(text);
        if !last.is_empty() {
            shown += &format!("; its {stream} ended with:{last}");
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::plan::Role;
    use record::plan::workers::WorkerCode;

    #[track_caller]
    fn check(request: Option<&str>, what: FailureCause, output_tail: OutputTail, expected: &str) {
        let failure = WorkerFailure { request: request.map(Into::into), what, output_tail };
        let text =
            explain("command 1 (\"./b\")", "nothing was measured", &failure, Audience::Workers);
        assert_eq!(text, expected);
    }

    #[test]
    fn failures_in_words() {
        let output_tail = |stdout: &str, stderr: &str| OutputTail {
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        check(
            Some("run 10"),
            FailureCause::Died { exit: Some(-11) },
            output_tail("", "a\nb\n"),
            "command 1 (\"./b\") (asked to \"run 10\") was ended by signal 11 (SIGSEGV); nothing was measured; \
             its standard error ended with:\n  | a\n  | b",
        );
        check(
            None,
            FailureCause::NotAWorker { exit: 0 },
            output_tail("42\n", ""),
            "command 1 (\"./b\") exited with 0 without having offered any benchmark; a benchmark program makes a \
             stillwell.Runner (Python) or includes stillwell.h (C, C++); other programs are timed as a whole by \
             `stillwell run`; nothing was measured; its standard output ended with:\n  | 42",
        );
        check(
            Some("collect"),
            FailureCause::Rubbish { line: "oh".into(), why: AnswerFault::Form },
            output_tail("", ""),
            "command 1 (\"./b\") (asked to \"collect\") answered what is no answer: 'oh'; docs/worker-protocol.md says \
             what a worker answers; nothing was measured",
        );
        check(
            None,
            FailureCause::Start { stage: Stage::Exec, errno: libc::ENOEXEC },
            output_tail("", ""),
            "command 1 (\"./b\") was not started: cannot execute it: Exec format error; check that it is \
             a binary for this machine, or a script whose #! line names a program that exists; nothing was measured",
        );
    }

    #[test]
    fn an_interpreter_that_is_no_python_is_named() {
        let argv = vec!["sh".into(), "-Q".into()];
        let source = Some(WorkerCode::default());
        let arm = Arm { source, argv, ..Arm::bare("pass", Role::Candidate) };
        let said = |request: Option<&str>, what: FailureCause| {
            let request = request.map(Into::into);
            let failure = WorkerFailure { request, what, output_tail: OutputTail::default() };
            explain_arm("statement 1", &arm, "no run", &failure, Audience::Workers)
        };
        let expected = "statement 1: the interpreter \"sh -Q\" exited with 2 before it ran the statement; check that it \
                        is Python 3.6 or later and knows its arguments; no run";
        assert_eq!(said(None, FailureCause::NotAWorker { exit: 2 }), expected);
        assert_eq!(said(None, FailureCause::Died { exit: Some(2) }), expected);
        // The statement itself, and a signal from outside.
        let later = said(Some("run 1"), FailureCause::Died { exit: Some(2) });
        assert_eq!(later, "statement 1 (asked to \"run 1\") exited with 2; no run");
        let killed = said(None, FailureCause::Died { exit: Some(-9) });
        assert_eq!(killed, "statement 1 was ended by signal 9 (SIGKILL); no run");
    }

    #[test]
    fn only_the_last_lines_are_shown() {
        let stdout: String = (0..30).map(|line| format!("line {line}\n")).collect();
        let shown = end_of(&OutputTail { stdout, stderr: String::new() });
        assert!(shown.starts_with("; its standard output ended with:\n  | line 20\n"), "{shown}");
        assert!(shown.ends_with("line 29"), "{shown}");
    }
}
