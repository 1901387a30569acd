//! The verbs in groups, for `--help` and the man page.

use clap::Command;
use clap::builder::{StyledStr, Styles};

/// The verbs of each group, in the order of the help, without hidden ones.
pub const GROUPS: [(&str, &[&str]); 2] = [
    (
        "Every day",
        &[
            "run", "timeit", "bench", "gate", "compare", "show", "report", "why", "bisect",
            "history",
        ],
    ),
    (
        "The machine, and more",
        &[
            "system",
            "noise",
            "shield",
            "load",
            "calibrate",
            "check",
            "stats",
            "hist",
            "convert",
            "dump",
            "race",
            "campaign",
            "pool",
            "link-order",
            "mcp",
            "help",
            "man",
            "completions",
        ],
    ),
];

/// The usage: the verb `run` may be left out.
pub const USAGE: &str = "stillwell <VERB> [...]\n       stillwell [OPTIONS of run] <COMMAND>...";

const EXAMPLES: [&str; 3] = [
    "stillwell run './old input' './new input'     # which command is faster?",
    "stillwell timeit -s 'x = [3, 1]' 'sorted(x)'  # how long does this take?",
    "stillwell report                              # the newest result in a browser",
];

/// The last lines of `stillwell --help`.
pub const AFTER: &str =
    "`stillwell VERB -h` shows a verb in short, `stillwell VERB --help` all of it.";

/// The template of `stillwell --help`, with the verbs in groups.
pub fn template(verbs: &Command) -> StyledStr {
    let header = Styles::styled().get_header().to_owned();
    let examples: String = EXAMPLES.iter().map(|example| format!("  {example}\n")).collect();
    let mut text = format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{examples}");
    for (group, names) in GROUPS {
        text += &format!("\n{header}{group}:{header:#}\n");
        for name in names {
            let literal = Styles::styled().get_literal().to_owned();
            let about = verbs.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(|about| about.ansi().to_string()).unwrap_or_default();
            text += &format!("  {literal}{name:<11}{literal:#}  {about}\n");
        }
    }
    // clap begins the last lines with an empty one.
    text.pop();
    text += "{after-help}";
    StyledStr::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::command;

    #[test]
    fn every_visible_verb_is_in_one_group() {
        let verbs = command();
        let visible = verbs.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut visible: Vec<&str> = visible.map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| *verbs).copied().collect();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, visible);
    }

    #[test]
    fn each_verb_is_one_line_of_80_columns() {
        for line in template(&command()).to_string().lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
