//! `system tune`, `system reset` and `system status`.

use anyhow::{Context as _, Result, anyhow};
use jiff::{Timestamp, tz::TimeZone};

use crate::cmd::print::print;
use crate::host::Host;
use crate::host::journal::{self, Store};
use crate::host::knobs::{Machine, bench_cpus};
use crate::host::restore::restore;
use crate::host::tune::{self, KnobResult};
use crate::render::system::tuned as shown;
use crate::spec::{SystemRoot, SystemTune};
use crate::values::exit_code;

const EARLIER_BOOT: &str = "the journal of an earlier boot, which has undone its changes,";

/// Turns the knobs until they are put back.
pub fn tune(verb: &SystemTune) -> Result<u8> {
    let host = Host::new(&verb.root.host_root);
    let knobs = tune::select(verb.only.as_deref(), &verb.skip).map_err(|why| anyhow!("{why}"))?;
    let cpus = verb.cpus.as_ref().map(|cpus| cpus.0.as_slice());
    let bench = bench_cpus(&host, cpus).map_err(|why| anyhow!("{why}"))?;
    if verb.dry_run {
        let planned = tune::plan(&Machine::new(&host, bench), &knobs);
        print(&shown::planned(&planned))?;
        return Ok(exit_code::SUCCESS);
    }
    let mut store = Store::open(&host)?;
    let mut text = restore_stale(&host, &mut store)?;
    store.begin(&host, false, journal::asking_user(), Timestamp::now().as_second())?;
    let planned = tune::plan(&Machine::new(&host, bench), &knobs);
    let turned = tune::turn(&host, &mut store, planned)?;
    if store.journal.items.is_empty() {
        store.remove()?;
    }
    text += &shown::turned(&turned);
    print(&text)?;
    Ok(if turned.iter().all(KnobResult::is_good) {
        exit_code::SUCCESS
    } else {
        exit_code::CHECK_FAILED
    })
}

/// Puts back the changes of a killed process before anything else is changed.
fn restore_stale(host: &Host, store: &mut Store) -> Result<String> {
    if store.journal.begun.is_empty() || !store.journal.is_stale() {
        return Ok(String::new());
    }
    let restored = restore(host, store)?;
    Ok(format!("what an earlier stillwell has left was put back\n{}", shown::restored(&restored)))
}

/// Puts the original values back.
pub fn reset(verb: &SystemRoot) -> Result<u8> {
    let host = Host::new(&verb.host_root);
    if journal::is_of_another_boot(&host)? {
        // Opening sets it aside.
        Store::open(&host)?;
        print(&format!(
            "{EARLIER_BOOT} is set aside as journal.of-another-boot\nnothing is changed\n"
        ))?;
        return Ok(exit_code::SUCCESS);
    }
    if journal::look(&host)?.is_none() {
        print("nothing is changed\n")?;
        return Ok(exit_code::SUCCESS);
    }
    let mut store = Store::open(&host)?;
    let restored = restore(&host, &mut store)?;
    print(&shown::restored(&restored))?;
    Ok(if restored.is_over() { exit_code::SUCCESS } else { exit_code::CHECK_FAILED })
}

/// Shows the changes.
pub fn status(verb: &SystemRoot) -> Result<u8> {
    let host = Host::new(&verb.host_root);
    let text = match journal::look(&host)? {
        None if journal::is_of_another_boot(&host)? => format!(
            "nothing is changed; {EARLIER_BOOT} is still there, and `stillwell system reset` sets it aside\n"
        ),
        None => "nothing is changed\n".to_owned(),
        Some(journal) => {
            let begin = journal.begun.first().context("the journal has no beginning")?;
            let since = Timestamp::from_second(begin.time_s)
                .map(|time| {
                    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
                })
                .unwrap_or_default();
            shown::status(&host, &journal, &since)
        }
    };
    print(&text)?;
    Ok(exit_code::SUCCESS)
}
