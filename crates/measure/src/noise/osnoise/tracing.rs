//! Turns osnoise on for some CPUs and some time, and always off again.
//!
//! The tracer's threads stay until it is turned off. So a separate process, this program executed again, turns it off
//! when its standard input ends, even if its parent is killed. If both are killed, the next process recognises the
//! remaining instance by its name, which contains the earlier `osnoise/cpus`.
#![expect(clippy::disallowed_methods, reason = "this is where the tracer is turned on and off")]

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, anyhow, bail};
use rustix::event::{PollFd, PollFlags};

use crate::clock::monotonic_ns;
use crate::interrupt::Interrupt;
use crate::noise::osnoise::{Osnoise, parse};
use crate::supervised::wait_for;
use host::sys;
use host::{Gap, Host};
use model::values::{exit_code, format_cpu_list};
use model::words::in_words;

/// `argv[0]` of the process that turns the tracer on and off.
const ARGV0: &str = "stillwell-osnoise";
const PLACE: &str = "/sys/kernel/tracing";
/// Prefix of Stillwell's instances; the process id and the earlier `osnoise/cpus` follow.
const OURS: &str = "stillwell-osnoise";
const EVENTS: [&str; 5] =
    ["nmi_noise", "irq_noise", "softirq_noise", "thread_noise", "sample_threshold"];
/// First line of the process's output.
const READY: &str = "ready";
const LOOK_NS: u64 = 200_000_000;
/// Interval between two readings of the kernel's buffers. Each reads a limited number of pieces, some kilobytes each.
const READ_NS: u64 = 100_000_000;
const READS_MAX: usize = 4096;
/// Longer than any file that is read here.
const FILE_BYTES_MAX: usize = 64 << 10;

pub fn is_requested() -> bool {
    std::env::args_os().next().is_some_and(|argv0| argv0 == OsStr::new(ARGV0))
}

/// Runs the tracer on the CPUs of the first argument and writes its output to standard output.
pub fn serve() -> ExitCode {
    let cpus = std::env::args().nth(1).unwrap_or_default();
    match relay(&cpus) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println_to_stdout(&in_words(&error));
            ExitCode::from(exit_code::ERROR)
        }
    }
}

fn println_to_stdout(line: &str) {
    // The reader may have closed the pipe.
    writeln!(std::io::stdout(), "{line}").ok();
}

fn relay(cpus: &str) -> Result<()> {
    let place = Path::new(PLACE);
    if !place.join("available_tracers").exists() {
        sys::mount_tracefs_for_this_thread().context("tracefs cannot be mounted")?;
    }
    let tracers = read(&place.join("available_tracers"))?;
    if !tracers.split_ascii_whitespace().any(|name| name == "osnoise") {
        bail!("the kernel was built without it (CONFIG_OSNOISE_TRACER)");
    }
    clear_what_was_left(place);
    if is_in_use(place) {
        bail!("somebody else is using it (current_tracer)");
    }
    let tracer = OsnoiseTracer::start(place, cpus)?;
    println_to_stdout(READY);
    tracer.copy_until_the_end_of_input()
}

struct OsnoiseTracer<'a> {
    place: &'a Path,
    instance: PathBuf,
    before: String,
}

impl<'a> OsnoiseTracer<'a> {
    fn start(place: &'a Path, cpus: &str) -> Result<Self> {
        let before = read(&place.join("osnoise/cpus"))?;
        let name = format!("{OURS}.{}.{before}", std::process::id());
        let instance = place.join("instances").join(name);
        std::fs::create_dir(&instance)
            .with_context(|| format!("cannot make {}", instance.display()))?;
        let tracing = Self { place, instance, before };
        write(&place.join("osnoise/cpus"), cpus)?;
        // Interruptions with a cause have their own events. Without the filter there is only more to read.
        write(
            &tracing.instance.join("events/osnoise/sample_threshold/filter"),
            "interference == 0",
        )
        .ok();
        for event in EVENTS {
            write(&tracing.instance.join(format!("events/osnoise/{event}/enable")), "1")?;
        }
        write(&tracing.instance.join("current_tracer"), "osnoise")?;
        Ok(tracing)
    }

    fn copy_until_the_end_of_input(&self) -> Result<()> {
        let path = self.instance.join("trace_pipe");
        let mut options = std::fs::OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK);
        let mut pipe =
            options.open(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let (stdin, mut stdout) = (std::io::stdin(), std::io::stdout());
        let mut buffer = vec![0; 64 << 10];
        loop {
            let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
            wait_for(&mut fds, READ_NS)?;
            let is_over = !fds[0].revents().is_empty();
            if is_over {
                write(&self.instance.join("current_tracer"), "nop")?;
            }
            // Every read is an event itself, so the pipe is never empty: the limit is necessary.
            for _ in 0..READS_MAX {
                let n = pipe.read(&mut buffer).unwrap_or(0);
                if n == 0 || stdout.write_all(&buffer[..n]).is_err() {
                    break;
                }
            }
            if is_over {
                return Ok(());
            }
        }
    }
}

impl Drop for OsnoiseTracer<'_> {
    fn drop(&mut self) {
        put_back(self.place, &self.instance, &self.before);
    }
}

/// Ignores errors: the process that reads our messages may have ended.
fn put_back(place: &Path, instance: &Path, cpus: &str) {
    write(&instance.join("current_tracer"), "nop").ok();
    std::fs::remove_dir(instance).ok();
    write(&place.join("osnoise/cpus"), cpus).ok();
}

/// Turns off the instances of killed processes.
fn clear_what_was_left(place: &Path) {
    for instance in instances(place) {
        let name = instance.file_name().and_then(|name| name.to_str());
        if let Some((pid, cpus)) = name.and_then(made_by)
            && !is_alive(pid)
        {
            put_back(place, &instance, cpus);
        }
    }
}

/// Process id of an instance's maker, and the earlier `osnoise/cpus`.
fn made_by(name: &str) -> Option<(u32, &str)> {
    let (pid, cpus) = name.strip_prefix(OURS)?.strip_prefix('.')?.split_once('.')?;
    Some((pid.parse().ok()?, cpus))
}

/// Whether the process exists and is this program: the kernel reuses process ids.
fn is_alive(pid: u32) -> bool {
    let name = std::fs::read(format!("/proc/{pid}/cmdline"));
    name.is_ok_and(|name| name.starts_with(ARGV0.as_bytes()))
}

fn is_in_use(place: &Path) -> bool {
    let mut all = instances(place);
    all.push(place.to_owned());
    let current = |at: &PathBuf| read(&at.join("current_tracer")).unwrap_or_default();
    // timerlat shares the settings of osnoise.
    all.iter().any(|at| matches!(current(at).as_str(), "osnoise" | "timerlat"))
}

fn instances(place: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place.join("instances"));
    entries.map(|all| all.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

/// Reads the file at once, because `osnoise/cpus` cannot be read in pieces (`osnoise_cpus_read` in
/// kernel/trace/trace_osnoise.c).
fn read(path: &Path) -> Result<String> {
    let mut bytes = vec![0; FILE_BYTES_MAX];
    let n = std::fs::File::open(path).and_then(|mut file| file.read(&mut bytes));
    let n = n.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes[..n]).trim_end().to_owned())
}

fn write(path: &Path, value: &str) -> Result<()> {
    std::fs::write(path, value)
        .with_context(|| format!("cannot write {value:?} to {}", path.display()))
}

/// Runs the tracer on CPUs for some time, or until ^C.
pub fn watch(
    host: &Host,
    cpus: &[usize],
    length_ns: u64,
    interrupt: &Interrupt,
) -> Result<Vec<Osnoise>, Gap> {
    let gap = |why: String, fix: &str| Gap { what: "osnoise".into(), why, fix: fix.into() };
    // A directory of files (--host-root) has no tracer.
    if !host.exists("proc/self/stat") {
        return Err(gap("this is not the running machine".into(), "leave out ⟦host-root⟧"));
    }
    let text = collect(cpus, length_ns, interrupt).map_err(|error| {
        let why = in_words(&error);
        let fix = if why.contains("CONFIG_OSNOISE_TRACER") {
            "use a kernel that has it, such as Debian's linux-image-rt-amd64"
        } else if why.contains("somebody else") {
            "wait until it is free, or end it: echo nop > /sys/kernel/tracing/current_tracer"
        } else {
            "run it as root"
        };
        gap(why, fix)
    })?;
    let reports = parse(&text);
    if reports.is_empty() {
        let why = "it has not finished a sample (osnoise/runtime_us, usually a second)";
        return Err(gap(why.into(), "watch for longer: ⟦for⟧"));
    }
    Ok(reports)
}

fn collect(cpus: &[usize], length_ns: u64, interrupt: &Interrupt) -> Result<String> {
    let mut child = Command::new(sys::own_program())
        .arg0(ARGV0)
        .arg(format_cpu_list(cpus))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // ^C goes to the parent; this process ends with its input.
        .process_group(0)
        .spawn()
        .context("cannot start the process that turns it on")?;
    let start = listen(&mut child, length_ns, interrupt);
    drop(child.stdin.take());
    let mut rest = String::new();
    if let Some(stdout) = &mut child.stdout {
        stdout.read_to_string(&mut rest).context("cannot read what it says")?;
    }
    child.wait().context("cannot wait for the process that turns it on")?;
    let text = start? + &rest;
    match text.split_once('\n') {
        Some((READY, text)) => Ok(text.to_owned()),
        _ => Err(anyhow!("{}", text.trim_end())),
    }
}

/// Output of the process until the time is over, ^C comes, or the output ends.
fn listen(child: &mut Child, length_ns: u64, interrupt: &Interrupt) -> Result<String> {
    let stdout = child.stdout.as_mut().context("it has no output")?;
    let (mut output, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    let end_ns = monotonic_ns().saturating_add(length_ns);
    while !interrupt.take() && monotonic_ns() < end_ns {
        let left_ns = end_ns.saturating_sub(monotonic_ns());
        let mut fds = [PollFd::new(interrupt, PollFlags::IN), PollFd::new(&*stdout, PollFlags::IN)];
        wait_for(&mut fds, left_ns.min(LOOK_NS))?;
        if !fds[1].revents().is_empty() {
            match stdout.read(&mut buffer).context("cannot read what it says")? {
                0 => break,
                n => output.extend_from_slice(&buffer[..n]),
            }
        }
    }
    Ok(String::from_utf8_lossy(&output).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_says_who_made_it_and_what_was_there() {
        assert_eq!(made_by("stillwell-osnoise.123.0-3,7"), Some((123, "0-3,7")));
        assert_eq!(made_by("stillwell-osnoise.123"), None);
        assert_eq!(made_by("somebody-elses"), None);
        assert!(!is_alive(std::process::id()), "a test is not the one that holds the tracer");
    }
}
