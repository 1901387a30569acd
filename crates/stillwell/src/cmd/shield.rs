//! `shield`: reserves CPUs for the processes that the user puts there.

use std::io::Write as _;

use anyhow::{Context as _, Result, anyhow, bail};
use jiff::Timestamp;

use crate::cmd::print::print;
use crate::cmd::rights::on_machine;
use crate::host::journal::{self, Store};
use crate::host::knobs::{Machine, knobs};
use crate::host::restore::{restore, take_down};
use crate::host::shield::{self, CacheRequest, Isolation, ShieldPlan, Watch};
use crate::host::{Host, tune};
use crate::measure::supervised;
use crate::render::shield as shown;
use crate::render::system::tuned;
use crate::session::{Guard, hidden_siblings};
use crate::spec::{ShieldAction, ShieldExec, ShieldOptions, ShieldVerb, SystemRoot};
use crate::sys;
use crate::terminal;
use crate::values::{CachePart, exit_code, name_cpus};

/// Executes an action.
pub fn shield(verb: &ShieldVerb) -> Result<u8> {
    match &verb.action {
        ShieldAction::On(verb) => on_machine(&verb.host_root, || on(verb)),
        ShieldAction::Off(verb) => on_machine(&verb.host_root, || off(verb)),
        ShieldAction::Status(verb) => on_machine(&verb.host_root, || status(verb)),
        ShieldAction::Exec(verb) => exec(verb),
    }
}

fn request(host: &Host, options: &ShieldOptions) -> shield::ShieldRequest {
    shield::ShieldRequest {
        cpus: options.cpus.as_ref().map(|cpus| cpus.0.clone()),
        kernel_threads: options.kthreads,
        balanced: options.balance,
        hidden_siblings: hidden_siblings(host),
        cache: match options.cache {
            None | Some(CachePart::Off) => CacheRequest::Off,
            Some(CachePart::Percent(percent)) => CacheRequest::Part(percent),
        },
    }
}

fn on(options: &ShieldOptions) -> Result<u8> {
    let host = Host::new(&options.host_root);
    let request = request(&host, options);
    let placement = shield::place(&host, request.cpus.as_deref(), &request.hidden_siblings)
        .map_err(|why| anyhow!("{why}"))?;
    let mut store = Store::open(&host)?;
    if store.journal.is_stale() && !store.journal.begun.is_empty() {
        let restored = restore(&host, &mut store)?;
        let text = tuned::restored(&restored);
        print(&format!("what an earlier stillwell has left was put back\n{text}"))?;
    }
    if let Some(raised) = &store.journal.shield {
        bail!(
            "there is a shield of {} already; run `stillwell shield off` first",
            name_cpus(&raised.cpus)
        );
    }
    let is_turned = |name: &&str| store.journal.items.iter().any(|item| item.knob.name == *name);
    let wanted: Vec<&str> = shield::KNOBS.iter().copied().filter(|name| !is_turned(name)).collect();
    store.begin(&host, false, journal::asking_user(), Timestamp::now().as_second())?;
    let knobs: Vec<_> = knobs().filter(|knob| wanted.contains(&knob.name)).collect();
    let planned = tune::plan(&Machine::new(&host, placement.shielded.clone()), &knobs);
    let turned = tune::turn(&host, &mut store, planned)?;
    let names = wanted.iter().map(|name| (*name).to_owned()).collect();
    let (_, isolation) = shield::put_in_force(&host, &mut store, &placement, names, &request)?;
    if !isolation.how.is_shield() {
        take_down(&host, &mut store)?;
        bail!("{}", isolation.notes.join("; "));
    }
    let n_set: usize = turned.iter().map(|knob| knob.n_set).sum();
    print(&(shown::text(&isolation, None) + &shown::turned(n_set)))?;
    Ok(exit_code::SUCCESS)
}

fn off(verb: &SystemRoot) -> Result<u8> {
    let host = Host::new(&verb.host_root);
    let has_journal = journal::look(&host)?.is_some_and(|journal| journal.shield.is_some());
    if !has_journal {
        return off_strays(&host);
    }
    let mut store = Store::open(&host)?;
    let restored = take_down(&host, &mut store)?;
    print(&tuned::restored(&restored))?;
    Ok(if restored.is_complete() { exit_code::SUCCESS } else { exit_code::CHECK_FAILED })
}

/// Removes the groups of a shield without a journal.
fn off_strays(host: &Host) -> Result<u8> {
    let strays = shield::strays(host);
    if strays.is_empty() {
        print("there is no shield\n")?;
        return Ok(exit_code::SUCCESS);
    }
    // The lock of the journal keeps other processes from making a shield now.
    let _store = Store::open(host)?;
    for raised in &strays {
        let mut left = shield::give_cache_back(host, raised).failed;
        left.extend(shield::lower(host, raised));
        if let Some((path, why)) = left.first() {
            bail!("cannot remove /{path}: {why}");
        }
        print(&format!("{} given back\n", shown::cpus(&raised.cpus)))?;
    }
    Ok(exit_code::SUCCESS)
}

fn status(verb: &SystemRoot) -> Result<u8> {
    let host = Host::new(&verb.host_root);
    let (raised, owner) = match journal::look(&host) {
        Ok(Some(journal)) => {
            let owner = journal.begun.last().map(|begin| (begin.pid, journal::is_alive(begin)));
            let owner = owner.filter(|_| journal.begun.last().is_some_and(|begin| begin.scoped));
            (journal.shield.clone(), owner)
        }
        Ok(None) => (None, None),
        // A user without access to the journal can still read the groups.
        Err(_) => (shield::strays(&host).pop(), None),
    };
    let raised: Option<ShieldPlan> = raised.or_else(|| shield::strays(&host).pop());
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
    Guard::for_shield(&options.host_root, request)?.hold(|guard| {
        guard.enter(std::process::id())?;
        run(verb, &host, guard)
    })
}

/// Runs the command as a child, which inherits the group and the CPUs.
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
            writeln!(terminal::stderr(), "stillwell: the shield was lost: {why}").ok();
        }
        Ok(())
    };
    let status = supervised::run(&verb.command, !verb.rights.as_root, look)?;
    Ok(supervised::exit_code(status))
}
