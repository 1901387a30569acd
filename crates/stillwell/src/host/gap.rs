//! What this machine lacks.

/// A capability this machine does not have. Data, not an error: it is shown and saved with the result. The three
/// parts are pieces of one sentence, "what: why; fix".
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Gap {
    /// What cannot be had.
    pub what: String,
    /// Why.
    pub why: String,
    /// What the user could do about it.
    pub fix: String,
}
