//! The invoking user: the user who called sudo, doas or pkexec.
#![expect(
    clippy::disallowed_methods,
    reason = "sudo, doas and pkexec say it in the environment; programs are executed for them"
)]

use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sys::{self, Account, User};

/// The process that started this one.
#[derive(Debug)]
enum Invoker {
    /// This process is not root, or root itself started it.
    NotBorrowed,
    /// A user, by sudo, doas or pkexec. `account` is `None` if the user database does not have the user.
    User { user: User, account: Option<Account> },
    /// A user about whom the environment does not say enough. The text names the reason.
    Unresolved(String),
}

/// Finds the invoking user once: a directory service may be slow.
fn invoker() -> &'static Invoker {
    static INVOKER: OnceLock<Invoker> = OnceLock::new();
    INVOKER.get_or_init(|| {
        if rustix::process::geteuid().is_root() {
            find_invoker(|name| std::env::var_os(name), sys::account_named, sys::account_of)
        } else {
            Invoker::NotBorrowed
        }
    })
}

/// Finds the user behind root. The variables only ever remove rights (sudo(8) and doas(1), "ENVIRONMENT"; pkexec(1)).
fn find_invoker(
    variable: impl Fn(&str) -> Option<OsString>,
    account_named: impl Fn(&CStr) -> Option<Account>,
    account_of: impl Fn(u32) -> Option<Account>,
) -> Invoker {
    match resolve(&variable, account_named, account_of) {
        Ok(None) => Invoker::NotBorrowed,
        Ok(Some((User { uid: 0, .. }, _))) => Invoker::NotBorrowed,
        Ok(Some((user, account))) => Invoker::User { user, account },
        Err(why) => Invoker::Unresolved(why),
    }
}

/// One program's claim about its caller: the user, the group, and the name.
type Claim = (u32, Option<u32>, Option<CString>);

type Resolved = Result<Option<(User, Option<Account>)>, String>;

fn resolve(
    variable: &impl Fn(&str) -> Option<OsString>,
    account_named: impl Fn(&CStr) -> Option<Account>,
    account_of: impl Fn(u32) -> Option<Account>,
) -> Resolved {
    let number = |name: &str| match variable(name) {
        None => Ok(None),
        Some(text) => id_of(&text).map(Some).ok_or_else(|| {
            format!("{name} is {:?}, which is not the number of a user or a group", text.display())
        }),
    };
    let name = |name: &str| CString::new(variable(name)?.into_vec()).ok();
    let named = |variable_name: &str| -> Result<Option<Claim>, String> {
        let Some(text) = variable(variable_name) else { return Ok(None) };
        let unknown = || format!("there is no account of the user {:?}", text.display());
        let account = name(variable_name).and_then(|name| account_named(&name));
        let account = account.ok_or_else(unknown)?;
        Ok(Some((account.uid, Some(account.gid), Some(account.name))))
    };
    let sudo = match number("SUDO_UID")? {
        Some(uid) => {
            let gid = number("SUDO_GID")?.ok_or("SUDO_UID is set, and SUDO_GID is not")?;
            Some((uid, Some(gid), name("SUDO_USER")))
        }
        None => named("SUDO_USER")?,
    };
    let group_of = |uid| account_of(uid).map(|account| account.gid);
    let pkexec = number("PKEXEC_UID")?.map(|uid| (uid, group_of(uid), None));
    let claims = [("sudo", sudo), ("pkexec", pkexec), ("doas", named("DOAS_USER")?)];
    let mut claims = claims.into_iter().filter_map(|(program, claim)| Some((program, claim?)));
    let Some((program, (uid, gid, name))) = claims.next() else { return Ok(None) };
    for (other, (other_uid, other_gid, _)) in claims {
        let groups = gid.zip(other_gid).map(|(gid, other_gid)| ("group", gid, other_gid));
        let mut ids = [Some(("user", uid, other_uid)), groups].into_iter().flatten();
        if let Some((what, id, other_id)) = ids.find(|(_, id, other_id)| id != other_id) {
            return Err(format!("{program} says {what} {id}, and {other} says {what} {other_id}"));
        }
    }
    let named = name.as_deref().and_then(&account_named);
    if let Some(other) = named.as_ref().filter(|account| uid == 0 && account.uid != 0) {
        return Err(format!("SUDO_UID is 0, and SUDO_USER is user {}", other.uid));
    }
    // Two names may have one number.
    let account = named.filter(|account| account.uid == uid).or_else(|| account_of(uid));
    let gid =
        gid.ok_or_else(|| format!("there is no account of user {uid}, so the group is unknown"))?;
    let name = account.as_ref().map(|account| account.name.clone()).or(name).unwrap_or_default();
    let groups = sys::groups_of(&name, gid);
    Ok(Some((User { uid, gid, groups }, account)))
}

/// A number of a user or a group. The largest one stands for "unchanged" in setresuid(2).
fn id_of(text: &OsStr) -> Option<u32> {
    let digits = text.to_str().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().filter(|&id| id != u32::MAX)
}

/// Whether the user has accepted that the commands run as root (`--as-root`).
static IS_ROOT_ACCEPTED: AtomicBool = AtomicBool::new(false);

/// Checks that the user who called sudo, doas or pkexec is known. With `--as-root` an unknown one does not matter.
/// Errors: the user is unknown; the text says why and what to do.
pub fn check_invoker(as_root: bool) -> Result<(), String> {
    IS_ROOT_ACCEPTED.store(as_root, Ordering::Relaxed);
    match invoker() {
        Invoker::Unresolved(why) if !as_root => Err(format!(
            "cannot find out who called sudo, doas or pkexec, as whom the commands would run: {why}; call Stillwell by \
             sudo again, or unset the variable if you are root"
        )),
        _ => Ok(()),
    }
}

/// Whether sudo, doas or pkexec was called by a user about whom the environment does not say enough.
pub fn is_caller_unknown() -> bool {
    matches!(invoker(), Invoker::Unresolved(_))
}

/// The user behind sudo, doas or pkexec. `None` if this process is not root or root called it directly, and after
/// `--as-root` also if the user is unknown.
///
/// # Panics
/// The user is unknown, and [`check_invoker`] did not allow that.
pub fn invoking_user() -> Option<User> {
    match invoker() {
        Invoker::NotBorrowed => None,
        Invoker::User { user, .. } => Some(user.clone()),
        Invoker::Unresolved(why) => {
            assert!(IS_ROOT_ACCEPTED.load(Ordering::Relaxed), "an unknown user is no root: {why}");
            None
        }
    }
}

/// The user for the commands that the user gave, if not this process's. This is the rule for all verbs
/// (docs/security.md).
pub fn user_of_commands(as_root: bool) -> Option<User> {
    invoking_user().filter(|_| !as_root)
}

/// Variables by which sudo, doas and pkexec say who called them.
const LENDERS_VARIABLES: [&str; 7] =
    ["DOAS_USER", "PKEXEC_UID", "SUDO_COMMAND", "SUDO_GID", "SUDO_HOME", "SUDO_UID", "SUDO_USER"];

/// The variable by which a process knows that it has become the caller. Its value is the process id, so it means
/// nothing to any other process.
const BECAME_CALLER: &str = "STILLWELL_BECAME_CALLER";

/// The environment of this program when it is executed again as the caller.
pub fn environment_as_caller(user: &User) -> Vec<(OsString, OsString)> {
    let mut environment = environment_for(Some(user));
    environment.push((BECAME_CALLER.into(), std::process::id().to_string().into()));
    environment
}

/// The user as whom files are opened, if this process has or had another one's rights.
pub fn user_of_files() -> Option<u32> {
    match invoker() {
        Invoker::User { user, .. } => Some(user.uid),
        _ => {
            let own = OsString::from(std::process::id().to_string());
            let is_caller = std::env::var_os(BECAME_CALLER) == Some(own);
            is_caller.then(|| rustix::process::geteuid().as_raw())
        }
    }
}

/// The environment of a command that runs as `user`; `None` is this process's user.
pub fn environment_for(user: Option<&User>) -> Vec<(OsString, OsString)> {
    let variables = std::env::vars_os();
    match (user, invoker()) {
        (Some(_), Invoker::User { account, .. }) => {
            environment_of(variables, sys::account_of(0).as_ref(), account.as_ref())
        }
        // `--as-root` stays in force when this program is executed again.
        (_, Invoker::Unresolved(_)) => environment_of(variables, None, None),
        _ => variables.collect(),
    }
}

/// Turns root's environment into a user's. A variable with root's value gets the user's. Another value stays, because
/// the user or the administrator chose it (sudoers(5), `env_keep`).
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

/// Variables that set git's repository, whatever the directory (`git rev-parse --local-env-vars`). Git sets them for
/// hooks. The variables of the configuration are omitted, because a user may set `safe.directory` there.
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

/// Removes the variables that set git's repository, so git uses the directory's, not a calling hook's.
pub fn without_place_of_git(command: &mut Command) {
    for name in PLACE_OF_GIT {
        command.env_remove(name);
    }
}

/// A command that Stillwell needs for itself, as `user` and without a way back to root; `None` is this process's user.
/// `PATH` is the caller's, so a program of it must not run as root: execve(2) restores root after
/// [`sys::take_files`].
pub fn command_as(program: impl AsRef<OsStr>, user: Option<&User>) -> Command {
    let mut command = Command::new(program);
    if let Some(user) = user {
        command.env_clear().envs(environment_for(Some(user)));
        sys::run_as(&mut command, user.clone());
    }
    command
}

/// A command that Stillwell needs for itself, as the invoking user. Git obeys the configuration of the repository that it
/// reads, and refuses another user's repository (git-config(1), `safe.directory`).
pub fn command_of_invoker(program: &str) -> Command {
    let mut command = command_as(program, invoking_user().as_ref());
    without_place_of_git(&mut command);
    command
}

/// Directories of the programs that root executes. The caller chooses `PATH`, unless sudo has a `secure_path`.
const SYSTEM_PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

/// A system command for the guardian, without the caller's environment.
pub(super) fn system_command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", SYSTEM_PATH);
    // The guardian blocks its signals, but systemctl must end like any other program.
    sys::let_signals_arrive(&mut command);
    command
}

/// The home directory of the invoking user, if it exists.
pub fn invoking_home() -> Option<PathBuf> {
    let Invoker::User { account: Some(account), .. } = invoker() else { return None };
    Some(PathBuf::from(&account.home)).filter(|home| home.is_absolute() && home.is_dir())
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

    /// Who started a root process with these variables. Only ann has an account.
    fn invoker_with(variables: &str) -> String {
        let entries: Vec<_> = variables.split(' ').filter_map(|it| it.split_once('=')).collect();
        let variable = |name: &str| {
            entries.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into())
        };
        let ann = || account("ann", "/home/ann");
        let named = |name: &CStr| (name == c"ann").then(ann);
        match find_invoker(variable, named, |uid| (uid == 1).then(ann)) {
            Invoker::NotBorrowed => "root".into(),
            Invoker::User { user, account } => {
                format!("{}:{} {}", user.uid, user.gid, account.is_some())
            }
            Invoker::Unresolved(why) => why,
        }
    }

    #[test]
    fn a_user_who_is_not_known_is_not_root() {
        for (variables, expected) in [
            ("A=b", "root"),
            ("SUDO_UID=0 SUDO_GID=0 SUDO_USER=root", "root"),
            ("SUDO_UID=0 SUDO_GID=0 PKEXEC_UID=0", "root"),
            ("SUDO_UID=0 SUDO_GID=0 PKEXEC_UID=1", "sudo says user 0, and pkexec says user 1"),
            ("SUDO_UID=7 SUDO_GID=7 DOAS_USER=ann", "sudo says user 7, and doas says user 1"),
            ("PKEXEC_UID=0 DOAS_USER=ann", "pkexec says user 0, and doas says user 1"),
            ("SUDO_UID=1 SUDO_GID=1 PKEXEC_UID=1 DOAS_USER=ann", "1:1 true"),
            // A configuration that keeps the environment lets the caller choose SUDO_GID.
            ("SUDO_UID=1 SUDO_GID=7 DOAS_USER=ann", "sudo says group 7, and doas says group 1"),
            ("SUDO_UID=1 SUDO_GID=7 PKEXEC_UID=1", "sudo says group 7, and pkexec says group 1"),
            ("SUDO_UID=0 SUDO_GID=0 SUDO_USER=ann", "SUDO_UID is 0, and SUDO_USER is user 1"),
            ("SUDO_UID=0 SUDO_GID=0 DOAS_USER=ghost", "there is no account of the user \"ghost\""),
            ("SUDO_UID=1 SUDO_GID=7 SUDO_USER=ann", "1:7 true"),
            // A number without an account, which sudo allows.
            ("SUDO_UID=54321 SUDO_GID=54321", "54321:54321 false"),
            ("SUDO_UID=1", "SUDO_UID is set, and SUDO_GID is not"),
            ("SUDO_UID=54321", "SUDO_UID is set, and SUDO_GID is not"),
            ("DOAS_USER=ann", "1:1 true"),
            ("DOAS_USER=ghost", "there is no account of the user \"ghost\""),
            ("DOAS_USER=", "there is no account of the user \"\""),
            ("SUDO_USER=ghost", "there is no account of the user \"ghost\""),
            ("PKEXEC_UID=1", "1:1 true"),
            ("PKEXEC_UID=54321", "there is no account of user 54321, so the group is unknown"),
        ] {
            assert_eq!(invoker_with(variables), expected, "{variables}");
        }
        for wrong in ["4294967295", "4294967296", "-1", "+1", "x", "", "1x"] {
            let expected = format!("is {wrong:?}, which is not the number of a user or a group");
            for name in ["SUDO_UID", "PKEXEC_UID"] {
                let variables = format!("{name}={wrong} SUDO_GID=1 SUDO_USER=ann DOAS_USER=ann");
                assert_eq!(invoker_with(&variables), format!("{name} {expected}"));
            }
            let variables = format!("SUDO_UID=1 SUDO_GID={wrong}");
            assert_eq!(invoker_with(&variables), format!("SUDO_GID {expected}"));
        }
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
