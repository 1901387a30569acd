//! The directory of a campaign.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::cmd::commits::Place;
use crate::cmd::rights::take_for_kept;
use crate::cmd::step_directory::{StepDirectory, StepFiles, StepManifest, digest_of};
use crate::cmd::suite_commands::KeptSuite;
use model::spec::campaign::CampaignNew;
use model::spec::groups::RightsOptions;
use model::values::{Percent, TimeSpan};
use record::plan::{TrialRule, defaults};
use render::QuantityWords;
use render::campaign::CampaignFacts;
use search::campaign::{Campaign, CampaignEvent, CampaignRules, Program};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CampaignManifest {
    pub request: CampaignNew,
    /// The current directory of the request.
    pub here: String,
    pub seed: u64,
    /// The program without any attempt.
    pub original: Program,
    /// With `--program` and `--suite`: the benchmarks that decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub benchmarks: Vec<String>,
    /// With `--suite`: the suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<KeptSuite>,
}

impl StepManifest for CampaignManifest {
    const FILES: StepFiles = StepFiles {
        format: "stillwell-campaign",
        version: 2,
        manifest: "campaign.json",
        steps: "log.jsonl",
        work: "a campaign",
    };
}

pub(super) struct CampaignFolder {
    pub folder: StepDirectory<CampaignManifest, CampaignEvent>,
    pub options: CampaignOptions,
    pub campaign: Campaign,
}

/// The options of `campaign new`, with their defaults.
#[derive(Debug)]
pub(super) struct CampaignOptions {
    pub new: CampaignNew,
    pub rules: CampaignRules,
    pub trial: TrialRule,
    pub budget: TimeSpan,
    /// This and the suite: as in the manifest.
    pub benchmarks: Vec<String>,
    pub suite: Option<KeptSuite>,
}

impl CampaignOptions {
    /// Errors: an option is out of range.
    pub(super) fn of(new: CampaignNew) -> Result<Self> {
        let share = |given: Option<Percent>, default: f64| {
            given.map_or(default, |percent| percent.0) / 100.0
        };
        let rules = CampaignRules {
            control: new.control.unwrap_or(defaults::CAMPAIGN_CONTROL),
            alpha: defaults::alpha(new.alpha.unwrap_or(defaults::CAMPAIGN_ALPHA))?,
            n_planned: new.attempts.unwrap_or(defaults::CAMPAIGN_ATTEMPTS) as usize,
        };
        let at_least = share(new.at_least, 0.0);
        let aim = new.aim.map_or(at_least + defaults::CAMPAIGN_AIM_PCT / 100.0, |it| it.0 / 100.0);
        let trial = TrialRule { at_least, aim, miss: defaults::CAMPAIGN_MISS };
        let budget = new.budget.unwrap_or(defaults::CAMPAIGN_BUDGET);
        Ok(Self { new, rules, trial, budget, benchmarks: Vec::new(), suite: None })
    }

    /// The rules, for the output. Errors: the kept suite has a mistake.
    pub(super) fn facts(&self) -> Result<CampaignFacts> {
        let TrialRule { at_least, aim, miss } = self.trial;
        let total_s = self.new.total_budget.map(|total| total.ns as f64 / 1e9);
        let of_suite = self.suite.as_ref().map(KeptSuite::value).transpose()?;
        let value = of_suite.as_ref().unwrap_or(&self.new.process.execution.value);
        let quantity = QuantityWords::of_options(self.new.judged.decide_on, value);
        let benchmarks = self.benchmarks.clone();
        Ok(CampaignFacts { at_least, aim, miss, total_s, benchmarks, quantity })
    }
}

impl CampaignFolder {
    /// Errors: there is no campaign, or another process works there.
    pub(super) fn open(directory: PathBuf, rights: RightsOptions) -> Result<Self> {
        let missing = CampaignManifest::FILES.missing(&directory);
        let folder: StepDirectory<CampaignManifest, CampaignEvent> =
            StepDirectory::open(directory, || Err(missing))?;
        let (mut options, campaign) = state(&folder.manifest, &folder.lines)
            .with_context(|| format!("in {}", folder.directory.display()))?;
        take_for_kept(rights, &mut options.new.process.rights, "campaign")?;
        let opened = Self { folder, options, campaign };
        opened.require_here()?;
        Ok(opened)
    }

    /// The repository of the campaign, if it has one. Errors: the repository is gone.
    pub(super) fn place(&self) -> Result<Option<Place>> {
        let here = &self.folder.manifest.here;
        let place = self.options.new.build.as_ref().map(|_| Place::of(here.as_ref()));
        let place = place.transpose().with_context(|| format!("the campaign began in {here}"))?;
        Ok(place.map(|place| place.without(&self.folder.directory)))
    }

    /// Refuses another current directory for commands without a commit: they run in the directory of `campaign new`.
    fn require_here(&self) -> Result<()> {
        let began = &self.folder.manifest.here;
        let is_of_files = self.options.new.build.is_none() && self.options.new.script.is_none();
        let here = std::path::absolute(".").context("cannot find the current directory")?;
        ensure!(
            !is_of_files || here.to_string_lossy() == **began,
            "this campaign began in {began}, and its commands are relative to it; go there"
        );
        Ok(())
    }

    /// Checks that the accepted programs are the files that were accepted. Errors: one was replaced.
    pub(super) fn require_same_programs(&self) -> Result<()> {
        let here = Path::new(&self.folder.manifest.here);
        let known = [
            ("the accepted state", self.campaign.current()),
            ("the beginning", self.campaign.original()),
        ];
        for (what, program) in known {
            let is_same =
                program.digest.is_none() || program.digest == digest_of(&program.command, here);
            ensure!(
                is_same,
                "the program of {what}, {:?}, was replaced since it was measured; put it back, or begin another campaign",
                program.command
            );
        }
        Ok(())
    }

    /// Reads a campaign that is only shown. Errors: there is none.
    pub(super) fn look(directory: &Path) -> Result<(CampaignOptions, Campaign)> {
        let (manifest, lines) = StepDirectory::<CampaignManifest, CampaignEvent>::look(directory)?;
        state(&manifest, &lines).with_context(|| format!("in {}", directory.display()))
    }

    pub(super) fn keep(&mut self, event: CampaignEvent) -> Result<()> {
        self.campaign.take(&event);
        self.folder.keep(event)
    }
}

fn state(
    manifest: &CampaignManifest,
    lines: &[CampaignEvent],
) -> Result<(CampaignOptions, Campaign)> {
    let (benchmarks, suite) = (manifest.benchmarks.clone(), manifest.suite.clone());
    let options = CampaignOptions::of(manifest.request.clone())?;
    let options = CampaignOptions { benchmarks, suite, ..options };
    let mut campaign = Campaign::new(options.rules, manifest.original.clone());
    lines.iter().for_each(|line| campaign.take(line));
    Ok((options, campaign))
}

/// The namespace of the references to accepted commits. Lists of branches and tags do not show it.
const PARENT: &str = "refs/stillwell/campaigns";

pub(super) fn keep_last_commit(work: &CampaignFolder) -> Result<()> {
    let Some((index, attempt)) = work.campaign.accepted().last() else { return Ok(()) };
    let Some(commit) = &attempt.program.commit else { return Ok(()) };
    let Some(place) = work.place()? else { return Ok(()) };
    let directory = std::path::absolute(&work.folder.directory);
    let directory = directory.context("cannot find the current directory")?;
    place.refer(&reference(&directory, index + 1, &attempt.name), commit).with_context(|| {
        format!(
            "cannot make a reference to {commit}, the commit of {:?}; make a branch of it, or git may remove it",
            attempt.name
        )
    })
}

/// The name of an attempt's reference: directory, number and name. The digest of the path tells directories of one name
/// apart.
fn reference(directory: &Path, number: usize, name: &str) -> String {
    let digest = Sha256::digest(directory.as_os_str().as_encoded_bytes());
    let digest: String = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = directory.file_name().unwrap_or_default().to_string_lossy();
    format!("{PARENT}/{}-{digest}/{number}-{}", component(&folder), component(name))
}

/// A text as a part of a reference; git permits few other characters.
fn component(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().map(|c| if is_plain(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_makes_a_reference() {
        let found = reference(Path::new("/srv/my c.d"), 2, "faster: ..@{1}~\n.lock");
        // printf '/srv/my c.d' | sha256sum
        let parent = "refs/stillwell/campaigns/my-c-d-d359ede0";
        assert_eq!(found, format!("{parent}/2-faster------1----lock"));
    }
}
