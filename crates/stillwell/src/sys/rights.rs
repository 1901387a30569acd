//! The rights to files of somebody else, for a root that works for them.

use crate::sys::User;

/// Does something with files as if we were another user: what is made is theirs, and what they may not do fails. The rest
/// of our rights stays (setfsuid(2)). Only this thread is another user meanwhile.
pub fn with_files_of<T>(user: &User, act: impl FnOnce() -> T) -> T {
    /// Ours again, also if `act` panics.
    struct Back(Vec<libc::gid_t>);
    impl Drop for Back {
        fn drop(&mut self) {
            // SAFETY: plain system calls; neither may fail, as they only give back what was there.
            unsafe {
                libc::setfsuid(libc::geteuid());
                libc::setfsgid(libc::getegid());
            }
            set_groups(&self.0);
        }
    }
    let _back = Back(groups());
    set_groups(&user.groups);
    // SAFETY: plain system calls. The group first: it is root who may choose it.
    unsafe {
        libc::setfsgid(user.gid);
        libc::setfsuid(user.uid);
    }
    act()
}

fn groups() -> Vec<libc::gid_t> {
    // SAFETY: a length of zero asks for the length only; then there is room for as many as were said.
    unsafe {
        let n_groups = libc::getgroups(0, std::ptr::null_mut());
        let mut groups = vec![0; usize::try_from(n_groups).unwrap_or(0)];
        let n_groups = libc::getgroups(n_groups, groups.as_mut_ptr());
        groups.truncate(usize::try_from(n_groups).unwrap_or(0));
        groups
    }
}

/// The system call, which is about this thread; glibc's function is about all of them.
fn set_groups(groups: &[libc::gid_t]) {
    // SAFETY: the list is as long as is said. Only root may, and only root is here for somebody else.
    unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) };
}
