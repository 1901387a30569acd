//! `system tune`, `system reset` and `system status`.

use anyhow::{Error, Result, anyhow};
use jiff::Timestamp;

use crate::cmd::print::print;
use crate::session::interrupted;
use host::Host;
use host::journal::{self, Begin};
use host::knobs::{Machine, bench_cpus};
use host::restore::{self, Reset};
use host::tune::{self, KnobResult};
use measure::interrupt::Interrupt;
use model::spec::{SystemRoot, SystemTune};
use model::values::exit_code;
use render::document::ErrorCode;
use render::system::tuned as shown;

const NOTHING: &str = "nothing is changed\n";
const EARLIER_BOOT: &str = "the journal of an earlier boot, which has undone its changes,";

/// Tunes the machine until the knobs are put back.
pub fn tune(verb: &SystemTune) -> Result<u8> {
    let host = Host::new(&verb.root.host_root);
    let knobs = tune::select(verb.only.as_deref(), &verb.skip).map_err(|why| anyhow!("{why}"))?;
    let cpus = verb.cpus.as_ref().map(|cpus| cpus.0.as_slice());
    let bench = bench_cpus(&host, cpus)?;
    if verb.dry_run {
        let planned = tune::plan(&Machine::new(&host, bench), &knobs);
        print(&shown::planned(&planned))?;
        return Ok(exit_code::SUCCESS);
    }
    let interrupt = Interrupt::catch_first()?;
    let tuned = tune::apply(&host, bench, &knobs, Timestamp::now().as_second())?;
    if interrupt.take() {
        return Err(match restore::reset(&host)? {
            Reset::Restored(restored) if !restored.is_over() => left_by_signal(),
            _ => interrupted(),
        });
    }
    let earlier = tuned.earlier.as_ref().map(shown::earlier).unwrap_or_default();
    print(&(earlier + &shown::turned(&tuned.turned)))?;
    let is_good = tuned.earlier.is_none_or(|restored| restored.is_complete())
        && tuned.turned.iter().all(KnobResult::is_good);
    Ok(if is_good { exit_code::SUCCESS } else { exit_code::CHECK_FAILED })
}

/// The error of a verb that a signal ended while it tuned the machine, if not all could be put back.
pub fn left_by_signal() -> Error {
    ErrorCode::Interrupted.error(
        "interrupted while the machine was tuned; `stillwell system status` shows what is left, `stillwell system reset` \
         tries again"
            .into(),
    )
}

pub fn reset(verb: &SystemRoot) -> Result<u8> {
    match restore::reset(&Host::new(&verb.host_root))? {
        Reset::Nothing => print(NOTHING)?,
        Reset::OfAnotherBoot => {
            print(&format!("{EARLIER_BOOT} is set aside as journal.of-another-boot\n{NOTHING}"))?;
        }
        Reset::Restored(restored) => {
            print(&shown::restored(&restored))?;
            if !restored.is_over() {
                return Ok(exit_code::CHECK_FAILED);
            }
        }
    }
    Ok(exit_code::SUCCESS)
}

pub fn status(verb: &SystemRoot) -> Result<u8> {
    let host = Host::new(&verb.host_root);
    let text = match journal::look(&host)? {
        None if journal::is_of_another_boot(&host)? => format!(
            "nothing is changed; {EARLIER_BOOT} is still there, and `stillwell system reset` sets it aside\n"
        ),
        None => NOTHING.to_owned(),
        Some(journal) => match journal.begun.first() {
            // The first line is incomplete.
            None => NOTHING.to_owned(),
            Some(begin) => shown::status(&host, &journal, &since(begin)),
        },
    };
    print(&text)?;
    Ok(exit_code::SUCCESS)
}

fn since(begin: &Begin) -> String {
    let time = Timestamp::from_second(begin.time_s);
    let shown =
        time.map(|time| host::local_time::at(time).strftime("%Y-%m-%d %H:%M:%S").to_string());
    shown.unwrap_or_default()
}
