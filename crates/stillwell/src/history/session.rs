//! Files of one session. A record grows: a suite that was interrupted can be added, gone on with and added again, and that is one
//! result, not two. Pure.

use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::{Digest as _, Sha256};

use crate::convert::read::unpacked;
use crate::record::{self, START};

/// A state of a session, beside another one of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateOrder {
    /// It has all of the other, and more.
    Later,
    /// The other has all of it.
    NoLater,
    /// Each has what the other has not: copies of a directory that were both gone on with.
    Parted,
}

/// A session's own record: compressed or not, as it was added.
#[derive(Debug)]
pub struct SessionKey<'a> {
    text: std::borrow::Cow<'a, [u8]>,
    header_len: usize,
}

impl<'a> SessionKey<'a> {
    /// `None` of another program's file, and of a record that was converted from one: these are whole.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Probe {
            imported: Option<IgnoredAny>,
        }
        let text = unpacked(bytes).ok()?;
        if !text.starts_with(START.as_bytes()) {
            return None;
        }
        let header_len = text.iter().position(|&byte| byte == b'\n')? + 1;
        let probe: Probe = serde_json::from_slice(&text[..header_len]).ok()?;
        probe.imported.is_none().then_some(Self { text, header_len })
    }

    /// No two sessions have the same: the header has the seed, the host and when it started, to the nanosecond, and is written once.
    pub fn id(&self) -> String {
        hex(&Sha256::digest(&self.text[..self.header_len]))
    }

    /// What this is to another record of the same session. A session goes on behind what there is, but for a line that was torn and
    /// the line that says how it was cut short.
    pub fn beside(&self, other: &Self) -> StateOrder {
        let has_all_of = |this: &Self, other: &Self| {
            this.text.starts_with(&other.text[..record::kept_len(&other.text)])
        };
        match (has_all_of(self, other), has_all_of(other, self)) {
            (true, false) => StateOrder::Later,
            (false, true) => StateOrder::NoLater,
            // One that says how it was cut short has a line more.
            (true, true) if self.text.len() > other.text.len() => StateOrder::Later,
            (true, true) => StateOrder::NoLater,
            (false, false) => StateOrder::Parted,
        }
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
