//! The verbs that take options from a variable and a file: those that measure.

use std::ffi::OsString;

/// The id of the option without defaults.
pub(super) const NO_DEFAULTS: &str = "no_defaults";
/// The verbs; of `campaign` it is `campaign new`.
pub(super) const VERBS: [&str; 9] =
    ["bench", "bisect", "calibrate", "campaign", "gate", "race", "run", "timeit", "why"];

/// Whether the words of a command line may get defaults.
pub fn takes_defaults(words: &[OsString]) -> bool {
    let verb = words.get(1).and_then(|verb| verb.to_str()).unwrap_or_default();
    let is_other = verb == "campaign" && words.get(2).is_none_or(|action| action != "new");
    let mut own = words.iter().take_while(|word| *word != "--");
    VERBS.contains(&verb) && !is_other && !own.any(|word| word == "--no-defaults")
}

/// Whether a verb, or its action, takes defaults.
pub(super) fn are_for(name: &str) -> bool {
    name == "campaign new" || (VERBS.contains(&name) && name != "campaign")
}
