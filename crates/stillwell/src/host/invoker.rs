//! The invoking user: the user who called sudo, doas or pkexec.
#![expect(
    clippy::disallowed_methods,
    reason = "sudo, doas and pkexec say it in the environment; programs are executed for them"
)]

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::sys::{self, Account, User, with_files_of};

/// The invoking user. `account` is `None` if the user database does not have the user.
struct Invoker {
    user: User,
    account: Option<Account>,
}

/// Finds the invoking user once: a directory service may be slow.
fn invoker() -> Option<&'static Invoker> {
    static INVOKER: OnceLock<Option<Invoker>> = OnceLock::new();
    INVOKER.get_or_init(find_invoker).as_ref()
}

fn find_invoker() -> Option<Invoker> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    let named = |name| {
        let name = CString::new(std::env::var_os(name)?.into_vec()).ok()?;
        Some((sys::account_named(&name), name))
    };
    let (by_name, name) = named("SUDO_USER").or_else(|| named("DOAS_USER")).unzip();
    let by_name = by_name.flatten();
    let uid = number("SUDO_UID").or_else(|| number("PKEXEC_UID"));
    let uid =
        uid.or_else(|| by_name.as_ref().map(|account| account.uid)).filter(|&uid| uid != 0)?;
    // Two names may have one number.
    let account = by_name.filter(|account| account.uid == uid).or_else(|| sys::account_of(uid));
    let gid = number("SUDO_GID").or_else(|| account.as_ref().map(|account| account.gid))?;
    let name = account.as_ref().map(|account| account.name.clone()).or(name).unwrap_or_default();
    let groups = sys::groups_of(&name, gid);
    Some(Invoker { user: User { uid, gid, groups }, account })
}

/// Returns the user behind sudo, doas or pkexec. `None` if this process is not root or root called it directly
/// (sudo(8) and doas(1), "ENVIRONMENT"; pkexec(1)). The variables only ever remove rights.
pub fn invoking_user() -> Option<User> {
    invoker().map(|invoker| invoker.user.clone())
}

/// The user of the commands that the user gave, if it is not the user of this process. This is the rule for all verbs
/// (docs/security.md).
pub fn user_of_commands(as_root: bool) -> Option<User> {
    invoking_user().filter(|_| !as_root)
}

/// Variables by which sudo, doas and pkexec say who called them.
const LENDERS_VARIABLES: [&str; 7] =
    ["DOAS_USER", "PKEXEC_UID", "SUDO_COMMAND", "SUDO_GID", "SUDO_HOME", "SUDO_UID", "SUDO_USER"];

/// The environment of a command that runs as `user`; `None` is the user of this process.
pub fn environment_for(user: Option<&User>) -> Vec<(OsString, OsString)> {
    let variables = std::env::vars_os();
    match (user, invoker()) {
        (Some(_), Some(invoker)) => {
            environment_of(variables, sys::account_of(0).as_ref(), invoker.account.as_ref())
        }
        _ => variables.collect(),
    }
}

/// Makes an environment of root that of a user. A variable with root's value gets the user's. A variable with another
/// value stays, because the user or the administrator chose it (sudoers(5), `env_keep`).
fn environment_of(
    variables: impl Iterator<Item = (OsString, OsString)>,
    root: Option<&Account>,
    user: Option<&Account>,
) -> Vec<(OsString, OsString)> {
    let value = |account: &Account, name: &[u8]| {
        Some(match name {
            b"HOME" => account.home.clone(),
            b"USER" | b"LOGNAME" => OsStr::from_bytes(account.name.as_bytes()).to_owned(),
            b"SHELL" => account.shell.clone(),
            b"MAIL" => OsString::from_vec([b"/var/mail/", account.name.as_bytes()].concat()),
            _ => return None,
        })
    };
    let kept = variables.filter(|(name, _)| !LENDERS_VARIABLES.iter().any(|it| name == it));
    let own = |(name, old): (OsString, OsString)| {
        let is_roots = root.and_then(|root| value(root, name.as_bytes())).as_ref() == Some(&old);
        let new = user.filter(|_| is_roots).and_then(|user| value(user, name.as_bytes()));
        (name, new.unwrap_or(old))
    };
    kept.map(own).collect()
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

/// Creates a command that Stillwell needs for itself, as the invoking user and without a way back to root. Git obeys
/// the configuration of the repository that it reads, and refuses a repository of another user (git-config(1),
/// `safe.directory`).
pub fn command_of_invoker(program: &str) -> Command {
    let mut command = Command::new(program);
    if let Some(user) = invoking_user() {
        command.env_clear().envs(environment_for(Some(&user)));
        sys::run_as(&mut command, user);
    }
    without_place_of_git(&mut command);
    command
}

/// Directories of the programs that root executes. The caller chooses `PATH`, unless sudo is told a `secure_path`.
const SYSTEM_PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

/// Creates a command of the system for the guardian, with nothing of the caller's environment.
pub(super) fn system_command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", SYSTEM_PATH);
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
    let home = PathBuf::from(&invoker()?.account.as_ref()?.home);
    Some(home).filter(|home| home.is_absolute() && home.is_dir())
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
            assert!(removed.contains(&OsStr::new(name)), "{removed:?}");
        }
    }

    #[test]
    fn a_program_of_the_system_gets_nothing_of_the_caller() {
        let output = system_command("env").output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("PATH={SYSTEM_PATH}\n"));
    }

    fn account(name: &str, home: &str) -> Account {
        let name = CString::new(name).unwrap();
        Account { name, uid: 1, gid: 1, home: home.into(), shell: "/bin/sh".into() }
    }

    #[test]
    fn the_environment_names_the_user() {
        let given = "HOME=/root USER=root LOGNAME=root MAIL=/var/mail/root SUDO_UID=7 SUDO_USER=ann A=/root";
        let of = |given: &str, user: Option<&Account>| {
            let entries = given.split(' ').map(|entry| entry.split_once('=').unwrap());
            let entries = entries.map(|(name, value)| (name.into(), value.into()));
            let root = account("root", "/root");
            let made = environment_of(entries, Some(&root), user).into_iter();
            let made = made.map(|(name, value)| format!("{}={}", name.display(), value.display()));
            made.collect::<Vec<_>>().join(" ")
        };
        let ann = account("ann", "/home/ann");
        let expected = "HOME=/home/ann USER=ann LOGNAME=ann MAIL=/var/mail/ann A=/root";
        assert_eq!(of(given, Some(&ann)), expected);
        // What was kept on purpose stays.
        assert_eq!(of("HOME=/srv USER=bob", Some(&ann)), "HOME=/srv USER=bob");
        assert_eq!(of("HOME=/root USER=root SUDO_UID=7", None), "HOME=/root USER=root");
    }
}
