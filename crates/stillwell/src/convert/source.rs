//! The input of every reader: files with their paths, and the options that apply to them.

use crate::plan::defaults::CRITERION_SIDE;
use crate::values::TimeUnit;

/// The part of a file to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The values, and the metadata that all launches of a benchmark share.
    Values,
    /// Also the metadata of every launch, and all counters.
    #[default]
    Everything,
}

/// A file in memory.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile<'a> {
    /// A file of criterion has its path from the directory that the user named.
    pub path: &'a str,
    pub bytes: &'a [u8],
}

impl<'a> SourceFile<'a> {
    /// The last part of the path. It is the name of a benchmark without a name of its own.
    pub(super) fn name(&self) -> &'a str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }
}

/// Options of all readers.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions<'a> {
    pub detail: Detail,
    /// Unit of times, for formats that do not state one.
    pub unit: TimeUnit,
    /// Name of criterion's saved sample: `new`, `base` or a baseline.
    pub side: &'a str,
}

impl Default for ReadOptions<'_> {
    fn default() -> Self {
        Self { detail: Detail::Everything, unit: TimeUnit::S, side: CRITERION_SIDE }
    }
}
