//! Identity of sessions. A user may add the record of an interrupted suite, continue the suite and add the record
//! again. The two files are states of one session and count as one result. Pure.

use formats::unpacked;
use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::{Digest as _, Sha256};

use record::{self, START};

/// Order of two states of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateOrder {
    /// This state contains the other one and more.
    Later,
    /// The other state contains this one.
    NoLater,
    /// Neither state contains the other: the user continued the suite in two copies of a directory.
    Parted,
}

/// Key of a session, from the bytes of its record (plain or compressed).
#[derive(Debug)]
pub struct SessionKey<'a> {
    text: std::borrow::Cow<'a, [u8]>,
    header_len: usize,
}

impl<'a> SessionKey<'a> {
    /// The key. `None` for another program's file and for a converted record: they do not grow.
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

    /// Unique id of the session: the SHA-256 digest of the header, which is written once. It contains the seed, the
    /// host and the start time to the nanosecond.
    pub fn id(&self) -> String {
        hex(&Sha256::digest(&self.text[..self.header_len]))
    }

    /// Order of this record and another one of the same session. A continued session appends to its record, but first
    /// removes a torn line and the line about the interruption.
    pub fn beside(&self, other: &Self) -> StateOrder {
        let has_all_of = |this: &Self, other: &Self| {
            this.text.starts_with(&other.text[..record::kept_len(&other.text)])
        };
        match (has_all_of(self, other), has_all_of(other, self)) {
            (true, false) => StateOrder::Later,
            (false, true) => StateOrder::NoLater,
            // The longer one also has the line about the interruption.
            (true, true) if self.text.len() > other.text.len() => StateOrder::Later,
            (true, true) => StateOrder::NoLater,
            (false, false) => StateOrder::Parted,
        }
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
