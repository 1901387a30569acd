//! Names on the command line: a list, and a pattern in which `*` stands for any text.

use std::convert::Infallible;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

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
}

impl FromStr for NamePattern {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.into()))
    }
}

/// Names, separated by commas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameList(pub Vec<String>);

impl FromStr for NameList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let names: Vec<String> = names.map(str::to_owned).collect();
        if names.is_empty() { Err("no name is given".into()) } else { Ok(Self(names)) }
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
