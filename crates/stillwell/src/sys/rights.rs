//! The rights of another user, for a root that works on that user's behalf.

use std::ffi::c_ulong;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{getgroups, setpriority_process};
use rustix::thread::set_thread_groups;

/// The user and the groups that a process runs as.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// All groups.
    pub groups: Vec<u32>,
}

/// Makes the calling thread open files as another user; `None` where the kernel refuses. `become_user` comes last, when
/// nothing needs root any more.
pub(super) fn take_files_of(user: &User) -> Option<()> {
    // SAFETY: the list of groups is as long as the call says; the other calls take no memory.
    unsafe {
        succeeds(libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr()))?;
        libc::syscall(libc::SYS_setfsgid, user.gid);
        libc::syscall(libc::SYS_setfsuid, user.uid);
    }
    Some(())
}

/// Gives up root for good; `None` where the kernel refuses. glibc's functions would change every thread of the process,
/// which between clone and exec is the parent's (nptl/setxid). The system calls change only the calling thread.
pub(super) fn become_user(user: &User) -> Option<()> {
    // SAFETY: system calls that take integers, and pointers to variables of this function.
    unsafe {
        succeeds(libc::syscall(libc::SYS_setresgid, user.gid, user.gid, user.gid))?;
        succeeds(libc::syscall(libc::SYS_setresuid, user.uid, user.uid, user.uid))?;
        // The kernel has cleared the capabilities, unless `securebits` keep them (capabilities(7), "Effect of user ID
        // changes on capabilities"). The inheritable ones stay without this call. The bounding set stays as it is:
        // setuid programs work for the command as they work for its user.
        let header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
        let none = [[0_u32; 3]; 2];
        succeeds(libc::syscall(libc::SYS_capset, &raw const header, &raw const none))?;
        // The kernel clears the signal of the parent's death when the user changes (commit_creds() in kernel/cred.c).
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong);
    }
    Some(())
}

/// Gives up root for good, groups first. Only the calling thread changes, so call it in a process with one thread.
///
/// # Errors
/// The kernel's answer.
pub fn become_user_for_good(user: &User) -> io::Result<()> {
    let became = take_files_of(user).and_then(|()| become_user(user));
    became.ok_or_else(io::Error::last_os_error)
}

/// Makes a command that this program needs for itself run as another user. It cannot get rights back by a setuid
/// program (`no_new_privs`), and it ends with the thread that starts it.
pub fn run_as(command: &mut Command, user: User) {
    let drop_rights = move || {
        // SAFETY: the call takes integers only.
        unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as c_ulong, 0, 0, 0) };
        become_user_for_good(&user)
    };
    // SAFETY: between fork and exec it makes system calls only.
    unsafe { command.pre_exec(drop_rights) };
}

/// `_LINUX_CAPABILITY_VERSION_3` of linux/capability.h: two words of 32 capabilities in each set.
const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// `struct __user_cap_header_struct` of linux/capability.h.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

fn succeeds(result: libc::c_long) -> Option<()> {
    (result >= 0).then_some(())
}

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
