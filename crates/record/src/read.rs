//! Reads a whole record, or the lines added since the last call.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use crate::origin::Origin;
use crate::{EndReason, Event, FORMAT, Header, Layout, Row, Rows, START, VERSION};
use host::open_regular;
use model::words::json_error;

#[derive(Debug)]
pub struct Record {
    pub path: PathBuf,
    pub header: Header,
    /// Every finished run, warm-ups included.
    pub rows: Rows,
    /// The slices that `rows` was made from, if any (`analysis::launches`).
    pub slices: Option<Rows>,
    /// All other lines, in order.
    pub events: Vec<Event>,
    /// Length of an unfinished last line, which was dropped; 0 without one.
    pub torn_bytes: usize,
    /// The records of a suite's benchmarks, which this record merges.
    pub parts: Vec<Self>,
    /// The suite's benchmarks without a record.
    pub not_begun: Vec<String>,
}

impl Record {
    /// Reads a whole record. Errors: the file cannot be read, is not a record, is of a later version, or has a damaged
    /// line before its end.
    pub fn read(path: &Path) -> Result<Self> {
        Self::follow(path, RecordTail::open(path)?)
    }

    /// Reads a whole record from a stream, with one line at a time in memory. `path` is for messages. Errors: see
    /// [`Record::read`].
    pub fn stream(path: &Path, reader: impl BufRead) -> Result<Self> {
        Self::follow(path, RecordTail::of(path, OnlyForward(reader))?)
    }

    /// Reads a whole record from its bytes. `path` is for messages. Errors: see [`Record::read`].
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        Self::follow(path, RecordTail::of(path, Cursor::new(bytes))?)
    }

    /// Reason for the end of the session; `None` if it was killed.
    pub fn end_reason(&self) -> Option<EndReason> {
        self.events.iter().rev().find_map(|event| match event {
            Event::End { reason } => Some(*reason),
            _ => None,
        })
    }

    /// The launcher's peak resident set, KiB; `None` without a launcher, or if the session was killed.
    pub fn launcher_peak_kib(&self) -> Option<u64> {
        self.events.iter().find_map(|event| match event {
            Event::Launcher { maxrss_floor_kib, .. } => Some(*maxrss_floor_kib),
            _ => None,
        })
    }

    fn follow<R: BufRead + Seek>(
        path: &Path,
        (mut tail, header): (RecordTail<R>, Header),
    ) -> Result<Self> {
        let mut rows = Rows::of(header.plan.policy.compared());
        let mut events = Vec::new();
        let n_arms = header.plan.arms.len();
        let (mut next_step, mut has_ended) = (0, false);
        let torn_bytes = tail.follow(|line| {
            ensure!(!has_ended, "there is something after the end of the session");
            match line {
                RecordLine::Row(mut row) => {
                    row.is_rejected = header.plan.rejects(row.arm, row.shell_exit(), row.value);
                    row.know_stall();
                    ensure!(row.step >= next_step, "step {} is out of order", row.step);
                    next_step = row.step.saturating_add(1);
                    ensure!((row.arm as usize) < n_arms, "arm {} of {n_arms}", row.arm);
                    rows.push(&row);
                }
                RecordLine::Event(Event::Unknown) => {}
                RecordLine::Event(event) => {
                    has_ended = matches!(event, Event::End { .. });
                    if let Event::Failure { step, .. } = &event {
                        rows.reject(*step);
                    }
                    events.push(event);
                }
            }
            Ok(())
        })?;
        Ok(Self {
            path: path.into(),
            header,
            rows,
            slices: None,
            events,
            torn_bytes,
            parts: Vec::new(),
            not_begun: Vec::new(),
        })
    }
}

/// A reader that cannot go back. An unfinished last line of a record that does not grow is read once.
struct OnlyForward<R>(R);

impl<R: BufRead> Read for OnlyForward<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<R: BufRead> BufRead for OnlyForward<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, n_bytes: usize) {
        self.0.consume(n_bytes);
    }
}

impl<R> Seek for OnlyForward<R> {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Ok(0)
    }
}

/// One line after the header.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, on the stack; a box would be made for every row"
)]
pub enum RecordLine {
    Row(Row),
    /// Any other line.
    Event(Event),
}

/// Follows a record while it grows: a reader that remembers its place in the file.
#[derive(Debug)]
pub struct RecordTail<R = BufReader<File>> {
    reader: R,
    path: PathBuf,
    layout: Layout,
    line_number: usize,
    line: Vec<u8>,
}

impl RecordTail {
    /// Opens a record and reads its header. Errors: see [`Record::read`].
    pub fn open(path: &Path) -> Result<(Self, Header)> {
        let file = open_regular(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::of(path, BufReader::with_capacity(1 << 16, file))
    }
}

impl<R: BufRead + Seek> RecordTail<R> {
    fn of(path: &Path, mut reader: R) -> Result<(Self, Header)> {
        let shown = path.display();
        let header = read_header(&mut reader).with_context(|| format!("{shown}"))?;
        let layout = Layout::from_names(&header.columns)
            .map_err(anyhow::Error::msg)
            .with_context(|| format!("{shown}, line 1, columns"))?;
        Ok((Self { reader, path: path.into(), layout, line_number: 1, line: Vec::new() }, header))
    }

    /// Passes on every whole line that was added. Returns the bytes of an unfinished line at the end; the next call
    /// reads them again. Errors: a line is damaged, or `each` refuses it; the message has the file and the line number.
    pub fn follow(&mut self, mut each: impl FnMut(RecordLine) -> Result<()>) -> Result<usize> {
        loop {
            self.line.clear();
            let n_bytes = read_line(&mut self.reader, &mut self.line);
            let n_bytes =
                n_bytes.with_context(|| format!("cannot read {}", self.path.display()))?;
            ensure!(
                n_bytes <= LINE_BYTES_MAX,
                "{}, line {}: {TOO_LONG}",
                self.path.display(),
                self.line_number + 1
            );
            if !self.line.ends_with(b"\n") {
                let back = -i64::try_from(n_bytes).context("a line of more than 2^63 bytes")?;
                self.reader.seek(SeekFrom::Current(back)).context("cannot seek in the record")?;
                return Ok(n_bytes);
            }
            self.line_number += 1;
            self.refuse_second_session()?;
            parse_line(&self.line, &self.layout)
                .and_then(&mut each)
                .with_context(|| format!("{}, line {}", self.path.display(), self.line_number))?;
        }
    }

    /// Refuses a header inside the file: two records were concatenated.
    fn refuse_second_session(&self) -> Result<()> {
        let (file, number) = (self.path.display(), self.line_number);
        ensure!(
            !self.line.starts_with(START.as_bytes()),
            "{file}, line {number}: a second session begins here; split the file: \
             head -n {} {file} > 1.swell; tail -n +{number} {file} > 2.swell",
            number - 1
        );
        Ok(())
    }
}

fn parse_line(line: &[u8], layout: &Layout) -> Result<RecordLine> {
    if line.starts_with(b"[") {
        return Ok(RecordLine::Row(layout.decode(line).map_err(anyhow::Error::msg)?));
    }
    let event = serde_json::from_slice(line);
    Ok(RecordLine::Event(
        event.map_err(|error| anyhow!("neither a row nor an event: {}", json_error(&error)))?,
    ))
}

/// The longest line, bytes. A header with 10 000 arms and long command lines is far shorter; a file with a hole in it
/// may seem to have a line of any length.
const LINE_BYTES_MAX: usize = 64 << 20;
const TOO_LONG: &str = "it is longer than 64 MiB, and no line of a record is";

/// Reads a line, or one byte more than the longest line. Returns the number of bytes.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    Read::take(reader, LINE_BYTES_MAX as u64 + 1).read_until(b'\n', line)
}

fn read_header(reader: &mut impl BufRead) -> Result<Header> {
    let mut line = Vec::new();
    // Stops early if this is no record.
    if reader.fill_buf()?.first().is_none_or(|&first| first == b'{') {
        read_line(reader, &mut line)?;
        ensure!(line.len() <= LINE_BYTES_MAX, "line 1: {TOO_LONG}");
        ensure!(!line.is_empty(), "the file is empty, not a Stillwell record");
    }
    let is_ours = line.starts_with(START.as_bytes());
    ensure!(!is_ours || line.ends_with(b"\n"), "the header is cut off; no run had finished");
    let Ok(origin) = serde_json::from_slice::<Origin>(&line) else {
        bail!(
            "not a Stillwell record: its first line is not a header with \"format\":\"{FORMAT}\"; \
             records are the *.swell files that `stillwell run` writes"
        );
    };
    ensure!(origin.format == FORMAT, "format {:?} is not {FORMAT:?}", origin.format);
    origin.check_version(VERSION)?;
    let header: Header = serde_json::from_slice(&line)
        .map_err(|error| origin.blamed(&format!("line 1, {}", json_error(&error))))?;
    let plan = &header.plan;
    ensure!(!plan.arms.is_empty(), "line 1: the plan has no command");
    let places = [Some(plan.reference), plan.control.map(|control| control.arm)];
    let missing = places.into_iter().flatten().find(|&arm| arm >= plan.arms.len());
    let shown = missing.unwrap_or_default();
    ensure!(missing.is_none(), "line 1: there is no arm {shown} among {}", plan.arms.len());
    Ok(header)
}
