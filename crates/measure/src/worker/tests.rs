//! Real processes: workers written in the shell or in Python, good ones and bad ones.
#![expect(clippy::disallowed_methods, reason = "these tests look at processes from outside")]

mod forked;
mod orphans;

use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use host::sys::CpuMask;

use super::*;

/// Opens the pipes as 3 and 4: dash knows no higher numbers.
const SHELL: &str = "fds=${1#*=}; exec 3</proc/self/fd/${fds%,*} 4>/proc/self/fd/${fds#*,}
    say() { printf '%s\\n' \"$*\" >&4; }
    ask() { read -r request <&3; }\n";

const PYTHON: &str = "
import os, sys, time
r, w = map(int, sys.argv[1].split('=')[1].split(','))
requests = os.fdopen(r, 'rb', 0)
def say(line): os.write(w, line.encode() + b'\\n')
def ask(): return requests.readline().decode().split()
";

const SERVE: &str = "
say('stillwell 1 language=python source=1 gc=1 note=two\\\\x20words')
code = {}
while True:
    words = ask()
    if not words or words[0] == 'quit':
        say('bye')
        break
    elif words[0] == 'list':
        say('benchmark a\\nbenchmark b\\\\x20c inner_loops=10\\nend')
    elif words[0] == 'metadata':
        say('meta chosen ' + chosen + '\\nmeta bytes ' + str(len(code['statement'])) + '\\nend')
    elif words[0] == 'select':
        chosen = words[1]
        say('ok')
    elif words[0] == 'source':
        left = int(words[2])
        code[words[1]] = b''
        while len(code[words[1]]) < left:
            code[words[1]] += requests.read(left - len(code[words[1]]))
        say('ok')
    elif words[0] == 'run':
        wall, cpu = time.monotonic(), time.process_time()
        for i in range(int(words[1])): pass
        wall, cpu = time.monotonic() - wall, time.process_time() - cpu
        say('time %d %d loops=%s' % (wall * 1e9, cpu * 1e9, words[1]))
    elif words[0] in ('compile', 'gc', 'collect'):
        say('ok')
    else:
        say('error unknown\\\\x20request')
";

fn launch(argv: &[&str]) -> WorkerLaunch {
    use std::os::unix::ffi::OsStrExt as _;
    let entry = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        [name.as_bytes(), b"=", value.as_bytes()].concat()
    };
    WorkerLaunch {
        argv: argv.iter().map(|word| word.as_bytes().to_vec()).collect(),
        environment: std::env::vars_os().map(entry).collect(),
        attributes: Attributes::default(),
    }
}

fn start(argv: &[&str], request_limits: &RequestLimits) -> Result<Worker, WorkerFailure> {
    host::sys::stop_ignoring_children();
    Worker::start(&mut Launcher::default(), &launch(argv), request_limits)
}

fn shell_with(script: &str, request_limits: &RequestLimits) -> Worker {
    start(&["/bin/sh", "-c", &format!("{SHELL}{script}"), "sh"], request_limits).unwrap()
}

fn shell(script: &str) -> Worker {
    shell_with(script, &RequestLimits::default())
}

fn python(script: &str) -> Worker {
    start(&["python3", "-c", &format!("{PYTHON}{script}")], &RequestLimits::default()).unwrap()
}

/// Checks that neither the process nor its zombie exists.
#[track_caller]
fn check_gone(pid: i32) {
    let error = host::sys::reap(pid).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ECHILD), "process {pid} was not reaped");
}

#[track_caller]
fn check_hello(mut worker: Worker) -> WorkerFailure {
    let failure = worker.hello().unwrap_err();
    assert_eq!(failure.request, None);
    check_gone(worker.pid());
    assert_eq!(worker.collect().unwrap_err().what, FailureCause::Over);
    failure
}

#[track_caller]
fn check_run(mut worker: Worker) -> WorkerFailure {
    worker.hello().unwrap();
    let failure = worker.run_loops(7, false).unwrap_err();
    assert_eq!(failure.request.as_deref(), Some("run 7"));
    check_gone(worker.pid());
    failure
}

#[test]
fn everything_that_can_be_asked() {
    let mut worker = python(SERVE);
    let facts = worker.hello().unwrap();
    assert!(facts.is("source") && facts.get("note") == Some("two words"));
    let benchmarks = worker.list().unwrap();
    let found: Vec<_> = benchmarks.iter().map(|it| (it.name.as_str(), it.inner_loops)).collect();
    assert_eq!(found, [("a", 1), ("b c", 10)]);
    worker.select("b c\\ü").unwrap();
    worker.source("setup", "").unwrap();
    // More than a pipe takes.
    worker.source("statement", &"x + y\n".repeat(100_000)).unwrap();
    worker.compile(3).unwrap();
    worker.gc(false).unwrap();
    worker.collect().unwrap();
    let first = worker.run_loops(1000, false).unwrap();
    let second = worker.run_loops(2000, false).unwrap();
    assert!(first.wall_ns > 0 && first.wall_ns <= first.round_trip_ns);
    assert!(second.started_ns >= first.started_ns + first.round_trip_ns);
    assert_eq!(second.counters, [("loops".to_owned(), 2000)]);
    assert!(second.maxrss_kib > Some(1000) && second.cpu.is_some());
    assert!(second.voluntary_switches.is_some() && second.involuntary_switches.is_some());
    assert_eq!(worker.n_threads(), Some(1));
    let failure = worker.tracemalloc(5).unwrap_err();
    assert_eq!(failure.what, FailureCause::ErrorAnswer("unknown request".into()));
    // The worker still answers.
    let metadata = worker.metadata().unwrap();
    let expected = [("chosen", "b c\\ü"), ("bytes", "600000")];
    assert_eq!(metadata, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let pid = worker.pid();
    let ended = worker.quit().unwrap();
    assert!(ended.exit == Some(0) && !ended.killed);
    check_gone(pid);
}

#[test]
fn a_program_that_is_no_worker() {
    let failure = check_hello(shell("exit 0"));
    assert_eq!(failure.what, FailureCause::NotAWorker { exit: 0 });
    let failure = check_hello(shell("echo 'Usage: sh FILE' >&2; exit 2"));
    assert_eq!(failure.what, FailureCause::NotAWorker { exit: 2 });
    let failure = check_hello(shell("echo \"unknown option $1\"; exit 64"));
    assert_eq!(failure.what, FailureCause::NotAWorker { exit: 64 });
}

#[test]
fn a_program_that_fails_before_its_first_line() {
    let failure = check_hello(python("import no_such_module_at_all"));
    assert_eq!(failure.what, FailureCause::Died { exit: Some(1) });
    let last = failure.output_tail.stderr.lines().last().unwrap().to_owned();
    assert!(last.contains("No module named 'no_such_module_at_all'"), "{last}");
    let failure = check_hello(shell("printf 'stillwell 1' >&4; kill -SEGV $$"));
    assert_eq!(failure.what, FailureCause::Died { exit: Some(-libc::SIGSEGV) });
}

#[test]
fn first_lines_that_are_none() {
    let failure = check_hello(shell("say '{\"hello\":\"wörld\"}'; ask"));
    let FailureCause::Rubbish { line, why: AnswerFault::Form } = failure.what else {
        panic!("{failure:?}")
    };
    assert_eq!(line, "{\\\"hello\\\":\\\"wörld\\\"}");
    let failure = check_hello(shell("say stillwell 2 all=new; ask"));
    assert_eq!(failure.what, FailureCause::WrongVersion("2".into()));
    let failure = check_hello(shell("printf 'stillwell 1\\nok\\n' >&4; ask"));
    let expected = FailureCause::Rubbish { line: "ok\\n".into(), why: AnswerFault::Unasked };
    assert_eq!(failure.what, expected);
}

#[test]
fn a_worker_that_dies_in_the_middle() {
    let failure = check_run(shell("say stillwell 1; ask; echo out; echo err >&2; kill -KILL $$"));
    assert_eq!(failure.what, FailureCause::Died { exit: Some(-libc::SIGKILL) });
    assert_eq!(failure.output_tail, OutputTail { stdout: "out\n".into(), stderr: "err\n".into() });
    let failure = check_run(shell("say stillwell 1; ask; exit 0"));
    assert_eq!(failure.what, FailureCause::Died { exit: Some(0) });
    // It had ended before it was asked, and said something.
    let mut worker = shell("say stillwell 1; echo over >&2; exit 3");
    worker.hello().unwrap();
    assert_eq!(wait_for_end(&mut worker.process, &WaitLimits::default()), Ok(true));
    let failure = worker.run_loops(7, false).unwrap_err();
    assert_eq!(failure.what, FailureCause::Died { exit: Some(3) });
    assert_eq!(failure.output_tail.stderr, "over\n");
}

#[test]
fn a_traceback_is_kept() {
    let failure = check_run(python("say('stillwell 1')\nask()\n1 / 0"));
    assert_eq!(failure.what, FailureCause::Died { exit: Some(1) });
    assert!(failure.output_tail.stderr.contains("Traceback"));
    assert!(failure.output_tail.stderr.trim_end().ends_with("ZeroDivisionError: division by zero"));
}

#[test]
fn answers_that_are_none() {
    for (script, expected) in [
        ("say time 1", AnswerFault::Form),
        ("say ok", AnswerFault::Form),
        ("say time 1 1 a=b", AnswerFault::Form),
        ("printf 'time 1 1\\ntime 1 1\\n' >&4", AnswerFault::Unasked),
        ("say time 9000000000000000000 1", AnswerFault::LongerThanPossible),
        ("head -c 70000 /dev/zero | tr '\\0' x >&4", AnswerFault::TooLong),
    ] {
        let failure = check_run(shell(&format!("say stillwell 1; ask; {script}; ask")));
        let FailureCause::Rubbish { line, why } = failure.what else {
            panic!("{script}: {failure:?}")
        };
        assert_eq!(why, expected, "{script}");
        assert!(line.len() <= 200);
    }
}

#[test]
fn a_second_answer_that_comes_late_is_not_taken_for_the_next() {
    let mut worker = shell("say stillwell 1; ask; say ok; say ok; ask; ask");
    worker.hello().unwrap();
    // Both lines arrive at once, or the second one before the next request.
    let mut first = worker.collect();
    while first.is_ok() {
        first = worker.collect();
    }
    let what = first.unwrap_err().what;
    assert!(
        matches!(
            what,
            FailureCause::Rubbish { why: AnswerFault::Unasked, .. } | FailureCause::Died { .. }
        ),
        "{what:?}"
    );
    check_gone(worker.pid());
}

#[test]
fn a_list_without_end_ends() {
    let mut worker = shell("say stillwell 1; ask; exec yes benchmark x >&4");
    worker.hello().unwrap();
    let what = worker.list().unwrap_err().what;
    assert!(matches!(what, FailureCause::Rubbish { why: AnswerFault::TooLong, .. }), "{what:?}");
}

#[test]
fn an_error_answer_leaves_the_worker_usable() {
    let mut worker =
        shell("say stillwell 1; ask; say error 'NameError:\\x20x'; ask; say ok; ask; say bye");
    worker.hello().unwrap();
    let failure = worker.select("a b").unwrap_err();
    assert_eq!(failure.request.as_deref(), Some("select a\\\\x20b"));
    assert_eq!(failure.what, FailureCause::ErrorAnswer("NameError: x".into()));
    worker.collect().unwrap();
    assert_eq!(worker.quit().unwrap().exit, Some(0));
}

#[test]
fn a_worker_that_hangs_is_killed_with_all_its_children() {
    let timeout = Duration::from_millis(300);
    // The child has the worker's pipes, too. A fact is the only way to know its pid.
    let mut worker = shell("sleep 1000 & say stillwell 1 child=$!; ask; wait");
    let child: i32 = worker.hello().unwrap().get("child").unwrap().parse().unwrap();
    let child = pidfd_open(Pid::from_raw(child).unwrap(), PidfdFlags::empty());
    worker.request_limits.timeout = Some(timeout);
    let failure = check_run(worker);
    assert_eq!(failure.what, FailureCause::TimedOut(timeout));
    if let Ok(child) = child {
        poll(&mut [PollFd::new(&child, PollFlags::IN)], None).unwrap();
    }
}

#[test]
fn a_dead_worker_is_noticed_though_its_child_holds_the_pipe() {
    let failure = check_run(shell("say stillwell 1; ask; sleep 1000 & exit 4"));
    assert_eq!(failure.what, FailureCause::Died { exit: Some(4) });
}

#[test]
fn a_worker_that_closes_its_pipe_and_stays() {
    let failure =
        check_run(python("import signal\nsay('stillwell 1')\nask()\nos.close(w)\nsignal.pause()"));
    assert_eq!(failure.what, FailureCause::HungUp);
}

#[test]
fn a_worker_that_reads_nothing_is_timed_out() {
    let timeout = Duration::from_millis(300);
    let mut worker = shell("say stillwell 1; sleep 1000");
    worker.hello().unwrap();
    worker.request_limits.timeout = Some(timeout);
    let failure = worker.source("statement", &"x".repeat(1 << 20)).unwrap_err();
    assert_eq!(failure.what, FailureCause::TimedOut(timeout));
    check_gone(worker.pid());
}

#[test]
fn a_flood_of_output_stops_nobody() {
    let script = "say('stillwell 1')
while ask()[0] == 'run':
    for i in range(100): os.write(1, b'x' * 99999 + b'\\n'); os.write(2, b'y' * 100000)
    say('time 1 1')
print('last', flush=True)
say('bye')";
    let mut worker = python(script);
    worker.hello().unwrap();
    worker.run_loops(1, false).unwrap();
    worker.run_loops(1, false).unwrap();
    let ended = worker.quit().unwrap();
    assert!(
        ended.output_tail.stdout.ends_with("x\nlast\n") && ended.output_tail.stderr.ends_with('y')
    );
    assert!(ended.output_tail.stdout.len() <= 4096);
}

#[test]
fn an_interrupt_ends_the_wait_and_is_then_over() {
    let (interrupt, mut signals) = Interrupt::by_hand();
    let request_limits = RequestLimits { timeout: None, interrupt: Some(Rc::new(interrupt)) };
    let worker = shell_with("say stillwell 1; ask; ask", &request_limits);
    let mut other = shell_with("say stillwell 1; ask; say bye", &request_limits);
    other.hello().unwrap();
    let ask = |mut worker: Worker, signals: &mut UnixStream| {
        worker.hello().unwrap();
        signals.write_all(b"x").unwrap();
        let failure = worker.run_loops(1, false).unwrap_err();
        check_gone(worker.pid());
        failure
    };
    assert_eq!(ask(worker, &mut signals).what, FailureCause::Interrupted);
    assert!(!other.quit().unwrap().killed, "the same signal does not count twice");
}

#[test]
fn what_ends_by_itself_after_the_list_is_fine() {
    let mut worker = shell("say stillwell 1; ask; say benchmark a; say end; exit 0");
    worker.hello().unwrap();
    assert_eq!(worker.list().unwrap().len(), 1);
    let ended = worker.quit().unwrap();
    assert!(ended.exit == Some(0) && !ended.killed);
}

#[test]
fn programs_that_cannot_be_started() {
    let failure = start(&["no-such-program-anywhere"], &RequestLimits::default()).unwrap_err();
    assert!(matches!(failure.what, FailureCause::NoProgram(_)), "{failure:?}");
    let mut launcher = Launcher::default();
    let mut launch = launch(&["true"]);
    launch.attributes.affinity = Some(CpuMask::default());
    let failure = Worker::start(&mut launcher, &launch, &RequestLimits::default()).unwrap_err();
    let expected = FailureCause::Start { stage: host::sys::Stage::Affinity, errno: libc::EINVAL };
    assert_eq!(failure.what, expected);
}

#[test]
fn a_worker_gets_its_own_pipes_only_and_no_ignored_signals() {
    let mut first = shell("say stillwell 1; ask");
    let mut second = shell("say stillwell 1; ask");
    first.hello().unwrap();
    second.hello().unwrap();
    let pipes = first.channel.inodes();
    let directory = format!("/proc/{}/fd", second.pid());
    for entry in std::fs::read_dir(directory).unwrap() {
        // A file opened by name, such as /dev/null, has an inode of another file system.
        let meta = std::fs::metadata(entry.unwrap().path()).unwrap();
        assert!(!pipes.contains(&(meta.dev(), meta.ino())));
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", second.pid())).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    assert_eq!(ignored >> (libc::SIGPIPE - 1) & 1, 0);
}

#[test]
fn a_dropped_worker_is_gone() {
    let mut worker = shell("say stillwell 1; while :; do :; done");
    worker.hello().unwrap();
    let pid = worker.pid();
    drop(worker);
    check_gone(pid);
}
