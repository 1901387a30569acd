//! Builds commits and measures them in turns.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::cmd::assessment::Assessment;
use crate::cmd::bisect::program::ProgramMeasurer;
use crate::cmd::commits::{NamedCommit, Place, SHORT};
use crate::cmd::made_up::MadeUpTimes;
use crate::cmd::run_session::measure_quietly;
use crate::cmd::unmeasured::{CommitBuild, Unmeasured, built, require_whole};
use analysis::{Evidence, PairedDecision, PairedTest, over_layouts};
use host::Git;
use measure::clock::monotonic_ns;
use model::spec::run::OutputOptions;
use model::spec::suite::LinkOrder;
use model::spec::{BisectVerb, RunSpec, RunVerb};
use model::values::Percent;
use model::words::{in_words, one_command};
use record::plan::{ArmTerms, BuiltRevision, Ending, Terms, defaults};
use render::one_line;
use search::bisection::{Commit, Relation};

/// Most blocks of a comparison. The interim analyses share a small error rate: with more blocks the first ones could
/// decide nothing.
const BLOCKS_MAX: u32 = 400;
/// Most blocks of each link order.
const BLOCKS_PER_ORDER: u32 = 16;
/// Time of a made-up build, s.
const MADE_UP_S: f64 = 1.0;

/// The relation of commits that were not measured.
const UNKNOWN: Relation =
    Relation { ratio: 1.0, lo: None, hi: None, alpha: 1.0, is_different: false, is_same: false };

pub(super) struct BisectMeasurer<'a> {
    verb: &'a BisectVerb,
    place: &'a Place,
    seed: u64,
    built: HashMap<String, BuiltRevision>,
    /// Commits in several link orders.
    relinked: HashMap<String, BuiltRevision>,
    made_up: Option<MadeUpTimes>,
    /// With `--program`.
    program: Option<ProgramMeasurer>,
}

impl<'a> BisectMeasurer<'a> {
    /// Errors: `--script` cannot be read.
    pub(super) fn new(verb: &'a BisectVerb, place: &'a Place, seed: u64) -> Result<Self> {
        let made_up = verb.script.as_deref().map(MadeUpTimes::read).transpose()?;
        let (built, relinked) = (HashMap::new(), HashMap::new());
        let program = ProgramMeasurer::of(verb)?;
        Ok(Self { verb, place, seed, built, relinked, made_up, program })
    }

    /// In how many link orders a commit is measured.
    pub(super) fn n_layouts(&self) -> u32 {
        self.verb.layouts.unwrap_or(defaults::BISECT_LAYOUTS)
    }

    /// Builds a commit, or finds its build. Returns the seconds that it took, 0 if it was found; `None` if it is known
    /// already. An error has them, too.
    pub(super) fn build(&mut self, commit: &Commit) -> Result<Option<f64>, (Unmeasured, f64)> {
        if self.built.contains_key(&commit.id) {
            return Ok(None);
        }
        let began_ns = monotonic_ns();
        let found = self.found(commit);
        let is_found = found.as_ref().is_ok_and(|build| !build.is_new);
        let listed = found.and_then(|build| {
            self.list(&build.revision)?;
            Ok(build.revision)
        });
        let seconds = match &self.made_up {
            Some(_) => MADE_UP_S,
            None if is_found => 0.0,
            None => (monotonic_ns() - began_ns) as f64 / 1e9,
        };
        let revision = listed.map_err(|why| (why, seconds))?;
        self.built.insert(commit.id.clone(), revision);
        Ok(Some(seconds))
    }

    /// The build of a commit as it is, or a made-up one.
    fn found(&self, commit: &Commit) -> Result<CommitBuild, Unmeasured> {
        let Some(made_up) = &self.made_up else { return self.attempt(commit, None) };
        if !made_up.builds(&commit.id)? {
            return Err(Unmeasured::Program(0, "it has no times".into()));
        }
        let git = Git { revision: commit.id.clone(), committed_s: None };
        let revision = BuiltRevision { name: commit.id.clone(), directories: vec![], git };
        Ok(CommitBuild { revision, is_relinked: false, is_new: true })
    }

    /// Builds a commit in the first `n` link orders. Returns whether its build links anything that has another order.
    /// Errors: it cannot be built or listed, or ^C came.
    pub(super) fn relink(&mut self, commit: &Commit, n: u32) -> Result<bool, Unmeasured> {
        let attempt = self.attempt(commit, Some(n)).map_err(|why| match why {
            // Without a compiler in PATH, for example. A confirmed commit stays confirmed.
            Unmeasured::Failed(error) => Unmeasured::Program(0, in_words(&error)),
            why => why,
        });
        let CommitBuild { revision, is_relinked, .. } = attempt?;
        self.list(&revision)?;
        self.relinked.insert(commit.id.clone(), revision);
        Ok(is_relinked)
    }

    /// Lists the program of a build, if no command is measured.
    fn list(&mut self, revision: &BuiltRevision) -> Result<(), Unmeasured> {
        self.program.as_mut().map_or(Ok(()), |program| program.list(revision))
    }

    /// Checks a commit out and builds it, as it is or in `n` link orders.
    fn attempt(&self, commit: &Commit, n_orders: Option<u32>) -> Result<CommitBuild, Unmeasured> {
        let subject = one_line(&commit.subject);
        let name = format!("{} {subject}", &commit.id[..commit.id.len().min(SHORT)]);
        let named = NamedCommit { name: name.trim_end().to_owned(), id: commit.id.clone() };
        let mut variant = self.place.variant(&named, self.verb.build.as_deref());
        if let (Some(build), Some(_)) = (&mut variant.build, n_orders) {
            (build.link_order, build.builds) = (LinkOrder::Random, n_orders);
        }
        built(&variant, &self.place.top)
    }

    /// Measures built commits in turns into this record. Returns each one's relation to the first, and the seconds.
    pub(super) fn measure(
        &mut self,
        commits: &[&Commit],
        alpha: f64,
        record: PathBuf,
    ) -> Result<(Vec<Relation>, f64), Unmeasured> {
        let built = |commit: &&Commit| {
            self.built.get(&commit.id).cloned().context("a commit is not built yet")
        };
        let revisions: Vec<BuiltRevision> = commits.iter().map(built).collect::<Result<_>>()?;
        let is_probe = commits.len() > 2;
        let mut terms = Terms {
            arms: ArmTerms::Revisions(&revisions),
            alpha: Some(alpha),
            n_blocks_max: Some(BLOCKS_MAX),
            ..Terms::default()
        };
        if is_probe {
            // The ends differ, so the probe can be the same program as one of them only: each comparison has the whole error
            // rate.
            terms.alpha = Some(2.0 * alpha);
            terms.ending = Ending::AtADifference;
        }
        let found = self.finished(record, &revisions, &terms)?;
        Ok((relations(&found, commits.len(), alpha), seconds_of(&found)))
    }

    /// Measures two relinked commits, to the last block. Returns their relation across link orders, and the seconds.
    pub(super) fn measure_layouts(
        &mut self,
        commits: [&Commit; 2],
        alpha: f64,
        record: PathBuf,
    ) -> Result<(Relation, f64), Unmeasured> {
        let relinked = |commit: &Commit| {
            self.relinked.get(&commit.id).cloned().context("a commit is not relinked yet")
        };
        let revisions: Vec<BuiltRevision> =
            commits.into_iter().map(relinked).collect::<Result<_>>()?;
        let n = self.n_layouts();
        let terms = Terms {
            arms: ArmTerms::Revisions(&revisions),
            ending: Ending::AtTheEnd,
            n_blocks_max: Some(n * BLOCKS_PER_ORDER),
            ..Terms::default()
        };
        let found = self.finished(record, &revisions, &terms)?;
        let over = over_layouts(&found.record, n as usize, alpha);
        let relation = over.map_or(UNKNOWN, |over| Relation {
            ratio: over.ratio,
            lo: Some(over.lo),
            hi: Some(over.hi),
            alpha,
            is_different: over.lo > 1.0 || over.hi < 1.0,
            is_same: false,
        });
        Ok((relation, seconds_of(&found)))
    }

    /// Measures builds in turns, and reads the record.
    fn finished(
        &mut self,
        record: PathBuf,
        revisions: &[BuiltRevision],
        terms: &Terms<'_>,
    ) -> Result<Assessment, Unmeasured> {
        let (path, end) = if let Some(program) = &mut self.program {
            program.measure(&record, self.seed, revisions, terms)?
        } else {
            let mut session = self.session(record);
            let ids: Vec<&str> = revisions.iter().map(|it| &*it.git.revision).collect();
            let script = self.made_up.as_ref().map(|it| it.script(&ids, self.seed));
            let script = script.transpose()?;
            session.script = script.as_ref().map(|file| file.path().to_owned());
            measure_quietly(&session, terms)?
        };
        require_whole(&path, end)?;
        Ok(Assessment::read(&path)?)
    }

    fn session(&self, record: PathBuf) -> RunVerb {
        let verb = self.verb;
        let mut spec = RunSpec { commands: vec![one_command(&verb.command)], ..RunSpec::default() };
        spec.arms.shell.clone_from(&verb.shell);
        spec.length.stop.budget = Some(verb.budget.unwrap_or(defaults::BISECT_BUDGET));
        spec.length.seed = Some(self.seed);
        spec.judgement.same = Some(verb.same.unwrap_or(Percent(defaults::BISECT_SAME_PCT)));
        spec.judgement.decide_on = verb.decide_on;
        spec.judgement.counter = verb.counter;
        spec.hooks = verb.hooks.clone();
        spec.process = verb.process.clone();
        spec.output = OutputOptions::driven(verb.output.answer, Some(record));
        RunVerb::of(spec, &verb.host_root)
    }

    /// Another stream of random choices for the next session.
    pub(super) fn reseed(&mut self) {
        self.seed = self.seed.wrapping_add(1) & 0xffff_ffff;
    }
}

fn relations(assessment: &Assessment, n_commits: usize, alpha: f64) -> Vec<Relation> {
    let relation = |arm: usize| {
        let comparisons = &mut assessment.analysis.comparisons.iter();
        let found = comparisons.find(|it| it.arm == arm && it.reference == 0)?;
        let Evidence::Paired(paired) = &found.evidence else { return None };
        Some(relation_of(paired, alpha))
    };
    (1..n_commits).map(|arm| relation(arm).unwrap_or(UNKNOWN)).collect()
}

/// When the last run started, s.
fn seconds_of(assessment: &Assessment) -> f64 {
    let rows = &assessment.record.rows;
    let last = rows.len().saturating_sub(1);
    if rows.len() == 0 { 0.0 } else { rows.started_ns(last) as f64 / 1e9 }
}

/// A comparison at the error rate `alpha` of its step. The session ran at `2 * alpha`: of its two comparisons,
/// Benjamini-Hochberg tests the clearer one at `alpha` and the other one at `2 * alpha`. The other one therefore has to
/// pass `alpha` as well; its `q` is its plain p-value.
fn relation_of(paired: &PairedTest, alpha: f64) -> Relation {
    let ratio = paired.net_ratio.unwrap_or(paired.ratio);
    let [lo, hi] = ratio.ends();
    let is_clearest = paired.alpha <= alpha * (1.0 + 1e-9);
    let is_different = paired.decision == PairedDecision::Different;
    Relation {
        ratio: ratio.ratio,
        lo,
        hi,
        alpha: paired.alpha,
        is_different: is_different && (is_clearest || paired.q <= alpha),
        is_same: paired.decision == PairedDecision::Same,
    }
}
