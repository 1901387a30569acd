//! The options allowed with `--resume` of `bench`, `bisect` and `race`. Resuming keeps the plan, so an option that
//! changes the plan is refused, and so is any option not listed here.

use clap::{Arg, Args, Command};

use crate::spec::argument_ids::{ArgumentIds, names};
use crate::spec::workers::BenchVerb;
use crate::spec::{BisectVerb, RaceVerb};

/// Arguments of `bisect` that change only the output or the rights.
const ALLOWED_OF_BISECT: [&str; 7] =
    ["resume", "as_root", "json", "style", "report", "history", "benchmark"];

/// Arguments of `race` that change only the output or the rights.
const ALLOWED_OF_RACE: [&str; 4] = ["resume", "as_root", "json", "style"];

/// Ids of the arguments of `bench` that change only the machine or the output.
const ALLOWED: [&str; 19] = [
    "resume",
    "suite_schema",
    "tune",
    "as_root",
    "host_root",
    "fail_on",
    "shared",
    "json",
    "style",
    "verbose",
    "quiet",
    "append",
    "export",
    "export_json",
    "export_csv",
    "export_markdown",
    "export_asciidoc",
    "export_orgmode",
    "report",
];

impl BenchVerb {
    /// The first option that `--resume` refuses, by all its names: `--runs`.
    pub fn refused_with_resume(&self) -> Option<String> {
        first_refused::<Self>(&self.given, &ALLOWED)
    }
}

impl BisectVerb {
    pub fn refused_with_resume(&self) -> Option<String> {
        first_refused::<Self>(&self.given, &ALLOWED_OF_BISECT)
    }
}

impl RaceVerb {
    pub fn refused_with_resume(&self) -> Option<String> {
        first_refused::<Self>(&self.given, &ALLOWED_OF_RACE)
    }
}

/// The first option that is not allowed, by all its names.
pub(super) fn first_refused<V: Args>(given: &ArgumentIds, allowed: &[&str]) -> Option<String> {
    first_that::<V>(given, |id| !allowed.contains(&id))
}

/// The first option that meets the condition, by all its names.
pub(super) fn first_that<V: Args>(
    given: &ArgumentIds,
    is_it: impl Fn(&str) -> bool,
) -> Option<String> {
    let command = V::augment_args(Command::new("verb"));
    let is_refused = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        given.has(id) && is_it(id)
    };
    command.get_arguments().find(is_refused).map(names)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser as _;

    use super::*;
    use crate::spec::{Cli, Verb};

    const REFUSED: [&str; 45] = [
        "commands",
        "as_pyperf",
        "benchmark",
        "filter",
        "tag",
        "arms",
        "pin",
        "list",
        "revisions",
        "build",
        "arm_name",
        "fork_server",
        "processes",
        "values",
        "warmups",
        "loops",
        "min_time",
        "budget",
        "precision",
        "rigorous",
        "fast",
        "debug_single_value",
        "timeout",
        "decide_on",
        "track_memory",
        "tracemalloc",
        "gc",
        "delta",
        "subtract_loop",
        "affinity",
        "threads",
        "numa",
        "inherit_environ",
        "nice",
        "priority",
        "sched",
        "no_aslr",
        "env_padding",
        "seed",
        "alpha",
        "counter",
        "same",
        "estimand",
        "aa",
        "record",
    ];

    #[test]
    fn every_argument_of_bench_is_classified() {
        let command = BenchVerb::augment_args(Command::new("bench"));
        let found: BTreeSet<&str> =
            command.get_arguments().map(|arg| arg.get_id().as_str()).collect();
        let listed: BTreeSet<&str> = ALLOWED.iter().chain(&REFUSED).copied().collect();
        assert_eq!(found, listed);
    }

    #[track_caller]
    fn check(words: &[&str], expected: Option<&str>) {
        let words = ["stillwell", "bench", "--resume", "out"].iter().chain(words);
        let Verb::Bench(verb) = Cli::try_parse_from(words).unwrap().verb else { unreachable!() };
        assert_eq!(verb.refused_with_resume().as_deref(), expected);
    }

    #[test]
    fn only_what_the_command_line_has_is_refused() {
        check(&[], None);
        check(&["--json", "--tune=turbo", "--fail-on", "slower", "--export-csv", "x"], None);
        check(&["-q", "-r", "3"], Some("--runs"));
        check(&["--json", "--no-aslr"], Some("--no-aslr"));
        check(&["--nice", "-1"], Some("--nice"));
    }

    #[test]
    fn searches_and_races_take_options_of_the_output_and_the_rights() {
        let refused = |words: &[&str]| match Cli::try_parse_from(words).unwrap().verb {
            Verb::Bisect(verb) => verb.refused_with_resume(),
            Verb::Race(verb) => verb.refused_with_resume(),
            _ => unreachable!(),
        };
        let bisect =
            ["stillwell", "bisect", "--resume", "d", "--json", "--report", "r", "--as-root"];
        let race = ["stillwell", "race", "--resume", "d", "--style", "none", "--as-root"];
        assert_eq!((refused(&bisect), refused(&race)), (None, None));
        let more = |words: &[&str], option| refused(&[words, &[option, "1"]].concat());
        assert_eq!(more(&bisect, "--budget").as_deref(), Some("--budget"));
        assert_eq!(more(&race, "--within").as_deref(), Some("--within"));
    }
}
