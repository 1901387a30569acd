//! Builds commits and measures them in turns.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::analysis::{Evidence, PairedDecision, PairedTest};
use crate::bisection::{Commit, Relation};
use crate::cmd::assessment::Assessment;
use crate::cmd::commits::{NamedCommit, Place, SHORT};
use crate::cmd::run::measure_revisions;
use crate::cmd::suites;
use crate::measure::MeasurementFailure;
use crate::measure::clock::monotonic_ns;
use crate::plan::suite::VariantBuild;
use crate::plan::{BuiltRevision, Plan, Stopping, defaults};
use crate::record::EndReason;
use crate::render::failure::{Quote, explain};
use crate::render::one_line;
use crate::spec::run::OutputOptions;
use crate::spec::{BisectVerb, RunSpec, RunVerb};
use crate::values::Percent;

/// Most blocks of a comparison. The looks share a small error rate: with more blocks the first ones could decide nothing.
const BLOCKS_MAX: u32 = 400;
/// Builds that were there already take less than this, s.
const FOUND_S: f64 = 0.05;

/// Measures the commits of a search.
pub(super) struct BisectMeasurer<'a> {
    verb: &'a BisectVerb,
    place: &'a Place,
    seed: u64,
    built: HashMap<String, BuiltRevision>,
}

/// Why something was not measured.
pub(super) enum Unmeasured {
    /// This one of the commits cannot be built or run.
    Commit(usize, String),
    /// ^C or SIGTERM came.
    Interrupted,
}

/// A session: the relations of all commits but the first to the first one.
pub(super) struct MeasuredArms {
    pub relations: Vec<Relation>,
    pub seconds: f64,
}

impl<'a> BisectMeasurer<'a> {
    pub(super) fn new(verb: &'a BisectVerb, place: &'a Place, seed: u64) -> Self {
        Self { verb, place, seed, built: HashMap::new() }
    }

    /// Builds a commit, or finds its build. Returns the seconds that it took; `None` if it is known already.
    ///
    /// # Errors
    /// Git fails, or a directory cannot be written.
    pub(super) fn build(&mut self, commit: &Commit) -> Result<Result<Option<f64>, Unmeasured>> {
        if self.built.contains_key(&commit.id) {
            return Ok(Ok(None));
        }
        let subject = one_line(&commit.subject);
        let name = format!("{} {subject}", &commit.id[..commit.id.len().min(SHORT)]);
        let named = NamedCommit { name: name.trim_end().to_owned(), id: commit.id.clone() };
        let variant = self.place.variant(&named, self.verb.build.as_deref());
        let began_ns = monotonic_ns();
        match suites::attempted(&variant, &self.place.top)? {
            suites::BuildAttempt::Built(built) => {
                let VariantBuild { variant, directories, git } = *built;
                let git = git.context("a checkout has no commit")?;
                let name = variant.name;
                let revision = BuiltRevision { name, directories, git };
                self.built.insert(commit.id.clone(), revision);
                let seconds = (monotonic_ns() - began_ns) as f64 / 1e9;
                Ok(Ok(Some(if seconds < FOUND_S { 0.0 } else { seconds })))
            }
            suites::BuildAttempt::Failed(why) => Ok(Err(Unmeasured::Commit(0, why))),
            suites::BuildAttempt::Interrupted => Ok(Err(Unmeasured::Interrupted)),
        }
    }

    /// Measures built commits in turns, the first as the reference, into this record.
    ///
    /// # Errors
    /// The session cannot start or be recorded.
    pub(super) fn measure(
        &self,
        commits: &[&Commit],
        alpha: f64,
        record: PathBuf,
    ) -> Result<Result<MeasuredArms, Unmeasured>> {
        let built = |commit: &&Commit| {
            self.built.get(&commit.id).cloned().context("a commit is not built yet")
        };
        let revisions: Vec<BuiltRevision> = commits.iter().map(built).collect::<Result<_>>()?;
        let is_probe = commits.len() > 2;
        let change = |plan: &mut Plan| {
            plan.policy.alpha = alpha;
            if is_probe {
                // The ends differ, so the probe can be the same program as one of them only: each comparison has the whole
                // error rate.
                plan.policy.alpha = 2.0 * alpha;
                plan.stopping = Stopping::AtADifference;
            }
        };
        let (path, end) = measure_revisions(&self.session(record), &revisions, change)?;
        match end.reason {
            EndReason::Complete | EndReason::Decided | EndReason::Precise => {
                of_record(&path, commits.len(), alpha).map(Ok)
            }
            EndReason::Interrupted => Ok(Err(Unmeasured::Interrupted)),
            EndReason::Failed | EndReason::TimedOut | EndReason::RecordFull => {
                let assessment = Assessment::read(&path)?;
                let Some(failure) = end.failure else {
                    bail!("every run took longer than --timeout; they are in {}", path.display())
                };
                let why = explain(&assessment.record, &failure, Quote::Here);
                match failure {
                    MeasurementFailure::Run { arm, .. } | MeasurementFailure::Value { arm, .. } => {
                        Ok(Err(Unmeasured::Commit(arm, why)))
                    }
                    _ => bail!("{why}"),
                }
            }
        }
    }

    fn session(&self, record: PathBuf) -> RunVerb {
        let verb = self.verb;
        let mut spec = RunSpec { commands: vec![command_of(verb)], ..RunSpec::default() };
        spec.arms.shell.clone_from(&verb.shell);
        spec.length.stop.budget = Some(verb.budget.unwrap_or(defaults::BISECT_BUDGET));
        spec.length.max_runs = Some(BLOCKS_MAX);
        spec.length.seed = Some(self.seed);
        spec.judgement.same = Some(verb.same.unwrap_or(Percent(defaults::BISECT_SAME_PCT)));
        spec.hooks = verb.hooks.clone();
        spec.process = verb.process.clone();
        spec.output = OutputOptions {
            record: Some(record),
            json: verb.json,
            style: verb.style,
            ..OutputOptions::default()
        };
        RunVerb::of(spec, &verb.host_root)
    }

    /// Another stream of random choices for the next session.
    pub(super) fn reseed(&mut self, n: u64) {
        self.seed = self.seed.wrapping_add(n) & 0xffff_ffff;
    }
}

/// The command line of the words after `--`.
fn command_of(verb: &BisectVerb) -> String {
    match verb.command.as_slice() {
        [only] => only.clone(),
        words => shell_words::join(words),
    }
}

/// The relations of a finished record.
fn of_record(path: &Path, n_commits: usize, alpha: f64) -> Result<MeasuredArms> {
    let assessment = Assessment::read(path)?;
    let relation = |arm: usize| {
        let comparisons = &mut assessment.analysis.comparisons.iter();
        let found = comparisons.find(|it| it.arm == arm && it.reference == 0)?;
        let Evidence::Paired(paired) = &found.evidence else { return None };
        Some(of_test(paired, alpha))
    };
    let unknown = Relation {
        ratio: 1.0,
        lo: None,
        hi: None,
        alpha: 1.0,
        is_different: false,
        is_same: false,
    };
    let relations = (1..n_commits).map(|arm| relation(arm).unwrap_or(unknown)).collect();
    let rows = &assessment.record.rows;
    let last = rows.len().saturating_sub(1);
    let seconds = if rows.len() == 0 { 0.0 } else { rows.started_ns(last) as f64 / 1e9 };
    Ok(MeasuredArms { relations, seconds })
}

/// Of two comparisons, the clearer one is judged at half of the session's error rate, which is that of the step, and the
/// other one at the whole. That is too much here: the step's rate decides.
fn of_test(paired: &PairedTest, alpha: f64) -> Relation {
    let ratio = paired.net_ratio.unwrap_or(paired.ratio);
    let end = |end: f64| Some(end).filter(|end| end.is_finite() && *end > 0.0);
    let is_clearest = paired.alpha <= alpha * (1.0 + 1e-9);
    let is_different = paired.decision == PairedDecision::Different;
    Relation {
        ratio: ratio.ratio,
        lo: end(ratio.lo),
        hi: end(ratio.hi),
        alpha: paired.alpha,
        is_different: is_different && (is_clearest || paired.p <= alpha),
        is_same: paired.decision == PairedDecision::Same,
    }
}
