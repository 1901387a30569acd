//! Makes a shield, verifies it and removes it again; the journal records each step first.

use anyhow::{Result, bail};

use crate::Host;
use crate::journal::Store;
use crate::shield::{
    Isolation, Placement, ShieldKind, ShieldPlan, ShieldRequest, find, group_of, lower, plan,
    prepare, raise, verify,
};
use model::values::name_cpus;

/// Makes a shield; its notes say why if it cannot be made. The caller has already turned `knobs` for it. Errors: the
/// journal cannot be written, or a half-made shield cannot be removed.
pub fn put_in_force(
    host: &Host,
    store: &mut Store,
    placement: &Placement,
    knobs: Vec<String>,
    request: &ShieldRequest,
) -> Result<(ShieldPlan, Isolation)> {
    let ((mut raised, mut notes), mut unread) = host.watched(|| plan(host, placement, request));
    raised.knobs = knobs;
    loop {
        let is_known = unread.is_none() || !raised.how.is_shield();
        notes.extend(unread.map(|(path, why)| format!("/{path}: {why}")));
        // Whatever could not be read could not be put back either.
        if is_known {
            store.raise(&raised)?;
            let why = match raise(host, &raised) {
                Ok(more) => {
                    notes.extend(more);
                    break;
                }
                Err(why) => why,
            };
            let (mut left, not_seen) = host.watched(|| lower(host, &raised));
            left.extend(not_seen);
            if let Some((path, error)) = left.first() {
                bail!("{why}; and /{path} cannot be taken away: {error}");
            }
            notes.push(why);
        }
        (raised, unread) = host.watched(|| next_best(host, raised));
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

/// The next best kind of shield after one failed. Without a working systemd, our own group may still work.
fn next_best(host: &Host, raised: ShieldPlan) -> ShieldPlan {
    let mut next = ShieldPlan { how: ShieldKind::Affinity, masks: Vec::new(), ..raised };
    if raised.how == ShieldKind::DelegatedPartition {
        next.how = ShieldKind::Partition;
        prepare(host, &find(host), &mut next);
    }
    next
}

/// Shields that are in no journal, because a user deleted the file.
pub fn strays(host: &Host) -> Vec<ShieldPlan> {
    let site = find(host);
    let is_there = |how: &ShieldKind| group_of(&site, *how).is_some_and(|path| host.exists(path));
    let hows = [ShieldKind::Partition, ShieldKind::DelegatedPartition, ShieldKind::Cpusets]
        .into_iter()
        .filter(is_there);
    let raised = |how| {
        let path = group_of(&site, how);
        let cpus = path.and_then(|path| host.read_cpus(format!("{path}/cpuset.cpus")));
        let cpus = cpus.unwrap_or_default();
        ShieldPlan { how, bound: cpus.clone(), cpus, ..ShieldPlan::default() }
    };
    hows.map(raised).collect()
}
