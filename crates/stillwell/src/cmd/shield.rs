//! `shield`: reserves CPUs for the processes that the user puts there.

use anyhow::{Context as _, Result};
use jiff::Timestamp;

use crate::cmd::print::print;
use crate::cmd::rights::on_machine;
use crate::cmd::tuning::left_by_signal;
use crate::session::{Guard, hidden_siblings, interrupted};
use host::shield::{self, Isolation, ShieldPlan, Watch};
use host::{Host, journal, shielding, sys, terminal};
use measure::interrupt::Interrupt;
use measure::supervised;
use model::spec::{ShieldAction, ShieldExec, ShieldOptions, SystemRoot};
use model::values::{exit_code, name_cpus};
use render::shield as shown;
use render::system::tuned;

pub fn shield(action: &ShieldAction) -> Result<u8> {
    match action {
        ShieldAction::On(verb) => on_machine(&verb.host_root, || on(verb)),
        ShieldAction::Off(verb) => on_machine(&verb.host_root, || off(verb)),
        ShieldAction::Status(verb) => on_machine(&verb.host_root, || status(verb)),
        ShieldAction::Exec(verb) => exec(verb),
    }
}

fn request(host: &Host, options: &ShieldOptions) -> shield::ShieldRequest {
    shield::ShieldRequest {
        cpus: options.cpus.as_ref().map(|cpus| cpus.0.clone()),
        balanced: options.balance,
        hidden_siblings: hidden_siblings(host),
    }
}

fn on(options: &ShieldOptions) -> Result<u8> {
    let host = Host::new(&options.host_root);
    let interrupt = Interrupt::catch_first()?;
    let made =
        shielding::session::on(&host, &request(&host, options), Timestamp::now().as_second())?;
    if interrupt.take() {
        let left = shielding::session::off(&host)?.is_some_and(|restored| !restored.is_complete());
        return Err(if left { left_by_signal() } else { interrupted() });
    }
    let earlier = made.earlier.as_ref().map(tuned::earlier).unwrap_or_default();
    print(&(earlier + &shown::text(&made.isolation, None) + &shown::turned(made.n_set)))?;
    let is_clean = made.earlier.is_none_or(|restored| restored.is_complete());
    Ok(if is_clean { exit_code::SUCCESS } else { exit_code::CHECK_FAILED })
}

fn off(verb: &SystemRoot) -> Result<u8> {
    let host = Host::new(&verb.host_root);
    if let Some(restored) = shielding::session::off(&host)? {
        print(&tuned::restored(&restored))?;
        return Ok(match restored.is_complete() {
            true => exit_code::SUCCESS,
            false => exit_code::CHECK_FAILED,
        });
    }
    let strays = shielding::session::off_strays(&host)?;
    if strays.is_empty() {
        print("there is no shield\n")?;
    }
    for raised in &strays {
        print(&format!("{} given back\n", shown::cpus(&raised.cpus)))?;
    }
    Ok(exit_code::SUCCESS)
}

fn status(verb: &SystemRoot) -> Result<u8> {
    let host = Host::new(&verb.host_root);
    let (raised, owner) = match journal::look(&host) {
        Ok(Some(journal)) => {
            let owner = journal.begun.last().filter(|begin| begin.scoped).map(|begin| {
                shown::ShieldOwner { pid: begin.pid, is_alive: journal::is_alive(begin) }
            });
            (journal.shield.clone(), owner)
        }
        Ok(None) => (None, None),
        // Without access to the journal, a user can still read the groups.
        Err(_) => (shielding::strays(&host).pop(), None),
    };
    let raised: Option<ShieldPlan> = raised.or_else(|| shielding::strays(&host).pop());
    let Some(raised) = raised.filter(|raised| raised.how.is_shield()) else {
        print("there is no shield\n")?;
        return Ok(exit_code::CHECK_FAILED);
    };
    let isolation = shield::verify(&host, &raised, Vec::new());
    let expected =
        Isolation { partition: shield::expected_partition(&raised), ..isolation.clone() };
    let lost = Watch::new(&host, &expected).and_then(|watch| watch.lost());
    print(&shown::text(&isolation, lost.as_deref()))?;
    print(&shown::owner(owner))?;
    Ok(if lost.is_none() { exit_code::SUCCESS } else { exit_code::CHECK_FAILED })
}

fn exec(verb: &ShieldExec) -> Result<u8> {
    let options = &verb.options;
    supervised::check(&verb.command, !verb.rights.as_root)?;
    let host = Host::new(&options.host_root);
    let request = request(&Host::new(&options.host_root), options);
    let mut guard = Guard::for_shield(&options.host_root, request)?;
    let entered = guard.enter(std::process::id());
    if guard.take_signal() {
        guard.restore(entered)?;
        return Err(interrupted());
    }
    let code = entered.and_then(|()| run(verb, &host, &guard));
    guard.restore(code)
}

/// Runs the command as a child, which inherits the group and its CPUs.
fn run(verb: &ShieldExec, host: &Host, guard: &Guard) -> Result<u8> {
    let bound = guard.bound_cpus();
    if !bound.is_empty() {
        sys::bind(None, &bound).with_context(|| format!("cannot run on {}", name_cpus(&bound)))?;
    }
    let watch = guard.watch(host);
    let mut is_lost = false;
    let look = || {
        let lost = watch.as_ref().and_then(Watch::lost).filter(|_| !is_lost);
        if let Some(why) = lost {
            is_lost = true;
            terminal::say(format!("the shield was lost: {why}"));
        }
        Ok(())
    };
    let status = supervised::run(&verb.command, !verb.rights.as_root, look)?;
    Ok(supervised::exit_code(status))
}
