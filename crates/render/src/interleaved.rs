//! For two programs with separate sessions only: the command line that times both in one session.

use std::fmt::Write as _;

use crate::columns::{one_line, wrap};
use analysis::NoTest;
use record::plan::Arm;

const INDENT: usize = 8;

/// Appends the command line on a line of its own, however long, for copying.
pub(super) fn offer(out: &mut String, old: &Arm, new: &Arm, because: NoTest) {
    let indent = " ".repeat(INDENT);
    // The reason itself ends with "time both in one stillwell run".
    if because != NoTest::SeparateRecords {
        return;
    }
    let is_known = old.command != new.command;
    let old_word = if is_known { word(&old.command) } else { None };
    let new_word = word(&new.command);
    let (old, new) = (old_word.as_deref().unwrap_or("OLD"), new_word.as_deref().unwrap_or("NEW"));
    writeln!(out, "{indent}stillwell run --reference {old} {new}").ok();
    if old_word.is_none() {
        wrap(out, &indent, INDENT, "where OLD runs the old program, kept under another name");
    }
}

/// A command as one word of a shell; `None` if the output would escape its characters.
fn word(command: &str) -> Option<String> {
    (one_line(command) == command).then(|| shell_words::quote(command).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::fixture::record;

    #[track_caller]
    fn check(old: &str, new: &str, because: NoTest, expected: &str) {
        let (old, new) = (record(&[old]), record(&[new]));
        let mut out = String::new();
        offer(&mut out, &old.header.plan.arms[0], &new.header.plan.arms[0], because);
        assert_eq!(out, expected);
    }

    #[test]
    fn the_command_line_can_be_copied() {
        use NoTest::SeparateRecords;
        let plain = "        stillwell run --reference ./old ./new\n";
        check("./old", "./new", SeparateRecords, plain);
        let quoted = "        stillwell run --reference './old -x' 'echo '\\''$HOME'\\'''\n";
        check("./old -x", "echo '$HOME'", SeparateRecords, quoted);
        let rebuilt = "        stillwell run --reference OLD ./prog\n        \
                       where OLD runs the old program, kept under another name\n";
        check("./prog", "./prog", SeparateRecords, rebuilt);
        check(
            "./old",
            "a\u{1b}[2J",
            SeparateRecords,
            "        stillwell run --reference ./old NEW\n",
        );
        check("./old", "./new", NoTest::Sequential, "");
    }
}
