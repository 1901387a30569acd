use std::collections::BTreeSet;

use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

/// The words behind `stillwell`, and the places of what was taken.
fn found(
    line: &str,
    variable: Option<&str>,
    file: Option<&str>,
) -> Result<(String, Vec<String>), String> {
    let file = file.map(|text| ("s.toml", text));
    let (words, taken) =
        with_defaults(words(line), variable, file).map_err(|mistake| match mistake {
            DefaultsMistake::Text(text) => text,
            DefaultsMistake::Refused { from, error } => {
                format!("{from}: {}", error.to_string().lines().next().unwrap_or_default())
            }
        })?;
    let words: Vec<_> = words[1..].iter().map(|word| word.to_str().unwrap()).collect();
    Ok((words.join(" "), taken.into_iter().map(|option| option.from).collect()))
}

#[track_caller]
fn check(
    line: &str,
    variable: Option<&str>,
    file: Option<&str>,
    expected: Result<(&str, &[&str]), &str>,
) {
    let expected = expected
        .map(|(words, from)| (words.to_owned(), from.iter().map(ToString::to_string).collect()));
    assert_eq!(found(line, variable, file), expected.map_err(str::to_owned));
}

#[test]
fn the_command_line_goes_first_then_the_variable_then_the_file() {
    let file = "budget = \"9s\"\nisolate = true\nwarmup = 3\n[run]\nwarmup = 2\nisolate = false\n[why]\nrate = 7\n";
    let run = "stillwell run a b";
    check(run, None, Some(file), Ok(("run --warmup=2 --budget=9s a b", &["s.toml:5", "s.toml:1"])));
    check(
        run,
        Some("-w 4 --same 2"),
        Some(file),
        Ok((
            "run -w 4 --same 2 --budget=9s a b",
            &["STILLWELL_OPTIONS", "STILLWELL_OPTIONS", "s.toml:1"],
        )),
    );
    check(
        "stillwell run -w1 --budget 2s a b",
        Some("-w4"),
        Some(file),
        Ok(("run -w1 --budget 2s a b", &[])),
    );
    check(
        "stillwell race a b",
        None,
        Some(file),
        Ok(("race --budget=9s --isolate a b", &["s.toml:1", "s.toml:2"])),
    );
}

#[test]
fn an_option_gives_way_to_what_excludes_it() {
    check("stillwell run -m 5 a", Some("-r 9"), None, Ok(("run -m 5 a", &[])));
    check(
        "stillwell run -r 5 a",
        None,
        Some("min_runs = 9\nalpha = 0.5"),
        Ok(("run --alpha=0.5 -r 5 a", &["s.toml:2"])),
    );
    // What goes on keeps its options, and a schema takes none.
    check("stillwell race --resume d", Some("--within 2"), None, Ok(("race --resume d", &[])));
    check("stillwell run --schema", Some("-r 9"), None, Ok(("run --schema", &[])));
}

#[test]
fn lists_are_given_one_by_one() {
    let file = "command_name = [\"a\", \"b\"]";
    let all = "run --command-name=a --command-name=b x y";
    check("stillwell run x y", None, Some(file), Ok((all, &["s.toml:1"])));
}

#[test]
fn mistakes_have_their_place() {
    let run = "stillwell run a b";
    check(
        run,
        Some("--budgt 3"),
        None,
        Err(
            "STILLWELL_OPTIONS: \"--budgt\" is no option of a verb that measures; did you mean \"--budget\"?",
        ),
    );
    check(
        run,
        None,
        Some("[gate]\nmin_run = 3\nbudgt = 3"),
        Err("s.toml:2: \"min_run\" is no option of a verb that measures"),
    );
    check(
        run,
        None,
        Some("\nmin_run = 3"),
        Err(
            "s.toml:2: \"min_run\" is no option of a verb that measures; did you mean \"min_runs\"?",
        ),
    );
    check(run, Some("--blocks 3"), None, Err("STILLWELL_OPTIONS: --blocks is now --runs (-r)"));
    check(run, None, Some("min_blocks = 3"), Err("s.toml:1: min_blocks is now --min-runs (-m)"));
}

#[test]
fn mistakes_of_form_and_value_have_their_place() {
    let run = "stillwell run a b";
    check(run, Some("x"), None, Err("STILLWELL_OPTIONS: \"x\" is no option"));
    check(run, Some("'x"), None, Err("STILLWELL_OPTIONS: missing closing quote"));
    check(run, Some("--budget"), None, Err("STILLWELL_OPTIONS: --budget needs a value"));
    check(
        run,
        Some("--as-root"),
        None,
        Err("STILLWELL_OPTIONS: --as-root is for the command line alone"),
    );
    check(
        run,
        None,
        Some("\nvariant = []"),
        Err("s.toml:2: this is a suite; stillwell.toml has options, so a suite needs another name"),
    );
    check(
        run,
        None,
        Some("[run]\n\nwithin = 1"),
        Err("s.toml:3: \"within\" is no option of a verb that measures"),
    );
    check(
        run,
        None,
        Some("[runn]\nall = 1"),
        Err("s.toml:1: \"runn\" is no verb that measures; did you mean \"run\"?"),
    );
    check(run, None, Some("[show]\nall = 1"), Err("s.toml:1: \"show\" is no verb that measures"));
    check(
        run,
        None,
        Some("[[benchmark]]\nname = \"x\""),
        Err("s.toml:1: this is a suite; stillwell.toml has options, so a suite needs another name"),
    );
    check(run, None, Some("aa = 1"), Err("s.toml:1: --aa is true or false"));
    check(run, None, Some("seed = 0x10"), Err("s.toml:1: --seed is a text or a decimal number"));
    check(run, None, Some("a = [\n"), Err("s.toml:1: unclosed array, expected `]`"));
    // The second one is wrong, or does not go with the first.
    check(
        run,
        None,
        Some("warmup = 1\nruns = \"x\""),
        Err("s.toml:2: error: invalid value 'x' for '--runs <NUM>': invalid digit found in string"),
    );
    check(
        run,
        None,
        Some("runs = 1\nmin-runs = 2"),
        Err("s.toml:2: error: the argument '--runs <NUM>' cannot be used with '--min-runs <NUM>'"),
    );
    // A mistake of the command line is its own.
    check(
        "stillwell run --bogus a",
        Some("-r 3"),
        None,
        Ok(("run -r 3 --bogus a", &["STILLWELL_OPTIONS"])),
    );
}

#[test]
fn a_file_chooses_nothing_that_is_executed_read_or_written() {
    let why = |line, key| {
        let file = format!("{key} = \"x\"");
        found(line, None, Some(&file)).unwrap_err()
    };
    for key in ["setup", "prepare", "conclude", "cleanup", "validate", "build", "shell", "env"] {
        let expected = format!("s.toml:1: {key} is refused here: a checkout can bring this file");
        assert!(why("stillwell run a", key).starts_with(&expected), "{key}");
    }
    for key in ["export", "report", "output", "value_file", "revisions", "suite", "arms_from"] {
        assert!(why("stillwell run a", key).contains("give --"), "{key}");
    }
    assert!(why("stillwell timeit a", "python_arg").contains("give --python-arg on the command"));
    // The variable is the user's own.
    check("stillwell run a", Some("-s make"), None, Ok(("run -s make a", &["STILLWELL_OPTIONS"])));
    // Before you add an option here: what could a hostile checkout do with it?
    let all = command();
    let options = verbs(&all).flat_map(|(_, verb)| verb.get_arguments());
    let taken = options.filter(|it| it.get_action().takes_values() && is_harmless(it));
    let taken: BTreeSet<&str> = taken.filter_map(Arg::get_long).collect();
    let taken: Vec<&str> = taken.into_iter().filter(|it| !REFUSED.contains(it)).collect();
    let expected = "affinity aim alpha at-least attempts benchmark budget command-name control copies counter \
                    decide-on duplicate env-padding estimand expect-exit fail-on filter gc ignore-failure \
                    inner-loops instructions layouts loops max-runs metrics min-runs min-time name nice numa of only \
                    order precision priority rate reference-name replays runs same sched seed select skip sort \
                    stack-kib style tag threads time-unit timeout total-budget tune value value-better value-json \
                    value-unit values warmup warmups why within";
    assert_eq!(taken.join(" "), expected);
    for (line, key) in [("run a", "shared"), ("campaign new c", "trusted")] {
        let file = format!("{key} = true");
        let told = found(&format!("stillwell {line}"), None, Some(&file)).unwrap_err();
        assert!(told.contains("executed, read, written or trusted"), "{told}");
    }
}

#[test]
fn only_verbs_that_measure_take_them() {
    let takes = |line| takes_defaults(&words(line));
    assert!(
        takes("stillwell run a")
            && takes("stillwell campaign new c")
            && takes("stillwell run -- --no-defaults")
    );
    for line in [
        "stillwell show a",
        "stillwell campaign try c",
        "stillwell run --no-defaults a",
        "stillwell",
    ] {
        assert!(!takes(line), "{line}");
    }
    let all = command();
    assert_eq!(verbs(&all).count(), VERBS.len());
    for (name, verb) in verbs(&all) {
        assert!(verb.get_arguments().any(|arg| arg.get_id() == NO_DEFAULTS), "{name}");
    }
}
