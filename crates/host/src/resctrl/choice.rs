//! Chooses ways of the cache before anything is written.

use crate::Host;
use crate::resctrl::layout::{
    GROUP, MaskTable, OURS, POINT, ROOT_SCHEMATA, Resource, cache_of, groups, groups_with, masks,
    resources,
};
use crate::resctrl::{CachePlan, CacheWays};
use model::values::name_cpus;

/// Plans a part of the caches that these CPUs use, in percent of all ways. Errors: the caches cannot be divided here,
/// or another group has the ways or the CPUs; a sentence.
pub fn plan(host: &Host, cpus: &[usize], percent: f64) -> Result<CachePlan, String> {
    let resources = divisible(host)?;
    if host.exists(OURS) {
        return Err(format!("/{OURS} is there already; remove it with `stillwell shield off`"));
    }
    let others = groups(host);
    let n_classes = resources.iter().map(|resource| resource.n_classes).min().unwrap_or(0);
    if others.len() >= n_classes {
        return Err(format!(
            "all {n_classes} groups that this processor can divide its cache into are in use: {}",
            shown(&others)
        ));
    }
    let rivals = groups_with(host, cpus);
    if !rivals.is_empty() {
        return Err(format!(
            "{} has {} already, so their cache is not divided; choose other CPUs",
            shown(&rivals),
            name_cpus(cpus)
        ));
    }
    let tables: Vec<(String, MaskTable)> = others
        .into_iter()
        .skip(1)
        .map(|group| {
            let table = masks(host, &format!("{group}/schemata"));
            (group, table)
        })
        .collect();
    let of_default = masks(host, ROOT_SCHEMATA);
    let mut caches = Vec::new();
    for id in ids(host, cpus, &resources[0], &of_default)? {
        caches.extend(divide(&resources, id, &of_default, &tables, percent)?);
    }
    Ok(CachePlan { cpus: cpus.to_vec(), caches })
}

/// The resources of the last level, or why there are none.
fn divisible(host: &Host) -> Result<Vec<Resource>, String> {
    if !host.exists(POINT) {
        return Err("this processor or kernel cannot divide the cache".into());
    }
    if host.list(POINT).is_empty() {
        return Err(format!(
            "the cache is not divided: mount resctrl first, `mount -t resctrl resctrl /{POINT}`"
        ));
    }
    match resources(host) {
        found if found.is_empty() => {
            Err("this processor can watch its last-level cache, and cannot divide it".into())
        }
        found => Ok(found),
    }
}

/// The caches that these CPUs use.
fn ids(
    host: &Host,
    cpus: &[usize],
    resource: &Resource,
    of_default: &MaskTable,
) -> Result<Vec<u32>, String> {
    let level = resource.name.chars().nth(1).unwrap_or('3');
    let known: Vec<u32> =
        of_default.keys().filter(|(name, _)| *name == resource.name).map(|(_, id)| *id).collect();
    let of_cpu = |cpu: &usize| cache_of(host, *cpu, level).filter(|id| known.contains(id));
    let found: Option<Vec<u32>> = match known[..] {
        [only] => Some(vec![only]),
        _ => cpus.iter().map(of_cpu).collect(),
    };
    let mut ids = found.ok_or_else(|| {
        format!("the kernel does not show which caches {} use, so none is divided", name_cpus(cpus))
    })?;
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Divides one cache, in the same way for code and data.
fn divide(
    resources: &[Resource],
    id: u32,
    of_default: &MaskTable,
    tables: &[(String, MaskTable)],
    percent: f64,
) -> Result<Vec<CacheWays>, String> {
    let key = |resource: &Resource| (resource.name.clone(), id);
    let before = |resource: &Resource| of_default.get(&key(resource)).copied().unwrap_or(0);
    let free = resources.iter().map(before).fold(u64::MAX, |free, mask| free & mask);
    let of_group = |table: &MaskTable| {
        resources.iter().filter_map(|it| table.get(&key(it))).fold(0, |all, mask| all | mask)
    };
    let taken = tables.iter().fold(0, |all, (_, table)| all | of_group(table));
    let resource = &resources[0];
    let n_all = resource.full.count_ones();
    let wanted = (f64::from(n_all) * percent / 100.0).round() as u32;
    let n = wanted.max(resource.min_ways).clamp(1, n_all);
    let all_before: Vec<u64> = resources.iter().map(before).collect();
    let ends = ends(&all_before, n, resource);
    let Some(ours) = ends.iter().copied().find(|ours| ours & taken == 0) else {
        let of_others: Vec<String> = tables
            .iter()
            .filter(|(_, table)| ends.iter().any(|ours| ours & of_group(table) != 0))
            .map(|(group, _)| group.clone())
            .collect();
        return Err(match of_others.is_empty() {
            true => format!(
                "{n} of {n_all} ways cannot be taken from the default group, which has {}; ask for less",
                free.count_ones()
            ),
            false => format!(
                "{} uses the ways that {GROUP} would take; ask for less, or change its schemata",
                shown(&of_others)
            ),
        });
    };
    Ok(resources
        .iter()
        .map(|it| CacheWays {
            resource: it.name.clone(),
            id,
            full: it.full,
            before: before(it),
            rest: before(it) & !ours,
            ours,
        })
        .collect())
}

/// The blocks of `n` ways at both ends of what all these masks have, if each mask keeps a valid rest. The block with
/// fewer ways of devices comes first.
fn ends(before: &[u64], n: u32, resource: &Resource) -> Vec<u64> {
    let free = before.iter().fold(u64::MAX, |free, mask| free & mask);
    if free == 0 || n >= free.count_ones() {
        return Vec::new();
    }
    let block = (1_u64 << n) - 1;
    let top = u64::BITS - free.leading_zeros();
    let mut ends = Vec::new();
    if let Some(shift) = top.checked_sub(n) {
        ends.push(block << shift);
    }
    ends.push(block << free.trailing_zeros());
    let leaves_enough = |rest: u64| {
        rest.count_ones() >= resource.min_ways && (resource.is_sparse || is_contiguous(rest))
    };
    let is_valid =
        |ours: &u64| ours & !free == 0 && before.iter().all(|mask| leaves_enough(mask & !ours));
    ends.retain(is_valid);
    ends.sort_by_key(|ours| (ours & resource.shareable).count_ones());
    ends
}

pub(super) fn is_contiguous(mask: u64) -> bool {
    mask != 0 && {
        let low = mask >> mask.trailing_zeros();
        low & low.wrapping_add(1) == 0
    }
}

fn shown(groups: &[String]) -> String {
    let shown: Vec<String> = groups.iter().map(|group| format!("/{group}")).collect();
    shown.join(", ")
}
