//! A shield that stays until it is taken down.

use anyhow::{Context as _, Result, anyhow, bail};

use crate::journal::{self, Store, asking_user};
use crate::knobs::{Knob, Machine, knobs};
use crate::restore::{Extent, Restoration, restore, take_down, undo};
use crate::shield::{Isolation, KNOBS, Placement, ShieldPlan, ShieldRequest, lower, place};
use crate::shielding::force::{put_in_force, strays};
use crate::{Host, tune};
use model::values::name_cpus;
use model::words::in_words;

/// A shield that was made.
#[derive(Debug)]
pub struct ShieldOn {
    /// The leftovers of a killed earlier session.
    pub earlier: Option<Restoration>,
    /// Number of files that were changed for the shield.
    pub n_set: usize,
    /// The shield as the machine reports it.
    pub isolation: Isolation,
}

/// Makes a shield that stays. Errors: there is a shield, none can be made here, or the journal cannot be written. The
/// error says whether that has left anything.
pub fn on(host: &Host, request: &ShieldRequest, time_s: i64) -> Result<ShieldOn> {
    let placement = place(host, request.cpus.as_deref(), &request.hidden_siblings);
    let placement = placement.map_err(|why| anyhow!(why))?;
    let mut store = Store::open(host)?;
    let earlier = store.journal.is_stale().then(|| restore(host, &mut store));
    if let Some(raised) = &store.journal.shield {
        bail!(
            "there is a shield of {} already; run `stillwell shield off` first",
            name_cpus(&raised.cpus)
        );
    }
    let is_turned = |knob: &&Knob| store.journal.items.iter().any(|it| it.knob.name == knob.name);
    let knobs = knobs().filter(|knob| KNOBS.contains(&knob.name) && !is_turned(knob));
    let knobs: Vec<&'static Knob> = knobs.collect();
    let names: Vec<String> = knobs.iter().map(|knob| knob.name.to_owned()).collect();
    let made = make(host, &mut store, &placement, &knobs, request, time_s);
    let why = match made {
        Ok((n_set, isolation)) if isolation.how.is_shield() => {
            return Ok(ShieldOn { earlier, n_set, isolation });
        }
        Ok((_, isolation)) => isolation.notes.join("; "),
        Err(error) => format!("cannot make a shield: {}", in_words(&error)),
    };
    let aftermath = undo(host, &mut store, &Extent::Shield(names));
    bail!("{why}; {}", aftermath.sentence());
}

/// Turns the knobs and puts the shield in force. Returns the number of files that were changed.
fn make(
    host: &Host,
    store: &mut Store,
    placement: &Placement,
    knobs: &[&'static Knob],
    request: &ShieldRequest,
    time_s: i64,
) -> Result<(usize, Isolation)> {
    store.begin(host, false, asking_user(), time_s)?;
    let planned = tune::plan(&Machine::new(host, placement.shielded.clone()), knobs);
    let turned = tune::turn(host, store, planned)?;
    let names = knobs.iter().map(|knob| knob.name.to_owned()).collect();
    let (_, isolation) = put_in_force(host, store, placement, names, request)?;
    Ok((turned.iter().map(|knob| knob.n_set).sum(), isolation))
}

/// Takes the shield down. `None` if the journal has none: [`off_strays`] looks for one without a journal. Errors:
/// another session is tuning, or the journal cannot be read.
pub fn off(host: &Host) -> Result<Option<Restoration>> {
    try_off(host).context("nothing was put back; run `stillwell system reset`")
}

fn try_off(host: &Host) -> Result<Option<Restoration>> {
    let Some(journal) = journal::look(host)? else { return Ok(None) };
    let is_dead = journal.begun.last().is_some_and(|begin| !journal::is_alive(begin));
    if journal.shield.is_none() && !is_dead {
        return Ok(None);
    }
    let mut store = Store::open(host)?;
    Ok(match store.journal.shield {
        Some(_) => Some(take_down(host, &mut store)),
        // Killed before the journal had the shield. A machine that `system tune` has tuned stays as it is.
        None => store.journal.is_stale().then(|| restore(host, &mut store)),
    })
}

/// Removes the groups of shields without a journal, and returns these shields. Errors: a part cannot be removed.
pub fn off_strays(host: &Host) -> Result<Vec<ShieldPlan>> {
    let (strays, unread) = host.watched(|| strays(host));
    if let Some((path, why)) = unread {
        bail!("cannot look for a shield: /{path}: {why}");
    }
    if strays.is_empty() {
        return Ok(strays);
    }
    // The lock of the journal keeps other processes from making a shield now.
    let _store = Store::open(host)?;
    for raised in &strays {
        let (mut left, unread) = host.watched(|| lower(host, raised));
        left.extend(unread);
        if let Some((path, why)) = left.first() {
            bail!("cannot remove /{path}: {why}; run `stillwell shield off` again");
        }
    }
    Ok(strays)
}
