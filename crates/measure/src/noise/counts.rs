//! Counts that the kernel shows to every user: interrupts, steal time, CPU time of threads. They are read only before
//! and after the measurement, because with many CPUs and processes a reading takes milliseconds.

use std::collections::{BTreeMap, HashMap};

use crate::noise::points::line_name;
use host::{Host, Interrupts, Process, Thread, threads};
use record::ledger::NoiseSource;

#[derive(Clone, Debug, Default)]
pub struct KernelCounts {
    interrupts: Option<Interrupts>,
    softirqs: Option<Interrupts>,
    steal_ns: HashMap<usize, u64>,
    /// Time in which some task was ready without a CPU, on the whole machine (PSI), µs.
    pressure_us: Option<u64>,
    /// Thermal throttlings of a CPU or its package.
    throttles: Option<u64>,
    tasks: HashMap<Thread, TaskTime>,
}

#[derive(Clone, Debug)]
struct TaskTime {
    name: String,
    cpu: usize,
    ran_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuCounts {
    /// Interrupts by line, without softirqs.
    pub interrupts: Vec<(NoiseSource, u64)>,
    pub softirqs: Vec<(NoiseSource, u64)>,
    /// Steal time as reported by the hypervisor.
    pub steal_ns: u64,
    /// Programs that ran on the CPU with their CPU time, ns; the longest first.
    pub ran: Vec<(String, u64)>,
}

/// Counts of the whole machine between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct MachineCounts {
    /// Time in which some task was ready and had no CPU (PSI).
    pub pressure_ns: Option<u64>,
    /// Thermal throttlings.
    pub throttles: Option<u64>,
}

/// One unit of /proc/stat, USER_HZ: 100 on all architectures except Alpha (include/asm-generic/param.h).
const STAT_TICK_NS: u64 = 10_000_000;
/// With hundreds of CPUs the file has some hundred kilobytes.
const STAT_BYTES_MAX: u64 = 4 << 20;

impl KernelCounts {
    pub fn read(host: &Host, cpus: &[usize]) -> Self {
        let softirqs = host.read_long("proc/softirqs", STAT_BYTES_MAX);
        Self {
            interrupts: Interrupts::read(host),
            softirqs: softirqs.and_then(|text| Interrupts::parse(&text)),
            steal_ns: steal(&host.read_long("proc/stat", STAT_BYTES_MAX).unwrap_or_default()),
            pressure_us: host.read("proc/pressure/cpu").and_then(|text| pressure(&text)),
            throttles: throttles(host, cpus),
            tasks: tasks(host),
        }
    }

    /// Counts of a CPU since an earlier reading, without the process `own`.
    pub fn since(&self, before: &Self, cpu: usize, own: u32) -> CpuCounts {
        let steal = |counts: &Self| counts.steal_ns.get(&cpu).copied().unwrap_or(0);
        CpuCounts {
            interrupts: increases_on(
                self.interrupts.as_ref(),
                before.interrupts.as_ref(),
                cpu,
                |row| NoiseSource::Interrupt { line: line_name(&row.0, &row.1) },
            ),
            softirqs: increases_on(self.softirqs.as_ref(), before.softirqs.as_ref(), cpu, |row| {
                NoiseSource::Softirq { vector: row.0 }
            }),
            steal_ns: steal(self).saturating_sub(steal(before)),
            ran: self.ran_since(before, cpu, own),
        }
    }

    pub fn machine_since(&self, before: &Self) -> MachineCounts {
        let since = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        MachineCounts {
            pressure_ns: since(self.pressure_us, before.pressure_us).map(|us| us * 1000),
            throttles: since(self.throttles, before.throttles),
        }
    }

    /// A thread's CPU time counts for its last CPU: the kernel does not report the CPUs in between.
    fn ran_since(&self, before: &Self, cpu: usize, own: u32) -> Vec<(String, u64)> {
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        for (id, task) in
            self.tasks.iter().filter(|(id, task)| task.cpu == cpu && id.process != own)
        {
            let before_ns = before.tasks.get(id).map_or(0, |task| task.ran_ns);
            *by_name.entry(&task.name).or_default() += task.ran_ns.saturating_sub(before_ns);
        }
        let mut ran: Vec<(String, u64)> = by_name
            .into_iter()
            .filter(|(_, ns)| *ns > 0)
            .map(|(name, ns)| (name.into(), ns))
            .collect();
        ran.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        ran
    }
}

/// The counts of a table that increased on a CPU.
fn increases_on(
    now: Option<&Interrupts>,
    before: Option<&Interrupts>,
    cpu: usize,
    source: impl Fn((String, String)) -> NoiseSource,
) -> Vec<(NoiseSource, u64)> {
    let (Some(now), Some(before)) = (now, before) else { return Vec::new() };
    let since = now.clone().since(before);
    let Some(column) = since.cpus.iter().position(|&known| known == cpu) else { return Vec::new() };
    let counted = since.rows.into_iter().filter_map(|row| {
        let n = row.counts.get(column).copied().filter(|&n| n > 0)?;
        Some((source((row.name, row.what)), n))
    });
    counted.collect()
}

/// Column `steal` of /proc/stat (proc_stat(5)).
fn steal(text: &str) -> HashMap<usize, u64> {
    let of_line = |line: &str| {
        // The line for all CPUs has no number after `cpu`.
        let (cpu, times) = line.strip_prefix("cpu")?.split_once(' ')?;
        let ticks: u64 = times.split_ascii_whitespace().nth(7)?.parse().ok()?;
        Some((cpu.parse().ok()?, ticks * STAT_TICK_NS))
    };
    text.lines().filter_map(of_line).collect()
}

/// `total` of the line `some` in a pressure file (Documentation/accounting/psi.rst).
fn pressure(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some"))?;
    line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

fn throttles(host: &Host, cpus: &[usize]) -> Option<u64> {
    let of = |cpu: &usize, kind: &str| {
        host.read_value::<u64>(format!(
            "sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{kind}_throttle_count"
        ))
    };
    let counts = cpus.iter().flat_map(|cpu| ["core", "package"].map(|kind| of(cpu, kind)));
    counts.flatten().reduce(|sum, n| sum.saturating_add(n))
}

fn tasks(host: &Host) -> HashMap<Thread, TaskTime> {
    let task = |thread: Thread| {
        let place = thread.directory();
        let Process { name, cpu, .. } = Process::read_at(host, &place)?;
        // The first number is the time on a CPU.
        let schedstat = host.read(format!("{place}/schedstat"))?;
        let ran_ns = schedstat.split_ascii_whitespace().next()?.parse().ok()?;
        Some((thread, TaskTime { name, cpu: cpu?, ran_ns }))
    };
    threads(host).filter_map(task).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::expand;

    /// A machine with two threads of one program.
    fn counts(loc: u64, steal: u64, ran_ns: [u64; 2]) -> KernelCounts {
        let stat = |name: &str, cpu: usize| {
            format!(
                "7 ({name}) R 1 7 7 0 -1 4194560 11 0 0 0 5 3 0 0 20 0 1 0 99 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 {cpu} 0 0 0 0 0"
            )
        };
        let files = format!(
            "proc/interrupts = CPU0 CPU1\\nLOC: {loc} 7 Local timer interrupts\\n9: 1 1 IO-APIC 9-fasteoi acpi\n\
             proc/softirqs = CPU0 CPU1\\nTIMER: {loc} 3\n\
             proc/stat = cpu 1 1 1 1 1 1 1 99 0 0\\ncpu0 1 1 1 1 1 1 1 {steal} 0 0\\ncpu1 1 1 1 1 1 1 1 0 0 0\n\
             proc/pressure/cpu = some avg10=0.00 avg60=0.00 avg300=0.00 total={loc}\n\
             sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count = {steal}\n\
             proc/7/task/7/stat = {}\nproc/7/task/7/schedstat = {} 5 2\n\
             proc/7/task/8/stat = {}\nproc/7/task/8/schedstat = {} 5 2\n\
             proc/9/task/9/stat = {}\nproc/9/task/9/schedstat = 1000 5 2\n",
            stat("a ) b", 0),
            ran_ns[0],
            stat("a ) b", 0),
            ran_ns[1],
            stat("other", 1)
        );
        let (_directory, host) = expand(&files);
        KernelCounts::read(&host, &[0, 1])
    }

    #[test]
    fn what_moved_on_a_cpu() {
        let (before, now) = (counts(10, 2, [100, 200]), counts(25, 5, [400, 250]));
        let found = now.since(&before, 0, 99);
        let loc = NoiseSource::Interrupt { line: "LOC".into() };
        assert_eq!(found.interrupts, [(loc, 15)]);
        assert_eq!(found.softirqs, [(NoiseSource::Softirq { vector: "TIMER".into() }, 15)]);
        assert_eq!((found.steal_ns, found.ran), (30_000_000, vec![("a ) b".into(), 350)]));
        assert_eq!(now.since(&before, 1, 99), CpuCounts::default());
        assert_eq!(now.since(&before, 0, 7).ran, []);
        let expected = MachineCounts { pressure_ns: Some(15_000), throttles: Some(3) };
        assert_eq!(now.machine_since(&before), expected);
    }

    /// A CPU that goes offline during the observation loses its column.
    #[test]
    fn a_machine_that_shows_nothing() {
        let (_directory, host) = expand("proc/uptime = 1 1\n");
        let nothing = KernelCounts::read(&host, &[0]);
        assert_eq!(nothing.since(&counts(10, 2, [1, 1]), 0, 1), CpuCounts::default());
        assert_eq!(nothing.machine_since(&nothing), MachineCounts::default());
    }
}
