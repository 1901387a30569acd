//! Earlier sessions that are measured again: the arms of a record, of a suite's benchmark, of a search.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::cmd::assessment::Assessment;
use crate::cmd::bisect;
use crate::cmd::frameworks::with_kept_programs;
use analysis::verdict::Verdict;
use measure::profile::saved::{EXTENSION, path_of};
use model::spec::WhyVerb;
use model::words::bytes_of;
use record::plan::{EarlierArm, Plan, Role};
use record::{Record, SuiteManifest, is_suite};

/// The values of `--of` that stand for an arm's verdict.
const BY_VERDICT: [(&str, Verdict); 2] = [("slower", Verdict::Slower), ("faster", Verdict::Faster)];

pub enum WhyInput {
    Commands,
    /// The profile of an earlier `why`.
    Profile(PathBuf),
    /// A session whose arms are measured again.
    Session(Box<EarlierSession>),
}

/// An earlier session and its explained arms: the reference and another one, or one alone.
pub struct EarlierSession {
    pub record: Record,
    pub arms: Vec<EarlierArm>,
}

impl WhyInput {
    /// Errors: a result cannot be read, or does not say which arms to compare.
    pub fn of(verb: &WhyVerb) -> Result<Self> {
        let is_choice = verb.only.is_some() || verb.of.is_some();
        let found = match verb.commands.as_slice() {
            [only] => Path::new(OsStr::from_bytes(&bytes_of(only))).to_owned(),
            _ => PathBuf::new(),
        };
        let Some(record) = record_at(&found, verb)? else {
            ensure!(
                !is_choice,
                "--only and --of are for the result of an earlier session, and {} is none",
                verb.commands.join(" and ")
            );
            return Ok(Self::Commands);
        };
        let is_profile = record.extension().is_some_and(|it| it == EXTENSION);
        if is_profile || (!is_choice && path_of(&record).is_file()) {
            return Ok(Self::Profile(record));
        }
        EarlierSession::read(&record, verb).map(|it| Self::Session(Box::new(it)))
    }
}

/// The session's file at a path; `None` for other files.
fn record_at(path: &Path, verb: &WhyVerb) -> Result<Option<PathBuf>> {
    let extension = path.extension().and_then(OsStr::to_str);
    if matches!(extension, Some(EXTENSION | "swell")) && path.is_file() {
        return Ok(Some(path.to_owned()));
    }
    ensure!(
        !matches!(extension, Some(EXTENSION | "swell"))
            || path.components().count() == 0
            || path.exists(),
        "there is no record {}; `stillwell show --list` lists those that there are",
        path.display()
    );
    if is_suite(path) {
        return member(path, verb.only.as_deref()).map(Some);
    }
    if bisect::is_search(path) {
        return bisect::confirmed(path).map(Some);
    }
    // A word without a slash may be a command in PATH.
    ensure!(
        !path.is_dir() || path.components().count() < 2,
        "{} has no results: a suite, a gate or a search for a commit has a directory with suite.json or bisect.json",
        path.display()
    );
    Ok(None)
}

/// The record of a benchmark of a suite.
fn member(directory: &Path, only: Option<&str>) -> Result<PathBuf> {
    let manifest = SuiteManifest::read(directory)?;
    let members = &manifest.suite.members;
    let names = || members.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
    let shown = directory.display();
    let at = match only {
        Some(only) => members.iter().position(|member| member.name == only),
        None if members.len() == 1 => Some(0),
        None => bail!("{shown} has several benchmarks; name one with --only: {}", names()),
    };
    let at = at.with_context(|| {
        format!("{shown} has no benchmark {:?}; it has {}", only.unwrap_or_default(), names())
    })?;
    let path = manifest.paths(directory).swap_remove(at);
    ensure!(path.is_file(), "{shown}: {} was not measured", members[at].name);
    Ok(path)
}

impl EarlierSession {
    fn read(path: &Path, verb: &WhyVerb) -> Result<Self> {
        let assessment = Assessment::read(path)?;
        let shown = path.display();
        let (header, plan) = (&assessment.record.header, &assessment.record.header.plan);
        ensure!(
            header.imported.is_none(),
            "{shown} has the times of another program, and not how it measured them; give the commands to why"
        );
        ensure!(
            !plan.is_forked(),
            "{shown} is of functions of a program that has ended; time them in a script, or give commands to why"
        );
        // In a suite `--only` has chosen the record already.
        let benchmark = verb.only.as_deref().filter(|_| plan.suite.is_none());
        let arms =
            pair(&assessment, benchmark, verb.of.as_deref()).with_context(|| shown.to_string())?;
        let record = Record::read(path)?;
        let plan = &record.header.plan;
        let mut directories = arms.iter().flat_map(|&arm| &plan.arms[arm].directories);
        if let Some(gone) = directories.find(|directory| !Path::new(directory).is_dir()) {
            bail!(
                "{shown}: the commands ran in {gone}, which is gone; build it again, and give the commands to why"
            );
        }
        let found = with_kept_programs(plan.clone(), path.parent().unwrap_or(Path::new("")));
        let argv = |index: usize| found.arms[index].argv.clone();
        let arms = arms.into_iter().map(|index| EarlierArm { index, argv: argv(index) }).collect();
        Ok(Self { record, arms })
    }

    /// The directory of the session, unless it is the current one.
    pub fn directory(&self) -> Option<&str> {
        let there = self.record.header.facts.directory.as_deref()?;
        let here = std::path::absolute(".").ok();
        (here.as_deref() != Some(Path::new(there))).then_some(there)
    }
}

/// Whether any arm differs from its reference.
pub fn has_difference(record: &Path) -> Result<bool> {
    let judgements = Assessment::read(record)?.judgements;
    let is_one = |verdict| matches!(verdict, Verdict::Slower | Verdict::Faster);
    Ok(judgements.is_empty() || judgements.iter().any(|judgement| is_one(judgement.verdict)))
}

/// The reference and the arm to explain; only one if there is no other.
fn pair(assessment: &Assessment, benchmark: Option<&str>, of: Option<&str>) -> Result<Vec<usize>> {
    let plan = &assessment.record.header.plan;
    let is_here = |arm: &usize| {
        let arm = &plan.arms[*arm];
        arm.role == Role::Candidate
            && benchmark.is_none_or(|name| arm.benchmark.as_deref() == Some(name))
    };
    let arms: Vec<usize> = (0..plan.arms.len()).filter(is_here).collect();
    let names = || {
        let label =
            |(number, &arm): (usize, &usize)| format!("{} ({})", number + 1, plan.full_label(arm));
        arms.iter().enumerate().map(label).collect::<Vec<_>>().join(", ")
    };
    ensure!(!arms.is_empty(), "there is no benchmark {:?}", benchmark.unwrap_or_default());
    if let ([only], None) = (arms.as_slice(), of) {
        return Ok(vec![*only]);
    }
    let others: Vec<usize> =
        arms.iter().copied().filter(|&arm| plan.reference_of(arm) != arm).collect();
    let by_verdict = |verdict: Verdict| {
        let judged = assessment.analysis.comparisons.iter().zip(&assessment.judgements);
        let is_it = |arm: usize| others.contains(&arm);
        let judged = judged.filter(|(it, judged)| judged.verdict == verdict && is_it(it.arm));
        let size = |ratio: Option<f64>| ratio.unwrap_or(1.0).ln().abs();
        let sized = judged.map(|(it, judged)| (it.arm, size(judged.interval.map(|it| it.ratio))));
        sized.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(arm, _)| arm)
    };
    let arm = match (of, others.as_slice()) {
        (None, [only]) => Some(*only),
        (None, _) => by_verdict(Verdict::Slower).or_else(|| by_verdict(Verdict::Faster)),
        (Some(of), _) => match BY_VERDICT.iter().find(|(word, _)| *word == of) {
            Some((word, verdict)) => {
                Some(by_verdict(*verdict).with_context(|| format!("nothing is {word} there"))?)
            }
            None => named(plan, &arms, of),
        },
    };
    let arm = arm.filter(|arm| others.contains(arm)).with_context(|| {
        format!("say with --of what to compare with the reference: {}", names())
    })?;
    Ok(vec![plan.reference_of(arm), arm])
}

/// An arm by its name, its command or its number.
fn named(plan: &Plan, arms: &[usize], name: &str) -> Option<usize> {
    let is_it = |arm: &&usize| {
        let arm = &plan.arms[**arm];
        arm.label() == name || arm.command == name
    };
    let by_number = || arms.get(name.parse::<usize>().ok()?.checked_sub(1)?);
    arms.iter().find(is_it).or_else(by_number).copied()
}
