//! Sessions on a full disk.

use crate::bench::{Bench, Ran, STILLWELL, is_root, skipped};

/// Runs a shell script with a tiny file system of its own at `disk`.
fn on_small_disk(bench: &Bench, size: &str, script: &str) -> Option<Ran> {
    let reason = "needs root to mount a small tmpfs";
    if !is_root() {
        skipped(reason);
        return None;
    }
    std::fs::create_dir(bench.path("disk")).unwrap();
    let script = format!(
        "mount -t tmpfs -o size={size} tmpfs disk || exit 99\n{script}\ncode=$?\n\
         cp disk/r.swell r.swell\ndf disk | tail -n 1 >&2\nexit $code"
    );
    let output =
        bench.command("unshare").args(["--mount", "sh", "-c", &script, STILLWELL]).output();
    let Ok(output) = output else {
        skipped("there is no unshare");
        return None;
    };
    let ran = Ran::from(output);
    if ran.code == Some(99) || ran.code == Some(1) && ran.stderr.contains("unshare") {
        skipped(reason);
        return None;
    }
    Some(ran)
}

/// The kernel's error message, or ours after a partial write.
fn is_about_space(ran: &Ran) -> bool {
    ["No space left on device", "no storage space"].iter().any(|words| ran.stderr.contains(words))
}

const FULL: &str = "the record could not be written any further";

#[test]
fn what_had_finished_is_kept_when_the_disk_is_full() {
    let bench = Bench::new();
    let script = "$0 run -N -o disk/r.swell -w 0 -r 100000 -c 'echo cleanup >> log' true /bin/true";
    let Some(ran) = on_small_disk(&bench, "64k", script) else { return };
    let ran = ran.ends_with(2).says(&["disk/r.swell"]);
    assert!(is_about_space(&ran), "{}", ran.stderr);
    assert!(ran.stdout.contains(FULL) && !ran.stdout.contains("killed"), "{ran:#?}");
    // The reader asserts that no row is torn and no step is missing.
    let record = bench.record();
    assert!(record.rows.len() > 100, "{} rows", record.rows.len());
    assert_eq!(bench.read("log"), "cleanup\n");
    bench.stillwell(&["show", "r.swell"]).ends_with(0);
}

#[test]
fn a_suite_on_a_full_disk_is_not_called_interrupted() {
    let bench = Bench::new();
    let hook = format!("echo cleanup >> {}", bench.path("log").display());
    let of = |name: &str| {
        format!("[[benchmark]]\nname = \"{name}\"\ncommand = \"true\"\ncleanup = \"{hook}\"\n")
    };
    bench.write("s.toml", &(of("a") + &of("b")));
    let script = "$0 bench s.toml -r 100000 -o disk/s; code=$?; $0 show disk/s > shown\n\
                  ls disk/s/*.swell > begun; touch disk/r.swell; (exit $code)";
    let Some(ran) = on_small_disk(&bench, "64k", script) else { return };
    let ran = ran.ends_with(2);
    assert!(is_about_space(&ran), "{}", ran.stderr);
    assert!(ran.stdout.contains(FULL) && !ran.stdout.contains("interrupted: "), "{ran:#?}");
    assert!(!bench.read("shown").contains("interrupted: "), "{}", bench.read("shown"));
    // The cleanup hook also ran for the benchmark whose row did not fit.
    assert_eq!(bench.read("log").lines().count(), bench.read("begun").lines().count(), "{ran:#?}");
}

#[test]
fn a_disk_without_room_for_the_header_is_named() {
    let bench = Bench::new();
    let script = "head -c 64k /dev/zero > disk/filler; $0 run -o disk/r.swell -r 1 true";
    let Some(ran) = on_small_disk(&bench, "64k", script) else { return };
    let ran = ran.ends_with(2).says(&["disk/r.swell"]);
    assert!(is_about_space(&ran), "{}", ran.stderr);
    assert!(!bench.path("r.swell").exists(), "a record without a header is of no use");
}

/// What cannot be begun leaves no directory that would be in the way of the next attempt.
#[test]
fn a_disk_without_room_for_a_directory_is_left_as_it_was() {
    let bench = Bench::new();
    bench.write("s.toml", "[[benchmark]]\nname = \"a\"\ncommand = \"true\"\n");
    let script = "head -c 64k /dev/zero > disk/filler\n\
                  $0 campaign new disk/c -- true; $0 race true /bin/true -o disk/r\n\
                  $0 bench s.toml -r 1 -o disk/s; $0 man --dir disk; code=$?\n\
                  ls disk > left; echo > disk/r.swell; (exit $code)";
    let Some(ran) = on_small_disk(&bench, "64k", script) else { return };
    let ran = ran.ends_with(2).says(&["disk/c/", "disk/r/", "disk/s/", "disk/stillwell.1"]);
    assert!(is_about_space(&ran), "{}", ran.stderr);
    assert_eq!(bench.read("left"), "filler\n", "{ran:#?}");
}

#[test]
fn an_export_that_does_not_fit_keeps_the_record_and_the_old_file() {
    let bench = Bench::new();
    let script = "head -c 60k /dev/zero > disk/filler; echo old > disk/out.json\n\
                  $0 run -N -o whole.swell -w 0 -r 50 --export-json disk/out.json true; code=$?\n\
                  cp disk/out.json out.json; cp whole.swell disk/r.swell; (exit $code)";
    let Some(ran) = on_small_disk(&bench, "64k", script) else { return };
    let ran = ran.ends_with(2).says(&["disk/out.json"]);
    assert!(is_about_space(&ran), "{}", ran.stderr);
    assert_eq!(bench.read("out.json"), "old\n");
    bench.stillwell(&["show", "whole.swell"]).ends_with(0);
}

#[test]
fn a_race_says_how_it_goes_on_after_a_full_disk() {
    let bench = Bench::new();
    let race = "race --budget 3s -o disk/race -L n 1,2,3 'echo {n}'";
    let script =
        format!("$0 {race}; code=$?; cp -r disk/race kept; touch disk/r.swell; (exit $code)");
    let Some(ran) = on_small_disk(&bench, "36k", &script) else { return };
    let ran = ran.ends_with(2).says(&["what had finished is kept", "race --resume "]);
    assert!(is_about_space(&ran), "{}", ran.stderr);
    bench.stillwell(&["race", "--resume", "kept", "--style", "none"]);
    assert!(bench.path("kept/ended").exists(), "{ran:#?}");
}
