//! `system`: sources of noise on this machine, and remedies.

use std::time::Duration;

use anyhow::{Result, anyhow};

use crate::cmd::print::print;
use crate::cmd::rights::on_machine;
use crate::cmd::{advise, tuning};
use crate::session::{core_pairs, hidden_siblings};
use host::knobs::bench_cpus;
use host::{
    self, BootAdvice, CountedInterrupts, Host, Interrupts, SystemReport, read_cpu_table,
    read_uptime_seconds, terminal, with_hidden_siblings,
};
use model::spec::{SystemAction, SystemBoot, SystemRoot, SystemShow, SystemVerb};
use model::values::{Cpus, TimeSpan, exit_code};
use render::remedies::spelled;
use render::system::SystemDetail;
use render::{Styles, json, system as shown};

/// Executes an action; without one it is `show`.
pub fn system(verb: &SystemVerb) -> Result<u8> {
    match &verb.action {
        None => on_machine(&verb.show.host_root, || show(&verb.show)),
        Some(SystemAction::Show(verb)) => on_machine(&verb.host_root, || show(verb)),
        Some(SystemAction::Tune(verb)) => on_machine(&verb.root.host_root, || tuning::tune(verb)),
        Some(SystemAction::Reset(verb)) => on_machine(&verb.host_root, || tuning::reset(verb)),
        Some(SystemAction::Status(verb)) => on_machine(&verb.host_root, || tuning::status(verb)),
        Some(SystemAction::Guard(verb)) => on_machine(&verb.root.host_root, || match verb.probe {
            true => Ok(exit_code::SUCCESS),
            false => host::guardian::serve(&verb.root.host_root),
        }),
        // It measures, and a guardian changes the machine.
        Some(SystemAction::Advise(verb)) => advise::advise(verb),
        Some(SystemAction::Boot(verb)) => on_machine(&verb.host_root, || boot(verb)),
        Some(SystemAction::Capture(verb)) => on_machine(&verb.host_root, || capture(verb)),
    }
}

fn show(verb: &SystemShow) -> Result<u8> {
    let host = Host::new(&verb.host_root);
    let cpus = named_cpus(verb.cpus.as_ref());
    let bench = bench_cpus(&host, cpus)?;
    let report = SystemReport::new(
        &host,
        bench,
        cpus.is_some(),
        count(&host, verb.count).as_ref(),
        core_pairs(&host),
    );
    let report = spelled(report);
    if verb.json {
        shown::json(&mut terminal::data(), &report)?;
    } else {
        let detail = SystemDetail { is_verbose: verb.verbose, has_all: verb.all };
        print(&shown::text(&report, detail, &Styles::colored()))?;
    }
    Ok(if report.is_tuned { exit_code::SUCCESS } else { exit_code::CHECK_FAILED })
}

fn boot(verb: &SystemBoot) -> Result<u8> {
    let host = Host::new(&verb.host_root);
    if verb.remove {
        let removed = host::remove_entry(&host).map_err(|why| anyhow!("{why}"))?;
        print(&shown::entry_removed(removed))?;
        return Ok(exit_code::SUCCESS);
    }
    let table = with_hidden_siblings(read_cpu_table(&host, None), &hidden_siblings(&host));
    let cpus = named_cpus(verb.cpus.as_ref());
    let advice = BootAdvice::new(&host, &table, cpus, verb.no_smt)?;
    if verb.json {
        json::pretty(&mut terminal::data(), &advice)?;
    } else {
        print(&shown::boot_text(&advice, &Styles::colored()))?;
    }
    Ok(exit_code::SUCCESS)
}

fn capture(verb: &SystemRoot) -> Result<u8> {
    let date = host::local_time::now().date().to_string();
    print(&host::capture(&Host::new(&verb.host_root), &date))?;
    Ok(exit_code::SUCCESS)
}

fn named_cpus(cpus: Option<&Cpus>) -> Option<&[usize]> {
    cpus.map(|cpus| cpus.0.as_slice())
}

fn count(host: &Host, time: Option<TimeSpan>) -> Option<CountedInterrupts> {
    let before = Interrupts::read(host)?;
    let Some(time) = time else {
        return Some(CountedInterrupts { interrupts: before, seconds: read_uptime_seconds(host)? });
    };
    #[expect(clippy::disallowed_methods, reason = "the user asked to wait for interrupts")]
    std::thread::sleep(Duration::from_nanos(time.ns));
    let interrupts = Interrupts::read(host)?.since(&before);
    Some(CountedInterrupts { interrupts, seconds: time.ns as f64 / 1e9 })
}
