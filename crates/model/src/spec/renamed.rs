//! Options that were renamed, or that other tools name differently. The error for the old name gives the new one.

/// Verb (empty: any), old name, replacement.
const RENAMED: [(&str, &str, &str); 22] = [
    ("timeit", "-p", "-r (--runs)"),
    ("bench", "-p", "-r (--runs)"),
    ("timeit", "-n", "--values"),
    ("bench", "-n", "--values"),
    ("history", "-n", "--last"),
    ("hist", "-n", "--bins"),
    ("slowest", "-n", "--first"),
    ("why", "--page", "--report"),
    ("noise", "--no-verdict", "nothing: stillwell calibrate measures what it left out"),
    ("", "--processes", "--runs (-r)"),
    ("", "--blocks", "--runs (-r)"),
    ("", "--min-blocks", "--min-runs (-m)"),
    ("", "--max-blocks", "--max-runs (-M)"),
    ("", "--arm-name", "--command-name"),
    ("", "--arm", "--command-name"),
    ("", "--baseline-cmd", "--reference"),
    ("", "--baseline", "--reference"),
    ("", "--directory", "--record (-o)"),
    ("", "--clock", "--decide-on"),
    ("", "--export-times", "--export times FILE"),
    ("", "--export-json-v1", "--export hyperfine-1 FILE"),
    ("", "--output-file", "--record (-o)"),
];

/// The replacement for an old option of this verb.
pub fn renamed(verb: &str, option: &str) -> Option<&'static str> {
    let is_it =
        |(of, old, _): &&(&str, &str, &str)| *old == option && (of.is_empty() || *of == verb);
    RENAMED.iter().find(is_it).map(|(.., new)| *new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::command;

    #[test]
    fn no_old_name_is_an_option() {
        for (verb, old, _) in RENAMED {
            for command in
                command().get_subcommands().filter(|it| verb.is_empty() || it.get_name() == verb)
            {
                for arg in command.get_arguments() {
                    let long = arg.get_long().map(|long| format!("--{long}"));
                    let short = arg.get_short().map(|short| format!("-{short}"));
                    let names = [long, short];
                    assert!(!names.contains(&Some(old.to_owned())), "{} {old}", command.get_name());
                }
            }
        }
    }
}
