//! osnoise, the kernel's own noise tracer (Documentation/trace/osnoise-tracer.rst): a loop in a kernel thread on each
//! CPU that reports its lost time. `tracing` turns it on and off in a separate process; this file parses its text.
//! Pure.

pub mod tracing;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::noise::cpu_noise::CpuNoise;
use host::Gap;
use model::values::format_cpu_list;
use record::ledger::NoiseSource;

/// Report of the tracer on one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Osnoise {
    /// Number of the CPU.
    pub cpu: usize,
    /// Observed time, ns: whole samples only.
    pub observed_ns: u64,
    /// Lost time, in pieces above its `tracing_thresh`, ns.
    pub stolen_ns: u64,
    /// The longest piece, ns.
    pub longest_ns: u64,
    /// Programs.
    pub threads: OsnoiseTime,
    /// Interrupts.
    pub interrupts: OsnoiseTime,
    /// Softirqs; kernels with PREEMPT_RT have threads instead.
    pub softirqs: OsnoiseTime,
    /// Interrupts that cannot be masked.
    pub nmis: OsnoiseTime,
    /// Pieces without a kernel event: hardware, firmware, or the host.
    pub hardware: OsnoiseTime,
    /// Events that did not fit into the kernel's buffer.
    pub n_lost_events: u64,
}

/// Lost time of one kind of source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OsnoiseTime {
    /// Time by the tracer's events, without nested interruptions, ns.
    pub ns: u64,
    /// Number by the tracer's own count.
    pub n: u64,
}

/// A CPU by its loop and by the tracer, as shares of the time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OsnoiseComparison {
    /// Number of the CPU.
    pub cpu: usize,
    /// Shares by our loop.
    pub by_loop: TimeShares,
    /// Shares by the tracer.
    pub by_osnoise: TimeShares,
}

/// Shares of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TimeShares {
    /// All lost time.
    pub stolen: f64,
    /// The longest piece, ns.
    pub longest_ns: u64,
    /// Programs.
    pub threads: f64,
    /// Interrupts, NMIs included.
    pub interrupts: f64,
    /// Softirqs.
    pub softirqs: f64,
    /// Time without a kernel event.
    pub unseen: f64,
}

/// Pairs the tracer's reports with the loops'.
pub fn compare_with_loops(cpus: &[CpuNoise], reports: &[Osnoise]) -> Vec<OsnoiseComparison> {
    let pairs = reports.iter().filter_map(|osnoise| {
        let watched = cpus.iter().find(|cpu| cpu.cpu == osnoise.cpu)?;
        Some(OsnoiseComparison {
            cpu: osnoise.cpu,
            by_loop: of_loop(watched),
            by_osnoise: of_tracer(osnoise),
        })
    });
    pairs.collect()
}

/// The CPUs without a report: a sample takes a second, and none of theirs ended.
pub fn missing_samples(cpus: &[usize], reports: &[Osnoise]) -> Option<Gap> {
    let is_silent = |cpu: &usize| !reports.iter().any(|osnoise| osnoise.cpu == *cpu);
    let silent: Vec<usize> = cpus.iter().copied().filter(is_silent).collect();
    (!silent.is_empty()).then(|| Gap {
        what: "osnoise".into(),
        why: format!("no sample of it ended on CPU {}", format_cpu_list(&silent)),
        fix: "watch longer (⟦for⟧)".into(),
    })
}

fn of_loop(cpu: &CpuNoise) -> TimeShares {
    let share = |ns: f64| ns / cpu.observed_ns.max(1) as f64;
    let of = |is_it: &dyn Fn(&NoiseSource) -> bool| {
        let found = cpu.ledger.entries.iter().filter(|entry| is_it(&entry.source));
        share(found.map(|entry| entry.ns as f64).sum())
    };
    TimeShares {
        stolen: share(cpu.stolen_ns as f64),
        longest_ns: cpu.longest_ns,
        threads: of(&|source| matches!(source, NoiseSource::Task { .. } | NoiseSource::Preempted)),
        interrupts: of(&|source| matches!(source, NoiseSource::Interrupt { .. })),
        softirqs: of(&|source| matches!(source, NoiseSource::Softirq { .. })),
        unseen: of(&|source| source.is_unexplained() || *source == NoiseSource::Steal),
    }
}

fn of_tracer(report: &Osnoise) -> TimeShares {
    let share = |ns: u64| ns as f64 / report.observed_ns.max(1) as f64;
    TimeShares {
        stolen: share(report.stolen_ns),
        longest_ns: report.longest_ns,
        threads: share(report.threads.ns),
        interrupts: share(report.interrupts.ns + report.nmis.ns),
        softirqs: share(report.softirqs.ns),
        unseen: share(report.hardware.ns),
    }
}

/// Parses `trace_pipe` into a report for each CPU. Events count when their sample ends, because that line has the sums;
/// events after the last sample are dropped.
pub fn parse(text: &str) -> Vec<Osnoise> {
    let mut cpus: BTreeMap<usize, (Osnoise, Osnoise)> = BTreeMap::new();
    for line in text.lines() {
        if let Some((cpu, n)) = lost(line) {
            cpus.entry(cpu).or_default().0.n_lost_events += n;
        }
        let Some((cpu, message)) = event(line) else { continue };
        let (sums, sample) = cpus.entry(cpu).or_default();
        if let Some((kind, words)) = message.split_once("_noise:") {
            let lost_time = match kind {
                "thread" => &mut sample.threads,
                "irq" => &mut sample.interrupts,
                "softirq" => &mut sample.softirqs,
                "nmi" => &mut sample.nmis,
                _ => continue,
            };
            lost_time.ns += number_after(words, "duration").unwrap_or(0);
        } else if let Some(words) = message.strip_prefix("sample_threshold:") {
            if number_after(words, "interferences") == Some(0) {
                sample.hardware.ns += number_after(words, "duration").unwrap_or(0);
            }
        } else if let Some(end) = end_of_sample(message) {
            sums.add(&std::mem::take(sample));
            sums.add(&end);
        }
    }
    let with_cpu = cpus.into_iter().map(|(cpu, (sums, _))| Osnoise { cpu, ..sums });
    with_cpu.filter(|cpu| cpu.observed_ns > 0).collect()
}

impl Osnoise {
    fn add(&mut self, other: &Self) {
        self.observed_ns += other.observed_ns;
        self.stolen_ns += other.stolen_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        for (sum, part) in [
            (&mut self.threads, other.threads),
            (&mut self.interrupts, other.interrupts),
            (&mut self.softirqs, other.softirqs),
            (&mut self.nmis, other.nmis),
            (&mut self.hardware, other.hardware),
        ] {
            sum.ns += part.ns;
            sum.n += part.n;
        }
    }
}

/// `osnoise/8-961 [008] d.h. 5789.857532: irq_noise: …` → CPU 8, `irq_noise: …`. The name may contain any text.
fn event(line: &str) -> Option<(usize, &str)> {
    line.match_indices("] ").find_map(|(at, bracket)| {
        let cpu = line[..at].rsplit_once('[')?.1.parse().ok()?;
        let (time, message) = line[at + bracket.len()..].split_once(": ")?;
        // Flags, and seconds since boot.
        time.split_ascii_whitespace().next_back()?.parse::<f64>().ok()?;
        Some((cpu, message.trim()))
    })
}

/// `CPU:3 [LOST 120 EVENTS]`.
fn lost(line: &str) -> Option<(usize, u64)> {
    let (cpu, rest) = line.strip_prefix("CPU:")?.split_once(" [LOST ")?;
    Some((cpu.trim().parse().ok()?, rest.split(' ').next()?.parse().ok()?))
}

/// The number after a word: `duration 1845 ns`.
fn number_after(words: &str, name: &str) -> Option<u64> {
    let mut words = words.split_ascii_whitespace().skip_while(|word| *word != name);
    words.nth(1)?.parse().ok()
}

/// Parses the end of a sample (`osnoise_print` in kernel/trace/trace_output.c): runtime, noise, remaining share,
/// longest piece, all in µs, then counts of hardware, NMIs, interrupts, softirqs and threads.
fn end_of_sample(message: &str) -> Option<Osnoise> {
    let fields: Vec<&str> = message.split_ascii_whitespace().collect();
    let [runtime, noise, _share, longest, counts @ ..] = &fields[..] else { return None };
    let us = |text: &str| Some(text.parse::<u64>().ok()? * 1_000);
    let counts: Vec<u64> = counts.iter().map(|n| n.parse().ok()).collect::<Option<_>>()?;
    let &[hardware, nmis, interrupts, softirqs, threads] = &counts[..] else { return None };
    let counted = |n| OsnoiseTime { ns: 0, n };
    Some(Osnoise {
        observed_ns: us(runtime)?,
        stolen_ns: us(noise)?,
        longest_ns: us(longest)?,
        threads: counted(threads),
        interrupts: counted(interrupts),
        softirqs: counted(softirqs),
        nmis: counted(nmis),
        hardware: counted(hardware),
        ..Osnoise::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `trace_pipe` with two whole samples of CPU 3, and one of CPU 0 that is cut off.
    const TEXT: &str = "\
       osnoise/3-88      [003] d.h..    81.250000: irq_noise: local_timer:236 start 81.249995000 duration 2000 ns
       osnoise/3-88      [003] d.s..    81.250010: softirq_noise: TIMER:1 start 81.250002000 duration 900 ns
    a ] [b: c/3-7        [003] d....    81.300000: thread_noise: a ] [b: c:7 start 81.299000000 duration 700000 ns
       osnoise/3-88      [003] .....    81.300010: sample_threshold: start 81.299000000 duration 720000 ns interferences 1
       osnoise/3-88      [003] .....    81.400000: sample_threshold: start 81.399000000 duration 12000 ns interferences 0
       osnoise/3-88      [003] .....    82.000000: 1000000        734  99.92660     720      1      0      1      1      1
       osnoise/0-85      [000] d.h..    82.100000: irq_noise: local_timer:236 start 82.099995000 duration 2000 ns
CPU:3 [LOST 12 EVENTS]
       osnoise/3-88      [003] d.Z..    82.200000: nmi_noise: start 82.199995000 duration 1500 ns
       osnoise/3-88      [003] .....    83.000000: 1000000          2  99.99980       2      0      1      0      0      0
       osnoise/3-88      [003] d.h..    83.100000: irq_noise: local_timer:236 start 83.099995000 duration 2000 ns
# tracer: osnoise
";

    #[test]
    fn a_cpu_of_which_no_sample_ended_is_named() {
        let reports = parse(TEXT);
        assert_eq!(missing_samples(&[3], &reports), None);
        let gap = missing_samples(&[0, 1, 3], &reports).unwrap();
        assert_eq!(gap.why, "no sample of it ended on CPU 0-1");
    }

    #[test]
    fn samples_are_added_up() {
        let lost_time = |ns, n| OsnoiseTime { ns, n };
        let expected = Osnoise {
            cpu: 3,
            observed_ns: 2_000_000_000,
            stolen_ns: 736_000,
            longest_ns: 720_000,
            threads: lost_time(700_000, 1),
            interrupts: lost_time(2_000, 1),
            softirqs: lost_time(900, 1),
            nmis: lost_time(1_500, 1),
            hardware: lost_time(12_000, 1),
            n_lost_events: 12,
        };
        assert_eq!(parse(TEXT), [expected]);
    }

    #[test]
    fn what_is_no_trace_says_nothing() {
        for text in
            ["", "\u{0}\n[003] x: y", "a-1 [999999999999999999999] . 1.0: 1 2 3 4 5 6 7 8 9"]
        {
            assert_eq!(parse(text), [], "{text:?}");
        }
    }
}
