use super::*;
use crate::profile::breakdown::fixture::made_up;

/// `work` of the old program is called `later` in the new one.
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

#[track_caller]
fn check_part_of_rest(mut profile: Profile) {
    profile.functions[1].missing_in = Some(0);
    for run in &mut profile.runs {
        // The old program has both in `rest`, the new one all in `work`.
        let both = run.samples.iter().filter(|it| it.0 < 2).map(|it| it.1).sum();
        run.samples.retain(|it| it.0 >= 2);
        run.samples.push((1 - run.arm, both));
    }
    let (_, guesses) = matched(&profile).unwrap();
    let [function, caller] = ["work", "rest"].map(String::from);
    assert_eq!(guesses, [Guess::Part { function, arm: 1, caller }]);
}

/// `work` calls nothing, so its chains lack its caller `rest`, which it is a part of.
#[test]
fn a_caller_that_is_missing_in_the_chains_is_found_by_its_time() {
    check_part_of_rest(made_up(20, 0.0));
}

/// The old `rest` includes `work` and calls nothing, so its chains lack its caller too.
#[test]
fn both_chains_may_lack_a_caller() {
    let mut profile = made_up(20, 0.0);
    profile.functions.push(ProfiledFunction::new("start".into(), "a", FunctionOrigin::User));
    let start = 4;
    profile.stacks = vec![vec![start, 0, 1], vec![start, 2], vec![start, 0, 3], vec![start, 0]];
    check_part_of_rest(profile);
}

#[test]
fn functions_of_different_callers_are_not_matched() {
    let profile = with_another_name(2);
    let (_, guesses) = matched(&profile).unwrap();
    assert!(guesses.iter().all(|it| matches!(it, Guess::Part { .. })), "{guesses:?}");
}

/// Without call chains nothing shows that `later` is `work`. As functions of one file they count as one.
#[test]
fn what_cannot_be_matched_counts_together() {
    let mut profile = with_another_name(0);
    profile.n_whole_chains = 0;
    for function in [1, 4] {
        profile.functions[function].source = Some("work.c".into());
    }
    let (found, guesses) = matched(&profile).unwrap();
    let [old, new] = ["work", "later"].map(|it| vec![String::from(it)]);
    assert_eq!(guesses, [Guess::Together { place: Some("work.c".into()), old, new }]);
    assert_eq!((found.stacks[0][1], found.stacks[4][1]), (5, 5));
    assert_eq!(found.functions[5].name, "functions of work.c in one program only");
}

use crate::profile::saved::{FunctionOrigin, ProfiledFunction};

/// Functions with their source, file and arm.
fn groups(functions: &[(Option<&str>, &str, usize)]) -> Vec<(Option<String>, [Vec<u32>; 2])> {
    let mut profile = made_up(1, 0.0);
    profile.functions.clear();
    for (source, file, _) in functions {
        let mut it = ProfiledFunction::new("f".into(), file, FunctionOrigin::User);
        it.source = source.map(String::from);
        profile.functions.push(it);
    }
    let one_sided =
        (0..).zip(functions).map(|(function, it)| OneSided { function, arm: it.2 }).collect();
    together(&profile, one_sided)
}

#[test]
fn the_source_file_counts_then_the_library_then_the_rest() {
    let found = groups(&[
        (Some("a.c"), "old", 0),
        (Some("a.c"), "new", 1),
        (Some("a.c"), "new", 1),
        (Some("b.c"), "lib.so", 0),
        (None, "lib.so", 1),
        (None, "old", 0),
        (Some("c.c"), "new", 1),
    ]);
    let place = |text: &str| Some(text.to_owned());
    assert_eq!(
        found,
        [
            (place("a.c"), [vec![0], vec![1, 2]]),
            (place("lib.so"), [vec![3], vec![4]]),
            (None, [vec![5], vec![6]]),
        ]
    );
}

#[test]
fn what_is_only_new_stays_alone() {
    assert_eq!(groups(&[(Some("a.c"), "new", 1), (Some("a.c"), "new", 1)]), []);
    assert_eq!(groups(&[]), []);
}
