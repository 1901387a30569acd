//! Shields: the messages on machines without one. tests/alone has a real shield of cgroup v1, tests/vm has those of
//! cgroup v2.

use crate::bench::{Bench, skipped};

/// A machine in the directory `host`.
fn machine(files: &[(&str, &str)]) -> Bench {
    let bench = Bench::new();
    let usual =
        [("proc/sys/kernel/random/boot_id", "5a1c"), ("sys/devices/system/cpu/isolated", "")];
    bench.make_host(usual.iter().chain(files));
    bench
}

const TWO_CPUS: (&str, &str) = ("sys/devices/system/cpu/online", "0-1");

fn run(bench: &Bench, arguments: &[&str]) -> crate::bench::Ran {
    bench.run(&[&["--host-root", "host", "-r", "2"], arguments, &["true"]].concat())
}

fn n_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[test]
fn where_there_are_no_groups_the_commands_are_bound() {
    if n_cpus() < 2 {
        return skipped("needs two CPUs");
    }
    let bench = machine(&[TWO_CPUS]);
    run(&bench, &["--isolate"]).ends_with(0).says(&[
        "CPU 1 cannot be kept free: no cgroup v2 is mounted, no cgroup v1 with the cpuset controller is mounted",
        "commands are bound to CPU 1, and others may use that too",
    ]);
    let header = bench.record().header;
    let isolation = &header["isolation"];
    assert_eq!((&isolation["how"], &isolation["bound"]), (&"affinity".into(), &"1".into()));
    assert_eq!(header["plan"]["process"]["affinity"], serde_json::json!([1]));
    assert!(bench.record().timed().all(|row| row.get("cpu") == Some(1)));
    let on = bench.stillwell(&["shield", "on", "--host-root", "host"]).ends_with(2);
    on.says(&["CPU 1 cannot be kept free: no cgroup v2 is mounted"]);
    assert!(!bench.path("host/run/stillwell/journal").exists());
}

#[test]
fn one_cpu_is_needed_by_everything_else() {
    let bench = machine(&[("sys/devices/system/cpu/online", "0")]);
    let why = "no CPU can be kept free here: there is one CPU, and everything else needs it too";
    run(&bench, &["--isolate"]).ends_with(0).says(&[why]);
    let header = bench.record().header;
    assert_eq!(
        (&header["isolation"]["bound"], &header["plan"]["process"]["affinity"]),
        (&"".into(), &serde_json::Value::Null)
    );
    bench.stillwell(&["shield", "on", "--host-root", "host"]).ends_with(2).says(&[why]);
}

#[test]
fn cpus_that_are_not_there() {
    let bench = machine(&[TWO_CPUS, ("sys/devices/system/cpu/present", "0-3")]);
    for (cpus, why) in [
        ("3", "CPU 3 is offline; online are CPUs 0-1"),
        ("7", "CPU 7 does not exist"),
        ("0-1", "CPUs 0-1 are all there are, and everything else needs at least one"),
    ] {
        let arguments = ["shield", "on", "--cpus", cpus, "--host-root", "host"];
        bench.stillwell(&arguments).ends_with(2).says(&[why]);
    }
    let none = bench.stillwell(&["shield", "status", "--host-root", "host"]).ends_with(1);
    assert_eq!(none.stdout, "there is no shield\n");
    let none = bench.stillwell(&["shield", "off", "--host-root", "host"]).ends_with(0);
    assert_eq!(none.stdout, "there is no shield\n");
}

#[test]
fn cpus_that_were_isolated_at_boot_are_used_unless_others_are_asked_for() {
    if n_cpus() < 2 {
        return skipped("needs two CPUs");
    }
    let bench = machine(&[TWO_CPUS, ("sys/devices/system/cpu/isolated", "1")]);
    run(&bench, &[]).ends_with(0);
    let record = bench.record();
    assert_eq!(record.header["isolation"]["how"], "boot");
    assert!(record.timed().all(|row| row.get("cpu") == Some(1)));
    std::fs::remove_file(bench.path("r.swell")).unwrap();
    run(&bench, &["--affinity", "0"]).ends_with(0);
    let record = bench.record();
    assert!(record.header.get("isolation").is_none(), "{:?}", record.header["isolation"]);
    assert!(record.timed().all(|row| row.get("cpu") == Some(0)));
}
