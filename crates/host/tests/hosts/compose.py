#!/usr/bin/env python3
"""Composes the machines in this directory whose first line says so: `./compose.py` writes them again.

The values are those that the kernel documents (Documentation/ABI, Documentation/admin-guide/pm, proc(5)) or that its
source writes. Nothing here was captured. A machine is a dictionary of path -> content; equal files of several CPUs,
policies or interrupts share a line (`cpu{0-7}`), which `src/host/fixture_text.rs` takes apart again.
"""

import re
from pathlib import Path

CPU = "sys/devices/system/cpu"
ROOM = {"cpu": re.compile(r"^(.*?/(?:cpu|policy|machinecheck|irq/|node|state))(\d+)(/.*)$")}


def cpulist(cpus):
    """A CPU list of the kernel, like 0-3,6."""
    cpus, items = sorted(set(cpus)), []
    for cpu in cpus:
        if items and items[-1][1] == cpu - 1:
            items[-1][1] = cpu
        else:
            items.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in items)


def mask(cpus, n_cpus):
    """A CPU mask with commas between groups of 32 bits, as the kernel's %*pb prints nr_cpu_ids bits."""
    value, words = sum(1 << cpu for cpu in cpus), []
    for start in range(0, n_cpus, 32):
        bits = min(32, n_cpus - start)
        words.append(f"{value >> start & (1 << bits) - 1:0{-(-bits // 4)}x}")
    return ",".join(reversed(words))


def escape(text):
    escapes = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\0": "\\0"}
    return "".join(escapes.get(char, char if ord(char) < 128 else f"\\x{ord(char):02x}") for char in text)


def write(name, comment, files):
    """The files as text. Files that differ only in one number share a line."""
    groups = {}
    for path, content in files.items():
        found = ROOM["cpu"].match(path)
        key = (found[1], found[3], content) if found else (path, None, content)
        groups.setdefault(key, []).append(int(found[2]) if found else None)
    lines = [f"# Composed from documentation by compose.py, not captured.", f"# {comment}", ""]
    for (start, end, content), numbers in groups.items():
        path = start
        if end is not None:
            path += (f"{{{cpulist(numbers)}}}" if len(numbers) > 1 else str(numbers[0])) + end
        lines.append(f"{path} !" if content is None else f"{path} = {escape(content)}".rstrip())
    Path(__file__).with_name(f"{name}.txt").write_text("\n".join(lines) + "\n")


class Machine:
    """Cores are (socket, node, CPUs of the core, further topology). Every other argument has a default."""

    def __init__(self, name, comment, cores, **options):
        self.name, self.comment, self.cores, self.options = name, comment, cores, options
        self.files = {}
        self.online = sorted(cpu for core in cores for cpu in core[2])
        self.offline = options.get("offline", [])
        self.all = sorted(self.online + self.offline)
        self.n = max(self.all) + 1
        self.host = options.get("host", "machine")
        self.base()
        self.topology()
        self.interrupts()
        self.kernel()

    def set(self, path, content):
        self.files[path] = str(content) if content is not None else None

    def cpu(self, path, content, cpus=None):
        for cpu in self.online if cpus is None else cpus:
            self.set(f"{CPU}/cpu{cpu}/{path}", content)

    def remove(self, pattern):
        self.files = {path: text for path, text in self.files.items() if not re.search(pattern, path)}

    def base(self):
        o = self.options
        release, os = o.get("kernel", "6.12.9-amd64"), o.get("os", "Debian GNU/Linux 13 (trixie)")
        self.set("proc/sys/kernel/hostname", self.host)
        self.set("proc/sys/kernel/osrelease", release)
        self.set("proc/sys/kernel/arch", o.get("arch", "x86_64"))
        self.set("proc/sys/kernel/random/boot_id", "5a1c7a0e-3c5e-4f0a-9a51-0d6f0c1b2a3d")
        self.set("proc/cmdline", o.get("cmdline", f"BOOT_IMAGE=/boot/vmlinuz-{release} root=UUID=0 ro quiet"))
        self.set("etc/os-release", f'PRETTY_NAME="{os}"\nID={o.get("os_id", "debian")}' + ('\nID_LIKE=debian' if o.get('os_id') == 'ubuntu' else ''))
        self.set("proc/loadavg", "0.08 0.03 0.01 1/412 4821")
        self.set("proc/uptime", "100000.00 390000.00")
        self.set("proc/meminfo", f"MemTotal:       {o.get('memory', 32780160)} kB\nMemFree:        16390080 kB\nMemAvailable:   24585120 kB\nDirty:               120 kB\nWriteback:             0 kB\nSwapTotal:       2097148 kB\nSwapFree:        2097148 kB")
        allowed = cpulist(o.get("allowed", self.online))
        self.set("proc/self/status", f"Name:\tstillwell\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t1000\nCapEff:\t0000000000000000\nCpus_allowed_list:\t{allowed}\nMems_allowed_list:\t0")
        self.set("proc/self/cgroup", o.get("cgroup", "0::/user.slice/user-1000.slice/session-2.scope"))
        flags = o.get("flags", "fpu msr tsc ht constant_tsc nonstop_tsc aperfmperf")
        vendor = "AuthenticAMD" if "AMD" in o["model"] else "GenuineIntel"
        blocks = "\n\n".join(f"processor\t: {cpu}\nvendor_id\t: {vendor}\nmodel name\t: {o['model']}\nflags\t\t: {flags}" for cpu in self.online)
        self.set("proc/cpuinfo", o.get("cpuinfo", blocks))
        ro = "ro" if o.get("read_only") else "rw"
        mounts = [("/proc", "proc", "rw"), ("/sys", "sysfs", ro), ("/sys/fs/cgroup", "cgroup2", ro)]
        if o.get("read_only"):
            mounts += [("/proc/sys", "proc", "ro"), ("/proc/irq", "proc", "ro")]
        lines = [f"{20 + i} 1 0:{20 + i} / {point} {mode},nosuid,nodev,noexec,relatime - {kind} {kind} {mode}" for i, (point, kind, mode) in enumerate(mounts)]
        self.set("proc/self/mountinfo", "\n".join(lines))
        self.set("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc")
        clock = o.get("clock", "tsc")
        self.set("sys/devices/system/clocksource/clocksource0/current_clocksource", clock)
        self.set("sys/devices/system/clocksource/clocksource0/available_clocksource", o.get("clocks", "tsc hpet acpi_pm"))
        if o.get("dmi"):
            self.set("sys/class/dmi/id/sys_vendor", o["dmi"][0])
            self.set("sys/class/dmi/id/product_name", o["dmi"][1])
        if o.get("grub", True):
            self.set("etc/default/grub", 'GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX=""')
            self.set("boot/grub/grub.cfg", "# generated")

    def topology(self):
        o, online = self.options, cpulist(self.online)
        self.set(f"{CPU}/online", online)
        self.set(f"{CPU}/present", cpulist(self.all))
        self.set(f"{CPU}/possible", f"0-{self.n - 1}" if self.n > 1 else "0")
        self.set(f"{CPU}/offline", cpulist(self.offline))
        self.set(f"{CPU}/isolated", cpulist(o.get("isolated", [])))
        if o.get("nohz", []) is not None:
            self.set(f"{CPU}/nohz_full", cpulist(o["nohz"]) if o.get("nohz") else "(null)")
        self.set(f"{CPU}/smt/control", o.get("smt", "on"))
        self.set(f"{CPU}/smt/active", 1 if any(len(core[2]) > 1 for core in self.cores) else 0)
        nodes = {}
        for index, (socket, node, cpus, *_) in enumerate(self.cores):
            nodes.setdefault(node, []).extend(cpus)
            for cpu in cpus:
                for file, value in [("physical_package_id", socket), ("core_id", index), ("die_id", 0), ("thread_siblings_list", cpulist(cpus)), ("core_cpus_list", cpulist(cpus))]:
                    self.set(f"{CPU}/cpu{cpu}/topology/{file}", value)
        self.cpu("online", 1, [cpu for cpu in self.online if cpu])
        self.cpu("online", 0, self.offline)
        self.set("sys/devices/system/node/online", cpulist(nodes))
        for node, cpus in nodes.items():
            self.set(f"sys/devices/system/node/node{node}/cpulist", cpulist(cpus))

    def interrupts(self):
        """Interrupts of the queues of a disk and of a network card, one for each CPU up to 16, and of the CPU itself."""
        o, cpus = self.options, self.online
        managed = o.get("managed", [f"nvme0q{i + 1}" for i in range(min(len(cpus), 16))])
        plain = o.get("plain", ["timer", "i8042", "acpi", "ahci[0000:00:17.0]"] + [f"eth0-TxRx-{i}" for i in range(min(len(cpus), 4))])
        text = "     " + "".join(f"{'CPU' + str(cpu):>10}" for cpu in cpus) + "\n"
        row = lambda name, counts, what: f"{name:>4}:" + "".join(f" {count:>9}" for count in counts) + f"  {what}\n"
        numbers = [0, 1, 9] + list(range(120, 200))
        everywhere, chip = cpulist(cpus), o.get("chip", "IR-PCI-MSI")
        for number, action in zip(numbers, plain + managed):
            is_managed = action in managed
            home = cpus[(number - 120) % len(cpus)] if number >= 120 else 0
            allowed = cpulist([cpus[managed.index(action) % len(cpus)]]) if is_managed else everywhere
            if is_managed:
                home = cpus[managed.index(action) % len(cpus)]
            text += row(number, [4000 + 10 * number if cpu == home else 0 for cpu in cpus], f"{chip} {number}-edge      {action}")
            self.set(f"proc/irq/{number}/smp_affinity_list", allowed)
            self.set(f"proc/irq/{number}/effective_affinity_list", home)
        for name, base, what in o.get("own", [("NMI", 12, "Non-maskable interrupts"), ("LOC", 5000000, "Local timer interrupts"), ("RES", 90000, "Rescheduling interrupts"), ("CAL", 70000, "Function call interrupts"), ("TLB", 30000, "TLB shootdowns"), ("TRM", 0, "Thermal event interrupts")]):
            quiet = set(o.get("nohz") or [])
            text += row(name, [base // (50 if cpu in quiet else 1) // (1 + cpu % 4) for cpu in cpus], f" {what}")
        text += " ERR:         0\n MIS:         0"
        self.set("proc/interrupts", text)
        self.set("proc/irq/default_smp_affinity", mask(self.online, self.n))

    def kernel(self):
        o, nodes = self.options, len({core[1] for core in self.cores})
        sysctl = {
            "kernel/randomize_va_space": 2, "kernel/perf_event_paranoid": 2, "kernel/perf_event_max_sample_rate": 100000,
            "kernel/perf_cpu_time_max_percent": 25, "kernel/nmi_watchdog": 1, "kernel/soft_watchdog": 1, "kernel/watchdog": 1,
            "kernel/watchdog_cpumask": cpulist(range(self.n)), "kernel/watchdog_thresh": 10, "kernel/timer_migration": 1,
            "kernel/sched_rt_runtime_us": 950000, "kernel/sched_rt_period_us": 1000000, "kernel/sched_autogroup_enabled": 1,
            "kernel/hung_task_timeout_secs": 120, "kernel/numa_balancing": 1 if nodes > 1 else 0, "vm/stat_interval": 1,
            "vm/swappiness": 60, "vm/compaction_proactiveness": 20, "vm/overcommit_memory": 0,
        }
        for name, value in {**sysctl, **o.get("sysctl", {})}.items():
            self.set(f"proc/sys/{name}", value)
        self.set("proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/nvme0n1p3                          partition\t2097148\t\t0\t\t-2")
        mm = "sys/kernel/mm"
        self.set(f"{mm}/transparent_hugepage/enabled", "always [madvise] never")
        self.set(f"{mm}/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never")
        self.set(f"{mm}/transparent_hugepage/khugepaged/defrag", 1)
        self.set(f"{mm}/ksm/run", 0)
        everywhere = mask(range(self.n), self.n)
        self.set("sys/devices/virtual/workqueue/cpumask", everywhere)
        self.set("sys/devices/virtual/workqueue/writeback/cpumask", everywhere)
        for name, text in {"spectre_v2": "Mitigation: Retpolines", "meltdown": "Not affected", **o.get("vulnerabilities", {})}.items():
            self.set(f"{CPU}/vulnerabilities/{name}", text)
        if o.get("metal", True):
            self.set("dev/cpu_dma_latency", "\0\0\0\0")
            self.cpu("power/pm_qos_resume_latency_us", 0)
            self.idle(o.get("idle", ("intel_idle", [("POLL", 0), ("C1E", 10), ("C6", 133), ("C8", 260)])))
        if o.get("metal", True) and o.get("arch", "x86_64") == "x86_64":
            for cpu in self.online:
                self.set(f"sys/devices/system/machinecheck/machinecheck{cpu}/check_interval", 300)
                self.set(f"sys/devices/system/machinecheck/machinecheck{cpu}/ignore_ce", 0)
        for pid, comm in o.get("daemons", [(1, "systemd"), (812, "irqbalance")]):
            self.set(f"proc/{pid}/comm", comm)
            if pid > 1:
                self.set(f"sys/fs/cgroup/system.slice/{comm}.service/cgroup.procs", pid)
        if o.get("systemd", True):
            self.set("run/systemd/system/.keep", "")

    def idle(self, idle):
        driver, states = idle
        self.set(f"{CPU}/cpuidle/current_driver", driver)
        self.set(f"{CPU}/cpuidle/current_governor", "menu")
        for index, (name, latency) in enumerate(states):
            for file, value in [("name", name), ("latency", latency), ("disable", 0)]:
                for cpu in self.online:
                    self.set(f"{CPU}/cpu{cpu}/cpuidle/state{index}/{file}", value)

    def cpufreq(self, driver, governor, governors, low, high, cpus=None, groups=None, **files):
        """A cpufreq policy for each CPU, or for each group of CPUs."""
        for group in groups or [[cpu] for cpu in cpus or self.online]:
            policy = f"{CPU}/cpufreq/policy{group[0]}"
            values = {
                "affected_cpus": " ".join(map(str, group)), "related_cpus": " ".join(map(str, group)), "scaling_driver": driver,
                "scaling_governor": governor, "scaling_available_governors": governors, "cpuinfo_min_freq": low,
                "cpuinfo_max_freq": high, "scaling_min_freq": low, "scaling_max_freq": high, "scaling_cur_freq": low, **files,
            }
            for file, value in values.items():
                self.set(f"{policy}/{file}", value)

    def intel_pstate(self, status, turbo=True, hwp=True):
        pstate = f"{CPU}/intel_pstate"
        for file, value in [("status", status), ("no_turbo", 0 if turbo else 1), ("min_perf_pct", 9), ("max_perf_pct", 100), ("num_pstates", 39), ("turbo_pct", 45)]:
            self.set(f"{pstate}/{file}", value)
        if hwp and status == "active":
            self.set(f"{pstate}/hwp_dynamic_boost", 0)
        self.cpu("power/energy_perf_bias", 6)
        for file in ["core_throttle_count", "package_throttle_count"]:
            self.cpu(f"thermal_throttle/{file}", 0)
        self.set("sys/devices/cpu/freeze_on_smi", 0)
        self.set("sys/devices/cpu/rdpmc", 1)

    def msr(self, value=0x850089):
        """The file of MSRs. IA32_MISC_ENABLE is at 0x1a0, its register number. A user may not read it."""
        register = "".join(chr(value >> 8 * byte & 255) for byte in range(8))
        for cpu in self.online:
            self.set(f"dev/cpu/{cpu}/msr", "\0" * 0x1A0 + register)

    def kernel_threads(self):
        """Kernel threads: some that can be moved (kswapd and kcompactd have the CPUs of their node), and one that cannot."""
        everywhere, nodes = cpulist(range(self.n)), {}
        for _, node, cpus, *_ in self.cores:
            nodes.setdefault(node, []).extend(cpus)
        movable, bound = 0x208040, 0x4208040
        threads = [("kthreadd", movable, everywhere), ("rcu_preempt", movable, everywhere), ("ksoftirqd/0", bound, "0"), ("khungtaskd", movable, everywhere)]
        for node, cpus in nodes.items():
            threads += [(f"kcompactd{node}", movable, cpulist(cpus)), (f"kswapd{node}", movable, cpulist(cpus))]
        threads.append(("irq/9-acpi", movable, "0"))
        pids = [2] + [16 + i for i in range(1, len(threads))]
        for pid, (name, flags, cpus) in zip(pids, threads):
            self.set(f"proc/{pid}/stat", f"{pid} ({name}) S {0 if pid == 2 else 2} 0 0 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 {20 + pid} 0 0")
            self.set(f"proc/{pid}/status", f"Name:\t{name}\nCpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0")
        self.set("proc/2/task/2/children", " ".join(map(str, pids[1:])) + " ")

    def power(self, online=1, battery=True, profile=None):
        self.set("sys/class/power_supply/AC/type", "Mains")
        self.set("sys/class/power_supply/AC/online", online)
        if battery:
            self.set("sys/class/power_supply/BAT0/type", "Battery")
            self.set("sys/class/power_supply/BAT0/status", "Charging" if online else "Discharging")
        if profile:
            self.set("sys/firmware/acpi/platform_profile", profile)
            self.set("sys/firmware/acpi/platform_profile_choices", "low-power balanced performance")

    def write(self):
        write(self.name, self.comment, self.files)


HWP = {"energy_performance_preference": "balance_performance", "energy_performance_available_preferences": "default performance balance_performance balance_power power"}
PSTATE = "performance powersave"
CLASSIC = "conservative ondemand userspace powersave performance schedutil"
# Cores whose threads have numbers n/2 apart, as on Intel.
apart = lambda n, socket=0, node=0, first=0, stride=None: [(socket, node, [first + i, first + i + (stride or n)]) for i in range(n)]
single = lambda cpus, socket=0, node=0: [(socket, node, [cpu]) for cpu in cpus]


def main():
    m = Machine("intel-hwp-active", "Laptop on battery: intel_pstate active with HWP, 4 cores with 2 threads, kernel 6.8.", apart(4), host="laptop", kernel="6.8.0-45-generic", os="Ubuntu 24.04.1 LTS", os_id="ubuntu", model="Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz", dmi=("LENOVO", "20L7CTO1WW"), daemons=[(1, "systemd"), (812, "irqbalance"), (901, "power-profiles-daemon")], sysctl={"kernel/perf_event_paranoid": 4}, vulnerabilities={"meltdown": "Mitigation: PTI", "l1tf": "Mitigation: PTE Inversion; VMX: conditional cache flushes, SMT vulnerable"})
    m.cpufreq("intel_pstate", "powersave", PSTATE, 400000, 4200000, base_frequency=2100000, **HWP)
    m.intel_pstate("active")
    m.power(online=0, profile="balanced")
    m.kernel_threads()
    m.write()

    m = Machine("intel-passive", "Desktop: intel_pstate passive (the driver calls itself intel_cpufreq), turbo off, 4 cores without SMT.", single(range(4)), host="desktop", kernel="6.1.0-25-amd64", os="Debian GNU/Linux 12 (bookworm)", model="Intel(R) Core(TM) i5-7500 CPU @ 3.40GHz", smt="notsupported", dmi=("Dell Inc.", "OptiPlex 7050"), daemons=[(1, "systemd")])
    m.cpufreq("intel_cpufreq", "schedutil", CLASSIC, 800000, 3800000, base_frequency=3400000, **HWP)
    m.intel_pstate("passive", turbo=False)
    m.write()

    m = Machine("intel-acpi-msr", "Server: acpi-cpufreq, so turbo is a bit of an MSR, 8 cores with 2 threads; boot parameters with flags, strides and N.", apart(8), host="server", kernel="5.14.0-503.el9.x86_64", os="Red Hat Enterprise Linux 9.5 (Plow)", os_id="rhel", model="Intel(R) Xeon(R) CPU E5-2650 v2 @ 2.60GHz", dmi=("HP", "ProLiant DL360p Gen8"), isolated=[6, 7, 14, 15], nohz=[6, 7, 14, 15], idle=("acpi_idle", [("POLL", 0), ("C1", 1), ("C2", 41)]), cmdline='BOOT_IMAGE=(hd0,gpt2)/vmlinuz-5.14.0-503.el9.x86_64 root=/dev/mapper/rhel-root ro isolcpus=managed_irq,domain,6-7,14-N nohz_full=6-7,14-15 rcu_nocbs=0-15:2/8 "dyndbg=file drivers/usb/* +p" crashkernel=1G')
    m.cpufreq("acpi-cpufreq", "ondemand", "conservative ondemand userspace powersave performance schedutil", 1200000, 2601000, bios_limit=2601000, scaling_available_frequencies="2601000 2600000 2200000 1800000 1200000")
    m.msr()
    m.set("sys/devices/cpu/rdpmc", 1)
    m.set("boot/loader/entries/rhel.conf", "title Red Hat Enterprise Linux")
    m.set("usr/sbin/grubby", "")
    m.write()

    m = Machine("amd-acpi-cpufreq", "Server: AMD with acpi-cpufreq, global boost and cpb, 8 cores with 2 threads.", apart(8), host="epyc", kernel="6.1.0-25-amd64", os="Debian GNU/Linux 12 (bookworm)", model="AMD EPYC 7262 8-Core Processor", dmi=("Supermicro", "H11SSL-i"), idle=("acpi_idle", [("POLL", 0), ("C1", 1), ("C2", 400)]))
    m.cpufreq("acpi-cpufreq", "schedutil", CLASSIC, 1500000, 3200000, cpb=1)
    m.set(f"{CPU}/cpufreq/boost", 1)
    m.write()

    for name, kernel, boost in [("amd-pstate-6.10", "6.10.6-amd64", False), ("amd-pstate-6.12", "6.12.9-amd64", True)]:
        what = "global and per-policy boost" if boost else "no boost file yet, so turbo is limited by the nominal frequency"
        m = Machine(name, f"Desktop: amd-pstate-epp of Linux {kernel[:4]}, {what}, 8 cores with 2 threads.", apart(8), host="ryzen", kernel=kernel, model="AMD Ryzen 7 7700X 8-Core Processor", dmi=("ASUS", "System Product Name"), idle=("acpi_idle", [("POLL", 0), ("C1", 1), ("C2", 18), ("C3", 350)]))
        m.cpufreq("amd-pstate-epp", "powersave", PSTATE, 400000, 5573000, energy_performance_preference="balance_performance", energy_performance_available_preferences=HWP["energy_performance_available_preferences"], amd_pstate_max_freq=5573000, amd_pstate_lowest_nonlinear_freq=3000000, **({"boost": 1} if boost else {}))
        m.set(f"{CPU}/amd_pstate/status", "active")
        m.set(f"{CPU}/amd_pstate/prefcore", "enabled")
        if boost:
            m.set(f"{CPU}/cpufreq/boost", 1)
        m.cpu("acpi_cppc/nominal_freq", 4500)
        m.cpu("acpi_cppc/lowest_freq", 400)
        for core in range(8):
            ranking = [236, 231, 226, 221, 216, 211, 206, 201][core]
            for cpu in (core, core + 8):
                m.set(f"{CPU}/cpufreq/policy{cpu}/amd_pstate_prefcore_ranking", ranking)
        m.write()

    p_cores = [(0, 0, [2 * i, 2 * i + 1]) for i in range(8)]
    m = Machine("intel-hybrid", "Desktop: 8 P-cores with 2 threads (0-15) and 8 E-cores with one (16-23), intel_pstate active.", p_cores + single(range(16, 24)), host="hybrid", model="13th Gen Intel(R) Core(TM) i7-13700K", dmi=("ASUS", "System Product Name"), daemons=[(1, "systemd")])
    m.cpufreq("intel_pstate", "powersave", PSTATE, 800000, 5300000, cpus=range(16), base_frequency=3400000, **HWP)
    m.cpufreq("intel_pstate", "powersave", PSTATE, 800000, 4200000, cpus=range(16, 24), base_frequency=2500000, **HWP)
    m.intel_pstate("active")
    m.set("sys/devices/cpu_core/cpus", "0-15")
    m.set("sys/devices/cpu_atom/cpus", "16-23")
    m.remove("^sys/devices/cpu/")
    for pmu in ("cpu_core", "cpu_atom"):
        m.set(f"sys/devices/{pmu}/rdpmc", 1)
        m.set(f"sys/devices/{pmu}/freeze_on_smi", 0)
    m.write()

    cpuinfo = "\n\n".join(f"processor\t: {cpu}\nCPU implementer\t: 0x41\nCPU part\t: {'0xd05' if cpu < 4 else '0xd0b'}" for cpu in range(8))
    m = Machine("arm-big-little", "Board: 4 Cortex-A55 (0-3) and 4 Cortex-A76 (4-7) in three frequency domains, U-Boot.", single(range(8)), host="rock", kernel="6.12.9-arm64", arch="aarch64", model="", cpuinfo=cpuinfo, smt="notimplemented", clock="arch_sys_counter", clocks="arch_sys_counter", memory=8120948, idle=("psci_idle", [("WFI", 1), ("cpu-sleep", 220)]), chip="GICv3", managed=[], plain=["arch_timer", "fe2c0000.mmc", "xhci-hcd:usb3", "eth0", "eth0", "panthor-job"], own=[("IPI0", 61000, "Rescheduling interrupts"), ("IPI1", 24000, "Function call interrupts"), ("IPI2", 0, "CPU stop interrupts")], grub=False, daemons=[(1, "systemd")], sysctl={"kernel/nmi_watchdog": 0})
    m.cpufreq("cpufreq-dt", "schedutil", CLASSIC, 408000, 1800000, groups=[[0, 1, 2, 3]])
    m.cpufreq("cpufreq-dt", "schedutil", CLASSIC, 408000, 2400000, groups=[[4, 5], [6, 7]])
    m.cpu("cpu_capacity", 414, range(4))
    m.cpu("cpu_capacity", 1024, range(4, 8))
    m.set("sys/firmware/devicetree/base/model", "Radxa ROCK 5B\0")
    m.set("sys/firmware/devicetree/base/compatible", "radxa,rock-5b\0rockchip,rk3588\0")
    m.set("sys/class/thermal/cooling_device0/type", "cpufreq-cpu0")
    m.set("sys/class/thermal/cooling_device0/cur_state", 0)
    m.set("boot/extlinux/extlinux.conf", "timeout 10")
    m.write()

    cores = apart(32, 0, 0, 0, 64) + apart(32, 1, 1, 32, 64)
    m = Machine("numa-128", "Server with two sockets, 64 cores and 128 CPUs: masks of four words, NUMA balancing, uncore limits.", cores, host="big", model="Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz", memory=528280276, idle=("intel_idle", [("POLL", 0), ("C6", 170)]), dmi=("Dell Inc.", "PowerEdge R750"))
    m.cpufreq("intel_pstate", "performance", PSTATE, 800000, 3400000, base_frequency=2600000, energy_performance_preference="performance", energy_performance_available_preferences=HWP["energy_performance_available_preferences"])
    m.intel_pstate("active")
    for package in ("package_00_die_00", "package_01_die_00"):
        for file, value in [("min_freq_khz", 800000), ("max_freq_khz", 2200000), ("initial_min_freq_khz", 800000), ("initial_max_freq_khz", 2200000)]:
            m.set(f"{CPU}/intel_uncore_frequency/{package}/{file}", value)
    m.kernel_threads()
    m.write()

    m = Machine("smt-off-sparse", "Desktop: 4 cores with 2 threads next to each other, SMT switched off, so only 0,2,4,6 are online.", single([0, 2, 4, 6]), offline=[1, 3, 5, 7], host="sparse", smt="off", model="Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz", dmi=("Dell Inc.", "OptiPlex 9020"), daemons=[(1, "systemd")])
    m.cpufreq("intel_pstate", "performance", PSTATE, 800000, 3900000)
    m.intel_pstate("active", turbo=False, hwp=False)
    m.write()

    m = Machine("container-ro", "Docker on a server: /sys and /proc/sys are read-only, the cpuset has 4 of 16 CPUs, interrupts cannot be looked at.", apart(8), allowed=[2, 3, 10, 11], read_only=True, host="7f3c2a9be1d0", kernel="6.1.0-25-amd64", os="Alpine Linux v3.20", os_id="alpine", model="Intel(R) Xeon(R) Gold 6134 CPU @ 3.20GHz", cgroup="0::/", grub=False, systemd=False, daemons=[(1, "sh")])
    m.cpufreq("intel_pstate", "powersave", PSTATE, 1200000, 3700000, base_frequency=3200000, **HWP)
    m.intel_pstate("active")
    m.remove("^(dev|proc/irq|proc/cmdline|sys/fs/cgroup|boot|proc/swaps)")
    m.set(".dockerenv", "")
    m.set("proc/interrupts", None)
    m.set("proc/irq/default_smp_affinity", None)
    m.set("proc/sys/kernel/nmi_watchdog", None)
    m.set("sys/fs/cgroup/cpuset.cpus.effective", "2-3,10-11")
    m.write()

    m = Machine("wsl2", "Windows Subsystem for Linux 2: no cpufreq, no idle states, no irqbalance.", [(0, 0, [0, 1]), (0, 0, [2, 3])], metal=False, host="pc", kernel="5.15.153.1-microsoft-standard-WSL2", os="Ubuntu 22.04.4 LTS", os_id="ubuntu", model="AMD Ryzen 5 5600X 6-Core Processor", flags="fpu tsc ht hypervisor constant_tsc", nohz=None, smt="notsupported", clock="hyperv_clocksource_tsc_page", clocks="hyperv_clocksource_tsc_page acpi_pm", chip="Hyper-V PCIe MSI", managed=[], plain=["acpi", "virtio0-config"], own=[("LOC", 5000000, "Local timer interrupts"), ("HYP", 900000, "Hypervisor callback interrupts")], cmdline="initrd=\\initrd.img panic=-1 nr_cpus=4 swiotlb=force console=hvc0 debug pty.legacy_count=0", grub=False, systemd=False, daemons=[(1, "init")], sysctl={"kernel/nmi_watchdog": 0})
    m.remove("sched_autogroup|proc/swaps|boot/")
    m.write()


main()
