//! A kernel parameter and its present state.

use serde::Serialize;

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BootParameter {
    /// Text on the command line.
    pub text: String,
    /// The noise that the parameter removes.
    pub what: &'static str,
    pub cost: &'static str,
    pub now: BootState,
}

/// State of a parameter on the running kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BootState {
    /// The recommended value.
    Set,
    /// Another parameter has the same effect.
    Implied { by: String },
    /// Another value.
    Different { value: String },
    /// It is not set.
    Missing,
    /// This kernel is built without the parameter and ignores it.
    Unsupported,
}
