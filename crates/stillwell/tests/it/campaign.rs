//! `campaign`: whole campaigns of programs that say their value, so that no answer depends on the machine.

use serde_json::Value;

use crate::bench::{Bench, Ran, STILLWELL, skipped};
use crate::harnesses::google_benchmark;

/// Begins a campaign of `echo 100` in `c`, with these options.
fn begun(options: &[&str]) -> Bench {
    let bench = Bench::new();
    let words = [&["campaign", "new", "c", "--value", "(.+)", "--seed", "7"], options].concat();
    bench.stillwell(&[&words[..], &["--", "echo", "100"]].concat()).ends_with(0);
    bench
}

/// Begins a campaign in `c` whose commands are names with made-up times.
fn made_up(times: &str, options: &[&str]) -> Bench {
    let bench = Bench::new();
    bench.write("times", times);
    let words = ["campaign", "new", "c", "--trusted", "--script", "times", "--host-root", "."];
    let words = [&words[..], &["--seed", "7"], options, &["--", "base"]].concat();
    bench.stillwell(&words).ends_with(0);
    bench
}

fn attempt_made_up(bench: &Bench, name: &str) -> Ran {
    bench.stillwell(&["campaign", "try", "c", name, "--", name])
}

fn attempt(bench: &Bench, name: &str, value: &str) -> Ran {
    bench.stillwell(&["campaign", "try", "c", name, "--", "echo", value])
}

fn status(bench: &Bench) -> Value {
    let ran = bench.stillwell(&["campaign", "status", "c", "--json"]).ends_with(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_gain_is_accepted_and_is_what_the_next_attempt_has_to_beat() {
    let times = "base 100ms\nsame 100ms\nfaster 95ms\nworse 97ms\nsecond 90ms\n";
    let bench = made_up(times, &[]);
    let same = attempt_made_up(&bench, "same").ends_with(1);
    assert!(same.stdout.contains("same: rejected: a gain of 1.0 % is out of reach"), "{same:#?}");
    let faster = attempt_made_up(&bench, "faster").ends_with(0);
    assert!(faster.stdout.contains("faster: accepted, 5.0 % faster"), "{faster:#?}");
    // Better than the beginning, and worse than the state.
    attempt_made_up(&bench, "worse").ends_with(1);
    let second = attempt_made_up(&bench, "second").ends_with(0);
    assert!(second.stdout.contains("10 % faster (10"), "{second:#?}");
    let found = status(&bench);
    assert_eq!(found["state"]["command"], "second");
    assert!((found["gain"]["ratio"].as_f64().unwrap() - 0.9).abs() < 1e-9, "{found:#}");
    let levels: Vec<f64> = found["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["level"].as_f64().unwrap())
        .collect();
    // 5 % / 2 / 100 each. An accepted attempt hands its level on.
    for (found, expected) in levels.iter().zip([0.00025, 0.00025, 0.0005, 0.00025]) {
        assert!((found - expected).abs() < 1e-12, "{levels:?}");
    }
    let report = bench.stillwell(&["campaign", "report", "c"]).ends_with(0);
    assert!(report.stdout.contains("| second | `second` | accepted |"), "{report:#?}");
    // Each record can be read as any other.
    bench.stillwell(&["show", "c/001.swell"]).ends_with(0);
    bench.stillwell(&["show", "c"]).ends_with(0);
    let whole = bench.stillwell(&["campaign", "confirm", "c", "-r", "60"]).ends_with(0);
    assert!(whole.stdout.contains("All that was accepted is 10 % faster"), "{whole:#?}");
}

#[test]
fn a_required_gain_has_to_be_exceeded() {
    let times = "base 100ms\nsmall 98ms\nlarge 95ms\n";
    let bench = made_up(times, &["--at-least", "3", "--aim", "4"]);
    attempt_made_up(&bench, "small").ends_with(1);
    attempt_made_up(&bench, "large").ends_with(0);
}

#[test]
fn too_little_time_for_fresh_runs_decides_nothing() {
    let bench = made_up("base 50ms\nfaster 40ms\nfastest 30ms\n", &["--budget", "1s"]);
    attempt_made_up(&bench, "faster");
    let ran = attempt_made_up(&bench, "fastest").ends_with(3);
    shows(&ran, "fastest: not decided in the budget");
}

#[test]
fn an_attempt_that_never_ran_spends_nothing() {
    let bench = begun(&[]);
    let ran = bench.stillwell(&["campaign", "try", "c", "broken", "--", "./no-such-program"]);
    let told = ran.ends_with(1).stdout;
    assert!(told.contains("its share of the error rate is not spent"), "{told}");
    let ran = bench.stillwell(&["campaign", "try", "c", "fails", "--", "false"]).ends_with(1);
    shows(&ran, "fails: rejected: it fails. command 2 (\"fails\") exited with 1 ");
    assert_eq!(status(&bench)["left"]["attempts_at_full_rate"], 100);
}

#[test]
fn mistakes_are_named() {
    let bench = begun(&[]);
    let exists = bench.stillwell(&["campaign", "new", "c", "--", "true"]).ends_with(2);
    assert!(exists.stderr.contains("c exists"), "{exists:#?}");
    attempt(&bench, "a", "90").ends_with(0);
    let again = attempt(&bench, "a", "80").ends_with(2);
    assert!(again.stderr.contains("there is an attempt \"a\" already"), "{again:#?}");
    let state = attempt(&bench, "b", "90").ends_with(2);
    assert!(state.stderr.contains("the accepted state itself"), "{state:#?}");
    let patch = bench.stillwell(&["campaign", "try", "c", "p", "--patch", "x"]).ends_with(2);
    assert!(patch.stderr.contains("it began without --build"), "{patch:#?}");
    let aim =
        bench.stillwell(&["campaign", "new", "d", "--at-least", "2", "--aim", "1", "--", "true"]);
    assert!(aim.ends_with(2).stderr.contains("--aim has to be above --at-least"));
    let alpha = bench.stillwell(&["campaign", "new", "d", "--alpha", "100", "--", "true"]);
    assert!(alpha.ends_with(2).stderr.contains("--alpha 100 is out of range"));
    let none = bench.stillwell(&["campaign", "status", "nowhere"]).ends_with(2);
    assert!(none.stderr.contains("there is no campaign in nowhere"), "{none:#?}");
    let empty = bench.stillwell(&["campaign", "new", "e", "--", "true"]).ends_with(0);
    assert!(empty.stdout.contains("true is the program to make faster"));
    shows(&empty, "next: stillwell campaign try e NAME -- COMMAND");
    let nothing = bench.stillwell(&["campaign", "confirm", "e"]).ends_with(2);
    assert!(nothing.stderr.contains("no attempt was accepted yet"), "{nothing:#?}");
}

#[test]
fn a_killed_attempt_has_spent_its_share() {
    let bench = begun(&[]);
    // The attempt kills the whole session from inside, as `kill -9` of a user would.
    let script =
        "#!/bin/sh\nif [ -e armed ]; then kill -9 $(cat front); fi\ntouch armed\necho 90\n";
    bench.script("suicide", script);
    let line = "echo $$ > front; exec \"$0\" campaign try c killed -- ./suicide";
    let mut command = bench.command("sh");
    command.args(["-c", line, STILLWELL]);
    let ran = Ran::from(command.output().unwrap());
    assert_ne!(ran.code, Some(0), "{ran:#?}");
    let found = status(&bench);
    assert_eq!(found["attempts"][0]["answer"], "not_decided", "{found:#}");
    assert_eq!(found["left"]["attempts_at_full_rate"], 99);
    // The campaign goes on.
    attempt(&bench, "next", "90").ends_with(0);
    shows(&bench.stillwell(&["campaign", "status", "c"]), "killed not decided was killed");
}

/// The trial's runs leave a file that makes all later runs fast, also in the confirmation.
#[test]
fn results_that_the_trial_left_are_found_before_an_attempt_is_accepted() {
    let bench = begun(&[]);
    let cache = bench.path("cache");
    let cache = cache.display();
    bench.script(
        "cached",
        &format!("#!/bin/sh\ncat {cache} 2> /dev/null || {{ echo 100; echo 80 > {cache}; }}\n"),
    );
    bench
        .stillwell(&["campaign", "new", "t", "--value", "(.+)", "--trusted", "--", "echo", "100"])
        .ends_with(0);
    bench.stillwell(&["campaign", "try", "t", "cached", "--", "./cached"]).ends_with(0);
    std::fs::remove_file(bench.path("cache")).unwrap();
    let bench = begun_with(bench, &[]);
    let ran = bench.stillwell(&["campaign", "try", "c2", "cached", "--", "./cached"]);
    if ran.stdout.contains("not checked: files elsewhere") {
        skipped("system calls cannot be watched here");
        return;
    }
    assert!(ran.ends_with(1).stdout.contains("its runs are not fair"));
}

fn begun_with(bench: Bench, options: &[&str]) -> Bench {
    let words = [&["campaign", "new", "c2", "--value", "(.+)", "--seed", "7"], options].concat();
    bench.stillwell(&[&words[..], &["--", "echo", "100"]].concat()).ends_with(0);
    bench
}

fn git(bench: &Bench, arguments: &[&str]) -> String {
    let mut command = bench.command("git");
    command.current_dir(bench.path("repo")).args(["-c", "user.name=a", "-c", "user.email=a@b"]);
    Ran::from(command.args(arguments).output().unwrap()).ends_with(0).stdout
}

pub fn in_repository(bench: &Bench, words: &[&str]) -> Ran {
    let mut command = bench.command(STILLWELL);
    command.current_dir(bench.path("repo")).arg("campaign").args(words);
    Ran::from(command.output().unwrap())
}

/// A file whose lines are times that add up, and one patch for each line that makes it shorter.
pub fn repository() -> Option<Bench> {
    let bench = Bench::new();
    if bench.command("git").arg("--version").output().is_err() {
        skipped("there is no git");
        return None;
    }
    std::fs::create_dir(bench.path("repo")).unwrap();
    git(&bench, &["init", "--quiet", "-b", "main"]);
    let times = |a: u32, b: u32| format!("{a}\n#\n#\n#\n#\n#\n#\n#\n{b}\n");
    bench.write("repo/times", &times(60, 40));
    git(&bench, &["add", "times"]);
    git(&bench, &["commit", "--quiet", "-m", "one"]);
    for (name, a, b) in [("first.patch", 50, 40), ("second.patch", 60, 35), ("odd.patch", 1, 1)] {
        bench.write("repo/times", &times(a, b));
        bench.write(name, &git(&bench, &["diff"]));
    }
    bench.write("repo/times", &times(60, 40));
    Some(bench)
}

#[test]
fn the_records_of_a_campaign_are_no_uncommitted_change() {
    let Some(bench) = repository() else { return };
    in_repository(&bench, &["new", "own", "--build", "true", "--", "true"]).ends_with(0);
    let ran = in_repository(&bench, &["try", "own", "idle", "--revision", "WORK"]).ends_with(2);
    ran.says(&["there is nothing to try"]);
}

/// It is refused a command.
#[test]
fn the_next_attempt_at_commits_is_a_revision_or_a_patch() {
    let Some(bench) = repository() else { return };
    let began = in_repository(&bench, &["new", "../c", "--build", "true", "--", "true"]);
    shows(
        &began.ends_with(0),
        "next: stillwell campaign try ../c NAME --revision REV, or --patch FILE",
    );
}

#[track_caller]
fn shows(ran: &Ran, part: &str) {
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(part), "{part:?} is missing: {ran:#?}");
}

#[test]
fn benchmarks_of_a_program_decide_by_their_geometric_mean_or_alone() {
    let bench = Bench::new();
    for (name, ns) in [("old", 1000), ("same", 1000), ("new", 800)] {
        bench.script(name, &google_benchmark(ns));
    }
    // Without the slowest benchmark, the mean would be lower.
    bench.script("fewer", &google_benchmark(1000).replacen("BM_fib/8\\nBM_sum", "BM_sum", 1));
    let begin = |directory: &str, options: &[&str]| {
        let words = ["campaign", "new", directory, "--seed", "7", "--program", "./old"];
        bench.stillwell(&[&words[..], &["--trusted"], options].concat())
    };
    let attempt = |directory: &str, name: &str| {
        let program = format!("./{name}");
        bench.stillwell(&["campaign", "try", directory, name, "--", &program])
    };
    let began = begin("c", &[]).ends_with(0);
    shows(&began, "What decides is the geometric mean of 2 benchmarks: BM_fib/8 and BM_sum.");
    shows(&attempt("c", "same").ends_with(1), "rejected: a gain of 1.0 % is out of reach");
    shows(&attempt("c", "fewer").ends_with(1), "rejected: it fails. it has no benchmark");
    // One of two benchmarks takes 0.8 of its time: the square root of 0.8 is 0.894.
    shows(&attempt("c", "new").ends_with(0), "new: accepted, 1");
    let found = status(&bench);
    assert_eq!(found["state"]["command"], "./new");
    assert_eq!(found["benchmarks"][1], "BM_sum", "{found:#}");
    let gain = found["gain"]["ratio"].as_f64().unwrap();
    assert!((gain - 0.8_f64.sqrt()).abs() < 0.004, "{gain}");
    // What failed before its first run has spent nothing.
    assert_eq!(found["left"]["attempts_at_full_rate"], 98);

    let one = begin("one", &["--only", "BM_fib/8"]).ends_with(0);
    shows(&one, "What decides is its benchmark BM_fib/8.");
    shows(&attempt("one", "new").ends_with(0), "new: accepted, 2");
    begin("none", &["--only", "BM_none"]).ends_with(2).says(&["BM_none", "BM_sum"]);
    let words = ["campaign", "new", "d", "--program", "./old"];
    bench.stillwell(&words).ends_with(2).says(&["--trusted"]);
}

#[test]
fn times_can_be_made_up() {
    let noise: String =
        (0..997).map(|at| format!(" {}", 1.0 + f64::from(at * 37 % 101) * 1e-4)).collect();
    let bench = made_up(&format!("at{noise}\nbase 10ms\nsame 10ms\nfaster 9.9ms\n"), &[]);
    attempt_made_up(&bench, "same").ends_with(1);
    shows(&attempt_made_up(&bench, "faster").ends_with(0), "faster: accepted, 1.");
    attempt_made_up(&bench, "unknown").ends_with(2).says(&["--script has no line for unknown"]);
}

/// They take some ten seconds of a CPU each.
mod long {
    use super::*;

    #[test]
    fn patches_build_on_each_other_and_can_be_left_out() {
        let Some(bench) = repository() else { return };
        let build = "awk '/[0-9]/ { s += $1 } END { print s }' times > sum";
        let begin =
            ["new", "../c", "--build", build, "--value", "(.+)", "--seed", "3", "--", "cat", "sum"];
        in_repository(&bench, &begin).ends_with(0);
        let attempt =
            |name: &str, file: &str| in_repository(&bench, &["try", "../c", name, "--patch", file]);
        attempt("first", "../first.patch").ends_with(0);
        let second = attempt("second", "../second.patch").ends_with(0);
        // Both ran in their checkouts, where the audit looked at them too.
        assert!(!second.stdout.contains("not checked: the audit"), "{second:#?}");
        assert!(second.stdout.contains("15 % better"), "{second:#?}");
        let odd = attempt("odd", "../odd.patch").ends_with(2);
        assert!(odd.stderr.contains("cannot apply ../odd.patch"), "{odd:#?}");
        // Nothing is left in the user's tree.
        assert_eq!(git(&bench, &["status", "--porcelain"]), "");
        assert_eq!(git(&bench, &["branch", "--all"]), "* main\n");
        assert_eq!(git(&bench, &["log", "--format=%s%d"]), "one (HEAD -> main)\n");
        let whole = in_repository(&bench, &["confirm", "../c", "-r", "60", "--each"]).ends_with(0);
        // 85 : 95 and 85 : 90.
        for text in [
            "first: the whole is 11 %",
            "second: the whole is 5.6 %",
            "All that was accepted is 15 %",
        ] {
            assert!(whole.stdout.contains(text), "{text}: {whole:#?}");
        }
        let report = in_repository(&bench, &["report", "../c"]).ends_with(0);
        assert!(report.stdout.contains("| first | 11 % better"), "{report:#?}");
        let status = in_repository(&bench, &["status", "../c", "--json"]).ends_with(0);
        let found: Value = serde_json::from_str(&status.stdout).unwrap();
        assert_eq!(found["contributions"][1]["attempt"], "second", "{found:#}");
        // Git keeps what was accepted, also after its work trees.
        let trees = git(&bench, &["worktree", "list", "--porcelain"]);
        for tree in trees.lines().filter_map(|line| line.strip_prefix("worktree ")).skip(1) {
            git(&bench, &["worktree", "remove", "--force", tree]);
        }
        git(&bench, &["gc", "--quiet", "--prune=now"]);
        let format = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/stillwell"];
        let kept = git(&bench, &format);
        let state = found["state"]["commit"].as_str().unwrap();
        assert!(
            kept.lines().any(|it| it.starts_with(state) && it.ends_with("/2-second")),
            "{kept}"
        );
        assert_eq!(kept.lines().count(), 2, "{kept}");
    }
}
