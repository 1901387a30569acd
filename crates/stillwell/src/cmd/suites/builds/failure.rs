//! The failure of a commit, as opposed to one of git or of the machine.

/// The error of a commit that cannot be built. Other errors are none of the commit.
#[derive(Debug)]
pub struct BuildFailure(String);

impl BuildFailure {
    /// A commit that cannot be built for this reason.
    pub fn new(why: String) -> Self {
        Self(why)
    }
}

impl std::fmt::Display for BuildFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildFailure {}
