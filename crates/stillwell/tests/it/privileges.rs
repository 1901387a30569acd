//! What needs root, and what is said without it.

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;

use crate::bench::{Bench, Ran, STILLWELL, is_root, skipped};

/// Runs the program as nobody. As root that is done by dropping privileges; otherwise we are nobody already.
fn as_nobody(bench: &Bench, arguments: &[&str]) -> Option<Ran> {
    if !is_root() {
        return Some(bench.stillwell(arguments));
    }
    // The program may be where nobody can reach it.
    let copy = bench.path("stillwell-copy");
    if !copy.exists() {
        std::fs::copy(STILLWELL, &copy).unwrap();
        std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut command = bench.command("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy);
    let Ok(output) = command.args(arguments).output() else {
        skipped("there is no setpriv to drop root with");
        return None;
    };
    Some(Ran::from(output))
}

#[test]
fn it_works_unprivileged_and_explains_what_is_missing() {
    let bench = Bench::new();
    let all = ["run", "-o", "r.swell", "-r", "5", "--metrics", "all", "true", "/bin/true"];
    let Some(ran) = as_nobody(&bench, &all) else { return };
    ran.ends_with(0);
    let record = bench.record();
    assert_eq!(record.rows.len(), 12);
    if is_root() {
        assert_eq!(record.header["facts"]["user_id"], 65534);
    }
    let gaps = record.header["gaps"].as_array().unwrap();
    for gap in gaps {
        for part in ["what", "why", "fix"] {
            assert!(!gap[part].as_str().unwrap().is_empty(), "{gap}");
        }
    }
    // Whatever is not in the rows is explained; but for what only workers have, or events that did not take turns.
    const OTHERWISE: [&str; 4] = ["running-ppm", "loops", "cpu-clock", "empty-loop"];
    let columns: HashSet<&str> =
        record.header["columns"].as_array().unwrap().iter().filter_map(|c| c.as_str()).collect();
    let missing: Vec<_> = crate::tidy::metrics()
        .into_iter()
        .filter(|m| !columns.contains(m.column.as_str()))
        .collect();
    let explained = gaps.iter().map(|gap| gap["what"].as_str().unwrap()).collect::<Vec<_>>();
    for metric in missing.iter().filter(|metric| !OTHERWISE.contains(&&*metric.name)) {
        let is_named = explained.iter().any(|what| what.contains(&metric.name));
        let is_hardware =
            metric.is_hardware && explained.iter().any(|what| what.contains("hardware"));
        assert!(is_named || is_hardware, "{} is missing without a gap: {explained:?}", metric.name);
    }
}

#[test]
fn what_needs_root_says_so() {
    let bench = Bench::new();
    for (option, value, expected) in [
        ("--nice", "-5", "root or CAP_SYS_NICE"),
        ("--sched", "fifo", "root or CAP_SYS_NICE"),
        ("--rlimit", "nofile=unlimited", "--rlimit"),
    ] {
        let record = format!("{}.swell", &option[2..]);
        let arguments = ["run", "-o", &record, "-r", "1", option, value, "true"];
        let Some(ran) = as_nobody(&bench, &arguments) else { return };
        ran.ends_with(2).says(&[expected]);
    }
}

#[test]
fn a_cold_cache_needs_root() {
    let bench = Bench::new();
    let hooks = ["-c", "echo cleanup >> log", "--cold-cache"];
    let arguments = [["run", "-o", "r.swell", "-r", "1"].as_slice(), &hooks, &["true"]].concat();
    let Some(ran) = as_nobody(&bench, &arguments) else { return };
    ran.ends_with(2).says(&["root"]);
    assert_eq!(bench.read("log"), "cleanup\n");
}

#[test]
fn a_cold_cache_has_to_be_read_from_the_disk() {
    if !is_root() {
        return skipped("needs root to drop the page cache");
    }
    let bench = Bench::new();
    let ran = bench.run(&[
        "-N",
        "-w",
        "0",
        "-r",
        "1",
        "-p",
        "echo prepare >> log",
        "--cold-cache",
        "true",
    ]);
    if ran.code == Some(2) && ran.stderr.contains("drop_caches") {
        return skipped("/proc/sys/vm/drop_caches cannot be written here");
    }
    ran.ends_with(0);
    assert_eq!(bench.record().rows.len(), 1);
    assert_eq!(bench.read("log"), "prepare\n");
}

#[test]
fn a_record_that_may_not_be_read() {
    let bench = Bench::new();
    bench.write("secret.swell", "");
    std::fs::set_permissions(bench.path("secret.swell"), PermissionsExt::from_mode(0o000)).unwrap();
    let Some(ran) = as_nobody(&bench, &["show", "secret.swell"]) else { return };
    ran.ends_with(2).says(&["secret.swell", "Permission denied"]);
}
