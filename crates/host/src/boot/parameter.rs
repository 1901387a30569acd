//! A kernel parameter and its present state.

use serde::Serialize;

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BootParameter {
    /// Its text on the command line.
    pub text: String,
    /// The noise that it removes.
    pub what: &'static str,
    /// Its cost.
    pub cost: &'static str,
    /// Its present state.
    pub now: BootState,
}

/// State of a parameter on the running kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BootState {
    /// It has the recommended value.
    Set,
    /// Another parameter has the same effect.
    Implied { by: String },
    /// It has another value.
    Different { value: String },
    /// It is not set.
    Missing,
    /// This kernel is built without it and ignores it.
    Unsupported,
}
