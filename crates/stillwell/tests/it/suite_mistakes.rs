//! Failures of `bench SUITE.toml`: mistakes in the file with their place, valid remedies, exit codes.

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, STILLWELL, wait_until};

#[test]
fn mistakes_have_their_place() {
    let bench = Bench::new();
    let check = |text: &str, parts: &[&str]| {
        bench.write("suite.toml", text);
        bench.stillwell(&["bench", "suite.toml"]).ends_with(2).says(parts);
    };
    check(
        "[[variant]]\nnme = \"x\"\n",
        &["suite.toml:2:1: unknown key `nme`; did you mean `name`?"],
    );
    check("x = [", &["suite.toml:1:6:"]);
    check("", &["there is no [[benchmark]]"]);
    let both = "[[benchmark]]\nname = \"a\"\ncommand = \"x\"\nstatement = \"y\"\n";
    check(both, &["suite.toml:4:1: a benchmark is a `command` or a `statement`, not both"]);
    let foreign = "[[benchmark]]\nname = \"a\"\nstatement = \"x\"\nprepare = \"y\"\n";
    check(foreign, &["suite.toml:4:1: `prepare` is for a `command`, and this is a `statement`"]);
    let time =
        "[[benchmark]]\nname = \"a\"\ncommand = \"x\"\npolicy = { budget = \"3 parsecs\" }\n";
    check(time, &["suite.toml:4:", "\"3 parsecs\" is not a time"]);
    check("alpha = 80\n", &["suite.toml:1:9: 80 is out of range: from 0.01 to 50 percent"]);
    check("alpha = 0\n", &["suite.toml:1:9: \"0\" is out of range: from 0.01 to 50 percent"]);
    let several = ["bench", "suite.toml", "other.toml"];
    bench.stillwell(&several).ends_with(2).says(&["one suite is measured at a time"]);
    let blocks = "policy = { max_blocks = 3 }\n[[benchmark]]\nname = \"a\"\ncommand = \"x\"\npolicy = { min_blocks = 5 }\n";
    check(blocks, &["suite.toml:5:25: `policy.min_blocks`, 5, is above `policy.max_blocks`, 3"]);
    let none = "[[benchmark]]\nname = \"a\"\ncommand = \"x\"\npolicy = { max_blocks = 0 }\n";
    check(none, &["suite.toml:4:25: `policy.max_blocks` is 0"]);
    let cwd = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\ncwd = \"no\"\n[[benchmark]]\nname = \"a\"\ncommand = \"x\"\n";
    check(cwd, &["suite.toml:5:7: the variant \"b\": `cwd`: there is no directory"]);
    let words = "\n[[benchmark]]\nname = \"a\"\ncommand = \"'x\"\n";
    check(words, &["suite.toml:4:11: the benchmark \"a\":"]);
    let variant = "[[variant]]\nname = \"base\"\n[[benchmark]]\nname = \"a\"\ncommand = \"x\"\nvariants = [\"bsae\"]\n";
    check(variant, &["suite.toml:6:13: there is no variant \"bsae\"; did you mean \"base\"?"]);
    let twice = "[[benchmark]]\nname = \"a\"\ncommand = \"x\"\n[[benchmark]]\nname = \"a\"\ncommand = \"y\"\n";
    check(twice, &["suite.toml:5:8: two benchmarks are called \"a\""]);
    let twice = "[[benchmark]]\nname = \"a1\"\ncommand = \"x\"\n\n[[benchmark]]\nname = \"a{n}\"\ncommand = \"y\"\nmatrix = { n = [2, 1] }\n";
    check(twice, &["suite.toml:6:8: two benchmarks are called \"a1\""]);
    let one = |keys: &str| format!("[[benchmark]]\nname = \"a\"\n{keys}\n");
    check("[benchmark]\nname = \"a\"\n", &["suite.toml:1:1: this is a list: [[benchmark]]"]);
    check(
        &one("command = \"x\"\npolicy = { estimand = \"tipical\" }"),
        &["suite.toml:4:", "unknown value `tipical`; did you mean `typical`?"],
    );
    for (keys, what) in [
        ("command = \"x\"\nexpect_exit = []", "`expect_exit` is empty"),
        ("command = \"x\"\nexpect_exit = [0, 256]", "256 is no exit status"),
        ("command = \"x\"\nenv = { \"A=B\" = \"c\" }", "`env`: \"A=B\""),
        ("command = \"x\"\nenv = { A = \"\\u0000\" }", "`env`: \"A\""),
        ("command = \"x\"\npolicy = { timeout = 0 }", "`policy.timeout` is 0"),
        ("command = \"x\"\nmatrix = { \"\" = [1] }", "has an empty name"),
        ("statement = \"1\"\ninner_loops = 0", "`inner_loops` is 0"),
        ("statement = \"1\"\nduplicate = 0", "`duplicate` is 0"),
    ] {
        check(&one(keys), &["suite.toml:", what]);
    }
    let reserved = "[[benchmark]]\nname = \"a\"\ncommand = \"x\"\nmatrix = { prefix = [1] }\n";
    check(
        reserved,
        &["suite.toml:4:21: the benchmark \"a\"", "a parameter cannot be called \"prefix\""],
    );
    let prefix = one("command = \"{prefix} -c x\"");
    check(&prefix, &["suite.toml:3:", "`{prefix}` is empty; a [[variant]] gives it"]);
    let bytes = [b"# \xc3\xa4\nname = \"\xc3\xa4".as_slice(), b"\xff\"\n"].concat();
    std::fs::write(bench.path("suite.toml"), bytes).unwrap();
    let ran = bench.stillwell(&["bench", "suite.toml"]).ends_with(2);
    ran.says(&["suite.toml:2:10: the byte 0xff is not UTF-8"]);
    let schema = bench.stillwell(&["bench", "--suite-schema"]).ends_with(0).stdout;
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert!(schema["properties"]["benchmark"].is_object(), "{schema:#}");
    // The schema is for editors, so it has no second definition for a value with its place.
    let names: Vec<&String> = schema["$defs"].as_object().unwrap().keys().collect();
    assert!(!names.iter().any(|name| name.ends_with(|it: char| it.is_ascii_digit())), "{names:?}");
}

#[test]
fn a_rule_of_values_that_is_wrong_has_its_place() {
    let bench = Bench::new();
    for (key, place) in [("value = \"(\"", "4:9"), ("value_json = \"x\"", "4:14")] {
        let text = format!("[[benchmark]]\nname = \"a\"\ncommand = \"x\"\n{key}\n");
        bench.write("suite.toml", &text);
        let ran = bench.stillwell(&["bench", "suite.toml"]).ends_with(2);
        ran.says(&[&format!("suite.toml:{place}: the benchmark \"a\": `value")]);
    }
}

/// A terminal would obey control characters in a name.
#[test]
fn names_are_shown_with_nothing_in_them_that_a_terminal_obeys() {
    let bench = Bench::new();
    let text = "[[benchmark]]\nname = \"a\\u001b[31m\\nb\"\ncommand = \"false\"\n";
    bench.write("suite.toml", text);
    let list = bench.stillwell(&["bench", "suite.toml", "--list"]).ends_with(0).stdout;
    assert_eq!(list, "a\\u{1b}[31m\\nb\n");
    let json = bench.stillwell(&["bench", "suite.toml", "--list", "--json"]).ends_with(0).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["benchmarks"][0]["name"], "a\u{1b}[31m\nb");
    let ran = bench.stillwell(&["bench", "suite.toml", "-o", "out"]).ends_with(2);
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stdout.contains('\u{1b}'), "{ran:#?}");
}

/// Every suggestion is a key of the file or an option of `bench`.
#[test]
fn remedies_are_keys_of_the_suite() {
    let bench = Bench::new();
    let check = |keys: &str, code: i32, parts: &[&str]| {
        let text = format!("[[benchmark]]\nname = \"a\"\n{keys}\n");
        bench.write("suite.toml", &text);
        let ran = bench.stillwell(&["bench", "suite.toml", "--runs", "2", "-o", "out"]);
        let ran = ran.ends_with(code).says(parts);
        let said = ran.stderr.replace("bench --resume", "");
        assert!(!said.contains("--") && !said.contains("-i "), "{said}");
        std::fs::remove_dir_all(bench.path("out")).ok();
    };
    check("command = \"sh -c 'exit 3'\"", 2, &["exited with 3", "`expect_exit = [3]`"]);
    let killed = "command = \"sh -c 'kill -USR1 $$'\"";
    check(killed, 2, &["was ended by signal 10", "`expect_exit = [138]`"]);
    check(&format!("{killed}\nexpect_exit = [138]"), 0, &[]);
    let slow = "policy = { timeout = \"50ms\" }";
    let timed_out = format!("command = \"sleep 100\"\n{slow}");
    check(&timed_out, 124, &["took longer than its timeout; `policy.timeout` can be longer"]);
    let worker = format!("statement = \"__import__('time').sleep(100)\"\n{slow}");
    check(&worker, 124, &["did not answer within", "`policy.timeout`"]);
    for hook in ["setup", "prepare", "conclude", "cleanup"] {
        let said = format!("the hook `{hook}` \"false\" exited with 1");
        check(&format!("command = \"true\"\n{hook} = \"false\""), 2, &[&said]);
    }
    let input = "command = \"true\"\ninput = \"missing\"";
    check(input, 2, &["missing as standard input", "check `input`"]);
}

/// The file has no key for it, so the option of `bench` is named, and not a place in the file.
#[test]
fn cpus_that_are_not_there_are_no_mistake_of_the_file() {
    let bench = Bench::new();
    let suite = "[[benchmark]]\nname = \"a\"\ncommand = \"true\"\n";
    bench.write("suite.toml", suite);
    let affinity = ["bench", "suite.toml", "--affinity", "1023", "-o", "out"];
    let ran = bench.stillwell(&affinity).ends_with(2);
    ran.says(&["stillwell: bench --affinity: CPU 1023 is not one of those that are online"]);
    // The same of the options of other verbs.
    let run = bench.stillwell(&["run", "--affinity", "1023", "true"]).ends_with(2);
    run.says(&["stillwell: --affinity: CPU 1023"]);
}

/// ^C takes precedence over errors, and errors over time-outs.
#[test]
fn exit_codes_of_a_suite() {
    let bench = Bench::new();
    let benchmark = |name: &str, command: &str| {
        format!("[[benchmark]]\nname = \"{name}\"\ncommand = \"{command}\"\n")
    };
    let (slow, bad) = (benchmark("slow", "sleep 100"), benchmark("bad", "false"));
    let policy = "policy = { timeout = \"50ms\" }\n";
    let check = |benchmarks: &[&str], code: i32| {
        bench.write("suite.toml", &format!("{policy}{}", benchmarks.concat()));
        let run = ["bench", "suite.toml", "--runs", "2", "-o", "out"];
        bench.stillwell(&run).ends_with(code);
        std::fs::remove_dir_all(bench.path("out")).ok();
    };
    let good = benchmark("good", "true");
    check(&[&good], 0);
    check(&[&good, &slow], 124);
    check(&[&good, &slow, &benchmark("slow too", "sleep 99")], 124);
    check(&[&good, &slow, &bad], 2);
    check(&[&bad, &slow], 2);
    check(&[&slow], 124);
}

/// Stillwell shows the output of a program without control characters.
#[test]
fn rubbish_is_shown_as_text_and_has_an_end() {
    let bench = Bench::new();
    bench.script(
        "rubbish",
        "#!/bin/sh\nprintf '\\033[31m%09999d' 0\nprintf '\\033[31m%09999d' 0 >&2\nexit 9\n",
    );
    let check = |text: &str, what: &str| {
        bench.write("suite.toml", text);
        let ran = bench.stillwell(&["bench", "suite.toml", "-o", "out"]).ends_with(2);
        let is_text = !ran.stderr.contains('\u{1b}') && ran.stderr.len() < 4000;
        assert!(is_text && ran.stderr.contains(what), "{ran:#?}");
        std::fs::remove_dir_all(bench.path("out")).ok();
    };
    check("[[benchmark]]\nprogram = \"./rubbish\"\n", "exited with 9");
    check("[[benchmark]]\nname = \"a\"\ncommand = \"./rubbish\"\n", "exited with 9");
    let built = "[[variant]]\nname = \"a\"\nbuild = { command = \"./rubbish\" }\n";
    check(&format!("{built}[[benchmark]]\nname = \"a\"\ncommand = \"true\"\n"), "exit status: 9");
}

/// A gate without a comparison would always pass.
#[test]
fn fail_on_needs_two_variants() {
    let bench = Bench::new();
    bench.write("suite.toml", "[[benchmark]]\nname = \"a\"\ncommand = \"true\"\n");
    let run = ["bench", "suite.toml", "--runs", "1", "-o", "out", "--fail-on", "slower"];
    bench.stillwell(&run).ends_with(2).says(&["--fail-on", "no benchmark is in two variants"]);
}

#[test]
fn a_program_that_does_not_say_what_it_has_can_be_interrupted() {
    let bench = Bench::new();
    bench.script("prog", "#!/bin/sh\ntouch asked\nexec sleep 1000\n");
    bench.write("suite.toml", "[[benchmark]]\nprogram = \"./prog\"\n");
    let mut command = bench.command(STILLWELL);
    command.args(["bench", "suite.toml", "-o", "out"]);
    let running = bench.spawn(command);
    wait_until("the question", || bench.path("asked").exists());
    running.signal(Signal::INT);
    running.finish().ends_with(130).says(&["was interrupted", "nothing was measured"]);
}
