//! The file of a history: one line of JSON for each addition, never changed.
//!
//! A writer holds a lock on the file (flock(2), which ends with its process) and appends one line. A writer that is
//! killed, or meets a full disk, leaves at most an unfinished last line. Readers skip it, and the next writer cuts it
//! off.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::history::{BenchmarkResult, RecordOrigin, StoredCulprit};
use host::user_files::{UserDirectory, directory_of};
use model::words::json_error;

const START: &str = "{\"format\":\"stillwell-history\",\"version\":1}\n";
/// The start of the first line of every version.
const START_OF_ANY: &str = "{\"format\":\"stillwell-history\"";
/// The start of a SQLite database (sqlite.org/fileformat.html, section 1.3): the format of older histories.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// Interval and number of attempts to get the lock: 30 s.
const RETRY: Duration = Duration::from_millis(10);
const TRIES: u32 = 3000;

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HistoryLine {
    /// A record, which replaces an earlier one of the same number.
    Record(StoredRecord),
    /// Results that a record lacked, because an earlier `add` took only some of its benchmarks. They also replace results
    /// of the same name: the user gave another revision.
    More { record: i64, results: Vec<BenchmarkResult> },
    /// The commits of one search, which replace the result of earlier searches with the same ends.
    Culprits(Vec<StoredCulprit>),
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StoredRecord {
    /// Counts from 1.
    pub(super) number: i64,
    /// SHA-256 of the uncompressed file.
    pub(super) digest: String,
    /// The session, if it is a record of ours.
    pub(super) session: Option<String>,
    pub(super) origin: std::sync::Arc<RecordOrigin>,
    /// Sorted by name.
    pub(super) results: Vec<BenchmarkResult>,
    /// The file, compressed with gzip, in base64.
    pub(super) packed: String,
}

/// Opens a history to append, or creates an empty file. Errors: its directory does not exist; the file cannot be created
/// or written.
pub(super) fn to_append(path: &Path) -> Result<File> {
    let above = directory_of(path);
    ensure!(above.is_dir(), "there is no directory {}", above.display());
    let (directory, name) = UserDirectory::to_write(path, true)?;
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
    Ok(directory.open_file(&name, flags, 0o644)?)
}

/// The end of the last whole line that was read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LineEnd {
    byte: u64,
    /// Lines up to this end.
    n_lines: usize,
    /// Whether an unfinished line follows.
    pub(super) is_cut: bool,
}

/// Waits until this process is the only writer. The lock ends when the file is closed, or by [`unlock`]. Errors:
/// another process holds the lock for 30 s.
#[expect(clippy::disallowed_methods, reason = "a lock that is waited for has no timeout")]
pub(super) fn lock(file: &File) -> Result<()> {
    for _ in 0..TRIES {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(RETRY),
            done => return Ok(done?),
        }
    }
    bail!("another program is writing to it; try again when that has ended")
}

pub(super) fn unlock(file: &File) {
    // It fails for no open file (flock(2)).
    flock(file, FlockOperation::Unlock).ok();
}

/// The additions after this end, and the end of the last whole line. Errors: the file is no history, of a newer
/// version, or a line is damaged.
pub(super) fn read(file: &File, from: LineEnd) -> Result<(Vec<HistoryLine>, LineEnd)> {
    use std::io::{Seek as _, SeekFrom};
    let (mut file, mut bytes) = (file, Vec::new());
    file.seek(SeekFrom::Start(from.byte))?;
    file.read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    if from.byte == 0 && !bytes.is_empty() && !START.as_bytes().starts_with(&bytes) {
        check_start(&bytes)?;
    }
    let whole = bytes.get(..end).unwrap_or_default();
    let lines: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
    let (byte, n_lines) = (from.byte + end as u64, from.n_lines + lines.len());
    let to = LineEnd { byte, n_lines, is_cut: end < bytes.len() };
    // The first line names the format.
    let numbered = (from.n_lines + 1..).zip(lines).filter(|(number, _)| *number > 1);
    let additions = numbered.map(|(number, line)| {
        serde_json::from_slice(line).map_err(|error| {
            let what = json_error(&error);
            anyhow!("line {number} is damaged; restore a copy, or take the line out: {what}")
        })
    });
    Ok((additions.collect::<Result<_>>()?, to))
}

fn check_start(bytes: &[u8]) -> Result<()> {
    ensure!(
        !bytes.starts_with(SQLITE),
        "it is a SQLite database, which a history was before 0.1; add the records to another file: --db FILE"
    );
    ensure!(
        bytes.starts_with(START_OF_ANY.as_bytes()),
        "it is no history of stillwell; --db FILE names another file"
    );
    // An editor or Git may have written CRLF, which JSON allows.
    let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    ensure!(
        first.trim_ascii_end() == START.trim_end().as_bytes(),
        "it is of a newer stillwell; use that"
    );
    Ok(())
}

/// Appends a line after this end, and returns the new end. The caller holds the lock. A partly written line is removed.
/// Errors: the disk is full, or the file may not be written.
pub(super) fn append(file: &File, end: LineEnd, line: &HistoryLine) -> Result<LineEnd> {
    // Removes what a killed writer left.
    file.set_len(end.byte)?;
    let mut text = if end.byte == 0 { START.as_bytes().to_vec() } else { Vec::new() };
    serde_json::to_writer(&mut text, line)?;
    text.push(b'\n');
    let mut to = file;
    if let Err(error) = to.write_all(&text).and_then(|()| file.sync_data()) {
        file.set_len(end.byte).ok();
        return Err(error.into());
    }
    let n_new = if end.byte == 0 { 2 } else { 1 };
    Ok(LineEnd { byte: end.byte + text.len() as u64, n_lines: end.n_lines + n_new, is_cut: false })
}
