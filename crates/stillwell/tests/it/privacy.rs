//! Who may read what Stillwell writes, and links that others put in its way.

use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};

use crate::bench::{Bench, Ran, STILLWELL, is_root, skipped};

const SOMEBODY: u32 = 54321;

/// Runs Stillwell under the umask that most systems have.
fn stillwell(bench: &Bench, words: &[&str]) -> Ran {
    let mut command = bench.command("sh");
    command.args(["-c", "umask 022; exec \"$@\"", "sh", STILLWELL]).args(words);
    Ran::from(command.output().unwrap())
}

#[track_caller]
fn has_mode(bench: &Bench, name: &str, expected: u32) {
    let mode = bench.path(name).metadata().unwrap().mode() & 0o7777;
    assert_eq!(mode, expected, "{name}: {mode:o}");
}

const SUITE: &str =
    "[[variant]]\nname = \"a\"\n[[benchmark]]\nname = \"one\"\ncommand = \"true\"\n";

#[test]
fn records_are_private() {
    let bench = Bench::new();
    stillwell(&bench, &["run", "-r", "2", "true"]).ends_with(0);
    for directory in ["state", "state/stillwell"] {
        has_mode(&bench, directory, 0o700);
    }
    let records = std::fs::read_dir(bench.path("state/stillwell")).unwrap();
    let names: Vec<_> = records.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names.len(), 1);
    has_mode(&bench, &format!("state/stillwell/{}", names[0]), 0o600);
    stillwell(&bench, &["run", "-r", "2", "-o", "r.swell", "--export-csv", "x.csv", "true"])
        .ends_with(0);
    has_mode(&bench, "r.swell", 0o600);
    // An export is made for others.
    has_mode(&bench, "x.csv", 0o644);
    stillwell(&bench, &["convert", "r.swell", "--to", "pyperf", "-o", "p.json"]).ends_with(0);
    stillwell(&bench, &["convert", "p.json", "-o", "copy.swell"]).ends_with(0);
    has_mode(&bench, "copy.swell", 0o600);
    bench.write("s.toml", SUITE);
    stillwell(&bench, &["bench", "s.toml", "-r", "2", "-o", "suite"]).ends_with(0);
    has_mode(&bench, "suite", 0o700);
    has_mode(&bench, "suite/suite.json", 0o600);
    has_mode(&bench, "suite/001-one.swell", 0o600);
    let campaign = ["campaign", "new", "c", "--env", "KEY=secret", "--", "true"];
    stillwell(&bench, &campaign).ends_with(0);
    has_mode(&bench, "c", 0o700);
    has_mode(&bench, "c/campaign.json", 0o600);
    has_mode(&bench, "c/log.jsonl", 0o600);
}

#[test]
fn shared_records_follow_the_umask() {
    let bench = Bench::new();
    stillwell(&bench, &["run", "-r", "2", "--shared", "-o", "r.swell", "true"]).ends_with(0);
    has_mode(&bench, "r.swell", 0o644);
    bench.write("s.toml", SUITE);
    stillwell(&bench, &["bench", "s.toml", "-r", "2", "--shared", "-o", "suite"]).ends_with(0);
    has_mode(&bench, "suite", 0o755);
    has_mode(&bench, "suite/suite.json", 0o644);
    has_mode(&bench, "suite/001-one.swell", 0o644);
}

/// The default place of the history is in the state directory, so whichever verb makes that first makes it private.
#[test]
fn a_history_makes_a_private_state_directory() {
    let bench = Bench::new();
    stillwell(&bench, &["run", "-r", "2", "-o", "r.swell", "true"]).ends_with(0);
    stillwell(&bench, &["history", "add", "--revision", "a", "r.swell"]).ends_with(0);
    has_mode(&bench, "state/stillwell", 0o700);
}

#[test]
fn a_link_of_another_user_in_a_directory_like_tmp_is_not_followed() {
    if !is_root() {
        return skipped("needs root, to make a link of another user");
    }
    let bench = Bench::new();
    std::fs::create_dir(bench.path("tmp")).unwrap();
    std::fs::set_permissions(bench.path("tmp"), PermissionsExt::from_mode(0o1777)).unwrap();
    bench.write("mine", "kept");
    let run = ["run", "-r", "2", "-o", "r.swell"];
    let export = [&run[..], &["--export-csv", "tmp/x.csv", "true"]].concat();
    for (link, to) in [("x.csv", "../mine"), ("d", ".."), ("null", "/dev/null")] {
        symlink(to, bench.path("tmp").join(link)).unwrap();
        lchown(bench.path("tmp").join(link), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    }
    stillwell(&bench, &["run", "-r", "2", "-o", "in.swell", "true"]).ends_with(0);
    for words in [
        &export[..],
        &[&run[..], &["--export-csv", "tmp/null", "true"]].concat()[..],
        &[&run[..], &["--output", "./tmp/x.csv", "true"]].concat()[..],
        &["run", "-r", "2", "-o", "tmp/d/new.swell", "true"],
        &["history", "add", "--revision", "a", "--db", "tmp/x.csv", "in.swell"],
    ] {
        std::fs::remove_file(bench.path("r.swell")).ok();
        stillwell(&bench, words)
            .ends_with(2)
            .says(&["is a link of user 54321 in a directory that everybody may write to"]);
        assert_eq!(bench.read("mine"), "kept", "{words:?}");
        assert!(!bench.path("new.swell").exists());
    }
    // It may be read.
    stillwell(&bench, &["show", "tmp/d/in.swell"]).ends_with(0);
    // A link of one's own is followed, as before.
    lchown(bench.path("tmp/x.csv"), Some(0), Some(0)).unwrap();
    std::fs::remove_file(bench.path("r.swell")).ok();
    stillwell(&bench, &export).ends_with(0);
    assert!(bench.read("mine").contains("command"), "{}", bench.read("mine"));
}

#[test]
fn an_export_does_not_keep_the_mode_of_another_user() {
    if !is_root() {
        return skipped("needs root, to make a file of another user");
    }
    let bench = Bench::new();
    bench.write("x.csv", "");
    std::fs::set_permissions(bench.path("x.csv"), PermissionsExt::from_mode(0o666)).unwrap();
    lchown(bench.path("x.csv"), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    let words = ["run", "-r", "2", "-o", "r.swell", "--export-csv", "x.csv", "true"];
    stillwell(&bench, &words).ends_with(0);
    has_mode(&bench, "x.csv", 0o644);
}

/// Under sudo, the file of another user in /tmp is as safe as without: only its owner may replace it.
#[test]
fn a_file_of_another_user_is_not_replaced_under_sudo() {
    if !is_root() {
        return skipped("needs root");
    }
    let bench = Bench::new();
    std::fs::create_dir(bench.path("tmp")).unwrap();
    std::fs::set_permissions(bench.path("tmp"), PermissionsExt::from_mode(0o1777)).unwrap();
    bench.write("tmp/x.csv", "of another user");
    let other = Some(SOMEBODY + 1);
    lchown(bench.path("tmp/x.csv"), other, other).unwrap();
    let mut command = bench.command(STILLWELL);
    command.args(["run", "-r", "2", "-o", "r.swell", "--export-csv", "tmp/x.csv", "true"]);
    command.env("SUDO_UID", SOMEBODY.to_string()).env("SUDO_GID", SOMEBODY.to_string());
    Ran::from(command.output().unwrap()).ends_with(2).says(&["x.csv", "Operation not permitted"]);
    assert_eq!(bench.read("tmp/x.csv"), "of another user");
}

/// A record is never a link: it is created as a new file.
#[test]
fn a_record_is_not_written_through_a_link() {
    let bench = Bench::new();
    symlink("nowhere", bench.path("r.swell")).unwrap();
    bench
        .run(&["-r", "2", "true"])
        .ends_with(2)
        .says(&["r.swell is a link, not a new file; choose another name"]);
    assert!(!bench.path("nowhere").exists());
    bench.write("s.toml", SUITE);
    stillwell(&bench, &["bench", "s.toml", "-r", "1", "-o", "suite"]).ends_with(0);
    // An interrupted suite: its record goes on.
    let text = bench.read("suite/001-one.swell");
    let rows: String =
        text.split_inclusive('\n').filter(|line| !line.contains("\"end\"")).collect();
    bench.write("elsewhere", &rows);
    std::fs::remove_file(bench.path("suite/001-one.swell")).unwrap();
    symlink("../elsewhere", bench.path("suite/001-one.swell")).unwrap();
    let resumed = bench.stillwell(&["bench", "--resume", "suite"]).ends_with(2);
    resumed.says(&["cannot open the record"]);
    assert_eq!(bench.read("elsewhere"), rows);
}
