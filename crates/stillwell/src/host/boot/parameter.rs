//! A parameter of the kernel, and how it is set now.

use serde::Serialize;

/// A parameter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BootParameter {
    /// As it is written on the command line.
    pub text: String,
    /// What it takes away.
    pub what: &'static str,
    /// What it costs.
    pub cost: &'static str,
    /// How it is set now.
    pub now: BootState,
}

/// How a parameter is set on the running kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BootState {
    /// As it should be.
    Set,
    /// Another parameter does the same.
    Implied { by: String },
    /// With this value.
    Different { value: String },
    /// Not at all.
    Missing,
    /// This kernel is built without it and ignores it.
    Unsupported,
}
