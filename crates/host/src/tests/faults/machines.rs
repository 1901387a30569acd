//! Three small machines that together have every kind of change: four CPUs in two cores, and few files, because a fault
//! is tried at every call.

pub(super) const MACHINES: [&str; 3] = ["groups v2", "systemd", "groups v1"];

pub(super) fn text(name: &str) -> String {
    match name {
        "groups v2" => COMMON.to_owned() + HWP + GROUPS_V2,
        "systemd" => COMMON.to_owned() + BOOST + SYSTEMD,
        "groups v1" => COMMON.to_owned() + THREADS + GROUPS_V1,
        _ => panic!("there is no machine {name}"),
    }
}

/// The knobs of `system tune` and `run --tune`: those that change other files, and one of each other kind.
pub(super) fn knobs(name: &str) -> &'static [&'static str] {
    match name {
        "groups v2" => &["governor", "turbo", "irqs"],
        "systemd" => &["irqbalance", "governor", "turbo"],
        _ => &["irqs", "kthreads"],
    }
}

/// Task 78 has a CPU mask that its owner gave it.
const COMMON: &str = "\
    proc/sys/kernel/random/boot_id = 5a1c\n\
    sys/devices/system/cpu/online = 0-3\n\
    sys/devices/system/cpu/isolated =\n\
    sys/devices/system/cpu/cpu{0,2}/topology/thread_siblings_list = 0,2\n\
    sys/devices/system/cpu/cpu{1,3}/topology/thread_siblings_list = 1,3\n\
    proc/irq/default_smp_affinity = f\n\
    proc/irq/24/smp_affinity_list = 3\n\
    proc/irq/24/nvme0q1/x =\n\
    proc/77/task/77/stat = 77 (a b) S 1 77 77 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n\
    proc/77/task/77/status = Cpus_allowed_list:\\t0-3\n\
    proc/78/task/78/stat = 78 (bound) S 1 78 78 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 501 0 0\n\
    proc/78/task/78/status = Cpus_allowed_list:\\t0-1\n";

/// intel_pstate with HWP: the governor changes the energy preference, turbo changes limits.
const HWP: &str = "\
    sys/devices/system/cpu/cpufreq/policy0/scaling_driver = intel_pstate\n\
    sys/devices/system/cpu/cpufreq/policy0/scaling_governor = powersave\n\
    sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq = 400000\n\
    sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq = 4800000\n\
    sys/devices/system/cpu/cpufreq/policy0/base_frequency = 2400000\n\
    sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference = balance_power\n\
    sys/devices/system/cpu/intel_pstate/no_turbo = 0\n\
    sys/devices/system/cpu/intel_pstate/min_perf_pct = 80\n";

/// acpi-cpufreq of AMD: a switch for boost in the policy, and settings of a governor.
const BOOST: &str = "\
    sys/devices/system/cpu/cpufreq/boost = 1\n\
    sys/devices/system/cpu/cpufreq/policy0/scaling_driver = acpi-cpufreq\n\
    sys/devices/system/cpu/cpufreq/policy0/scaling_governor = schedutil\n\
    sys/devices/system/cpu/cpufreq/policy0/schedutil/rate_limit_us = 500\n\
    sys/devices/system/cpu/cpufreq/policy0/boost = 1\n";

/// One kernel thread can be moved.
const THREADS: &str = "\
    proc/2/stat = 2 (kthreadd) S 0 0 0 0 -1 69238848 0 0 0 0 0 3 0 0 20 0 1 0 25 0 0\n\
    proc/2/task/2/children = 40\n\
    proc/40/stat = 40 (kswapd0) S 2 0 0 0 -1 2099264 0 0 0 0 0 3 0 0 20 0 1 0 26 0 0\n\
    proc/40/status = Cpus_allowed_list:\\t0-3\n";

/// Before Linux 6.2: the end of a partition gives each task all CPUs.
const GROUPS_V2: &str = "\
    proc/sys/kernel/osrelease = 6.1.0\n\
    forgets-masks =\n\
    proc/self/mountinfo = 1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
    sys/fs/cgroup/cgroup.controllers = cpuset cpu\n\
    sys/fs/cgroup/cgroup.subtree_control = cpu\n\
    sys/fs/cgroup/cgroup.procs = 77\n\
    sys/fs/cgroup/docker/cpuset.cpus =\n";

const SYSTEMD: &str = "\
    proc/sys/kernel/osrelease = 6.12.0\n\
    proc/self/mountinfo = 1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
    run/systemd/system/x =\n\
    sys/fs/cgroup/cgroup.controllers = cpuset cpu\n\
    sys/fs/cgroup/cgroup.subtree_control = cpu\n\
    sys/fs/cgroup/cgroup.procs = 77\n\
    sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs = 4711\n\
    sys/fs/cgroup/system.slice/cron.service/cgroup.procs = 815\n\
    fake/systemctl/list-timers --no-pager --output:json = [{\"next\":1,\"unit\":\"fstrim.timer\"}]\n\
    fake/systemctl/is-active -- fstrim.timer = active\n";

/// A set of another program has CPUs 2 and 3.
const GROUPS_V1: &str = "\
    proc/sys/kernel/osrelease = 5.10.0\n\
    proc/self/mountinfo = 1 2 0:3 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
    sys/fs/cgroup/cpuset/release_agent =\n\
    sys/fs/cgroup/cpuset/cpuset.cpus = 0-3\n\
    sys/fs/cgroup/cpuset/cpuset.mems = 0\n\
    sys/fs/cgroup/cpuset/tasks = 77\\n78\n\
    sys/fs/cgroup/cpuset/cgroup.procs =\n\
    sys/fs/cgroup/cpuset/docker/cpuset.cpus = 2-3\n\
    sys/fs/cgroup/cpuset/docker/tasks =\n";
