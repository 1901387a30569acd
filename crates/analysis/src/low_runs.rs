//! The low end of an arm's runs, in constant memory: t0 with its error, whether the lowest runs met a quiet core, and a
//! lowest run that stands alone (docs/methodology.md, "t0 and its error").

use schemars::JsonSchema;
use serde::Serialize;
use stats::low_end::{FloorEstimate, LowEnd};
use stats::series::Resolution;

use model::values::metric::Metric;
use model::values::{Clock, is_core_shared, time_ns};
use record::{Row, Rows};

/// Number of lowest probed runs that tell whether a quiet core was met.
const PROBED: usize = 5;
/// The number if fewer runs than `FEW_PROBES` have a probe.
const PROBED_OF_FEW: usize = 3;
const FEW_PROBES: usize = 10;
/// Number of next runs that a lone lowest run is compared with, as in `stats::low_end`.
const OTHERS: usize = 10;
/// A count lower by a smaller share is not odd.
const LESS_MIN: f64 = 0.01;
/// A busy hardware thread costs a factor of up to 1.8 (values/core.rs), so it does not explain a larger distance.
const SHARED_CORE_MAX: f64 = 2.0;

/// A count that is lower in a run that ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkCount {
    Instructions,
    PageFaults,
    CpuNs,
}

const COUNTS: [WorkCount; 3] = [WorkCount::Instructions, WorkCount::PageFaults, WorkCount::CpuNs];

/// A sign that a run did less work than the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "oddity", rename_all = "snake_case")]
pub enum Oddity {
    /// None of the next ten runs had this exit status.
    Exit { status: i32 },
    /// The run has less of a count than the next ten, by more than these differ. `others`: their smallest.
    Less { count: WorkCount, value: f64, others: f64 },
}

/// A lowest run that stands alone far below the rest (`stats::low_end`).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoneRun {
    /// Number of this run among the arm's measured runs, from 1.
    pub run: usize,
    /// The value of the next run.
    pub next: f64,
    /// Share by which the run is below the next one.
    pub below: f64,
    /// Signs that the run did less work than the others. If there are any, t0 rests on the others.
    pub oddities: Vec<Oddity>,
}

/// The probe before a run (docs/methodology.md, "Neighbours on the core").
#[derive(Clone, Copy, Debug)]
struct CoreProbe {
    is_shared: bool,
    /// Time of the dependent additions, ns: the inverse of the core's speed.
    one_chain_ns: f64,
}

#[derive(Clone, Copy, Debug)]
struct ProbedRun {
    value: f64,
    run: usize,
    probe: CoreProbe,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct RunMark {
    exit: i32,
    /// Whether another clock than Stillwell's own read the time.
    is_read_elsewhere: bool,
    probe: Option<CoreProbe>,
    counts: [Option<f64>; COUNTS.len()],
}

/// The low end of an arm's runs, fed in run order.
#[derive(Clone, Debug, Default)]
pub struct LowRuns {
    n: usize,
    /// Marked with the number of the run, from 1.
    low_end: LowEnd<(usize, RunMark)>,
    n_probed: usize,
    /// The lowest runs with a probe, ascending; one more than needed.
    probed: Vec<ProbedRun>,
    /// Shortest [`CoreProbe::one_chain_ns`] of the session, ns ([`share_fastest_core`]).
    fastest_core_ns: Option<f64>,
    /// Of times with [`RunMark::is_read_elsewhere`].
    resolution: Resolution,
}

/// t0 from the low end of the runs.
#[derive(Clone, Debug)]
pub struct LowT0 {
    /// t0, from the runs that count.
    pub floor: FloorEstimate,
    /// The lowest run that counts.
    pub most: f64,
    /// Whether the lowest runs met a quiet core; `None` without probes.
    pub met_quiet: Option<bool>,
    /// A lowest run that stands alone.
    pub lone: Option<LoneRun>,
}

impl LoneRun {
    /// Whether t0 rests on the other runs.
    pub fn is_left_out(&self) -> bool {
        !self.oddities.is_empty()
    }
}

impl RunMark {
    fn new(exit: i32, is_read_elsewhere: bool, get: impl Fn(Metric) -> Option<u64>) -> Self {
        let chains = get(Metric::OneChainNs).zip(get(Metric::FourChainsNs));
        let count = |count| match count {
            WorkCount::Instructions => get(Metric::Instructions).map(|n| n as f64),
            WorkCount::PageFaults => get(Metric::MinorFaults).map(|n| n as f64),
            WorkCount::CpuNs => time_ns(Clock::Cpu, &get),
        };
        Self {
            exit,
            is_read_elsewhere,
            probe: chains.map(|(one, four)| CoreProbe {
                is_shared: is_core_shared(one, four),
                one_chain_ns: one as f64,
            }),
            counts: COUNTS.map(count),
        }
    }

    pub fn of(row: &Row) -> Self {
        Self::new(row.exit, row.compares_other_value(), |metric| row.get(metric))
    }
}

/// The low end of each arm's measured runs.
pub(super) fn low_ends(
    rows: &Rows,
    n_arms: usize,
    is_read_elsewhere: bool,
    value: impl Fn(&Rows, usize) -> Option<f64>,
) -> Vec<LowRuns> {
    let mut low_ends = vec![LowRuns::default(); n_arms];
    for index in rows.measurements() {
        if let Some(value) = value(rows, index) {
            let get = |metric| rows.get(index, metric);
            let mark = RunMark::new(rows.exit(index), is_read_elsewhere, get);
            low_ends[rows.arm(index)].add(value, mark);
        }
    }
    share_fastest_core(&mut low_ends);
    low_ends
}

/// Tells all arms the shortest probe of the session. An arm that met only slow cores does not know a fast one.
pub fn share_fastest_core(arms: &mut [LowRuns]) {
    let fastest_ns = arms.iter().filter_map(|arm| arm.fastest_core_ns).min_by(f64::total_cmp);
    arms.iter_mut().for_each(|arm| arm.fastest_core_ns = fastest_ns);
}

impl LowRuns {
    /// The low end of values without marks.
    pub(super) fn from_values(values: &[f64]) -> Self {
        let mut low_runs = Self::default();
        values.iter().for_each(|&value| low_runs.add(value, RunMark::default()));
        low_runs
    }

    pub fn add(&mut self, value: f64, mark: RunMark) {
        self.n += 1;
        self.low_end.add(value, (self.n, mark));
        if mark.is_read_elsewhere {
            self.resolution.add(value);
        }
        let Some(probe) = mark.probe else { return };
        self.n_probed += 1;
        let fastest_ns = self.fastest_core_ns.unwrap_or(f64::INFINITY);
        self.fastest_core_ns = Some(fastest_ns.min(probe.one_chain_ns));
        let at = self.probed.partition_point(|kept| kept.value <= value);
        if at <= PROBED {
            self.probed.truncate(PROBED);
            self.probed.insert(at, ProbedRun { value, run: self.n, probe });
        }
    }

    /// Takes in the step in which a time is read.
    pub(super) fn add_reading(&mut self, value: f64) {
        self.resolution.add(value);
    }

    /// These values, read in the same steps as the others.
    pub(super) fn read_like(self, other: &Self) -> Self {
        Self { resolution: other.resolution, ..self }
    }

    pub fn min(&self) -> Option<f64> {
        Some(self.low_end.lowest().first()?.0)
    }

    /// t0 of the runs so far; `None` without any.
    pub fn t0(&self) -> Option<LowT0> {
        let lone = self.lone();
        let left_out = lone.as_ref().filter(|lone| lone.is_left_out()).map(|lone| lone.run);
        let n_left_out = usize::from(left_out.is_some());
        let lowest = self.lowest_probed(left_out);
        let most = self.low_end.lowest().get(n_left_out)?.0;
        let mut floor = self.low_end.floor(n_left_out)?;
        let slower_ns = most.abs() * self.slower_share(&lowest).unwrap_or(0.0);
        // A reading is off by up to half a step.
        let misread = self.resolution.step().unwrap_or(0.0) / 2.0;
        floor.err = floor.err.map(|err| err.max(slower_ns).max(misread));
        Some(LowT0 { floor, most, met_quiet: met_quiet(&lowest), lone })
    }

    /// The lowest runs with a probe: five, or three if fewer than ten have one. `left_out` does not count.
    fn lowest_probed(&self, left_out: Option<usize>) -> Vec<ProbedRun> {
        let mut lowest = self.probed.clone();
        lowest.retain(|it| Some(it.run) != left_out);
        let is_few = self.n_probed - (self.probed.len() - lowest.len()) < FEW_PROBES;
        lowest.truncate(if is_few { PROBED_OF_FEW } else { PROBED });
        lowest
    }

    /// How much slower the core was at the lowest runs (median) than at its fastest probe. The program could have been
    /// faster by this share.
    fn slower_share(&self, lowest: &[ProbedRun]) -> Option<f64> {
        let chains_ns: Vec<f64> = lowest.iter().map(|it| it.probe.one_chain_ns).collect();
        let usual_ns = stats::median(&chains_ns).ok()?;
        Some(usual_ns / self.fastest_core_ns? - 1.0)
    }

    fn lone(&self) -> Option<LoneRun> {
        if !self.low_end.has_one_alone() {
            return None;
        }
        let [(value, (run, mark)), others @ ..] = self.low_end.lowest() else { return None };
        let others: Vec<RunMark> = others[..OTHERS].iter().map(|other| other.1.1).collect();
        let next = self.low_end.lowest()[1].0;
        let mut oddities = Vec::new();
        if others.iter().all(|other| other.exit != mark.exit) {
            oddities.push(Oddity::Exit { status: mark.exit });
        }
        let is_quiet_no_reason = met_quiet(&self.lowest_probed(Some(*run))) == Some(true);
        oddities.extend((0..COUNTS.len()).filter_map(|at| {
            let value = mark.counts[at]?;
            let of_others: Option<Vec<f64>> = others.iter().map(|other| other.counts[at]).collect();
            let smallest = is_less(value, &of_others?)?;
            let is_explained = COUNTS[at] == WorkCount::CpuNs
                && !is_quiet_no_reason
                && value * SHARED_CORE_MAX >= smallest;
            (!is_explained).then_some(Oddity::Less { count: COUNTS[at], value, others: smallest })
        }));
        Some(LoneRun { run: *run, next, below: 1.0 - value / next, oddities })
    }
}

/// Whether more than half of these runs began on a quiet core. `None` without runs.
fn met_quiet(lowest: &[ProbedRun]) -> Option<bool> {
    let n_quiet = lowest.iter().filter(|it| !it.probe.is_shared).count();
    (!lowest.is_empty()).then_some(2 * n_quiet > lowest.len())
}

/// The smallest of the others, if the value is below it by more than the others differ.
fn is_less(value: f64, others: &[f64]) -> Option<f64> {
    let smallest = others.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = others.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let distance = smallest - value;
    (distance > largest - smallest && distance > LESS_MIN * smallest).then_some(smallest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(is_core_shared: Option<bool>) -> RunMark {
        let probe = is_core_shared.map(|is_shared| CoreProbe { is_shared, one_chain_ns: 4000.0 });
        RunMark { probe, ..RunMark::default() }
    }

    fn low(runs: impl IntoIterator<Item = (f64, RunMark)>) -> LowRuns {
        let mut found = LowRuns::default();
        runs.into_iter().for_each(|(value, mark)| found.add(value, mark));
        found
    }

    fn met(shared: &[Option<bool>]) -> Option<bool> {
        let runs = shared.iter().enumerate();
        low(runs.map(|(at, &is_shared)| (10.0 + at as f64, mark(is_shared)))).t0()?.met_quiet
    }

    #[test]
    fn quiet_was_met_if_most_of_the_lowest_runs_say_so() {
        let (quiet, loud) = (Some(false), Some(true));
        let with_rest = |lowest: &[Option<bool>]| [lowest, &[loud; 10]].concat();
        assert_eq!(met(&with_rest(&[quiet, loud, quiet, loud, quiet])), Some(true));
        assert_eq!(met(&with_rest(&[quiet, loud, quiet, loud, loud])), Some(false));
        // Runs without a probe say nothing: the next ones count.
        assert_eq!(met(&with_rest(&[None, quiet, None, quiet, None, quiet])), Some(true));
        // Three, if fewer than ten have a probe.
        assert_eq!(met(&[quiet, quiet, loud, loud, loud, loud, loud, loud, loud]), Some(true));
        assert_eq!(met(&[quiet, loud, loud, quiet]), Some(false));
        assert_eq!((met(&[quiet, loud]), met(&[quiet])), (Some(false), Some(true)));
        assert_eq!(met(&[None; 12]), None);
    }

    #[test]
    fn the_error_is_at_least_what_a_faster_core_would_gain() {
        let err = |chains_ns: &[f64]| {
            let runs = chains_ns.iter().enumerate().map(|(at, &one_chain_ns)| {
                let probe = Some(CoreProbe { is_shared: false, one_chain_ns });
                (100.0 + 0.01 * at as f64, RunMark { probe, ..RunMark::default() })
            });
            low(runs).t0().unwrap().floor.err.unwrap()
        };
        assert!(err(&[4000.0; 12]) < 0.1);
        // The last run is not the lowest, but its core was 5 % faster.
        let mut chains_ns = [4200.0; 12];
        chains_ns[11] = 4000.0;
        assert!((err(&chains_ns) - 5.0).abs() < 1e-9);
        // One interrupted probe does not make a slow core.
        chains_ns = [4000.0; 12];
        chains_ns[0] = 30_000.0;
        assert!(err(&chains_ns) < 0.1);
    }

    /// Times in steps of 10, all of the low ones equal.
    #[test]
    fn the_error_is_at_least_half_a_step_of_the_clock() {
        let times =
            (0..60).map(|at| if at % 7 == 0 { 300.0 } else { 280.0 + f64::from(at % 2) * 10.0 });
        let err = |is_read_elsewhere: bool| {
            let mark = RunMark { is_read_elsewhere, ..mark(None) };
            low(times.clone().map(|time| (time, mark))).t0().unwrap().floor.err
        };
        assert_eq!((err(false), err(true)), (Some(0.0), Some(5.0)));
    }

    /// Twenty runs from 100, and run 8 at 50.
    fn with_one_alone(odd: RunMark, others: impl Fn(usize) -> RunMark) -> LowT0 {
        let run = |at: usize| if at == 7 { (50.0, odd) } else { (100.0 + at as f64, others(at)) };
        low((0..20).map(run)).t0().unwrap()
    }

    #[test]
    fn a_run_that_stands_alone_is_left_out_only_if_it_did_less() {
        let faults = |n: f64| RunMark { counts: [None, Some(n), None], ..mark(None) };
        let others = |at: usize| faults(500.0 + (at % 3) as f64);
        let odd = with_one_alone(faults(120.0), others);
        let lone = odd.lone.unwrap();
        let less = Oddity::Less { count: WorkCount::PageFaults, value: 120.0, others: 500.0 };
        assert_eq!((lone.run, lone.next, lone.below), (8, 100.0, 0.5));
        assert_eq!(lone.oddities, [less]);
        assert_eq!(odd.most, 100.0);
        assert!(odd.floor.value > 90.0 && odd.floor.err.unwrap() < 10.0, "{:?}", odd.floor);
        // Equal page faults: t0 rests on the run, and its error reaches the others.
        let kept = with_one_alone(faults(499.0), others);
        assert!(!kept.lone.unwrap().is_left_out());
        assert!(kept.most == 50.0 && kept.floor.err.unwrap() > 50.0, "{:?}", kept.floor);
        let exit = with_one_alone(RunMark { exit: 3, ..mark(None) }, |_| mark(None));
        assert_eq!(exit.lone.unwrap().oddities, [Oddity::Exit { status: 3 }]);
    }

    /// The only run on a quiet core is the best, and takes less CPU time than the loaded ones.
    #[test]
    fn the_only_quiet_run_is_not_left_out() {
        let cpu =
            |ns: f64, is_shared| RunMark { counts: [None, None, Some(ns)], ..mark(is_shared) };
        let is_left_out = |odd: f64, is_quiet: Option<bool>| {
            let others = |at: usize| cpu(100.0 + at as f64, is_quiet.map(|it| !it));
            with_one_alone(cpu(odd, Some(false)), others).lone.unwrap().is_left_out()
        };
        assert!(!is_left_out(60.0, Some(false)));
        assert!(!is_left_out(60.0, None));
        // The others were on a quiet core too, or the distance is too large for a neighbour.
        assert!(is_left_out(60.0, Some(true)));
        assert!(is_left_out(45.0, None));
    }

    #[test]
    fn the_run_that_is_left_out_tells_nothing_of_the_core() {
        let faults =
            |n: f64, is_shared| RunMark { counts: [None, Some(n), None], ..mark(Some(is_shared)) };
        let found = with_one_alone(faults(1.0, false), |at| faults(500.0, at > 2));
        // Three of the five next runs began on a quiet core.
        assert_eq!(found.met_quiet, Some(true));
        let found = with_one_alone(faults(1.0, false), |at| faults(500.0, at > 1));
        assert_eq!(found.met_quiet, Some(false));
    }
}
