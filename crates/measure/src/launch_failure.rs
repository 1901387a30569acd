//! The failures of jobs, and the messages about children that failed before they executed their program.
#![expect(clippy::disallowed_methods, reason = "reads the beginning of a program")]

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use crate::MeasurementFailure;
use crate::jobs::{JobOrigin, JobPurpose};
use crate::wire::BatchStop;
use host::sys::Stage;
use host::{Host, why_no_process};
use model::prose::{Prose, prose};
use model::values::OutputTarget;
use model::words::reason;
use record::plan::{Arm, Plan};
use record::schedule::Step;

/// The failure behind a stop; `None` after an interrupt.
pub(super) fn failure_of(
    plan: &Plan,
    step: &Step,
    origin: JobOrigin<'_>,
    stop: BatchStop,
) -> Option<MeasurementFailure> {
    let (step, arm) = (step.step, step.arm as usize);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Some(match (stop, origin.purpose) {
        (BatchStop::Interrupted, _) => return None,
        (BatchStop::Failed { exit, timed_out, stderr }, JobPurpose::Run) => {
            MeasurementFailure::Run { step, arm, exit, timed_out, stderr: text(stderr) }
        }
        (BatchStop::Failed { exit, stderr, .. }, JobPurpose::Hook(hook)) => {
            let (command, stderr) = (origin.hook.into(), text(stderr));
            MeasurementFailure::Hook { hook, step, arm, command, exit, stderr }
        }
        (BatchStop::NoValue { why, stderr }, _) => {
            MeasurementFailure::Value { step, arm, why, stderr: text(stderr) }
        }
        (BatchStop::NotCounted { exit, uncounted, stderr }, _) => {
            MeasurementFailure::NotCounted { step, arm, exit, uncounted, stderr: text(stderr) }
        }
        (BatchStop::Launch { stage, errno }, _) => {
            let Arm { argv, output, .. } = &plan.arms[arm];
            let arm = (origin.purpose == JobPurpose::Run).then_some(arm);
            let why = explain_launch(plan, &argv[0], output, stage, errno);
            MeasurementFailure::Start { arm, why }
        }
        (BatchStop::Record { error, line }, _) => MeasurementFailure::Record { error, line },
    })
}

fn open_output(output: &OutputTarget) -> String {
    match output {
        OutputTarget::File(path) => format!("open {path} for the output"),
        _ => "open the output".into(),
    }
}

/// The message: step, cause and remedy.
fn explain_launch(
    plan: &Plan,
    program: &str,
    output: &OutputTarget,
    stage: Stage,
    errno: i32,
) -> Prose {
    if (stage, errno) == (Stage::Exec, libc::ENOENT)
        && let Some(why) = missing_interpreter(program)
    {
        return format!("cannot execute {program:?}: {why}").into();
    }
    let cause = reason(std::io::Error::from_raw_os_error(errno));
    let process = &plan.process;
    let (what, advice): (String, Prose) = match (stage, errno) {
        (Stage::Exec, libc::ENOEXEC) => (
            format!("execute {program:?}"),
            "it is neither a binary for this machine nor a script with a #! line".into(),
        ),
        (Stage::Exec, libc::ENOENT) => (
            format!("execute {program:?}"),
            "the file is there, but not the interpreter or loader it names".into(),
        ),
        (Stage::Exec, libc::E2BIG) => (
            format!("execute {program:?}"),
            prose!["shorten the command line or the environment (" EnvPadding " off)"],
        ),
        (Stage::Exec, _) => (format!("execute {program:?}"), "check its permissions".into()),
        (Stage::Clone, _) => ("make a process".into(), why_no_process(&Host::new("/")).into()),
        (Stage::Stdin, _) => (
            format!(
                "open {} as standard input",
                shell_words::quote(plan.input.as_deref().unwrap_or("?"))
            ),
            prose!["check " Input],
        ),
        (Stage::Stdout | Stage::Stderr, _) => (open_output(output), "check --output".into()),
        (Stage::Affinity, _) => (
            format!("run on CPUs {:?}", process.affinity),
            prose!["those CPUs are offline or not allowed; check " Affinity],
        ),
        (Stage::Memory, _) => (
            "take its memory from the nodes that were chosen".into(),
            prose!["they are not allowed here, or the kernel has no NUMA; check " Numa],
        ),
        (Stage::Nice, _) => (
            format!("set nice {}", process.nice.unwrap_or(0)),
            "a lower nice level needs root or CAP_SYS_NICE".into(),
        ),
        (Stage::Policy, _) => {
            let policy = process.sched.map(|sched| sched.to_string()).unwrap_or_default();
            (
                format!("set the scheduling policy {policy}"),
                "real-time policies need root or CAP_SYS_NICE".into(),
            )
        }
        (Stage::Personality, _) => (
            "switch address space randomisation off".into(),
            prose!["a seccomp filter forbids it; leave " NoAslr " out"],
        ),
        (Stage::User, _) => (
            "become the user who called sudo".into(),
            "use --as-root, or run stillwell as that user".into(),
        ),
        (Stage::Directory, _) => {
            ("go to the directory it runs in".into(), "check that it is there (`cwd`)".into())
        }
        (Stage::Descriptor, _) => {
            ("hand a pipe to it".into(), "check the limit on open files (ulimit -n)".into())
        }
    };
    prose!["cannot {what}: {cause}; "(advice)]
}

/// A script's first line and an ELF file's program headers fit.
const BEGINNING_BYTES: u64 = 4096;

/// The missing program, and what to do; `None` if the file does not tell.
fn missing_interpreter(program: &str) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(program).ok()?.take(BEGINNING_BYTES).read_to_end(&mut bytes).ok()?;
    if let Some(rest) = bytes.strip_prefix(b"#!") {
        let line = rest.split(|&byte| byte == b'\n').next()?;
        let is_crlf = line.ends_with(b"\r");
        let line = String::from_utf8_lossy(line);
        let interpreter = line.split_whitespace().next()?;
        return Some(
            if is_crlf && !line.trim().contains([' ', '\t']) && Path::new(interpreter).exists() {
                format!(
                    "its lines end with CRLF, so the kernel looks for \"{interpreter}\\r\"; \
                 convert them: sed -i 's/\\r$//' {}",
                    shell_words::quote(program)
                )
            } else {
                format!(
                    "its interpreter {interpreter} does not exist; install it, or correct the #! line"
                )
            },
        );
    }
    let loader = loader(&bytes)?;
    let missing = !Path::new(&loader).exists();
    missing.then(|| {
        format!("its loader {loader} does not exist; install the C library that it was built for")
    })
}

/// The loader of a 64-bit ELF file.
fn loader(bytes: &[u8]) -> Option<String> {
    let file = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let endian = file.endian().ok()?;
    let headers = file.program_headers(endian, bytes).ok()?;
    let name = headers.iter().find_map(|header| header.interpreter(endian, bytes).ok()?)?;
    Some(String::from_utf8_lossy(name).into_owned())
}
