//! The state of a session: everything that its decisions depend on.

use anyhow::{Error, Result};
use stats::Invalid;

use analysis::launches::Launches;
use analysis::live::LiveTimes;
use analysis::walls::Walls;
use analysis::watch::SessionComparisons;
use measure::MeasurementFailure;
use model::prose;
use model::words::in_words;
use record::plan::{BlockRule, Plan, Stopping};
use record::{RecordLine, RecordTail, Row};
use render::remedies::Audience;

/// The rows so far, and the data for decisions.
#[derive(Debug)]
pub struct SessionState {
    pub(super) live: LiveTimes,
    pub(super) walls: Walls,
    /// Gathers slices into runs; `None` without slices.
    launches: Option<Launches>,
    /// Comparisons that may end the session.
    pub watch: Option<SessionComparisons>,
    /// Total time of all pieces, ns, and their number of steps.
    pub(super) spent_ns: u64,
    pub(super) n_steps: u64,
    /// The first step and block without a row.
    pub(super) next_step: u32,
    pub(super) next_block: u32,
    /// End of the last run, ns after the start of the session's clock, which leaves out the pauses between visits.
    pub ended_ns: u64,
}

/// The error about values that cannot be compared, with what to do.
pub fn unfit(plan: &Plan, why: Invalid) -> Error {
    let is_not_positive = matches!(why, Invalid::NotPositive { .. });
    let error = Error::new(why);
    if !is_not_positive {
        return error.context("the times are unfit for a comparison");
    }
    let audience = Audience::of(plan);
    error.context(audience.words(&prose![
        "commands are compared by the ratio of their values, which have to be above zero; let another metric decide \
         with " DecideOn ", or measure without a verdict by --runs"
    ]))
}

/// The failure of a session whose values cannot be compared.
pub(super) fn failure(plan: &Plan, why: Invalid) -> MeasurementFailure {
    MeasurementFailure::Unfit { why: in_words(&unfit(plan, why)) }
}

impl SessionState {
    pub fn new(plan: &Plan) -> Self {
        Self {
            live: LiveTimes::new(plan),
            walls: Walls::new(plan),
            launches: plan.in_slices.then(|| Launches::new(plan)),
            watch: (plan.stopping != Stopping::AtTheEnd).then(|| SessionComparisons::new(plan)),
            spent_ns: 0,
            n_steps: 0,
            next_step: 0,
            next_block: 0,
            ended_ns: 0,
        }
    }

    /// Reads new rows of the record. `each` gets the resulting runs.
    pub(super) fn follow(
        &mut self,
        plan: &Plan,
        tail: &mut RecordTail,
        mut each: impl FnMut(&Row),
    ) -> Result<()> {
        let Self { live, walls, watch, launches, next_step, next_block, ended_ns, .. } = self;
        let keeps_times = watch.is_some() || plan.replaces_warmup() || plan.valgrind().is_some();
        let mut take = |run: Row| {
            each(&run);
            live.add(&run);
            // Only comparisons need all times; without them, long sessions take no memory.
            if keeps_times {
                walls.add(&run);
            }
        };
        tail.follow(|line| {
            let RecordLine::Row(mut row) = line else { return Ok(()) };
            row.is_rejected = plan.rejects(row.arm, row.shell_exit(), row.value);
            row.compared = plan.policy.compared();
            *next_step = row.step + 1;
            *next_block = row.block.map_or(*next_block, |block| block + 1);
            *ended_ns = row.started_ns + row.span_ns().unwrap_or(0);
            match launches.as_mut() {
                Some(launches) => launches.add(&row, &mut take),
                None => take(row),
            }
            Ok(())
        })?;
        // A piece of a session in slices consists of whole blocks.
        if let Some(launches) = launches {
            launches.flush(&mut take);
        }
        Ok(())
    }

    /// Whether all counts repeat and may end the session.
    pub(super) fn repeats(&self, plan: &Plan) -> bool {
        let may_end = matches!(plan.blocks, BlockRule::Budget { .. }) && plan.valgrind().is_some();
        may_end && SessionComparisons::new(plan).repeats(plan, &self.walls)
    }

    /// Makes the interim analyses ("looks") that are due. Returns whether there was one.
    pub(super) fn look(&mut self) -> Result<bool, Invalid> {
        self.watch.as_mut().map_or(Ok(false), |watch| watch.take(&self.walls))
    }

    /// Whether the comparisons are decided at the smallest share of alpha.
    pub fn is_settled(&self) -> bool {
        let candidates = self.watch.iter().flat_map(SessionComparisons::candidates);
        let mut settled = candidates.map(|it| it.test.is_settled(1.0 / it.family.max(1) as f64));
        settled.next().is_some_and(|first| first && settled.all(|it| it))
    }

    /// The log ratios of the first comparison, block by block.
    pub fn log_ratios(&self) -> Vec<f64> {
        let first = self.watch.as_ref().and_then(|watch| watch.candidates().first());
        let ratios = first.map(|it| self.walls.ratios(it.reference, it.arm)).unwrap_or_default();
        ratios.into_iter().map(|(_, ratio)| ratio.ln()).collect()
    }

    pub fn n_blocks(&self) -> u64 {
        self.next_block.into()
    }

    /// From the start of the first timed run to the end of the last, ns.
    pub fn span_ns(&self) -> u64 {
        self.live.span_ns()
    }
}
