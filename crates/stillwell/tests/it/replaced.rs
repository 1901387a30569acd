//! Verbs that go on with earlier work notice what has changed since: programs, directories, questions.

use std::path::Path;

use serde_json::Value;

use crate::bench::{Bench, Ran, STILLWELL, skipped};

/// A program that says this value.
fn says(bench: &Bench, name: &str, value: u32) {
    bench.script(name, &format!("#!/bin/sh\necho {value}\n"));
}

fn in_directory(bench: &Bench, directory: &str, words: &[&str]) -> Ran {
    let mut command = bench.command(STILLWELL);
    Ran::from(command.current_dir(bench.path(directory)).args(words).output().unwrap())
}

#[test]
fn a_race_that_has_ended_is_not_the_answer_to_the_next_one() {
    let bench = Bench::new();
    says(&bench, "a.sh", 100);
    says(&bench, "b.sh", 120);
    let race = || {
        let words = ["race", "--value", "(.+)", "--seed", "7", "./a.sh", "./b.sh"];
        bench.stillwell(&words).ends_with(0).stdout
    };
    assert!(race().contains("./a.sh is the best of 2"));
    let again = race();
    assert!(!again.contains("going on with"), "{again}");
    says(&bench, "a.sh", 300);
    let changed = race();
    assert!(changed.contains("./b.sh is the best of 2"), "{changed}");
    let kept = ["race", "--value", "(.+)", "-o", "kept", "./a.sh", "./b.sh"];
    bench.stillwell(&kept).ends_with(0);
    bench.stillwell(&kept).ends_with(2).says(&["the race in", "has ended"]);
    let shown = bench.stillwell(&["race", "--resume", "kept"]).ends_with(0);
    assert!(shown.stdout.contains("./b.sh is the best of 2"), "{shown:#?}");
}

#[test]
fn commands_of_a_race_have_different_names() {
    let bench = Bench::new();
    says(&bench, "a.sh", 100);
    let ran = bench.stillwell(&["race", "./a.sh", "./a.sh"]).ends_with(2);
    ran.says(&["two commands have the name \"./a.sh\"", "--command-name"]);
}

/// A campaign of `./base` in `c`.
fn campaign(bench: &Bench, options: &[&str]) -> Ran {
    let words = [&["campaign", "new", "c", "--value", "(.+)"], options, &["--", "./base"]];
    bench.stillwell(&words.concat())
}

#[test]
fn the_accepted_state_has_to_stay_what_it_was() {
    let bench = Bench::new();
    says(&bench, "base", 100);
    says(&bench, "better", 80);
    says(&bench, "other", 90);
    campaign(&bench, &[]).ends_with(0);
    bench.stillwell(&["campaign", "try", "c", "one", "--", "./better"]).ends_with(0);
    says(&bench, "better", 120);
    let ran = bench.stillwell(&["campaign", "try", "c", "two", "--", "./other"]).ends_with(2);
    ran.says(&["the program of the accepted state, \"./better\", was replaced"]);
    bench.stillwell(&["campaign", "confirm", "c"]).ends_with(2).says(&["was replaced"]);
    says(&bench, "better", 80);
    bench.stillwell(&["campaign", "try", "c", "two", "--", "./other"]).ends_with(1);
}

#[test]
fn a_campaign_goes_on_where_it_began() {
    let bench = Bench::new();
    says(&bench, "base", 100);
    campaign(&bench, &[]).ends_with(0);
    std::fs::create_dir(bench.path("elsewhere")).unwrap();
    says(&bench, "elsewhere/base", 300);
    says(&bench, "elsewhere/copy", 100);
    let words = ["campaign", "try", "../c", "one", "--", "./copy"];
    in_directory(&bench, "elsewhere", &words).ends_with(2).says(&["this campaign began in"]);
    std::fs::remove_file(bench.path("c/log.jsonl")).unwrap();
    let status = bench.stillwell(&["campaign", "status", "c"]).ends_with(2);
    status.says(&["has campaign.json and no log.jsonl"]);
}

#[test]
fn a_campaign_whose_attempts_could_only_fail_is_not_begun() {
    let bench = Bench::new();
    let missing = campaign(&bench, &[]).ends_with(2);
    missing.says(&["there is no program ./base"]);
    says(&bench, "base", 100);
    campaign(&bench, &["--seeds"]).ends_with(2).says(&["no command mentions it"]);
    std::fs::create_dir(bench.path("ins")).unwrap();
    bench.write("ins/a$(touch x)", "1");
    bench.write("ins/b", "2");
    let words = ["campaign", "new", "c", "--input-set", "ins", "--", "cat {input}"];
    bench.stillwell(&words).ends_with(2).says(&["which a shell would not read as a name"]);
    assert!(!Path::new(&bench.path("c")).exists());
    let seeded = ["campaign", "new", "c", "--value", "(.+)", "--seeds", "--", "./base {seed}"];
    bench.stillwell(&seeded).ends_with(0);
    let fixed = bench.stillwell(&["campaign", "try", "c", "one", "--", "echo 1"]).ends_with(2);
    fixed.says(&["the command does not mention {seed}"]);
}

#[test]
fn a_file_that_the_reference_does_not_write_is_not_compared() {
    let bench = Bench::new();
    says(&bench, "base", 100);
    says(&bench, "better", 80);
    campaign(&bench, &["--file", "typo.txt"]).ends_with(0);
    let words = ["campaign", "try", "c", "one", "--json", "--", "./better"];
    let ran = bench.stillwell(&words).ends_with(0);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let unchecked = found["attempt"]["end"]["unchecked"].to_string();
    assert!(unchecked.contains("typo.txt: no run of the reference writes it"), "{found:#}");
    let report = bench.stillwell(&["campaign", "report", "c"]).ends_with(0).stdout;
    assert!(report.contains("one: not checked: wrong file typo.txt"), "{report}");
}

/// Six commits of `p.sh`, which says 100 and from the fifth on 150. The third has none. `None` without git.
fn repository() -> Option<Bench> {
    let bench = Bench::new();
    let script = "set -e; git init -q -b main repo; cd repo; git config user.email a@example.org; git config user.name a
        for n in 1 2 3 4 5 6; do
            value=100; test $n -lt 5 || value=150
            printf '#!/bin/sh\\n# %s\\necho %s\\n' $n $value > p.sh; chmod +x p.sh; mkdir -p sub; echo > sub/x
            if [ $n = 3 ]; then rm -r p.sh sub; echo > other; fi
            git add -A; git commit -q -m c$n; git tag t$n
        done";
    let mut made = bench.command("sh");
    let output = made.args(["-c", script]).output().unwrap();
    if bench.command("git").arg("--version").output().is_err() {
        skipped("there is no git");
        return None;
    }
    Ran::from(output).ends_with(0);
    Some(bench)
}

#[test]
fn a_commit_without_the_program_is_left_out() {
    let Some(bench) = repository() else { return };
    let words = ["bisect", "--value", "(.+)", "--budget", "1h", "t1", "t6", "--", "./p.sh"];
    let ran = in_directory(&bench, "repo", &words).ends_with(0);
    assert!(ran.stdout.contains("\"c5\" is 50 % worse"), "{ran:#?}");
    let words = [&words[..6], &["t6", "--", "../p.sh"]].concat();
    let ran = in_directory(&bench, "repo/sub", &words).ends_with(0);
    assert!(ran.stdout.contains("\"c5\" is 50 % worse"), "{ran:#?}");
}

/// git takes every exit code from 1 to 127 but 125 for "bad".
#[test]
fn a_step_of_git_never_calls_an_error_bad() {
    let Some(bench) = repository() else { return };
    let step = |commit: &str, ends: [&str; 2], option: &str| {
        let mut checkout = bench.command("git");
        checkout.current_dir(bench.path("repo")).args(["checkout", "-q", commit]);
        Ran::from(checkout.output().unwrap()).ends_with(0);
        let words =
            [&["bisect", "--step", "--value", "(.+)", option, "1h"], &ends[..], &["--", "./p.sh"]];
        in_directory(&bench, "repo", &words.concat()).code
    };
    assert_eq!(step("t3", ["t1", "t6"], "--budget"), Some(125));
    assert_eq!(step("t4", ["t1", "t6"], "--budget"), Some(0));
    assert_eq!(step("t5", ["t1", "t6"], "--budget"), Some(1));
    assert_eq!(step("t4", ["t1", "nowhere"], "--budget"), Some(128));
    assert_eq!(step("t4", ["t1", "t6"], "--bugdet"), Some(128));
}

#[test]
fn another_question_is_another_search() {
    let Some(bench) = repository() else { return };
    let asked = |options: &[&str]| {
        let words =
            [&["bisect", "--budget", "1h", "-o", "../s"], options, &["t1", "t6", "--", "./p.sh"]];
        in_directory(&bench, "repo", &words.concat())
    };
    asked(&["--value", "(.+)"]).ends_with(0);
    asked(&["--value", "(.+)", "--json"]).ends_with(0);
    asked(&["--value", "(.+)", "--decide-on", "maxrss"])
        .ends_with(2)
        .says(&["other values of --decide-on"]);
}
