//! Starts a child by `clone(CLONE_VM | CLONE_VFORK)`. The child sets its attributes on itself, and reads the clock just
//! before `execve`.
//!
//! Between clone and exec the child runs in the parent's memory, and the parent's thread is suspended (vfork(2)). The
//! child stores its times in `Shared`, where the parent reads them afterwards. The child must not allocate, lock or
//! panic, so it makes system calls only. glibc's posix_spawn works like this too, but it resets every signal with two
//! calls each and maps a stack, which costs 25 to 35 µs.

mod schedstat;
mod stdio;

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_ulong, c_void};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use crate::sys::affinity::{CpuMask, NodePolicy};
use crate::sys::probe::{CoreProbe, probe_core, use_cpu};
use crate::sys::rights::{User, become_user, give_back_files, take_files_of};
use crate::sys::strings::{CStrings, Envp};

pub use schedstat::SchedstatText;
pub use stdio::ChildStdio;
use stdio::redirect;

/// A scheduling policy for a child.
#[derive(Clone, Copy, Debug)]
pub struct SchedulingPolicy {
    /// `SCHED_OTHER`, `SCHED_BATCH`, `SCHED_FIFO` or `SCHED_RR`.
    pub policy: c_int,
    /// Real-time priority, 0 if there is none.
    pub priority: c_int,
}

/// The attributes that a child sets on itself before exec.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    pub affinity: Option<CpuMask>,
    pub memory: Option<NodePolicy>,
    pub nice: Option<i32>,
    pub policy: Option<SchedulingPolicy>,
    /// Whether to switch address space randomisation off.
    pub no_aslr: bool,
    /// User of the child; `None`: this process's.
    pub run_as: Option<User>,
    /// Working directory of the child; `None`: this process's.
    pub directory: Option<CString>,
    /// The process group that it joins; 0 for one of its own.
    pub group: i32,
}

/// The step at which the start of a child failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Stage {
    Clone,
    Stdin,
    Stdout,
    Stderr,
    Affinity,
    Memory,
    Nice,
    Policy,
    Personality,
    User,
    Descriptor,
    Directory,
    Exec,
}

#[derive(Clone, Copy, Debug)]
pub struct LaunchError {
    pub stage: Stage,
    pub errno: i32,
}

/// A child that has passed exec.
#[derive(Clone, Copy, Debug)]
pub struct LaunchedChild {
    /// Process id, which is also the number of the process group.
    pub pid: i32,
    /// CLOCK_MONOTONIC just before clone.
    pub cloned_ns: u64,
    /// CLOCK_MONOTONIC just before execve, read by the child.
    pub exec_ns: u64,
    /// The CPU on which the child read that clock.
    pub cpu: u32,
    /// The child's schedstat just before that; empty if there is none.
    pub schedstat: SchedstatText,
    /// The probe of the core just before that, if requested.
    pub probe: Option<CoreProbe>,
    /// CPU time used up before that by a requested delay, ns.
    pub delayed_ns: u64,
}

/// The results of the child, which the parent reads when the child has exec'ed or ended. Until then both use raw
/// pointers only, because they share it.
struct Shared {
    exec_ns: u64,
    cpu: u32,
    schedstat: SchedstatText,
    probe: Option<CoreProbe>,
    delayed_ns: u64,
    failure: Option<LaunchError>,
}

/// The child's input, prepared before the clone.
struct ChildJob<'a> {
    path: &'a CStr,
    /// Ends with a null pointer, as does `envp`.
    argv: *const *const c_char,
    envp: *const *const c_char,
    stdio: [ChildStdio<'a>; 3],
    kept: &'a [BorrowedFd<'a>],
    attributes: &'a Attributes,
    reads_schedstat: bool,
    probes_core: bool,
    /// CPU time that the child uses up before anything is measured, ns.
    delay_ns: u64,
    /// The process that waits for the child.
    parent: c_int,
    shared: *mut Shared,
}

/// Starts children, one after another on the same stack.
#[derive(Debug)]
pub struct Launcher {
    stack: Vec<u8>,
    reads_schedstat: bool,
    /// Whether the next child probes its core.
    pub probes_core: bool,
    /// CPU time that the next child uses up before anything is measured, ns. It gives samples that began with the clone
    /// another phase in each run.
    pub delay_ns: u64,
}

/// The child's few frames, and one frame of a signal handler, which the kernel makes up to 11 KiB long on an x86 CPU
/// with AMX (sigaltstack(2), `AT_MINSIGSTKSZ`).
const STACK_BYTES: usize = 32 << 10;

impl Default for Launcher {
    fn default() -> Self {
        Self {
            stack: vec![0; STACK_BYTES],
            reads_schedstat: false,
            probes_core: false,
            delay_ns: 0,
        }
    }
}

/// SIGKILL as prctl(2) takes it.
const KILL: c_ulong = libc::SIGKILL as c_ulong;

/// CLOCK_MONOTONIC from the vDSO.
fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

impl Launcher {
    /// A launcher whose children read their schedstat just before exec, if `reads_schedstat`.
    pub fn new(reads_schedstat: bool) -> Self {
        Self { reads_schedstat, ..Self::default() }
    }

    /// Starts a child and returns when it has exec'ed. The child has the descriptors `kept` under the same numbers. They
    /// stay FD_CLOEXEC in this process, so no other child gets them. Errors: the call that failed: in the child, or clone
    /// itself. A child that failed is already reaped.
    pub fn launch(
        &mut self,
        path: &CStr,
        argv: &CStrings,
        envp: Envp<'_>,
        stdio: [ChildStdio<'_>; 3],
        attributes: &Attributes,
        kept: &[BorrowedFd<'_>],
    ) -> Result<LaunchedChild, LaunchError> {
        let mut shared = Shared {
            exec_ns: 0,
            cpu: 0,
            schedstat: SchedstatText::EMPTY,
            probe: None,
            delayed_ns: 0,
            failure: None,
        };
        let mut job = ChildJob {
            path,
            argv: argv.as_ptr(),
            envp: envp.as_ptr(),
            stdio,
            kept,
            attributes,
            reads_schedstat: self.reads_schedstat,
            probes_core: self.probes_core,
            delay_ns: self.delay_ns,
            parent: std::process::id().cast_signed(),
            shared: &raw mut shared,
        };
        // Stacks grow down; the top must be 16-byte aligned (System V ABI).
        let top = self.stack.as_mut_ptr_range().end;
        let top = top.wrapping_sub(top as usize % 16);
        let cloned_ns = monotonic_ns();
        // SAFETY: CLONE_VFORK suspends this thread until the child has exec'ed or exited. All that `job` points to is
        // borrowed until then, so no other thread changes it. The stack and `shared` belong to this call alone.
        // `child_main` does not return.
        let pid = unsafe {
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            libc::clone(child_main, top.cast(), flags, (&raw mut job).cast())
        };
        if pid < 0 {
            let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
            return Err(LaunchError { stage: Stage::Clone, errno });
        }
        // SAFETY: the child has exec'ed or ended, so only this thread uses `shared` now. The read is volatile because
        // the compiler cannot see that the child wrote it.
        let shared = unsafe { (&raw const shared).read_volatile() };
        if let Some(failure) = shared.failure {
            super::reap(pid).ok();
            return Err(failure);
        }
        let Shared { exec_ns, cpu, schedstat, probe, delayed_ns, failure: _ } = shared;
        Ok(LaunchedChild { pid, cloned_ns, exec_ns, cpu, schedstat, probe, delayed_ns })
    }
}

/// The child's code. It ends in execve or _exit and never returns.
extern "C" fn child_main(job: *mut c_void) -> c_int {
    // SAFETY: `launch` passes a ChildJob that outlives the child's use of it.
    let job = unsafe { &*job.cast::<ChildJob<'_>>() };
    let stage = set_up(job).err().unwrap_or_else(|| {
        // SAFETY: `shared` outlives the child's use of it, and the parent is suspended. The path ends with a NUL, and
        // `argv` and `envp` are arrays of such strings that end with a null pointer and are borrowed until exec.
        unsafe {
            if job.delay_ns > 0 {
                (*job.shared).delayed_ns = use_cpu(job.delay_ns);
            }
            if job.probes_core {
                (*job.shared).probe = probe_core();
            }
            // The C library's sched_getcpu reads the parent's area of rseq(2), which this child shares, and so tells
            // the parent's CPU. The system call cannot fail.
            let none = std::ptr::null_mut::<c_void>();
            libc::syscall(libc::SYS_getcpu, &raw mut (*job.shared).cpu, none, none);
            (*job.shared).exec_ns = if job.reads_schedstat {
                schedstat::read_beside_the_clock(&raw mut (*job.shared).schedstat)
            } else {
                monotonic_ns()
            };
            libc::execve(job.path.as_ptr(), job.argv, job.envp);
        }
        Stage::Exec
    });
    // SAFETY: as above for `shared`. The errno is the parent's variable, which the call that failed just now has set.
    // _exit runs none of the parent's exit handlers.
    unsafe {
        let errno = *libc::__errno_location();
        (*job.shared).failure = Some(LaunchError { stage, errno });
        libc::_exit(127)
    }
}

fn set_up(job: &ChildJob<'_>) -> Result<(), Stage> {
    let attributes = job.attributes;
    // SAFETY: system calls whose pointers are to memory prepared before the clone, or to variables of this function.
    // The process is the child, so `redirect` may replace its descriptors.
    unsafe {
        // With a group of its own a timeout ends the whole run. The signal ends the child when the launcher is killed.
        libc::setpgid(0, attributes.group);
        libc::prctl(libc::PR_SET_PDEATHSIG, KILL);
        // Every Rust program ignores SIGPIPE (std::rt), and an ignored signal stays ignored (execve(2)): `yes | head`
        // in a program under test would not end. The launcher has a handler for it, the front end has none.
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGPIPE, &raw const default, std::ptr::null_mut());
        if attributes.no_aslr {
            let persona = libc::personality(0xffff_ffff);
            let wanted = persona.cast_unsigned() | libc::ADDR_NO_RANDOMIZE.cast_unsigned();
            check(libc::personality(c_ulong::from(wanted)), Stage::Personality)?;
        }
        if let Some(nice) = attributes.nice {
            check(libc::setpriority(libc::PRIO_PROCESS, 0, nice), Stage::Nice)?;
        }
        if let Some(policy) = attributes.policy {
            // The system call: musl's function always fails (its src/sched/sched_setscheduler.c). The kernel's struct
            // sched_param is one int (sched_setscheduler(2)).
            let priority = &raw const policy.priority;
            let set = libc::SYS_sched_setscheduler;
            check(libc::syscall(set, 0, policy.policy, priority), Stage::Policy)?;
        }
        if let Some(mask) = &attributes.affinity {
            check(mask.bind(0), Stage::Affinity)?;
        }
        if let Some(memory) = &attributes.memory {
            check(memory.set(), Stage::Memory)?;
        }
        // From here on nothing needs root. Files are opened by the user, or still as the parent's thread does.
        if let Some(user) = &attributes.run_as {
            take_files_of(user).and_then(|()| become_user(user)).map_err(|_| Stage::User)?;
        }
        for (fd, (stdio, stage)) in
            job.stdio.into_iter().zip([Stage::Stdin, Stage::Stdout, Stage::Stderr]).enumerate()
        {
            redirect(stdio, fd as c_int).ok_or(stage)?;
        }
        for fd in job.kept {
            // Without CLONE_FILES the child has its own table, so the parent's flag stays (clone(2)).
            check(libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0), Stage::Descriptor)?;
        }
        if attributes.run_as.is_none() {
            give_back_files().map_err(|_| Stage::User)?;
            // Cleared when the ids change, as in `become_user`.
            libc::prctl(libc::PR_SET_PDEATHSIG, KILL);
        }
        // After the standard streams, whose paths are relative to this process's directory.
        if let Some(directory) = &attributes.directory {
            check(libc::chdir(directory.as_ptr()), Stage::Directory)?;
        }
        // The kernel sends no signal for a parent that ended before PR_SET_PDEATHSIG (prctl(2)). The run would outlive
        // its session. There is no error, because only the parent would have read it.
        if libc::getppid() != job.parent {
            libc::_exit(127);
        }
    }
    Ok(())
}

fn check(result: impl Into<c_long>, stage: Stage) -> Result<(), Stage> {
    if result.into() < 0 { Err(stage) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
