//! Keeps the runs of a session honest: fresh directories, inputs for each block, digests.
#![expect(
    clippy::disallowed_methods,
    reason = "makes and reads its own files, and looks for inputs"
)]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{Write as _, stdin};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use host::ScratchDirectory;
use host::sys::own_path;
use host::user_files::{no_temporary, open_to_write, replace};
use measure::digest::{digest, digest_of_file};
use measure::fresh::{make_fresh, place_of_copies};
use model::spec::{FairPlayOptions, RunSpec};
use model::values::CheatKind;
use record::fair_play::{
    AuditReport, CheatFinding, Half, OutputRules, RunOutput, half_of, judge_outputs_of_benchmarks,
    judge_survivors, seeds,
};
use record::plan::{BlockWord, FairPlayRules, FairPlayTerms, FreshDirectory};
use record::{Event, Record};
use render::units::counted;

/// The file to which hooks append digests of outputs.
const OUTPUTS: &str = "outputs";
/// The file with the settings of the hooks.
const HOOKS: &str = "hooks.json";
/// The directory of a run.
pub(super) const RUN: &str = "run";

/// A part of a campaign.
#[derive(Clone, Copy, Debug, Default)]
pub struct Side {
    /// Half of the inputs and numbers.
    pub half: Half,
    pub seed: u64,
    /// Whether the runs cannot see that they are measured.
    pub is_undercover: bool,
    /// In a later session, when the attempt's first one began: its runs may have left files.
    pub since_ns: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct HookSettings {
    fresh: Option<PathBuf>,
    files: Vec<String>,
}

/// Keeps the attempts of one session honest and checks them. Dropping it removes its files.
#[derive(Debug)]
pub struct FairPlay {
    pub(super) folder: ScratchDirectory,
    path: String,
    program: String,
    pub(super) options: FairPlayOptions,
    pub(super) side: Side,
    /// When the attempt's first session began, by the clock of file times, ns.
    pub since_ns: i64,
    pub(super) rules: FairPlayRules,
    /// Blocks after which inputs and numbers repeat.
    pub(super) period: u32,
    has_validate: bool,
    /// Number of compared programs. Each benchmark has an arm for each, the reference first.
    n_programs: usize,
    /// Files that no run may change, with digests.
    guarded: Vec<(PathBuf, CheatKind, Option<String>)>,
}

impl FairPlay {
    /// Makes the directories. `spec` has the commands: for each benchmark `n_programs` of them, the reference first.
    /// Errors: a directory of the options cannot be used, or there are too few inputs.
    pub fn begin(
        options: &FairPlayOptions,
        side: Side,
        spec: &RunSpec,
        n_programs: usize,
    ) -> Result<Self> {
        let fresh = options.fresh.as_ref().map(|fresh| {
            fresh.canonicalize().with_context(|| format!("--fresh {}", fresh.display()))
        });
        let options = FairPlayOptions { fresh: fresh.transpose()?, ..options.clone() };
        let place = options.fresh.as_deref().map_or_else(std::env::temp_dir, place_of_copies);
        let folder = ScratchDirectory::new_in(&place).with_context(no_temporary)?;
        let inputs = options.input_set.as_deref().map(inputs_of).transpose()?;
        let (mut words, mut period) = (Vec::new(), 1);
        if let Some(inputs) = &inputs {
            let texts = half_of(inputs, side.half, side.seed);
            period = u32::try_from(texts.len()).context("--input-set has too many files")?;
            words.push(BlockWord { word: "{input}".into(), texts });
        }
        if options.seeds {
            let texts = seeds(side.half, side.seed);
            period = period.saturating_mul(u32::try_from(texts.len()).unwrap_or(u32::MAX));
            words.push(BlockWord { word: "{seed}".into(), texts });
        }
        if options.fresh.is_some() {
            let texts = vec![text(&folder.path().join(RUN))?];
            words.push(BlockWord { word: "{fresh}".into(), texts });
        }
        let mut fair = Self {
            path: text(folder.path())?,
            program: text(&own_path().context("cannot find this program")?)?,
            folder,
            side,
            since_ns: side.since_ns.unwrap_or_else(now_ns),
            rules: FairPlayRules { words, is_undercover: side.is_undercover },
            period,
            has_validate: spec.hooks.validate.is_some(),
            n_programs,
            guarded: Vec::new(),
            options,
        };
        fair.guarded = fair.files_to_guard(spec, inputs.unwrap_or_default());
        let (fresh, files) = (fair.options.fresh.clone(), fair.options.files.clone());
        let text = serde_json::to_vec(&HookSettings { fresh, files })?;
        let path = fair.folder.path().join(HOOKS);
        replace(&path, 0o600, &text).context("cannot write a temporary file")?;
        // Programs are looked for before the first hook makes this directory.
        if let Some(source) = &fair.options.fresh {
            let copy = fair.folder.path().join(RUN);
            make_fresh(source, &copy)?;
        }
        Ok(fair)
    }

    /// The inputs, and the files that the reference's commands name.
    fn files_to_guard(
        &self,
        spec: &RunSpec,
        inputs: Vec<String>,
    ) -> Vec<(PathBuf, CheatKind, Option<String>)> {
        let references = spec.commands.iter().step_by(self.n_programs);
        let words: BTreeSet<String> =
            references.filter_map(|command| shell_words::split(command).ok()).flatten().collect();
        let tools = words.into_iter().map(|word| (word, CheatKind::Tool));
        let inputs = inputs.into_iter().map(|input| (input, CheatKind::OutsideFile));
        let digests = tools.chain(inputs).map(|(path, kind)| (PathBuf::from(path), kind));
        let digests = digests.map(|(path, kind)| {
            let digest = digest_of_file(&path);
            (path, kind, digest)
        });
        digests.filter(|(.., digest)| digest.is_some()).collect()
    }

    /// The hooks, the directories and the words of a session's commands.
    pub fn terms(&self) -> FairPlayTerms {
        let hook = |action| shell_words::join([&self.program, "fair-play", action, &self.path]);
        let fresh =
            |_| FreshDirectory { path: format!("{}/{RUN}", self.path), hook: hook("prepare") };
        FairPlayTerms {
            rules: self.rules.clone(),
            fresh: self.options.fresh.as_ref().map(fresh),
            digest: (!self.has_validate).then(|| hook("digest")),
        }
    }

    /// The findings of a session after its end.
    pub fn verdict(&self, record: &Path) -> Result<AuditReport> {
        let record = Record::read(record)?;
        let mut report = AuditReport::default();
        if !self.has_validate {
            report = report.merge(self.judged_outputs(&record)?);
        }
        for event in &record.events {
            if let Event::Launcher { survivors, .. } = event {
                report.findings.extend(judge_survivors(survivors, self.n_programs));
            }
        }
        Ok(report.merge(self.changes()).without(&self.options.allow))
    }

    fn judged_outputs(&self, record: &Record) -> Result<AuditReport> {
        let path = self.folder.path().join(OUTPUTS);
        let text = fs::read_to_string(&path)
            .with_context(|| format!("no run of {} was seen", path.display()))?;
        let outputs: Vec<RunOutput> = text
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()
            .context("the digests")?;
        let arms = record.header.plan.arms.iter().step_by(self.n_programs);
        let names: Vec<String> = arms.filter_map(|arm| arm.benchmark.clone()).collect();
        let rules = self.output_rules();
        let mut report = judge_outputs_of_benchmarks(&outputs, rules, self.n_programs, &names);
        for (index, file) in self.options.files.iter().enumerate() {
            let of_reference =
                outputs.iter().filter(|output| output.arm.is_multiple_of(self.n_programs));
            if of_reference.clone().all(|output| output.files[index].is_none()) {
                let what = format!("wrong file {file}: no run of the reference writes it");
                report.unchecked.push(what);
            }
        }
        for arm in 0..record.header.plan.arms.len() {
            let n_runs = record.rows.iter().filter(|row| row.arm as usize == arm).count();
            let n_seen = outputs.iter().filter(|output| output.arm == arm).count();
            // The last run may have been interrupted.
            if !record.header.plan.arms[arm].role.is_control() && n_seen + 1 < n_runs {
                report.unchecked.push(format!(
                    "wrong output: only {n_seen} of {n_runs} runs of command {} were seen",
                    arm + 1
                ));
            }
        }
        Ok(report)
    }

    pub(super) fn output_rules(&self) -> OutputRules<'_> {
        let has_words = self.options.input_set.is_some() || self.options.seeds;
        OutputRules {
            files: &self.options.files,
            period: self.period,
            is_held_back: has_words && self.side.half == Half::Confirm,
            benchmark: None,
        }
    }

    /// Guarded files that have changed.
    pub(super) fn changes(&self) -> AuditReport {
        let changed =
            self.guarded.iter().filter(|(path, _, digest)| digest_of_file(path) != *digest);
        let finding = |(path, kind, _): &(PathBuf, CheatKind, _)| CheatFinding {
            kind: *kind,
            sentence: format!("{} is no longer what it was", path.display()),
        };
        AuditReport { findings: changed.map(finding).collect(), unchecked: Vec::new() }
    }
}

pub(super) fn text(path: &Path) -> Result<String> {
    let text = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    Ok(text.to_owned())
}

fn now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Errors: the files of `--input-set` are too few, or a name has characters with a meaning for a shell.
pub fn check_inputs(directory: &Path) -> Result<()> {
    inputs_of(directory).map(drop)
}

/// The files of a directory, sorted, so that only the seed determines their order.
fn inputs_of(directory: &Path) -> Result<Vec<String>> {
    let cannot = || format!("--input-set {}", directory.display());
    let directory = directory.canonicalize().with_context(cannot)?;
    let mut names: Vec<OsString> = Vec::new();
    for entry in fs::read_dir(&directory).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        if entry.path().is_file() {
            names.push(entry.file_name());
        }
    }
    names.sort();
    ensure!(
        names.len() >= 2,
        "--input-set {} has {}: one half is for attempts and the other for confirmations, so it needs two",
        directory.display(),
        counted(names.len(), "file")
    );
    let is_read_by_shells = |name: &&OsString| {
        name.as_encoded_bytes().iter().any(|byte| b"$`\"'\\;&|<>()*?[]!#\n\t".contains(byte))
    };
    if let Some(name) = names.iter().find(is_read_by_shells) {
        bail!(
            "--input-set {} has a file {name:?}, which a shell would not read as a name; rename it",
            directory.display()
        );
    }
    names.iter().map(|name| text(&directory.join(name))).collect()
}

fn hook_settings(folder: &Path) -> Result<HookSettings> {
    let path = folder.join(HOOKS);
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("cannot read {}", path.display()))
}

/// The hook before a run.
pub fn prepare(folder: &Path) -> Result<()> {
    let HookSettings { fresh, .. } = hook_settings(folder)?;
    fresh.map_or(Ok(()), |source| make_fresh(&source, &folder.join(RUN)))
}

/// The hook after a run: reads the standard output of the run, in the directory of the run.
pub fn take_digests(folder: &Path, arm: usize) -> Result<()> {
    let HookSettings { files, .. } = hook_settings(folder)?;
    // `7`, or `warmup-0`.
    let block = std::env::var("STILLWELL_ITERATION").ok().and_then(|it| it.parse().ok());
    let output = RunOutput {
        arm,
        block,
        stdout: digest(stdin().lock()).context("the output of the run")?,
        files: files.iter().map(|file| digest_of_file(Path::new(file))).collect(),
    };
    let mut line = serde_json::to_vec(&output)?;
    line.push(b'\n');
    let path = folder.join(OUTPUTS);
    let mut file = open_to_write(&path, OFlags::CREATE | OFlags::APPEND, 0o666)?;
    file.write_all(&line).with_context(|| format!("cannot write {}", path.display()))
}
