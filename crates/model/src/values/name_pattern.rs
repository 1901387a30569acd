//! A pattern for names: a part of the name, in which `*` stands for any text.

use std::convert::Infallible;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern(String);

impl NamePattern {
    pub fn is_in(&self, name: &str) -> bool {
        let mut rest = name;
        self.0.split('*').all(|part| match rest.find(part) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    }

    /// The pattern as written.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl FromStr for NamePattern {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text() {
        let is_in = |pattern: &str, name| pattern.parse::<NamePattern>().unwrap().is_in(name);
        assert!(is_in("sort", "BM_sort/64") && is_in("BM_*/64", "BM_sort/64"));
        assert!(is_in("*", "") && is_in("sort*", "sort"));
        assert!(!is_in("sort", "BM_sum") && !is_in("64*BM", "BM_sort/64"));
        assert!(is_in("é*é", "été é") && !is_in("ab*bc", "abc"), "no letter counts twice");
    }
}
