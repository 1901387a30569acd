//! A real shield of cgroup v1, as root if the machine has it. It takes a CPU from all other programs.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::alone;
use crate::bench::{Bench, STILLWELL, is_root, skipped, wait_until};

const SETS: &str = "/sys/fs/cgroup/cpuset";

/// Removes the shield if the test fails.
struct GivenBack;

impl Drop for GivenBack {
    fn drop(&mut self) {
        Command::new(STILLWELL).args(["shield", "off"]).output().ok();
    }
}

fn has_sets() -> bool {
    Path::new(SETS).join("stillwell-user").exists()
}

/// The CPUs of interrupts and deferred work.
fn placement() -> Vec<String> {
    let paths = ["/proc/irq/default_smp_affinity", "/sys/devices/virtual/workqueue/cpumask"];
    paths.map(|path| std::fs::read_to_string(path).unwrap_or_default()).to_vec()
}

#[test]
fn sets_of_version_1_on_this_machine() {
    let is_there = Path::new(SETS).join("release_agent").exists();
    if !is_root() || !is_there || std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return skipped("needs root, two CPUs and cgroup v1 with cpuset at /sys/fs/cgroup/cpuset");
    }
    let _alone = alone();
    let bench = Bench::new();
    let before = placement();
    let ran = bench.stillwell(&[
        "shield",
        "exec",
        "--",
        "sh",
        "-c",
        "cat /proc/self/cgroup /proc/self/status; exit 7",
    ]);
    if ran.stderr.contains("another stillwell is tuning") {
        return skipped("somebody else has a shield on this machine");
    }
    let _given_back = GivenBack;
    let ran = ran.ends_with(7);
    assert!(ran.stdout.contains("cpuset:/stillwell-user\n"), "{ran:?}");
    assert!(!has_sets());
    let ran = bench.run(&["--isolate", "-r", "2", "true"]).ends_with(0);
    ran.says(&["kept free by cgroup v1 cpusets"]);
    let isolation = bench.record().header["isolation"].clone();
    assert_eq!((&isolation["how"], &isolation["n_tasks_left"]), (&"cpusets".into(), &0.into()));
    std::fs::remove_file(bench.path("r.swell")).unwrap();
    let running = bench.start(&["--isolate", "-r", "100000", "sleep 0.01"]);
    wait_until("it runs in its set", || bench.n_rows() > 1);
    assert!(has_sets());
    running.signal(Signal::KILL);
    running.finish();
    wait_until("the guardian has given it back", || {
        !has_sets() && !Path::new("/run/stillwell/journal").exists()
    });
    // A killed `shield on` leaves its set to the next command.
    let mut on = bench.command(STILLWELL);
    on.args(["shield", "on"]);
    let running = bench.spawn(on);
    wait_until("there is a set", has_sets);
    running.signal(Signal::KILL);
    running.finish();
    bench.stillwell(&["shield", "off"]).ends_with(0);
    assert!(!has_sets());
    assert_eq!(placement(), before);
}
