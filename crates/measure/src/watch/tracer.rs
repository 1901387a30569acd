//! The acts of a run, from its system calls.
#![expect(clippy::disallowed_methods, reason = "asks for the variables that a run inherits")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use libc::c_long;

use crate::watch::memory::Memory;
use crate::watch::paths::{OwnPlace, changed_ns, exists, named, open, without_links};
use crate::watch::sockets::foreign_server;
use host::Host;
use host::sys::StoppedCall;
use model::values::CheatKind;
use record::fair_play::{Act, WatchRequest};

/// Variables that change a program's code. `PATH` only changes which programs the run itself executes.
const CODE_VARIABLES: [&str; 4] = ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GLIBC_TUNABLES"];
/// Programs whose work is done by processes outside the run, or with other rights.
const LENDERS: [&str; 9] =
    ["sudo", "doas", "pkexec", "su", "systemd-run", "at", "batch", "crontab", "docker"];
/// Tables of System V objects in /proc/sysvipc, in words.
const SYSV_TABLES: [(&str, &str); 3] =
    [("shm", "shared memory"), ("msg", "a message queue"), ("sem", "semaphores")];

/// Old system calls, which newer architectures lack.
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: [c_long; 10] = [
    libc::SYS_renameat,
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_rename,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_unlink,
    libc::SYS_rmdir,
];
#[cfg(target_arch = "aarch64")]
const OLD_CALLS: [c_long; 1] = [libc::SYS_renameat];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OLD_CALLS: [c_long; 0] = [];

/// The system calls to check.
pub fn calls() -> Vec<c_long> {
    let calls = [
        libc::SYS_openat,
        libc::SYS_openat2,
        libc::SYS_renameat2,
        libc::SYS_linkat,
        libc::SYS_symlinkat,
        libc::SYS_mkdirat,
        libc::SYS_mknodat,
        libc::SYS_unlinkat,
        libc::SYS_truncate,
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        libc::SYS_utimensat,
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_connect,
        libc::SYS_sendto,
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_msgget,
        libc::SYS_semget,
        libc::SYS_mq_open,
        libc::SYS_add_key,
        libc::SYS_keyctl,
        libc::SYS_clock_settime,
        libc::SYS_settimeofday,
        libc::SYS_adjtimex,
        libc::SYS_clock_adjtime,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_setpriority,
        libc::SYS_ioprio_set,
        libc::SYS_io_uring_setup,
        libc::SYS_unshare,
        libc::SYS_setns,
    ];
    calls.into_iter().chain(OLD_CALLS).collect()
}

pub struct CallTracer {
    /// The checkout that the run uses, if any.
    checkout: Option<PathBuf>,
    place: OwnPlace,
    since_ns: i64,
    /// The code variables at the start.
    variables: BTreeMap<&'static str, Option<OsString>>,
    made: BTreeSet<PathBuf>,
    /// Files that the run wrote or made, which count if they still exist at its end.
    written: BTreeSet<PathBuf>,
    /// Numbers and keys of the System V objects before the run.
    sysv: [BTreeSet<(i64, i64)>; 3],
    uses_sysv: bool,
    acts: BTreeSet<Act>,
    unseen: BTreeSet<String>,
}

impl CallTracer {
    pub fn new(request: &WatchRequest, directory: &Path) -> Self {
        let directory = without_links(directory);
        let files = request.files.iter().map(|file| without_links(&directory.join(file)));
        let variable = |name: &'static str| {
            let set = request.environment.iter().rev().find(|(set, _)| set == name);
            let set = set.map(|(_, value)| value.into());
            (name, set.or_else(|| std::env::var_os(name)))
        };
        let (_, path) = variable("PATH");
        let is_checkout = request.directory.is_some() && request.copy_of.is_none();
        Self {
            checkout: is_checkout.then(|| directory.clone()),
            place: OwnPlace {
                files: files.collect(),
                is_fresh: request.copy_of.is_some(),
                tools: std::env::split_paths(&path.unwrap_or_default()).collect(),
                directory,
            },
            since_ns: request.since_ns,
            variables: CODE_VARIABLES.into_iter().map(variable).collect(),
            made: BTreeSet::new(),
            written: BTreeSet::new(),
            sysv: SYSV_TABLES.map(|(table, _)| sysv_objects(table)),
            uses_sysv: false,
            acts: BTreeSet::new(),
            unseen: BTreeSet::new(),
        }
    }

    pub fn look(&mut self, call: StoppedCall) {
        if !call.is_native {
            self.unseen.insert("system calls of another architecture are not looked at".into());
            return;
        }
        let Some(memory) = Memory::of(call.thread) else {
            self.unseen
                .insert("the memory of a process cannot be read, so its files are unknown".into());
            return;
        };
        match call.number {
            libc::SYS_execve => self.execute(&memory, [call.arguments[0], call.arguments[2]]),
            libc::SYS_execveat => self.execute(&memory, [call.arguments[1], call.arguments[3]]),
            libc::SYS_connect => self.connect(&memory, [call.arguments[1], call.arguments[2]]),
            libc::SYS_sendto => self.connect(&memory, [call.arguments[4], call.arguments[5]]),
            libc::SYS_io_uring_setup => {
                self.unseen.insert("what goes through io_uring is not seen".into());
            }
            libc::SYS_unshare | libc::SYS_setns => {
                self.unseen
                    .insert("a process is in a namespace of its own, where names differ".into());
            }
            _ => {
                let is_known = self.shares(call, &memory) || self.settings(call, &memory);
                if !is_known {
                    self.file(call, &memory);
                }
            }
        }
    }

    fn act(&mut self, kind: CheatKind, what: impl Into<String>) {
        self.acts.insert(Act { kind, what: what.into(), place: None });
    }

    fn act_on(&mut self, kind: CheatKind, what: &str, path: &Path) {
        // Each program has its own checkout: the same file has another path there.
        let path =
            self.checkout.as_ref().and_then(|own| path.strip_prefix(own).ok()).unwrap_or(path);
        let place = path.parent().map(|place| place.to_string_lossy().into_owned());
        let what = what.replace("{}", &path.to_string_lossy());
        self.acts.insert(Act { kind, what, place });
    }

    /// Clocks, CPUs and priorities. Returns whether it is such a call.
    fn settings(&mut self, call: StoppedCall, memory: &Memory) -> bool {
        let [first, second, ..] = call.arguments;
        // Without modes the call only reads (adjtimex(2)).
        let sets = |address: u64| memory.bytes::<4>(address).is_none_or(|modes| modes != [0; 4]);
        match call.number {
            libc::SYS_clock_settime | libc::SYS_settimeofday => {
                self.act(CheatKind::Tool, "sets the clock");
            }
            libc::SYS_adjtimex if sets(first) => self.act(CheatKind::Tool, "adjusts the clock"),
            libc::SYS_clock_adjtime if sets(second) => {
                self.act(CheatKind::Tool, "adjusts the clock");
            }
            libc::SYS_adjtimex | libc::SYS_clock_adjtime => {}
            libc::SYS_sched_setaffinity => self.act(CheatKind::Priority, "chooses its own CPUs"),
            libc::SYS_sched_setscheduler | libc::SYS_sched_setparam | libc::SYS_sched_setattr => {
                self.act(CheatKind::Priority, "chooses its own scheduling policy");
            }
            libc::SYS_setpriority => self.act(CheatKind::Priority, "chooses its own nice level"),
            libc::SYS_ioprio_set => {
                self.act(CheatKind::Priority, "chooses its own I/O priority");
            }
            _ => return false,
        }
        true
    }

    /// System V objects, message queues and keys. Returns whether it is such a call.
    fn shares(&mut self, call: StoppedCall, memory: &Memory) -> bool {
        let [first, ..] = call.arguments;
        let (number, key) = (i64::from(first as i32), i64::from(first as i32));
        let table = match call.number {
            libc::SYS_shmget | libc::SYS_shmat => 0,
            libc::SYS_msgget => 1,
            libc::SYS_semget => 2,
            libc::SYS_mq_open => {
                let name = memory.text(first).unwrap_or_default();
                let what = format!("opens the message queue {}", name.display());
                self.act(CheatKind::SharedMemory, what);
                return true;
            }
            libc::SYS_add_key | libc::SYS_keyctl => {
                self.act(CheatKind::SharedMemory, "uses the kernel's key rings");
                return true;
            }
            _ => return false,
        };
        self.uses_sysv = true;
        let is_attach = call.number == libc::SYS_shmat;
        let is_old = |&(its_key, its_number): &(i64, i64)| {
            if is_attach { its_number == number } else { its_key == key && key != 0 }
        };
        if self.sysv[table].iter().any(is_old) {
            let what = format!("uses {} that was there before it", SYSV_TABLES[table].1);
            self.act(CheatKind::SharedMemory, what);
        }
        true
    }

    fn connect(&mut self, memory: &Memory, [address, length]: [u64; 2]) {
        if address != 0
            && let Some(server) = foreign_server(memory, address, length)
        {
            self.act(
                CheatKind::Socket,
                format!("connects to {server}, where another program answers"),
            );
        }
    }

    fn execute(&mut self, memory: &Memory, [path, environment]: [u64; 2]) {
        let path = PathBuf::from(memory.text(path).unwrap_or_default());
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let entries = memory.texts(environment);
        let mut changed = Vec::new();
        for (variable, given) in &self.variables {
            let prefix = [variable.as_bytes(), b"="].concat();
            let own = entries.iter().find_map(|entry| {
                entry.as_encoded_bytes().strip_prefix(prefix.as_slice()).map(<[u8]>::to_vec)
            });
            let given = given.as_deref().map(OsStr::as_encoded_bytes);
            if own.as_deref().unwrap_or_default() != given.unwrap_or_default() {
                let value = String::from_utf8_lossy(&own.unwrap_or_default()).into_owned();
                changed.push(format!("executes programs with {variable}={value}"));
            }
        }
        changed.into_iter().for_each(|what| self.act(CheatKind::Tool, what));
        if LENDERS.contains(&name.as_str()) {
            self.act(CheatKind::Daemon, format!("executes {name}, whose work is not followed"));
        }
        if name.starts_with("ld-linux") || name.starts_with("ld-musl") {
            self.act(CheatKind::Tool, format!("executes {name}, which can load other code"));
        }
    }

    /// A file that a call opens, makes, changes or removes.
    fn file(&mut self, call: StoppedCall, memory: &Memory) {
        let [first, second, third, fourth, ..] = call.arguments;
        let at = |directory, address| named(call.thread, memory, directory, address);
        let here = libc::AT_FDCWD as u64;
        let flags = match call.number {
            libc::SYS_openat => Some((at(first, second), third)),
            libc::SYS_openat2 => {
                let flags = memory.bytes::<8>(third).map_or(0, u64::from_ne_bytes);
                Some((at(first, second), flags))
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => Some((at(here, first), second)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_creat => {
                Some((at(here, first), (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64))
            }
            _ => None,
        };
        if let Some((path, flags)) = flags {
            if let Some(path) = path {
                self.open(path, flags as i32);
            }
            return;
        }
        let (path, is_removal) = match call.number {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            libc::SYS_renameat => (at(third, fourth), false),
            libc::SYS_renameat2 | libc::SYS_linkat => (at(third, fourth), false),
            libc::SYS_symlinkat => (at(second, third), false),
            libc::SYS_mkdirat | libc::SYS_mknodat => (at(first, second), false),
            // Without a path it changes an open file (utimensat(2)).
            libc::SYS_utimensat if second == 0 => (open(call.thread, first), false),
            libc::SYS_utimensat => (at(first, second), false),
            libc::SYS_unlinkat => (at(first, second), true),
            libc::SYS_truncate | libc::SYS_setxattr | libc::SYS_lsetxattr => {
                (at(here, first), false)
            }
            libc::SYS_fsetxattr => (open(call.thread, first), false),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename | libc::SYS_link | libc::SYS_symlink => (at(here, second), false),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir | libc::SYS_mknod => (at(here, first), false),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_unlink | libc::SYS_rmdir => (at(here, first), true),
            _ => (None, false),
        };
        match path {
            Some(path) if is_removal => self.remove(&path),
            Some(path) => self.write(path),
            None => {}
        }
    }

    fn open(&mut self, path: PathBuf, flags: i32) {
        let writes = flags & (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) != 0;
        let is_memory = path.starts_with("/dev/shm");
        let is_own = self.made.contains(&path);
        if is_memory && !is_own && exists(&path) {
            self.act_on(CheatKind::SharedMemory, "opens {}, which was there before it", &path);
        }
        // An old file may still change: a run may use it to find what an earlier one left.
        if !is_own
            && let Some(kind) = self.place.kind_of(&path).filter(|_| !is_memory)
            && kind != CheatKind::Priority
            && changed_ns(&path).is_some_and(|ns| ns >= self.since_ns)
        {
            self.act_on(kind, "opens {}, which was written during the audit", &path);
        }
        if writes {
            self.write(path);
        }
    }

    fn write(&mut self, path: PathBuf) {
        if self.place.kind_of(&path) == Some(CheatKind::Priority) {
            self.act_on(CheatKind::Priority, "writes {}", &path);
            return;
        }
        if !exists(&path) {
            self.made.insert(path.clone());
        }
        self.written.insert(path);
    }

    fn remove(&mut self, path: &Path) {
        if let Some(kind) = self.place.kind_of(path)
            && exists(path)
            && !self.made.contains(path)
        {
            self.act_on(kind, "removes {}, which it did not make", path);
        }
    }

    /// The acts, and what could not be observed, after the run has ended.
    pub fn finish(mut self) -> (BTreeSet<Act>, BTreeSet<String>) {
        for path in std::mem::take(&mut self.written) {
            if let Some(kind) = self.place.kind_of(&path).filter(|_| exists(&path)) {
                self.act_on(kind, "leaves {}", &path);
            }
        }
        for (index, (table, what)) in SYSV_TABLES.into_iter().enumerate() {
            if self.uses_sysv && sysv_objects(table).difference(&self.sysv[index]).next().is_some()
            {
                self.act(CheatKind::SharedMemory, format!("leaves {what}"));
            }
        }
        (self.acts, self.unseen)
    }
}

/// Keys and numbers of the System V objects in a table (sysvipc(7), proc(5)).
fn sysv_objects(table: &str) -> BTreeSet<(i64, i64)> {
    let text = Host::new("/").read(format!("proc/sysvipc/{table}")).unwrap_or_default();
    let object = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    text.lines().filter_map(object).collect()
}
