//! The input of every reader: files with their paths, and the options that apply to them.

use crate::{FileFormat, TimeUnit};

/// The part of a file to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The values, and the metadata that all launches of a benchmark share.
    Values,
    /// Also the metadata of every launch, and all counters.
    #[default]
    Everything,
}

/// A file in memory, as on the disk.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile<'a> {
    /// Path of the file; in criterion, from the directory that the user named.
    pub path: &'a str,
    pub bytes: &'a [u8],
}

/// A file in memory, unpacked and decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextFile<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> TextFile<'a> {
    /// The last part of the path, which names a benchmark without a name.
    pub(crate) fn name(&self) -> &'a str {
        file_name(self.path)
    }
}

pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The side of a criterion directory that is read by default.
pub const CRITERION_SIDE: &str = "new";

/// Options of all readers.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions<'a> {
    /// `None`: detected from the content.
    pub format: Option<FileFormat>,
    pub detail: Detail,
    /// Unit of times, for formats that do not state one.
    pub unit: TimeUnit,
    /// Most values to keep of a file that is read line by line; `None`: all. A note says what is left out.
    pub values_max: Option<usize>,
    /// Name of criterion's saved sample: `new`, `base` or a baseline.
    pub side: &'a str,
}

impl Default for ReadOptions<'_> {
    fn default() -> Self {
        Self {
            format: None,
            detail: Detail::Everything,
            unit: TimeUnit::S,
            values_max: None,
            side: CRITERION_SIDE,
        }
    }
}
