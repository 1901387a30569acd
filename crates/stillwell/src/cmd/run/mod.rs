//! `run`: interleaves and compares shell commands.

mod explain;
mod slips;

use std::path::Path;

use anyhow::Result;

use crate::cmd::print::print;
use crate::cmd::run_session::measure_and_show;
use crate::cmd::why::{has_difference, why};
use model::spec::run::Style;
use model::spec::{RunVerb, WhyVerb};
use model::values::{TimeSpan, exit_code};
use record::plan::defaults;
use render::why as page;

/// Measures, then shows; with `--explain` a second time, without the largest source of noise.
pub fn run(verb: &RunVerb) -> Result<u8> {
    if verb.script.is_none() {
        let words: Vec<String> =
            std::env::args_os().map(|word| word.to_string_lossy().into()).collect();
        slips::refuse(&verb.spec, &words)?;
    }
    let (path, code) = measure_and_show(verb)?;
    if verb.explain {
        explain::explain(verb, &path, code)?;
    }
    if let Some(budget) = verb.why {
        explain_difference(verb, &path, code, budget)?;
    }
    Ok(code)
}

/// `--why`: extra blocks with samples after the verdict.
fn explain_difference(
    verb: &RunVerb,
    record: &Path,
    code: u8,
    budget: Option<TimeSpan>,
) -> Result<()> {
    // An error or ^C may leave no record, and is reported already.
    if [exit_code::ERROR, exit_code::INTERRUPTED, exit_code::TIMEOUT].contains(&code) {
        return Ok(());
    }
    let is_quiet = verb.spec.output.style == Some(Style::None);
    if !has_difference(record)? {
        let text = "why: no command was found to differ, so there is nothing to explain\n";
        return if is_quiet { Ok(()) } else { print(text) };
    }
    if !is_quiet {
        let budget = budget.unwrap_or(defaults::WHY_BUDGET);
        print(&page::beginning(budget))?;
    }
    why(&WhyVerb::for_record(record, budget, verb)).map(drop)
}
