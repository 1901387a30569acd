//! The instructions of a program with a runtime of its own, by function. Go's scheduler works by the time, and its collector sweeps
//! beside the program, so their instructions differ from run to run. What a program calls in the runtime is counted with it.

use std::collections::BTreeMap;

/// Beginnings of the files' names in Go's package `runtime` whose functions a program calls by what it does: to allocate, copy,
/// compare and hash, and for channels. Clearing (`memclr`) is not among them: a large block that was never used is clear.
const CALLED: [&str; 14] = [
    "alg.", "chan.", "duff_", "hash", "iface.", "malloc", "map.", "map_", "memmove", "mcache.",
    "panic.", "select.", "slice.", "string.",
];
/// Directories whose functions a program calls, though they have names of the runtime.
const CALLED_DIRECTORIES: [&str; 2] = ["internal/bytealg", "internal/runtime/maps"];
/// A function of the runtime with a smaller share of the iterations is not counted. Threads of the runtime call it too, at other
/// times in each process: allocating costs some 5000 instructions more or less.
const SHARE_MIN: f64 = 1e-4;
/// Calls that the runtime makes for itself.
const CALLS: [&str; 16] = [
    "sched_yield",
    "sigaltstack",
    "sys_brk",
    "sys_clone",
    "sys_epoll_pwait",
    "sys_futex",
    "sys_getpid",
    "sys_gettid",
    "sys_madvise",
    "sys_mmap",
    "sys_mprotect",
    "sys_munmap",
    "sys_nanosleep",
    "sys_rt_sig",
    "sys_set_robust_list",
    "sys_tgkill",
];

/// Whether the runtime makes such a call for itself.
pub(super) fn is_of_runtime(call: &str) -> bool {
    CALLS.iter().any(|name| call.starts_with(name))
}

/// The instructions of the processes of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ByFunction {
    own: u64,
    /// The functions of the runtime that programs call.
    called: BTreeMap<String, u64>,
    left_out: u64,
    has_files: bool,
}

/// What the iterations executed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split {
    pub counted: i64,
    pub left_out: i64,
}

impl ByFunction {
    /// Adds Cachegrind's file of a process: `fl=FILE` and `fn=FUNCTION`, then a line for each line of the source.
    pub fn add(&mut self, text: &str) {
        let (mut file, mut function) = ("", "");
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("fl=") {
                file = name;
            } else if let Some(name) = line.strip_prefix("fn=") {
                function = name;
            } else if let Some(n) = count(line) {
                match place(file, function) {
                    Place::Own => self.own += n,
                    Place::Called => {
                        self.has_files |= file.contains('/');
                        *self.called.entry(function.to_owned()).or_default() += n;
                    }
                    Place::Runtime => self.left_out += n,
                }
            }
        }
    }

    /// Whether the program has names of functions and files. Each program of Go allocates when it starts.
    pub fn has_names(&self) -> bool {
        self.has_files
    }

    /// What these processes executed more than others.
    pub fn minus(&self, fewer: &Self) -> Split {
        let own = self.own.cast_signed() - fewer.own.cast_signed();
        let mut split = Split {
            counted: own,
            left_out: self.left_out.cast_signed() - fewer.left_out.cast_signed(),
        };
        let names = self
            .called
            .keys()
            .chain(fewer.called.keys().filter(|name| !self.called.contains_key(*name)));
        for name in names {
            let n = |of: &Self| of.called.get(name).map_or(0, |n| n.cast_signed());
            let more = n(self) - n(fewer);
            match more.unsigned_abs() as f64 >= SHARE_MIN * own as f64 {
                true => split.counted += more,
                false => split.left_out += more,
            }
        }
        split
    }
}

enum Place {
    Own,
    Called,
    Runtime,
}

/// Whose a line of this file in this function is. A function of another file may be inlined.
fn place(file: &str, function: &str) -> Place {
    let (directory, name) = file.rsplit_once('/').unwrap_or(("", file));
    let is_in = |package: &str| {
        directory.strip_suffix(package).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    // Some functions in assembly have no package.
    let is_runtime = function.starts_with("runtime.")
        || function.starts_with("internal/runtime/")
        || (!function.contains('.') && is_in("runtime"));
    let is_called = function.contains("hash")
        || CALLED_DIRECTORIES.into_iter().any(is_in)
        || (is_in("runtime") && CALLED.iter().any(|start| name.starts_with(start)));
    match (is_runtime, is_called) {
        (false, _) => Place::Own,
        (true, true) => Place::Called,
        (true, false) => Place::Runtime,
    }
}

/// The count of a line of the source: `24 1000`.
fn count(line: &str) -> Option<u64> {
    let (number, n) = line.split_once(' ')?;
    number.parse::<u64>().ok()?;
    n.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> ByFunction {
        let mut counts = ByFunction::default();
        counts.add(text);
        counts
    }

    /// A process that allocates so often, and in which the collector executes so much.
    fn process(n: u64, n_clear: u64, collector: u64) -> ByFunction {
        let text = format!(
            "desc: I1 cache:\ncmd: ./a.test\nevents: Ir\n\
             fl=/src/a_test.go\nfn=example.com/a.BenchmarkA\n7 {}\n8 {n}\n\
             fl=/usr/local/go/src/runtime/malloc.go\nfn=runtime.mallocgc\n1000 {}\n\
             fl=/usr/local/go/src/runtime/mgcmark.go\nfn=runtime.mallocgc\n9 {collector}\n\
             fl=/usr/local/go/src/internal/bytealg/equal_amd64.s\nfn=memeqbody\n2 {n}\n\
             fl=/usr/local/go/src/runtime/asm_amd64.s\nfn=aeshashbody\n2 {n}\n\
             fn=gcWriteBarrier\n3 {collector}\n\
             fl=runtime/string.go\nfn=runtime.findnull\n3 {n_clear}\n\
             summary: 9\n",
            100 * n,
            20 * n
        );
        counted(&text)
    }

    #[test]
    fn the_runtime_is_left_out_and_what_is_called_there_is_counted() {
        let split = process(30_000, 5, 400_000).minus(&process(10_000, 0, 7));
        let n = 20_000;
        assert_eq!(split.counted, (101 + 20 + 1 + 1) * n);
        assert_eq!(split.left_out, 2 * 399_993 + 5);
        // The collector may have executed more beside fewer iterations.
        let split = process(30_000, 0, 7).minus(&process(10_000, 5, 400_000));
        assert_eq!(split.counted, 123 * n);
        assert_eq!(split.left_out, -2 * 399_993 - 5);
    }

    #[test]
    fn a_program_without_names_is_seen() {
        assert!(process(1, 0, 9).has_names());
        assert!(!counted("fl=???\nfn=???\n0 7000\nsummary: 7000\n").has_names());
        assert!(!counted("fl=/home/runtime.go\nfn=main\n1 5\n").has_names());
        let without_files = "fl=???\nfn=runtime.mallocgc\n0 5\nfn=runtime.memhash\n0 5\n";
        assert!(!counted(without_files).has_names());
    }

    #[test]
    fn a_call_for_the_runtime_is_none_of_the_program() {
        assert!(is_of_runtime("sys_futex ( 0x1 ) --> ") && is_of_runtime("sys_rt_sigreturn ( )"));
        assert!(!is_of_runtime("sys_read ( 3 )") && !is_of_runtime("sys_getrandom ( 0x1, 9 )"));
    }
}
