//! Asks programs for their benchmark framework and their benchmarks.
#![expect(clippy::disallowed_methods, reason = "reads and executes the programs")]

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, kill_process};

use crate::child_run::pidfd;
use crate::programs;
use crate::supervised::wait_for;
use crate::value::as_user;
use crate::worker::WORKER_ARGUMENT;
use host::sys::{self, User};
use host::user_files::{no_temporary, read_limited, read_whole};
use host::{Host, Process, ScratchDirectory, command_as};
use model::harness::{Harness, HarnessOutput, RESULT_FILE, contains, exact_option};
use model::prose::{Prose, prose};
use model::values::ProcessValue;
use model::words::{bytes_of, reason};
use record::plan::Arm;
use record::plan::programs::ProgramBenchmark;

/// Lines of output that a message quotes.
const QUOTED_LINES: usize = 5;
/// More output than this is not read.
const SAID_BYTES_MAX: u64 = 64 << 20;
/// Largest program that is searched for a framework's marks, MiB.
const PROGRAM_MIB_MAX: u64 = 4096;
/// Longest time between two checks of a program, if the kernel has no pidfds (Linux before 5.3).
const LOOK_NS: u64 = 10_000_000;

/// The user as whom programs are asked, and their time to answer.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    pub run_as: Option<&'a User>,
    pub limit: Duration,
}

/// The framework of a program; `None` if it is none that is known. Errors: the program cannot be executed, or does not
/// answer in time.
pub fn recognise(arm: &Arm, asker: Asker<'_>) -> Result<Option<Harness>, Prose> {
    let Some(file) = file_of(arm, asker.run_as) else { return Ok(None) };
    // A matching name proves nothing for scripts, so they are asked too. For `java -jar FILE`, the benchmarks are in
    // the jar.
    let jars = arm.argv.iter().filter(|word| word.ends_with(".jar"));
    let files = std::iter::once(file).chain(jars.map(|jar| file_in_command(arm, jar)));
    let bytes: Vec<u8> = files.flat_map(|file| program(file.as_ref())).collect();
    let mut may_be = Harness::ALL.into_iter().filter(|it| it.may_have_made(&bytes, &arm.argv));
    let Some(first) = may_be.next() else { return Ok(None) };
    let answer = answer(first, arm, asker)?;
    let mut asked = std::iter::once(first).chain(may_be);
    Ok(asked.find(|harness| harness.has_answered(&answer)))
}

/// Whether a program may speak the worker protocol: its file, or a script in its command, has the protocol's argument.
pub fn may_be_worker(arm: &Arm, run_as: Option<&User>) -> bool {
    let scripts = arm.argv.iter().skip(1).map(|word| file_in_command(arm, word));
    let mut files = file_of(arm, run_as).into_iter().chain(scripts);
    files.any(|file| file.is_file() && contains(&program(&file), WORKER_ARGUMENT.as_bytes()))
}

/// Why a program cannot do a number of iterations. Errors: as of [`recognise`].
pub fn no_exact_iterations(
    harness: Harness,
    arm: &Arm,
    asker: Asker<'_>,
) -> Result<Option<&'static str>, Prose> {
    let Some((sign, why)) = exact_option(harness) else { return Ok(None) };
    Ok((!answer(harness, arm, asker)?.contains(sign)).then_some(why))
}

/// What a program answers to the question of a framework.
fn answer(harness: Harness, arm: &Arm, asker: Asker<'_>) -> Result<String, Prose> {
    let output = execute(&harness.question(&arm.argv), arm, asker)?;
    let answer = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Whether a file may be a program of a framework, or one that speaks the worker protocol.
pub fn is_marked(path: &Path) -> bool {
    let bytes = program(path);
    Harness::ALL.into_iter().any(|harness| harness.may_have_made(&bytes, &[]))
        || contains(&bytes, WORKER_ARGUMENT.as_bytes())
}

fn program(path: &Path) -> Vec<u8> {
    read_limited(path, PROGRAM_MIB_MAX).unwrap_or_default()
}

#[derive(Debug, Default)]
pub struct BenchmarkList {
    pub benchmarks: Vec<ProgramBenchmark>,
    /// Why the program failed. It may have listed some benchmarks: some frameworks list by running all.
    pub failure: Option<String>,
    /// CPU time of the program that made the list.
    pub cpu: CpuTime,
}

/// CPU time of a program and its children.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuTime {
    pub all_ns: u64,
    pub system_ns: u64,
}

impl BenchmarkList {
    pub fn is_empty(&self) -> bool {
        self.benchmarks.is_empty()
    }
}

/// The benchmarks of a framework's program. Errors: the program cannot be executed, or does not answer in time.
pub fn benchmarks(harness: Harness, arm: &Arm, asker: Asker<'_>) -> Result<BenchmarkList, Prose> {
    let listing = harness.listing(&arm.argv);
    let (output, text) = execute_for_result(harness, &listing, &[], arm, asker)?;
    let names = harness.list(&text);
    let how = match output.exit {
        0 => None,
        status @ 1.. => Some(format!("it exited with {status}")),
        signal => Some(format!("signal {} ended it", -signal)),
    };
    let asked =
        |how: &str| format!("asked for its {} benchmarks, {how}{}", harness.name(), said(&output));
    let failure = how.map(|how| asked(&how));
    let listed = |name: String| ProgramBenchmark {
        iteration_ns: harness.listed_ns(&text, &name),
        name,
        inner_loops: 1,
        has_own_timer: true,
        harness: Some(harness),
        together: Vec::new(),
    };
    Ok(BenchmarkList {
        benchmarks: names.into_iter().map(listed).collect(),
        failure,
        cpu: output.cpu,
    })
}

/// The time of an iteration, measured by one short process, ns; `None` if it prints none. Errors: the program cannot be
/// executed, or does not end in time.
pub fn iteration_ns(
    harness: Harness,
    arm: &Arm,
    benchmark: &str,
    asker: Asker<'_>,
) -> Result<Option<f64>, Prose> {
    let command = harness.command(&arm.argv, benchmark, None);
    let (_, text) = execute_for_result(harness, &command, harness.environment(), arm, asker)?;
    Ok(harness.value_ns(benchmark, &text, ProcessValue::Low))
}

/// Executes a framework's program with a file for its result, in its words and its variables. Returns its answer, and
/// the text that has the result.
fn execute_for_result(
    harness: Harness,
    words: &[String],
    variables: &[(&str, &str)],
    arm: &Arm,
    asker: Asker<'_>,
) -> Result<(Answer, String), Prose> {
    let folder = folder_of_results(asker.run_as)
        .map_err(|error| format!("{}: {}", no_temporary(), reason(error)))?;
    let file = folder.path().join("result");
    let shown = file.to_string_lossy();
    let filled = |word: &str| word.replace(RESULT_FILE, &shown);
    let words: Vec<String> = words.iter().map(|word| filled(word)).collect();
    let own = variables.iter().map(|(name, value)| ((*name).into(), filled(value)));
    let environment = arm.environment.iter().cloned().chain(own).collect();
    let output = execute(&words, &Arm { environment, ..arm.clone() }, asker)?;
    let text = match harness.output() {
        HarnessOutput::File => read_whole(&file).unwrap_or_default(),
        HarnessOutput::Stdout | HarnessOutput::Folder(_) => output.stdout.clone(),
    };
    Ok((output, String::from_utf8_lossy(&text).into_owned()))
}

pub(super) fn folder_of_results(run_as: Option<&User>) -> std::io::Result<ScratchDirectory> {
    as_user(run_as, ScratchDirectory::new)
}

fn file_in_command(arm: &Arm, word: &str) -> PathBuf {
    Path::new(arm.directory(None).unwrap_or_default()).join(word)
}

/// The file of a program; `None` if it does not exist, which the caller reports.
fn file_of(arm: &Arm, run_as: Option<&User>) -> Option<PathBuf> {
    let program = programs::seen_from(arm.directory(None), arm.argv.first()?);
    programs::find_here(&program, run_as).ok()
}

/// The answer of a finished program.
struct Answer {
    /// The exit status, or minus the signal that ended the program.
    exit: i32,
    cpu: CpuTime,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

fn execute(words: &[String], arm: &Arm, asker: Asker<'_>) -> Result<Answer, Prose> {
    let bytes: Vec<Vec<u8>> = words.iter().map(|word| bytes_of(word)).collect();
    let Some((program, arguments)) = bytes.split_first() else {
        return Err("there is no program".into());
    };
    let mut command = command_as(OsStr::from_bytes(program), asker.run_as);
    command.args(arguments.iter().map(|word| OsStr::from_bytes(word))).stdin(Stdio::null());
    command.envs(arm.environment.iter().map(|(name, value)| (name, value)));
    if let Some(directory) = arm.directory(None) {
        command.current_dir(Path::new(directory));
    }
    // Files, not pipes: nothing must be read while the program runs, or after its end if its children go on.
    let [mut stdout, mut stderr] = [said_file()?, said_file()?];
    let share = |file: &File| file.try_clone().map_err(reason);
    command.stdout(share(&stdout)?).stderr(share(&stderr)?);
    let mut child =
        command.spawn().map_err(|error| format!("it cannot be executed: {}", reason(error)))?;
    if !has_ended_within(&child, asker.limit)? {
        kill_with_descendants(child.id());
        child.wait().ok();
        let asked = words.get(arm.argv.len()..).unwrap_or_default().join(" ");
        let limit_s = asker.limit.as_secs_f64();
        return Err(prose![
            "asked with {asked}, it did not end within {limit_s} s; give it longer with " Timeout
        ]);
    }
    let (exit, usage) = sys::reap(child.id().cast_signed()).map_err(reason)?;
    let cpu =
        CpuTime { all_ns: 1000 * (usage.user_us + usage.sys_us), system_ns: 1000 * usage.sys_us };
    Ok(Answer { exit, cpu, stdout: text_in(&mut stdout)?, stderr: text_in(&mut stderr)? })
}

/// Kills a process and its descendants, except for orphans.
fn kill_with_descendants(root: u32) {
    let host = Host::new("/");
    let parents: Vec<(u32, u32)> =
        Process::all(&host).map(|(pid, process)| (pid, process.parent)).collect();
    let mut pids = vec![root];
    let mut next = 0;
    while let Some(&parent) = pids.get(next) {
        pids.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    for pid in pids.into_iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
        kill_process(pid, Signal::KILL).ok();
    }
}

fn said_file() -> Result<File, String> {
    tempfile::tempfile().map_err(|error| format!("{}: {}", no_temporary(), reason(error)))
}

fn text_in(file: &mut File) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    file.rewind().map_err(reason)?;
    file.take(SAID_BYTES_MAX).read_to_end(&mut bytes).map_err(reason)?;
    Ok(bytes)
}

/// Waits for the end of a program, up to a limit.
fn has_ended_within(child: &Child, limit: Duration) -> Result<bool, String> {
    let pid = child.id().cast_signed();
    let pidfd = pidfd(pid);
    let deadline = Instant::now() + limit;
    loop {
        if sys::has_exited(pid) {
            return Ok(true);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let left_ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
        let mut fds: Vec<PollFd<'_>> =
            pidfd.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let look_ns = if fds.is_empty() { left_ns.min(LOOK_NS) } else { left_ns };
        wait_for(&mut fds, look_ns).map_err(|error| error.to_string())?;
    }
}

/// The end of the output, for a message.
fn said(output: &Answer) -> String {
    let text = [&output.stderr[..], &output.stdout[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(QUOTED_LINES);
    let quoted: String = lines[from..].iter().map(|line| format!("\n  | {line}")).collect();
    if quoted.is_empty() { "; it said nothing".into() } else { format!("; it said:{quoted}") }
}
