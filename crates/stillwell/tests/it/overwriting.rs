//! No file that an option names replaces a record, another output or an input, and each is written.

use std::os::unix::fs::symlink;

use crate::bench::Bench;

const SESSION: [&str; 4] = ["-w", "0", "-r", "3"];

/// Asserts that these words are refused, in a directory with a record, before anything runs.
#[track_caller]
fn check_refused(words: &[&str], says: &[&str]) {
    let bench = Bench::new();
    bench.run(&[&SESSION[..], &["true"]].concat()).ends_with(0);
    bench.write("in.json", "input");
    symlink("new.swell", bench.path("link.json")).unwrap();
    symlink("link.json", bench.path("link.html")).unwrap();
    let packed = bench.command("gzip").args(["-k", "r.swell"]).status();
    assert!(packed.unwrap().success());
    let files = || {
        let names = bench.path(".").read_dir().unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        (names, bench.read("r.swell"), bench.read("in.json"))
    };
    let before = files();
    bench.stillwell(words).ends_with(2).says(says);
    assert_eq!(files(), before, "{words:?}");
}

#[test]
fn a_session_replaces_no_file_that_another_option_names() {
    let (new, same) = (["run", "-o", "new.swell"], "is the same file; choose another name");
    let ran = "touch ran";
    for more in [
        &["--export-json", "new.swell"][..],
        &["--report", "./new.swell"],
        &["--export-json", "link.json"],
        &["--report", "link.html"],
        &["--export-json", "c.json", "--export-csv", "./c.json"],
        &["--export-json", "-", "--export-csv", "/dev/stdout"],
        &["--output", "./new.swell"],
        &["--output", "./c.json", "--export-json", "c.json"],
        &["--value-file", "./new.swell", "--value", "x"],
        &["--input", "in.json", "--export-json", "./in.json"],
    ] {
        check_refused(&[&new[..], more, &[ran]].concat(), &[more[0], same]);
    }
}

#[test]
fn a_record_is_not_replaced_whatever_its_name() {
    let lost = "this file has measurements of Stillwell, which would be lost; choose another name";
    for words in [
        &["run", "-o", "new.swell", "--export-json", "r.swell", "touch ran"][..],
        &["run", "-o", "new.swell", "--report", "r.swell.gz", "touch ran"],
        &["why", "r.swell", "--report", "r.swell"],
        &["gate", "--old", "old", "--new", "new", "--json", "r.swell"],
        &["noise", "--for", "1s", "--raw", "r.swell"],
    ] {
        check_refused(words, &[lost]);
    }
    check_refused(
        &["show", "r.swell", "--export-json", "r.swell"],
        &["--export-json r.swell: the input r.swell is the same file"],
    );
    check_refused(&["show", "r.swell", "--report", "./r.swell"], &["the input r.swell"]);
    check_refused(&["report", "r.swell.gz", "-o", "./r.swell.gz"], &["the input r.swell.gz"]);
    let why = ["why", "-o", "new.swell"];
    for (page, of) in [("new.swell", "-o"), ("new.swell.profile", "the profile")] {
        check_refused(&[&why[..], &["--report", page, "touch ran"]].concat(), &["--report", of]);
    }
    let gate = ["gate", "--old", "old", "--new", "new", "--junit", "g", "--markdown", "./g"];
    check_refused(&gate, &["--junit g: --markdown ./g is the same file"]);
}

/// A suite is a directory with records and their list.
#[test]
fn the_list_of_a_suite_is_not_replaced() {
    let bench = Bench::new();
    bench.write("s.toml", "[[benchmark]]\nname = \"a\"\ncommand = \"true\"\n");
    let suite = ["bench", "s.toml", "-r", "1", "-o", "suite"];
    let same = [&suite[..], &["--export-csv", "./suite"]].concat();
    bench.stillwell(&same).ends_with(2).says(&["-o suite is the same file"]);
    bench.stillwell(&suite).ends_with(0);
    let list = bench.read("suite/suite.json");
    for words in [["show", "suite"], ["bench", "--resume=suite"]] {
        let words = [&words[..], &["--export-json", "suite/suite.json"]].concat();
        bench.stillwell(&words).ends_with(2).says(&["has measurements of Stillwell"]);
    }
    assert_eq!(bench.read("suite/suite.json"), list);
}

/// Many may write to a device.
#[test]
fn a_device_may_be_named_twice() {
    let bench = Bench::new();
    let null = ["--output", "/dev/null", "--export-json", "/dev/null", "--export-csv", "/dev/null"];
    bench.run(&[&SESSION[..], &null, &["true"]].concat()).ends_with(0);
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_is_followed() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("pages")).unwrap();
    symlink("pages/second.html", bench.path("first.html")).unwrap();
    symlink("new.html", bench.path("pages/second.html")).unwrap();
    bench.run(&[&SESSION[..], &["--report", "first.html", "true"]].concat()).ends_with(0);
    assert!(bench.read("pages/new.html").contains("<html"));
    assert!(bench.path("first.html").symlink_metadata().unwrap().is_symlink());
}

#[test]
fn a_record_that_a_command_removes_or_changes_is_said_to_be_lost() {
    let bench = Bench::new();
    let says = |what: &str| format!("{what} was removed or renamed during the session");
    for command in ["rm -f r.swell; true", "mv -f r.swell old.swell; true"] {
        let ran = bench.run(&[&SESSION[..], &[command]].concat()).ends_with(2);
        ran.says(&[&says("r.swell")]);
    }
    let ran = bench.run(&[&SESSION[..], &[": > r.swell"]].concat()).ends_with(2);
    ran.says(&["r.swell can no longer be read; perhaps a command changed it"]);
    for what in ["s", "s/001-a.swell"] {
        let command = format!("rm -rf {}; true", bench.path(what).display());
        let text = format!("[[benchmark]]\nname = \"a\"\nshell = true\ncommand = \"{command}\"\n");
        bench.write("s.toml", &text);
        let ran = bench.stillwell(&["bench", "s.toml", "-r", "2", "-o", "s"]).ends_with(2);
        ran.says(&[&says(what)]);
    }
}

/// Each command removes its own record once the other one is there.
#[test]
fn a_benchmark_whose_record_was_removed_had_begun() {
    let bench = Bench::new();
    let path = |name: &str| bench.path(&format!("s/{name}.swell")).display().to_string();
    let of = |name: &str, own: &str, other: &str| {
        let command = format!("if test -e {}; then rm -f {}; fi", path(other), path(own));
        format!("[[benchmark]]\nname = \"{name}\"\nshell = true\ncommand = \"{command}\"\n")
    };
    bench.write("s.toml", &(of("a", "001-a", "002-b") + &of("b", "002-b", "001-a")));
    let ran = bench.stillwell(&["bench", "s.toml", "-r", "2", "-o", "s"]).ends_with(2);
    assert!(ran.stdout.contains("2 runs") && !ran.stdout.contains("not begun"), "{ran:#?}");
    ran.says(&["was removed or renamed during the session"]);
}

/// A terminal that was closed, or a full disk behind standard output, takes no export away.
#[test]
fn exports_are_written_without_standard_output() {
    let bench = Bench::new();
    bench.write("s.toml", "[[benchmark]]\nname = \"a\"\ncommand = \"true\"\n");
    let run = ["run", "-r", "3", "-o", "r.swell", "--export-json", "a.json", "true"];
    let suite = ["bench", "s.toml", "-r", "1", "-o", "suite", "--export-json", "b.json"];
    for (words, record, export) in
        [(&run[..], "r.swell", "a.json"), (&suite[..], "suite", "b.json")]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = bench.command(crate::bench::STILLWELL);
        let ran = crate::bench::Ran::from(command.args(words).stdout(full).output().unwrap());
        ran.ends_with(2).says(&[&format!("the runs are in {record}: "), "No space left"]);
        assert!(bench.read(export).contains("results"), "{words:?}");
    }
}
