//! Kills Stillwell at every point: inside, before and after each journal line, and before and after each write. After
//! restoring, the machine must be the same byte for byte.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use rayon::prelude::*;

use super::*;
use crate::fault::{self, Fault, FaultPoints};

/// Limit on the points that are tried on one machine. The variable below makes the tests try all.
const POINTS_MAX: usize = 3;
const ALL_POINTS: &str = "STILLWELL_TEST_ALL_KILL_POINTS";

/// Checks that the machine is as before and that nothing is left to restore.
#[track_caller]
pub(super) fn check_restored(
    host: &Host,
    before: &std::collections::BTreeMap<String, Vec<u8>>,
    what: &str,
) {
    let restored = reset(host);
    assert!(restored.failed.is_empty() && restored.foreign.is_empty(), "{what}: {restored:#?}");
    let after = kernel::files(&host.root);
    for (path, bytes) in before {
        let now = after.get(path);
        assert!(
            now == Some(bytes),
            "{what}: {path}: {:?}",
            now.map(|it| String::from_utf8_lossy(it))
        );
    }
    let new: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert!(new.is_empty(), "{what}: {new:?}");
    assert!(!host.exists("run/stillwell/journal"), "{what}: a journal is left");
}

/// Tunes until a kill point unwinds. No code on the way cleans up, so the files are as after a real kill.
fn tune_until(host: &Host, bench: &[usize], point: u64) -> bool {
    fault::arm(FaultPoints::Changes, point, Fault::Dies);
    let ended = catch_unwind(AssertUnwindSafe(|| tune(host, bench, &all_knobs()).unwrap()));
    fault::disarm();
    ended.is_ok()
}

/// Counts the kill points of tuning a machine, and chooses the ones to try. The machine stays tuned.
fn points(name: &str, host: &Host, bench: &[usize]) -> (u64, Vec<u64>) {
    fault::arm(FaultPoints::Changes, u64::MAX, Fault::Dies);
    tune(host, bench, &all_knobs()).unwrap();
    let n = fault::disarm().len() as u64;
    let is_own = machines::MACHINES.contains(&name) && benches(host)[0] == bench;
    let is_whole = is_own || std::env::var(ALL_POINTS).is_ok();
    let n_max = if is_whole { usize::MAX } else { POINTS_MAX };
    let stride = usize::try_from(n).unwrap() / n_max + 1;
    (n, (0..n).step_by(stride).collect())
}

#[test]
fn killed_at_any_point_every_machine_is_restored() {
    let machines = all_machines();
    let with_benches = machines.iter().flat_map(|name| {
        let benches = benches(&machine(name).1);
        benches.into_iter().map(move |bench| (name, bench))
    });
    let with_benches: Vec<_> = with_benches.collect();
    let n_cases: usize = with_benches
        .par_iter()
        .map(|(name, bench)| {
            let (_directory, host) = machine(name);
            let before = kernel::files(&host.root);
            let (n_points, tried) = points(name, &host, bench);
            check_restored(&host, &before, name);
            // One machine for all points: after each it is as before, or the test fails.
            for point in &tried {
                let ended = tune_until(&host, bench, *point);
                assert!(!ended, "{name}: there are only {point} points");
                let what = format!("{name}, CPUs {bench:?}, killed at {point}");
                check_restored(&host, &before, &what);
            }
            println!("{name}, CPUs {bench:?}: {} of {n_points} kill points", tried.len());
            tried.len()
        })
        .sum();
    println!("{n_cases} cases restored");
    assert!(n_cases > 300, "only {n_cases} cases");
}

#[test]
fn killed_while_restoring_the_next_goes_on() {
    for name in machines::MACHINES {
        let (_directory, host) = machine(name);
        let bench = benches(&host).remove(0);
        let before = kernel::files(&host.root);
        for point in 0.. {
            tune(&host, &bench, &all_knobs()).unwrap();
            fault::arm(FaultPoints::Changes, point, Fault::Dies);
            let ended = catch_unwind(AssertUnwindSafe(|| reset(&host)));
            fault::disarm();
            let is_over = ended.is_ok();
            check_restored(&host, &before, &format!("{name}, restore killed at {point}"));
            if is_over {
                break;
            }
        }
    }
}

const TREE: &str = "STILLWELL_TEST_TREE";
const POINT: &str = "STILLWELL_TEST_POINT";

/// Runs as the child of the next test. It does nothing without its environment variables.
#[test]
fn as_child() {
    let (Ok(tree), Ok(point)) = (std::env::var(TREE), std::env::var(POINT)) else { return };
    let host = kernel::with_kernel(Host::new(tree));
    let bench = benches(&host).pop().unwrap();
    fault::arm(FaultPoints::Changes, point.parse().unwrap(), Fault::Killed);
    tune(&host, &bench, &all_knobs()).unwrap();
}

/// Repeats the test with a real process and a real SIGKILL on three machines. The next command that tunes restores.
#[test]
fn killed_by_sigkill_at_any_point_the_machine_is_restored() {
    use std::os::unix::process::ExitStatusExt as _;
    for name in ["vm", "firecracker-vm", "qemu-one-cpu"] {
        let (directory, host) = machine(name);
        let before = kernel::files(&host.root);
        let (n_points, _) = points(name, &host, &benches(&host).pop().unwrap());
        check_restored(&host, &before, name);
        for point in 0..=n_points {
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "tests::kill_points::as_child"])
                .env(TREE, directory.path())
                .env(POINT, point.to_string())
                .stdout(std::process::Stdio::null())
                .status()
                .unwrap();
            let expected = (point < n_points).then_some(libc::SIGKILL);
            assert_eq!(status.signal(), expected, "{name} at {point}: {status}");
            check_restored(&host, &before, &format!("{name} killed at {point}"));
        }
        println!("{name}: {n_points} kill points restored after SIGKILL");
    }
}
