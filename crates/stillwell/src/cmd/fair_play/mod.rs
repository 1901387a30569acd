//! `fair-play`, a hidden verb: a session's hooks that keep an attempt honest, and the audit around it.

mod audit;
mod session;

use std::io::{Read as _, Write as _, stdin};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::cmd::print::print;
use crate::cmd::run_session::measure_quietly;
use host::user_files::no_temporary;
use host::{ScratchDirectory, terminal};
use measure::watch::watch;
use model::spec::run::Style;
use model::spec::{FairPlayAction, FairPlayAudit, RunSpec, RunVerb};
use model::values::exit_code;
use record::EndReason;
use record::fair_play::{AuditReport, Half, WatchRequest};
use record::plan::Terms;
use render::json::pretty;

pub use session::{FairPlay, Side, check_inputs};

pub fn fair_play(action: &FairPlayAction) -> Result<u8> {
    match action {
        FairPlayAction::Prepare(hook) => session::prepare(&hook.folder)?,
        FairPlayAction::Digest(hook) => session::take_digests(&hook.folder, hook.arm.unwrap_or(0))?,
        FairPlayAction::Watch => {
            let mut text = String::new();
            stdin().read_to_string(&mut text).context("cannot read the request")?;
            let request: WatchRequest = serde_json::from_str(&text).context("the request")?;
            let facts = serde_json::to_string(&watch(&request)?)?;
            writeln!(terminal::data(), "{facts}").context("cannot write the facts")?;
        }
        FairPlayAction::Audit(verb) => return audited(verb),
    }
    Ok(exit_code::SUCCESS)
}

fn audited(verb: &FairPlayAudit) -> Result<u8> {
    let commands = vec![verb.reference.clone(), verb.attempt.clone()];
    let mut spec = RunSpec { commands, ..RunSpec::default() };
    spec.hooks.validate.clone_from(&verb.validate);
    let half = if verb.confirm { Half::Confirm } else { Half::Try };
    let seed = verb.seed.unwrap_or(0);
    let side = Side { half, seed, is_undercover: verb.undercover, since_ns: None };
    let fair = FairPlay::begin(&verb.options, side, &spec, spec.commands.len())?;
    let report = match verb.runs {
        Some(n_runs) => measured(&fair, &spec, n_runs)?,
        None => fair.audit(&spec, 0, None, &Terms::default())?,
    };
    if verb.json {
        pretty(&mut terminal::data(), &report)?;
    } else {
        print(&text_of(&report))?;
    }
    Ok(if report.is_fair() { exit_code::SUCCESS } else { exit_code::CHECK_FAILED })
}

fn measured(fair: &FairPlay, spec: &RunSpec, n_runs: u32) -> Result<AuditReport> {
    let folder = ScratchDirectory::new().with_context(no_temporary)?;
    let record = folder.path().join("record");
    let mut session = spec.clone();
    session.length.runs = Some(n_runs);
    session.output.record = Some(record.clone());
    session.output.style = Some(Style::None);
    let verb = RunVerb::of(session, Path::new("/"));
    let terms = Terms { fair_play: Some(fair.terms()), ..Terms::default() };
    let (record, end) = measure_quietly(&verb, &terms)?;
    ensure!(end.reason == EndReason::Complete, "the session failed: {:?}", end.failure);
    Ok(fair.verdict(&record)?.merge(fair.audit(spec, 0, Some(&record), &Terms::default())?))
}

fn text_of(report: &AuditReport) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        text += &format!("not fair ({}): {}\n", finding.kind.name(), finding.sentence);
    }
    for sentence in &report.unchecked {
        text += &format!("not checked: {sentence}\n");
    }
    if report.is_fair() {
        text += "nothing of the list was seen\n";
    }
    text
}
