//! Compares the values of arms with a ceiling (`--fail-on above:VALUE`).

use stats::{Interval, PointEstimate};

use crate::clocks::compares_times;
use crate::exact::AGREE_WITHIN;
use crate::summary::ArmSummary;
use crate::verdict::{GateAnswer, worst_of};
use model::values::Ceiling;
use record::plan::Plan;
use record::plan::counting::AGREEING_RUNS;

/// Half width of the interval of t0, in errors. Two sessions of one program differ by more than twice their combined
/// errors in 2 of 100 pairs, 1 on each side (docs/experiments.md, "t0 and clean time").
const N_ERRORS: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CeilingAnswer {
    pub arm: usize,
    /// Fails if the whole interval is above the ceiling, passes if no part is.
    pub answer: GateAnswer,
    /// The interval of the value; an unknown end is infinite.
    pub interval: Interval,
}

/// The answers for the judged arms: the new ones if there is a reference, otherwise all. Errors: the values have
/// another unit than the ceiling, or higher values are better.
pub fn against_ceiling(
    plan: &Plan,
    arms: &[ArmSummary],
    ceiling: Ceiling,
) -> Result<Vec<CeilingAnswer>, String> {
    let references: Vec<usize> =
        plan.compared().iter().map(|&arm| plan.reference_of(arm)).collect();
    let judged = plan.candidates().filter(|(arm, _)| !references.contains(arm));
    let answers = judged.map(|(arm, planned)| {
        ceiling.check(planned.unit, plan.policy.better)?;
        let interval = arms.get(arm).map_or(Interval::ALL, |summary| interval(plan, summary));
        Ok(CeilingAnswer { arm, answer: answer(interval, ceiling.value), interval })
    });
    answers.collect()
}

/// The worst answer; of equally bad ones, the arm with the largest value.
pub fn worst(answers: &[CeilingAnswer]) -> Option<&CeilingAnswer> {
    worst_of(answers, |it| (it.answer, it.interval.hi)).map(|at| &answers[at])
}

pub fn answer(interval: Interval, most: f64) -> GateAnswer {
    if interval.lo > most {
        GateAnswer::Fail
    } else if interval.hi <= most {
        GateAnswer::Pass
    } else {
        GateAnswer::Undecided
    }
}

/// Two errors on each side.
pub fn around(PointEstimate { value, err }: PointEstimate) -> Interval {
    Interval { lo: value - N_ERRORS * err, hi: value + N_ERRORS * err }
}

/// The arm's value with two errors on each side. An upper limit has only this end. t0 of runs is at most the lowest run.
/// t0 of slices is a value of whole processes, so the lowest slice is no limit. Counts that repeat have no error.
fn interval(plan: &Plan, arm: &ArmSummary) -> Interval {
    let Some(times) = &arm.times else { return Interval::ALL };
    let repeats =
        arm.n_runs >= AGREEING_RUNS as usize && times.max <= times.min * (1.0 + AGREE_WITHIN);
    if repeats && plan.valgrind().is_some() {
        return Interval { lo: times.min, hi: times.max };
    }
    let value = arm.net_t0().unwrap_or(times.t0);
    let around = value.measured().map_or(Interval::ALL, around);
    let is_lowest = compares_times(plan) && arm.net.is_none() && arm.sliced.is_none();
    let most = match times.is_upper_limit {
        true => times.t0.value,
        false if is_lowest => times.most(),
        false => f64::INFINITY,
    };
    Interval { lo: around.lo, hi: around.hi.min(most) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summarise;
    use crate::summary::SliceSummary;
    use model::values::metric::Metric;
    use model::values::{Better, DecideOn, ValueUnit};
    use record::fixture::record;
    use record::{Record, Row};

    fn session(names: &[&str], n_runs: u32) -> Record {
        let mut record = record(names);
        let mut stream = stats::Stream::new(1);
        for block in 0..n_runs {
            for arm in 0..names.len() as u32 {
                let mut row = Row::new(block, arm, Some(block), u64::from(block));
                row.set(Metric::WallNs, Some(10_000_000 + (1e6 * stream.unit()) as u64));
                record.rows.push(&row);
            }
        }
        record
    }

    fn answers(record: &Record, most: &str) -> Vec<(usize, GateAnswer)> {
        let arms = summarise(record);
        let found = against_ceiling(&record.header.plan, &arms, most.parse().unwrap()).unwrap();
        found.iter().map(|it| (it.arm, it.answer)).collect()
    }

    #[test]
    fn a_value_is_judged_by_its_interval() {
        let alone = session(&["a"], 100);
        assert_eq!(answers(&alone, "20ms"), [(0, GateAnswer::Pass)]);
        assert_eq!(answers(&alone, "9ms"), [(0, GateAnswer::Fail)]);
        let t0 = summarise(&alone)[0].times.as_ref().unwrap().t0;
        let near = format!("{}ns", t0.value - t0.err.unwrap());
        assert_eq!(answers(&alone, &near), [(0, GateAnswer::Undecided)], "one error below");
        // Only the new arm is judged.
        assert_eq!(answers(&session(&["a", "b"], 100), "9ms"), [(1, GateAnswer::Fail)]);
    }

    /// t0 is not above the lowest run, even without an error.
    #[test]
    fn without_an_error_only_the_lowest_run_is_known() {
        for n_runs in [1, 2, 4] {
            let few = session(&["a"], n_runs);
            assert_eq!(answers(&few, "20ms"), [(0, GateAnswer::Pass)], "{n_runs} runs");
            assert_eq!(answers(&few, "1ms"), [(0, GateAnswer::Undecided)], "{n_runs} runs");
        }
        assert_eq!(answers(&session(&["a"], 0), "20ms"), [(0, GateAnswer::Undecided)]);
        // An upper limit has no lower end either.
        let mut record = session(&["a"], 100);
        let mut arm = summarise(&record).swap_remove(0);
        let set_limit = |arm: &mut ArmSummary, is_upper_limit| {
            let times = arm.times.as_mut().unwrap();
            (times.t0.err, times.is_upper_limit) = (None, is_upper_limit);
        };
        set_limit(&mut arm, true);
        let of = |record: &Record, arm: &ArmSummary, most| {
            answer(interval(&record.header.plan, arm), most)
        };
        assert_eq!(of(&record, &arm, 9e6), GateAnswer::Undecided);
        assert_eq!(of(&record, &arm, 11e6), GateAnswer::Pass);
        // The limit of programs that time themselves is their lowest process.
        arm.sliced = Some(SliceSummary { n_slices: 500, loops: 1, ..SliceSummary::default() });
        assert_eq!(of(&record, &arm, 9e6), GateAnswer::Undecided);
        assert_eq!(of(&record, &arm, 11e6), GateAnswer::Pass);
        // A median can be above the lowest value.
        (arm.sliced, record.header.plan.policy.decide_on) = (None, Some(DecideOn::Maxrss));
        record.header.plan.arms[0].unit = ValueUnit::Bytes;
        set_limit(&mut arm, false);
        assert_eq!(of(&record, &arm, 11e6), GateAnswer::Undecided);
    }

    #[test]
    fn the_unit_has_to_be_that_of_what_decides() {
        let mut record = session(&["a"], 10);
        let arms = summarise(&record);
        let check = |record: &Record, most: &str| {
            against_ceiling(&record.header.plan, &arms, most.parse().unwrap()).map(drop)
        };
        let error = check(&record, "64MiB").unwrap_err();
        assert!(error.contains("above:64MiB") && error.contains("above:20ms"), "{error}");
        record.header.plan.arms[0].unit = ValueUnit::Bytes;
        assert_eq!(check(&record, "64MiB"), Ok(()));
        record.header.plan.policy.better = Better::Higher;
        assert!(check(&record, "64MiB").unwrap_err().contains("more is better"));
    }

    #[test]
    fn the_worst_answer_is_told() {
        let of =
            |arm, answer, hi| CeilingAnswer { arm, answer, interval: Interval { lo: 0.0, hi } };
        let passes = [of(0, GateAnswer::Pass, 2.0), of(1, GateAnswer::Pass, 3.0)];
        assert_eq!(worst(&passes).unwrap().arm, 1);
        let open = [passes[1], of(2, GateAnswer::Undecided, 1.0)];
        assert_eq!(worst(&open).unwrap().arm, 2);
        let failed = [open[1], of(3, GateAnswer::Fail, 0.5), passes[0]];
        assert_eq!(worst(&failed).unwrap().arm, 3);
        assert_eq!(worst(&[]), None);
    }
}
