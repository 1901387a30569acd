//! A list of names on the command line.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

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
