//! A capability that this machine lacks.

/// A capability that this machine lacks. It is data, not an error: Stillwell shows it and saves it with the result.
/// The three parts are pieces of one sentence, "what: why; fix".
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Gap {
    /// The missing capability.
    pub what: String,
    /// The reason.
    pub why: String,
    /// The remedy for the user.
    pub fix: String,
}
