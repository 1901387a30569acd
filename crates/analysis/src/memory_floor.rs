//! Peak memory that may be the launcher's: the kernel starts a child's `ru_maxrss` at its parent's peak
//! (`setmax_mm_hiwater_rss` in fs/exec.c), so a value up to the launcher's peak is only an upper limit.

use crate::comparison::{Evidence, NoTest, PairedDecision, PairedTest, RatioInterval};
use crate::summary::{LimitCause, TimeSummary};
use crate::walls::Walls;
use model::values::DecideOn;
use record::Record;

/// The launcher's peak if memory is compared, bytes.
fn peak(record: &Record) -> Option<f64> {
    let is_compared = record.header.plan.policy.decide_on == Some(DecideOn::Maxrss);
    let kib = record.launcher_peak_kib().filter(|_| is_compared)?;
    Some(kib as f64 * 1024.0)
}

/// Makes the compared memory of an arm an upper limit, if it may be the launcher's.
pub(super) fn limit(record: &Record, memory: &mut TimeSummary) {
    if peak(record).is_some_and(|peak| memory.median.value <= peak) {
        memory.limit(memory.median.value, LimitCause::MemoryFloor);
    }
}

/// Which arm of a pair has a run whose memory may be the launcher's. One such run is enough, because it moves a floor and
/// a mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryLimits {
    pub(super) old: bool,
    pub(super) new: bool,
}

impl MemoryLimits {
    pub fn of(record: &Record, walls: &Walls, old: usize, new: usize) -> Self {
        let is_limit = |arm| peak(record).is_some_and(|peak| walls.has_up_to(arm, peak));
        Self { old: is_limit(old), new: is_limit(new) }
    }

    /// The limits of several sessions together.
    pub(super) fn or(self, other: Self) -> Self {
        Self { old: self.old || other.old, new: self.new || other.new }
    }

    fn open(self, it: RatioInterval) -> RatioInterval {
        RatioInterval {
            lo: if self.new { 0.0 } else { it.lo },
            hi: if self.old { f64::INFINITY } else { it.hi },
            ..it
        }
    }

    /// The interval of a test. An arm at the launcher's peak may use any memory below, so only a difference that less
    /// memory makes larger is decided, and its interval has one end. `None` for any other.
    pub(super) fn bounded(self, ratio: RatioInterval, is_different: bool) -> Option<RatioInterval> {
        let ratio = self.open(ratio);
        let is_certain = is_different && (ratio.lo >= 1.0 || ratio.hi <= 1.0);
        (is_certain || !(self.old || self.new)).then_some(ratio)
    }

    pub(super) fn evidence(self, paired: PairedTest) -> Evidence {
        let is_different = paired.decision == PairedDecision::Different;
        let Some(ratio) = self.bounded(paired.ratio, is_different) else {
            return Evidence::None { because: NoTest::MemoryFloor };
        };
        let net_ratio = paired.net_ratio.map(|it| self.open(it));
        let mean_ratio = self.open(paired.mean_ratio);
        Evidence::Paired(PairedTest { ratio, net_ratio, mean_ratio, ..paired })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{GateAnswer, Verdict, judge};
    use crate::{against_ceiling, analyse, summarise};
    use model::values::ValueUnit;
    use model::values::metric::Metric;
    use record::{Event, Rows, fixture};

    /// A session with so much memory of each arm in each block, and a launcher of 1000 KiB.
    fn session(kib: impl Fn(u32) -> [u64; 2]) -> Record {
        let mut record = fixture::record(&["a", "b"]);
        record.header.plan.policy.decide_on = Some(DecideOn::Maxrss);
        record.header.plan.arms.iter_mut().for_each(|arm| arm.unit = ValueUnit::Bytes);
        record.rows = Rows::of(record.header.plan.policy.compared());
        for (block, mut row) in fixture::pairs(40) {
            let noise = u64::from(row.step * 7919 % 13);
            row.set(Metric::MaxrssKib, Some(kib(block)[row.arm as usize] + noise));
            record.rows.push(&row);
        }
        let (evidence_ns, survivors) = (None, Vec::new());
        record.events.push(Event::Launcher { maxrss_floor_kib: 1000, evidence_ns, survivors });
        record
    }

    /// The verdict, and which ends of the interval are known; or why there is no test.
    fn judged(record: &Record) -> Result<(Verdict, [bool; 2]), NoTest> {
        let analysis = analyse(record);
        let found = &analysis.comparisons[0];
        let ends = found.evidence.test()?.ratio.ends().map(|end| end.is_some());
        Ok((judge(found, &record.header.plan.policy).verdict, ends))
    }

    #[test]
    fn memory_below_the_launchers_is_not_compared() {
        let judged = |kib| judged(&session(|_| kib));
        assert_eq!(judged([900, 900]), Err(NoTest::MemoryFloor));
        assert_eq!(judged([900, 980]), Err(NoTest::MemoryFloor), "the launcher's peak grows");
        assert_eq!(judged([900, 3000]), Ok((Verdict::Slower, [true, false])));
        assert_eq!(judged([3000, 900]), Ok((Verdict::Faster, [false, true])));
        assert_eq!(judged([2000, 3000]), Ok((Verdict::Slower, [true, true])));
    }

    /// A quarter of the reference's runs are at the launcher's peak, and its median is above.
    #[test]
    fn memory_that_is_sometimes_the_launchers_has_one_end() {
        let against =
            |new| judged(&session(|block| [if block % 4 == 0 { 900 } else { 2000 }, new]));
        assert_eq!(against(3000), Ok((Verdict::Slower, [true, false])));
        assert_eq!(against(1500), Err(NoTest::MemoryFloor));
    }

    #[test]
    fn memory_below_the_launchers_is_above_no_ceiling() {
        let record = session(|_| [3000, 900]);
        let arms = summarise(&record);
        let answer = |most: &str| {
            let ceiling = most.parse().unwrap();
            against_ceiling(&record.header.plan, &arms, ceiling).unwrap()[0].answer
        };
        assert_eq!(answer("1MiB"), GateAnswer::Pass);
        assert_eq!(answer("64KiB"), GateAnswer::Undecided);
    }
}
