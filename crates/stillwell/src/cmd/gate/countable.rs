//! The benchmarks of a gate whose instructions can be counted, with what their times tell about that.

use crate::cmd::assessment::Assessment;
use analysis::RatioInterval;
use analysis::verdict::GateAnswer;
use analysis::work::WorkCounted;
use measure::harnesses::CpuTime;
use model::harness::Harness;
use model::values::metric::Metric;
use record::Record;
use record::plan::programs::ProgramBenchmark;

use super::pairs::Pair;

/// Least share of a process beyond its start that tells anything.
const OWN_SHARE_MIN: f64 = 0.125;

#[derive(Clone, Copy)]
pub(super) struct Countable<'a> {
    pub timed: &'a Timed,
    /// The index of its pair of programs.
    pub pair: usize,
    pub listed: &'a ProgramBenchmark,
    pub harness: Harness,
    /// The kernel's share of the CPU time of both builds' processes, their start left out. A single build has few
    /// processes, and the kernel divides their time by the ticks of its clock: some five in a process. A count adds what it
    /// leaves out.
    pub system_share: f64,
}

impl<'a> Countable<'a> {
    /// The benchmark of a gate's name.
    pub(super) fn of(
        pairs: &'a [Pair],
        starts: &[Option<CpuTime>],
        timed: &'a Timed,
    ) -> Option<Self> {
        pairs.iter().enumerate().find_map(|(at, pair)| {
            let inner = match pairs.len() {
                1 => &timed.name,
                _ => timed.name.strip_prefix(&pair.name)?.strip_prefix('/')?,
            };
            let listed = pair.common[0].iter().find(|listed| listed.name == inner)?;
            let system_share = system_share(timed.cpu_us, starts.get(at).copied().flatten());
            Some(Self { timed, pair: at, listed, harness: listed.harness?, system_share })
        })
    }

    /// The benchmark with what a count tells. The kernel has no share if the iterations make no system calls.
    pub(super) fn with(self, not_counted: NotCounted) -> Self {
        let kernel = if not_counted.makes_calls { self.system_share } else { 0.0 };
        Self { system_share: kernel + (1.0 - kernel) * not_counted.left_out_share, ..self }
    }

    /// The result of a sum of so many benchmarks that is the same to the instruction.
    pub(super) fn the_same_work(&self, n_together: usize) -> (String, WorkCounted) {
        let n_together = n_together as u32;
        (
            self.timed.name.clone(),
            WorkCounted { is_known: true, n_together, ..self.counted_once(1.0) },
        )
    }

    /// The result of a single count of each build.
    pub(super) fn counted_once(&self, ratio: f64) -> WorkCounted {
        let ratio = RatioInterval { ratio, lo: ratio, hi: ratio };
        let system_share = self.system_share;
        WorkCounted { ratio, is_known: false, n_counts: 1, n_together: 1, system_share }
    }
}

/// What a count tells about the work that it does not contain.
#[derive(Clone, Copy)]
pub(super) struct NotCounted {
    /// Whether the iterations may make system calls.
    pub makes_calls: bool,
    pub left_out_share: f64,
}

/// A benchmark's times, which determine how it is counted.
pub(super) struct Timed {
    pub name: String,
    /// The answer of the times alone.
    pub answer: GateAnswer,
    /// Time of the new build ÷ time of the old one; 1 if it is not known.
    pub ratio: f64,
    pub iteration_ns: Option<f64>,
    pub process_cpu_ns: f64,
    /// Mean user and system time of a process, µs.
    cpu_us: [f64; 2],
}

impl Timed {
    pub(super) fn of(timed: &Assessment, limit: f64) -> Vec<Self> {
        let record = &timed.record;
        let pairs = timed.analysis.comparisons.iter().zip(&timed.judgements);
        let one = |(pair, judgement): (&analysis::Comparison, &analysis::verdict::Judgement)| {
            let arms = [pair.reference, pair.arm];
            let times = timed.analysis.arms[pair.reference].times.as_ref();
            let (plan, cpu_us) = (&record.header.plan, cpu_us(record, &arms));
            Self {
                name: plan.arms[pair.arm].benchmark.clone().unwrap_or_default(),
                answer: judgement.answer(limit),
                ratio: judgement.interval.map_or(1.0, |interval| interval.ratio),
                iteration_ns: times.map(|times| times.median.value),
                process_cpu_ns: 1e3 * cpu_us.iter().sum::<f64>(),
                cpu_us,
            }
        };
        pairs.map(one).collect()
    }

    /// Benchmarks whose times do not matter.
    pub(super) fn without_times(pairs: &[Pair]) -> Vec<Self> {
        let one = |(name, listed): (String, &ProgramBenchmark)| Self {
            name,
            answer: GateAnswer::Undecided,
            ratio: 1.0,
            iteration_ns: listed.iteration_ns,
            // At most the time of the list is expected of it.
            process_cpu_ns: f64::INFINITY,
            cpu_us: [0.0; 2],
        };
        Pair::all_named(pairs).map(one).collect()
    }
}

fn mean(record: &Record, metric: Metric, arms: &[usize]) -> Option<f64> {
    let rows = &record.rows;
    let stored = rows.measurements_of(arms).filter_map(|at| rows.get(at, metric));
    let values: Vec<f64> = stored.map(|it| it as f64).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Mean user and system time of the processes of these arms, µs.
fn cpu_us(record: &Record, arms: &[usize]) -> [f64; 2] {
    [Metric::UserUs, Metric::SysUs].map(|metric| mean(record, metric, arms).unwrap_or(0.0))
}

/// The share of system time in the CPU time of a process, its start left out: that is mostly the kernel's work, and it is
/// much of a process of 20 ms.
fn system_share([user_us, system_us]: [f64; 2], start: Option<CpuTime>) -> f64 {
    let start = start.unwrap_or_default();
    let process_us = user_us + system_us;
    let all_us = process_us - 1e-3 * start.all_ns as f64;
    let own_us = system_us - 1e-3 * start.system_ns as f64;
    match all_us > OWN_SHARE_MIN * process_us {
        true => (own_us / all_us).max(0.0),
        false if process_us > 0.0 => system_us / process_us,
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_share_is_that_of_the_benchmark() {
        let start = CpuTime { all_ns: 8_000_000, system_ns: 4_000_000 };
        let share = |user_us, system_us| system_share([user_us, system_us], Some(start));
        assert_eq!(share(16_000.0, 4_000.0), 0.0);
        assert_eq!(share(16_000.0, 2_000.0), 0.0);
        assert_eq!(share(10_000.0, 10_000.0), 0.5);
        assert_eq!(share(5_500.0, 2_750.0), 1.0 / 3.0);
        assert_eq!(system_share([15_000.0, 5_000.0], None), 0.25);
        assert_eq!(system_share([0.0, 0.0], None), 0.0);
    }
}
