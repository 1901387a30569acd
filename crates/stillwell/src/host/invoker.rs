//! The invoking user: the user who called sudo, doas or pkexec.
#![expect(
    clippy::disallowed_methods,
    reason = "sudo, doas and pkexec say it in the environment; programs are executed for them"
)]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::sys::{User, with_files_of};

/// Returns the user behind sudo, doas or pkexec. `None` if this process is not root or root called it directly
/// (sudo(8) and doas(1), "ENVIRONMENT"; pkexec(1)). The variables only ever remove rights.
pub fn invoking_user() -> Option<User> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let uid = number("SUDO_UID").or_else(|| number("PKEXEC_UID")).or_else(|| {
        let name = std::env::var("DOAS_USER").ok()?;
        passwd_entry(&passwd, |entry| entry.first() == Some(&name.as_str())).map(|entry| entry.1)
    })?;
    let entry =
        passwd_entry(&passwd, |entry| entry.get(2).and_then(|id| id.parse().ok()) == Some(uid));
    // Users of a directory service are not in the file. sudo passes their group.
    let gid = number("SUDO_GID").or_else(|| entry.as_ref().map(|entry| entry.2))?;
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let name =
        entry.map_or_else(|| std::env::var("SUDO_USER").unwrap_or_default(), |entry| entry.0);
    (uid != 0).then(|| User { uid, gid, groups: groups_of(&groups, &name, gid) })
}

/// Variables that set the repository of git, whatever the directory (`git rev-parse --local-env-vars`). Git sets them
/// for hooks. The list omits the variables of the configuration, because a user may set `safe.directory` there.
const PLACE_OF_GIT: [&str; 13] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Removes the variables that set git's repository. Git then uses the repository of the directory, not the one of a
/// calling hook.
pub fn without_place_of_git(command: &mut Command) {
    for name in PLACE_OF_GIT {
        command.env_remove(name);
    }
}

/// Creates a command that runs as the invoking user. Git obeys the configuration of the repository that it reads. It
/// refuses a repository of another user (git-config(1), `safe.directory`).
pub fn command_of_invoker(program: &str) -> Command {
    let mut command = Command::new(program);
    without_place_of_git(&mut command);
    if let Some(user) = invoking_user() {
        command.uid(user.uid).gid(user.gid);
    }
    command
}

/// Makes files as the invoking user, who then owns them. If that user lacks permission, root makes and owns them.
///
/// # Errors
/// The error of `make`.
pub fn with_their_files<T>(mut make: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let Some(user) = invoking_user() else { return make() };
    match with_files_of(&user, &mut make) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => make(),
        made => made,
    }
}

/// Returns the home directory of the invoking user, if it exists.
pub fn invoking_home() -> Option<PathBuf> {
    let user = invoking_user()?;
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let home = home_of(&passwd, user.uid)?;
    home.is_dir().then_some(home)
}

fn home_of(passwd: &str, uid: u32) -> Option<PathBuf> {
    let mut entries = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let entry = entries.find(|entry| entry.get(2).and_then(|id| id.parse().ok()) == Some(uid))?;
    Some(PathBuf::from(entry.get(5)?)).filter(|home| home.is_absolute())
}

/// Returns name, user id and group id of the first entry that `is_wanted` accepts (passwd(5)).
fn passwd_entry(text: &str, is_wanted: impl Fn(&[&str]) -> bool) -> Option<(String, u32, u32)> {
    let mut entries = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let entry = entries.find(|entry| is_wanted(entry))?;
    Some((entry[0].to_owned(), entry.get(2)?.parse().ok()?, entry.get(3)?.parse().ok()?))
}

/// Returns the groups like initgroups(3): the primary one and all that list the user as a member (group(5)).
fn groups_of(text: &str, user: &str, gid: u32) -> Vec<u32> {
    let mut groups = vec![gid];
    for line in text.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, id, members] = fields[..] else { continue };
        if let Ok(id) = id.parse()
            && !user.is_empty()
            && members.split(',').any(|member| member == user)
        {
            groups.push(id);
        }
    }
    groups.dedup();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_not_told_of_another_repository() {
        let command = command_of_invoker("git");
        let unset = command.get_envs().filter(|(_, value)| value.is_none());
        let removed: Vec<_> = unset.map(|(name, _)| name).collect();
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
            assert!(removed.contains(&std::ffi::OsStr::new(name)), "{removed:?}");
        }
    }

    #[test]
    fn groups_of_a_user() {
        let groups = "root:x:0:\nwheel:x:10:ann,bob\nbad\nann:x:1000:\nvideo:x:44:bob\n";
        assert_eq!(groups_of(groups, "ann", 1000), [1000, 10]);
        assert_eq!(groups_of(groups, "", 7), [7]);
    }

    #[test]
    fn entries_of_passwd() {
        let passwd = "root:x:0:0::/root:/bin/sh\nann:x:1000:100::/home/ann:/bin/sh\n";
        let entry = passwd_entry(passwd, |entry| entry[0] == "ann");
        assert_eq!(entry, Some(("ann".into(), 1000, 100)));
        assert_eq!(passwd_entry(passwd, |entry| entry[0] == "bob"), None);
        assert_eq!(home_of(passwd, 1000), Some(PathBuf::from("/home/ann")));
        assert_eq!(home_of("x:x:7:7:", 7), None);
    }
}
