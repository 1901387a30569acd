//! Signals of the launcher. A handler only sets flags and passes signals on (signal-safety(7)). It must also interrupt
//! a blocking wait, so none is installed with `SA_RESTART`.

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

/// The process group of the current run, 0 between runs.
static CURRENT_GROUP: AtomicI32 = AtomicI32::new(0);
/// The session must end: the front end asked for it, or has died.
static STOP_REQUESTED: AtomicBool = AtomicBool::new(false);
/// The current run has exceeded its timeout.
static TIMED_OUT: AtomicBool = AtomicBool::new(false);
/// Requests from the launcher to end the current run.
static REQUESTS: AtomicU32 = AtomicU32::new(0);
/// The process that started the launcher.
static FRONT_END: AtomicI32 = AtomicI32::new(0);
/// Alarms since the front end died.
static ALARMS_ALONE: AtomicU32 = AtomicU32::new(0);

/// Interval between requests to end a run. The first ones are SIGTERM, later ones SIGKILL.
const REPEAT: Duration = Duration::from_millis(100);
/// Requests by SIGTERM before SIGKILL: two seconds.
const TERMS_MAX: u32 = 20;
/// Alarms after which a launcher without a front end is killed: three seconds. A run takes two of these.
const ALARMS_ALONE_MAX: u32 = 30;

fn end_current_group() {
    let group = CURRENT_GROUP.load(Ordering::Relaxed);
    if group > 0 {
        let n_before = REQUESTS.fetch_add(1, Ordering::Relaxed);
        super::signal_group(
            group,
            if n_before < TERMS_MAX { libc::SIGTERM } else { libc::SIGKILL },
        );
    }
}

/// Restores errno after a handler's calls: the interrupted code may be about to read it.
fn keeping_errno(act: impl FnOnce()) {
    // SAFETY: the C library's pointer to the calling thread's errno is always valid.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        act();
        *errno = before;
    }
}

extern "C" fn on_stop(_signal: libc::c_int) {
    // A request of a front end that has died since may have lost its timer.
    if !STOP_REQUESTED.swap(true, Ordering::Relaxed) || is_alone() {
        keeping_errno(|| {
            // The front end may be dead, so the launcher repeats the request itself.
            set_timer(REPEAT, REPEAT);
            end_current_group();
        });
    }
}

/// Whether the front end has ended.
fn is_alone() -> bool {
    // SAFETY: getppid takes no argument and cannot fail.
    unsafe { libc::getppid() != FRONT_END.load(Ordering::Relaxed) }
}

/// Ends a launcher whose front end is gone, and that waits for something else than a run, such as the other end of a
/// FIFO.
fn end_alone() {
    let is_over = STOP_REQUESTED.load(Ordering::Relaxed) && is_alone();
    if is_over && ALARMS_ALONE.fetch_add(1, Ordering::Relaxed) >= ALARMS_ALONE_MAX {
        super::signal_group(CURRENT_GROUP.load(Ordering::Relaxed), libc::SIGKILL);
        // SAFETY: _exit is safe in a handler (signal-safety(7)).
        unsafe { libc::_exit(1) };
    }
}

extern "C" fn on_alarm(_signal: libc::c_int) {
    end_alone();
    // Between runs this is the rest of a timer that was switched off too late: no run has exceeded anything.
    if CURRENT_GROUP.load(Ordering::Relaxed) == 0 {
        return;
    }
    if !STOP_REQUESTED.load(Ordering::Relaxed) {
        TIMED_OUT.store(true, Ordering::Relaxed);
    }
    keeping_errno(end_current_group);
}

extern "C" fn on_nothing(_signal: libc::c_int) {}

fn install(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: an all-zero sigaction is valid (no flags, empty mask). The handlers above use atomics, errno, and the
    // system calls kill and setitimer, which take no locks.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Gives SIGCHLD its default disposition if the parent process ignored it: the kernel would reap children before this
/// process can wait for them (wait4(2), NOTES).
pub fn stop_ignoring_children() {
    if is_ignored(libc::SIGCHLD) {
        // SAFETY: SIG_DFL is always a valid disposition.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    }
}

/// The signals that end a session, as a mask.
const ENDING: u64 = 1 << (libc::SIGINT - 1) | 1 << (libc::SIGTERM - 1) | 1 << (libc::SIGHUP - 1);

/// Holds the signals that end a session back in this thread; drop lets them arrive. A process that is started meanwhile
/// holds them back too (execve(2)), until it calls [`install_launcher_signals`].
#[derive(Debug)]
pub struct HeldSignals {
    before: u64,
}

impl HeldSignals {
    pub fn hold() -> Self {
        Self { before: change_signal_mask(libc::SIG_BLOCK, ENDING) }
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        change_signal_mask(libc::SIG_SETMASK, self.before);
    }
}

/// Installs the launcher's handlers, then lets the signals arrive that its parent held back. They are handlers, not
/// `SIG_IGN`, because exec resets a handler but leaves an ignored signal ignored. The program under test must start as
/// it would from a shell.
pub fn install_launcher_signals() {
    FRONT_END.store(super::parent(), Ordering::Relaxed);
    install(libc::SIGTERM, on_stop);
    install(libc::SIGALRM, on_alarm);
    install(libc::SIGPIPE, on_nothing);
    // The front end decides how to react to ^C, and passes on SIGTERM.
    install(libc::SIGINT, on_nothing);
    // At the limit of file sizes (ulimit -f) write(2) fails, and the launcher goes on.
    install(libc::SIGXFSZ, on_nothing);
    // It may have been sent to the front end's process group before the launcher had its own.
    if !is_ignored(libc::SIGHUP) {
        install(libc::SIGHUP, on_nothing);
    }
    change_signal_mask(libc::SIG_UNBLOCK, ENDING);
}

/// Whether the parent process has this signal ignored, as nohup does.
pub fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only reads. `action` is writable, and all-zero is valid if the call
    // fails.
    let action = unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// Whether a request to end the session came since the last [`take_stop_request`].
pub fn is_stop_requested() -> bool {
    STOP_REQUESTED.load(Ordering::Relaxed)
}

/// Whether a request to end the session came since the last call. The death of the front end stays one.
pub fn take_stop_request() -> bool {
    if !is_stop_requested() {
        return false;
    }
    // Its timer ends the launcher if that does not end by itself.
    if is_alone() {
        return true;
    }
    // The request's timer would go off in the next run and look like its timeout. It is cleared before the flag,
    // because a request that comes after the flag was cleared starts it again.
    set_timer(Duration::ZERO, Duration::ZERO);
    STOP_REQUESTED.store(false, Ordering::Relaxed);
    true
}

/// Ends the requests to end: the launcher is about to.
pub fn end_stop_requests() {
    set_timer(Duration::ZERO, Duration::ZERO);
}

/// The process group that requests to end go to, and its timeout. Drop undoes both.
#[derive(Debug)]
pub struct Alarm {
    armed: bool,
}

impl Alarm {
    /// Arms for a run of this process group.
    pub fn arm(group: i32, timeout: Option<Duration>) -> Self {
        REQUESTS.store(0, Ordering::Relaxed);
        TIMED_OUT.store(false, Ordering::Relaxed);
        CURRENT_GROUP.store(group, Ordering::Relaxed);
        if let Some(timeout) = timeout {
            set_timer(timeout.max(Duration::from_micros(1)), REPEAT);
        }
        // The request came before this run, or its timer was replaced just now.
        if STOP_REQUESTED.load(Ordering::Relaxed) {
            set_timer(REPEAT, REPEAT);
            end_current_group();
        }
        Self { armed: timeout.is_some() }
    }

    pub fn timed_out(&self) -> bool {
        TIMED_OUT.load(Ordering::Relaxed)
    }

    /// Whether the launcher has asked the run to end, for any reason.
    pub fn went_off(&self) -> bool {
        REQUESTS.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        CURRENT_GROUP.store(0, Ordering::Relaxed);
        // Only if it can be running: a call here would be part of the cost of every run.
        let is_stopping = STOP_REQUESTED.load(Ordering::Relaxed);
        if (self.armed || is_stopping) && !(is_stopping && is_alone()) {
            set_timer(Duration::ZERO, Duration::ZERO);
        }
    }
}

fn set_timer(first: Duration, repeat: Duration) {
    let timeval = |duration: Duration| libc::timeval {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_usec: duration.subsec_micros().into(),
    };
    let timer = libc::itimerval { it_interval: timeval(repeat), it_value: timeval(first) };
    // SAFETY: `timer` is a valid itimerval, and the old value may be null.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
}

/// Makes write(2) fail with EFBIG at the limit of file sizes (`ulimit -f`), where the kernel would end the process.
/// exec resets the handler, so a program of the user starts as it would from a shell.
pub fn fail_at_file_size_limit() {
    if !is_ignored(libc::SIGXFSZ) {
        install(libc::SIGXFSZ, on_nothing);
    }
}

/// All signals. A set of the C library leaves out those that it needs itself, and these end a process too.
const ALL_SIGNALS: u64 = u64::MAX;

/// Blocks every signal that can be blocked in this thread: only SIGKILL and SIGSTOP arrive (signal(7)).
pub(super) fn block_signals() {
    change_signal_mask(libc::SIG_SETMASK, ALL_SIGNALS);
}

/// Lets every signal arrive in the program that a command executes, which would inherit a mask (execve(2)).
pub fn let_signals_arrive(command: &mut Command) {
    let unblock = || {
        change_signal_mask(libc::SIG_SETMASK, 0);
        Ok(())
    };
    // SAFETY: between fork and exec it makes one system call.
    unsafe { command.pre_exec(unblock) };
}

/// Changes the mask of this thread, and returns the mask before.
fn change_signal_mask(how: libc::c_int, mask: u64) -> u64 {
    let mut before = 0_u64;
    // SAFETY: the kernel reads and writes eight bytes, which are its whole set on every Linux but MIPS.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            how,
            &raw const mask,
            &raw mut before,
            size_of::<u64>(),
        );
    }
    before
}
