//! Surveys a machine: reads its files and returns [`Facts`] and [`Gap`]s.

use std::path::Path;

use crate::{
    Facts, Gap, Host, cgroup, cpu, gaps, git, mounts, read_uptime_seconds, topology, virtualisation,
};
use model::values::format_cpu_list;

#[derive(Clone, Debug)]
pub struct Survey {
    pub facts: Facts,
    pub gaps: Vec<Gap>,
}

/// Surveys the machine. It never fails: a file that cannot be read becomes `None` or a gap.
pub fn look(host: &Host) -> Survey {
    #[expect(clippy::disallowed_methods, reason = "the facts say where the commands ran")]
    let directory = std::env::current_dir().ok();
    let mut survey = look_from(host, directory.as_deref());
    // Slurm may use another host name for a machine, and several nodes may share one machine.
    #[expect(
        clippy::disallowed_methods,
        reason = "Slurm says the name of a node in the environment"
    )]
    let node = std::env::var("SLURMD_NODENAME").ok().filter(|node| !node.is_empty());
    survey.facts.host = node.or(survey.facts.host);
    survey
}

/// Like [`look`], for commands that run in `directory`.
fn look_from(host: &Host, directory: Option<&Path>) -> Survey {
    let mounts = mounts::read(host);
    let status = host.read("proc/self/status").unwrap_or_default();
    let facts = Facts {
        host: host.read("proc/sys/kernel/hostname"),
        kernel: host.read("proc/sys/kernel/osrelease"),
        architecture: architecture(host),
        os: os(host),
        cpu_model: cpu::model(host),
        cpus_online: cpu_list(host, "sys/devices/system/cpu/online"),
        cpus_allowed: gaps::status_value(&status, "Cpus_allowed_list").map(str::to_owned),
        topology: topology::read(host),
        scaling_driver: cpu::scaling_driver(host),
        governors: cpu::governors(host),
        turbo: cpu::turbo(host),
        smt: host.read_value::<u8>("sys/devices/system/cpu/smt/active").map(|active| active == 1),
        aslr: host.read_value("proc/sys/kernel/randomize_va_space"),
        isolated_cpus: cpu_list(host, "sys/devices/system/cpu/isolated"),
        nohz_full_cpus: cpu_list(host, "sys/devices/system/cpu/nohz_full"),
        load_average: load_average(host),
        runnable_threads: runnable_threads(host),
        uptime_s: read_uptime_seconds(host),
        cpu_mhz: cpu::frequencies_mhz(host),
        clock_source: host.read("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        cgroup: cgroup::read(host, &mounts),
        virtualisation: virtualisation::machine(host),
        container: virtualisation::container(host),
        memory_kib: memory_kib(host),
        transparent_hugepages: transparent_hugepages(host),
        perf_event_paranoid: host.read_value("proc/sys/kernel/perf_event_paranoid"),
        user_id: Some(rustix::process::getuid().as_raw()),
        directory: directory.map(|directory| directory.to_string_lossy().into_owned()),
        git: directory.and_then(git::find),
    };
    let gaps = gaps::find(host, &mounts, &facts);
    Survey { facts, gaps }
}

/// `kernel.arch`, the output of `uname -m`. Kernels have it since 6.1.
fn architecture(host: &Host) -> String {
    host.read("proc/sys/kernel/arch")
        .unwrap_or_else(|| rustix::system::uname().machine().to_string_lossy().into_owned())
}

/// os-release(5). The second file is for systems with an empty `/etc`. Values may be quoted as in a shell.
fn os(host: &Host) -> Option<String> {
    let text = host.read("etc/os-release").or_else(|| host.read("usr/lib/os-release"))?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let quoted = |quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    match (quoted('"'), quoted('\'')) {
        (Some(inside), _) => {
            Some(inside.replace(r#"\""#, "\"").replace(r"\$", "$").replace(r"\\", r"\"))
        }
        (None, Some(inside)) => Some(inside.to_owned()),
        (None, None) => Some(value.to_owned()),
    }
}

/// A list of CPUs in its shortest form.
fn cpu_list(host: &Host, path: &str) -> Option<String> {
    Some(format_cpu_list(&host.read_cpus(path)?))
}

fn load_average(host: &Host) -> Option<[f64; 3]> {
    let text = host.read("proc/loadavg")?;
    let mut averages = text.split(' ').map(|number| number.parse().ok());
    Some([averages.next()??, averages.next()??, averages.next()??])
}

/// The fourth field of proc_loadavg(5), `runnable/all`.
fn runnable_threads(host: &Host) -> Option<u32> {
    let text = host.read("proc/loadavg")?;
    text.split(' ').nth(3)?.split_once('/')?.0.parse().ok()
}

fn memory_kib(host: &Host) -> Option<u64> {
    let text = host.read("proc/meminfo")?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim_end().parse().ok()
}

/// Parses `always [madvise] never`: brackets mark the mode in use.
pub(super) fn transparent_hugepages(host: &Host) -> Option<String> {
    let text = host.read("sys/kernel/mm/transparent_hugepage/enabled")?;
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{expand, fixture};
    use crate::{Cgroup, Topology};

    /// `expect` leaves facts that are the same on all these machines at their default.
    #[track_caller]
    fn check(name: &str, expect: Facts, gaps: &[&str]) {
        let (_directory, host) = fixture(name);
        let Survey { mut facts, gaps: found } = look_from(&host, None);
        // The user runs the test, so the id differs.
        facts.user_id = None;
        (facts.runnable_threads, facts.uptime_s, facts.cpu_mhz) = (None, None, Vec::new());
        assert_eq!(
            (facts.aslr.take(), facts.directory.take(), facts.git.take()),
            (Some(2), None, None),
            "{name}"
        );
        assert_eq!(facts, expect, "{name}");
        let found: Vec<_> = found.into_iter().map(|gap| gap.what).collect();
        assert_eq!(found, gaps, "{name}");
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn topology([n_sockets, n_cores, n_cpus, n_nodes]: [u32; 4]) -> Option<Topology> {
        Some(Topology { n_sockets, n_cores, n_cpus, n_nodes })
    }

    fn group(
        version: u8,
        path: &str,
        cpu_max: Option<&str>,
        memory_max_bytes: Option<u64>,
    ) -> Option<Cgroup> {
        Some(Cgroup {
            version,
            path: path.to_owned(),
            cpu_max: cpu_max.map(str::to_owned),
            memory_max_bytes,
        })
    }

    #[test]
    fn intel_pstate_laptop() {
        let path = "/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1f0e.scope";
        let expect = Facts {
            host: some("bench-laptop"),
            kernel: some("6.8.0-45-generic"),
            architecture: "x86_64".to_owned(),
            os: some("Ubuntu 24.04.1 LTS"),
            cpu_model: some("Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz"),
            cpus_online: some("0-7"),
            cpus_allowed: some("0-7"),
            topology: topology([1, 4, 8, 1]),
            scaling_driver: some("intel_pstate"),
            governors: vec!["powersave".to_owned()],
            turbo: Some(true),
            smt: Some(true),
            isolated_cpus: some(""),
            nohz_full_cpus: some(""),
            load_average: Some([0.52, 0.58, 0.59]),
            clock_source: some("tsc"),
            cgroup: group(2, path, None, None),
            memory_kib: Some(16_241_912),
            transparent_hugepages: some("madvise"),
            perf_event_paranoid: Some(4),
            ..Facts::default()
        };
        check("intel-pstate-laptop", expect, &[]);
    }

    #[test]
    fn amd_pstate_desktop() {
        let expect = Facts {
            host: some("ryzen"),
            kernel: some("6.12.7-200.fc41.x86_64"),
            architecture: "x86_64".to_owned(),
            os: some("Fedora Linux 41 (Workstation Edition)"),
            cpu_model: some("AMD Ryzen 7 7700X 8-Core Processor"),
            cpus_online: some("0-15"),
            cpus_allowed: some("0-5,8-13"),
            topology: topology([1, 8, 16, 1]),
            scaling_driver: some("amd-pstate-epp"),
            governors: vec!["powersave".to_owned(), "performance".to_owned()],
            turbo: Some(true),
            smt: Some(true),
            isolated_cpus: some("6-7,14-15"),
            nohz_full_cpus: some("6-7,14-15"),
            load_average: Some([0.03, 0.10, 0.08]),
            clock_source: some("tsc"),
            cgroup: group(2, "/user.slice/user-1000.slice/session-3.scope", None, None),
            memory_kib: Some(65_012_340),
            transparent_hugepages: some("madvise"),
            perf_event_paranoid: Some(2),
            ..Facts::default()
        };
        check("amd-pstate-desktop", expect, &[]);
    }

    #[test]
    fn acpi_cpufreq_numa() {
        let expect = Facts {
            host: some("numa1"),
            kernel: some("4.18.0-553.el8_10.x86_64"),
            // This kernel is older than `kernel.arch`.
            architecture: rustix::system::uname().machine().to_string_lossy().into_owned(),
            os: some("Red Hat Enterprise Linux 8.10 (Ootpa)"),
            cpu_model: some("Intel(R) Xeon(R) CPU E5-2640 v4 @ 2.40GHz"),
            cpus_online: some("0-19"),
            cpus_allowed: some("0-19"),
            topology: topology([2, 20, 20, 2]),
            scaling_driver: some("acpi-cpufreq"),
            governors: vec!["performance".to_owned()],
            turbo: Some(false),
            smt: Some(false),
            isolated_cpus: some(""),
            nohz_full_cpus: some(""),
            load_average: Some([1.10, 1.05, 1.01]),
            clock_source: some("hpet"),
            cgroup: group(1, "/user.slice", None, Some(32 << 30)),
            memory_kib: Some(131_733_008),
            transparent_hugepages: some("always"),
            perf_event_paranoid: Some(2),
            ..Facts::default()
        };
        check("acpi-cpufreq-numa", expect, &["a fast clock"]);
    }

    #[test]
    fn aarch64_big_little() {
        let expect = Facts {
            host: some("rock"),
            kernel: some("6.1.84-8-rk2410"),
            architecture: "aarch64".to_owned(),
            os: some("Debian GNU/Linux 12 (bookworm)"),
            cpu_model: some("Cortex-A55 + Cortex-A76 (Radxa ROCK 5B)"),
            cpus_online: some("0-7"),
            cpus_allowed: some("0-7"),
            topology: topology([1, 8, 8, 1]),
            scaling_driver: some("cpufreq-dt"),
            governors: vec!["schedutil".to_owned(), "performance".to_owned()],
            smt: Some(false),
            isolated_cpus: some(""),
            load_average: Some([0.00, 0.01, 0.05]),
            clock_source: some("arch_sys_counter"),
            cgroup: group(2, "/user.slice/user-1000.slice/session-1.scope", None, None),
            memory_kib: Some(8_120_948),
            perf_event_paranoid: Some(2),
            ..Facts::default()
        };
        check("aarch64-big-little", expect, &[]);
    }

    #[test]
    fn firecracker_vm() {
        let expect = Facts {
            host: some("machine"),
            kernel: some("6.18.44"),
            architecture: "x86_64".to_owned(),
            os: some("Debian GNU/Linux 12 (bookworm)"),
            cpu_model: some("AMD EPYC"),
            cpus_online: some("0-1"),
            cpus_allowed: some("0-1"),
            topology: topology([1, 2, 2, 1]),
            smt: Some(false),
            isolated_cpus: some(""),
            load_average: Some([0.48, 0.41, 0.22]),
            clock_source: some("tsc"),
            cgroup: group(1, "/", None, None),
            virtualisation: some("kvm"),
            container: some("docker"),
            memory_kib: Some(24_684_084),
            transparent_hugepages: some("madvise"),
            perf_event_paranoid: Some(2),
            ..Facts::default()
        };
        check("firecracker-vm", expect, &["governor and turbo"]);
    }

    #[test]
    fn docker_cpu_max() {
        let expect = Facts {
            host: some("7f3c2a9be1d0"),
            kernel: some("6.1.0-25-amd64"),
            architecture: "x86_64".to_owned(),
            os: some("Alpine Linux v3.20"),
            cpu_model: some("Intel(R) Core(TM) i5-7500 CPU @ 3.40GHz"),
            cpus_online: some("0-3"),
            cpus_allowed: some("0-3"),
            topology: topology([1, 4, 4, 1]),
            scaling_driver: some("intel_cpufreq"),
            governors: vec!["schedutil".to_owned()],
            turbo: Some(false),
            smt: Some(false),
            isolated_cpus: some(""),
            nohz_full_cpus: some(""),
            load_average: Some([2.31, 1.90, 1.75]),
            clock_source: some("tsc"),
            cgroup: group(2, "/", Some("150000 100000"), Some(2 << 30)),
            container: some("docker"),
            memory_kib: Some(32_780_160),
            transparent_hugepages: some("always"),
            perf_event_paranoid: Some(2),
            ..Facts::default()
        };
        check("docker-cpu-max", expect, &["CPU time without pauses"]);
    }

    #[test]
    fn qemu_one_cpu() {
        let expect = Facts {
            host: some("guest"),
            kernel: some("6.1.0-25-amd64"),
            architecture: "x86_64".to_owned(),
            os: some("Debian GNU/Linux 12 (bookworm)"),
            cpu_model: some("Intel Core Processor (Skylake, IBRS)"),
            cpus_online: some("0"),
            cpus_allowed: some("0"),
            topology: topology([1, 1, 1, 1]),
            smt: Some(false),
            isolated_cpus: some(""),
            nohz_full_cpus: some(""),
            load_average: Some([0.0; 3]),
            clock_source: some("acpi_pm"),
            cgroup: group(2, "/system.slice/ssh.service", Some("20000 100000"), None),
            virtualisation: some("qemu"),
            memory_kib: Some(2_014_232),
            transparent_hugepages: some("madvise"),
            perf_event_paranoid: Some(2),
            ..Facts::default()
        };
        let gaps = [
            "governor and turbo",
            "a fast clock",
            "CPU time without pauses",
            "a CPU for the benchmark alone",
            "the processes of other users",
        ];
        check("qemu-one-cpu", expect, &gaps);
    }

    #[test]
    fn an_empty_machine_is_a_gap_and_no_panic() {
        let (_directory, host) = expand("");
        let Survey { facts, gaps } = look_from(&host, None);
        let architecture = rustix::system::uname().machine().to_string_lossy().into_owned();
        let user_id = Some(rustix::process::getuid().as_raw());
        assert_eq!(facts, Facts { architecture, user_id, ..Facts::default() });
        assert_eq!(gaps.len(), 1, "{gaps:?}");
    }

    #[test]
    fn names_of_distributions() {
        let check = |line: &str, expect: Option<&str>| {
            let (_directory, host) = expand(&format!("etc/os-release = {line}\n"));
            assert_eq!(os(&host).as_deref(), expect, "{line}");
        };
        check(r#"ID=x\nPRETTY_NAME="A \\"B\\" 1""#, Some("A \"B\" 1"));
        check("PRETTY_NAME='C 2'", Some("C 2"));
        check("PRETTY_NAME=D", Some("D"));
        check("ID=x", None);
    }

    #[test]
    fn what_a_file_of_pyperf_says_of_the_moment() {
        let (_directory, host) = expand(
            "proc/loadavg = 0.52 0.58 0.59 3/813 4711\nproc/uptime = 100.25 300.00\n\
             sys/devices/system/cpu/online = 0,2\n\
             proc/cpuinfo = processor : 0\\ncpu MHz\\t\\t: 2899.961\\n\\nprocessor : 2\\ncpu MHz : 1200.4\n",
        );
        let facts = look_from(&host, None).facts;
        assert_eq!((facts.runnable_threads, facts.uptime_s), (Some(3), Some(100.25)));
        assert_eq!(facts.cpu_mhz, [2900, 1200]);
    }
}
