//! Appends to a record without buffering: a line is in the file when `append` returns, even if the process is killed.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::fs::OFlags;

use crate::{Event, Header};
use host::user_files::{create_new, in_the_way, open_to_write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// The owner alone: command lines and environments may contain secrets.
    Owner,
    /// Everyone that the umask allows.
    Umask,
}

impl Readers {
    /// The readers for the option `--shared`.
    pub fn of(is_shared: bool) -> Self {
        if is_shared { Self::Umask } else { Self::Owner }
    }

    /// The mode of a new file, before the umask.
    pub fn file_mode(self) -> u32 {
        if self == Self::Owner { 0o600 } else { 0o666 }
    }

    /// The mode of a new directory, before the umask.
    pub fn directory_mode(self) -> u32 {
        if self == Self::Owner { 0o700 } else { 0o777 }
    }
}

/// The number of bytes to keep when a session resumes: all but an unfinished line and the end line of the interrupted
/// session.
pub fn kept_len(bytes: &[u8]) -> usize {
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let before = bytes[..whole.saturating_sub(1)].iter().rposition(|&byte| byte == b'\n');
    let last_at = before.map_or(0, |at| at + 1);
    let last: Option<Event> = serde_json::from_slice(&bytes[last_at..whole]).ok();
    let is_end = matches!(last, Some(Event::End { reason }) if !reason.is_final());
    if is_end { last_at } else { whole }
}

/// An open record. The launcher (rows) and the front end (events) may both hold one, because each writes only while the
/// other waits.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
}

impl Writer {
    /// Creates the file and writes the header. Errors: the file exists, or cannot be written.
    pub fn create(path: &Path, header: &Header, readers: Readers) -> Result<Self> {
        let shown = path.display();
        let file = match create_new(path, OFlags::APPEND, readers.file_mode()) {
            // A directory has no name to make: `.`.
            Err(error)
                if error.kind() == std::io::ErrorKind::AlreadyExists
                    || path.file_name().is_none() =>
            {
                bail!("the record {shown} {}", in_the_way(path))
            }
            file => file.with_context(|| format!("cannot create the record {shown}"))?,
        };
        let mut writer = Self { file, path: path.into() };
        let mut line = serde_json::to_vec(header).context("cannot serialise the header")?;
        line.push(b'\n');
        if let Err(error) = writer.append(&line) {
            // A record without a header is useless.
            rustix::fs::unlink(path).ok();
            return Err(error);
        }
        Ok(writer)
    }

    /// Opens an existing record to append. A link in place of the file is not followed.
    pub fn open(path: &Path) -> Result<Self> {
        let file = open_to_write(path, OFlags::APPEND, 0)
            .with_context(|| format!("cannot open the record {}", path.display()))?;
        Ok(Self { file, path: path.into() })
    }

    /// Opens the record of an interrupted session to continue it. Removes an unfinished line and the end line.
    pub fn go_on(path: &Path) -> Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "this is where records are read")]
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let writer = Self::open(path)?;
        writer
            .file
            .set_len(kept_len(&bytes) as u64)
            .with_context(|| format!("cannot cut {}", path.display()))?;
        Ok(writer)
    }

    /// Appends whole lines: all or none are in the file afterwards. Errors: the disk is full, or the file cannot be
    /// written for another reason.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        debug_assert!(lines.ends_with(b"\n"));
        let mut n_written = 0;
        // A short write means that no space is left. The next write returns the exact error.
        while n_written < lines.len() {
            match self.file.write(&lines[n_written..]) {
                Ok(n_bytes) => n_written += n_bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.cut_tail(n_written as u64).ok();
                    let shown = self.path.display();
                    return Err(error)
                        .with_context(|| format!("cannot append to the record {shown}"));
                }
            }
        }
        Ok(())
    }

    /// Appends an event line. Errors: see [`Writer::append`].
    pub fn append_event(&mut self, event: &Event) -> Result<()> {
        let mut line = serde_json::to_vec(event).context("cannot serialise an event")?;
        line.push(b'\n');
        self.append(&line)
    }

    fn cut_tail(&mut self, bytes: u64) -> Result<()> {
        let len = self.file.metadata()?.len();
        ensure!(bytes <= len, "the record is shorter than what was just written");
        Ok(self.file.set_len(len - bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_and_the_end_of_an_interrupted_session_are_cut() {
        let line = |event: &Event| [serde_json::to_vec(event).unwrap(), b"\n".to_vec()].concat();
        let row = b"[0,1]\n".to_vec();
        let end = |reason| line(&Event::End { reason });
        assert_eq!(kept_len(&[&row[..], b"[0,"].concat()), row.len());
        let interrupted = end(crate::EndReason::Interrupted);
        assert_eq!(kept_len(&[&row[..], &interrupted].concat()), row.len());
        let complete = [&row[..], &end(crate::EndReason::Complete)].concat();
        assert_eq!(kept_len(&complete), complete.len());
        assert_eq!(kept_len(b""), 0);
    }
}
