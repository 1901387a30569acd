//! How much a summary says.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The answer, and what the reader should do.
    Brief,
    /// Also the statistics behind it, and every note.
    Verbose,
}

impl Depth {
    pub fn of(is_verbose: bool) -> Self {
        if is_verbose { Self::Verbose } else { Self::Brief }
    }
}
