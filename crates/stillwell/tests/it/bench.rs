//! A directory to run the program in, and the files that it left there.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::documents;

/// The program under test.
pub const STILLWELL: &str = env!("CARGO_BIN_EXE_stillwell");

/// Longest wait of a test. Only a test that has already failed reaches it.
const DEADLINE: Duration = Duration::from_secs(120);

/// An empty directory for one test.
pub struct Bench {
    dir: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        heed_interrupts();
        let dir = tempfile::tempdir().unwrap();
        // Some tests run the program as another user.
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).unwrap();
        Self { dir }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Makes the files of a machine in the directory `host`, with a line each.
    pub fn make_host<'a>(&self, files: impl IntoIterator<Item = &'a (&'a str, &'a str)>) {
        for (path, value) in files {
            let path = self.path("host").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{value}\n")).unwrap();
        }
    }

    /// The text of a file; empty while it is not there.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Writes an executable file.
    pub fn script(&self, name: &str, text: &str) {
        self.write("script.txt", text);
        self.install(&self.path("script.txt"), name);
    }

    /// Copies an executable file, in another process. A child of another test inherits the files that this process has open
    /// for writing until its execve, and the kernel executes no such file (execve(2), ETXTBSY).
    pub fn install(&self, from: &Path, name: &str) {
        let mut install = Command::new("install");
        let done = install.args(["-m", "755"]).arg(from).arg(self.path(name)).status();
        assert!(done.unwrap().success());
    }

    /// A command for any program, in this directory and with its environment.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.path("state")).env_remove("NO_COLOR");
        command.env_remove("STILLWELL_OPTIONS");
        command.env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    /// `stillwell` with any arguments.
    pub fn stillwell(&self, arguments: &[&str]) -> Ran {
        let ran = Ran::from(self.command(STILLWELL).args(arguments).output().unwrap());
        documents::check(arguments, &ran.stdout);
        ran
    }

    /// The command `stillwell run -o r.swell`, not started yet.
    pub fn run_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(STILLWELL);
        command.args(["run", "-o", "r.swell"]).args(arguments);
        command
    }

    /// Runs `stillwell run -o r.swell` to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        let ran = Ran::from(self.run_command(arguments).output().unwrap());
        documents::check(&[&["run"], arguments].concat(), &ran.stdout);
        ran
    }

    /// Starts `stillwell run -o r.swell`. Its output goes to files, because a process that survives it would keep a pipe open
    /// and the test would wait for that.
    pub fn start(&self, arguments: &[&str]) -> Running {
        self.spawn(self.run_command(arguments))
    }

    /// Starts any command, as [`Bench::start`] does.
    pub fn spawn(&self, mut command: Command) -> Running {
        let output = |name: &str| std::fs::File::create(self.path(name)).unwrap();
        command.stdout(output("stdout")).stderr(output("stderr"));
        let outputs = [self.path("stdout"), self.path("stderr")];
        Running { child: command.spawn().unwrap(), outputs }
    }

    /// The record `r.swell`.
    pub fn record(&self) -> Record {
        Record::read(&self.path("r.swell"))
    }

    /// Number of complete rows in `r.swell` so far.
    pub fn n_rows(&self) -> usize {
        let text = self.read("r.swell");
        text.split_inclusive('\n').filter(|l| l.starts_with('[') && l.ends_with('\n')).count()
    }
}

/// Output and exit code of a program.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        Self { code: output.status.code(), stdout, stderr }
    }
}

impl Ran {
    /// Asserts this exit code.
    #[track_caller]
    pub fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Asserts that standard error contains all of these.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is missing: {self:#?}");
        }
        self
    }
}

/// A process that ends with the test.
pub struct Running {
    child: Child,
    outputs: [PathBuf; 2],
}

impl Running {
    pub fn pid(&self) -> i32 {
        self.child.id().try_into().unwrap()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        send(self.pid(), signal);
    }

    /// Waits for its end and returns its output. The test fails if it does not end.
    pub fn finish(mut self) -> Ran {
        let mut code = None;
        let child = &mut self.child;
        let ended = becomes_true(|| {
            let status = child.try_wait().unwrap();
            code = status.and_then(|status| status.code());
            status.is_some()
        });
        let [stdout, stderr] =
            self.outputs.each_ref().map(|path| std::fs::read_to_string(path).unwrap());
        let ran = Ran { code, stdout, stderr };
        assert!(ended, "it did not end: {ran:#?}");
        ran
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub fn send(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    // The process may have just ended by itself.
    rustix::process::kill_process(pid, signal).ok();
}

/// Waits until a condition is true.
#[track_caller]
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    assert!(becomes_true(condition), "in vain: {what}");
}

fn becomes_true(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < DEADLINE {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// A record, read without the program's own code.
#[derive(Debug)]
pub struct Record {
    pub header: Value,
    pub rows: Vec<Row>,
    pub events: Vec<Value>,
}

/// One row of a record.
#[derive(Clone, Debug)]
pub struct Row {
    pub step: i64,
    pub arm: i64,
    pub block: Option<i64>,
    pub exit: i64,
    pub timed_out: bool,
    cells: serde_json::Map<String, Value>,
}

impl Row {
    pub fn get(&self, column: &str) -> Option<i64> {
        self.cells[column].as_i64()
    }
}

impl Record {
    /// Reads a record. Asserts that no row is torn and no step is missing.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.ends_with('\n'), "the last line is torn: {:?}", text.lines().last());
        let mut lines = text.lines();
        let header: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        let (mut rows, mut events) = (Vec::new(), Vec::new());
        for line in lines {
            match serde_json::from_str(line).unwrap() {
                Value::Array(cells) => rows.push(row(&header["columns"], cells)),
                event => events.push(event),
            }
        }
        for (index, row) in (0..).zip(&rows) {
            assert_eq!(row.step, index, "a step is missing");
        }
        Self { header, rows, events }
    }

    /// Timed rows, without the warm-up.
    pub fn timed(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.block.is_some())
    }

    /// The reason of the `end` event.
    pub fn end(&self) -> Option<&str> {
        self.events.iter().find(|event| event["event"] == "end")?["reason"].as_str()
    }
}

fn row(columns: &Value, cells: Vec<Value>) -> Row {
    let columns = columns.as_array().unwrap();
    assert_eq!(columns.len(), cells.len(), "a row is not complete");
    let names = columns.iter().map(|name| name.as_str().unwrap().to_owned());
    let cells: serde_json::Map<String, Value> = names.zip(cells).collect();
    let required = |name: &str| cells[name].as_i64().unwrap();
    Row {
        step: required("step"),
        arm: required("arm"),
        block: cells["block"].as_i64(),
        exit: required("exit"),
        timed_out: required("timed_out") == 1,
        cells,
    }
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Lets the programs of the tests react to SIGINT, SIGQUIT and SIGHUP, even if this process ignores them. A shell script's
/// background jobs ignore the first two (POSIX, Shell Command Language, 2.11), and `nohup` the last. exec keeps an ignored
/// signal ignored and resets one that has a handler, so this process installs handlers that do nothing.
fn heed_interrupts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        let ignored = u64::from_str_radix(mask.trim(), 16).unwrap();
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
            if ignored & 1 << (signal - 1) != 0 {
                signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).unwrap();
            }
        }
    });
}

/// Says that something could not be tested here: past the test harness's capture, and in the file that
/// `STILLWELL_SKIPPED` names, as a line `test<TAB>reason`. `make test` counts and lists these lines.
pub fn skipped(reason: &str) {
    use std::io::Write as _;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("?");
    let mut stderr = std::io::stderr();
    writeln!(stderr, "skipped: {test}: {reason}").unwrap();
    if let Some(path) = std::env::var_os("STILLWELL_SKIPPED") {
        let mut list = std::fs::File::options().append(true).create(true).open(path).unwrap();
        // One write, so that tests at the same time do not mix their lines.
        let line = format!("{test}\t{}\n", reason.replace('\n', " "));
        list.write_all(line.as_bytes()).unwrap();
    }
}
