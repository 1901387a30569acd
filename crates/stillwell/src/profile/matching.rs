//! Functions that only one of two programs has: which function of the other one has their time? A guess from callers and
//! callees, which the output calls a guess.

use schemars::JsonSchema;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use crate::profile::columns::BlockRuns;
use crate::profile::saved::{Origin, Profile, ProfiledFunction};

/// Two functions with one caller are the same if the caller makes at least this part of their calls.
const CALLER_SHARE: f64 = 0.5;
/// A function is a part of its caller if that makes so many of its calls.
const ONLY_CALLER_SHARE: f64 = 0.9;

/// A guess. The functions in it are one function from there on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "guess", rename_all = "snake_case")]
pub enum Guess {
    /// Each of these functions is in one program only, and one function calls both.
    Renamed { old: String, new: String, caller: String },
    /// This function is in one program only, and in the other one its caller has its time.
    Part { function: String, arm: usize, caller: String },
}

/// A function that one program lacks.
struct OneSided {
    function: u32,
    /// The program that has it.
    arm: usize,
    /// Its callers, with the samples below each.
    callers: BTreeMap<u32, f64>,
    callees: HashSet<u32>,
    /// Samples in it and what it calls.
    n: f64,
}

impl OneSided {
    fn main_caller(&self, share_min: f64) -> Option<u32> {
        let (caller, n) = self.callers.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        (*n >= share_min * self.n).then_some(*caller)
    }
}

/// The profile with the functions that are probably the same as one, and the guesses; `None` without any.
pub fn matched(profile: &Profile) -> Option<(Profile, Vec<Guess>)> {
    if profile.arms.len() != 2 || !BlockRuns::of(profile).has_chains() {
        return None;
    }
    let found = one_sided(profile);
    let pairs = renamed(profile, &found);
    let name = |function: u32| profile.functions[function as usize].name.clone();
    let mut new = profile.clone();
    let mut places: HashMap<u32, u32> = HashMap::new();
    let mut guesses = Vec::new();
    for (old, later, caller) in pairs {
        let (old_name, new_name) = (name(old), name(later));
        let both = format!("{old_name} -> {new_name}");
        add(&mut new, &mut places, [old, later], both);
        guesses.push(Guess::Renamed { old: old_name, new: new_name, caller: name(caller) });
    }
    for it in found.iter().filter(|it| !places.contains_key(&it.function)).collect::<Vec<_>>() {
        let Some(caller) = it.main_caller(ONLY_CALLER_SHARE) else { continue };
        let about = &profile.functions[caller as usize];
        if about.origin != Origin::User
            || about.missing_in.is_some()
            || places.contains_key(&caller)
        {
            continue;
        }
        let both = format!("{} with {}", name(caller), name(it.function));
        add(&mut new, &mut places, [caller, it.function], both);
        guesses.push(Guess::Part {
            function: name(it.function),
            arm: it.arm,
            caller: name(caller),
        });
    }
    if guesses.is_empty() {
        return None;
    }
    for stack in &mut new.stacks {
        stack.iter_mut().for_each(|it| *it = places.get(it).copied().unwrap_or(*it));
        let merged: HashSet<u32> = places.values().copied().collect();
        stack.dedup_by(|a, b| a == b && merged.contains(a));
    }
    Some((new, guesses))
}

/// Puts one function in the place of two.
fn add(profile: &mut Profile, places: &mut HashMap<u32, u32>, two: [u32; 2], name: String) {
    let number = profile.functions.len() as u32;
    let file = profile.functions[two[0] as usize].file.clone();
    profile.functions.push(ProfiledFunction::new(name, &file, Origin::User));
    places.extend(two.map(|it| (it, number)));
}

fn one_sided(profile: &Profile) -> Vec<OneSided> {
    let of = |(function, about): (usize, &ProfiledFunction)| {
        let arm = 1 - about.missing_in.filter(|arm| *arm < 2)? as usize;
        let (callers, callees) = (BTreeMap::new(), HashSet::new());
        Some(OneSided { function: function as u32, arm, callers, callees, n: 0.0 })
    };
    let mut found: Vec<OneSided> = profile.functions.iter().enumerate().filter_map(of).collect();
    if found.is_empty() {
        return found;
    }
    let mut n_of_stacks = vec![0.0; profile.stacks.len()];
    for &(stack, n) in profile.runs.iter().flat_map(|run| &run.samples) {
        n_of_stacks[stack as usize] += f64::from(n);
    }
    for (stack, n) in profile.stacks.iter().zip(n_of_stacks) {
        for it in &mut found {
            let Some(at) = stack.iter().position(|&function| function == it.function) else {
                continue;
            };
            it.n += n;
            it.callees.extend(stack.get(at + 1));
            if let Some(&caller) = at.checked_sub(1).and_then(|at| stack.get(at)) {
                *it.callers.entry(caller).or_default() += n;
            }
        }
    }
    found
}

/// Pairs of an old and a new function with one caller. Of several, those whose callees and times are most alike.
fn renamed(profile: &Profile, found: &[OneSided]) -> Vec<(u32, u32, u32)> {
    let mut pairs: Vec<(f64, u32, u32, u32)> = Vec::new();
    for old in found.iter().filter(|it| it.arm == 0) {
        for new in found.iter().filter(|it| it.arm == 1) {
            let caller = old.main_caller(CALLER_SHARE);
            let Some(caller) = caller.filter(|_| caller == new.main_caller(CALLER_SHARE)) else {
                continue;
            };
            let is_here = profile.functions[caller as usize].missing_in.is_none();
            let n_common = old.callees.intersection(&new.callees).count() as f64;
            let n_all = old.callees.union(&new.callees).count().max(1) as f64;
            let unlike = (new.n / old.n).ln().abs() - n_common / n_all;
            pairs.extend(is_here.then_some((unlike, old.function, new.function, caller)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::breakdown::tests::made_up;

    /// `work` of the old program is another function in the new one, called `later`.
    fn with_another_name(caller_of_later: u32) -> Profile {
        let mut profile = made_up(20, 0.0);
        let mut later = profile.functions[1].clone();
        (later.name, later.missing_in) = ("later".into(), Some(0));
        profile.functions[1].missing_in = Some(1);
        profile.functions.push(later);
        profile.stacks.push(vec![0, caller_of_later, 4]);
        profile.stacks[4].dedup();
        for run in profile.runs.iter_mut().filter(|run| run.arm == 1) {
            run.samples.iter_mut().filter(|it| it.0 == 0).for_each(|it| it.0 = 4);
        }
        profile
    }

    #[test]
    fn a_function_with_another_name_is_found_by_its_caller() {
        let (found, guesses) = matched(&with_another_name(0)).unwrap();
        let [old, new, caller] = ["work", "later", "main"].map(String::from);
        assert_eq!(guesses, [Guess::Renamed { old, new, caller }]);
        assert_eq!((found.stacks[0][1], found.stacks[4][1]), (5, 5));
        assert_eq!(found.functions[5].name, "work -> later");
        assert_eq!(matched(&made_up(20, 0.0)), None);
    }

    #[test]
    fn a_function_that_is_inlined_in_one_program_is_a_part_of_its_caller() {
        let mut profile = made_up(20, 0.0);
        profile.functions[1].missing_in = Some(0);
        let rest = 2;
        profile.stacks[0] = vec![0, rest, 1];
        let (found, guesses) = matched(&profile).unwrap();
        let [function, caller] = ["work", "rest"].map(String::from);
        assert_eq!(guesses, [Guess::Part { function, arm: 1, caller }]);
        assert_eq!((found.stacks[0].clone(), found.stacks[1].clone()), (vec![0, 4], vec![0, 4]));
    }

    #[test]
    fn functions_of_different_callers_are_not_matched() {
        let profile = with_another_name(2);
        let (_, guesses) = matched(&profile).unwrap();
        assert!(guesses.iter().all(|it| matches!(it, Guess::Part { .. })), "{guesses:?}");
    }
}
