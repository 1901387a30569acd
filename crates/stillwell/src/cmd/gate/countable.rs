//! The benchmarks of a gate whose instructions can be counted, with what their times tell about that.

use crate::cmd::assessment::Assessment;
use analysis::RatioInterval;
use analysis::verdict::GateAnswer;
use analysis::work::WorkCounted;
use model::harness::Harness;
use model::values::metric::Metric;
use record::Record;
use record::plan::programs::ProgramBenchmark;

use super::pairs::Pair;

/// A benchmark that can be counted.
#[derive(Clone, Copy)]
pub(super) struct Countable<'a> {
    pub timed: &'a Timed,
    /// The index of its pair of programs.
    pub pair: usize,
    pub listed: &'a ProgramBenchmark,
    pub harness: Harness,
}

impl<'a> Countable<'a> {
    /// The benchmark of a gate's name.
    pub(super) fn of(pairs: &'a [Pair], timed: &'a Timed) -> Option<Self> {
        pairs.iter().enumerate().find_map(|(at, pair)| {
            let inner = match pairs.len() {
                1 => &timed.name,
                _ => timed.name.strip_prefix(&pair.name)?.strip_prefix('/')?,
            };
            let listed = pair.common[0].iter().find(|listed| listed.name == inner)?;
            Some(Self { timed, pair: at, listed, harness: listed.harness? })
        })
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
        let system_share = self.timed.system_share;
        WorkCounted { ratio, is_known: false, n_together: 1, system_share }
    }
}

/// A benchmark's times, which determine how it is counted.
pub(super) struct Timed {
    pub name: String,
    /// The answer of the times alone.
    pub answer: GateAnswer,
    /// Time of the new build ÷ time of the old one; 1 if it is not known.
    pub ratio: f64,
    /// Time of an iteration, ns.
    pub iteration_ns: Option<f64>,
    /// CPU time of a process, ns.
    pub process_cpu_ns: f64,
    pub system_share: f64,
}

impl Timed {
    pub(super) fn of(record: &Record, timed: &Assessment, limit: f64) -> Vec<Self> {
        let pairs = timed.analysis.comparisons.iter().zip(&timed.judgements);
        let one = |(pair, judgement): (&analysis::Comparison, &analysis::verdict::Judgement)| {
            let arms = [pair.reference, pair.arm];
            let times = timed.analysis.arms[pair.reference].times.as_ref();
            let plan = &record.header.plan;
            Self {
                name: plan.arms[pair.arm].benchmark.clone().unwrap_or_default(),
                answer: judgement.answer(limit),
                ratio: judgement.interval.map_or(1.0, |interval| interval.ratio),
                iteration_ns: times.map(|times| times.median.value),
                process_cpu_ns: 1e3 * cpu_us(record, &arms).iter().sum::<f64>(),
                system_share: arms
                    .map(|arm| system_share(record, arm))
                    .into_iter()
                    .fold(0.0, f64::max),
            }
        };
        pairs.map(one).collect()
    }
}

fn mean(record: &Record, metric: Metric, arms: &[usize]) -> Option<f64> {
    let rows = &record.rows;
    let of = (0..rows.len()).filter(|&at| arms.contains(&rows.arm(at)) && rows.is_measurement(at));
    let values: Vec<f64> = of.filter_map(|at| rows.get(at, metric)).map(|it| it as f64).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Mean user and system time of the processes of these arms, µs.
fn cpu_us(record: &Record, arms: &[usize]) -> [f64; 2] {
    [Metric::UserUs, Metric::SysUs].map(|metric| mean(record, metric, arms).unwrap_or(0.0))
}

/// The share of system time in the CPU time of an arm's processes.
fn system_share(record: &Record, arm: usize) -> f64 {
    let [user_us, system_us] = cpu_us(record, &[arm]);
    let all_us = user_us + system_us;
    if all_us > 0.0 { system_us / all_us } else { 0.0 }
}
