//! Keeps a process alive that must put the machine back.
#![expect(clippy::disallowed_methods, reason = "this process asks for its own standing")]

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, setsid};

use super::signals::block_signals;

/// Limits that end a process, or make its calls fail in the middle of its work (setrlimit(2)).
const LIMITS: [Resource; 8] = [
    Resource::Fsize,
    Resource::Cpu,
    Resource::As,
    Resource::Data,
    Resource::Nofile,
    Resource::Nproc,
    Resource::Memlock,
    Resource::Core,
];
/// More than this process ever has open. The kernel takes no infinity for descriptors (setrlimit(2), EPERM).
const DESCRIPTORS: u64 = 1024;
/// The kernel kills everything else first (proc_pid_oom_score_adj(5)).
const LAST_TO_DIE: &str = "-1000";

/// Takes this process out of its session, blocks all signals but SIGKILL and SIGSTOP, raises its limits, and makes it
/// the last that the kernel kills for memory. It does without what the kernel refuses: only root may raise a hard
/// limit.
pub fn survive() {
    block_signals();
    // This fails for the leader of a process group, which may not leave its terminal.
    setsid().ok();
    for limit in LIMITS {
        let Rlimit { maximum, .. } = getrlimit(limit);
        let most = match limit {
            Resource::Nofile => maximum.map(|maximum| maximum.max(DESCRIPTORS)),
            _ => None,
        };
        if setrlimit(limit, Rlimit { current: most, maximum: most }).is_err() {
            setrlimit(limit, Rlimit { current: maximum, maximum }).ok();
        }
    }
    std::fs::write("/proc/self/oom_score_adj", LAST_TO_DIE).ok();
}
