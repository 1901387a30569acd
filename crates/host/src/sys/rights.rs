//! The rights of another user, for a root that works on that user's behalf.

use std::ffi::c_ulong;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;

use rustix::fs::Gid;
use rustix::process::{
    geteuid, getgroups, getpid, getppid, kill_process, parent_process_death_signal,
    set_parent_process_death_signal, setpriority_process,
};
use rustix::thread::set_thread_groups;

use super::checked;

/// The user and the groups that a process runs as.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

/// Makes the calling thread open files as another user. `become_user` comes last, when nothing needs root any more.
/// Errors: the kernel refuses.
pub(super) fn take_files_of(user: &User) -> io::Result<()> {
    // SAFETY: the list of groups is as long as the call says; the other calls take no memory.
    unsafe {
        checked(libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr()))?;
        libc::syscall(libc::SYS_setfsgid, user.gid);
        libc::syscall(libc::SYS_setfsuid, user.uid);
    }
    Ok(())
}

/// Gives up root for good. glibc's functions would change every thread of the process, which between clone and exec is
/// the parent's (nptl/setxid). The system calls change only the calling thread. Errors: the kernel refuses.
pub(super) fn become_user(user: &User) -> io::Result<()> {
    // SAFETY: system calls that take integers, and pointers to variables of this function.
    unsafe {
        checked(libc::syscall(libc::SYS_setresgid, user.gid, user.gid, user.gid))?;
        checked(libc::syscall(libc::SYS_setresuid, user.uid, user.uid, user.uid))?;
        // The kernel has cleared the capabilities, unless `securebits` keep them (capabilities(7), "Effect of user ID
        // changes on capabilities"). The inheritable ones stay without this call. The bounding set stays, so setuid
        // programs work for the command as for its user.
        let header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
        let none = [[0_u32; 3]; 2];
        checked(libc::syscall(libc::SYS_capset, &raw const header, &raw const none))?;
        // The kernel clears the parent's death signal when the user changes (commit_creds() in kernel/cred.c).
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong);
    }
    Ok(())
}

/// Gives up root for good, groups first. Only the calling thread changes, so call it in a process with one thread.
pub fn become_user_for_good(user: &User) -> io::Result<()> {
    take_files_of(user)?;
    become_user(user)
}

/// Makes a command that this program needs for itself run as another user. It cannot regain rights by a setuid program
/// (`no_new_privs`), and it ends with the thread that starts it.
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

/// Whether this process may set this nice level. A thread tries it: in a container, root may lack the capability, and a
/// user's limit may allow it (setpriority(2), RLIMIT_NICE).
pub fn may_raise_priority(nice: i32) -> bool {
    // On Linux the level belongs to the calling thread.
    let tries = std::thread::Builder::new().spawn(move || setpriority_process(None, nice).is_ok());
    tries.is_ok_and(|tries| tries.join().unwrap_or(false))
}

/// The ids by which the kernel decides which files a thread may open (credentials(7), "filesystem user ID").
#[derive(Debug)]
struct FileIds {
    uid: u32,
    gid: u32,
    groups: Vec<Gid>,
}

/// The ids of this process before [`take_files`].
static OWN: OnceLock<FileIds> = OnceLock::new();

impl FileIds {
    fn current() -> Self {
        // SAFETY: the calls take integers. An id that does not exist changes nothing and returns the id in force
        // (setfsuid(2)).
        let (uid, gid) = unsafe { (libc::setfsuid(u32::MAX), libc::setfsgid(u32::MAX)) };
        let groups = getgroups().unwrap_or_default();
        Self { uid: uid.cast_unsigned(), gid: gid.cast_unsigned(), groups }
    }

    fn of(user: &User) -> Self {
        let groups = user.groups.iter().map(|&group| Gid::from_raw(group)).collect();
        Self { uid: user.uid, gid: user.gid, groups }
    }

    /// Gives this thread these ids. The kernel then clears the parent's death signal (`commit_creds()` in
    /// kernel/cred.c), so it is set again.
    fn take(&self) -> io::Result<()> {
        let (parent, signal) = (getppid(), parent_process_death_signal().ok().flatten());
        // The groups come first, because it takes root to choose them.
        set_thread_groups(&self.groups)?;
        // SAFETY: system calls that take integers only.
        unsafe {
            libc::setfsgid(self.gid);
            libc::setfsuid(self.uid);
        }
        if let Some(signal) = signal {
            set_parent_process_death_signal(Some(signal))?;
            if getppid() != parent {
                // The parent ended while there was no signal.
                kill_process(getpid(), signal)?;
            }
        }
        let now = Self::current();
        if (now.uid, now.gid) == (self.uid, self.gid) {
            Ok(())
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
}

/// Calls `act` with other ids. The thread gets its own back, even if `act` panics.
fn with_ids<T>(ids: &FileIds, act: impl FnOnce() -> T) -> T {
    struct GiveBack(FileIds);
    impl Drop for GiveBack {
        fn drop(&mut self) {
            self.0.take().expect("a thread may take back its own ids");
        }
    }
    let _back = GiveBack(FileIds::current());
    // `take_files` has shown that this process may do it.
    ids.take().expect("root may take the ids of a user");
    act()
}

/// Makes this thread, and each that it starts, open and make files as another user: new files belong to that user, and
/// access that the user lacks fails. The other rights stay (setfsuid(2)).
pub fn take_files(user: &User) -> io::Result<()> {
    let own = FileIds::current();
    FileIds::of(user).take()?;
    OWN.get_or_init(|| own);
    Ok(())
}

/// Calls `act` while this thread opens files as `user`. Other threads do not change.
pub fn with_files_of<T>(user: &User, act: impl FnOnce() -> T) -> T {
    with_ids(&FileIds::of(user), act)
}

/// Calls `act` while this thread opens files as this process's user, even after [`take_files`].
pub fn with_own_files<T>(act: impl FnOnce() -> T) -> T {
    if let Some(own) = OWN.get() { with_ids(own, act) } else { act() }
}

/// Whether this thread opens files as another user than this process's.
pub fn has_files_of_another() -> bool {
    FileIds::current().uid != geteuid().as_raw()
}

/// Gives a child its own ids back before it execs, if [`take_files`] took them. It makes system calls only.
pub(super) fn give_back_files() -> io::Result<()> {
    let Some(own) = OWN.get() else { return Ok(()) };
    // SAFETY: the list of groups is as long as the call says, and a `Gid` is a number; the other calls take no memory.
    unsafe {
        checked(libc::syscall(libc::SYS_setgroups, own.groups.len(), own.groups.as_ptr()))?;
        libc::syscall(libc::SYS_setfsgid, own.gid);
        libc::syscall(libc::SYS_setfsuid, own.uid);
    }
    Ok(())
}

/// Makes a command of our own run with all ids of this process, even after [`take_files`]. exec restores the user and
/// the group, but not the other groups.
pub fn run_as_ourselves(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec it makes system calls only.
    unsafe { command.pre_exec(give_back_files) }
}
