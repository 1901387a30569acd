//! Making a child: `clone(CLONE_VM | CLONE_VFORK)`, attributes set by the child on itself, the clock read by the
//! child just before `execve`.
//!
//! Between clone and exec the child runs in the parent's memory while the parent is suspended (vfork(2)): what the
//! child stores in `Shared` the parent reads when it goes on. So the child may not allocate, lock or panic, and calls
//! nothing but system calls. glibc's posix_spawn does the same but resets every signal with two calls each and maps a
//! stack, which costs 25 to 35 µs.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::RawFd;

use crate::sys::strings::{CStrings, Environment};

/// A scheduling policy for a child.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// `SCHED_OTHER`, `SCHED_BATCH`, `SCHED_FIFO` or `SCHED_RR`.
    pub policy: c_int,
    /// Real-time priority, 0 where there is none.
    pub priority: c_int,
}

/// Somebody to run as.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// All groups.
    pub groups: Vec<u32>,
}

/// What a child sets on itself before exec.
#[derive(Debug, Default)]
pub struct Attributes {
    /// CPUs it may use.
    pub affinity: Option<Vec<usize>>,
    /// Nice level.
    pub nice: Option<i32>,
    /// Scheduling policy.
    pub policy: Option<Policy>,
    /// Whether to switch address space randomisation off.
    pub no_aslr: bool,
    /// Soft limits: resource number and value.
    pub rlimits: Vec<(u32, u64)>,
    /// Whom it runs as.
    pub run_as: Option<User>,
    /// Where it runs; `None` where this process is.
    pub directory: Option<CString>,
}

/// Where one of the standard streams of a child comes from or goes to.
#[derive(Clone, Copy, Debug)]
pub enum ChildStdio<'a> {
    /// Left as the launcher has it.
    Inherit,
    /// An open descriptor.
    Fd(RawFd),
    /// A file opened for reading by each child, so that each starts at its beginning.
    Read(&'a CStr),
    /// A file created or truncated by each child.
    Write(&'a CStr),
}

/// The step at which a child could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Stage {
    Clone,
    Stdin,
    Stdout,
    Stderr,
    Affinity,
    Nice,
    Policy,
    Personality,
    Rlimit,
    User,
    Descriptor,
    Directory,
    Exec,
}

/// A child that could not be started.
#[derive(Clone, Copy, Debug)]
pub struct LaunchError {
    /// Which call failed.
    pub stage: Stage,
    /// Its errno.
    pub errno: i32,
}

/// A child that has passed exec.
#[derive(Clone, Copy, Debug)]
pub struct Launched {
    /// Its process id, which is also its process group.
    pub pid: i32,
    /// CLOCK_MONOTONIC just before clone.
    pub cloned_ns: u64,
    /// CLOCK_MONOTONIC just before execve, read by the child.
    pub exec_ns: u64,
    /// The CPU on which it read that clock.
    pub cpu: u32,
}

/// Written by the child, read by the parent after the child has exec'ed or ended. Only ever used through a raw
/// pointer while a child may be running, because the two share it.
struct Shared {
    exec_ns: u64,
    cpu: u32,
    failure: Option<LaunchError>,
}

/// Everything the child needs, prepared before the clone.
struct ChildJob<'a> {
    path: &'a CStr,
    argv: *const *const c_char,
    envp: *const *const c_char,
    stdio: [ChildStdio<'a>; 3],
    kept: &'a [RawFd],
    attributes: &'a Attributes,
    affinity: Option<libc::cpu_set_t>,
    shared: *mut Shared,
}

/// Makes children, reusing one stack.
#[derive(Debug)]
pub struct Launcher {
    stack: Vec<u8>,
}

const STACK_BYTES: usize = 32 << 10;

impl Default for Launcher {
    fn default() -> Self {
        Self { stack: vec![0; STACK_BYTES] }
    }
}

/// CLOCK_MONOTONIC in nanoseconds, from the vDSO.
fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: now is writable; CLOCK_MONOTONIC always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

impl Launcher {
    /// Starts a child and returns when it has exec'ed.
    ///
    /// # Errors
    /// Which call failed in the child, or clone itself; a child that failed is already reaped.
    pub fn launch(
        &mut self,
        path: &CStr,
        argv: &CStrings,
        envp: &Environment,
        stdio: [ChildStdio<'_>; 3],
        attributes: &Attributes,
    ) -> Result<Launched, LaunchError> {
        self.launch_with(path, argv, envp, stdio, attributes, &[])
    }

    /// Starts a child that has these descriptors open as well, under the numbers that they have here. They stay
    /// FD_CLOEXEC in this process, so no other child gets them.
    ///
    /// # Errors
    /// As [`Launcher::launch`].
    pub fn launch_with(
        &mut self,
        path: &CStr,
        argv: &CStrings,
        envp: &Environment,
        stdio: [ChildStdio<'_>; 3],
        attributes: &Attributes,
        kept: &[RawFd],
    ) -> Result<Launched, LaunchError> {
        let mut shared = Shared { exec_ns: 0, cpu: 0, failure: None };
        let mut job = ChildJob {
            path,
            argv: argv.pointers.as_ptr(),
            envp: envp.pointers.as_ptr(),
            stdio,
            kept,
            attributes,
            affinity: attributes.affinity.as_deref().map(cpu_set),
            shared: &raw mut shared,
        };
        debug_assert!(argv.pointers.len() > 1 && !envp.pointers.is_empty());
        // Stacks grow down; the top must be 16-byte aligned (System V ABI).
        let top = self.stack.as_mut_ptr_range().end;
        let top = top.wrapping_sub(top as usize % 16);
        let cloned_ns = monotonic_ns();
        // SAFETY: CLONE_VFORK suspends this thread until the child has exec'ed or exited, so the child is the only
        // user of the stack, of `job` and, through its pointer, of `shared`; it does not return from child_main.
        let pid = unsafe {
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            libc::clone(child_main, top.cast(), flags, (&raw mut job).cast())
        };
        if pid < 0 {
            let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
            return Err(LaunchError { stage: Stage::Clone, errno });
        }
        // SAFETY: the child is past exec or gone, nobody else writes this any more; volatile because the compiler
        // cannot know that a call to clone wrote it.
        let shared = unsafe { (&raw const shared).read_volatile() };
        if let Some(failure) = shared.failure {
            while super::reap(pid).is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
            return Err(failure);
        }
        Ok(Launched { pid, cloned_ns, exec_ns: shared.exec_ns, cpu: shared.cpu })
    }
}

fn cpu_set(cpus: &[usize]) -> libc::cpu_set_t {
    // SAFETY: all-zero is the empty set, and CPU_SET checks nothing but is only called with indices that fit.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(cpu, &mut set);
        }
        set
    }
}

/// The child. Never returns: it ends in execve or _exit.
extern "C" fn child_main(job: *mut c_void) -> c_int {
    // SAFETY: launch passes a ChildJob that outlives the child's use of it.
    let job = unsafe { &*job.cast::<ChildJob<'_>>() };
    let stage = set_up(job).err().unwrap_or_else(|| {
        // SAFETY: shared outlives the child, the parent is suspended; path, argv and envp are null-terminated.
        unsafe {
            (*job.shared).cpu = libc::sched_getcpu().cast_unsigned();
            (*job.shared).exec_ns = monotonic_ns();
            libc::execve(job.path.as_ptr(), job.argv, job.envp);
        }
        Stage::Exec
    });
    // SAFETY: as above; errno is that of the call that failed just now, and _exit runs no handlers of the parent.
    unsafe {
        let errno = *libc::__errno_location();
        (*job.shared).failure = Some(LaunchError { stage, errno });
        libc::_exit(127)
    }
}

fn set_up(job: &ChildJob<'_>) -> Result<(), Stage> {
    let attributes = job.attributes;
    // SAFETY: plain system calls whose pointer arguments are to memory prepared before the clone.
    unsafe {
        // A group of its own, so that a timeout ends the whole run; and no orphan if the launcher is killed.
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // Every Rust program ignores SIGPIPE (std::rt), and an ignored signal stays ignored (execve(2)): `yes | head`
        // in a program under test would not end. The launcher has a handler for it, the front end has not.
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGPIPE, &raw const default, std::ptr::null_mut());
        if let Some(user) = &attributes.run_as {
            take_files_of(user)?;
        }
        for (fd, (stdio, stage)) in
            job.stdio.into_iter().zip([Stage::Stdin, Stage::Stdout, Stage::Stderr]).enumerate()
        {
            redirect(stdio, fd as c_int).ok_or(stage)?;
        }
        for &fd in job.kept {
            // A child made without CLONE_FILES has a table of its own: the parent's flag stays (clone(2)).
            check(libc::fcntl(fd, libc::F_SETFD, 0), Stage::Descriptor)?;
        }
        for &(resource, value) in &attributes.rlimits {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            check(libc::getrlimit(resource, &raw mut limit), Stage::Rlimit)?;
            limit.rlim_cur = value;
            check(libc::setrlimit(resource, &raw const limit), Stage::Rlimit)?;
        }
        if attributes.no_aslr {
            let persona = libc::personality(0xffff_ffff);
            let wanted = persona.cast_unsigned() | libc::ADDR_NO_RANDOMIZE.cast_unsigned();
            check(libc::personality(libc::c_ulong::from(wanted)), Stage::Personality)?;
        }
        if let Some(nice) = attributes.nice {
            check(libc::setpriority(libc::PRIO_PROCESS, 0, nice), Stage::Nice)?;
        }
        if let Some(policy) = attributes.policy {
            let parameter = libc::sched_param { sched_priority: policy.priority };
            check(libc::sched_setscheduler(0, policy.policy, &raw const parameter), Stage::Policy)?;
        }
        if let Some(set) = &job.affinity {
            check(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set), Stage::Affinity)?;
        }
        // After the standard streams, whose paths are relative to where this process is.
        if let Some(directory) = &attributes.directory {
            check(libc::chdir(directory.as_ptr()), Stage::Directory)?;
        }
        if let Some(user) = &attributes.run_as {
            become_user(user)?;
        }
    }
    Ok(())
}

/// Opens files as another user from now on; becoming them comes last, when nothing needs root any more.
///
/// # Safety
/// Only for a process with one thread.
unsafe fn take_files_of(user: &User) -> Result<(), Stage> {
    // SAFETY: plain system calls; the list of groups is made before a clone.
    unsafe {
        check_call(libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr()))?;
        libc::syscall(libc::SYS_setfsgid, user.gid);
        libc::syscall(libc::SYS_setfsuid, user.uid);
    }
    Ok(())
}

/// Gives root up for good, groups first, for this whole process, which has one thread.
///
/// # Errors
/// The kernel's answer.
pub fn become_user_for_good(user: &User) -> io::Result<()> {
    // SAFETY: what both ask for is that no other thread needs the rights of the process; there is none.
    let became = unsafe { take_files_of(user).and_then(|()| become_user(user)) };
    became.map_err(|_| io::Error::last_os_error())
}

/// Gives root up for good. glibc's functions would tell all threads of the process, which here is that of
/// the parent (nptl/setxid); the system calls change only the child.
///
/// # Safety
/// Only for a process with one thread.
unsafe fn become_user(user: &User) -> Result<(), Stage> {
    // SAFETY: plain system calls.
    unsafe {
        check_call(libc::syscall(libc::SYS_setgid, user.gid))?;
        check_call(libc::syscall(libc::SYS_setuid, user.uid))?;
        // Another user takes the signal of the parent's death away (commit_creds() in kernel/cred.c).
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    Ok(())
}

fn check_call(result: libc::c_long) -> Result<(), Stage> {
    if result < 0 { Err(Stage::User) } else { Ok(()) }
}

fn check(result: c_int, stage: Stage) -> Result<(), Stage> {
    if result < 0 { Err(stage) } else { Ok(()) }
}

/// Points a standard descriptor somewhere else; `None` when that failed.
///
/// # Safety
/// Only for the child: it changes the process's descriptors.
unsafe fn redirect(stdio: ChildStdio<'_>, target: c_int) -> Option<()> {
    let (opened, keep) = match stdio {
        ChildStdio::Inherit => return Some(()),
        ChildStdio::Fd(fd) => (fd, true),
        // SAFETY: the paths are null-terminated.
        ChildStdio::Read(path) => (unsafe { libc::open(path.as_ptr(), libc::O_RDONLY) }, false),
        ChildStdio::Write(path) => {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
            // SAFETY: as above.
            (unsafe { libc::open(path.as_ptr(), flags, 0o666) }, false)
        }
    };
    // SAFETY: plain integers; the descriptor is closed only if it was opened here.
    unsafe {
        if opened < 0 || (opened != target && libc::dup2(opened, target) < 0) {
            return None;
        }
        if !keep && opened != target {
            libc::close(opened);
        }
    }
    Some(())
}
