//! Groups functions that only one program has and that no guess matches: by source file, so code that moved between
//! them adds up; else by library; else all that remain.

use std::collections::BTreeMap;

use crate::profile::saved::Profile;

#[derive(Debug, PartialEq, Eq)]
pub struct UnmatchedFunctions {
    /// The source file or the library; `None` for the remaining functions.
    pub place: Option<String>,
    /// The functions that only one program has, by program.
    pub of_arms: [Vec<u32>; 2],
}

/// The groups with functions of both programs. `one_sided` has functions with their arm. A function in a group of only
/// one program is new or was removed, and stays as it is.
pub fn together(profile: &Profile, one_sided: Vec<(u32, usize)>) -> Vec<UnmatchedFunctions> {
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
        for &(function, arm) in &left {
            if let Some(place) = place_of(function) {
                groups.entry(place).or_default()[arm].push(function);
            }
        }
        groups.retain(|_, of_arms| of_arms.iter().all(|functions| !functions.is_empty()));
        let is_in = |it: u32| groups.values().flatten().any(|functions| functions.contains(&it));
        left.retain(|(function, _)| !is_in(*function));
        let groups = groups.into_iter();
        unmatched.extend(groups.map(|(place, of_arms)| UnmatchedFunctions { place, of_arms }));
    }
    unmatched
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::breakdown::fixture::made_up;
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
        let one_sided = (0..).zip(functions).map(|(at, it)| (at, it.2)).collect();
        together(&profile, one_sided).into_iter().map(|it| (it.place, it.of_arms)).collect()
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
}
