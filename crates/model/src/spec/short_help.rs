//! `-h`: the most important options in groups, and three examples. `--help` has all options.

use std::ffi::OsString;

use clap::{Arg, Command};

use crate::wrapping::fill;

const COLUMNS: usize = 80;
/// Widest option that leaves its description on the same line.
const OPTION_MAX: usize = 28;

struct ShortHelp {
    /// The verb and its action.
    verb: &'static str,
    /// Headings with ids of arguments.
    groups: &'static [(&'static str, &'static [&'static str])],
    examples: &'static [&'static str],
}

const LIST: [ShortHelp; 8] = [
    ShortHelp {
        verb: "run",
        groups: &[
            ("What is compared", &["reference", "command_names", "parameter_lists", "shell"]),
            ("How long", &["budget", "runs", "warmup", "timeout"]),
            ("Hooks", &["setup", "prepare", "cleanup"]),
            ("The processes", &["input", "ignore_failure", "affinity", "isolate", "tune"]),
            ("The answer", &["same", "fail_on", "verbose", "json"]),
        ],
        examples: &[
            "stillwell run './old input' './new input'",
            "stillwell run -L level 1,6,9 'gzip -{level} -k -f data.txt'",
            "stillwell run --prepare 'make clean' 'make -j4' 'make -j8'",
        ],
    },
    ShortHelp {
        verb: "timeit",
        groups: &[
            ("What is compared", &["setup", "vs", "python", "arm_name"]),
            ("How long", &["budget", "processes", "loops", "precision"]),
            ("What is measured", &["decide_on", "gc", "duplicate"]),
            ("The processes", &["affinity", "tune", "inherit_environ"]),
            ("The answer", &["same", "fail_on", "record", "verbose", "json"]),
        ],
        examples: &[
            "stillwell timeit -s 'd = list(range(9))' 'sorted(d)'",
            "stillwell timeit -s 'd = {5: 1}' 'd[5]' --vs 'd.get(5)'",
            "stillwell timeit --python ./old --python ./new 'x + y' -s 'x = y = 1'",
        ],
    },
    ShortHelp {
        verb: "bench",
        groups: &[
            ("What is compared", &["arms", "arm_name", "revisions", "build"]),
            ("Which benchmarks", &["benchmark", "filter", "list"]),
            ("How long", &["budget", "processes", "precision", "resume"]),
            ("The processes", &["affinity", "tune", "timeout"]),
            ("The answer", &["same", "fail_on", "record", "verbose", "json"]),
        ],
        examples: &[
            "stillwell bench ./old/benches ./new/benches",
            "stillwell bench suite.toml --arms old=./old,new=./new",
            "stillwell bench pyperformance --arms base=python3,new=./python -b nbody",
        ],
    },
    ShortHelp {
        verb: "gate",
        groups: &[
            ("What is compared", &["base", "build", "old", "new", "select"]),
            ("How long", &["budget", "timeout"]),
            ("The verdict", &["fail_on", "same", "alpha", "decide_on"]),
            ("The processes", &["affinity", "tune"]),
            ("The answer", &["markdown", "junit", "json", "report", "record"]),
        ],
        examples: &[
            "stillwell gate --base origin/main --build 'cargo bench --no-run'",
            "stillwell gate --old build-main --new build-head bench/parse bench/sort",
            "stillwell gate --base origin/main --build 'make bench' --fail-on slower:3",
        ],
    },
    ShortHelp {
        verb: "bisect",
        groups: &[
            ("What is searched", &["build", "program", "only", "gate", "first_parent"]),
            ("How long", &["budget", "layouts"]),
            ("The verdict", &["same", "alpha", "decide_on"]),
            ("The processes", &["prepare", "affinity", "tune"]),
            ("The answer", &["resume", "directory", "report", "history", "json"]),
        ],
        examples: &[
            "stillwell bisect --build 'make -j2' v1.0 HEAD -- ./prog input",
            "stillwell bisect --build make HEAD~50 HEAD -- ./prog input",
            "stillwell bisect --gate results --build 'make bench' --program bench/parse",
        ],
    },
    ShortHelp {
        verb: "race",
        groups: &[
            ("What is compared", &["command_names", "parameter_lists", "suite", "shell"]),
            ("How long", &["budget", "timeout"]),
            ("The verdict", &["within", "alpha", "decide_on"]),
            ("The processes", &["setup", "prepare", "affinity", "isolate", "tune"]),
            ("The answer", &["resume", "directory", "json"]),
        ],
        examples: &[
            "stillwell race ./a ./b ./c ./d",
            "stillwell race -L level 1,2,3,6,9,12 'gzip -{level} -c data.txt'",
            "stillwell race --within 2 --budget 5min ./a ./b ./c",
        ],
    },
    ShortHelp {
        verb: "why",
        groups: &[
            ("What is profiled", &["only", "of", "command_names", "shell"]),
            ("How long", &["budget", "runs", "warmup"]),
            ("The samples", &["rate", "stack_kib"]),
            ("The processes", &["prepare", "input", "affinity", "isolate", "tune"]),
            ("The answer", &["report", "folded", "record", "json"]),
        ],
        examples: &[
            "stillwell why ./old ./new",
            "stillwell why './prog small.txt' './prog large.txt' --report why.html",
            "stillwell why session.swell",
        ],
    },
    ShortHelp {
        verb: "campaign new",
        groups: &[
            ("What is made faster", &["build", "revision", "program", "suite", "only"]),
            ("How long", &["budget", "total_budget"]),
            ("What is accepted", &["alpha", "attempts", "at_least", "aim", "decide_on"]),
            ("The processes", &["prepare", "affinity", "isolate", "tune"]),
            ("Fair play", &["input_set", "seeds", "trusted"]),
        ],
        examples: &[
            "stillwell campaign new c -- ./prog input",
            "stillwell campaign new c --build 'make -j2' -- ./prog input",
            "stillwell campaign try c ./prog-2 input",
        ],
    },
];

/// The short help, if the command line asks for it and the verb has one.
pub(super) fn asked(words: &[OsString], command: &Command) -> Option<String> {
    let is_long = words.iter().any(|word| word == "--help" || word == "help");
    let mut own = words.iter().skip(1).map(|word| word.to_string_lossy());
    let verb = own.next()?;
    let with_action = own.next().map(|action| format!("{verb} {action}")).unwrap_or_default();
    let help = LIST.iter().find(|it| it.verb == with_action || it.verb == verb);
    help.filter(|_| !is_long).map(|help| text(help, command))
}

fn text(short: &ShortHelp, command: &Command) -> String {
    let mut words = short.verb.split(' ');
    let verb =
        words.try_fold(command.clone(), |command, word| command.find_subcommand(word).cloned());
    let mut verb = verb.expect("the table names verbs");
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    verb = verb.bin_name(format!("stillwell {}", short.verb));
    let mut out = format!("{about}\n\n{}\n", verb.render_usage());
    for (heading, ids) in short.groups {
        out += &format!("\n{heading}:\n");
        for id in *ids {
            let arg = verb.get_arguments().find(|arg| arg.get_id() == *id);
            out += &line(arg.unwrap_or_else(|| panic!("{} has no argument {id}", short.verb)));
        }
    }
    out += "\nExamples:\n";
    short.examples.iter().for_each(|example| out += &format!("  {example}\n"));
    let all = verb.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_positional()).count();
    out + &format!("\nAll {all} options, with their defaults: `stillwell {} --help`\n", short.verb)
}

/// An option with the first sentence of its help.
fn line(arg: &Arg) -> String {
    let short = arg.get_short().map_or_else(|| "    ".into(), |short| format!("-{short}, "));
    let long = arg.get_long().unwrap_or_default();
    let takes = arg.get_action().takes_values();
    let names = arg.get_value_names().filter(|_| takes).unwrap_or_default();
    let values: String = match arg.is_require_equals_set() {
        true => names.iter().map(|name| format!("[={name}]")).collect(),
        false => names.iter().map(|name| format!(" <{name}>")).collect(),
    };
    let option = format!("  {short}--{long}{values}");
    let width = OPTION_MAX + 2;
    let about = first_sentence(&arg.get_help().map(ToString::to_string).unwrap_or_default());
    let mut lines = String::new();
    fill(&mut lines, 0, (COLUMNS - width - 2, 0), " ", about.split(' '));
    let mut out = option.clone();
    for (index, line) in lines.lines().enumerate() {
        let is_beside = index == 0 && option.chars().count() <= width;
        if is_beside {
            out = format!("{option:width$}  {line}");
        } else {
            out += &format!("\n{:width$}  {line}", "");
        }
    }
    out + "\n"
}

/// The first sentence, up to a colon, a semicolon or a bracket.
fn first_sentence(help: &str) -> String {
    let ends = [". ", "; ", ": ", " (", " [default", ", for example"];
    let end = ends.iter().filter_map(|end| help.find(end)).min().unwrap_or(help.len());
    help[..end].trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    use crate::spec::Cli;

    #[test]
    fn each_has_at_most_20_options_in_five_groups_and_three_examples() {
        for short in &LIST {
            let n: usize = short.groups.iter().map(|(_, ids)| ids.len()).sum();
            assert!(n <= 20 && short.groups.len() == 5, "{}: {n}", short.verb);
            assert_eq!(short.examples.len(), 3, "{}", short.verb);
            let text = text(short, &Cli::command());
            assert!(text.lines().count() <= 64, "{text}");
            let is_usage = |line: &&str| line.starts_with("       stillwell");
            let indented = text.lines().filter(|line| line.starts_with("  "));
            let mut indented = indented.filter(|line| !is_usage(line));
            assert!(indented.all(|line| line.chars().count() <= COLUMNS), "{text}");
        }
    }

    #[test]
    fn only_minus_h_is_short() {
        let asked = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            asked(&words, &Cli::command()).is_some()
        };
        assert!(asked("stillwell run -h") && asked("stillwell campaign new -h"));
        assert!(!asked("stillwell run --help") && !asked("stillwell help run"));
        assert!(!asked("stillwell show -h"));
    }
}
