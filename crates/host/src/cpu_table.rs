//! The table of CPUs, like `lscpu -a -e`: the basis for the recommended benchmark CPUs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Host, Interrupts};
use model::values::{CPUS_MAX, read_cpu_list};

const CPU: &str = "sys/devices/system/cpu";

/// A logical CPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CpuRow {
    /// Number of the CPU. With sibling threads switched off, the numbers have holes.
    pub cpu: usize,
    /// True if the CPU is online. The kernel shows nothing else of an offline CPU.
    pub online: bool,
    /// Number of its core in the whole machine. Cores are numbered by their first CPU.
    pub core: Option<usize>,
    /// Physical package.
    pub socket: Option<usize>,
    /// NUMA node.
    pub node: usize,
    /// The online CPUs of its core, including itself.
    pub siblings: Vec<usize>,
    /// Highest frequency, kHz.
    pub max_khz: Option<u64>,
    /// Kind of core, on a machine with several.
    pub class: Option<CpuClass>,
    /// The scheduler places no tasks on it (isolcpus=).
    pub isolated: bool,
    /// The kernel stops its tick while it runs one task (nohz_full=).
    pub nohz: bool,
    /// True if this process may use it.
    pub allowed: bool,
    /// Interrupts of all kinds per second, since boot or in the requested time.
    pub irqs_per_second: Option<f64>,
}

/// The kinds of core of a hybrid machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CpuClass {
    /// An efficient core (Intel's E-core).
    Efficiency,
    /// A fast core (Intel's P-core).
    Performance,
    /// The smaller kind by the kernel's capacity (ARM).
    Little,
    /// Neither the smallest nor the biggest kind by capacity.
    Middle,
    /// The biggest kind by capacity.
    Big,
}

impl CpuClass {
    /// The letter of this kind in a table.
    pub fn letter(self) -> &'static str {
        match self {
            Self::Efficiency => "E",
            Self::Performance => "P",
            Self::Little => "little",
            Self::Middle => "middle",
            Self::Big => "big",
        }
    }

    /// The name of this kind in the plural.
    pub fn name(self) -> &'static str {
        match self {
            Self::Efficiency => "E-cores",
            Self::Performance => "P-cores",
            Self::Little => "little cores",
            Self::Middle => "middle cores",
            Self::Big => "big cores",
        }
    }
}

impl CpuRow {
    /// Identifies the core of this CPU. The CPUs of one core have the same siblings.
    fn core_key(&self) -> usize {
        self.siblings.first().copied().unwrap_or(self.cpu)
    }
}

/// The interrupts of each CPU, counted over some seconds.
pub struct CountedInterrupts {
    pub interrupts: Interrupts,
    pub seconds: f64,
}

/// Every present CPU in order. Empty if the kernel shows none.
pub fn read_cpu_table(host: &Host, interrupts: Option<&CountedInterrupts>) -> Vec<CpuRow> {
    let online = host.online_cpus();
    let present = host.read_cpus(format!("{CPU}/present")).unwrap_or_else(|| online.clone());
    let isolated = host.read_cpus(format!("{CPU}/isolated")).unwrap_or_default();
    let nohz = host.read_cpus(format!("{CPU}/nohz_full")).unwrap_or_default();
    let status = host.read("proc/self/status").unwrap_or_default();
    let allowed = super::gaps::status_value(&status, "Cpus_allowed_list").and_then(read_cpu_list);
    let nodes = nodes(host);
    let max_khz = max_khz(host);
    let mut rows: Vec<CpuRow> = present
        .iter()
        .map(|&cpu| CpuRow {
            cpu,
            online: online.contains(&cpu),
            core: None,
            socket: host.read_value(format!("{CPU}/cpu{cpu}/topology/physical_package_id")),
            node: nodes.get(&cpu).copied().unwrap_or(0),
            siblings: siblings(host, cpu, &online),
            max_khz: max_khz.get(&cpu).copied(),
            class: None,
            isolated: isolated.contains(&cpu),
            nohz: nohz.contains(&cpu),
            allowed: online.contains(&cpu)
                && allowed.as_ref().is_none_or(|allowed| allowed.contains(&cpu)),
            irqs_per_second: interrupts.and_then(|counted| {
                let rate = counted.interrupts.total_on(cpu)? as f64 / counted.seconds;
                Some(rate).filter(|rate| rate.is_finite())
            }),
        })
        .collect();
    number_cores(&mut rows);
    classify(host, &mut rows);
    rows
}

/// The uptime, over which /proc/interrupts counts. A CPU that came online later has younger counts.
pub fn read_uptime_seconds(host: &Host) -> Option<f64> {
    let text = host.read("proc/uptime")?;
    text.split_ascii_whitespace().next()?.parse().ok().filter(|seconds: &f64| *seconds > 0.0)
}

fn siblings(host: &Host, cpu: usize, online: &[usize]) -> Vec<usize> {
    if !online.contains(&cpu) {
        return Vec::new();
    }
    // Before Linux 5.3 the name is `thread_siblings_list`.
    let files = ["core_cpus_list", "thread_siblings_list"];
    let read = |file: &&str| host.read_cpus(format!("{CPU}/cpu{cpu}/topology/{file}"));
    let siblings = files.iter().find_map(read);
    // A list without the CPU itself is invalid.
    siblings.filter(|siblings| siblings.contains(&cpu)).unwrap_or_else(|| vec![cpu])
}

/// The NUMA node of each CPU. Empty without NUMA.
fn nodes(host: &Host) -> BTreeMap<usize, usize> {
    let nodes = host.read_cpus("sys/devices/system/node/online");
    let mut of_cpu = BTreeMap::new();
    for node in nodes.unwrap_or_default() {
        let cpus = host.read_cpus(format!("sys/devices/system/node/node{node}/cpulist"));
        let cpus = cpus.unwrap_or_default();
        of_cpu.extend(cpus.into_iter().map(|cpu| (cpu, node)));
    }
    of_cpu
}

/// Reads each policy once: its CPUs share the file.
fn max_khz(host: &Host) -> BTreeMap<usize, u64> {
    let mut of_cpu = BTreeMap::new();
    for name in host.list(format!("{CPU}/cpufreq")) {
        if !name.starts_with("policy") {
            continue;
        }
        let read = |file: &str| host.read(format!("{CPU}/cpufreq/{name}/{file}"));
        let Some(khz) = read("cpuinfo_max_freq").and_then(|khz| khz.parse().ok()) else { continue };
        let cpus = read("affected_cpus").unwrap_or_default();
        let cpus = cpus.split_ascii_whitespace().filter_map(|cpu| cpu.parse().ok());
        of_cpu.extend(cpus.filter(|&cpu: &usize| cpu < CPUS_MAX).map(|cpu| (cpu, khz)));
    }
    of_cpu
}

/// Numbers the cores by counting. `core_id` repeats in every package and, on some machines, in every die.
fn number_cores(rows: &mut [CpuRow]) {
    let mut keys: Vec<usize> = rows.iter().filter(|row| row.online).map(CpuRow::core_key).collect();
    keys.sort_unstable();
    keys.dedup();
    for row in rows.iter_mut().filter(|row| row.online) {
        row.core = keys.binary_search(&row.core_key()).ok();
    }
}

/// Finds the kind of each core, by the names of Intel's PMUs or by the scheduler's capacity (Documentation/arch/arm64,
/// "capacity"; Documentation/scheduler/sched-capacity.rst).
fn classify(host: &Host, rows: &mut [CpuRow]) {
    let of_kind = |kind: &str| host.read_cpus(format!("sys/devices/{kind}/cpus"));
    if let (Some(fast), Some(efficient)) = (of_kind("cpu_core"), of_kind("cpu_atom")) {
        for row in rows {
            row.class = match row.cpu {
                cpu if fast.contains(&cpu) => Some(CpuClass::Performance),
                cpu if efficient.contains(&cpu) => Some(CpuClass::Efficiency),
                _ => None,
            };
        }
        return;
    }
    let capacity = |cpu| host.read_value::<u32>(format!("{CPU}/cpu{cpu}/cpu_capacity"));
    let capacities: Vec<Option<u32>> = rows.iter().map(|row| capacity(row.cpu)).collect();
    let known = || capacities.iter().flatten();
    let (Some(&least), Some(&most)) = (known().min(), known().max()) else { return };
    // Two cores of one kind may differ a little in their highest clock (favoured cores).
    if u64::from(most - least) * 10 < u64::from(most) {
        return;
    }
    for (row, capacity) in rows.iter_mut().zip(capacities) {
        row.class = capacity.map(|capacity| match capacity {
            capacity if capacity == least => CpuClass::Little,
            capacity if capacity == most => CpuClass::Big,
            _ => CpuClass::Middle,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{expand, fixture};
    use crate::fixture_names;

    fn table(name: &str) -> Vec<CpuRow> {
        let (_directory, host) = fixture(name);
        let counted = Interrupts::read(&host).zip(read_uptime_seconds(&host));
        let counted =
            counted.map(|(interrupts, seconds)| CountedInterrupts { interrupts, seconds });
        read_cpu_table(&host, counted.as_ref())
    }

    #[test]
    fn cpus_that_are_off_are_rows_without_a_core() {
        let rows = table("smt-off-sparse");
        let online: Vec<usize> = rows.iter().filter(|row| row.online).map(|row| row.cpu).collect();
        assert_eq!((rows.len(), online), (8, vec![0, 2, 4, 6]));
        assert_eq!((rows[6].core, rows[6].siblings.clone()), (Some(3), vec![6]));
        assert_eq!((rows[7].core, rows[7].irqs_per_second, rows[7].max_khz), (None, None, None));
        // The fourth column of /proc/interrupts: 5000000 / 3 ticks, 90000 / 3 wake-ups and the like in 100000 s.
        let rate = rows[6].irqs_per_second.unwrap();
        assert!((rate - 17.405_13).abs() < 1e-5, "{rate}");
    }

    #[test]
    fn kinds_of_cores() {
        let classes = |name| {
            let classes = table(name).into_iter().map(|row| row.class);
            classes.fold(Vec::new(), |mut found, class| {
                if found.last() != Some(&class) {
                    found.push(class);
                }
                found
            })
        };
        let hybrid = [Some(CpuClass::Performance), Some(CpuClass::Efficiency)];
        assert_eq!(classes("intel-hybrid"), hybrid);
        assert_eq!(classes("arm-big-little"), [Some(CpuClass::Little), Some(CpuClass::Big)]);
        assert_eq!(classes("numa-128"), [None]);
    }

    /// Capacities of favoured cores (x86 since 6.12) do not make them kinds.
    #[test]
    fn a_little_more_capacity_is_no_other_kind() {
        let files = "sys/devices/system/cpu/online = 0-3
                     sys/devices/system/cpu/cpu{0-1}/cpu_capacity = 1024
                     sys/devices/system/cpu/cpu{2-3}/cpu_capacity = 990
";
        let (_directory, host) = expand(files);
        assert!(read_cpu_table(&host, None).iter().all(|row| row.class.is_none()));
    }

    /// CPUs above 64 and 1024 work like all others.
    #[test]
    fn many_cpus() {
        let rows = table("numa-128");
        let last = &rows[127];
        let expect = (Some(63), Some(1), 1, vec![63, 127], Some(3_400_000));
        assert_eq!(
            (last.core, last.socket, last.node, last.siblings.clone(), last.max_khz),
            expect
        );
        let (_directory, host) = expand(
            "sys/devices/system/cpu/online = 0-2047
",
        );
        let rows = read_cpu_table(&host, None);
        assert_eq!((rows.len(), rows[2047].core), (2048, Some(2047)));
    }

    #[test]
    fn every_machine_has_a_table() {
        for name in fixture_names() {
            let rows = table(&name);
            assert!(!rows.is_empty() && rows.iter().any(|row| row.online), "{name}: {rows:?}");
        }
        let (_directory, host) = expand("");
        assert_eq!(read_cpu_table(&host, None), []);
        // Files with unexpected content.
        let (_directory, host) = expand(
            "sys/devices/system/cpu/online = 0-1
sys/devices/system/cpu/present = x
             sys/devices/system/cpu/cpu0/topology/core_cpus_list = 5
             sys/devices/system/cpu/cpu1/topology/core_cpus_list !
             sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq = fast
",
        );
        let rows = read_cpu_table(&host, None);
        let siblings: Vec<_> = rows.iter().map(|row| row.siblings.clone()).collect();
        assert_eq!(siblings, [vec![0], vec![1]]);
    }
}
