//! Checks of parsers, for tests.

use std::fmt::Debug;
use std::str::FromStr;

/// Checks that each text parses to this value, or is refused (`None`).
#[track_caller]
pub fn check<T: FromStr<Err = String> + Debug + PartialEq>(cases: &[(&str, Option<T>)]) {
    for (text, expected) in cases {
        assert_eq!(text.parse().ok().as_ref(), expected.as_ref(), "{text:?}");
    }
}
