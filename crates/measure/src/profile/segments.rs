//! Where the parts of an ELF file are loaded.

use object::{Object, ObjectSegment as _};

#[derive(Debug, Default)]
pub struct LoadedSegments(Vec<LoadedSegment>);

/// Offset and size in the file, and the linked address.
#[derive(Clone, Copy, Debug)]
struct LoadedSegment {
    offset: u64,
    size: u64,
    address: u64,
}

impl LoadedSegments {
    pub fn of<'data>(file: &impl Object<'data>) -> Self {
        let all = file.segments().map(|it| {
            let (offset, size) = it.file_range();
            LoadedSegment { offset, size, address: it.address() }
        });
        Self(all.collect())
    }

    /// The address that an offset of the file is linked to.
    pub fn address(&self, offset: u64) -> Option<u64> {
        let is_here = |it: &&LoadedSegment| offset.wrapping_sub(it.offset) < it.size;
        let segment = self.0.iter().find(is_here)?;
        Some(segment.address + (offset - segment.offset))
    }

    /// The offset in the file of an address.
    #[cfg(test)]
    pub fn offset(&self, address: u64) -> Option<u64> {
        let is_here = |it: &&LoadedSegment| address.wrapping_sub(it.address) < it.size;
        let segment = self.0.iter().find(is_here)?;
        Some(segment.offset + (address - segment.address))
    }
}
