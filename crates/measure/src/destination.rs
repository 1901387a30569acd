//! The record that the launcher writes rows to.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::Result;

use crate::wire::{BatchStop, RowDestination};
use model::words::in_words;
use record::{Layout, Row, Writer};

pub struct Destination {
    writer: Writer,
    layout: Layout,
    pub clock_origin_ns: u64,
    line: Vec<u8>,
}

impl Destination {
    /// Opens the record that the front end has created. Errors: it cannot be opened, or a column is unknown.
    pub fn open(keep: &RowDestination) -> Result<Self> {
        Ok(Self {
            writer: Writer::open(Path::new(OsStr::from_bytes(&keep.record)))?,
            layout: Layout::from_names(&keep.columns).map_err(anyhow::Error::msg)?,
            clock_origin_ns: keep.clock_origin_ns,
            line: Vec::new(),
        })
    }

    /// Appends a row. Errors: the row could not be written whole; the front end keeps the line then.
    pub fn append(&mut self, row: &Row) -> Result<(), BatchStop> {
        self.line.clear();
        self.layout.encode(row, &mut self.line);
        self.writer.append(&self.line).map_err(|error| BatchStop::Record {
            error: in_words(&error),
            line: std::mem::take(&mut self.line),
        })
    }
}
