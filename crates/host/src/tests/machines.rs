//! Machines on which every knob can be turned, composed from the kernel's documentation: Intel with HWP, AMD with
//! acpi-cpufreq, Intel with acpi-cpufreq and no switch for turbo, AMD without a boost switch.

use tempfile::TempDir;

use crate::Host;
use crate::fixture::expand;

pub(super) const MACHINES: &[&str] =
    &["intel-hwp", "amd-boost", "intel-register", "amd-nominal", "vm"];

/// Kernel threads: movable ones, one bound by its flags, one bound without such a flag, and one of an interrupt. The
/// last row is a user process, without the flag of kernel threads. An administrator has given kswapd a CPU mask.
const KERNEL_THREADS: &[(u32, &str, u64, &str)] = &[
    (2, "kthreadd", 0x0020_8040, "0-7"),
    (3, "rcu_preempt", 0x0020_8040, "0-7"),
    (18, "ksoftirqd/3", 0x0420_8040, "3"),
    (19, "bound", 0x0020_8040, "3,6"),
    (40, "kswapd0", 0x0022_0840, "0-3"),
    (70, "irq/25-eth0", 0x0020_8040, "2,6"),
    (4711, "bash", 0x0040_0000, "0-7"),
];

/// Formats a `/proc/PID/stat`.
pub(super) fn stat(pid: u32, name: &str, flags: u64, start_ticks: u64) -> String {
    format!("{pid} ({name}) S 2 0 0 0 -1 {flags} 0 0 0 0 0 3 0 0 20 0 1 0 {start_ticks} 0 0")
}

/// Four cores with two threads each. CPU 7 is offline from the start.
const CPUS: usize = 8;

pub(super) fn machine(name: &str) -> (TempDir, Host) {
    let text = match name {
        "intel-hwp" => common(true) + &intel_hwp(),
        "amd-boost" => common(true) + &amd_acpi_cpufreq(),
        "intel-register" => {
            let files = common(true) + &policies("acpi-cpufreq", 1_200_000, 3_001_000, "ondemand");
            files + "proc/cpuinfo = vendor_id\\t: GenuineIntel\n"
        }
        "amd-nominal" => common(true) + &amd_pstate(),
        "vm" => common(false),
        _ => panic!("there is no machine {name}"),
    };
    expand(&text)
}

fn common(is_metal: bool) -> String {
    let mut text = "proc/sys/kernel/random/boot_id = 3ad2\n\
        sys/devices/system/cpu/online = 0-6\n\
        sys/devices/system/cpu/possible = 0-7\n\
        sys/devices/system/cpu/isolated =\n\
        sys/devices/system/cpu/smt/active = 1\n\
        sys/devices/virtual/workqueue/cpumask = ff\n\
        sys/kernel/mm/ksm/run = 1\n\
        sys/kernel/mm/transparent_hugepage/khugepaged/defrag = 1\n\
        sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs = 4711\n\
        fake/systemctl/list-timers --no-pager --output:json = [{\"next\":1,\"unit\":\"apt-daily.timer\"},{\"next\":1,\"unit\":\"fstrim.timer\"}]\n\
        fake/systemctl/is-active -- apt-daily.timer = active\n\
        fake/systemctl/is-active -- fstrim.timer = active\n\
        sys/fs/cgroup/system.slice/cron.service/cgroup.procs = 815\n\
        proc/sys/kernel/nmi_watchdog = 1\n\
        proc/sys/kernel/watchdog = 1\n\
        proc/sys/kernel/watchdog_cpumask = 0-7\n\
        proc/sys/kernel/perf_event_max_sample_rate = 100000\n\
        proc/sys/kernel/perf_cpu_time_max_percent = 25\n\
        proc/sys/kernel/randomize_va_space = 2\n\
        proc/sys/vm/stat_interval = 1\n\
        proc/irq/default_smp_affinity = 000000ff\n\
        proc/irq/0/smp_affinity_list = 0-7\n\
        proc/irq/0/timer/x =\n\
        proc/irq/0/fixed =\n\
        proc/irq/24/smp_affinity_list = 6\n\
        proc/irq/24/nvme0q1/x =\n\
        proc/irq/25/smp_affinity_list = 2,6\n\
        proc/irq/25/eth0/x =\n\
        proc/irq/26/smp_affinity_list = 0-1\n"
        .to_owned();
    for (pid, name, flags, cpus) in KERNEL_THREADS {
        text += &format!("proc/{pid}/stat = {}\n", stat(*pid, name, *flags, 25));
        text +=
            &format!("proc/{pid}/status = Name:\\t{name}\\nCpus_allowed_list:\\t{cpus}\\nx:\\t0\n");
    }
    text += "proc/2/task/2/children = 3 18 19 40 70\nproc/19/fixed =\n";
    for cpu in 0..CPUS {
        let directory = format!("sys/devices/system/cpu/cpu{cpu}");
        let (first, second) = (cpu % 4, cpu % 4 + 4);
        if cpu > 0 {
            text += &format!("{directory}/online = {}\n", u8::from(cpu < 7));
        }
        if cpu < 7 {
            let siblings = if first == 3 { "3".to_owned() } else { format!("{first},{second}") };
            text += &format!("{directory}/topology/thread_siblings_list = {siblings}\n");
            text += &format!("{directory}/power/pm_qos_resume_latency_us = 0\n");
            if is_metal {
                text += &format!("{directory}/cpuidle/state1/name = C1\n");
            }
        }
    }
    text
}

fn policies(driver: &str, min: u64, max: u64, governor: &str) -> String {
    let mut text = String::new();
    for cpu in 0..CPUS - 1 {
        let policy = format!("sys/devices/system/cpu/cpufreq/policy{cpu}");
        text += &format!("{policy}/scaling_driver = {driver}\n");
        text += &format!("{policy}/scaling_available_governors = performance {governor}\n");
        // One policy is different.
        let governor = if cpu == 2 { "performance" } else { governor };
        text += &format!("{policy}/scaling_governor = {governor}\n");
        text += &format!("{policy}/cpuinfo_min_freq = {min}\n{policy}/cpuinfo_max_freq = {max}\n");
        text += &format!("{policy}/scaling_min_freq = {min}\n{policy}/scaling_max_freq = {max}\n");
    }
    text
}

fn intel_hwp() -> String {
    let mut text = policies("intel_pstate", 400_000, 4_800_000, "powersave");
    for cpu in 0..CPUS - 1 {
        let policy = format!("sys/devices/system/cpu/cpufreq/policy{cpu}");
        text += &format!("{policy}/base_frequency = 2400000\n");
        let energy = if cpu == 2 { "performance" } else { "balance_power" };
        text += &format!("{policy}/energy_performance_preference = {energy}\n");
        text += &format!("sys/devices/system/cpu/cpu{cpu}/power/energy_perf_bias = 6\n");
    }
    text + "sys/devices/system/cpu/intel_pstate/status = active\n\
        sys/devices/system/cpu/intel_pstate/no_turbo = 0\n\
        sys/devices/system/cpu/intel_pstate/min_perf_pct = 80\n\
        sys/devices/system/cpu/intel_pstate/max_perf_pct = 90\n\
        sys/devices/system/cpu/intel_pstate/hwp_dynamic_boost = 1\n\
        sys/firmware/acpi/platform_profile = balanced\n\
        sys/firmware/acpi/platform_profile_choices = low-power balanced performance\n"
}

/// Each policy has a switch too. One of them is off already.
fn amd_acpi_cpufreq() -> String {
    let mut text = policies("acpi-cpufreq", 1_400_000, 3_600_000, "schedutil");
    for cpu in 0..CPUS - 1 {
        let boost = u8::from(cpu != 1);
        text += &format!("sys/devices/system/cpu/cpufreq/policy{cpu}/boost = {boost}\n");
        // One policy has the governor `performance`, which has no settings.
        if cpu != 2 {
            let tunables = format!("sys/devices/system/cpu/cpufreq/policy{cpu}/schedutil");
            text += &format!("{tunables}/rate_limit_us = {}\n", 500 + cpu);
        }
    }
    text + "sys/devices/system/cpu/cpufreq/boost = 1\nproc/cpuinfo = vendor_id\\t: AuthenticAMD\n"
}

fn amd_pstate() -> String {
    let mut text = policies("amd-pstate-epp", 400_000, 5_000_000, "powersave");
    for cpu in 0..CPUS - 1 {
        let policy = format!("sys/devices/system/cpu/cpufreq/policy{cpu}");
        let energy = if cpu == 2 { "performance" } else { "balance_performance" };
        text += &format!("{policy}/energy_performance_preference = {energy}\n");
        let nominal = format!("sys/devices/system/cpu/cpu{cpu}/acpi_cppc/nominal_freq");
        text += &format!("{nominal} = 3800\n");
    }
    text
}
