//! Guesses which functions of two programs correspond if each program has one that the other lacks, from callers and
//! callees. The output calls them guesses.

use std::collections::{BTreeMap, HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::profile::columns::BlockRuns;
use crate::profile::saved::{FunctionOrigin, Profile, ProfiledFunction};

/// A caller must make this share of two functions' calls for them to be taken for one.
const CALLER_SHARE: f64 = 0.5;
/// A function is a part of its caller if the caller makes this share of its calls.
const ONLY_CALLER_SHARE: f64 = 0.9;

/// A guess. Its functions count as one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "guess", rename_all = "snake_case")]
pub enum Guess {
    /// Each of these functions is in one program only, and one function calls both.
    Renamed { old: String, new: String, caller: String },
    /// This function is in one program only, and in the other one its caller has its time.
    Part { function: String, arm: usize, caller: String },
    /// These functions are in one program only, and nothing tells which of them are the same. All of a source file or of a
    /// library; without `place` all that are left.
    Together { place: Option<String>, old: Vec<String>, new: Vec<String> },
}

#[derive(Debug, Default)]
struct FunctionCalls {
    /// The callers, with the samples below each.
    callers: BTreeMap<u32, f64>,
    callees: HashSet<u32>,
    /// Samples in the function and its callees.
    n: f64,
    /// Samples in the function itself, by program.
    own: [f64; 2],
}

impl FunctionCalls {
    fn main_caller(&self, share_min: f64) -> Option<u32> {
        let (caller, n) = self.callers.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        (*n >= share_min * self.n).then_some(*caller)
    }
}

/// The profile with functions merged by guesses, and the guesses; `None` without any.
pub fn matched(profile: &Profile) -> Option<(Profile, Vec<Guess>)> {
    if profile.arms.len() != 2 {
        return None;
    }
    let arm_of =
        |about: &ProfiledFunction| Some(1 - about.missing_in.filter(|arm| *arm < 2)? as usize);
    let one_sided: Vec<OneSided> = (0..)
        .zip(&profile.functions)
        .filter_map(|(function, about)| Some(OneSided { function, arm: arm_of(about)? }))
        .collect();
    if one_sided.is_empty() {
        return None;
    }
    let name = |function: u32| profile.functions[function as usize].name.clone();
    let mut new = profile.clone();
    let mut places: HashMap<u32, u32> = HashMap::new();
    let mut guesses = Vec::new();
    if BlockRuns::of(profile).has_chains() {
        guesses = by_calls(profile, &one_sided, &mut new, &mut places);
    }
    let left = one_sided.into_iter().filter(|it| !places.contains_key(&it.function));
    for (place, of_arms) in together(profile, left.collect()) {
        let shown = place.as_deref();
        let shown = shown.map_or("other functions".into(), |place| format!("functions of {place}"));
        let both = format!("{shown} in one program only");
        add(&mut new, &mut places, &of_arms.concat(), both);
        let [old, new] = of_arms.map(|functions| functions.into_iter().map(name).collect());
        guesses.push(Guess::Together { place, old, new });
    }
    if guesses.is_empty() {
        return None;
    }
    let merged: HashSet<u32> = places.values().copied().collect();
    for stack in &mut new.stacks {
        stack.iter_mut().for_each(|it| *it = places.get(it).copied().unwrap_or(*it));
        stack.dedup_by(|a, b| a == b && merged.contains(a));
    }
    Some((new, guesses))
}

/// A function that only one program has.
#[derive(Clone, Copy, Debug)]
pub struct OneSided {
    function: u32,
    /// The program that has it.
    arm: usize,
}

/// Guesses from callers and callees.
fn by_calls(
    profile: &Profile,
    one_sided: &[OneSided],
    new: &mut Profile,
    places: &mut HashMap<u32, u32>,
) -> Vec<Guess> {
    let calls = calls(profile);
    let name = |function: u32| profile.functions[function as usize].name.clone();
    let mut guesses = Vec::new();
    for (old, later, caller) in renamed(profile, &calls, one_sided) {
        let (old_name, new_name) = (name(old), name(later));
        let both = format!("{old_name} -> {new_name}");
        add(new, places, &[old, later], both);
        guesses.push(Guess::Renamed { old: old_name, new: new_name, caller: name(caller) });
    }
    for &it in one_sided {
        let OneSided { function, arm } = it;
        if places.contains_key(&function) {
            continue;
        }
        let whole = whole_of(profile, &calls, it, places);
        if let Some(caller) = whole {
            let both = format!("{} with {}", name(caller), name(function));
            add(new, places, &[caller, function], both);
            guesses.push(Guess::Part { function: name(function), arm, caller: name(caller) });
        }
    }
    guesses
}

/// The function that has this one's time in the program that lacks it: its only caller, or a function that this caller
/// calls. Compilers omit the frame pointer of a function that calls nothing; its caller is then missing in the chains.
fn whole_of(
    profile: &Profile,
    calls: &HashMap<u32, FunctionCalls>,
    OneSided { function, arm }: OneSided,
    used: &HashMap<u32, u32>,
) -> Option<u32> {
    let it = calls.get(&function)?;
    let caller = it.main_caller(ONLY_CALLER_SHARE)?;
    let is_free = |at: &u32| {
        let about = &profile.functions[*at as usize];
        about.origin == FunctionOrigin::User && about.missing_in.is_none() && !used.contains_key(at)
    };
    // Time that one program has in the function must be the excess of the other program in this one.
    let missed = |at: &u32| {
        let own = calls[at].own;
        (own[1 - arm] - own[arm] - it.own[arm]).abs()
    };
    // If the other function calls nothing either, its caller is also missing: it appears below the next one.
    let above = calls.get(&caller).and_then(|it| it.main_caller(ONLY_CALLER_SHARE));
    let below = calls.iter().filter(|(at, other)| {
        let of_other = other.main_caller(ONLY_CALLER_SHARE);
        **at != function && of_other.is_some() && (of_other == Some(caller) || of_other == above)
    });
    let near = below.map(|(at, _)| *at).chain([caller]).filter(is_free);
    let best = near.min_by(|a, b| missed(a).total_cmp(&missed(b)).then(a.cmp(b)));
    let is_like = |at: &u32| missed(at) <= CALLER_SHARE * it.own[arm];
    best.filter(is_like).or(Some(caller).filter(is_free))
}

/// Replaces several functions by one.
fn add(profile: &mut Profile, places: &mut HashMap<u32, u32>, all: &[u32], name: String) {
    let number = profile.functions.len() as u32;
    let file = profile.functions[all[0] as usize].file.clone();
    profile.functions.push(ProfiledFunction::new(name, &file, FunctionOrigin::User));
    places.extend(all.iter().map(|&it| (it, number)));
}

fn calls(profile: &Profile) -> HashMap<u32, FunctionCalls> {
    let mut n_of_stacks = vec![[0.0; 2]; profile.stacks.len()];
    for run in &profile.runs {
        for &(stack, n) in &run.samples {
            n_of_stacks[stack as usize][run.arm as usize] += f64::from(n);
        }
    }
    let mut calls: HashMap<u32, FunctionCalls> = HashMap::new();
    let counted = profile.stacks.iter().zip(n_of_stacks);
    for (stack, n) in counted.filter(|(_, n)| n[0] + n[1] > 0.0) {
        let mut seen = HashSet::new();
        for (at, &function) in stack.iter().enumerate() {
            let it = calls.entry(function).or_default();
            let is_leaf = at + 1 == stack.len();
            it.own = std::array::from_fn(|arm| it.own[arm] + if is_leaf { n[arm] } else { 0.0 });
            if !seen.insert(function) {
                continue;
            }
            it.n += n[0] + n[1];
            it.callees.extend(stack.get(at + 1));
            if let Some(&caller) = at.checked_sub(1).and_then(|at| stack.get(at)) {
                *it.callers.entry(caller).or_default() += n[0] + n[1];
            }
        }
    }
    calls
}

/// Pairs an old and a new function with one caller. Of several, the pairs with the most similar callees and times.
fn renamed(
    profile: &Profile,
    calls: &HashMap<u32, FunctionCalls>,
    one_sided: &[OneSided],
) -> Vec<(u32, u32, u32)> {
    let of_arm = |arm: usize| {
        let here = one_sided.iter().filter(move |it| it.arm == arm);
        here.filter_map(|it| Some((it.function, calls.get(&it.function)?)))
    };
    let mut pairs: Vec<(f64, u32, u32, u32)> = Vec::new();
    for (old, of_old) in of_arm(0) {
        for (new, of_new) in of_arm(1) {
            let caller = of_old.main_caller(CALLER_SHARE);
            let Some(caller) = caller.filter(|_| caller == of_new.main_caller(CALLER_SHARE)) else {
                continue;
            };
            let is_here = profile.functions[caller as usize].missing_in.is_none();
            let n_common = of_old.callees.intersection(&of_new.callees).count() as f64;
            let n_all = of_old.callees.union(&of_new.callees).count().max(1) as f64;
            let unlike = (of_new.n / of_old.n).ln().abs() - n_common / n_all;
            pairs.extend(is_here.then_some((unlike, old, new, caller)));
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut used = HashSet::new();
    pairs.retain(|pair| {
        let is_free = !used.contains(&pair.1) && !used.contains(&pair.2);
        if is_free {
            used.extend([pair.1, pair.2]);
        }
        is_free
    });
    pairs.into_iter().map(|(_, old, new, caller)| (old, new, caller)).collect()
}

/// Groups functions that only one program has and that no guess matches: by source file, so code that moved between
/// them adds up; else by library; else all that remain (`None`). Returns the groups with functions of both programs, by
/// program. A function in a group of only one program is new or was removed, and stays as it is.
pub fn together(
    profile: &Profile,
    one_sided: Vec<OneSided>,
) -> Vec<(Option<String>, [Vec<u32>; 2])> {
    let mut unmatched = Vec::new();
    let mut left = one_sided;
    let steps: [&dyn Fn(u32) -> Option<Option<String>>; 3] = [
        &|function| profile.functions[function as usize].source.clone().map(Some),
        &|function| {
            Some(Some(profile.functions[function as usize].file.clone()))
                .filter(|file| file != &Some(String::new()))
        },
        &|_| Some(None),
    ];
    for place_of in steps {
        let mut groups: BTreeMap<Option<String>, [Vec<u32>; 2]> = BTreeMap::new();
        for &OneSided { function, arm } in &left {
            if let Some(place) = place_of(function) {
                groups.entry(place).or_default()[arm].push(function);
            }
        }
        groups.retain(|_, of_arms| of_arms.iter().all(|functions| !functions.is_empty()));
        let is_in = |it: u32| groups.values().flatten().any(|functions| functions.contains(&it));
        left.retain(|it| !is_in(it.function));
        unmatched.extend(groups);
    }
    unmatched
}

#[cfg(test)]
mod tests;
