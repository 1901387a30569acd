//! `check`: tests whether the machine was steady during a saved record.

use anyhow::Result;
use formats::Detail;

use crate::cmd::open;
use crate::cmd::print::print;
use analysis::{RecordCheck, Steadiness, check_record};
use host::terminal;
use model::spec::CheckVerb;
use model::values::exit_code;
use render::{Styles, check as shown};

/// Checks every arm of every file.
pub fn check(verb: &CheckVerb) -> Result<u8> {
    let mut codes = Vec::new();
    for opened in open::all(&verb.files, Detail::Values)? {
        let record = opened?.into_record()?;
        let found = check_record(&record);
        if verb.json {
            shown::json(&mut terminal::data(), &record, &found)?;
        } else {
            let gap = if codes.is_empty() { "" } else { "\n" };
            let text = shown::text(&record, &found, verb.all, &Styles::colored());
            print(&format!("{gap}{text}"))?;
        }
        codes.push(code_of(&found));
    }
    let of_all = [exit_code::CHECK_FAILED, exit_code::UNDECIDED]
        .into_iter()
        .find(|code| codes.contains(code));
    Ok(of_all.unwrap_or(exit_code::SUCCESS))
}

/// The exit code of a record.
fn code_of(found: &RecordCheck) -> u8 {
    match found.verdict() {
        Steadiness::Unstable => exit_code::CHECK_FAILED,
        Steadiness::TooFewRuns | Steadiness::UnfitTimes => exit_code::UNDECIDED,
        Steadiness::Stable => exit_code::SUCCESS,
    }
}
