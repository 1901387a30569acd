//! `compare`: two records that were taken in different sessions. There is no calibrated verdict between them, because
//! whatever changed on the machine in between is part of the difference.

use std::path::Path;

use anyhow::{Result, bail};

use crate::analysis::{self, ArmSummary, Comparison, across_records};
use crate::cli::CompareVerb;
use crate::record::Record;
use crate::render::{Styles, across};
use crate::verdict::{self, judge};

/// Compares the arms that the two records have in common.
pub fn compare(verb: &CompareVerb) -> Result<u8> {
    let (old, new) = (read(&verb.old)?, read(&verb.new)?);
    let mut pairs = Vec::new();
    for (old_arm, new_arm) in matches(&old.1, &new.1)? {
        let evidence = across_records(old_arm, new_arm);
        let comparison = Comparison { arm: new_arm.arm, reference: old_arm.arm, evidence };
        let judgement = judge(&comparison, &new.0.header.plan.policy);
        pairs.push(across::Pair { old: old_arm, new: new_arm, comparison, judgement });
    }
    if verb.json {
        across::json(&mut std::io::stdout().lock(), &old.0, &new.0, &pairs)?;
    } else {
        super::print(&across::text(&old.0, &new.0, &pairs, &Styles::colored()))?;
    }
    let judgements: Vec<_> = pairs.iter().map(|pair| pair.judgement).collect();
    Ok(verb.fail_on.map_or(0, |fail_on| verdict::exit_code(&judgements, fail_on)))
}

fn read(path: &Path) -> Result<(Record, Vec<ArmSummary>)> {
    let record = Record::read(path)?;
    let arms = analysis::summarise(&record);
    Ok((record, arms))
}

/// Arms of the same name belong together; if there is only one on each side, they do whatever their names.
fn matches<'a>(
    old: &'a [ArmSummary],
    new: &'a [ArmSummary],
) -> Result<Vec<(&'a ArmSummary, &'a ArmSummary)>> {
    let candidates =
        |arms: &'a [ArmSummary]| arms.iter().filter(|arm| !arm.is_control).collect::<Vec<_>>();
    let (old, new) = (candidates(old), candidates(new));
    if let ([old], [new]) = (old.as_slice(), new.as_slice()) {
        return Ok(vec![(old, new)]);
    }
    let by_label: std::collections::HashMap<&str, &ArmSummary> =
        old.iter().map(|&arm| (arm.label.as_str(), arm)).collect();
    let pairs: Vec<_> =
        new.iter().filter_map(|&arm| Some((*by_label.get(arm.label.as_str())?, arm))).collect();
    if pairs.is_empty() {
        bail!(
            "the two records have no command in common; name them alike with --command-name when measuring"
        );
    }
    Ok(pairs)
}
