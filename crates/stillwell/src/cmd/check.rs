//! `check`: is the machine steady, as far as a saved record shows?

use anyhow::Result;

use crate::analysis::{RecordCheck, Steadiness, check_record};
use crate::convert::source::Detail;
use crate::render::{Styles, check as shown};
use crate::spec::CheckVerb;

/// Every arm is stable.
const STABLE: u8 = 0;
/// At least one is not.
const UNSTABLE: u8 = 1;
/// None is unstable, of one it cannot be told.
const UNDECIDED: u8 = 3;

/// Checks every arm of every file.
pub fn check(verb: &CheckVerb) -> Result<u8> {
    let mut codes = Vec::new();
    for opened in verb.files.open(Detail::Values)? {
        let record = opened?.into_record()?;
        let found = check_record(&record);
        if verb.json {
            shown::json(&mut std::io::stdout().lock(), &record, &found)?;
        } else {
            let gap = if codes.is_empty() { "" } else { "\n" };
            let text = shown::text(&record, &found, &Styles::colored());
            super::print(&format!("{gap}{text}"))?;
        }
        codes.push(exit_code(&found));
    }
    let of_all = [UNSTABLE, UNDECIDED].into_iter().find(|code| codes.contains(code));
    Ok(of_all.unwrap_or(STABLE))
}

/// A control counts as well: it is subtracted from every other arm.
fn exit_code(found: &RecordCheck) -> u8 {
    let is_any = |steadiness| found.arms.iter().any(|arm| arm.steadiness == steadiness);
    if is_any(Steadiness::Unstable) {
        UNSTABLE
    } else if is_any(Steadiness::TooFewRuns) || is_any(Steadiness::UnfitTimes) {
        UNDECIDED
    } else {
        STABLE
    }
}
