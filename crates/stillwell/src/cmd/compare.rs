//! `compare`: the commands of one record, or records that were taken in different sessions. Whatever changed on the
//! machine between sessions is part of their difference, so one past session allows no verdict; five show how much
//! sessions differ by themselves.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::analysis::{self, ArmSummary, Comparison, across_records, distributions, launches};
use crate::cli::CompareVerb;
use crate::cmd::judged::Judged;
use crate::record::Record;
use crate::render::{Styles, across, within};
use crate::verdict::{self, judge};

/// A record and the summaries of its arms.
type Summarised = (Record, Vec<ArmSummary>);

/// `compare`.
pub fn compare(verb: &CompareVerb) -> Result<u8> {
    match &verb.records[..] {
        [record] => within_record(verb, record),
        records => across_sessions(verb, records),
    }
}

/// Compares the arms of a record with its reference.
fn within_record(verb: &CompareVerb, path: &Path) -> Result<u8> {
    let judged = Judged::read(path)?;
    let Judged { record, analysis, judgements } = &judged;
    if analysis.comparisons.is_empty() {
        bail!("{} has only one command; name a record of another session too", path.display());
    }
    let distributions = if verb.distributions {
        distributions::within(record, &analysis.comparisons)
    } else {
        vec![None; analysis.comparisons.len()]
    };
    let found = analysis.comparisons.iter().zip(judgements).zip(distributions);
    let pairs: Vec<_> = found
        .map(|((comparison, &judgement), distributions)| across::Pair {
            old: vec![&analysis.arms[comparison.reference]],
            new: &analysis.arms[comparison.arm],
            comparison: comparison.clone(),
            judgement,
            distributions,
        })
        .collect();
    if verb.json {
        within::json(&mut std::io::stdout().lock(), record, &pairs)?;
    } else {
        super::print(&within::text(record, analysis, &pairs, &Styles::colored()))?;
    }
    Ok(judged.exit_code(verb.fail_on))
}

/// Compares the arms of the last record with those of the same name in the others.
fn across_sessions(verb: &CompareVerb, records: &[PathBuf]) -> Result<u8> {
    let sessions = records.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    refuse_twice(&sessions)?;
    let (new, old) = sessions.split_last().context("no record is named")?;
    let policy = &new.0.header.plan.policy;
    let mut pairs = Vec::new();
    for new_arm in new.1.iter().filter(|arm| !arm.is_hidden) {
        let past: Option<Vec<_>> =
            old.iter().map(|session| same_arm(session, new, new_arm)).collect();
        let Some(past) = past else { continue };
        let evidence = across_records(&past, new_arm, policy.alpha);
        let comparison = Comparison { arm: new_arm.arm, reference: past[0].arm, evidence };
        let judgement = judge(&comparison, policy);
        // Of several past sessions the last is the nearest to this one.
        let last = old.last().zip(past.last()).filter(|_| verb.distributions);
        let distributions = last
            .and_then(|(last, arm)| distributions::across(&last.0, arm.arm, &new.0, new_arm.arm));
        pairs.push(across::Pair { old: past, new: new_arm, comparison, judgement, distributions });
    }
    if pairs.is_empty() {
        bail!(
            "the records have no command in common; name them alike with --command-name when measuring"
        );
    }
    let old: Vec<&Record> = old.iter().map(|session| &session.0).collect();
    if verb.json {
        across::json(&mut std::io::stdout().lock(), &old, &new.0, &pairs)?;
    } else {
        super::print(&across::text(&old, &new.0, &pairs, &Styles::colored()))?;
    }
    let judgements: Vec<_> = pairs.iter().map(|pair| pair.judgement).collect();
    Ok(verb.fail_on.map_or(0, |fail_on| verdict::exit_code(&judgements, fail_on)))
}

/// The same session counted twice would look like two sessions that agree.
fn refuse_twice(sessions: &[Summarised]) -> Result<()> {
    let mut seen = HashMap::new();
    for (record, _) in sessions {
        let header = &record.header;
        let session = (&header.created, header.clock_origin_ns, &header.command_line);
        if let Some(other) = seen.insert(session, &record.path) {
            bail!("{} and {} are the same session", other.display(), record.path.display());
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Summarised> {
    let record = launches::gather(Record::read(path)?);
    let arms = analysis::summarise(&record);
    Ok((record, arms))
}

/// Arms of the same name belong together; if there is only one on each side, they do whatever their names.
fn same_arm<'a>(old: &'a Summarised, new: &Summarised, arm: &ArmSummary) -> Option<&'a ArmSummary> {
    let candidates = |session: &'a Summarised| session.1.iter().filter(|arm| !arm.is_hidden);
    let is_only = |session: &Summarised| session.0.header.plan.candidates().nth(1).is_none();
    if is_only(old) && is_only(new) {
        return candidates(old).next();
    }
    candidates(old).find(|other| other.label == arm.label)
}
