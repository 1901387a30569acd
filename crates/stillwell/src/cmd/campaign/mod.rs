//! `campaign`: attempts to make a program faster, judged together.

mod confirming;
mod folder;
mod measuring;
mod of_program;
mod trying;

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::cmd::commits::Place;
use crate::cmd::fair_play;
use crate::cmd::output_file::write_one;
use crate::cmd::print::print;
use crate::cmd::step_directory::{StepDirectory, digest_of};
use crate::cmd::suite_commands::KeptSuite;
use crate::session::drawn_seed;
use host::terminal;
use model::spec::campaign::{CampaignAction, CampaignNew, CampaignReport, CampaignStatus};
use model::values::exit_code;
use model::words::one_command;
use render::{campaign as page, campaign_document as documents, document};
use search::campaign::{CampaignEvent, Program};

use folder::{CampaignFolder, CampaignManifest, CampaignOptions};

/// Placeholders that are filled in for each block.
const HELD_BACK: [&str; 2] = ["{input}", "{seed}"];

/// Begins a campaign, goes on with one, or shows it.
pub fn campaign(action: CampaignAction) -> Result<u8> {
    match action {
        CampaignAction::New(new) => begin(*new),
        CampaignAction::Try(verb) => trying::try_attempt(&verb),
        CampaignAction::Status(verb) => status(&verb),
        CampaignAction::Confirm(verb) => confirming::confirm(&verb),
        CampaignAction::Report(verb) => report(&verb),
    }
}

fn begin(new: CampaignNew) -> Result<u8> {
    let directory = new.directory.clone();
    ensure!(
        std::fs::symlink_metadata(&directory).is_err(),
        "{} exists; a campaign begins in a directory of its own",
        directory.display()
    );
    let options = CampaignOptions::of(new)?;
    ensure!(
        options.trial.aim > options.trial.at_least,
        "--aim has to be above --at-least: a gain of that size is to be found"
    );
    ensure!(
        options.new.build.is_none() || options.new.fair.fresh.is_none(),
        "--fresh does not go with --build: each run would be outside of its checkout"
    );
    let place = options.new.build.as_ref().map(|_| Place::here()).transpose()?;
    let revision = options.new.revision.as_deref().unwrap_or("HEAD");
    let commit = place.as_ref().map(|place| place.only(revision)).transpose()?;
    let command = match &options.new.program {
        Some(program) => program.clone(),
        None => one_command(&options.new.command),
    };
    let here = std::path::absolute(".").context("cannot find the current directory")?;
    let digest = if commit.is_none() { digest_of(&command, &here) } else { None };
    let original = Program { command, commit, digest };
    require_measurable(&options, &original.command, &here)?;
    let suite = options.new.suite.as_deref().map(KeptSuite::read).transpose()?;
    let benchmarks = match &suite {
        Some(suite) => suite.names()?,
        None => of_program::benchmarks(&options, place, &original)?,
    };
    let manifest = CampaignManifest {
        request: options.new.clone(),
        here: here.to_string_lossy().into_owned(),
        seed: options.new.seed.map_or_else(drawn_seed, Ok)?,
        original,
        benchmarks,
        suite,
    };
    StepDirectory::<_, CampaignEvent>::open(directory.clone(), || Ok(manifest))?;
    let (options, campaign) = CampaignFolder::look(&directory)?;
    print(&page::beginning(&campaign, &options.facts()?, &directory))?;
    Ok(exit_code::SUCCESS)
}

/// Refuses a campaign whose attempts can only fail.
fn require_measurable(options: &CampaignOptions, command: &str, here: &Path) -> Result<()> {
    let new = &options.new;
    let request = serde_json::to_string(new)?;
    let held_back = [("--input-set", new.fair.input_set.is_some()), ("--seeds", new.fair.seeds)];
    for ((option, is_given), word) in held_back.into_iter().zip(HELD_BACK) {
        ensure!(
            !is_given || new.suite.is_some() || request.contains(word),
            "{option} gives each block another {word}, and no command mentions it"
        );
    }
    new.fair.input_set.as_deref().map_or(Ok(()), fair_play::check_inputs)?;
    let is_here = new.build.is_none() && new.fair.fresh.is_none() && new.script.is_none();
    let words = shell_words::split(command).unwrap_or_default();
    if let Some(program) = words.first().filter(|word| is_here && word.contains('/')) {
        ensure!(
            program.contains('{') || here.join(program).exists(),
            "there is no program {program} in {}",
            here.display()
        );
    }
    Ok(())
}

fn status(verb: &CampaignStatus) -> Result<u8> {
    let (options, campaign) = CampaignFolder::look(&verb.directory)?;
    let facts = options.facts()?;
    if verb.json {
        let (body, conclusion) = documents::whole(&campaign, &facts);
        document::write(&mut terminal::data(), &body, conclusion, None)?;
    } else {
        print(&page::status(&campaign, &facts))?;
    }
    Ok(exit_code::SUCCESS)
}

fn report(verb: &CampaignReport) -> Result<u8> {
    let (options, campaign) = CampaignFolder::look(&verb.directory)?;
    let text = page::markdown(&campaign, &options.facts()?);
    match &verb.output {
        Some(path) if path != Path::new("-") => {
            write_one(path, |to| Ok(to.write_all(text.as_bytes())?))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        _ => print(&text)?,
    }
    Ok(exit_code::SUCCESS)
}
