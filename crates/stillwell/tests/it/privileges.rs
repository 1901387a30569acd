//! Options that need root, and the messages without it.

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::bench::{Bench, Ran, STILLWELL, is_root, skipped};

/// Runs the program without privileges. Root drops them; any other user has none.
pub fn as_nobody(bench: &Bench, arguments: &[&str]) -> Option<Ran> {
    if !is_root() {
        return Some(bench.stillwell(arguments));
    }
    // An unprivileged user may have no access to the program's directory.
    let copy = bench.path("stillwell-copy");
    if !copy.exists() {
        bench.install(Path::new(STILLWELL), "stillwell-copy");
    }
    let mut command = bench.command("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy);
    let Ok(output) = command.args(arguments).output() else {
        skipped("there is no setpriv to drop root with");
        return None;
    };
    Some(Ran::from(output))
}

/// Runs the program as a user who may make neither a thread nor a process; `None` if there is no such user.
pub fn without_threads(bench: &Bench, arguments: &[&str]) -> Option<Ran> {
    bench.install(Path::new(STILLWELL), "stillwell-copy");
    let mut command = bench.command("setpriv");
    if is_root() {
        // The limit does not bind root.
        command.args(["--reuid=65533", "--regid=65533", "--clear-groups"]);
    }
    command.args(["prlimit", "--nproc=1", "./stillwell-copy"]);
    let Ok(output) = command.args(arguments).output() else {
        skipped("there is no setpriv to limit a user with");
        return None;
    };
    Some(Ran::from(output))
}

/// Stillwell reports an unavailable option at once and in the record.
#[test]
fn who_took_the_time_is_not_for_everybody() {
    let bench = Bench::new();
    let all = ["run", "--attribute", "-o", "r.swell", "-r", "3", "-N", "true"];
    let Some(ran) = as_nobody(&bench, &all) else { return };
    let ran = ran.ends_with(0);
    if bench.record().header["gaps"].to_string().contains("who took the time") {
        assert!(ran.stderr.contains("stillwell: --attribute: "), "{ran:?}");
        let shown = bench.stillwell(&["noise", "r.swell"]).ends_with(0);
        assert!(shown.stdout.contains("gap: who took the time: "), "{shown:?}");
    } else {
        skipped("everybody may use tracepoints here");
    }
}

/// nice(1) without arguments prints its level.
#[test]
fn runs_go_before_others_where_the_rights_allow_it() {
    let bench = Bench::new();
    let levels = |options: &[&str]| {
        let measured = ["-w", "0", "-r", "3", "--prepare", "nice >>hook", "--output", "./run"];
        std::fs::remove_file(bench.path("r.swell")).ok();
        bench.run(&[&measured, options, &["-v", "nice"]].concat()).ends_with(0)
    };
    let own = Command::new("nice").output().unwrap().stdout;
    let own = String::from_utf8(own).unwrap().trim().to_owned();
    let ran = levels(&[]);
    let is_raised = bench.record().header["plan"]["process"]["is_raised"] == true;
    let raised = if is_raised { "-20" } else { &own };
    assert_eq!(
        (bench.read("run").trim(), bench.read("hook").lines().next()),
        (raised, Some(&*own))
    );
    assert_eq!(ran.stdout.contains("priority: nice -20, "), is_raised, "{}", ran.stdout);
    for (options, expected) in [(["--priority", "off"], &*own), (["--nice", "19"], "19")] {
        let ran = levels(&options);
        assert_eq!(bench.read("run").trim(), expected);
        assert!(!ran.stdout.contains("priority: "), "{}", ran.stdout);
    }
    if !is_raised {
        skipped("a nice level below 0 is not allowed here");
    }
}

#[test]
fn without_rights_the_priority_stays() {
    let bench = Bench::new();
    let all = ["run", "-o", "r.swell", "-r", "3", "-N", "nice"];
    let Some(ran) = as_nobody(&bench, &all) else { return };
    ran.ends_with(0);
    assert_eq!(bench.record().header["plan"]["process"]["nice"], serde_json::Value::Null);
}

#[test]
fn it_works_unprivileged_and_explains_what_is_missing() {
    let bench = Bench::new();
    let all = ["run", "-o", "r.swell", "-r", "5", "--metrics", "all", "true", "/bin/true"];
    let Some(ran) = as_nobody(&bench, &all) else { return };
    ran.ends_with(0);
    let record = bench.record();
    // A block that is left out as warm-up is made up for.
    assert!(matches!(record.rows.len(), 10 | 12), "{}", record.rows.len());
    if is_root() {
        assert_eq!(record.header["facts"]["user_id"], 65534);
    }
    let gaps = record.header["gaps"].as_array().unwrap();
    for gap in gaps {
        for part in ["what", "why", "fix"] {
            assert!(!gap[part].as_str().unwrap().is_empty(), "{gap}");
        }
    }
    // A gap explains every missing metric, except those of workers, of events that did not take turns, and of a quota
    // where there is none.
    const OTHERWISE: [&str; 8] = [
        "running-ppm",
        "loops",
        "cpu-clock",
        "empty-loop",
        "quota",
        "counting",
        "system-calls",
        "left-out",
    ];
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

/// Runs the program as sudo does, for a user without a name.
fn under_sudo(bench: &Bench, arguments: &[&str]) -> Ran {
    let mut command = bench.command(STILLWELL);
    command.args(arguments).env("SUDO_UID", SOMEBODY.to_string());
    command.env("SUDO_GID", SOMEBODY.to_string()).env("SUDO_USER", "somebody");
    Ran::from(command.output().unwrap())
}

const SOMEBODY: u32 = 54321;

fn owner(bench: &Bench, name: &str) -> (u32, u32) {
    use std::os::unix::fs::MetadataExt as _;
    let meta = std::fs::symlink_metadata(bench.path(name)).unwrap();
    (meta.uid(), meta.gid())
}

#[test]
fn files_that_are_made_under_sudo_belong_to_the_user() {
    if !is_root() {
        return skipped("needs root");
    }
    let bench = Bench::new();
    let run = ["run", "-r", "2", "-o", "r.swell", "--export-json", "x.json", "--output", "./out"];
    let exports = ["--export", "csv", "x.csv.gz", "true"];
    under_sudo(&bench, &[&run[..], &exports].concat()).ends_with(0);
    // The developer's own Python may be in a directory that no other user can read.
    let python = ["/usr/bin/python3", "python3"].into_iter().find(|it| Path::new(it).exists());
    let timeit = ["timeit", "--debug-single-value", "--append", "p.json", "--python"];
    under_sudo(&bench, &[&timeit[..], &[python.unwrap_or("python3"), "pass"]].concat())
        .ends_with(0);
    under_sudo(&bench, &["convert", "r.swell", "--to", "pyperf", "-o", "copy.json"]).ends_with(0);
    under_sudo(&bench, &["history", "add", "--db", "h.db", "r.swell"]).ends_with(0);
    under_sudo(&bench, &["noise", "--for", "1ms", "--raw", "w.csv"]).ends_with(0);
    for name in [
        "r.swell",
        "x.json",
        "x.csv.gz",
        "out",
        "p.json",
        "copy.json",
        "state/stillwell",
        "h.db",
        "w.csv",
    ] {
        assert_eq!(owner(&bench, name), (SOMEBODY, SOMEBODY), "{name}");
    }
}

/// git obeys the configuration of the repository, so it must never run with more rights than the user.
#[test]
fn a_history_asks_git_as_the_user() {
    if !is_root() {
        return skipped("needs root");
    }
    let bench = Bench::new();
    std::fs::create_dir(bench.path("bin")).unwrap();
    bench.script("bin/git", "#!/bin/sh\nid -u >> asked-as\nexit 1\n");
    under_sudo(&bench, &["run", "-r", "2", "-o", "r.swell", "true"]).ends_with(0);
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap());
    let mut add = bench.command(STILLWELL);
    add.args(["history", "add", "--db", "h.db", "--revision", "abc", "r.swell"]);
    add.env("PATH", path).env("SUDO_UID", SOMEBODY.to_string());
    add.env("SUDO_GID", SOMEBODY.to_string());
    Ran::from(add.output().unwrap()).ends_with(0);
    let asked = bench.read("asked-as");
    assert!(!asked.is_empty() && asked.lines().all(|id| id == SOMEBODY.to_string()), "{asked}");
}

/// Under sudo, a file is made where the user may write, and nowhere else.
#[test]
fn where_the_user_may_not_write_nothing_is_written() {
    if !is_root() {
        return skipped("needs root");
    }
    let bench = Bench::new();
    std::fs::create_dir(bench.path("roots")).unwrap();
    std::fs::set_permissions(bench.path("roots"), PermissionsExt::from_mode(0o755)).unwrap();
    for words in [["-o", "roots/r.swell"], ["--export-csv", "roots/x.csv"]] {
        let run = ["run", "-r", "2", words[0], words[1], "true"];
        let remedy = "files are opened as user 54321, who called sudo";
        under_sudo(&bench, &run).ends_with(2).says(&[words[1], "Permission denied", remedy]);
    }
    assert_eq!(std::fs::read_dir(bench.path("roots")).unwrap().count(), 0);
}

/// Runs on this machine as root, with a knob that keeps its value or that is restored at once.
#[test]
fn what_runs_on_a_tuned_machine_under_sudo_runs_as_the_user() {
    if !is_root() {
        return skipped("needs root");
    }
    let bench = Bench::new();
    let run = ["run", "-r", "2", "--tune=ksm", "--validate", "grep -q 54321"];
    let ran = under_sudo(&bench, &[&run[..], &["id -u; id -G"]].concat());
    if ran.stderr.contains("another stillwell") || ran.stderr.contains("has tuned this machine") {
        return skipped("somebody else has tuned this machine");
    }
    ran.ends_with(0);
    let output = ["run", "-r", "2", "--tune=ksm", "--output", "./out", "id -u; id -G"];
    under_sudo(&bench, &output).ends_with(0);
    assert_eq!(owner(&bench, "out"), (SOMEBODY, SOMEBODY));
    // The command has none of root's groups either.
    assert_eq!(bench.read("out"), "54321\n54321\n");
    let denied = ["run", "-r", "1", "--tune=ksm", "--output", "roots/out", "true"];
    std::fs::create_dir(bench.path("roots")).unwrap();
    under_sudo(&bench, &denied).ends_with(2).says(&["Permission denied"]);
    // The developer's own Python may be in a directory that no other user can read.
    let python = "/usr/bin/python3";
    if !Path::new(python).exists() {
        return skipped("there is no /usr/bin/python3");
    }
    let statement = "import os; print(os.getuid(), os.getgroups(), file=open('who', 'w'))";
    let timeit = ["timeit", "--debug-single-value", "-o", "r.swell", "--python", python];
    under_sudo(&bench, &[&timeit[..], &["--tune=ksm", statement]].concat()).ends_with(0);
    assert_eq!(bench.read("who"), "54321 [54321]\n");
    assert_eq!(owner(&bench, "who"), (SOMEBODY, SOMEBODY));
    assert_eq!(bench.record().header["facts"]["user_id"], SOMEBODY);
}

/// sudo's rights apply to this machine only, not to a directory that the user chose.
#[test]
fn under_sudo_no_other_root_is_tuned() {
    if !is_root() {
        return skipped("needs root");
    }
    let bench = Bench::new();
    std::fs::create_dir(bench.path("host")).unwrap();
    let run = ["run", "-r", "1", "--host-root", "host", "--tune", "true"];
    under_sudo(&bench, &run).ends_with(2).says(&["the guardian ended unexpectedly"]);
}

#[test]
fn what_needs_root_says_so() {
    let bench = Bench::new();
    for (option, value, expected) in
        [("--nice", "-5", "root or CAP_SYS_NICE"), ("--sched", "fifo", "root or CAP_SYS_NICE")]
    {
        let record = format!("{}.swell", &option[2..]);
        let arguments = ["run", "-o", &record, "-r", "1", option, value, "true"];
        let Some(ran) = as_nobody(&bench, &arguments) else { return };
        ran.ends_with(2).says(&[expected]);
    }
}

#[test]
fn tuning_needs_root_and_says_how() {
    let bench = Bench::new();
    let Some(ran) = as_nobody(&bench, &["system", "tune", "--only", "ksm"]) else { return };
    ran.ends_with(2).says(&["run as root"]);
    let tuned = ["run", "-o", "r.swell", "-r", "1", "--tune=ksm", "true"];
    let Some(ran) = as_nobody(&bench, &tuned) else { return };
    if ran.code == Some(0) {
        return skipped("sudo or doas gives this user the rights");
    }
    ran.ends_with(2).says(&["only root may tune", "run --tune"]);
    assert!(!bench.path("r.swell").exists());
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

#[test]
fn what_reading_the_evidence_costs_is_told() {
    for (options, is_read) in [(&[][..], true), (&["--metrics", "wall"], false)] {
        let bench = Bench::new();
        bench.run(&[options, &["-r", "5", "-N", "true"]].concat()).ends_with(0);
        let record = bench.record();
        let is_launcher = |event: &&serde_json::Value| event["event"] == "launcher";
        let words = record.events.iter().find(is_launcher).unwrap();
        assert_eq!(words["evidence_ns"].as_u64().is_some_and(|ns| ns > 0), is_read, "{words}");
        let shown = bench.stillwell(&["noise", "r.swell"]).ends_with(0).stdout;
        assert_eq!(shown.contains("evidence: reading it took"), is_read, "{shown}");
    }
}
