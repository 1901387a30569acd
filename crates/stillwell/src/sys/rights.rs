//! File access with the rights of another user, for a root that works on that user's behalf.

use rustix::process::{getgroups, setpriority_process};
use rustix::thread::set_thread_groups;

use crate::sys::User;

/// Whether this process may set this nice level. A thread tries it: in a container, root may lack the capability, and
/// a user may have a limit that allows it (setpriority(2), RLIMIT_NICE).
pub fn may_raise_priority(nice: i32) -> bool {
    // On Linux the level is that of the calling thread.
    let tries = std::thread::Builder::new().spawn(move || setpriority_process(None, nice).is_ok());
    tries.is_ok_and(|tries| tries.join().unwrap_or(false))
}

/// Calls `act` while this thread opens and makes files as another user: new files belong to that user, and access
/// that the user does not have fails. The other rights of the thread stay (setfsuid(2)). Other threads do not change.
pub fn with_files_of<T>(user: &User, act: impl FnOnce() -> T) -> T {
    /// Restores the rights, also if `act` panics.
    struct GroupsGuard(Vec<rustix::fs::Gid>);
    impl Drop for GroupsGuard {
        fn drop(&mut self) {
            // SAFETY: system calls that take integers only. They cannot fail: the ids are those of the thread.
            unsafe {
                libc::setfsuid(libc::geteuid());
                libc::setfsgid(libc::getegid());
            }
            set_thread_groups(&self.0).ok();
        }
    }
    let _back = GroupsGuard(getgroups().unwrap_or_default());
    let groups: Vec<_> =
        user.groups.iter().map(|&group| rustix::fs::Gid::from_raw(group)).collect();
    // It fails without root, as the next calls do: nothing changes then.
    set_thread_groups(&groups).ok();
    // SAFETY: system calls that take integers only. The group comes first, because it takes root to choose it.
    unsafe {
        libc::setfsgid(user.gid);
        libc::setfsuid(user.uid);
    }
    act()
}
