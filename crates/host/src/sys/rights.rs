//! The rights of another user, for a root that works on that user's behalf.

use std::ffi::c_ulong;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;

use rustix::process::{
    geteuid, getgroups, getpid, getppid, getpriority_process, kill_process,
    parent_process_death_signal, set_parent_process_death_signal, setpriority_process,
};

use super::checked;

/// The user and the groups that a process runs as, or as whom a thread opens files (credentials(7), "filesystem user ID").
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

/// Makes the calling thread open files as another user. `become_user` comes last, when nothing needs root any more.
/// Errors: the kernel refuses.
pub(super) fn take_files_of(user: &User) -> io::Result<()> {
    // The groups come first, because it takes root to choose them.
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

/// Whether this process may set this nice level. It tries: in a container, root may lack the capability, and a user's
/// limit may allow it (setpriority(2), RLIMIT_NICE). The way back to a higher level needs no right. No thread tries it
/// instead: with too little memory for its signal stack, the standard library hangs (`make_handler` panics).
pub fn may_raise_priority(nice: i32) -> bool {
    let set = |nice| setpriority_process(None, nice).is_ok();
    getpriority_process(None).is_ok_and(|own| nice >= own || (set(nice) && set(own)))
}

/// The user that this process opened files as before [`take_files`].
static OWN: OnceLock<User> = OnceLock::new();

impl User {
    /// The user that this thread opens files as.
    fn of_files() -> Self {
        // SAFETY: the calls take integers. An id that does not exist changes nothing and returns the id in force
        // (setfsuid(2)).
        let (uid, gid) = unsafe { (libc::setfsuid(u32::MAX), libc::setfsgid(u32::MAX)) };
        let groups = getgroups().unwrap_or_default().iter().map(|group| group.as_raw()).collect();
        Self { uid: uid.cast_unsigned(), gid: gid.cast_unsigned(), groups }
    }

    /// Makes this thread open files as this user. The kernel then clears the parent's death signal (`commit_creds()` in
    /// kernel/cred.c), so it is set again.
    fn take_files(&self) -> io::Result<()> {
        let (parent, signal) = (getppid(), parent_process_death_signal().ok().flatten());
        take_files_of(self)?;
        if let Some(signal) = signal {
            set_parent_process_death_signal(Some(signal))?;
            if getppid() != parent {
                // The parent ended while there was no signal.
                kill_process(getpid(), signal)?;
            }
        }
        let now = Self::of_files();
        if (now.uid, now.gid) == (self.uid, self.gid) {
            Ok(())
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
}

/// Calls `act` while this thread opens files as `user`. Other threads do not change. The thread gets its own ids back, even
/// if `act` panics.
pub fn with_files_of<T>(user: &User, act: impl FnOnce() -> T) -> T {
    struct GiveBack(User);
    impl Drop for GiveBack {
        fn drop(&mut self) {
            self.0.take_files().expect("a thread may take back its own ids");
        }
    }
    let _back = GiveBack(User::of_files());
    // `take_files` has shown that this process may do it.
    user.take_files().expect("root may take the ids of a user");
    act()
}

/// Makes this thread, and each that it starts, open and make files as another user: new files belong to that user, and
/// access that the user lacks fails. The other rights stay (setfsuid(2)).
pub fn take_files(user: &User) -> io::Result<()> {
    let own = User::of_files();
    user.take_files()?;
    OWN.get_or_init(|| own);
    Ok(())
}

/// Calls `act` while this thread opens files as this process's user, even after [`take_files`].
pub fn with_own_files<T>(act: impl FnOnce() -> T) -> T {
    if let Some(own) = OWN.get() { with_files_of(own, act) } else { act() }
}

/// The user that this thread opens files as, to whom files that it makes belong.
pub fn file_owner() -> u32 {
    User::of_files().uid
}

/// Whether this thread opens files as another user than this process's.
pub fn has_files_of_another() -> bool {
    file_owner() != geteuid().as_raw()
}

/// Gives a child its own ids back before it execs, if [`take_files`] took them. It makes system calls only.
pub(super) fn give_back_files() -> io::Result<()> {
    OWN.get().map_or(Ok(()), take_files_of)
}

/// Makes a command of our own run with all ids of this process, even after [`take_files`]. exec restores the user and
/// the group, but not the other groups.
pub fn run_as_ourselves(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec it makes system calls only.
    unsafe { command.pre_exec(give_back_files) }
}
