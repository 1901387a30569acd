//! User accounts, from the C library's name service: files, or the machine's directory service (nsswitch.conf(5)).

use std::ffi::{CStr, CString, OsString, c_char, c_int};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt as _;

/// Initial memory for an account. It doubles until the account fits.
const ACCOUNT_BYTES: usize = 1 << 10;
const ACCOUNT_BYTES_MAX: usize = 1 << 20;
/// Most groups of a process (`NGROUPS_MAX` of linux/limits.h).
const GROUPS_MAX: usize = 65_536;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: CString,
    pub uid: u32,
    pub gid: u32,
    pub home: OsString,
    pub shell: OsString,
}

/// The account with this user id, if the database has it and can be read.
pub fn account_of(uid: u32) -> Option<Account> {
    // SAFETY: `find` passes memory as long as it says, and places to write to.
    find(|entry, memory, n_bytes, found| unsafe {
        libc::getpwuid_r(uid, entry, memory, n_bytes, found)
    })
}

/// The account of this name, if the database has it and can be read.
pub fn account_named(name: &CStr) -> Option<Account> {
    // SAFETY: as above, and the name ends with a NUL.
    find(|entry, memory, n_bytes, found| unsafe {
        libc::getpwnam_r(name.as_ptr(), entry, memory, n_bytes, found)
    })
}

/// All groups of a user: the primary one, and those that list the user as a member.
pub fn groups_of(name: &CStr, gid: u32) -> Vec<u32> {
    let mut groups = vec![0; 64];
    loop {
        let mut n_groups = c_int::try_from(groups.len()).unwrap_or(c_int::MAX);
        // SAFETY: the name ends with a NUL, and the list is as long as `n_groups` says.
        let fits = unsafe {
            libc::getgrouplist(name.as_ptr(), gid, groups.as_mut_ptr(), &raw mut n_groups) >= 0
        };
        let n_groups = usize::try_from(n_groups).unwrap_or(0);
        if fits || groups.len() >= GROUPS_MAX {
            groups.truncate(n_groups.min(GROUPS_MAX));
            return groups;
        }
        // Not every C library says how many there are.
        groups.resize(n_groups.max(2 * groups.len()).min(GROUPS_MAX), 0);
    }
}

fn find(
    look_up: impl Fn(*mut libc::passwd, *mut c_char, usize, *mut *mut libc::passwd) -> c_int,
) -> Option<Account> {
    let mut n_bytes = ACCOUNT_BYTES;
    while n_bytes <= ACCOUNT_BYTES_MAX {
        let mut memory: Vec<c_char> = vec![0; n_bytes];
        let mut entry = MaybeUninit::<libc::passwd>::uninit();
        let mut found = std::ptr::null_mut();
        match look_up(entry.as_mut_ptr(), memory.as_mut_ptr(), n_bytes, &raw mut found) {
            0 if found.is_null() => return None,
            0 => {
                // SAFETY: the call has succeeded, so the entry is complete, and its strings are in `memory`.
                return Some(unsafe { copy(&*found) });
            }
            libc::ERANGE => n_bytes *= 2,
            libc::EINTR => {}
            _ => return None,
        }
    }
    None
}

/// # Safety
/// Each string of the entry ends with a NUL, or is a null pointer.
unsafe fn copy(entry: &libc::passwd) -> Account {
    let text = |text: *const c_char| {
        if text.is_null() {
            return CString::default();
        }
        // SAFETY: the caller says so.
        unsafe { CStr::from_ptr(text) }.to_owned()
    };
    let path = |path| OsString::from_vec(text(path).into_bytes());
    Account {
        name: text(entry.pw_name),
        uid: entry.pw_uid,
        gid: entry.pw_gid,
        home: path(entry.pw_dir),
        shell: path(entry.pw_shell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_an_account() {
        let root = account_of(0).unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        assert_eq!(account_named(&root.name), Some(root.clone()));
        assert!(groups_of(&root.name, 0).contains(&0));
    }

    #[test]
    fn a_user_without_an_account_has_the_primary_group() {
        assert_eq!(account_of(u32::MAX - 7), None);
        assert_eq!(account_named(c"no such user"), None);
        assert_eq!(groups_of(c"no such user", 54321), [54321]);
    }
}
