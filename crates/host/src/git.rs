//! Reads the commit of a directory from git's own files (gitrepository-layout(5)), because starting git would cost
//! milliseconds and require git. It cannot detect changed files: that needs git's index, its filters and its ignore
//! rules.
//!
//! These files belong to the user, not to the machine, so they do not go through [`Host`](crate::Host).

use std::path::{Path, PathBuf};

use crate::Git;
use crate::files::read_capped;

/// A ref or HEAD is one line with one path.
const REF_BYTES_MAX: u64 = 8 << 10;

/// Room for a million refs.
const PACKED_REFS_BYTES_MAX: u64 = 128 << 20;

/// A symbolic ref may point to another one. Git has the same limit (`SYMREF_MAXDEPTH`).
const SYMBOLIC_REFS_MAX: usize = 5;

/// The commit of the work tree around `start`. `None` outside of one, before its first commit, and with refs in the
/// format "reftable".
pub fn find(start: &Path) -> Option<Git> {
    let (directory, head) = start.ancestors().find_map(|tree| {
        let directory = git_directory(&tree.join(".git"))?;
        // Like git, continues upwards if this is no git directory.
        let head = read_line(&directory.join("HEAD"))?;
        Some((directory, head))
    })?;
    // A linked work tree has its own HEAD and shares the branches.
    let common = match read_line(&directory.join("commondir")) {
        Some(common) => directory.join(common),
        None => directory.clone(),
    };
    let mut value = head;
    for _ in 0..=SYMBOLIC_REFS_MAX {
        let Some(name) = value.strip_prefix("ref:").map(str::trim) else {
            return is_commit_id(&value).then_some(Git { revision: value, committed_s: None });
        };
        value = read_ref(name, &directory, &common)?;
    }
    None
}

/// The git directory. `.git` is a directory, or a file `gitdir: PATH` in submodules and linked work trees.
fn git_directory(dot_git: &Path) -> Option<PathBuf> {
    if dot_git.is_dir() {
        return Some(dot_git.to_owned());
    }
    let line = read_line(dot_git)?;
    let path = line.strip_prefix("gitdir:")?.trim();
    Some(dot_git.parent().expect("the path ends with .git").join(path))
}

fn read_ref(name: &str, directory: &Path, common: &Path) -> Option<String> {
    // A name becomes a path. Git forbids these parts too (git-check-ref-format(1)).
    if name.starts_with('/') || name.split('/').any(|part| part == "..") {
        return None;
    }
    let loose = read_line(&directory.join(name)).or_else(|| read_line(&common.join(name)));
    loose.or_else(|| {
        let path = common.join("packed-refs");
        let packed = path.is_file().then(|| read_capped(&path, PACKED_REFS_BYTES_MAX).ok())??;
        let mut pairs = packed.lines().filter_map(|line| line.split_once(' '));
        pairs.find(|(_, packed_name)| *packed_name == name).map(|(id, _)| id.to_owned())
    })
}

fn read_line(path: &Path) -> Option<String> {
    // Opening a named pipe would block forever.
    let text = path.is_file().then(|| read_capped(path, REF_BYTES_MAX).ok())??;
    Some(text.trim_end().to_owned())
}

/// Accepts SHA-1 and SHA-256.
fn is_commit_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own files")]
mod tests {
    use super::*;
    use crate::fixture::expand;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    /// Checks the commit found from the directory `start` among these files.
    #[track_caller]
    fn check(files: &str, start: &str, expect: Option<&str>) {
        let (directory, _host) = expand(files);
        // `*` stands for the prefix of git's absolute path.
        if let Some(text) = read_line(&directory.path().join("absolute/.git")) {
            let text = text.replace('*', directory.path().to_str().expect("a plain path"));
            std::fs::write(directory.path().join("absolute/.git"), text).expect("a file");
        }
        let found = find(&directory.path().join(start)).map(|git| git.revision);
        assert_eq!(found.as_deref(), expect, "{files}");
    }

    #[test]
    fn branches_loose_packed_and_unborn() {
        let head = ".git/HEAD = ref: refs/heads/a/b\nsrc/lib.rs = x\n";
        check(&format!("{head}.git/refs/heads/a/b = {ONE}\n"), "src", Some(ONE));
        let packed = format!(
            ".git/packed-refs = # pack-refs with: peeled\\n{TWO} refs/heads/a\\n{ONE} refs/heads/a/b\\n^{TWO}\n"
        );
        check(&format!("{head}{packed}"), "", Some(ONE));
        check(&format!("{head}{packed}.git/refs/heads/a/b = {TWO}\n"), "", Some(TWO));
        check(head, "", None);
    }

    #[test]
    fn detached_and_symbolic() {
        check(&format!(".git/HEAD = {ONE}\n"), "", Some(ONE));
        check(
            &format!(".git/HEAD = {ONE}{}\n", &TWO[..24]),
            "",
            Some(&format!("{ONE}{}", &TWO[..24])),
        );
        check(
            &format!(
                ".git/HEAD = ref: refs/heads/a\n.git/refs/heads/a = ref: refs/heads/b\n.git/refs/heads/b = {ONE}\n"
            ),
            "",
            Some(ONE),
        );
        check(".git/HEAD = ref: refs/heads/a\n.git/refs/heads/a = ref: refs/heads/a\n", "", None);
        check(&format!(".git/HEAD = ref: ../secret\nsecret = {ONE}\n"), "", None);
        check(".git/HEAD = no commit\n", "", None);
        check(
            ".git/HEAD = ref: refs/heads/.invalid\n.git/refs/heads = this repository uses the reftable format\n",
            "",
            None,
        );
    }

    #[test]
    fn further_work_trees_and_submodules() {
        let main = format!(
            ".git/HEAD = ref: refs/heads/main\n.git/refs/heads/main = {ONE}\n.git/refs/heads/fix = {TWO}\n"
        );
        let tree = ".git/worktrees/absolute/HEAD = ref: refs/heads/fix\n.git/worktrees/absolute/commondir = ../..\n\
                    absolute/.git = gitdir: */.git/worktrees/absolute\n";
        check(&format!("{main}{tree}"), "absolute", Some(TWO));
        check(&format!("{main}{tree}"), "", Some(ONE));
        let module =
            format!(".git/modules/m/HEAD = {TWO}\nm/.git = gitdir: ../.git/modules/m\nm/x = x\n");
        check(&format!("{main}{module}"), "m", Some(TWO));
    }

    #[test]
    fn what_is_not_a_repository_is_passed() {
        check(&format!(".git/HEAD = {ONE}\nsub/.git/config = x\nsub/a = x\n"), "sub", Some(ONE));
        check(&format!(".git/HEAD = {ONE}\nsub/.git = gitdir: /nowhere\n"), "sub", Some(ONE));
    }
}
