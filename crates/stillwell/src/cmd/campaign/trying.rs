//! `campaign try`: one attempt, from its build to its answer.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use stats::online::level_of_each;

use crate::cmd::campaign::HELD_BACK;
use crate::cmd::campaign::folder::{CampaignFolder, keep_last_commit};
use crate::cmd::campaign::measuring::{CampaignMeasurer, MeasuredSession, Runnable, SessionLength};
use crate::cmd::commits::Place;
use crate::cmd::print::print;
use crate::cmd::step_directory::{digest_of, file_name};
use crate::cmd::unmeasured::Unmeasured;
use analysis::trial::TrialOutcome;
use host::terminal;
use measure::clock::monotonic_ns;
use model::spec::campaign::CampaignTry;
use model::values::{TimeSpan, exit_code};
use model::words::{in_words, one_command};
use record::Record;
use record::fair_play::AuditReport;
use render::document::ErrorCode;
use render::{campaign as page, campaign_document as documents, document};
use search::campaign::{
    AnswerReason, AttemptAnswer, AttemptEnd, CampaignEvent, Gain, Program, confirmation_blocks,
    is_confirmed,
};

/// Seeds reserved for each attempt: each of its sessions takes the next.
const SEEDS_EACH: u64 = 64;

/// Measures an attempt, and keeps and shows the answer.
pub(super) fn try_attempt(verb: &CampaignTry) -> Result<u8> {
    let mut work = CampaignFolder::open(verb.directory.clone(), verb.rights)?;
    let is_taken = work.campaign.is_taken(&verb.name);
    ensure!(!is_taken, "there is an attempt {:?} already; give this one another name", verb.name);
    let budget = budget_left(&work)?;
    work.require_same_programs()?;
    let place = work.place()?;
    let program = program_of(verb, &work, place.as_ref())?;
    ensure!(
        program != *work.campaign.current(),
        "this is the accepted state itself; there is nothing to try"
    );
    let number = work.campaign.attempts().len() as u64;
    let began_ns = monotonic_ns();
    let mut trying =
        Trying { records: Vec::new(), unchecked: Vec::new(), is_spent: false, began_ns, budget };
    let level = work.campaign.next_level();
    let began = CampaignEvent::Began { name: verb.name.clone(), program: program.clone(), level };
    work.keep(began)?;
    let found = {
        let seed = work.folder.manifest.seed;
        let of_attempt = seed.wrapping_add((number + 1) * SEEDS_EACH) & 0xffff_ffff;
        let mut measurer = CampaignMeasurer {
            campaign_seed: seed,
            answer: verb.output,
            ..CampaignMeasurer::new(&work.options, place, of_attempt)
        };
        trying.attempt(&work, &mut measurer, &verb.name, &program, level)
    };
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            // The attempt has ended, so it costs no error rate if it was not measured.
            let reason = match ErrorCode::of(&error) {
                ErrorCode::Interrupted => AnswerReason::Interrupted,
                _ => AnswerReason::Failed { message: in_words(&error) },
            };
            let end = trying.ended(AttemptEnd::bare(AttemptAnswer::NotDecided, reason));
            work.keep(CampaignEvent::Ended(Box::new(end)))?;
            return Err(error);
        }
    };
    let end = trying.ended(found);
    let code = code_of(&end);
    let is_accepted = end.answer == AttemptAnswer::Accepted;
    work.keep(CampaignEvent::Ended(Box::new(end)))?;
    if is_accepted && let Err(error) = keep_last_commit(&work) {
        // The answer is kept all the same.
        terminal::say(in_words(&error));
    }
    show(verb, &work)?;
    Ok(code)
}

fn show(verb: &CampaignTry, work: &CampaignFolder) -> Result<()> {
    let facts = work.options.facts()?;
    if verb.output.json {
        let (body, conclusion) = documents::attempt(&work.campaign, &facts);
        return Ok(document::write(&mut terminal::data(), &body, conclusion, None)?);
    }
    if verb.output.is_text() {
        print(&page::answer(&work.campaign, &facts))?;
    }
    Ok(())
}

fn code_of(end: &AttemptEnd) -> u8 {
    match (end.answer, &end.reason) {
        (_, AnswerReason::Interrupted) => exit_code::INTERRUPTED,
        (AttemptAnswer::Accepted, _) => exit_code::SUCCESS,
        (AttemptAnswer::Rejected, _) => exit_code::CHECK_FAILED,
        (AttemptAnswer::NotDecided, _) => exit_code::UNDECIDED,
    }
}

/// The budget of the next session.
fn budget_left(work: &CampaignFolder) -> Result<TimeSpan> {
    let each = work.options.budget;
    let Some(total) = work.options.new.total_budget else { return Ok(each) };
    let left_ns = total.ns as f64 - work.campaign.seconds() * 1e9;
    ensure!(
        left_ns > 0.0,
        "the --total-budget of this campaign is used up; begin another one with its accepted state"
    );
    Ok(TimeSpan { ns: each.ns.min(left_ns.ceil() as u64) })
}

fn program_of(verb: &CampaignTry, work: &CampaignFolder, place: Option<&Place>) -> Result<Program> {
    let current = work.campaign.current();
    let command = match verb.command.as_slice() {
        [] => current.command.clone(),
        words => one_command(words),
    };
    let commit = match (&verb.revision, &verb.patch, place) {
        (None, None, _) => current.commit.clone(),
        (_, _, None) => bail!("an attempt of this campaign is a command: it began without --build"),
        (Some(revision), _, Some(place)) => Some(place.only(revision)?),
        (None, Some(patch), Some(place)) => {
            let base = current.commit.as_deref().context("the accepted state has no commit")?;
            Some(place.patched(base, patch)?)
        }
    };
    let here = Path::new(&work.folder.manifest.here);
    let digest = if commit.is_none() { digest_of(&command, here) } else { None };
    for word in HELD_BACK {
        ensure!(
            command.contains(word) || !work.campaign.original().command.contains(word),
            "the command does not mention {word}, as that of the beginning does"
        );
    }
    Ok(Program { command, commit, digest })
}

struct Trying {
    records: Vec<String>,
    /// Rules that cannot be checked here.
    unchecked: Vec<String>,
    /// Whether its times were compared.
    is_spent: bool,
    began_ns: u64,
    budget: TimeSpan,
}

impl Trying {
    fn attempt(
        &mut self,
        work: &CampaignFolder,
        measurer: &mut CampaignMeasurer<'_>,
        name: &str,
        program: &Program,
        level: f64,
    ) -> Result<AttemptEnd> {
        let campaign = &work.campaign;
        let attempt = match measurer.build(name, program) {
            Ok(runnable) => runnable,
            Err(why) => return self.unmeasured(why, 0),
        };
        let current = built(measurer, "accepted", campaign.current())?;
        let original = (campaign.original() != campaign.current())
            .then(|| built(measurer, "beginning", campaign.original()))
            .transpose()?;
        let stage = level_of_each(level);
        let length = SessionLength::Trial { level: stage };
        let trial = match self.session(work, measurer, &[&current, &attempt], length) {
            Ok(measured) => measured,
            Err(why) => return self.unmeasured(why, 1),
        };
        let gain = trial.gains.get(1).copied().flatten();
        let base = |answer, reason| AttemptEnd { trial: gain, ..AttemptEnd::bare(answer, reason) };
        if let Some(reason) = self.unfair(trial.audit) {
            return Ok(base(AttemptAnswer::Rejected, reason));
        }
        let gain = match (trial.trial, gain) {
            (Some(TrialOutcome::OutOfReach), _) => {
                return Ok(base(AttemptAnswer::Rejected, AnswerReason::OutOfReach));
            }
            (Some(TrialOutcome::Faster), Some(gain)) => gain,
            _ => return Ok(base(AttemptAnswer::NotDecided, AnswerReason::Budget)),
        };
        let mut programs = vec![&current, &attempt];
        programs.extend(&original);
        let length = SessionLength::Blocks(confirmation_blocks(&gain));
        let fresh = match self.session(work, measurer, &programs, length) {
            Ok(measured) => measured,
            Err(why) => return self.unmeasured(why, 1),
        };
        let gain = |arm: usize| fresh.gains.get(arm).copied().flatten();
        let inverse = |arm: usize| gain(arm).map(Gain::inverse);
        let (confirmation, whole) = match original {
            Some(_) => (inverse(0), inverse(2)),
            None => (gain(1), None),
        };
        let at_least = work.options.trial.at_least;
        let is_shown = confirmation.is_some_and(|it| is_confirmed(&it, at_least, stage));
        let is_slower_on_average =
            confirmation.and_then(|it| it.mean_lo).is_some_and(|mean| mean > 1.0);
        if let Some(reason) = self.unfair(fresh.audit) {
            return Ok(AttemptEnd { confirmation, whole, ..base(AttemptAnswer::Rejected, reason) });
        }
        if confirmation.is_none() {
            return Ok(base(AttemptAnswer::NotDecided, AnswerReason::Budget));
        }
        let (answer, reason) = match (is_shown, is_slower_on_average) {
            (true, false) => (AttemptAnswer::Accepted, AnswerReason::Confirmed),
            (true, true) => (AttemptAnswer::Rejected, AnswerReason::SlowerOnAverage),
            (false, _) => (AttemptAnswer::Rejected, AnswerReason::NotConfirmed),
        };
        Ok(AttemptEnd { confirmation, whole, ..base(answer, reason) })
    }

    fn session(
        &mut self,
        work: &CampaignFolder,
        measurer: &mut CampaignMeasurer<'_>,
        programs: &[&Runnable],
        length: SessionLength,
    ) -> Result<MeasuredSession, Unmeasured> {
        let record = work.folder.new_record();
        let measured = measurer.measure(programs, length, self.budget, record.clone());
        if !matches!(measured, Err(Unmeasured::Failed(_))) {
            self.records.push(file_name(&record));
            self.is_spent |= has_block(&record);
        }
        measured
    }

    /// The reason to reject an attempt whose runs were not fair. Keeps the rules that cannot be checked.
    fn unfair(&mut self, audit: AuditReport) -> Option<AnswerReason> {
        let new = audit.unchecked.into_iter().filter(|it| !self.unchecked.contains(it));
        let new: Vec<String> = new.collect();
        self.unchecked.extend(new);
        let findings: Vec<String> = audit.findings.into_iter().map(|it| it.sentence).collect();
        (!findings.is_empty()).then_some(AnswerReason::Unfair { findings })
    }

    /// The answer to an attempt that cannot be measured. `arm`: the place of the attempt among the programs.
    fn unmeasured(&self, why: Unmeasured, arm: usize) -> Result<AttemptEnd> {
        match why {
            Unmeasured::Interrupted => {
                Ok(AttemptEnd::bare(AttemptAnswer::NotDecided, AnswerReason::Interrupted))
            }
            Unmeasured::Program(failed, message) if failed == arm => {
                Ok(AttemptEnd::bare(AttemptAnswer::Rejected, AnswerReason::Failed { message }))
            }
            Unmeasured::Program(_, why) => bail!("the accepted state fails: {why}"),
            Unmeasured::Failed(error) => Err(error),
        }
    }

    fn ended(self, answer: AttemptEnd) -> AttemptEnd {
        AttemptEnd {
            is_spent: self.is_spent,
            unchecked: self.unchecked,
            seconds: (monotonic_ns() - self.began_ns) as f64 / 1e9,
            records: self.records,
            ..answer
        }
    }
}

/// Whether a run of a block was timed: from then on the user may know the attempt's speed.
fn has_block(record: &Path) -> bool {
    let read = Record::read(record);
    read.is_ok_and(|record| (0..record.rows.len()).any(|row| record.rows.block(row).is_some()))
}

/// The existing build of a program.
pub(super) fn built(
    measurer: &CampaignMeasurer<'_>,
    name: &str,
    program: &Program,
) -> Result<Runnable> {
    measurer.build(name, program).map_err(|why| match why {
        Unmeasured::Program(_, why) => anyhow!("the {name} program cannot be built: {why}"),
        why => why.into_error(),
    })
}
