//! Is the machine steady? The checks of each arm's series, its slow start and its outliers, as data; `render` has the
//! words.
//!
//! The checks concern the measured times and trust in `t0 +- err`. A comparison of interleaved runs is exact in any
//! case.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use stats::series::{self, Stability};

use crate::arm_values::{by_arm, sessions};
use crate::clocks::compares_time;
use crate::outliers::{self, Outliers};
use model::values::metric::Metric;
use record::Record;
use record::plan::Role;

/// Fewest runs for a check: the tables of the 1 % points begin here.
pub const RUNS_MIN: usize = 20;
/// Evidence on single runs that `--metrics wall` or a machine may lack.
const EVIDENCE: [Metric; 3] = [Metric::PreemptedNs, Metric::RunQueueWaitNs, Metric::Migrations];

/// The checks of a record.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RecordCheck {
    /// The checks of each arm of the plan, controls included, in its order.
    pub arms: Vec<ArmCheck>,
    /// Metrics that would name the cause of an outlier, but that no run has.
    pub not_recorded: Vec<&'static str>,
}

impl RecordCheck {
    /// The verdict on all arms, controls included: a control is subtracted from every other arm.
    pub fn verdict(&self) -> Steadiness {
        let worst = [Steadiness::Unstable, Steadiness::TooFewRuns, Steadiness::UnfitTimes];
        let is_any =
            |steadiness: &Steadiness| self.arms.iter().any(|arm| arm.steadiness == *steadiness);
        worst.into_iter().find(is_any).unwrap_or(Steadiness::Stable)
    }
}

/// The checks of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArmCheck {
    /// Index in the plan.
    pub arm: usize,
    /// Label of the arm.
    pub label: String,
    /// Whether the arm is a control, which is only subtracted.
    pub is_control: bool,
    /// Timed runs that count.
    pub n_runs: usize,
    /// The verdict.
    pub steadiness: Steadiness,
    /// Checks behind the verdict. Empty with too few runs. Checks that are undefined for these times (all equal) are
    /// left out.
    pub checks: Vec<SteadinessCheck>,
    /// Slower runs at the beginning. `None` for fewer than two: one slow run happens by chance.
    pub slow_start: Option<SlowStart>,
    /// Runs far above the others; `None` with too few runs.
    pub outliers: Option<Outliers>,
}

/// The verdict on the steadiness of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Steadiness {
    /// No check raised a flag.
    Stable,
    /// At least one check raised a flag.
    Unstable,
    /// There are fewer than [`RUNS_MIN`] runs.
    TooFewRuns,
    /// A time was zero, so there are no ratios.
    UnfitTimes,
}

/// The result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SteadinessCheck {
    /// The target of the check, with its size.
    #[serde(flatten)]
    pub flag: SteadinessFlag,
    /// The test statistic.
    pub statistic: f64,
    /// The flag is raised beyond this limit: the 1 % point of the statistic.
    pub limit: f64,
    /// Limit of the absolute size, as a log ratio; `None` if only the statistic counts.
    pub size_limit: Option<f64>,
    /// Whether the flag is raised.
    pub raised: bool,
}

/// The target of a check, with its size. Changes are fractions: 0.031 is 3.1 % more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "flag", rename_all = "snake_case")]
pub enum SteadinessFlag {
    /// Neighbouring runs are alike; they are worth as much as `n_eff` independent ones.
    Correlated { n_runs: usize, n_eff: f64 },
    /// From the first run to the last.
    Drifting { change: f64 },
    /// `at_run`, from 1, is the first run after the step.
    Stepped { change: f64, at_run: usize },
    /// More than one typical time. `spread`: from the 5 % to the 95 % quantile.
    Modes { spread: f64 },
    /// From the quarter of the session with the lowest floor to the one with the highest.
    FloorMoved { spread: f64 },
}

impl SteadinessFlag {
    /// Whether the times at the end are other times than at the beginning.
    pub fn is_change(&self) -> bool {
        matches!(self, Self::Drifting { .. } | Self::Stepped { .. } | Self::FloorMoved { .. })
    }

    /// Whether the times alternate between modes from the first run to the last. They may begin in any mode, so no
    /// warm-up leaves it out.
    pub(crate) fn alternates(flags: &[Self]) -> bool {
        let has_modes = flags.iter().any(|flag| matches!(flag, Self::Modes { .. }));
        has_modes && !flags.iter().any(Self::is_change)
    }
}

/// The first runs took longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SlowStart {
    /// Number of slow runs.
    pub n_runs: usize,
    /// Warm-up runs that would have left them out.
    pub n_warmups: usize,
}

pub fn check_record(record: &Record) -> RecordCheck {
    let plan = &record.header.plan;
    let each = sessions(record).into_iter().flat_map(|(first, session)| {
        let arms = check_session(session).into_iter();
        arms.map(move |it| ArmCheck { arm: it.arm + first, ..it })
    });
    let arms = each.map(|it| ArmCheck { label: plan.full_label(it.arm), ..it }).collect();
    // These metrics explain times, not values, memory or counts.
    let has_times = sessions(record).iter().any(|(_, session)| {
        let plan = &session.header.plan;
        plan.arms.iter().any(|arm| compares_time(plan, arm))
    });
    let missing = EVIDENCE.iter().filter(|metric| has_times && !record.rows.has(**metric));
    RecordCheck { arms, not_recorded: missing.map(|metric| metric.info().name).collect() }
}

fn check_session(record: &Record) -> Vec<ArmCheck> {
    let plan = &record.header.plan;
    let of_arm = |(arm, (indices, times)): (usize, &ArmRuns)| {
        let (steadiness, checks) = checks(times, plan.seed);
        let slow_start = slow_start(times, plan.n_warmups, &raised(&checks));
        let clock = compares_time(plan, &plan.arms[arm]).then_some(plan.policy.clock);
        ArmCheck {
            arm,
            label: String::new(),
            is_control: plan.arms[arm].role != Role::Candidate,
            n_runs: indices.len(),
            steadiness,
            checks,
            slow_start,
            outliers: (times.len() >= RUNS_MIN)
                .then(|| outliers::find(&record.rows, indices, times, clock))
                .flatten(),
        }
    };
    runs_by_arm(record).par_iter().enumerate().map(of_arm).collect()
}

/// The raised flags and the slow start of each unstable candidate.
pub(super) fn unstable_candidates(
    record: &Record,
) -> Vec<(usize, Vec<SteadinessFlag>, Option<SlowStart>)> {
    let plan = &record.header.plan;
    let of_arm = |(arm, (_, times)): (usize, &ArmRuns)| {
        if plan.arms[arm].role != Role::Candidate {
            return None;
        }
        let (steadiness, checks) = checks(times, plan.seed);
        let flags = raised(&checks);
        let slow_start = slow_start(times, plan.n_warmups, &flags);
        (steadiness == Steadiness::Unstable).then_some((arm, flags, slow_start))
    };
    runs_by_arm(record).par_iter().enumerate().filter_map(of_arm).collect()
}

/// The flags that are raised, in the order of the checks.
pub fn raised(checks: &[SteadinessCheck]) -> Vec<SteadinessFlag> {
    checks.iter().filter(|check| check.raised).map(|check| check.flag).collect()
}

/// Row indices and times of an arm's runs that count, in run order.
type ArmRuns = (Vec<usize>, Vec<f64>);

fn runs_by_arm(record: &Record) -> Vec<ArmRuns> {
    let n_arms = record.header.plan.arms.len();
    let runs = by_arm(&record.rows, n_arms, |rows, index| Some((index, rows.headline(index)?)));
    runs.into_iter().map(|runs| runs.into_iter().unzip()).collect()
}

/// The verdict on a series in run order, with its checks.
fn checks(times: &[f64], seed: u64) -> (Steadiness, Vec<SteadinessCheck>) {
    if times.len() < RUNS_MIN {
        return (Steadiness::TooFewRuns, Vec::new());
    }
    let Ok(found) = series::stability(times, seed) else {
        return (Steadiness::UnfitTimes, Vec::new());
    };
    let checks: Vec<SteadinessCheck> = found
        .checks()
        .iter()
        .filter_map(|check| in_fractions(check, &found, times.len()))
        .collect();
    let is_unstable = checks.iter().any(|check| check.raised);
    (if is_unstable { Steadiness::Unstable } else { Steadiness::Stable }, checks)
}

/// A check whose flag has its size as a fraction.
fn in_fractions(
    check: &series::StabilityCheck,
    stability: &Stability,
    n_runs: usize,
) -> Option<SteadinessCheck> {
    let flag = match check.flag {
        series::StabilityFlag::Correlated => {
            SteadinessFlag::Correlated { n_runs, n_eff: stability.independence?.n_eff }
        }
        series::StabilityFlag::Drifting => {
            SteadinessFlag::Drifting { change: stability.drift.change.exp_m1() }
        }
        series::StabilityFlag::Stepped => SteadinessFlag::Stepped {
            change: stability.step.change.exp_m1(),
            at_run: stability.step.scan.at + 1,
        },
        series::StabilityFlag::Modes => {
            SteadinessFlag::Modes { spread: stability.modes.spread.exp_m1() }
        }
        series::StabilityFlag::FloorMoved => {
            SteadinessFlag::FloorMoved { spread: stability.floor.spread.exp_m1() }
        }
    };
    Some(SteadinessCheck {
        flag,
        statistic: check.statistic?,
        limit: check.limit,
        size_limit: check.size_limit,
        raised: check.raised,
    })
}

/// The warm-up prefix of a series in run order.
fn slow_start(times: &[f64], n_warmups: u32, flags: &[SteadinessFlag]) -> Option<SlowStart> {
    if SteadinessFlag::alternates(flags) {
        return None;
    }
    let n_runs = stats::warmup::prefix(&stats::logs(times).ok()?).ok()?;
    let n_warmups = usize::try_from(n_warmups).ok()? + n_runs;
    (n_runs >= 2).then_some(SlowStart { n_runs, n_warmups })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::values::ValueUnit;
    use record::fixture::{record, run};

    /// A record of one arm; the first run is a warm-up.
    fn check(times_ns: &[u64]) -> ArmCheck {
        let mut record = record(&["a"]);
        run(&mut record, 0, None, 1);
        for (block, &wall_ns) in (0..).zip(times_ns) {
            run(&mut record, 0, Some(block), wall_ns);
        }
        check_record(&record).arms.remove(0)
    }

    fn steady() -> Vec<u64> {
        (0..40).map(|i| 1_000_000 + (i * i * 7919 + i * 104_729) % 10_007).collect()
    }

    #[test]
    fn a_steady_arm_is_stable() {
        let found = check(&steady());
        assert_eq!((found.n_runs, found.steadiness), (40, Steadiness::Stable), "{found:#?}");
        assert_eq!(found.checks.len(), 5);
        assert_eq!(found.slow_start, None);
    }

    #[test]
    fn a_step_has_its_size_and_its_first_run() {
        let step = |(i, ns): (usize, u64)| if i < 20 { ns } else { ns * 5 / 4 };
        let found = check(&steady().into_iter().enumerate().map(step).collect::<Vec<_>>());
        assert_eq!(found.steadiness, Steadiness::Unstable);
        let flags = raised(&found.checks);
        let Some(SteadinessFlag::Stepped { change, at_run }) =
            flags.iter().find(|flag| matches!(flag, SteadinessFlag::Stepped { .. }))
        else {
            panic!("{flags:?}")
        };
        assert_eq!(*at_run, 21);
        assert!((change - 0.25).abs() < 0.01, "{change}");
        assert!(
            flags.iter().any(|flag| matches!(flag, SteadinessFlag::Correlated { n_runs: 40, .. }))
        );
    }

    #[test]
    fn alternating_modes_have_no_slow_start() {
        let times = [9.0, 8.0, 5.0, 5.1, 5.2, 5.0, 5.3, 5.1, 5.0, 5.2];
        let modes = SteadinessFlag::Modes { spread: 0.5 };
        let step = SteadinessFlag::Stepped { change: -0.4, at_run: 3 };
        let expected = Some(SlowStart { n_runs: 2, n_warmups: 3 });
        assert_eq!(slow_start(&times, 1, &[]), expected);
        assert_eq!(slow_start(&times, 1, &[modes, step]), expected);
        assert_eq!(slow_start(&times, 1, &[modes]), None);
    }

    #[test]
    fn a_slow_start_asks_for_warmups_beyond_those_there_were() {
        let mut times = steady();
        for (ns, slow) in times.iter_mut().zip([3, 2, 2]) {
            *ns *= slow;
        }
        // The plan has one warm-up.
        assert_eq!(check(&times).slow_start, Some(SlowStart { n_runs: 3, n_warmups: 4 }));
    }

    #[test]
    fn what_cannot_be_told_is_said() {
        let few = check(&steady()[..19]);
        assert_eq!((few.steadiness, few.outliers), (Steadiness::TooFewRuns, None));
        let mut zero = steady();
        zero[7] = 0;
        assert_eq!(check(&zero).steadiness, Steadiness::UnfitTimes);
        let equal = check(&[5; 20]);
        assert_eq!((equal.steadiness, equal.checks.len()), (Steadiness::Stable, 4));
    }

    #[test]
    fn values_lack_no_evidence() {
        let missing = |unit: ValueUnit| {
            let mut record = record(&["a"]);
            record.header.plan.arms[0].unit = unit;
            check_record(&record).not_recorded
        };
        assert_eq!(missing(ValueUnit::Time), ["preempted", "run-queue-wait", "migrations"]);
        assert!(missing(ValueUnit::Bytes).is_empty());
    }
}
