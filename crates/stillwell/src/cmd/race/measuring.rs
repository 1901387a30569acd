//! Measures a round and hands the result to the race.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::cmd::race::arms::RaceSuite;
use crate::cmd::race::played::PlayedTimes;
use crate::cmd::race::state::{RaceLine, RaceManifest};
use crate::cmd::race::{REFERENCE, arms};
use crate::cmd::run_session::measure_quietly;
use crate::cmd::step_directory::file_name;
use crate::cmd::suite_commands::SuiteCommands;
use crate::session::SessionEnd;
use analysis::launches;
use measure::{Hook, MeasurementFailure};
use model::spec::run::{OutputOptions, ProcessOptions};
use model::spec::{RaceVerb, RunVerb};
use model::values::TimeSpan;
use model::values::metric::Metric;
use record::plan::{Arm, ArmTerms, Surroundings, Terms, decide_session};
use record::{EndReason, Record};
use render::document::ErrorCode;
use render::failure::{Quote, code as code_of, exit_in_words, explain};
use search::race::{Race, RoundTimes};

/// The reason to leave out a command that runs too long.
const TOO_LONG: &str = "took longer than --timeout";

pub(super) struct RaceMeasurer<'a> {
    verb: &'a RaceVerb,
    manifest: &'a RaceManifest,
    labels: &'a [String],
    suite: Option<&'a RaceSuite>,
    played: Option<PlayedTimes>,
    /// Rounds so far, including those that do not count.
    n_rounds: u64,
}

impl<'a> RaceMeasurer<'a> {
    /// Errors: the script of a test cannot be read.
    pub(super) fn new(
        verb: &'a RaceVerb,
        manifest: &'a RaceManifest,
        labels: &'a [String],
        suite: Option<&'a RaceSuite>,
    ) -> Result<Self> {
        let played = verb.script.as_deref().map(PlayedTimes::read).transpose()?;
        Ok(Self { verb, manifest, labels, suite, played, n_rounds: 0 })
    }

    /// Measures a round of `arms` into a record. `None` after ^C. Errors: no session starts, or the reference fails.
    pub(super) fn measure(
        &self,
        race: &Race,
        arms: &[usize],
        n_blocks: usize,
        record: PathBuf,
    ) -> Result<Option<RaceLine>> {
        let mut arms = arms.to_vec();
        // The reference comes first in a record.
        arms.sort_unstable();
        let is_first = self.n_rounds == 0;
        let suite = self.suite.map(|suite| suite.commands(&arms)).transpose()?;
        let of_suite = suite.as_ref().map(|suite| ArmTerms::Together(suite.places().collect()));
        let strict = Terms {
            arms: of_suite.unwrap_or(ArmTerms::Picked(&arms)),
            are_whole: true,
            ..Terms::default()
        };
        // Without an abort at the first failure, one round finds all failing arms.
        let terms = Terms { tolerates_failures: is_first, ..strict.clone() };
        let mut verb = self.session(&arms, suite.as_ref(), record)?;
        let budget = TimeSpan { ns: (race.left_s().max(0.0) * 1e9) as u64 };
        verb.spec.length.stop.budget = Some(budget);
        verb.spec.length.runs = Some(u32::try_from(n_blocks)?);
        verb.spec.length.warmup = Some(u32::from(is_first));
        let seed = self.manifest.seed.wrapping_add(self.n_rounds) & 0xffff_ffff;
        verb.spec.length.seed = Some(seed);
        let rules = decide_session(&verb.spec, &strict, &Surroundings::default())?.arms;
        let (path, end) = measure_quietly(&verb, &terms)?;
        let found = Record::read(&path)?;
        let mut failed = Vec::new();
        let code = end.failure.as_ref().map_or(ErrorCode::CommandFailed, code_of);
        let counts = match end.reason {
            EndReason::Complete | EndReason::Decided | EndReason::Precise => {
                failed = failing(&found, &rules, arms.len());
                true
            }
            EndReason::Interrupted => return Ok(None),
            EndReason::Failed | EndReason::TimedOut | EndReason::RecordFull => {
                let (at, why) = failure(&found, end)?;
                failed.push((at % arms.len(), why));
                false
            }
        };
        if let Some((_, why)) = failed.iter().find(|(at, _)| arms[*at] == REFERENCE) {
            let text = format!("the reference {:?} {why}", self.labels[REFERENCE]);
            return Err(code.error(text));
        }
        let seconds = span_s(&found);
        let failed = failed.into_iter().map(|(at, why)| (arms[at], why)).collect();
        Ok(Some(RaceLine { record: file_name(&path), arms, failed, counts, seconds }))
    }

    /// Hands a finished round to the race. Errors: its times are unfit for a test.
    pub(super) fn replay(
        &mut self,
        race: &mut Race,
        directory: &Path,
        line: &RaceLine,
    ) -> Result<()> {
        self.n_rounds += 1;
        let path = directory.join(&line.record);
        let record = launches::gather(Record::read(&path)?);
        if let Some(played) = &mut self.played {
            played.skip(&record, &line.arms);
        }
        for (arm, why) in &line.failed {
            race.fail(*arm, why.clone());
        }
        ensure!(race.n_left() > 1, "every command but the reference failed: {}", line.failed[0].1);
        if !line.counts {
            race.waste(line.seconds, record.rows.len());
            return Ok(());
        }
        let is_kept = |arm: usize| !line.failed.iter().any(|(failed, _)| *failed == arm);
        let times = RoundTimes::of(&record, &line.arms, is_kept, line.seconds);
        ensure!(
            !times.blocks.is_empty(),
            "no block of {} is complete, or each has a value that is not above zero",
            path.display()
        );
        race.take(times).with_context(|| format!("the times in {} are unfit", path.display()))
    }

    fn session(
        &self,
        round: &[usize],
        suite: Option<&SuiteCommands>,
        record: PathBuf,
    ) -> Result<RunVerb> {
        let verb = self.verb;
        let mut spec = arms::spec(verb, &self.manifest.commands, &self.manifest.names);
        if let Some(suite) = suite {
            let execution = suite.spec.process.execution.clone();
            spec.process = ProcessOptions { execution, ..spec.process };
            spec.commands.clone_from(&suite.spec.commands);
            spec.hooks = suite.spec.hooks.clone();
            spec.arms = suite.spec.arms.clone();
        }
        spec.output = OutputOptions::driven(verb.output.answer, Some(record));
        let mut session = RunVerb::of(spec, &verb.host_root);
        if let (Some(played), Some(record)) = (&self.played, &session.spec.output.record) {
            session.script = Some(played.write(round, &record.with_extension("script"))?);
        }
        Ok(session)
    }
}

/// The failed arms of a record, by the rules of these arms. The session did not apply them.
fn failing(record: &Record, rules: &[Arm], n_arms: usize) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for row in record.rows.iter() {
        let rule = &rules[row.arm as usize].accept;
        let accepts = rule.as_ref().is_none_or(|list| list.contains(&row.shell_exit()));
        let at = row.arm as usize % n_arms;
        if !found.iter().any(|(other, _)| *other == at) {
            if row.timed_out {
                found.push((at, in_benchmark(record, row.arm as usize, TOO_LONG)));
            } else if !accepts {
                found.push((at, in_benchmark(record, row.arm as usize, &exit_in_words(row.exit))));
            }
        }
    }
    found
}

/// The arm that ended a session, with the reason. Errors: no arm is to blame.
fn failure(record: &Record, end: SessionEnd) -> Result<(usize, String)> {
    let Some(failure) = end.failure else {
        bail!("the round ended early; its runs are in {}", record.path.display())
    };
    let whole = explain(record, &failure, Quote::Here);
    let (arm, why) = match failure {
        MeasurementFailure::Run { arm, timed_out: true, .. } => (arm, TOO_LONG.into()),
        MeasurementFailure::Run { arm, exit, .. } => (arm, exit_in_words(exit)),
        MeasurementFailure::Value { arm, why, .. } => {
            (arm, format!("did not say its value: {why}"))
        }
        MeasurementFailure::Hook { hook: Hook::Validate, arm, .. } => {
            (arm, "wrote an output that is not valid".into())
        }
        MeasurementFailure::Start { arm: Some(arm), why } => (arm, format!("did not start: {why}")),
        MeasurementFailure::Survivors(left) => {
            (left.arm as usize, format!("left processes behind ({:?})", left.name))
        }
        _ => return Err(code_of(&failure).error(whole)),
    };
    Ok((arm, in_benchmark(record, arm, &why)))
}

/// The reason of an arm's failure, with its benchmark in a suite.
fn in_benchmark(record: &Record, arm: usize, why: &str) -> String {
    match &record.header.plan.arms[arm].benchmark {
        Some(benchmark) => format!("{why} in the benchmark {benchmark:?}"),
        None => why.to_owned(),
    }
}

/// From the start of the first run to the end of the last, s.
fn span_s(record: &Record) -> f64 {
    let rows = &record.rows;
    let Some(last) = rows.len().checked_sub(1) else { return 0.0 };
    let end_ns = rows.started_ns(last) + rows.get(last, Metric::WallNs).unwrap_or(0);
    end_ns.saturating_sub(rows.started_ns(0)) as f64 / 1e9
}
