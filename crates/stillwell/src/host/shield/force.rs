//! A shield with its journal: noted, made, looked at; and taken away again.

use anyhow::{Result, bail};

use crate::host::Host;
use crate::host::journal::Store;
use crate::host::restore::{Restoration, restore_some};
use crate::host::shield::tasks::Masks;
use crate::host::shield::{
    Isolation, Placement, ShieldKind, ShieldPlan, ShieldRequest, find, group_of, lower, plan,
    prepare, raise, verify,
};
use crate::values::{name_cpus, read_cpu_list};

/// Makes a shield, or says in its notes why there is none. `knobs` have been turned for it.
///
/// # Errors
/// The journal cannot be written, or what was begun cannot be taken away.
pub fn put_in_force(
    host: &Host,
    store: &mut Store,
    placement: &Placement,
    knobs: Vec<String>,
    request: &ShieldRequest,
) -> Result<(ShieldPlan, Isolation)> {
    let (mut raised, mut notes) = plan(host, placement, request);
    raised.knobs = knobs;
    loop {
        store.raise(&raised)?;
        let why = match raise(host, &raised, request.kernel_threads) {
            Ok(more) => {
                notes.extend(more);
                break;
            }
            Err(why) => why,
        };
        let left = lower(host, &raised);
        if let Some((path, error)) = left.first() {
            bail!("{why}; and /{path} cannot be taken away: {error}");
        }
        notes.push(why);
        raised = next_best(host, raised);
    }
    store.done()?;
    if !raised.how.is_shield() {
        notes.push(format!(
            "{} {} not kept free: commands are bound to {}, and others may use that too",
            name_cpus(&raised.cpus),
            if raised.cpus.len() == 1 { "is" } else { "are" },
            name_cpus(&raised.bound)
        ));
    }
    let isolation = verify(host, &raised, notes);
    Ok((raised, isolation))
}

/// What is left where one could not be made: systemd may not be as it should be, and a group of our own still be possible.
fn next_best(host: &Host, raised: ShieldPlan) -> ShieldPlan {
    let mut next = ShieldPlan { how: ShieldKind::Affinity, masks: Masks::default(), ..raised };
    if raised.how == ShieldKind::DelegatedPartition {
        next.how = ShieldKind::Partition;
        prepare(host, &mut next);
    }
    next
}

/// Takes the shield away, and puts back the knobs that were turned for it. Others stay.
///
/// # Errors
/// The journal cannot be written.
pub fn take_down(host: &Host, store: &mut Store) -> Result<Restoration> {
    let knobs = store.journal.shield.as_ref().map(|raised| raised.knobs.clone());
    let knobs = knobs.unwrap_or_default();
    restore_some(host, store, |item| knobs.iter().any(|name| name == item.knob.name))
}

/// Shields that nobody has noted: their journal was removed by hand.
pub fn strays(host: &Host) -> Vec<ShieldPlan> {
    let site = find(host);
    let is_there = |how: &ShieldKind| group_of(&site, *how).is_some_and(|path| host.exists(path));
    let hows = [ShieldKind::Partition, ShieldKind::DelegatedPartition, ShieldKind::Cpusets]
        .into_iter()
        .filter(is_there);
    let raised = |how| {
        let list = group_of(&site, how).and_then(|path| host.read(format!("{path}/cpuset.cpus")));
        let cpus = list.and_then(|list| read_cpu_list(&list)).unwrap_or_default();
        ShieldPlan {
            how,
            bound: cpus.clone(),
            cpus,
            balanced: false,
            switched_on: false,
            masks: Masks::default(),
            knobs: Vec::new(),
        }
    };
    hows.map(raised).collect()
}
