//! A kernel parameter and its present state.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BootParameter {
    /// Text on the command line.
    pub text: String,
    /// The noise that the parameter removes.
    pub what: &'static str,
    pub cost: &'static str,
    pub now: BootState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BootState {
    Set,
    /// Another parameter has the same effect.
    Implied {
        by: String,
    },
    Different {
        value: String,
    },
    Missing,
    /// This kernel is built without the parameter and ignores it.
    Unsupported,
}
