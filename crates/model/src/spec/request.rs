//! The request of a search, a race or a campaign, as its directory keeps it.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Args, Command};
use serde::Serialize;
use serde_json::{Error, Value};

use crate::spec::argument_ids::names;

/// A verb's values by argument id, without those for showing or keeping the answer. Errors: a path is not UTF-8.
pub fn asked<V: Args + Serialize>(
    verb: &V,
    left_out: &[&str],
) -> Result<BTreeMap<String, Vec<Value>>, Error> {
    let command = V::augment_args(Command::new("verb"));
    let ids: BTreeSet<&str> = command.get_arguments().map(|arg| arg.get_id().as_str()).collect();
    let mut asked = BTreeMap::new();
    collect(serde_json::to_value(verb)?, "", &ids, &mut asked);
    asked.retain(|id, _| !left_out.contains(&&**id));
    Ok(asked)
}

/// Descends to the values. The innermost argument name counts, because a group may have an argument's name too.
fn collect(
    value: Value,
    id: &str,
    ids: &BTreeSet<&str>,
    b_tree_map: &mut BTreeMap<String, Vec<Value>>,
) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let id = if ids.contains(&*name) { &name } else { id };
                collect(value, id, ids, b_tree_map);
            }
        }
        value => b_tree_map.entry(id.to_owned()).or_default().push(value),
    }
}

/// The arguments in which two requests differ, by their names on the command line. Errors: see [`asked`].
pub fn differences<V: Args + Serialize>(
    (before, now): (&V, &V),
    left_out: &[&str],
) -> Result<Vec<String>, Error> {
    let (before, now) = (asked(before, left_out)?, asked(now, left_out)?);
    let command = V::augment_args(Command::new("verb"));
    let differs = |id: &str| before.get(id) != now.get(id);
    let arguments = command.get_arguments().filter(|arg| differs(arg.get_id().as_str()));
    Ok(arguments.map(names).collect())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::spec::{BisectVerb, Cli, Verb};

    fn bisect(more: &[&str]) -> BisectVerb {
        let words = [&["stillwell", "bisect"], more, &["v1", "v2", "--", "./prog"]].concat();
        let Verb::Bisect(verb) = Cli::try_parse_from(words).unwrap().verb else { unreachable!() };
        *verb
    }

    #[test]
    fn every_option_is_read_as_it_was_kept() {
        let words = [
            "--build=make",
            "--alpha=2",
            "--same=0.05%",
            "--layouts=3",
            "--budget=90s",
            "--seed=7",
            "--decide-on=maxrss",
            "--counter=valgrind",
            "--shell=bash -e",
            "--setup=a",
            "--prepare=b",
            "--conclude=c",
            "--cleanup=d",
            "--cold-cache",
            "--affinity=0-1",
            "--tune=turbo",
            "--isolate",
            "--threads=off",
            "--numa=bind",
            "--as-root",
            "--priority=off",
            "--nice=3",
            "--sched=batch",
            "--no-aslr",
            "--env-padding=16",
            "--env=A=1",
            "--input=in",
            "--output=null",
            "--ignore-failure=3",
            "--value=(.+)",
            "--value-unit=MB",
            "--value-better=higher",
            "--json",
            "--style=none",
            "--report=page.html",
            "--history=h",
            "--benchmark=x",
        ];
        let verb = bisect(&words);
        let kept = serde_json::to_string(&verb).unwrap();
        let read: BisectVerb = serde_json::from_str(&kept).unwrap();
        assert_eq!(asked(&read, &[]).unwrap(), asked(&verb, &[]).unwrap());
        assert_eq!(serde_json::to_string(&read).unwrap(), kept);
    }

    #[test]
    fn an_option_without_its_value_is_kept() {
        for words in [&["--tune", "--ignore-failure"][..], &[]] {
            let kept = serde_json::to_string(&bisect(words)).unwrap();
            let read: BisectVerb = serde_json::from_str(&kept).unwrap();
            let is_tuned = read.process.tuning.tune.is_some();
            let ignores = read.process.execution.ignore_failure.is_some();
            assert_eq!((is_tuned, ignores), (!words.is_empty(), !words.is_empty()));
        }
    }

    #[test]
    fn what_differs_is_named_as_on_the_command_line() {
        let (before, now) = (bisect(&["--budget=60s"]), bisect(&["--json", "--alpha=2"]));
        let found = differences((&before, &now), &["json"]).unwrap();
        assert_eq!(found, ["--alpha", "--budget"]);
        assert!(differences((&now, &now), &[]).unwrap().is_empty());
        assert_eq!(
            differences((&now, &bisect(&["--json", "--alpha=2", "--tune"])), &[]).unwrap(),
            ["--tune"]
        );
    }
}
