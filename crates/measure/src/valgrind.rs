//! Runs under valgrind, which counts the instructions that a program executes.
//!
//! The tool is Cachegrind without a cache model: its counts repeat if the program repeats itself. Each process of the
//! run writes a file when it ends. An exec starts the count anew, and what was executed before is in no file.
#![expect(clippy::disallowed_methods, reason = "looks for valgrind; reads and removes its files")]

mod functions;

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::programs::find;
use crate::value::as_user;
use functions::{ByFunction, Split, is_of_runtime};
use host::command_as;
use host::sys::User;
use host::user_files::read_whole;
use model::harness::own_children;
use model::words::{bytes_of, reason, text_of};
use record::plan::{CountedIterations, InstructionCounter};

const PROGRAM: &str = "valgrind";
/// Prefixes of the files with counts, with the counts to subtract, and with valgrind's output.
pub const COUNT: &str = "count.";
pub const HALF: &str = "half.";
const LOG: &str = "log.";
/// Prefix of the files with the number of the clock's readings.
const READINGS: &str = "readings.";
/// The options before those with file names. The user's own valgrind settings are left out.
const OPTIONS: [&str; 7] = [
    "--command-line-only=yes",
    "--tool=cachegrind",
    "--cache-sim=no",
    "--branch-sim=no",
    "--trace-children=yes",
    "--vgdb=no",
    "-q",
];
/// Valgrind's prefix of its own lines: `==123== `.
const MARK: &str = "==";
/// Prefix of a line that lists a system call: `SYSCALL[123,1](257) sys_openat ( …`. A call that may block has a second line,
/// with `...` in place of its name.
const CALL: &str = "SYSCALL[";
/// Calls that are none without valgrind, which hides the vDSO.
const CLOCKS: [&str; 3] = ["sys_clock_gettime", "sys_gettimeofday", "sys_time "];

/// The working valgrind in PATH, with its version. The runs' user asks for it: a user may have another one in PATH.
pub fn found(run_as: Option<&User>) -> Option<InstructionCounter> {
    let path = std::env::var_os("PATH")?;
    let entry = [b"PATH=", path.as_bytes()].concat();
    let file = find(PROGRAM.as_bytes(), &[entry], run_as).ok()?;
    let mut command = command_as(OsStr::from_bytes(&file), run_as);
    let said = command.arg("--version").output().ok()?;
    let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    let path = text_of(&file);
    said.status.success().then_some(InstructionCounter::Valgrind { path, version })
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountTask {
    /// The directory of valgrind's files; `None` if the processor counts.
    pub folder: Option<Vec<u8>>,
    /// The arguments of a process whose count is subtracted.
    pub half: Option<Vec<Vec<u8>>>,
    /// The iterations whose instructions the difference has.
    pub n_iterations: u64,
    /// How many readings of the stepped clock they make, if that tells anything.
    pub readings: Option<RangeInclusive<u64>>,
    /// Whether what the runtime of the language does by itself is left out.
    pub has_runtime: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncounted {
    /// The reason, if valgrind does not give it.
    pub why: String,
    /// The last line of valgrind's output.
    pub said: String,
}

/// What a run executed: all of it, or the iterations that it has more than another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub instructions: u64,
    /// System calls other than readings of the clock; `None` if valgrind did not list them.
    pub system_calls: Option<u64>,
    /// Instructions of the language's runtime that are left out.
    pub left_out: Option<u64>,
}

impl CountTask {
    /// Valgrind's arguments, followed by the program's. `prefix` begins the names of the files with counts.
    pub fn wrapped(
        folder: &[u8],
        valgrind: &str,
        prefix: &str,
        counted: Option<&CountedIterations>,
        argv: Vec<Vec<u8>>,
    ) -> Vec<Vec<u8>> {
        let file = |option: &str, name: &str| {
            [option.as_bytes(), folder, b"/", name.as_bytes(), b"%p"].concat()
        };
        let skipped = counted.and_then(|counted| counted.harness).map_or(&[][..], own_children);
        let skipped = (!skipped.is_empty())
            .then(|| format!("--trace-children-skip-by-arg={}", skipped.join(",")));
        let lists_calls = counted.is_some_and(|counted| counted.lists_calls);
        let calls = lists_calls.then(|| "--trace-syscalls=yes".to_owned());
        let options = OPTIONS.map(String::from).into_iter().chain(skipped).chain(calls);
        let files = [
            file("--log-file=", &[LOG, prefix].concat()),
            file("--cachegrind-out-file=", prefix),
            b"--".to_vec(),
        ];
        let words = std::iter::once(valgrind.to_owned()).chain(options);
        words.map(|word| bytes_of(&word)).chain(files).chain(argv).collect()
    }

    /// The file for the number of the clock's readings by the process whose count has this prefix.
    pub fn readings_file(folder: &[u8], prefix: &str) -> Vec<u8> {
        [folder, b"/", READINGS.as_bytes(), prefix.as_bytes()].concat()
    }

    pub fn clear(&self, user: Option<&User>) {
        as_user(user, || {
            // The directory's lock is not valgrind's.
            for file in [COUNT, HALF, LOG, READINGS].iter().flat_map(|prefix| self.files(prefix)) {
                std::fs::remove_file(file).ok();
            }
        });
    }

    /// The instructions of all processes of the finished run, minus the count of the process with fewer iterations.
    /// Errors: valgrind has written no count, or only a part of one, or more iterations took no more instructions or
    /// read the stepped clock more often.
    pub fn count(&self, user: Option<&User>) -> Result<Counted, Uncounted> {
        as_user(user, || self.counted())
    }

    fn counted(&self) -> Result<Counted, Uncounted> {
        let all = self.counts(COUNT)?;
        let sum = self.sum(&all)?;
        if self.half.is_none() {
            return Ok(Counted { instructions: sum, system_calls: None, left_out: None });
        }
        let half = self.counts(HALF)?;
        let of_half = self.sum(&half)?;
        let refused = |why: &str| Uncounted { why: why.into(), said: String::new() };
        let readings = self.n_readings(COUNT).zip(self.n_readings(HALF));
        if let (Some(expected), Some((all, half))) = (&self.readings, readings) {
            let n = all.abs_diff(half);
            if n > *expected.end() {
                return Err(refused("its iterations or their setups read the clock"));
            }
            if n < *expected.start() {
                return Err(refused("a benchmark fixes the number of its iterations"));
            }
        }
        let (more, left_out) = match self.has_runtime {
            true => split(&all, &half).map_err(refused)?,
            false => (sum.checked_sub(of_half), None),
        };
        // An iteration executes an instruction at least. Less is the framework's own work.
        let instructions = more
            .filter(|&n| n >= self.n_iterations)
            .ok_or_else(|| refused("more iterations took no more instructions"))?;
        let calls = self.n_calls(COUNT).zip(self.n_calls(HALF));
        let system_calls = calls.map(|(all, half)| all.abs_diff(half));
        Ok(Counted { instructions, system_calls, left_out })
    }

    /// The system calls of the processes with this prefix; `None` if none is listed.
    fn n_calls(&self, prefix: &str) -> Option<u64> {
        let (mut n, mut is_listed) = (0, false);
        for text in self.texts(&[LOG, prefix].concat()) {
            let text = text.ok()?;
            let calls = text.lines().filter_map(call).inspect(|_| is_listed = true);
            n += calls.filter(|call| !(self.has_runtime && is_of_runtime(call))).count() as u64;
        }
        is_listed.then_some(n)
    }

    /// The number of the clock's readings by the process of this prefix; `None` without a stepped clock.
    fn n_readings(&self, prefix: &str) -> Option<u64> {
        let path = Self::readings_file(self.folder.as_deref()?, prefix);
        let text = read_whole(Path::new(OsStr::from_bytes(&path))).ok()?;
        String::from_utf8_lossy(&text).parse().ok()
    }

    /// The texts of the files of counts with this prefix.
    fn counts(&self, prefix: &str) -> Result<Vec<String>, Uncounted> {
        let texts = self.texts(prefix);
        if texts.is_empty() {
            return Err(self.failed("valgrind wrote no count"));
        }
        let is_there = |text: &io::Result<String>| {
            !text.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        let there = texts.into_iter().filter(is_there);
        there.map(|text| text.map_err(|error| self.failed(&reason(error)))).collect()
    }

    fn sum(&self, texts: &[String]) -> Result<u64, Uncounted> {
        let incomplete = "a process ended before valgrind had written its count";
        let totals = texts.iter().map(|text| total(text).ok_or_else(|| self.failed(incomplete)));
        let sum = totals.sum::<Result<u64, Uncounted>>()?;
        if sum == 0 { Err(self.failed("valgrind counted nothing")) } else { Ok(sum) }
    }

    fn failed(&self, why: &str) -> Uncounted {
        Uncounted { why: why.into(), said: self.said_here() }
    }

    /// The last line of valgrind's output in this run.
    pub fn said(&self, user: Option<&User>) -> String {
        as_user(user, || self.said_here())
    }

    fn said_here(&self) -> String {
        let mut texts = self.texts(LOG).into_iter().flatten();
        texts.find_map(|text| last_line(&text)).unwrap_or_default()
    }

    fn texts(&self, prefix: &str) -> Vec<io::Result<String>> {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        self.files(prefix).iter().map(|file| read_whole(file).map(text)).collect()
    }

    fn files(&self, prefix: &str) -> Vec<PathBuf> {
        let folder = self.folder.as_deref().map(|folder| Path::new(OsStr::from_bytes(folder)));
        let entries = folder.map(std::fs::read_dir).into_iter().flatten().flatten().flatten();
        let named = entries.filter(|it| it.file_name().as_bytes().starts_with(prefix.as_bytes()));
        let mut files: Vec<PathBuf> = named.map(|it| it.path()).collect();
        files.sort();
        files
    }
}

/// The total in a file of counts: its last line is `summary: 37924226`.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix("summary:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The system call that this line lists, if it is one without valgrind too.
fn call(line: &str) -> Option<&str> {
    let (_, call) = line.strip_prefix(CALL)?.split_once(") ")?;
    let is_none = call.starts_with("...") || CLOCKS.iter().any(|clock| call.starts_with(clock));
    (!is_none).then_some(call)
}

/// The instructions of the iterations without what the runtime does by itself, and those. Errors: the functions have no names.
fn split(all: &[String], half: &[String]) -> Result<(Option<u64>, Option<u64>), &'static str> {
    let by_function = |texts: &[String]| {
        let mut counts = ByFunction::default();
        texts.iter().for_each(|text| counts.add(text));
        counts
    };
    let all = by_function(all);
    if !all.has_names() {
        return Err(
            "the program has no names of functions and files; build it without -ldflags=-w",
        );
    }
    let Split { counted, left_out } = all.minus(&by_function(half));
    Ok((u64::try_from(counted).ok(), Some(left_out.max(0).cast_unsigned())))
}

/// Valgrind's last line with words, without the process id. Its list of system calls has other lines, and lines such as
/// `--123-- warning: simulated LL cache` are no failures.
fn last_line(text: &str) -> Option<String> {
    let words = |line: &str| match line.strip_prefix(MARK) {
        Some(rest) => rest.split_once(MARK).map(|(_, rest)| rest.trim().to_owned()),
        None => line.starts_with(PROGRAM).then(|| line.trim().to_owned()),
    };
    text.lines().rev().filter_map(words).find(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::harness::Harness;

    fn task() -> (tempfile::TempDir, CountTask) {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().as_os_str().as_bytes().to_vec();
        (
            folder,
            CountTask {
                folder: Some(name),
                half: None,
                n_iterations: 1,
                readings: None,
                has_runtime: false,
            },
        )
    }

    #[test]
    fn the_counts_of_all_processes_are_added() {
        let (folder, task) = task();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        assert_eq!(task.count(None).unwrap_err().why, "valgrind wrote no count");
        write("count.1", "events: Ir\nfn=a\n1 5\nsummary: 5\n");
        write("count.22", "events: Ir\nfn=a\n1 7\nsummary:  7 0 0\n");
        write("log.1", "==1== \n==1== warning: x\n==1== \n--1-- warning: simulated LL cache\n");
        let counted =
            |instructions, system_calls| Ok(Counted { instructions, system_calls, left_out: None });
        assert_eq!(task.count(None), counted(12, None));
        let with_half = CountTask { half: Some(Vec::new()), readings: Some(0..=0), ..task.clone() };
        assert_eq!(with_half.count(None).unwrap_err().why, "valgrind wrote no count");
        write("half.7", "summary: 9\n");
        assert_eq!(with_half.count(None), counted(3, None));
        assert_eq!(
            last_line("==1== bad\nSYSCALL[1,1](9)  --> [pre-fail] Failure(0x26)\n --> x\n")
                .unwrap(),
            "bad"
        );
        assert_eq!(last_line("valgrind: no tool\n").unwrap(), "valgrind: no tool");
        let calls = "SYSCALL[7,1](  9) sys_mmap ( 0x0 ) --> [pre-success] Success(0x1)\n\
                     SYSCALL[7,1](228) sys_clock_gettime( 1, 0x1 ) --> [pre-success] Success(0x0)\n\
                     SYSCALL[7,1](  1) sys_write ( 1, 0x1, 7 ) --> [async] ... \n\
                     SYSCALL[7,1](  1) ... [async] --> Success(0x7)\n";
        write("log.half.7", calls);
        write("log.count.1", &calls.repeat(2));
        assert_eq!(with_half.count(None), counted(3, Some(2)));
        write("readings.count.", "9");
        write("readings.half.", "8");
        assert!(with_half.count(None).unwrap_err().why.contains("read the clock"));
        write("readings.half.", "9");
        assert_eq!(with_half.count(None), counted(3, Some(2)));
        let of_rounds = CountTask { readings: Some(2..=u64::MAX), ..with_half.clone() };
        assert!(of_rounds.count(None).unwrap_err().why.contains("fixes the number"));
        write("readings.count.", "12");
        assert_eq!(of_rounds.count(None), counted(3, Some(2)));
        write("readings.count.", "9");
        write("half.8", "summary: 3\n");
        assert!(with_half.count(None).unwrap_err().why.starts_with("more iterations"));
        write("count.3", "events: Ir\nfn=a\n1 7\n");
        let failed = task.count(None).unwrap_err();
        assert!(failed.why.starts_with("a process ended before"), "{failed:?}");
        assert_eq!(failed.said, "warning: x");
        write("lock", "");
        task.clear(None);
        let left = std::fs::read_dir(folder.path()).unwrap().flatten();
        assert_eq!(left.map(|it| it.file_name()).collect::<Vec<_>>(), ["lock"]);
    }

    #[test]
    fn the_program_follows_the_options_of_valgrind() {
        let argv = vec![b"./p".to_vec(), b"--log-file=x".to_vec()];
        let counted = CountedIterations {
            n: 1,
            n_together: 1,
            half: Vec::new(),
            has_stepped_clock: true,
            lists_calls: true,
            harness: Some(Harness::PytestBenchmark),
        };
        let words = CountTask::wrapped(b"/t", "/usr/bin/valgrind", COUNT, Some(&counted), argv);
        let words: Vec<String> = words.iter().map(|word| text_of(word)).collect();
        assert_eq!(words[0], "/usr/bin/valgrind");
        let skipped = "--trace-children-skip-by-arg=--git-dir,";
        assert!(words.iter().any(|word| word.starts_with(skipped)), "{words:?}");
        for word in ["--trace-syscalls=yes", "--log-file=/t/log.count.%p"] {
            assert!(words.contains(&word.to_owned()), "{words:?}");
        }
        assert_eq!(
            words[words.len() - 4..],
            ["--cachegrind-out-file=/t/count.%p", "--", "./p", "--log-file=x"]
        );
    }
}
