//! `noise`: attributes the lost time of runs, or of this machine's CPUs, to causes.

use std::path::Path;

use anyhow::{Context as _, Error, Result, bail, ensure};
use formats::Detail;

use crate::cmd::failure::end_with;
use crate::cmd::open::records;
use crate::cmd::output_file::{check_path, write_option};
use crate::cmd::print::{bar, print};
use analysis::ledger::record_ledger;
use analysis::{Disturbance, Neighbours, other_quantity};
use host::{self, Host, terminal};
use measure::interrupt::Interrupt;
use measure::load::check_cpus;
use measure::noise::{self, NoiseRequest, NoiseResult};
use model::spec::NoiseVerb;
use model::spec::input::InputOptions;
use model::values::{exit_code, read_cpu_list};
use record::Record;
use record::plan::defaults;
use render::conclusion::{Conclusion, FinalVerdict};
use render::depth::Depth;
use render::document::{self, ErrorObject};
use render::remedies::Audience;
use render::units::short_time;
use render::{Styles, noise as shown};

/// Shows the ledgers of records, or watches the machine.
pub fn noise(verb: &NoiseVerb) -> Result<u8> {
    if verb.records.is_empty() { watch(verb) } else { show_ledgers(verb) }
}

fn show_ledgers(verb: &NoiseVerb) -> Result<u8> {
    for (index, opened) in
        records(&verb.records, &InputOptions::default(), Detail::Values)?.enumerate()
    {
        let record = opened?.into_record()?;
        refuse_other_quantities(&record)?;
        let arms = analysis::summarise(&record);
        let ledger = record_ledger(&record, &arms).with_context(|| {
            let why = match arms.iter().all(|arm| arm.n_runs == 0) {
                true => "no finished run",
                false => "no wall times, or impossible ones",
            };
            format!("{} has {why}", record.path.display())
        })?;
        if verb.json {
            let disturbance = Disturbance::new(&arms, Neighbours::of(&record), Some(&ledger));
            let conclusion = Conclusion { disturbance, ..Conclusion::of(FinalVerdict::Measured) };
            document::write(&mut terminal::data(), &ledger, conclusion, None)?;
        } else {
            let gap = if index == 0 { "" } else { "\n" };
            let text = shown::record(&record, &ledger, &Styles::colored());
            print(&format!("{gap}{text}"))?;
        }
    }
    Ok(exit_code::SUCCESS)
}

/// Refuses a record whose t0 is of no time of its runs.
fn refuse_other_quantities(record: &Record) -> Result<()> {
    let Some(name) = other_quantity(record) else { return Ok(()) };
    let path = record.path.display();
    let what_to_do = match record.parts[..] {
        [] => "measure with --decide-on clean to see what took the time",
        _ => "name the records in it whose times decide",
    };
    bail!("{path}: {name} decides, so there is no t0 that time could be lost above; {what_to_do}");
}

fn watch(verb: &NoiseVerb) -> Result<u8> {
    let host = Host::new(&verb.host_root);
    let cpus = cpus(&host, verb)?;
    let length_ns = verb.for_.unwrap_or(defaults::NOISE_TIME).ns;
    ensure!(length_ns > 0, "--for 0 is out of range: there is nothing to see in no time");
    // Checked before the measurement.
    let raw = verb.raw.as_deref();
    raw.map(|path| check_path("--raw", path)).transpose()?;
    let is_raw_shown = raw == Some(Path::new("-"));
    ensure!(
        !(is_raw_shown && verb.json),
        "--json and --raw - are both for standard output; give --raw the name of a file"
    );
    let interrupt = Interrupt::catch()?;
    let asked = NoiseRequest { cpus, length_ns, points: !verb.no_trace };
    // The thread that draws it wakes for the traces anyway.
    let template = "watching the CPUs for {prefix}, {elapsed} so far; ^C ends it";
    let bar = bar(None, template, verb.json);
    bar.set_prefix(short_time(length_ns as f64));
    let mut result = noise::watch(&host, &asked, &interrupt, || bar.tick())?;
    bar.finish_and_clear();
    // A signal ends the program while it waits for the reader of a FIFO.
    drop(interrupt);
    result.report.gaps = Audience::Machine.gaps(result.report.gaps);
    let unwritten =
        raw.and_then(|path| write_option("--raw", path, |to| write_raw(to, &result)).err());
    let shown = if verb.json {
        let conclusion = shown::machine_conclusion(&result.report);
        let message = "interrupted: the numbers are from the time before".to_owned();
        let error = result.was_interrupted.then(|| ErrorObject::interrupted(message));
        let error = ErrorObject::with_unwritten(error, unwritten.as_ref());
        document::write(&mut terminal::data(), &result.report, conclusion, error.as_ref())
            .map_err(Error::from)
    } else if is_raw_shown {
        Ok(())
    } else {
        let depth = Depth::of(verb.verbose);
        print(&shown::report(&result.report, depth, &Styles::colored()))
    };
    let is_whole = !result.was_interrupted;
    let code = if is_whole { exit_code::SUCCESS } else { exit_code::INTERRUPTED };
    end_with(unwritten, shown.map(|()| code))
}

/// The named CPUs, or all that this process may use.
fn cpus(host: &Host, verb: &NoiseVerb) -> Result<Vec<usize>> {
    if let Some(cpus) = &verb.cpus {
        // One that is offline is told in the report, with the reason.
        let present = host.read("sys/devices/system/cpu/present");
        present.map_or(Ok(()), |present| check_cpus(&cpus.0, present.trim(), "present"))?;
        return Ok(cpus.0.clone());
    }
    let facts = host::look(host).facts;
    let allowed = facts.cpus_allowed.as_deref().and_then(read_cpu_list);
    allowed.context("cannot read which CPUs are allowed (/proc/self/status); name some with --cpus")
}

fn write_raw(to: &mut dyn std::io::Write, result: &NoiseResult) -> Result<()> {
    writeln!(to, "cpu,start_ns,length_ns")?;
    for watched in &result.watched {
        for pause in &watched.pauses {
            writeln!(to, "{},{},{}", watched.cpu, pause.start_ns, pause.length_ns)?;
        }
    }
    Ok(())
}
