//! Makes a shield, verifies it and removes it again; the journal records each step first.

use anyhow::{Result, bail};

use crate::Host;
use crate::journal::Store;
use crate::resctrl;
use crate::shield::{
    CacheRequest, Isolation, Masks, Placement, ShieldKind, ShieldPlan, ShieldRequest, find,
    group_of, lower, plan, prepare, raise, verify,
};
use model::values::{name_cpus, read_cpu_list};

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
            let why = match raise(host, &raised, request.kernel_threads) {
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
    if raised.how.is_shield() {
        notes.extend(divide_cache(host, store, &mut raised, request.cache)?);
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

/// Gives the shield its part of the cache; the note says why there is none.
fn divide_cache(
    host: &Host,
    store: &mut Store,
    raised: &mut ShieldPlan,
    request: CacheRequest,
) -> Result<Option<String>> {
    let percent = match request {
        CacheRequest::Off => return Ok(None),
        // A file system that is not mounted divides nothing.
        CacheRequest::IfPossible(_) if !resctrl::is_mounted(host) => return Ok(None),
        CacheRequest::IfPossible(percent) | CacheRequest::Part(percent) => percent,
    };
    let plan = match host.watched(|| resctrl::plan(host, &raised.cpus, percent)) {
        (_, Some((path, why))) => return Ok(Some(format!("/{path}: {why}"))),
        (Ok(plan), None) => plan,
        (Err(why), None) => return Ok(Some(why)),
    };
    raised.cache = Some(plan.clone());
    store.raise(raised)?;
    let Err(why) = resctrl::make(host, &plan) else { return Ok(None) };
    let (mut left, unread) = host.watched(|| resctrl::remove(host, &plan));
    left.failed.extend(unread);
    if let Some((path, error)) = left.failed.first() {
        bail!("{why}; and /{path} cannot be put back: {error}");
    }
    raised.cache = None;
    store.raise(raised)?;
    Ok(Some(why))
}

/// The next best kind of shield after one failed. Without a working systemd, our own group may still work.
fn next_best(host: &Host, raised: ShieldPlan) -> ShieldPlan {
    let mut next = ShieldPlan { how: ShieldKind::Affinity, masks: Masks::default(), ..raised };
    if raised.how == ShieldKind::DelegatedPartition {
        next.how = ShieldKind::Partition;
        prepare(host, &mut next);
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
        let list = group_of(&site, how).and_then(|path| host.read(format!("{path}/cpuset.cpus")));
        let cpus = list.and_then(|list| read_cpu_list(&list)).unwrap_or_default();
        ShieldPlan {
            how,
            bound: cpus.clone(),
            cpus,
            balanced: false,
            switched_on: false,
            masks: Masks::default(),
            neighbours: Vec::new(),
            knobs: Vec::new(),
            cache: None,
        }
    };
    let mut strays: Vec<ShieldPlan> = hows.map(raised).collect();
    if let Some(cache) = resctrl::stray(host) {
        if strays.is_empty() {
            // Only the cache is left.
            let bare = raised(ShieldKind::Affinity);
            strays.push(ShieldPlan { cpus: cache.cpus.clone(), ..bare });
        }
        strays[0].cache = Some(cache);
    }
    strays
}
