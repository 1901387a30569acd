//! Builds programs and measures them in turns.

use std::path::PathBuf;

use anyhow::Result;
use tempfile::NamedTempFile;

use crate::cmd::assessment::Assessment;
use crate::cmd::campaign::folder::CampaignOptions;
use crate::cmd::commits::{NamedCommit, Place, SHORT};
use crate::cmd::fair_play::{FairPlay, Side};
use crate::cmd::made_up::MadeUpTimes;
use crate::cmd::run_session::measure_quietly;
use crate::cmd::suite_commands::{SuiteCommands, prefixed};
use crate::cmd::unmeasured::{Unmeasured, built, require_whole};
use crate::session::unfit;
use analysis::trial::TrialOutcome;
use analysis::{Comparison, Evidence, PairedTest, trial_outcome};
use model::spec::answer::AnswerOptions;
use model::spec::run::{OutputOptions, ProcessOptions, Style};
use model::spec::{RunSpec, RunVerb};
use model::values::{CheatKind, TimeSpan};
use record::fair_play::{AuditReport, Half};
use record::plan::programs::ProgramBenchmark;
use record::plan::{ArmPlace, ArmTerms, BuiltRevision, Ending, Terms};
use search::campaign::{Gain, Program};

/// Error rate of the intervals that are only shown.
const SHOWN_ALPHA: f64 = 0.01;
/// The check that is impossible if runs print their value.
const VALUE_IN_OUTPUT: &str =
    "wrong standard output: the value of a run is in it; --validate can look at the rest";
/// Most blocks of a trial. With more, its first interim analyses could decide nothing.
const TRIAL_BLOCKS_MAX: u32 = 2000;

#[derive(Clone, Debug)]
pub(super) struct Runnable {
    /// The name in the records.
    pub name: String,
    pub program: Program,
    pub built: Option<BuiltRevision>,
    /// Benchmarks of `--program`.
    pub listed: Vec<ProgramBenchmark>,
}

pub(super) struct MeasuredSession {
    pub record: PathBuf,
    /// Each program against the reference; `None` with too few blocks, and for the reference itself.
    pub gains: Vec<Option<Gain>>,
    /// Signs of cheating in its runs.
    pub audit: AuditReport,
    pub trial: Option<TrialOutcome>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SessionLength {
    /// A one-sided trial at this level.
    Trial { level: f64 },
    /// This number of blocks, as far as they fit the budget.
    Blocks(u32),
    /// The number of blocks that fits the budget.
    Budget,
}

pub(super) struct CampaignMeasurer<'a> {
    pub options: &'a CampaignOptions,
    pub place: Option<Place>,
    pub seed: u64,
    /// Divides the inputs into halves.
    pub campaign_seed: u64,
    /// When the first session began, by the clock of file times, ns; `None` before.
    pub since_ns: Option<i64>,
    pub answer: AnswerOptions,
}

impl<'a> CampaignMeasurer<'a> {
    pub(super) fn new(options: &'a CampaignOptions, place: Option<Place>, seed: u64) -> Self {
        let answer = AnswerOptions { json: false, style: Some(Style::None) };
        Self { options, place, seed, campaign_seed: seed, since_ns: None, answer }
    }

    /// Builds a program or finds its build. With `--program` it also lists the benchmarks.
    pub(super) fn build(&self, name: &str, program: &Program) -> Result<Runnable, Unmeasured> {
        let mut runnable = self.checked_out(name, program)?;
        if self.options.new.program.is_some() {
            runnable.listed = self.list(&runnable)?;
        }
        Ok(runnable)
    }

    fn checked_out(&self, name: &str, program: &Program) -> Result<Runnable, Unmeasured> {
        let (name, program) = (name.to_owned(), program.clone());
        let bare = Runnable { name, program, built: None, listed: Vec::new() };
        let Some((commit, place)) = bare.program.commit.as_ref().zip(self.place.as_ref()) else {
            return Ok(bare);
        };
        let short = &commit[..commit.len().min(SHORT)];
        let named = NamedCommit { name: format!("{} ({short})", bare.name), id: commit.clone() };
        let variant = place.variant(&named, self.options.new.build.as_deref());
        let revision = built(&variant, &place.top)?.revision;
        Ok(Runnable { built: Some(revision), ..bare })
    }

    /// Measures programs in turns. The first is the accepted state. With three, the second is the reference for both
    /// others.
    pub(super) fn measure(
        &mut self,
        programs: &[&Runnable],
        length: SessionLength,
        budget: TimeSpan,
        record: PathBuf,
    ) -> Result<MeasuredSession, Unmeasured> {
        // Another seed for the next session.
        self.seed = self.seed.wrapping_add(1) & 0xffff_ffff;
        let made_up = self.made_up(programs)?;
        let of_suite = programs.iter().map(|it| prefixed(&it.name, &command_of(it)));
        let of_suite: Vec<_> = of_suite.collect();
        let suite = self.options.suite.as_ref().map(|it| it.commands(&of_suite)).transpose()?;
        let mut verb = self.session(programs, suite.as_ref(), budget, record.clone());
        verb.script = made_up.as_ref().map(|it| it.path().to_owned());
        let fair = self.fair_play(&verb.spec, programs.len(), length)?;
        self.since_ns = fair.as_ref().map(|fair| fair.since_ns);
        let arms = arms(programs, suite.as_ref());
        let placed = Terms { arms, are_whole: suite.is_some(), ..Terms::default() };
        let terms = Terms {
            reference: usize::from(programs.len() > 2),
            fair_play: fair.as_ref().map(FairPlay::terms),
            ..self.lengthened(placed.clone(), length)
        };
        let (path, end) = if self.options.new.program.is_some() {
            // The arms have their checkouts already.
            let terms = Terms { arms: ArmTerms::Together(Vec::new()), ..terms };
            self.measure_programs(programs, budget, &record, &terms)?
        } else {
            measure_quietly(&verb, &terms)?
        };
        require_whole(&path, end).map_err(|why| match why {
            // Each benchmark has an arm of each program.
            Unmeasured::Program(arm, why) => Unmeasured::Program(arm % programs.len(), why),
            why => why,
        })?;
        let mut audit = AuditReport::default();
        if let Some(fair) = &fair {
            audit = fair.verdict(&path)?;
            if says_value(&verb.spec) && verb.spec.hooks.validate.is_none() {
                audit.unchecked.push(VALUE_IN_OUTPUT.into());
            }
            // An attempt that is about to be accepted is worth some untimed runs.
            if audit.is_fair() && matches!(length, SessionLength::Blocks(_)) {
                for first_arm in (0..verb.spec.commands.len()).step_by(programs.len()) {
                    let around = fair.audit(&verb.spec, first_arm, Some(&path), &placed)?;
                    audit = audit.merge(around);
                }
            }
        }
        Ok(measured_session(path, programs.len(), audit)?)
    }

    /// The made-up times of a session, for tests.
    fn made_up(&self, programs: &[&Runnable]) -> Result<Option<NamedTempFile>> {
        let Some(script) = &self.options.new.script else { return Ok(None) };
        let keys: Vec<&str> = programs.iter().map(|it| &*it.program.command).collect();
        MadeUpTimes::read(script)?.script(&keys, self.seed).map(Some)
    }

    /// The rules of a session; `None` if the user trusts the attempts, or if nothing is accepted.
    fn fair_play(
        &self,
        spec: &RunSpec,
        n_programs: usize,
        length: SessionLength,
    ) -> Result<Option<FairPlay>> {
        let new = &self.options.new;
        let half = match length {
            SessionLength::Trial { .. } => Half::Try,
            SessionLength::Blocks(_) | SessionLength::Budget => Half::Confirm,
        };
        if new.trusted {
            return Ok(None);
        }
        let is_undercover = half == Half::Confirm;
        let (seed, since_ns) = (self.campaign_seed, self.since_ns);
        let side = Side { half, seed, is_undercover, since_ns };
        let mut options = new.fair.clone();
        options.allow.extend(says_value(spec).then_some(CheatKind::Stdout));
        FairPlay::begin(&options, side, spec, n_programs).map(Some)
    }

    fn lengthened<'b>(&self, terms: Terms<'b>, length: SessionLength) -> Terms<'b> {
        let (alpha, ending, n_blocks_max) = match length {
            SessionLength::Trial { level } => {
                (2.0 * level, Ending::Trial(self.options.trial), TRIAL_BLOCKS_MAX)
            }
            SessionLength::Blocks(n) => (SHOWN_ALPHA, Ending::AtTheEnd, n),
            SessionLength::Budget => (SHOWN_ALPHA, Ending::AtTheEnd, TRIAL_BLOCKS_MAX),
        };
        Terms { alpha: Some(alpha), ending, n_blocks_max: Some(n_blocks_max), ..terms }
    }

    /// The options for commands without a suite.
    fn command_spec(&self, programs: &[&Runnable]) -> RunSpec {
        let new = &self.options.new;
        let commands = programs.iter().map(|it| command_of(it)).collect();
        let (hooks, process) = (new.hooks.clone(), new.process.clone());
        let mut spec = RunSpec { commands, hooks, process, ..RunSpec::default() };
        spec.arms.command_names = programs.iter().map(|it| it.name.clone()).collect();
        spec.arms.shell.clone_from(&new.shell);
        spec
    }

    fn session(
        &self,
        programs: &[&Runnable],
        suite: Option<&SuiteCommands>,
        budget: TimeSpan,
        record: PathBuf,
    ) -> RunVerb {
        let new = &self.options.new;
        let mut spec =
            suite.map_or_else(|| self.command_spec(programs), |suite| suite.spec.clone());
        let execution = spec.process.execution;
        spec.process = ProcessOptions { execution, ..new.process.clone() };
        spec.length.stop.budget = Some(budget);
        spec.length.seed = Some(self.seed);
        new.judged.apply(&mut spec.judgement);
        spec.output = OutputOptions::driven(self.answer, Some(record));
        RunVerb::of(spec, &new.host_root)
    }
}

/// The measured arms and their places: one for each program, or for each program in each benchmark of a suite.
fn arms<'a>(programs: &[&'a Runnable], suite: Option<&SuiteCommands>) -> ArmTerms<'a> {
    let checkouts = programs.iter().map(|it| it.built.as_ref());
    let Some(suite) = suite else { return ArmTerms::Checkouts(checkouts.collect()) };
    let place = |(place, checkout): (ArmPlace, Option<&BuiltRevision>)| match checkout {
        Some(BuiltRevision { directories, git, .. }) => {
            let (directories, git) = (directories.clone(), Some(git.clone()));
            ArmPlace { directories, git, ..place }
        }
        None => place,
    };
    ArmTerms::Together(suite.places().zip(checkouts.cycle()).map(place).collect())
}

/// Whether the standard output has the value, so it differs from run to run.
fn says_value(spec: &RunSpec) -> bool {
    let value = &spec.process.execution.value;
    (value.value.is_some() || value.value_json.is_some()) && value.value_file.is_none()
}

/// The command line with the commit in place of `{revision}`.
pub(super) fn command_of(runnable: &Runnable) -> String {
    let command = &runnable.program.command;
    match &runnable.program.commit {
        Some(commit) => command.replace("{revision}", commit),
        None => command.clone(),
    }
}

fn measured_session(
    path: PathBuf,
    n_programs: usize,
    audit: AuditReport,
) -> Result<MeasuredSession> {
    let assessment = Assessment::read(&path)?;
    let of = |arm: usize| {
        let found = assessment.analysis.comparisons.iter().find(|it| it.arm == arm);
        found.and_then(gain_of)
    };
    let gains = (0..n_programs).map(of).collect();
    let plan = &assessment.record.header.plan;
    let trial = trial_outcome(&assessment.record).map_err(|why| unfit(plan, why))?;
    Ok(MeasuredSession { record: path, gains, audit, trial })
}

fn gain_of(comparison: &Comparison) -> Option<Gain> {
    let Evidence::Paired(paired) = &comparison.evidence else { return None };
    let PairedTest { alpha, p, n_pairs, .. } = *paired;
    let (gain, mean) = (paired.net_ratio.unwrap_or(paired.ratio), paired.mean_ratio);
    let ([lo, hi], [mean_lo, mean_hi]) = (gain.ends(), mean.ends());
    let (ratio, mean) = (gain.ratio, mean.ratio);
    Some(Gain { ratio, lo, hi, alpha, p, mean, mean_hi, mean_lo, n_pairs })
}
