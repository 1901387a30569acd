//! Output of `show --list`.

use std::path::PathBuf;

use crate::columns::{one_line, shorten};
use crate::table;

/// Columns of the commands.
const COMMANDS_MAX: usize = 60;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedRecord {
    /// Start of the session, RFC 3339.
    pub created: String,
    /// The commands, or the suite.
    pub what: String,
    /// The file or directory.
    pub path: PathBuf,
}

/// A line for each record. `n_more`: number of older ones.
pub fn text(records: &[ListedRecord], n_more: usize) -> String {
    if records.is_empty() {
        return "there is no such record\n".into();
    }
    let row = |it: &ListedRecord| {
        let minute: String = it.created.chars().take(16).collect();
        // The whole path, for copying.
        let path = one_line(&it.path.display().to_string());
        vec![minute.replace('T', " "), shorten(&it.what, COMMANDS_MAX), path]
    };
    let heading = table::cells(&["measured", "what", "record"]);
    let mut out =
        table::plain(std::iter::once(heading).chain(records.iter().map(row)).collect(), &[]);
    if n_more > 0 {
        out += &format!("{n_more} older ones; a part of a command lists all that have it\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_whole_and_commands_are_cut() {
        let record = ListedRecord {
            created: "2026-11-24T16:21:41.5+01:00".into(),
            what: "x".repeat(100),
            path: format!("/state/{}.swell", "y".repeat(90)).into(),
        };
        let text = text(std::slice::from_ref(&record), 3);
        assert!(text.contains("2026-11-24 16:21  x") && text.contains("…"), "{text}");
        assert!(text.contains(&record.path.display().to_string()), "{text}");
        assert!(text.ends_with("3 older ones; a part of a command lists all that have it\n"));
    }
}
