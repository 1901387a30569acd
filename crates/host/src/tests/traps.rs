//! Surprising behaviour of the kernel; each case has a test named after it.

use super::*;
use crate::knobs::{Format, Reading, State, knob};

const CPU: &str = "sys/devices/system/cpu";

fn read(host: &Host, path: &str) -> String {
    host.read(path).unwrap_or_else(|| panic!("{path} cannot be read"))
}

fn write(host: &Host, path: &str, value: &str) {
    let path = host.root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("{value}\n")).unwrap();
}

fn named(names: &[&str]) -> Vec<&'static Knob> {
    names.iter().map(|name| knob(name).unwrap()).collect()
}

fn reading(host: &Host, name: &str, bench: &[usize]) -> Reading {
    knob(name).unwrap().read(&Machine::new(host, bench.to_vec()))
}

/// Turns these knobs, calls `look`, and restores everything.
#[track_caller]
fn tuned(name: &str, bench: &[usize], knobs: &[&str], look: impl FnOnce(&Host, &[KnobResult])) {
    let (_directory, host) = machine(name);
    let before = kernel::files(&host.root);
    let turned = tune(&host, bench, &named(knobs)).unwrap();
    look(&host, &turned);
    kill_points::check_restored(&host, &before, name);
}

#[test]
fn no_turbo_squashes_min_perf_pct_and_both_come_back() {
    tuned("intel-hwp", &[3], &["turbo"], |host, turned| {
        assert_eq!(read(host, &format!("{CPU}/intel_pstate/min_perf_pct")), "66");
        assert_eq!(turned[0].n_set, 1);
    });
}

/// The limit in force falls with turbo. Restoring must not freeze it at the base frequency.
#[test]
fn limits_are_saved_before_turbo_lowers_them() {
    tuned("intel-hwp", &[3], &["turbo", "frequency"], |host, _| {
        assert_eq!(read(host, &format!("{CPU}/cpufreq/policy0/scaling_max_freq")), "2400000");
    });
}

/// The limits of a policy come into force when a work queue of the kernel runs, after the write has returned.
#[test]
fn limits_come_into_force_a_moment_after_they_are_written() {
    let (_directory, mut host) = machine("intel-hwp");
    host.kernel = Some(kernel::answer_without_effect);
    host.moment = Some(kernel::take_effect);
    let before = kernel::files(&host.root);
    let turned = tune(&host, &[3], &named(&["frequency"])).unwrap();
    assert!(turned[0].is_good() && turned[0].n_set > 0, "{turned:#?}");
    assert!(reset(&host).is_complete());
    assert_eq!(kernel::files(&host.root), before);
}

/// After a kill, a limit that was just written still reads as the old one. It must be restored all the same.
#[test]
fn a_limit_that_is_not_in_force_yet_is_put_back() {
    let (_directory, mut host) = machine("intel-hwp");
    let path = format!("{CPU}/cpufreq/policy0/scaling_max_freq");
    let before = read(&host, &path);
    host.kernel = Some(kernel::answer_without_effect);
    tune(&host, &[3], &named(&["frequency"])).unwrap();
    assert_eq!(read(&host, &path), before);
    host.kernel = Some(kernel::answer);
    assert!(reset(&host).is_complete());
    kernel::take_effect(&host);
    assert_eq!(read(&host, &path), before);
}

/// In acpi-cpufreq's table turbo is 1 MHz above the highest frequency without it.
#[test]
fn the_frequency_of_acpi_cpufreq_is_the_one_below_turbo() {
    tuned("intel-acpi-msr", &[7], &["frequency"], |host, turned| {
        assert!(turned[0].is_good(), "{turned:#?}");
        for limit in ["min", "max"] {
            let path = format!("{CPU}/cpufreq/policy0/scaling_{limit}_freq");
            assert_eq!(read(host, &path), "2600000");
        }
    });
    let (_directory, host) = machine("intel-acpi-msr");
    for policy in 0..16 {
        let list = format!("{CPU}/cpufreq/policy{policy}/scaling_available_frequencies");
        write(&host, &list, "2601000 2400000 1200000");
    }
    assert!(matches!(reading(&host, "frequency", &[7]).state, State::Reported { .. }));
}

#[test]
fn boost_goes_back_globally_first_and_then_per_policy() {
    tuned("amd-boost", &[3], &["turbo"], |host, _| {
        assert_eq!(read(host, &format!("{CPU}/cpufreq/policy0/boost")), "0");
    });
}

#[test]
fn the_governor_goes_back_before_the_energy_preference() {
    tuned("intel-hwp", &[3], &["governor", "epp"], |host, _| {
        let energy = format!("{CPU}/cpufreq/policy0/energy_performance_preference");
        assert_eq!(read(host, &energy), "performance");
    });
}

/// The settings of a governor vanish with it, and come back with the kernel's defaults.
#[test]
fn the_settings_of_a_governor_are_put_back_after_it() {
    tuned("amd-boost", &[3], &["governor"], |host, _| {
        assert!(!host.exists(format!("{CPU}/cpufreq/policy0/schedutil/rate_limit_us")));
    });
}

#[test]
fn amd_pstate_before_6_11_has_no_boost_and_is_kept_at_its_nominal_frequency() {
    tuned("amd-nominal", &[3], &["turbo", "frequency"], |host, turned| {
        assert!(matches!(&turned[0].state, State::CannotSet { why } if why.contains("6.11")));
        for limit in ["min", "max"] {
            let path = format!("{CPU}/cpufreq/policy0/scaling_{limit}_freq");
            assert_eq!(read(host, &path), "3800000");
        }
    });
}

#[test]
fn a_limit_of_the_firmware_is_not_frozen_in() {
    let (_directory, host) = machine("intel-hwp");
    write(&host, &format!("{CPU}/cpufreq/policy0/bios_limit"), "2000000");
    assert!(matches!(reading(&host, "frequency", &[3]).state, State::CannotSet { .. }));
}

/// The kernel returns EPERM since Linux 6.12 and EIO before. The first such interrupt must not end the loop.
#[test]
fn interrupts_that_cannot_be_moved_are_skipped_and_the_rest_is_moved() {
    tuned("vm", &[6], &["irqs"], |host, turned| {
        assert_eq!((turned[0].n_unmovable, turned[0].n_set), (1, 3), "{turned:#?}");
        assert_eq!(read(host, "proc/irq/25/smp_affinity_list"), "0-1,3-5");
        // Masks that exclude the benchmark's CPUs stay as they are.
        assert_eq!(read(host, "proc/irq/26/smp_affinity_list"), "0-1");
    });
}

#[test]
fn an_interrupt_that_went_to_another_device_is_not_put_back() {
    let (_directory, host) = machine("vm");
    tune(&host, &[6], &named(&["irqs"])).unwrap();
    std::fs::rename(host.root.join("proc/irq/25/eth0"), host.root.join("proc/irq/25/usb1"))
        .unwrap();
    assert_eq!(reset(&host).gone, ["proc/irq/25/smp_affinity_list"]);
}

fn cpus_of_thread(host: &Host, pid: u32) -> String {
    host.read_knob(Format::Affinity, &format!("proc/{pid}/status")).unwrap()
}

/// The kernel refuses to move threads of single CPUs (EINVAL). Threads of interrupts follow their interrupts. Stillwell
/// leaves user processes alone.
#[test]
fn only_kernel_threads_that_may_be_moved_are_kept_off() {
    tuned("vm", &[3], &["kthreads"], |host, turned| {
        assert_eq!((turned[0].n_unmovable, turned[0].n_set), (1, 3), "{turned:#?}");
        // The rest of each mask stays as it is.
        let cpus = [2, 3, 18, 19, 40, 70, 4711].map(|pid| cpus_of_thread(host, pid));
        assert_eq!(cpus, ["0-2,4-6", "0-2,4-6", "3", "3,6", "0-2", "2,6", "0-7"]);
        assert!(matches!(reading(host, "kthreads", &[6]).state, State::NotTuned { .. }));
    });
    let (_directory, host) = machine("vm");
    write(&host, "proc/2/stat", "2 (init) S 1 0 0 0 -1 4194560 0 0 0 0 0 3 0 0 20 0 1 0 25");
    assert!(matches!(reading(&host, "kthreads", &[3]).state, State::Absent { .. }));
}

/// The thread has ended, and the kernel gave its number to another process or thread.
#[test]
fn a_thread_whose_number_is_somebody_elses_by_now_is_left_alone() {
    let (_directory, host) = machine("vm");
    tune(&host, &[3], &named(&["kthreads"])).unwrap();
    // Even if the new process has the mask that we wrote.
    write(&host, "proc/3/stat", &machines::stat(3, "bash", 0x0040_0000, 90_000));
    write(&host, "proc/40/stat", &machines::stat(40, "jbd2/sda1-8", 0x0020_8040, 90_000));
    // The second tune recognizes the new thread as another one.
    write(&host, "proc/40/status", "Cpus_allowed_list:\t0-5");
    tune(&host, &[3], &named(&["kthreads"])).unwrap();
    assert_eq!(cpus_of_thread(&host, 40), "0-2,4-5");
    let restored = reset(&host);
    assert_eq!(restored.gone, ["proc/3/status", "proc/40/status"], "{restored:#?}");
    assert_eq!(restored.restored, ["proc/2/status", "proc/40/status"], "{restored:#?}");
    assert_eq!([2, 3, 40].map(|pid| cpus_of_thread(&host, pid)), ["0-7", "0-2,4-6", "0-5"]);
    let plain = Host { kernel: None, ..host };
    let written = plain.write_knob(knob("kthreads").unwrap(), "proc/3/status", "0-7");
    assert_eq!(written.unwrap_err().raw_os_error(), Some(libc::ESRCH));
}

/// CPU 7 is offline from the start, and cannot be in a mask that is written.
#[test]
fn before_6_2_a_mask_loses_the_cpus_that_are_offline() {
    let (_directory, mut host) = machine("vm");
    host.kernel = Some(kernel::answer_as_before_6_2);
    let turned = tune(&host, &[3], &named(&["kthreads"])).unwrap();
    assert!(turned.iter().all(KnobResult::is_good), "{turned:#?}");
    assert_eq!(cpus_of_thread(&host, 3), "0-2,4-6");
    let restored = reset(&host);
    assert!(restored.is_complete() && restored.foreign.is_empty(), "{restored:#?}");
    assert_eq!([3, 40].map(|pid| cpus_of_thread(&host, pid)), ["0-6", "0-3"]);
}

#[test]
fn a_virtual_machine_has_no_cpufreq() {
    let (_directory, host) = machine("firecracker-vm");
    for name in ["governor", "turbo", "frequency"] {
        assert!(matches!(reading(&host, name, &[1]).state, State::Absent { .. }), "{name}");
    }
}

/// The threads of a core or the CPUs of a package may share the register. A write for one CPU then changes others.
#[test]
fn an_energy_bias_that_siblings_share_is_put_back() {
    tuned("intel-hwp", &[3], &["epb"], |host, turned| {
        assert!(turned[0].is_good() && turned[0].n_set == 4, "{turned:#?}");
        let biases =
            (0..7).map(|cpu| read(host, &format!("{CPU}/cpu{cpu}/power/energy_perf_bias")));
        assert!(biases.into_iter().all(|bias| bias == "0"));
    });
}

/// In that case `store_no_turbo()` refuses even root.
#[test]
fn turbo_that_is_off_in_the_bios_is_said_to_be() {
    let (_directory, mut host) = machine("intel-hwp");
    host.kernel = Some(|_, _, _, _| Err(rustix::io::Errno::PERM.into()));
    let turned = tune(&host, &[3], &named(&["turbo"])).unwrap();
    assert!(turned[0].failed[0].1.contains("turbo is off in the BIOS"), "{turned:#?}");
    // Turbo reads as off already, so Stillwell writes nothing.
    write(&host, &format!("{CPU}/intel_pstate/no_turbo"), "1");
    assert!(matches!(reading(&host, "turbo", &[3]).state, State::Fine { .. }));
}

#[test]
fn a_percentage_of_0_or_100_makes_the_kernel_refuse_a_rate() {
    let (_directory, host) = machine("vm");
    write(&host, "proc/sys/kernel/perf_cpu_time_max_percent", "100");
    assert!(matches!(reading(&host, "perf-rate", &[]).state, State::CannotSet { .. }));
}

/// An administrator has set the percentage meanwhile. The tuned rate is not the old one, although it is lower.
#[test]
fn a_rate_that_the_kernel_refuses_stays_in_the_journal() {
    let (_directory, mut host) = machine("vm");
    let rate = "proc/sys/kernel/perf_event_max_sample_rate";
    tune(&host, &[3], &named(&["perf-rate"])).unwrap();
    host.kernel = Some(|_, _, _, _| Err(rustix::io::Errno::INVAL.into()));
    let restored = reset(&host);
    assert!(restored.restored.is_empty(), "{restored:#?}");
    assert!(restored.failed[0].1.contains("perf_cpu_time_max_percent"), "{restored:#?}");
    host.kernel = Some(kernel::answer);
    assert_eq!(reset(&host).restored, [rate]);
    assert_eq!(read(&host, rate), "100000");
}

/// The administrator may have disabled irqbalance long ago.
#[test]
fn irqbalance_that_was_not_running_is_not_started() {
    let (_directory, host) = machine("vm");
    write(&host, "sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs", "");
    tune(&host, &[6], &named(&["irqbalance", "ksm"])).unwrap();
    assert_eq!(reset(&host).restored, ["sys/kernel/mm/ksm/run"]);
}

#[test]
fn ksm_that_has_unmerged_everything_is_left_so() {
    let (_directory, host) = machine("vm");
    write(&host, "sys/kernel/mm/ksm/run", "2");
    assert!(matches!(reading(&host, "ksm", &[]).state, State::Fine { .. }));
}

#[test]
fn a_read_only_sys_is_a_reason_and_no_failure() {
    let (_directory, host) = fixture("container-ro");
    let machine = Machine::new(&host, Vec::new());
    let read: Vec<_> = knobs().map(|knob| knob.read(&machine)).collect();
    assert!(read.iter().all(|reading| reading.settings.is_empty()));
    let is_sealed = |reading: &Reading| matches!(&reading.state, State::CannotSet { why } if why.contains("read-only"));
    assert!(read.iter().any(is_sealed));
}

#[test]
fn tuned_twice_the_first_originals_are_put_back() {
    let (_directory, host) = machine("vm");
    let before = kernel::files(&host.root);
    tune(&host, &[6], &named(&["irqs", "ksm"])).unwrap();
    tune(&host, &[3], &all_knobs()).unwrap();
    kill_points::check_restored(&host, &before, "tuned twice");
}

#[test]
fn what_somebody_else_has_changed_is_left_and_reported() {
    let (_directory, host) = machine("intel-hwp");
    tune(&host, &[3], &all_knobs()).unwrap();
    write(&host, "proc/sys/vm/stat_interval", "7");
    // A second tune does not make the value ours either.
    tune(&host, &[3], &named(&["ksm"])).unwrap();
    let restored = reset(&host);
    assert!(restored.is_complete());
    let foreign: Vec<_> =
        restored.foreign.iter().map(|f| (f.path.as_str(), f.now.as_str())).collect();
    assert_eq!(foreign, [("proc/sys/vm/stat_interval", "7")]);
    assert_eq!(read(&host, "proc/sys/vm/stat_interval"), "7");
    assert_eq!(read(&host, "sys/kernel/mm/ksm/run"), "1");
}

/// One file fails, so the journal stays with all files. What the others hold then is known.
#[test]
fn what_somebody_else_changes_after_a_failed_reset_is_left_and_reported() {
    fn refuse_ksm(host: &Host, format: Format, path: &str, value: &str) -> std::io::Result<()> {
        match path {
            "sys/kernel/mm/ksm/run" => Err(rustix::io::Errno::IO.into()),
            _ => kernel::answer(host, format, path, value),
        }
    }
    let (_directory, mut host) = machine("intel-hwp");
    let governor = format!("{CPU}/cpufreq/policy0/scaling_governor");
    tune(&host, &[3], &named(&["governor", "ksm"])).unwrap();
    host.kernel = Some(refuse_ksm);
    let restored = reset(&host);
    assert_eq!(restored.failed.len(), 1, "{restored:#?}");
    host.kernel = Some(kernel::answer);
    write(&host, &governor, "ondemand");
    let restored = reset(&host);
    let foreign: Vec<&str> = restored.foreign.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(foreign, [governor.as_str()], "{restored:#?}");
    assert_eq!(restored.restored, ["sys/kernel/mm/ksm/run"]);
    assert_eq!(read(&host, &governor), "ondemand");
}

#[test]
fn a_value_that_the_kernel_writes_differently_is_not_somebody_elses() {
    let (_directory, host) = machine("vm");
    tune(&host, &[3], &named(&["workqueues"])).unwrap();
    write(&host, "sys/devices/virtual/workqueue/cpumask", "00000000,000000f7");
    assert_eq!(reset(&host).restored, ["sys/devices/virtual/workqueue/cpumask"]);
}

#[test]
fn a_link_out_of_the_root_is_not_followed() {
    let (directory, host) = machine("vm");
    std::fs::write(directory.path().join("victim"), "1").unwrap();
    let path = host.root.join("proc/sys/vm/stat_interval");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(directory.path().join("victim"), path).unwrap();
    let plain = Host::new(directory.path());
    let written =
        plain.write_knob(knob("stat-interval").unwrap(), "proc/sys/vm/stat_interval", "9");
    assert_eq!(written.unwrap_err().raw_os_error(), Some(libc::ELOOP));
    let written = plain.write_knob(knob("ksm").unwrap(), "proc/sys/vm/stat_interval", "9");
    assert!(written.unwrap_err().to_string().contains("no file of the knob"));
    assert_eq!(read(&host, "victim"), "1");
}

#[test]
fn only_one_tunes_at_a_time() {
    let (_directory, host) = machine("vm");
    let _first = Store::open(&host).unwrap();
    let second = Store::open(&host).unwrap_err();
    assert!(second.to_string().contains("another stillwell"), "{second:#}");
}
