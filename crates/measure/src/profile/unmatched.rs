//! Functions that only one of two programs has, and that no guess matches. Those of one source file count as one, so that what
//! moved between them adds up; else those of one library; else all that are left.

use std::collections::BTreeMap;

use crate::profile::saved::Profile;

/// Functions that count as one.
#[derive(Debug, PartialEq, Eq)]
pub struct UnmatchedFunctions {
    /// The source file or the library; `None` for all that are left.
    pub place: Option<String>,
    /// The functions that each program has alone.
    pub of_arms: [Vec<u32>; 2],
}

/// The groups that have functions of both programs. `one_sided` has functions with the arm that has them. A function of a
/// group with one program alone is new, or was removed: it stays what it is.
pub fn together(profile: &Profile, one_sided: Vec<(u32, usize)>) -> Vec<UnmatchedFunctions> {
    let mut found = Vec::new();
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
        found.extend(groups.map(|(place, of_arms)| UnmatchedFunctions { place, of_arms }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::breakdown::fixture::made_up;
    use crate::profile::saved::{FunctionOrigin, ProfiledFunction};

    /// Functions with their source, file, and the arm that has them.
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
