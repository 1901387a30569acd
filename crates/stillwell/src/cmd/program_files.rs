//! The files that a command executes: work that goes on must notice a replaced one.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use measure::digest::digest_of_file;

/// Endings of scripts: an interpreter reads them without the right to execute.
const SCRIPTS: [&str; 9] = ["class", "jar", "js", "lua", "php", "pl", "py", "rb", "sh"];

/// A digest of all programs and scripts in the words of a command; `None` without any. Data, and programs in PATH, are
/// left out.
pub fn digest_of(command: &str, directory: &Path) -> Option<String> {
    let words = shell_words::split(command).ok()?;
    let digests = words.iter().filter_map(|word| {
        let path = directory.join(word);
        is_program(&path).then(|| digest_of_file(&path)).flatten()
    });
    let digests: Vec<String> = digests.collect();
    if digests.is_empty() {
        return None;
    }
    let whole = Sha256::digest(digests.concat());
    Some(whole[..16].iter().map(|byte| format!("{byte:02x}")).collect())
}

fn is_program(path: &Path) -> bool {
    let is_script = path.extension().is_some_and(|it| SCRIPTS.iter().any(|script| it == *script));
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && (is_script || meta.permissions().mode() & 0o111 != 0))
}

#[cfg(test)]
mod tests {
    use super::digest_of;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes the files")]
    fn programs_and_scripts_count_and_data_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, mode: u32| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(path, mode).unwrap();
        };
        let digest = |command: &str| digest_of(command, folder.path());
        write("prog", "1", 0o755);
        write("data", "1", 0o644);
        write("s.py", "1", 0o644);
        let before = ["./prog data", "env X=1 ./prog", "python3 s.py", "cat data"].map(digest);
        write("data", "2", 0o644);
        assert_eq!(digest("./prog data"), before[0]);
        write("prog", "2", 0o755);
        write("s.py", "2", 0o644);
        let after = ["./prog data", "env X=1 ./prog", "python3 s.py", "cat data"].map(digest);
        for (before, after) in before.iter().zip(&after).take(3) {
            assert!(before.is_some() && before != after, "{before:?}");
        }
        assert_eq!((&before[3], &after[3]), (&None, &None));
    }
}
