//! The comparisons of a session, during it and afterwards. Both use interim analyses at the same numbers of pairs, so
//! they decide alike.

use rayon::prelude::*;
use stats::sequential::{Conclusion, SequentialDesign, SequentialTest, holm_shares};
use stats::spending::{InterimPoint, Spending, sizes};
use stats::suspects::share_of_looks;
use stats::verdict::IntervalVerdict;
use stats::{Interval, Invalid, relabel};

use crate::comparison::RatioInterval;
use crate::exact::{AGREE_WITHIN, repeated_ratio};
use crate::trial::{GainTrial, TrialOutcome};
use crate::walls::Walls;
use model::values::Estimand;
use record::plan::counting::AGREEING_RUNS;
use record::plan::{Plan, Stopping};
use record::{EndReason, Event, Record};

/// Separates the random stream of re-labellings from the schedule's.
pub(super) const ORBIT_STREAM: u64 = 0xd1b5_4a32_d192_ed03;

/// One arm against the reference.
#[derive(Debug)]
pub struct ArmComparison {
    pub arm: usize,
    pub reference: usize,
    /// Number of comparisons in the family, this one included.
    pub family: usize,
    pub test: SequentialTest,
}

/// Progress of the comparisons, for display: errors and expectations are rough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparisonProgress {
    /// Comparisons that the session waits for.
    pub n_comparisons: usize,
    pub n_open: usize,
    pub arms: (usize, usize),
    /// Ratio of the first undecided comparison.
    pub ratio: RatioInterval,
    /// Blocks after which all comparisons are expected to be decided.
    pub expected_blocks: f64,
}

#[derive(Debug)]
pub struct SessionComparisons {
    /// The comparisons in the order of the plan, the twin of the reference last.
    comparisons: Vec<ArmComparison>,
    /// The trial of the first comparison, if the session is one.
    trial: Option<GainTrial>,
    n_compared: usize,
    /// Comparisons in the family, these included.
    n_family: usize,
    rule: LookRule,
    /// Whether the mean matters: not if the user asks for another part of the distribution.
    asks_for_mean: bool,
    is_over: bool,
}

/// When interim analyses happen, and the fraction of the session at each.
#[derive(Clone, Copy, Debug)]
struct LookRule {
    stopping: Stopping,
    /// Fewest blocks before an interim analysis. The last one, at the end of the budget, may have fewer.
    n_blocks_min: usize,
    n_blocks_max: usize,
    budget_ns: u64,
    /// Whether suspects get more time, so less of the error is spent.
    has_suspects: bool,
    /// Whether valgrind counts, so few runs may agree.
    may_repeat: bool,
}

impl LookRule {
    fn of(plan: &Plan) -> Self {
        let (n_min, n_max, budget_ns) = plan.blocks.bounds();
        let n_blocks_min = if plan.stopping == Stopping::AtTheEnd { 0 } else { n_min as usize };
        let has_suspects = plan.suite.as_ref().is_some_and(|suite| suite.has_suspects);
        let n_blocks_max = n_max as usize;
        let may_repeat = plan.valgrind().is_some();
        let stopping = plan.stopping;
        Self { stopping, n_blocks_min, n_blocks_max, budget_ns, has_suspects, may_repeat }
    }

    fn sizes(&self) -> Vec<usize> {
        let mut sizes = sizes(self.n_blocks_max);
        sizes.retain(|&size| size >= self.n_blocks_min);
        sizes
    }

    /// The points that two arms have reached. The fraction of a session is by blocks or by time, whichever is larger.
    /// Neither depends on the labels of the arms, except slightly at the last point: the clock ends the session, and
    /// the last blocks take less time if the slower arm ran at a fast moment.
    fn points(&self, walls: &Walls, old: usize, new: usize, is_over: bool) -> Vec<InterimPoint> {
        let n_pairs = walls.n_pairs(old, new);
        let mut points = Vec::new();
        if self.stopping != Stopping::AtTheEnd {
            let reached = self.sizes().into_iter().take_while(|&size| size <= n_pairs);
            points.extend(reached.map(|n_pairs| {
                let fraction = self.fraction(walls, (old, new), n_pairs, false);
                InterimPoint { n_pairs, fraction }
            }));
        }
        if is_over {
            points.retain(|point| point.n_pairs < n_pairs);
            let fraction = self.fraction(walls, (old, new), n_pairs, true);
            points.push(InterimPoint { n_pairs, fraction });
        }
        points
    }

    /// The fraction of a session at a look, or at its end.
    fn fraction(
        &self,
        walls: &Walls,
        (old, new): (usize, usize),
        n_pairs: usize,
        is_at_end: bool,
    ) -> f64 {
        if is_at_end && !self.has_suspects {
            return 1.0;
        }
        let elapsed_ns = walls.label_blind_ns(old, new, n_pairs).unwrap_or(0);
        let of_time = elapsed_ns as f64 / self.budget_ns.max(1) as f64;
        let of_blocks = n_pairs as f64 / self.n_blocks_max as f64;
        let fraction = of_time.max(of_blocks).min(1.0);
        if self.has_suspects { share_of_looks(fraction, is_at_end) } else { fraction }
    }
}

/// A comparison and its share of alpha.
#[derive(Clone, Copy)]
pub struct SharedAlpha<'a> {
    pub tested: &'a ArmComparison,
    pub share: f64,
}

impl SharedAlpha<'_> {
    /// Whether more blocks cannot change the verdict.
    pub fn is_settled(&self) -> bool {
        self.tested.test.is_settled(self.share)
    }
}

impl SessionComparisons {
    pub fn new(plan: &Plan) -> Self {
        let compared = plan.compared();
        let (n_compared, n_family) = (compared.len(), plan.family());
        let (alpha, estimand) = (plan.policy.alpha, estimand_of(plan.policy.estimand));
        let seed = plan.seed ^ ORBIT_STREAM;
        let in_family = compared.into_iter().map(|arm| (arm, n_family));
        let comparisons = in_family
            .chain(plan.twin().map(|twin| (twin, 1)))
            .map(|(arm, family)| {
                let question = SequentialDesign {
                    spending: Spending { alpha, family, n_min: 0 },
                    estimand,
                    margin: plan.policy.same_within.ln_1p(),
                    limit: plan.slower_limit.ln_1p(),
                    seed,
                };
                let reference = plan.reference_of(arm);
                ArmComparison { arm, reference, family, test: SequentialTest::new(question) }
            })
            .collect();
        let trial = plan.trial.as_ref();
        let trial = trial.map(|rule| GainTrial::new(rule, alpha, seed, estimand));
        let asks_for_mean = plan.policy.estimand == Estimand::Adaptive;
        let rule = LookRule::of(plan);
        Self { comparisons, trial, n_compared, n_family, rule, asks_for_mean, is_over: false }
    }

    /// The comparisons of a record, with its session's interim analyses. Errors: the times are unfit for a test.
    pub fn of(record: &Record, walls: &Walls) -> Result<Self, Invalid> {
        let plan = &record.header.plan;
        let mut watch = Self::new(plan);
        watch.is_over = match plan.stopping {
            Stopping::AtTheEnd => true,
            // The last block and the end of the budget do not depend on the arms' labels, except for the last block of
            // a suspect.
            Stopping::WhenDecided | Stopping::AtADifference => {
                record.end_reason() == Some(EndReason::Complete)
                    && !record.events.contains(&Event::Suspect)
            }
        };
        watch.take(walls)?;
        Ok(watch)
    }

    /// Makes every interim analysis that is due. Returns whether there was one. Errors: the times are unfit for a test.
    pub fn take(&mut self, walls: &Walls) -> Result<bool, Invalid> {
        let (rule, is_over) = (self.rule, self.is_over);
        let taken = self.comparisons.par_iter_mut().map(|tested| {
            let reference = tested.reference;
            let points = rule.points(walls, reference, tested.arm, is_over);
            if points.last().is_none_or(|last| last.n_pairs <= tested.test.n_pairs_seen()) {
                return Ok(false);
            }
            tested.test.take(&walls.slots(reference, tested.arm).pairs()?, &points)
        });
        let taken: Vec<bool> = taken.collect::<Result<_, _>>()?;
        let is_taken = taken.contains(&true);
        if let (true, Some(trial), Some(first)) =
            (is_taken, &mut self.trial, self.comparisons.first())
        {
            let points = rule.points(walls, first.reference, first.arm, is_over);
            trial.take(&walls.slots(first.reference, first.arm).pairs()?, &points)?;
        }
        Ok(is_taken)
    }

    /// Warm-up blocks that a look leaves out: the most of any comparison. The times of whole pairs decide, whichever
    /// arm is which.
    pub fn n_warmup(&self, walls: &Walls) -> usize {
        let of_one = |tested: &ArmComparison| {
            let pairs = walls.slots(tested.reference, tested.arm).pairs().ok()?;
            Some(tested.test.n_warmup(&pairs))
        };
        self.comparisons.iter().filter_map(of_one).max().unwrap_or(0)
    }

    /// The number of blocks at which the next interim analysis is due if no run times out.
    pub fn next_look(&self, n_blocks: usize) -> Option<usize> {
        // A visit of a suite can end between a run and its look.
        let agreeing = (n_blocks + 1).max(AGREEING_RUNS as usize);
        let agreeing = Some(agreeing).filter(|_| self.rule.may_repeat);
        let all = agreeing.into_iter().chain(self.rule.sizes());
        all.filter(|&size| size > n_blocks).min()
    }

    /// Whether all counts repeat: nothing more to learn.
    pub fn repeats(&self, plan: &Plan, walls: &Walls) -> bool {
        if self.comparisons.is_empty() {
            let is_constant = |arm| walls.is_constant(arm, AGREEING_RUNS as usize, AGREE_WITHIN);
            let mut arms = plan.candidates().map(|(arm, _)| arm).peekable();
            return plan.valgrind().is_some() && arms.peek().is_some() && arms.all(is_constant);
        }
        let mut all = self.comparisons.iter();
        all.all(|it| repeated_ratio(plan, walls, (it.reference, it.arm)).is_some())
    }

    /// The candidates' comparisons, each with Holm's share of alpha.
    pub fn compared(&self) -> Vec<SharedAlpha<'_>> {
        let family = self.candidates();
        let tests: Vec<&SequentialTest> = family.iter().map(|tested| &tested.test).collect();
        let shares = holm_shares(&tests, self.n_family);
        family.iter().zip(shares).map(|(tested, share)| SharedAlpha { tested, share }).collect()
    }

    pub fn candidates(&self) -> &[ArmComparison] {
        &self.comparisons[..self.n_compared]
    }

    pub fn twin(&self) -> Option<&ArmComparison> {
        self.comparisons.get(self.n_compared)
    }

    /// The comparisons that the session waits for: the candidates, or the twin without candidates.
    pub fn awaited(&self) -> Vec<SharedAlpha<'_>> {
        match self.twin() {
            Some(twin) if self.n_compared == 0 => vec![SharedAlpha { tested: twin, share: 1.0 }],
            _ => self.compared(),
        }
    }

    /// The outcome of the trial, if there is one and it is known.
    pub fn trial(&self) -> Option<TrialOutcome> {
        self.trial.as_ref()?.outcome()
    }

    /// Whether all awaited comparisons are decided, or one differs if that is enough.
    pub fn is_decided(&self) -> bool {
        if self.trial.is_some() {
            return self.trial().is_some();
        }
        let awaited = self.awaited();
        if self.rule.stopping == Stopping::AtADifference {
            return awaited.iter().any(|it| it.tested.test.is_different(it.share));
        }
        awaited.iter().all(SharedAlpha::is_settled)
    }

    /// Progress after the last interim analysis.
    pub fn standing(&self) -> Option<ComparisonProgress> {
        let awaited = self.awaited();
        let open = awaited.iter().filter(|it| !it.is_settled()).map(|it| it.tested);
        let open: Vec<&ArmComparison> = open.collect();
        let first = open.first()?;
        let (log_ratio, err) = first.test.rough()?;
        let around = Interval { lo: log_ratio - err, hi: log_ratio + err };
        let expected = open.iter().filter_map(|tested| tested.test.expected_pairs());
        Some(ComparisonProgress {
            n_comparisons: awaited.len(),
            n_open: open.len(),
            arms: (first.arm, first.reference),
            ratio: RatioInterval::of_logs(log_ratio, around),
            expected_blocks: expected.fold(0.0, f64::max),
        })
    }

    /// Whether half of each interval is at most this log ratio. Errors: the times are unfit for a test.
    pub fn is_within(&self, walls: &Walls, half_width: f64) -> Result<bool, Invalid> {
        let narrow = |found: &Conclusion| found.interval.half_width() <= half_width;
        all_conclusions(walls, &self.awaited(), narrow)
    }

    /// Whether the size of each difference is known at its share of alpha: half of the interval is at most `share_max`
    /// of the log ratio. Arms that are the same within the margin have a known size. Errors: the times are unfit for a
    /// test.
    pub fn is_sized(
        &self,
        walls: &Walls,
        decided: &[SharedAlpha<'_>],
        share_max: f64,
    ) -> Result<bool, Invalid> {
        all_conclusions(walls, decided, |found| {
            let half_width = found.interval.half_width();
            let is_same = found.verdict == IntervalVerdict::Same;
            half_width.is_finite() && (is_same || half_width / found.last.theta.abs() <= share_max)
        })
    }

    /// Whether the answer to this limit is known for each comparison, by the rule that judges the finished record
    /// ([`crate::verdict`]). Errors: the times are unfit for a test.
    pub fn is_answered(
        &self,
        walls: &Walls,
        decided: &[SharedAlpha<'_>],
        limit: f64,
        margin: f64,
    ) -> Result<bool, Invalid> {
        all_conclusions(walls, decided, |found| {
            let limit_or_same = limit.max(margin);
            let is_different = matches!(
                found.verdict,
                IntervalVerdict::Different | IntervalVerdict::DifferentWithinMargin
            );
            let is_slower = is_different && found.interval.lo >= 0.0;
            let is_faster = is_different && !is_slower;
            let within = if is_slower { limit } else { limit_or_same };
            let mean_is_within = found.mean.1.hi <= limit_or_same || !self.asks_for_mean;
            (is_slower && found.interval.lo > limit)
                || ((is_faster || found.interval.hi <= within) && mean_is_within)
        })
    }
}

/// Whether a condition holds for all conclusions, each at its share of alpha.
fn all_conclusions(
    walls: &Walls,
    compared: &[SharedAlpha<'_>],
    holds: impl Fn(&Conclusion) -> bool,
) -> Result<bool, Invalid> {
    for SharedAlpha { tested, share } in compared {
        let pairs = walls.slots(tested.reference, tested.arm).pairs()?;
        if !tested.test.conclude(&pairs, *share)?.is_some_and(|found| holds(&found)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The `stats` crate's name of the estimand.
pub fn estimand_of(estimand: Estimand) -> relabel::Estimand {
    match estimand {
        Estimand::Adaptive => relabel::Estimand::Adaptive,
        Estimand::Typical => relabel::Estimand::Typical,
        Estimand::Floor => relabel::Estimand::Floor,
        Estimand::Mean => relabel::Estimand::Mean,
    }
}

/// The outcome of a record's trial, if there is one and it is known. Errors: the times are unfit for a test.
pub fn trial_outcome(record: &Record) -> Result<Option<TrialOutcome>, Invalid> {
    Ok(SessionComparisons::of(record, &Walls::of(record))?.trial())
}

#[cfg(test)]
mod tests;
