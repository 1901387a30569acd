//! `system advise` on a machine in a directory: what a step changes is changed for its runs only.

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, Ran, Running, STILLWELL, wait_until};

const GOVERNOR: &str = "host/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";

/// A machine with a governor that can be turned.
fn machine() -> Bench {
    let bench = Bench::new();
    bench.make_host(&[
        ("sys/devices/system/cpu/online", "0-3"),
        ("sys/devices/system/cpu/isolated", ""),
        ("proc/sys/kernel/random/boot_id", "5a1c"),
        ("proc/sys/kernel/randomize_va_space", "0"),
        ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave"),
        (
            "sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors",
            "performance powersave",
        ),
        ("sys/devices/system/cpu/cpufreq/policy0/scaling_driver", "acpi-cpufreq"),
    ]);
    bench
}

/// The command notes the governor that it runs with.
fn arguments(n_blocks: &str) -> [String; 10] {
    let command = format!("echo $(cat {GOVERNOR}) >> seen");
    ["system", "advise", "--host-root", "host", "--only", "governor", "--runs", n_blocks, "--json"]
        .map(String::from)
        .into_iter()
        .chain([command])
        .collect::<Vec<_>>()
        .try_into()
        .unwrap()
}

/// The program while the governor is turned.
fn visiting(bench: &Bench) -> Running {
    std::fs::create_dir(bench.path("tmp")).unwrap();
    let mut command = bench.command(STILLWELL);
    command.args(arguments("1000")).env("TMPDIR", bench.path("tmp"));
    let running = bench.spawn(command);
    wait_until("the step is visited", || bench.read(GOVERNOR) == "performance");
    running
}

fn check_put_back(bench: &Bench) {
    assert_eq!(bench.read(GOVERNOR), "powersave\n");
    assert!(!bench.path("host/run/stillwell/journal").exists());
}

#[test]
fn a_step_is_taken_for_its_own_runs_and_put_back() {
    let bench = machine();
    let arguments = arguments("6");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = bench.stillwell(&arguments).ends_with(0);
    let told = "stillwell: the machine is changed while a step is visited, and put back after each \
                visit: governor\n";
    assert!(ran.stderr.starts_with(told), "{}", ran.stderr);
    check_put_back(&bench);
    let advice: Value = serde_json::from_str(&ran.stdout).unwrap();
    let steps = advice["steps"].as_array().unwrap();
    let names: Vec<_> = steps.iter().map(|step| step["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["as it is", "governor"]);
    assert_eq!(steps[1]["options"], serde_json::json!(["--tune=governor"]));
    assert_eq!(advice["n_blocks"].as_u64(), Some(6), "{advice}");
    assert!(steps[1]["time"]["ratio"].as_f64().unwrap() > 0.0, "{advice}");
    let missing = advice["missing"].as_array().unwrap();
    let fixed = missing.iter().find(|step| step["name"] == "fixed layout").unwrap();
    assert!(fixed["why"].as_str().unwrap().contains("randomize_va_space"), "{fixed}");
    // Every visit has a warm-up beside its runs. The runs of both steps take turns in random order.
    let seen = bench.read("seen");
    let n = |governor| seen.lines().filter(|line| *line == governor).count();
    assert!(n("performance") > 30 && n("powersave") > 30, "{seen}");
    let n_changes = seen.lines().zip(seen.lines().skip(1)).filter(|(a, b)| a != b).count();
    assert!(n_changes > 2, "{seen}");
}

#[test]
fn an_interrupt_puts_it_back() {
    let bench = machine();
    let running = visiting(&bench);
    running.signal(Signal::INT);
    assert_eq!(running.finish().code, Some(130));
    check_put_back(&bench);
}

#[test]
fn kill_9_puts_it_back() {
    let bench = machine();
    let running = visiting(&bench);
    running.signal(Signal::KILL);
    running.finish();
    wait_until("it is put back", || bench.read(GOVERNOR) == "powersave\n");
    wait_until("the journal is gone", || !bench.path("host/run/stillwell/journal").exists());
    let n_left = || std::fs::read_dir(bench.path("tmp")).unwrap().count();
    assert!(n_left() > 0, "it had a directory for its records");
    wait_until("the next command removes it", || {
        let mut next = bench.command(STILLWELL);
        next.args(["system", "advise", "--host-root", "host", "--only", "governor", "no-such"]);
        let ran = Ran::from(next.env("TMPDIR", bench.path("tmp")).output().unwrap());
        ran.ends_with(2).says(&["no-such"]);
        n_left() == 0
    });
}

#[test]
fn mistakes_are_explained() {
    let bench = machine();
    let advise = |arguments: &[&str]| {
        let fixed = ["system", "advise", "--host-root", "host"];
        bench.stillwell(&[&fixed[..], arguments].concat()).ends_with(2)
    };
    advise(&["--only", "governer", "true"]).says(&["there is no step \"governer\"", "governor"]);
    advise(&["--only", "affinity", "true"])
        .says(&["the step \"affinity\" cannot be taken: the commands may use one CPU only"]);
    advise(&["--cpu", "9", "true"]).says(&["--cpu 9: it is not online"]);
    advise(&["--only", "governor", "--", "no-such-command", "x"]).says(&["no-such-command"]);
    check_put_back(&bench);
}
