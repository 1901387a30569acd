//! `campaign confirm`: the accepted state against the program of the beginning, and what each patch contributes.

use anyhow::{Context as _, Result, bail, ensure};

use crate::cmd::campaign::folder::CampaignFolder;
use crate::cmd::campaign::measuring::{CampaignMeasurer, SessionLength};
use crate::cmd::campaign::trying::built;
use crate::cmd::print::print;
use crate::cmd::step_directory::file_name;
use crate::cmd::unmeasured::Unmeasured;
use crate::session::drawn_seed;
use host::terminal;
use measure::clock::monotonic_ns;
use model::spec::campaign::CampaignConfirm;
use model::values::exit_code;
use render::{campaign as page, campaign_document as documents, document};
use search::campaign::{CampaignEvent, Program};

/// Measures, saves and shows the gain of the whole campaign.
pub(super) fn confirm(verb: &CampaignConfirm) -> Result<u8> {
    let mut work = CampaignFolder::open(verb.directory.clone(), verb.rights)?;
    ensure!(
        work.campaign.accepted().next().is_some(),
        "no attempt was accepted yet; there is nothing to confirm"
    );
    work.require_same_programs()?;
    let (original, current) = (work.campaign.original().clone(), work.campaign.current().clone());
    let mut all = vec![(None, original, current.clone())];
    let mut kept_out = Vec::new();
    if verb.each {
        for (index, without) in left_out(&work)? {
            match without {
                // The program without the attempt is the reference, so the ratio is what the attempt contributes.
                Ok(program) => all.push((Some(index), program, current.clone())),
                Err(why) => kept_out.push((index, why)),
            }
        }
    }
    for (left_out, from, to) in all {
        match measured(verb, &work, [&from, &to], left_out)? {
            Some(event) => work.keep(event)?,
            None => {
                terminal::say("interrupted; this comparison is not kept, ask for it again");
                return Ok(exit_code::INTERRUPTED);
            }
        }
    }
    let facts = work.options.facts()?;
    if verb.output.json {
        let (body, conclusion) = documents::whole(&work.campaign, &facts);
        document::write(&mut terminal::data(), &body, conclusion, None)?;
    } else if verb.output.is_text() {
        print(&page::whole(&work.campaign, &facts, &kept_out))?;
    }
    Ok(exit_code::SUCCESS)
}

/// The programs without one accepted patch each: the other patches on the original program.
fn left_out(work: &CampaignFolder) -> Result<Vec<(usize, Result<Program, String>)>> {
    let place = work.place()?;
    let place = place.context("--each leaves out patches, and this campaign has commands")?;
    let accepted: Vec<(usize, &Program)> =
        work.campaign.accepted().map(|(index, attempt)| (index, &attempt.program)).collect();
    ensure!(accepted.len() > 1, "--each needs two accepted attempts, and there is one");
    let start = work.campaign.original();
    let without = |left: usize| {
        let mut commit =
            start.commit.clone().context("the program of the beginning has no commit")?;
        let mut before = start.clone();
        for (index, program) in &accepted {
            if *index != left {
                let (Some(from), Some(to)) = (&before.commit, &program.commit) else {
                    bail!("an attempt has no commit")
                };
                let name = &work.campaign.attempts()[*index].name;
                let what = format!("the patch of {name:?}");
                commit = place.replayed(&commit, [from, to], &what)?;
            }
            before = (*program).clone();
        }
        let command = work.campaign.current().command.clone();
        Ok(Program { command, commit: Some(commit), digest: None })
    };
    let each = accepted.iter().map(|(index, _)| {
        (*index, without(*index).map_err(|error: anyhow::Error| format!("{error:#}")))
    });
    Ok(each.collect())
}

fn measured(
    verb: &CampaignConfirm,
    work: &CampaignFolder,
    [from, to]: [&Program; 2],
    left_out: Option<usize>,
) -> Result<Option<CampaignEvent>> {
    let began_ns = monotonic_ns();
    let mut measurer = CampaignMeasurer {
        campaign_seed: work.folder.manifest.seed,
        answer: verb.output,
        ..CampaignMeasurer::new(&work.options, work.place()?, drawn_seed()?)
    };
    let name = if left_out.is_some() { "without it" } else { "beginning" };
    let from = built(&measurer, name, from)?;
    let to = built(&measurer, "accepted", to)?;
    let length = verb.runs.map_or(SessionLength::Budget, SessionLength::Blocks);
    let budget = verb.budget.unwrap_or(work.options.budget);
    let record = work.folder.new_record();
    let found = match measurer.measure(&[&from, &to], length, budget, record) {
        Ok(found) => found,
        Err(Unmeasured::Interrupted) => return Ok(None),
        Err(Unmeasured::Program(_, why)) => bail!("a program of the campaign fails: {why}"),
        Err(Unmeasured::Failed(error)) => return Err(error),
    };
    let gain = found
        .gains
        .get(1)
        .copied()
        .flatten()
        .context("too few blocks fit the budget for an interval; give more with --budget")?;
    let seconds = (monotonic_ns() - began_ns) as f64 / 1e9;
    let records = vec![file_name(&found.record)];
    Ok(Some(CampaignEvent::Whole { left_out, gain, seconds, records }))
}
