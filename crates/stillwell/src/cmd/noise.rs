//! `noise`: attributes the lost time of a record's runs, or of this machine's CPUs, to its causes.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use formats::Detail;

use crate::cmd::open::records;
use crate::cmd::output_file::{check_path, write_one};
use crate::cmd::print::print;
use analysis::ledger::of_record;
use host::terminal;
use host::{self, Gap, Host};
use measure::interrupt::Interrupt;
use measure::noise::{self, MachineVerdict, NoVerdict, NoiseRequest, NoiseResult};
use model::spec::NoiseVerb;
use model::spec::input::InputOptions;
use model::values::{exit_code, read_cpu_list};
use record::plan::{DecisionRule, defaults};
use render::document::{self, ErrorCode, ErrorObject};
use render::noise::document as noise_document;
use render::remedies::Audience;
use render::{Styles, noise as shown};

/// Shows the ledgers of records, or watches the machine.
pub fn noise(verb: &NoiseVerb) -> Result<u8> {
    if verb.records.is_empty() { watch(verb) } else { of_records(verb) }
}

fn of_records(verb: &NoiseVerb) -> Result<u8> {
    for (index, opened) in
        records(&verb.records, &InputOptions::default(), Detail::Values)?.enumerate()
    {
        let record = opened?.into_record()?;
        let found = of_record(&record, &analysis::summarise(&record)).with_context(|| {
            format!("{} has no wall times, or impossible ones", record.path.display())
        })?;
        if verb.json {
            let conclusion = noise_document::of_record(&found);
            document::write(&mut terminal::data(), &found, conclusion, None)?;
        } else {
            let gap = if index == 0 { "" } else { "\n" };
            let text = shown::record(&record, &found, &Styles::colored());
            print(&format!("{gap}{text}"))?;
        }
    }
    Ok(exit_code::SUCCESS)
}

fn watch(verb: &NoiseVerb) -> Result<u8> {
    let host = Host::new(&verb.host_root);
    let cpus = cpus(&host, verb)?;
    let length_ns = verb.for_.unwrap_or(defaults::NOISE_TIME).ns;
    ensure!(length_ns > 0, "--for 0 is out of range: there is nothing to see in no time");
    // Checked before the machine is watched.
    let raw = verb.raw.as_deref();
    raw.map(|path| check_path("--raw", path)).transpose()?;
    let is_raw_shown = raw == Some(Path::new("-"));
    ensure!(
        !(is_raw_shown && verb.json),
        "--json and --raw - are both for standard output; give --raw the name of a file"
    );
    let interrupt = Interrupt::catch()?;
    let asked = NoiseRequest { cpus, length_ns, points: !verb.no_trace, osnoise: verb.osnoise };
    let mut found = noise::watch(&host, &asked, &interrupt)?;
    if !verb.no_verdict && !found.was_interrupted {
        // A comparison would use the quietest CPU too.
        let first = found.report.cpus.first().map_or(0, |cpu| cpu.cpu);
        let cpu = found.report.quietest.first().copied().unwrap_or(first);
        add_verdict(&mut found, noise::machine_verdict(cpu, DecisionRule::default(), &interrupt));
    }
    found.report.gaps = Audience::Machine.gaps(found.report.gaps);
    let written = raw.map_or(Ok(()), |path| {
        write_one(path, |to| write_raw(to, &found))
            .with_context(|| format!("--raw {}: cannot write", path.display()))
    });
    if verb.json {
        let conclusion = noise_document::of_machine(&found.report);
        let error = found.was_interrupted.then(|| ErrorObject {
            code: ErrorCode::Interrupted,
            message: "interrupted: the numbers are those of the time before".into(),
            exit_code: exit_code::INTERRUPTED,
        });
        document::write(&mut terminal::data(), &found.report, conclusion, error.as_ref())?;
    } else if !is_raw_shown {
        print(&shown::report(&found.report, &Styles::colored()))?;
    }
    // The report is shown even if the raw data cannot be written.
    written?;
    Ok(if found.was_interrupted { exit_code::INTERRUPTED } else { exit_code::SUCCESS })
}

/// Adds the verdict to the report, or the reason for its absence.
fn add_verdict(found: &mut NoiseResult, verdict: Result<MachineVerdict, NoVerdict>) {
    let (why, fix) = match verdict {
        Ok(verdict) => {
            found.report.verdict = Some(verdict);
            return;
        }
        Err(NoVerdict::Interrupted) => {
            found.was_interrupted = true;
            ("^C came before it was known", "let it end; --no-verdict leaves it out")
        }
        Err(NoVerdict::Impossible) => {
            ("the work for it cannot be done on the quietest CPU", "name others (--cpus)")
        }
    };
    found.report.gaps.push(Gap { what: "verdict".into(), why: why.into(), fix: fix.into() });
}

/// The CPUs that the user named, or else those that this process may use.
fn cpus(host: &Host, verb: &NoiseVerb) -> Result<Vec<usize>> {
    if let Some(cpus) = &verb.cpus {
        return Ok(cpus.0.clone());
    }
    let facts = host::look(host).facts;
    let allowed = facts.cpus_allowed.as_deref().and_then(read_cpu_list);
    allowed.context("cannot read which CPUs are allowed (/proc/self/status); name some with --cpus")
}

fn write_raw(to: &mut dyn std::io::Write, found: &NoiseResult) -> Result<()> {
    writeln!(to, "cpu,start_ns,length_ns")?;
    for watched in &found.watched {
        for pause in &watched.pauses {
            writeln!(to, "{},{},{}", watched.cpu, pause.start_ns, pause.length_ns)?;
        }
    }
    Ok(())
}
