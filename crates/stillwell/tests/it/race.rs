//! `race`: whole races. Made-up times play most of them, so no race depends on the machine.

use serde_json::Value;

use crate::bench::{Bench, Ran, STILLWELL, wait_until};

/// Times around 10 ms with a spread of some percent, never the same twice in a row.
fn noisy(ratio: f64, seed: u64) -> String {
    let mut stream = stats::Stream::new(seed);
    let time = |_| format!("{:.6}ms", 10.0 * ratio * (1.0 + 0.04 * stream.unit()));
    (0..997).map(time).collect::<Vec<_>>().join(" ")
}

fn names(n: usize) -> Vec<String> {
    (0..n).map(|arm| format!("./c{arm}")).collect()
}

/// Plays commands `./c0`, `./c1`, … with these lines of a script.
fn played(bench: &Bench, lines: &[String], options: &[&str]) -> Ran {
    bench.write("script", &lines.join("\n"));
    let names = names(lines.len());
    let commands: Vec<&str> = names.iter().map(String::as_str).collect();
    let fixed = ["race", "--script", "script", "--host-root", ".", "--seed", "7", "-o", "kept"];
    bench.stillwell(&[fixed.as_slice(), options, &commands].concat())
}

fn lines(ratios: &[f64]) -> Vec<String> {
    (1..).zip(ratios).map(|(seed, ratio)| noisy(*ratio, seed)).collect()
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"))
}

fn standing(found: &Value, name: &str) -> Value {
    let arms = found["arms"].as_array().unwrap();
    arms.iter().find(|arm| arm["name"] == name).unwrap()["standing"].clone()
}

/// Ten commands; the last but one is the best, by 3 %.
const FIELD: [f64; 10] = [1.0, 1.02, 0.99, 1.04, 0.97, 1.01, 1.03, 0.98, 0.94, 1.05];

#[test]
fn the_best_of_ten_is_named_with_its_size() {
    let bench = Bench::new();
    let found = json(&played(&bench, &lines(&FIELD), &["--json"]).ends_with(0));
    assert_eq!((&found["winner"], &found["is_confirmed"]), (&"./c8".into(), &true.into()));
    let size = &found["arms"][0]["to_reference"];
    let (lo, hi) = (size["lo"].as_f64().unwrap(), size["hi"].as_f64().unwrap());
    assert!(lo < 0.94 && 0.94 < hi && hi - lo < 0.05, "{size}");
    for (arm, ratio) in FIELD.iter().enumerate().filter(|(arm, _)| *arm != 8) {
        let standing = standing(&found, &format!("./c{arm}"));
        assert_eq!(standing, "slower", "{ratio}: {found:#}");
    }
    // The reference is in every block, so each record can be read as any other.
    let text = bench.stillwell(&["show", "kept/002.swell"]).ends_with(0).stdout;
    assert!(text.contains("./c0"), "{text}");
    let again = played(&bench, &lines(&FIELD), &["--resume", "kept"]);
    assert_eq!(again.code, Some(2), "a race that goes on has its commands already");
    let longer = bench.stillwell(&["race", "--resume", "kept", "--budget", "9s"]).ends_with(2);
    assert!(longer.stderr.contains("leave --budget out, or begin another race"), "{longer:#?}");
}

#[test]
fn what_takes_the_same_time_is_listed_with_the_winner() {
    let bench = Bench::new();
    let options = ["--within", "2%"];
    let ran = played(&bench, &lines(&[1.1, 1.0, 1.0, 1.0, 1.2]), &options).ends_with(0);
    let answer = ran.stdout.split("\n\n").nth(1).unwrap();
    assert!(answer.contains("is the best of 5 within 2 %, at 99 %"), "{ran:#?}");
    let tied = answer.lines().find(|line| line.contains("not told apart from it:")).unwrap();
    assert_eq!(tied.matches("./c").count(), 2, "{ran:#?}");
}

/// The winner and the reference have one interval, though two tests compare them.
#[test]
fn the_winner_and_the_reference_have_one_interval() {
    let bench = Bench::new();
    let text = played(&bench, &lines(&[1.1, 1.0, 1.05]), &[]).ends_with(0).stdout;
    let row = |name: &str| text.lines().rfind(|line| line.starts_with(name)).unwrap().to_owned();
    assert_eq!([row("./c0"), row("./c1")].map(|row| row.matches('[').count()), [0, 1], "{text}");
    assert_eq!(row("./c2").matches('[').count(), 2, "{text}");
    assert!(!text.contains("`run`"), "a forecast of another question: {text}");
    let times = text.lines().filter(|line| line.contains(" blocks  after "));
    assert_eq!(times.count(), text.matches(" commands  ").count(), "{text}");

    let bench = Bench::new();
    let text = played(&bench, &lines(&[1.0, 1.1, 1.05]), &[]).ends_with(0).stdout;
    assert!(text.contains("÷ winner") && !text.contains("÷ reference"), "{text}");
}

/// A ratio in a document is one of costs, and only times are slower.
#[test]
fn the_highest_value_can_win() {
    let bench = Bench::new();
    for (name, value) in [("low", 100), ("high", 200)] {
        bench.script(name, &format!("#!/bin/sh\necho v: $(({value} + $$ % 7))\n"));
    }
    let value = ["--value", "v: (.*)", "--value-better", "higher", "--budget", "60s"];
    let race = [&["race", "-o", "kept"][..], &value, &["./low", "./high"]].concat();
    let text = bench.stillwell(&race).ends_with(0).stdout;
    assert!(text.contains("worse") && !text.contains("slower"), "{text}");
    let found = json(&bench.stillwell(&["race", "--resume", "kept", "--json"]).ends_with(0));
    let effect = &found["conclusion"]["effects"][0];
    assert_eq!((&effect["name"], &effect["verdict"]), (&"./high".into(), &"faster".into()));
    assert!(effect["ratio"].as_f64().unwrap() < 1.0, "{found:#}");
}

#[test]
fn a_budget_that_is_too_short_decides_nothing() {
    let bench = Bench::new();
    let ran = played(&bench, &lines(&[1.0; 6]), &["--budget", "3s"]).ends_with(3);
    assert!(ran.stdout.contains("not decided:"), "{ran:#?}");
    let found = json(&bench.stillwell(&["race", "--resume", "kept", "--json"]).ends_with(3));
    let open = (1..6).filter(|arm| standing(&found, &format!("./c{arm}")) == "open").count();
    assert!(found["is_out_of_time"] == true && open >= 3, "{found:#}");
    assert!(found["seconds"].as_f64().unwrap() < 3.0, "{found:#}");
}

#[test]
fn a_command_that_is_far_slower_is_out_at_once() {
    let bench = Bench::new();
    let ran = played(&bench, &lines(&[1.0, 0.95, 100.0]), &["--json"]).ends_with(0);
    let found = json(&ran);
    assert_eq!((&found["winner"], standing(&found, "./c2")), (&"./c1".into(), "far slower".into()));
    let rounds = bench.read("kept/rounds.jsonl");
    assert!(rounds.lines().skip(1).all(|line| !line.contains("[0,1,2]")), "{rounds}");
}

#[test]
fn commands_that_fail_are_named_and_the_race_goes_on() {
    let bench = Bench::new();
    let mut times = lines(&[1.0, 0.95, 0.9, 0.8]);
    // The best one fails in its ninth run, another one at once.
    times[3] = times[3]
        .split(' ')
        .enumerate()
        .fold(String::new(), |text, (n, time)| text + time + if n == 8 { "!1 " } else { " " });
    times[1] = times[1].replacen("ms", "ms!3", 1);
    let ran = played(&bench, &times, &[]).ends_with(0);
    for text in ["failed   ./c1 exited with 3", "failed   ./c3 exited with 1"] {
        assert!(ran.stdout.contains(text), "{ran:#?}");
    }
    assert!(ran.stdout.contains("./c2 is the best of 2"), "two never ran: {ran:#?}");
    let bench = Bench::new();
    times[0] = times[0].replacen("ms", "ms!3", 1);
    let ran = played(&bench, &times, &[]).ends_with(2);
    assert!(ran.stderr.contains("the reference \"./c0\" exited with 3"), "{ran:#?}");
}

#[test]
fn a_race_that_was_killed_gives_the_same_answer() {
    let bench = Bench::new();
    let whole = played(&bench, &lines(&FIELD), &["--json"]).ends_with(0);
    let rounds = bench.read("kept/rounds.jsonl");
    assert!(rounds.lines().count() >= 2, "{rounds}");
    // It was killed while it wrote the second line.
    let one: usize = rounds.lines().take(1).map(|line| line.len() + 1).sum();
    bench.write("kept/rounds.jsonl", &rounds[..one + 9]);
    let again = bench.stillwell(&["race", "--resume", "kept", "--json"]).ends_with(0);
    assert_eq!(json(&again), json(&whole));
    let kept = bench.read("kept/rounds.jsonl");
    assert!(kept.starts_with(&rounds[..one]) && kept.len() > one, "{kept}");
}

#[test]
fn real_commands_race_and_go_on_after_an_interruption() {
    let bench = Bench::new();
    bench.write("arms", "# the field\nshort\tsh -c 'exit 0'\n\nlong\tsh -c 'sleep 0.02'\n");
    let options = ["race", "-o", "kept", "--arms-from", "arms", "--budget", "1h", "sh -c true"];
    let mut command = bench.command(STILLWELL);
    command.args(options).args(["--within", "50"]);
    let running = bench.spawn(command);
    let rounds = || std::fs::read_to_string(bench.path("kept/rounds.jsonl")).unwrap_or_default();
    wait_until("a round", || rounds().lines().count() >= 1);
    running.signal(rustix::process::Signal::INT);
    let ran = running.finish();
    if ran.code == Some(130) {
        assert!(ran.stderr.contains("stillwell race --resume"), "{ran:#?}");
    }
    let found = json(&bench.stillwell(&["race", "--resume", "kept", "--json"]));
    // A busy machine may need a stage of confirmation to see it.
    let long = standing(&found, "long");
    assert!(long == "far slower" || long == "slower", "{found:#}");
    assert_eq!(found["arms"].as_array().unwrap().len(), 3);
}

#[test]
fn mistakes_are_named() {
    let bench = Bench::new();
    let fails = |arguments: &[&str], text: &str| {
        let ran = bench.stillwell(&[&["race"], arguments].concat()).ends_with(2);
        assert!(ran.stderr.contains(text), "{ran:#?}");
    };
    fails(&["true"], "1 command; a race has from 2 to 200");
    let many: Vec<String> = (0..201).map(|n| n.to_string()).collect();
    fails(&["-L", "n", &many.join(","), "echo {n}"], "201 commands; a race has from 2 to 200");
    fails(&["--subtract", "true", "a", "b"], "--subtract does not go with a race");
    fails(&["-L", "n", "1,2", "--setup", "make {n}", "./p {n}"], "use --prepare");
    bench.write("arms", "a\n\tb\n");
    fails(&["--arms-from", "arms"], "arms:2: a line is COMMAND, or NAME, a tab and COMMAND");
    bench.write("arms", "a\ttrue\na\tfalse\n");
    fails(
        &["--arms-from", "arms"],
        "the name \"a\"; a line of arms can be NAME, a tab and COMMAND",
    );
    fails(&["--alpha", "100", "a", "b"], "--alpha 100 is out of range: from 0.01 to 50 percent");
    fails(&["--resume", "nowhere"], "there is no race in nowhere");
    assert!(!bench.path("state").exists(), "a mistake makes no directory");
}
