//! `campaign`: attempts to make a program faster, judged together.

mod confirming;
mod folder;
mod measuring;
mod of_program;
mod of_suite;
mod trying;

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::campaign::{CampaignEvent, Program};
use crate::cmd::commits::Place;
use crate::cmd::output_file::write_one;
use crate::cmd::print::print;
use crate::cmd::step_directory::StepDirectory;
use crate::render::campaign as page;
use crate::render::{campaign_document as documents, document};
use crate::session::drawn_seed;
use crate::spec::campaign::{
    CampaignAction, CampaignNew, CampaignReport, CampaignStatus, CampaignVerb,
};
use crate::terminal;
use crate::values::exit_code;
use crate::words::text_of;

use folder::{CampaignFolder, CampaignManifest, CampaignOptions};
use of_suite::KeptSuite;

/// Begins a campaign, goes on with one, or shows it.
pub fn campaign(verb: CampaignVerb) -> Result<u8> {
    match verb.action {
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
    let options = CampaignOptions::of(new);
    ensure!(
        options.trial.aim > options.trial.at_least,
        "--aim has to be above --at-least: a gain of that size is to be found"
    );
    ensure!(
        options.new.build.is_none() || options.new.fair.fresh.is_none(),
        "--fresh does not go with --build: each run would be outside of its checkout"
    );
    let place = options.new.build.as_ref().map(|_| Place::here()).transpose()?;
    let commit = match &place {
        None => None,
        Some(place) => {
            let revision = options.new.revision.as_deref().unwrap_or("HEAD");
            let named = place.named(&[revision.to_owned()])?;
            let [one] = named.as_slice() else {
                anyhow::bail!("--revision names one commit, and {revision} several")
            };
            Some(one.id.clone())
        }
    };
    let command = match &options.new.program {
        Some(program) => program.clone(),
        None => command_line(&options.new.command),
    };
    let original = Program { command, commit };
    let suite = options.new.suite.as_deref().map(KeptSuite::read).transpose()?;
    let benchmarks = match &suite {
        Some(suite) => suite.names()?,
        None => of_program::benchmarks(&options, place, &original)?,
    };
    let words = std::env::args_os().skip(1);
    let here = std::path::absolute(".").context("cannot find the current directory")?;
    let manifest = CampaignManifest {
        words: words.map(|word| text_of(word.as_encoded_bytes())).collect(),
        here: here.to_string_lossy().into_owned(),
        seed: options.new.seed.map_or_else(drawn_seed, Ok)?,
        original,
        benchmarks,
        suite,
    };
    StepDirectory::<_, CampaignEvent>::open(directory.clone(), || Ok(manifest))?;
    let (options, campaign) = CampaignFolder::look(&directory)?;
    print(&page::beginning(&campaign, &options.facts(), &directory))?;
    Ok(exit_code::SUCCESS)
}

/// The command line of the words after `--`.
fn command_line(words: &[String]) -> String {
    match words {
        [only] => only.clone(),
        words => shell_words::join(words),
    }
}

fn status(verb: &CampaignStatus) -> Result<u8> {
    let (options, campaign) = CampaignFolder::look(&verb.directory)?;
    let facts = options.facts();
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
    let text = page::markdown(&campaign, &options.facts());
    match &verb.output {
        Some(path) if path != Path::new("-") => {
            write_one(path, |to| Ok(to.write_all(text.as_bytes())?))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        _ => print(&text)?,
    }
    Ok(exit_code::SUCCESS)
}
