//! CPUs and programs that come and go between tuning and restoring.

use super::*;
use crate::knobs::{Format, State, knob};

const CPU: &str = "sys/devices/system/cpu";

fn named(names: &[&str]) -> Vec<&'static Knob> {
    names.iter().map(|name| knob(name).unwrap()).collect()
}

fn plug(host: &Host, cpu: usize, value: &str) {
    kernel::answer(host, Format::Number, &format!("{CPU}/cpu{cpu}/online"), value).unwrap();
}

/// A user unplugs a CPU of a tuned machine. Its files come back with it, still tuned.
#[test]
fn files_of_a_cpu_that_is_away_wait_for_it() {
    let knobs = named(&["governor", "epp", "idle-states", "epb"]);
    let (_directory, host) = machine("intel-hwp");
    // The kernel gives kswapd all CPUs when one comes, whoever plugged it.
    plug(&host, 3, "0");
    plug(&host, 3, "1");
    let before = kernel::files(&host.root);
    tune(&host, &[3], &knobs).unwrap();
    plug(&host, 3, "0");
    for _ in 0..2 {
        let restored = reset(&host);
        assert!(restored.is_complete() && !restored.is_over(), "{restored:#?}");
        assert!(restored.gone.is_empty() && restored.foreign.is_empty(), "{restored:#?}");
        let paths: Vec<&str> = restored.waiting.iter().map(|file| file.path.as_str()).collect();
        assert!(paths.contains(&"sys/devices/system/cpu/cpufreq/policy3/scaling_governor"));
        assert_eq!(restored.waits().len(), 1, "{:?}", restored.waits());
        assert!(
            restored.waits()[0].starts_with("CPU 3 is offline: 4 files wait"),
            "{:?}",
            restored.waits()
        );
    }
    plug(&host, 3, "1");
    // The kernel may choose a value of its own when the CPU comes.
    let energy = host.root.join(format!("{CPU}/cpufreq/policy3/energy_performance_preference"));
    std::fs::write(energy, "default\n").unwrap();
    // The next session puts it back before it tunes.
    tune(&host, &[3], &named(&["ksm"])).unwrap();
    assert_eq!(host.read(format!("{CPU}/cpufreq/policy3/scaling_governor")).unwrap(), "powersave");
    kill_points::check_restored(&host, &before, "a CPU that was away");
}

/// Since Linux 6.8 the file shows the mask in force, without isolated CPUs.
#[test]
fn the_mask_of_work_queues_that_was_asked_for_is_put_back() {
    let (_directory, host) = machine("vm");
    let mask = "sys/devices/virtual/workqueue/cpumask";
    std::fs::write(host.root.join(format!("{mask}_requested")), "ff\n").unwrap();
    let turned = tune(&host, &[3], &named(&["workqueues"])).unwrap();
    assert_eq!((turned[0].n_set, host.read(format!("{mask}_requested"))), (1, Some("f7".into())));
    // Another program's partition has CPU 2 now.
    std::fs::write(host.root.join(mask), "f3\n").unwrap();
    assert!(reset(&host).is_complete());
    assert_eq!(host.read(format!("{mask}_requested")).unwrap(), "ff");
    std::fs::write(host.root.join(mask), "bf\n").unwrap();
    let turned = tune(&host, &[3], &named(&["workqueues"])).unwrap();
    assert!(matches!(&turned[0].state, State::CannotSet { why } if why.contains("partition")));
    // All of the benchmark's CPUs are isolated already.
    std::fs::write(host.root.join(mask), "f7\n").unwrap();
    assert_eq!(tune(&host, &[3], &named(&["workqueues"])).unwrap()[0].n_set, 0);
}

#[test]
fn a_change_by_hand_between_two_tunes_is_said() {
    let (_directory, host) = machine("vm");
    let interval = host.root.join("proc/sys/vm/stat_interval");
    tune(&host, &[3], &named(&["stat-interval"])).unwrap();
    std::fs::write(&interval, "7\n").unwrap();
    let turned = tune(&host, &[3], &named(&["stat-interval"])).unwrap();
    let said: Vec<String> = turned[0].foreign.iter().map(|file| file.between_two_tunes()).collect();
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("/proc/sys/vm/stat_interval was changed to \"7\""), "{said:?}");
    reset(&host);
    assert_eq!(std::fs::read_to_string(interval).unwrap().trim(), "1");
}

/// With SMT off a policy without a CPU still has its directory, and its files cannot be read.
#[test]
fn a_policy_without_a_cpu_does_not_keep_turbo_from_being_judged() {
    let (_directory, host) = machine("intel-acpi-msr");
    let reading = || knob("turbo").unwrap().read(&Machine::new(&host, vec![7])).state;
    for file in ["scaling_available_frequencies", "scaling_governor"] {
        std::fs::remove_file(host.root.join(format!("{CPU}/cpufreq/policy15/{file}"))).unwrap();
    }
    assert!(matches!(reading(), State::Reported { .. }), "{:?}", reading());
}
