//! Builds of a suite that are interrupted or killed, or that another session waits for.

use rustix::process::Signal;

use crate::bench::{Bench, Running, STILLWELL, wait_until};
use crate::processes::Process;

/// A suite with an endless build that writes its pid.
fn endless(bench: &Bench, before: &str) -> (Running, Process) {
    endless_in(bench, bench, before, "")
}

/// [`endless`] with its builds in another directory and with more keys of the build.
fn endless_in(bench: &Bench, cache: &Bench, before: &str, keys: &str) -> (Running, Process) {
    let at = bench.path("").display().to_string();
    let build =
        format!("{before} echo $$ > {at}new; mv {at}new {at}pid; while :; do sleep 0.01; done");
    let text = format!(
        "[[variant]]\nname = \"a\"\nbuild = {{ command = \"{build}\"{keys} }}\n\
         [[benchmark]]\nname = \"n\"\ncommand = \"true\"\n"
    );
    bench.write("suite.toml", &text);
    let mut command = bench.command(STILLWELL);
    std::fs::create_dir_all(bench.path("tmp")).unwrap();
    command.env("TMPDIR", bench.path("tmp")).env("XDG_CACHE_HOME", cache.path("cache"));
    command.args(["bench", "suite.toml", "-o", "out"]);
    let running = bench.spawn(command);
    wait_until("the build", || bench.path("pid").exists());
    (running, Process::of(bench.read("pid").trim().parse().unwrap()).unwrap())
}

#[test]
fn a_build_ends_with_the_program_that_wanted_it() {
    let bench = Bench::new();
    let (running, build) = endless(&bench, "");
    running.signal(Signal::KILL);
    wait_until("the end of the build", || !build.is_alive());
    assert_eq!(std::fs::read_dir(bench.path("tmp")).unwrap().count(), 0);
}

/// A build with a random link order has wrappers of the compilers in a temporary directory.
#[test]
fn the_next_session_removes_the_temporary_directory_of_a_killed_one() {
    let [bench, cache] = [Bench::new(), Bench::new()];
    let temporary = || {
        let entries = std::fs::read_dir(bench.path("tmp")).unwrap().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let start = || endless_in(&bench, &cache, "", ", link_order = \"random\", builds = 2").0;
    let killed = start();
    let left = temporary();
    assert_eq!(left.len(), 1);
    killed.signal(Signal::KILL);
    assert_eq!(killed.finish().code, None);
    assert_eq!(temporary(), left);
    std::fs::remove_file(bench.path("pid")).unwrap();
    let next = start();
    let own = temporary();
    assert!(own.len() == 1 && own != left, "{own:?} {left:?}");
    next.signal(Signal::INT);
    next.finish().ends_with(130);
    assert!(temporary().is_empty());
}

#[test]
fn a_build_that_does_not_heed_sigterm_is_ended_by_an_interrupt() {
    let bench = Bench::new();
    let (running, build) = endless(&bench, "trap '' TERM;");
    running.signal(Signal::INT);
    running.finish().ends_with(130).says(&["interrupted while it was built"]);
    assert!(!build.is_alive());
}

#[test]
fn who_waits_for_another_session_can_be_interrupted() {
    let bench = Bench::new();
    let (first, build) = endless(&bench, "");
    let elsewhere = Bench::new();
    let mut command = elsewhere.command(STILLWELL);
    command.env("XDG_CACHE_HOME", bench.path("cache")).arg("bench");
    command.arg(bench.path("suite.toml")).args(["-o", "out"]);
    let second = elsewhere.spawn(command);
    wait_until("the second waits", || elsewhere.read("stderr").contains("waiting for another"));
    second.signal(Signal::INT);
    second.finish().ends_with(130).says(&["interrupted while another session built it"]);
    assert!(build.is_alive() && !elsewhere.path("out").exists());
    first.signal(Signal::INT);
    first.finish().ends_with(130);
}
