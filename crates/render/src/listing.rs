//! Output of `show --list`.

use std::path::{Path, PathBuf};

use jiff::Zoned;

use crate::columns::{keeps_names, one_line, shorten, wide, width, wrap};
use crate::table;
use crate::units::counted;

/// Columns of the commands where a line may have any length.
const COMMANDS_MAX: usize = 60;
/// Columns of the date, and what the path below it is indented by.
const INDENT: usize = 18;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedRecord {
    /// Start of the session, in the zone of the list. The order of starts is the order of time.
    pub created: Zoned,
    /// The commands, or the suite.
    pub what: String,
    /// The file or directory.
    pub path: PathBuf,
}

/// The records that were found in a directory.
#[derive(Clone, Copy, Debug)]
pub struct RecordList<'a> {
    /// The newest first.
    pub records: &'a [ListedRecord],
    /// Older ones that are not shown.
    pub n_more: usize,
    /// The unreadable records, each with the reason.
    pub unread: &'a [String],
    /// The directory of the records.
    pub directory: &'a Path,
    /// Whether only some are wanted.
    pub is_search: bool,
}

/// A line for each record; on a terminal that is too narrow for the paths two.
pub fn text(list: &RecordList<'_>) -> String {
    let mut out = String::new();
    if list.records.is_empty() {
        let directory = one_line(&list.directory.display().to_string());
        let none = match list.is_search {
            true => format!(
                "no record in {directory} is of such a command; `stillwell show --list` lists the newest"
            ),
            false => {
                format!("there is no record in {directory} yet; `stillwell run COMMAND` makes one")
            }
        };
        wrap(&mut out, "", 2, &none);
    } else {
        out += &rows(list.records);
    }
    if list.n_more > 0 {
        let more = format!(
            "{} older ones; a part of a command lists all that have it: `stillwell show --list sort`",
            list.n_more
        );
        wrap(&mut out, "", 2, &more);
    }
    if !list.unread.is_empty() {
        wrap(&mut out, "", 2, &format!("{} cannot be read:", counted(list.unread.len(), "record")));
        list.unread.iter().for_each(|why| wrap(&mut out, "  ", 4, why));
    }
    out
}

fn rows(records: &[ListedRecord]) -> String {
    let row = |it: &ListedRecord, columns: usize| {
        let minute = it.created.strftime("%Y-%m-%d %H:%M").to_string();
        // The whole path, for copying.
        let path = one_line(&it.path.display().to_string());
        vec![minute, shorten(&it.what, columns), path]
    };
    let heading = table::cells(&["measured", "what", "record"]);
    let in_lines: Vec<_> = records.iter().map(|it| row(it, COMMANDS_MAX)).collect();
    let lines = table::plain(std::iter::once(heading).chain(in_lines).collect(), &[]);
    if keeps_names() || lines.lines().all(|line| width(line) <= wide()) {
        return lines;
    }
    let in_two = |it: &ListedRecord| {
        let [minute, what, path] =
            row(it, wide().saturating_sub(INDENT)).try_into().unwrap_or_default();
        format!("{minute}  {what}\n  {path}\n")
    };
    records.iter().map(in_two).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use jiff::tz::TimeZone;

    fn created() -> Zoned {
        date(2026, 11, 24).at(16, 21, 41, 0).to_zoned(TimeZone::UTC).unwrap()
    }

    fn list<'a>(records: &'a [ListedRecord], unread: &'a [String]) -> RecordList<'a> {
        RecordList { records, n_more: 3, unread, directory: Path::new("/state"), is_search: false }
    }

    #[test]
    fn a_path_is_whole_and_commands_are_cut() {
        let record = ListedRecord {
            created: created(),
            what: "x".repeat(100),
            path: format!("/state/{}.swell", "y".repeat(60)).into(),
        };
        let unread = "/state/z.swell: it is empty".to_owned();
        let text = text(&list(std::slice::from_ref(&record), std::slice::from_ref(&unread)));
        let path = record.path.display().to_string();
        assert!(text.contains("2026-11-24 16:21  x") && text.contains("…"), "{text}");
        assert!(text.contains(&format!("\n  {path}\n")), "{text}");
        assert!(text.contains("3 older ones; a part of a command lists all that have it:"));
        assert!(
            text.ends_with("1 record cannot be read:\n  /state/z.swell: it is empty\n"),
            "{text}"
        );
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
    }

    #[test]
    fn short_paths_stand_in_the_same_line() {
        let record =
            ListedRecord { created: created(), what: "true".into(), path: "/s/a.swell".into() };
        let text = text(&list(&[record], &[]));
        assert!(text.contains("2026-11-24 16:21  true  /s/a.swell\n"), "{text}");
    }

    #[test]
    fn an_empty_list_says_what_to_do() {
        let all = RecordList { n_more: 0, ..list(&[], &[]) };
        assert_eq!(
            text(&all),
            "there is no record in /state yet; `stillwell run COMMAND` makes one\n"
        );
        let some = text(&RecordList { is_search: true, ..all });
        assert!(some.starts_with("no record in /state is of such a command;"), "{some}");
    }
}
