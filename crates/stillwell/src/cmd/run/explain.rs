//! `run --explain`: measures again, without the largest source of noise.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::cmd::print::print;
use crate::cmd::run_session::measure_and_show;
use analysis::ledger::{RecordLedger, record_ledger};
use host::guardian::Guardian;
use host::{self, Host};
use measure::interrupt::Interrupt;
use measure::noise;
use model::spec::run::{ExportOptions, Style};
use model::spec::{RunSpec, RunVerb};
use model::values::{Cpus, NameList, exit_code, read_cpu_list};
use record::Record;
use record::ledger::Remedy;
use render::noise::{Explained, explained, nothing_to_turn};

/// The option of `run` that removes the noise in the second session.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Treatment {
    /// `--isolate`: no other program uses the CPUs.
    Isolate,
    /// `--affinity` with one CPU.
    Affinity(usize),
    /// `--tune` with these knobs.
    Tune(String),
}

/// Measures again and shows the differences. `code`: exit code of the first session.
pub fn explain(verb: &RunVerb, before: &Path, code: u8) -> Result<()> {
    // An error may leave no record, and is printed already.
    if code == exit_code::ERROR {
        return Ok(());
    }
    let before = Record::read(before)?;
    let Some(ledger) = ledger(&before) else { return Ok(()) };
    let Some(largest) = ledger.total.largest() else {
        return print("explain: there is no noise that has a cause\n");
    };
    let source = largest.source.clone();
    let has_rights = Guardian::has_rights(&verb.host_root);
    let treatment =
        source.remedy().map(|remedy| treat(remedy, &verb.spec, has_rights, || quietest(verb)));
    let Some(treatment) = treatment.transpose()?.flatten() else {
        return print(&nothing_to_turn(&source));
    };
    let mut again = RunVerb {
        attribute: verb.attribute,
        script: verb.script.clone(),
        ..RunVerb::of(verb.spec.clone(), &verb.host_root)
    };
    again.spec.output.style = Some(Style::None);
    again.spec.output.record = None;
    again.spec.output.exports = ExportOptions::default();
    treatment.apply(&mut again.spec);
    print(&format!("explain: the same again, with {}\n", treatment.option()))?;
    let (path, _) = measure_and_show(&again)?;
    let after = Record::read(&path)?;
    let after = self::ledger(&after).context("the second session has no runs")?;
    let sessions = Explained { source: &source, before: &ledger, after: &after, record: &path };
    print(&explained(&sessions))
}

fn ledger(record: &Record) -> Option<RecordLedger> {
    record_ledger(record, &analysis::summarise(record))
}

/// The options of a remedy; `None` if there is none, or if it is in use.
fn treat(
    remedy: Remedy,
    spec: &RunSpec,
    has_rights: bool,
    quietest: impl FnOnce() -> Result<Option<usize>>,
) -> Result<Option<Treatment>> {
    let process = &spec.process;
    Ok(match remedy {
        Remedy::OwnCpu if has_rights && !process.isolate && process.priority.sched.is_none() => {
            Some(Treatment::Isolate)
        }
        Remedy::OwnCpu | Remedy::Affinity if process.affinity.is_none() => {
            quietest()?.map(Treatment::Affinity)
        }
        Remedy::Tune(knobs) if process.tuning.tune.is_none() => Some(Treatment::Tune(knobs.into())),
        _ => None,
    })
}

/// The CPU that loses the least time now; the last of equal ones.
fn quietest(verb: &RunVerb) -> Result<Option<usize>> {
    let host = Host::new(&verb.host_root);
    let facts = host::look(&host).facts;
    let cpus = facts.cpus_allowed.as_deref().and_then(read_cpu_list).unwrap_or_default();
    if cpus.len() < 2 {
        return Ok(None);
    }
    let quietest = noise::quietest_of(&host, cpus.clone(), &Interrupt::catch()?)?;
    Ok(quietest.first().or(cpus.last()).copied())
}

impl Treatment {
    fn apply(&self, spec: &mut RunSpec) {
        let process = &mut spec.process;
        match self {
            Self::Isolate => process.isolate = true,
            Self::Affinity(cpu) => process.affinity = Some(Cpus(vec![*cpu])),
            Self::Tune(knobs) => {
                let names = knobs.split(',').map(str::to_owned).collect();
                process.tuning.tune = Some(Some(NameList(names)));
            }
        }
    }

    /// The option in the user's words.
    fn option(&self) -> String {
        match self {
            Self::Isolate => "--isolate".into(),
            Self::Affinity(cpu) => format!("--affinity={cpu}"),
            Self::Tune(knobs) => format!("--tune={knobs}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The option against a source of noise, given the options of the first session.
    fn treated(
        remedy: Remedy,
        has_rights: bool,
        change: impl FnOnce(&mut RunSpec),
    ) -> Option<String> {
        let mut spec = RunSpec::default();
        change(&mut spec);
        let treatment = treat(remedy, &spec, has_rights, || Ok(Some(3))).unwrap()?;
        treatment.apply(&mut spec);
        let process = spec.process;
        assert_eq!(
            [process.isolate, process.affinity.is_some(), process.tuning.tune.is_some()]
                .iter()
                .filter(|it| **it)
                .count(),
            1
        );
        Some(treatment.option())
    }

    #[test]
    fn what_is_in_use_already_is_not_turned_again() {
        let nothing = |_: &mut RunSpec| ();
        assert_eq!(treated(Remedy::OwnCpu, true, nothing).as_deref(), Some("--isolate"));
        assert_eq!(treated(Remedy::OwnCpu, false, nothing).as_deref(), Some("--affinity=3"));
        assert_eq!(treated(Remedy::Affinity, true, nothing).as_deref(), Some("--affinity=3"));
        assert_eq!(treated(Remedy::Tune("irqs"), true, nothing).as_deref(), Some("--tune=irqs"));
        let pinned = |spec: &mut RunSpec| spec.process.affinity = Some(Cpus(vec![1]));
        assert_eq!(treated(Remedy::Affinity, true, pinned), None);
        assert_eq!(treated(Remedy::OtherMachine, true, nothing), None);
    }
}
