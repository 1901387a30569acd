//! Tests the reading of suite files, and the messages on their mistakes.

use std::path::Path;

use super::*;
use crate::prose::Prose;

fn read(text: &str) -> Result<SuiteFile, Prose> {
    parse(Text { path: Path::new("s.toml"), text })
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(read(text).unwrap_err().to_string(), format!("s.toml:{expected}"));
}

#[test]
fn numbers_of_a_matrix_are_as_they_are_written() {
    let text = "[[benchmark]]\nname = \"a\"\ncommand = \"x\"\nexclude = [{ n = 2 }]\n\
                [benchmark.matrix]\nn = [1e3, 1.0, 3.10, 2.0, -0.0, 1_000, 0x10, true, \"1_0\"]\n";
    let file = read(text).unwrap();
    let texts: Vec<&str> = file.benchmarks[0].matrix["n"].iter().map(|it| &*it.text).collect();
    assert_eq!(texts, ["1e3", "1.0", "3.10", "2.0", "-0.0", "1000", "0x10", "true", "1_0"]);
    // Excluding compares numbers, not spellings.
    assert_eq!(file.benchmarks[0].exclude[0]["n"].value, file.benchmarks[0].matrix["n"][3].value);
}

#[test]
fn mistakes_are_where_they_are() {
    let one = |keys: &str| format!("[[benchmark]]\nname = \"a\"\ncommand = \"x\"\n{keys}\n");
    check(
        &format!("[[variant]]\nname = \"base\"\n{}", one("variants = [\"base\", \"bsae\"]")),
        "6:21: there is no variant \"bsae\"; did you mean \"base\"?",
    );
    check(
        &format!("[[variant]]\nname = \"base\"\n{}", one("variants = [\"nope\"]")),
        "6:13: there is no variant \"nope\"; there are base",
    );
    check(&one("statement = \"y\""), "4:1: a benchmark is a `command` or a `statement`, not both");
    check(&one("only = [\"y\"]"), "4:1: `only` is for a `program`, and this is a `command`");
    check(&one("matrix = { n = [1], m = [] }"), "4:25: the parameter \"m\" has no value");
    check(
        &one("matrix = { n = [1, 2,\n  1] }"),
        "5:3: the parameter \"n\" has the value \"1\" twice",
    );
    check(
        &one("matrix = { n = [1] }\nexclude = [{ n = 1 }, { m = 1 }]"),
        "5:29: `exclude` has \"m\", which is no parameter of `matrix`",
    );
    check(&one("expect_exit = [0, 256]"), "4:19: `expect_exit`: 256 is no exit status, 0 to 255");
    check(&one("[benchmark.policy]\n\nmin_blocks = 0"), "6:14: `policy.min_blocks` is 0");
    check(
        &format!("policy.max_blocks = 3\n{}", one("policy.min_blocks = 5")),
        "5:21: `policy.min_blocks`, 5, is above `policy.max_blocks`, 3",
    );
    check(&format!("policy = {{ timeout = 0 }}\n{}", one("")), "1:22: `policy.timeout` is 0");
    // The second of two entries, and a missing entry.
    check(
        &format!("{}{}", one(""), one("env = { \"\" = \"\" }")),
        "8:14: `env`: \"\" is empty, has a \"=\" in its name or a NUL byte",
    );
    check(
        &format!("{}\n[[benchmark]]\nname = \"b\"\n", one("")),
        "6:1: a benchmark needs `command`, `statement` or `program`",
    );
    let variant = |keys: &str| format!("[[variant]]\nname = \"v\"\n{keys}\n{}", one(""));
    check(&variant("build = { command = \"x\", builds = 0 }"), "3:35: `builds` is 0");
    check(
        &variant("build = { command = \"x\", builds = 2 }"),
        "3:35: `builds` goes with link_order = \"random\"",
    );
    check(&variant("build = \"x\""), "3:9: invalid type: string \"x\", expected a table");
    check(&variant("name = \"w\""), "3:1: the key `name` is there twice");
    check(&variant("repository = \"x\""), "3:1: `repository` goes with `revision`");
    check(&variant("python = \"'x\""), "3:10: \"'x\": missing closing quote");
    check(&variant("[[variant]]\nname = \"v\""), "4:8: there are two variants \"v\"");
}

#[test]
fn keys_that_belong_into_another_table_are_told_where() {
    let one = |keys: &str| format!("[[benchmark]]\nname = \"a\"\ncommand = \"x\"\n{keys}\n");
    let meant = |text: &str, place: &str, unknown: &str, meant: &str| {
        check(text, &format!("{place}: unknown key `{unknown}`; did you mean `{meant}`?"));
    };
    meant(&one("timeout = \"1s\""), "4:1", "timeout", "policy.timeout");
    meant(&one("budgt = 3"), "4:1", "budgt", "policy.budget");
    meant("budgt = 3\n", "1:1", "budgt", "budget");
    meant("timeout = 3\n", "1:1", "timeout", "policy.timeout");
    meant("[[variant]]\nlink_order = \"random\"\n", "2:1", "link_order", "build.link_order");
    meant("[[variant]]\nbuild = { comand = \"x\" }\n", "2:11", "comand", "command");
}
