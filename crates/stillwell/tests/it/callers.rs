//! Whose rights a verb has under sudo, where the environment or a file of the caller would give it others.

use crate::bench::{Bench, Ran, STILLWELL, is_root, skipped};

const ANN: &str = "54321";

fn call(bench: &Bench, variables: &[(&str, &str)], words: &[&str]) -> Ran {
    let mut command = bench.command(STILLWELL);
    command.args(words).envs(variables.iter().copied());
    bench.spawn(command).finish()
}

pub fn under_sudo(bench: &Bench, words: &[&str]) -> Ran {
    call(bench, &[("SUDO_UID", ANN), ("SUDO_GID", ANN)], words)
}

/// Root that was lent twice: the variables of the outer program are still there.
#[test]
fn callers_that_contradict_each_other_run_nothing() {
    if !is_root() {
        return skipped("needs root");
    }
    let bench = Bench::new();
    let run = ["run", "-r1", "-o", "r.swell", "id -u > ran"];
    let root = [("SUDO_UID", "0"), ("SUDO_GID", "0")];
    for variables in [
        &[root[0], root[1], ("PKEXEC_UID", ANN)][..],
        &[("PKEXEC_UID", "0"), ("SUDO_UID", ANN), ("SUDO_GID", ANN)],
        &[("SUDO_UID", "1"), ("SUDO_GID", "1"), ("PKEXEC_UID", ANN)],
        &[root[0], root[1], ("DOAS_USER", "nobody")],
        &[root[0], root[1], ("SUDO_USER", "nobody")],
    ] {
        call(&bench, variables, &run).ends_with(2).says(&["cannot find out who called sudo"]);
        assert!(!bench.path("ran").exists(), "{variables:?}");
    }
    // With --as-root, on a machine that is not this one, the guardian and the launcher go on too.
    bench.make_host(&[
        ("sys/kernel/mm/ksm/run", "1"),
        ("sys/devices/system/cpu/online", "0-1"),
        ("proc/sys/kernel/random/boot_id", "a"),
    ]);
    let tuned = ["--as-root", "--host-root", "host", "--tune=ksm"];
    let variables = [root[0], root[1], ("PKEXEC_UID", ANN)];
    call(&bench, &variables, &[&run[..4], &tuned, &run[4..]].concat()).ends_with(0);
    assert_eq!((&*bench.read("ran"), &*bench.read("host/sys/kernel/mm/ksm/run")), ("0\n", "1\n"));
}

/// What runs as the caller may have written the file of the work: it cannot ask for root there.
#[test]
fn kept_work_does_not_give_its_commands_the_rights_of_root() {
    if !is_root() {
        return skipped("needs root");
    }
    let bench = Bench::new();
    let new = ["campaign", "new", "c", "--trusted", "--budget", "1s", "--", "id -u >> ran"];
    under_sudo(&bench, &new).ends_with(0);
    bench.write("script", "1ms 2ms 3ms\n1ms 2ms 3ms\n");
    let race = ["race", "--script", "script", "--host-root", ".", "-o", "r", "true", ":"];
    let raced = under_sudo(&bench, &race);
    assert!(raced.code.is_some_and(|code| code != 2), "{raced:#?}");
    for manifest in ["c/campaign.json", "r/race.json"] {
        let forged = bench.read(manifest).replace("\"as_root\":false", "\"as_root\":true");
        assert!(forged.contains("\"as_root\":true"), "{forged}");
        bench.write(manifest, &forged);
    }
    let try_it = ["campaign", "try", "c", "a"];
    let command = ["--", "id -u >> ran; true"];
    let refused = "give --as-root again";
    under_sudo(&bench, &[&try_it[..], &command].concat()).ends_with(2).says(&[refused]);
    under_sudo(&bench, &["race", "--resume", "r"]).ends_with(2).says(&[refused]);
    assert_eq!(bench.read("ran"), "");
    let again = under_sudo(&bench, &["race", "--resume", "r", "--as-root"]);
    assert!(again.code.is_some_and(|code| code != 2), "{again:#?}");
    let tried = under_sudo(&bench, &[&try_it[..], &["--as-root"], &command].concat());
    assert!(tried.code.is_some_and(|code| code != 2), "{tried:#?}");
    assert!(bench.read("ran").lines().all(|id| id == "0") && !bench.read("ran").is_empty());
}

/// Whoever is refused is told whose rights were too few.
#[test]
fn what_the_caller_may_not_open_is_told_with_a_remedy() {
    if !is_root() {
        return skipped("needs root");
    }
    let bench = Bench::new();
    std::fs::create_dir(bench.path("roots")).unwrap();
    let mode = |name: &str, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(bench.path(name), mode).unwrap();
    };
    mode("roots", 0o755);
    bench.write("roots/secret.swell", "x");
    bench.write("roots/secret.toml", "x");
    mode("roots/secret.swell", 0o600);
    mode("roots/secret.toml", 0o600);
    bench.write("s.toml", "[[benchmark]]\nname = \"b\"\ncommand = \"true\"\n");
    under_sudo(&bench, &["run", "-r2", "-o", "r.swell", "true"]).ends_with(0);
    for words in [
        &["show", "roots/secret.swell"][..],
        &["bench", "roots/secret.toml"],
        &["bench", "s.toml", "-r", "1", "-o", "roots/suite"],
        &["report", "r.swell", "-o", "roots/x.html"],
        &["convert", "r.swell", "-o", "roots/x.json"],
        &["history", "add", "--db", "roots/h.db", "--revision", "a", "r.swell"],
    ] {
        let remedy = "files are opened as user 54321, who called sudo";
        under_sudo(&bench, words).ends_with(2).says(&["Permission denied", remedy]);
    }
    let others = bench.path("roots").read_dir().unwrap().count();
    assert_eq!(others, 2);
}

/// The caller chooses PATH, so none of its programs is root's.
#[test]
fn programs_of_the_callers_path_do_not_run_as_root() {
    if !is_root() {
        return skipped("needs root");
    }
    let bench = Bench::new();
    // A directory with this name has the shims of a version manager, which are asked for an interpreter.
    std::fs::create_dir(bench.path("shims")).unwrap();
    let asked = bench.path("asked");
    let planted =
        format!("#!/bin/sh\necho \"${{0##*/}} $(/usr/bin/id -u)\" >> {}\n", asked.display());
    let names = [
        "valgrind",
        "python3",
        "git",
        "cc",
        "cp",
        "perf",
        "systemctl",
        "systemd-run",
        "scontrol",
        "sudo",
        "doas",
        "stillwell",
    ];
    names.iter().for_each(|name| bench.script(&format!("shims/{name}"), &planted));
    let variants = "[[variant]]\nname = \"x\"\n[[variant]]\nname = \"y\"\n";
    let benchmark = "[[benchmark]]\nname = \"b\"\ncommand = \"true\"\n";
    bench.write("s.toml", &[variants, benchmark].concat());
    let path = format!("{}:{}", bench.path("shims").display(), std::env::var("PATH").unwrap());
    let variables = [("SUDO_UID", ANN), ("SUDO_GID", ANN), ("PATH", &*path)];
    let run = ["run", "-r2", "--decide-on", "instructions", "-o", "r.swell", "true"];
    call(&bench, &variables, &run);
    call(&bench, &variables, &["timeit", "--debug-single-value", "-o", "t.swell", "pass"]);
    call(&bench, &variables, &["noise", "--for", "1ms"]);
    call(&bench, &variables, &["system"]);
    let pool = ["pool", "run", "s.toml", "-o", "p", "--runs", "2", "--submit", "true {script}"];
    let program = ["--program", "shims/stillwell"];
    call(&bench, &variables, &[&pool[..], &program].concat()).ends_with(0);
    call(&bench, &variables, &["pool", "task", "p", "0"]).ends_with(0);
    let asked = bench.read("asked");
    for name in ["valgrind", "python3"] {
        assert!(asked.contains(&format!("{name} {ANN}\n")), "{asked}");
    }
    assert!(asked.lines().all(|line| line.ends_with(&format!(" {ANN}"))), "{asked}");
}
