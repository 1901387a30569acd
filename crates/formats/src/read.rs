//! Entry points of this crate: a path, a stream, or bytes in memory.
#![expect(clippy::disallowed_methods, reason = "opens the files that the caller names")]

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use crate::detect::{detect, is_document};
use crate::directory;
use crate::line_reader::LineReader;
use crate::readers::Reader;
use crate::source::TextFile;
use crate::text::decoding;
use crate::{FileFormat, ReadOptions, Results, SourceFile};

/// Bytes at the start of a text that tell its format.
const START_BYTES: u64 = 1 << 20;
/// Longest line of a result. A longer one is skipped and noted.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Reads a file, or a directory of criterion or asv. Errors: the path cannot be read, its format is unknown, or no
/// benchmark in it can be read.
pub fn read(path: &Path, options: ReadOptions<'_>) -> Result<Results> {
    if path.is_dir() {
        return match directory::read_criterion(path, options)? {
            Some(results) => Ok(results),
            None => read(&directory::asv_result(path, options)?, options),
        };
    }
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    read_from(file, path, options).with_context(|| path.display().to_string())
}

/// Reads a stream. `path` names a benchmark without a name, and its directory may hold more files. Errors: see
/// [`read`].
pub fn read_from(from: impl Read, path: &Path, options: ReadOptions<'_>) -> Result<Results> {
    let mut from = decoding(from)?;
    let mut start = Vec::new();
    from.by_ref().take(START_BYTES).read_to_end(&mut start)?;
    let is_whole = (start.len() as u64) < START_BYTES;
    let name = path.display().to_string();
    if !is_document(&start) && !is_whole {
        let format = options.format.map_or_else(|| detect(&start), Ok)?;
        if let Reader::Lines(reader) = format.reader() {
            return lines(format, start.chain(from), reader(&name, options));
        }
    }
    // The telling keys of a document may come only near its end.
    read_document(&mut from, &mut start)?;
    let format = options.format.map_or_else(|| detect(&start), Ok)?;
    ensure!(
        format != FileFormat::Criterion,
        "--format criterion is for directories; name the directory target/criterion"
    );
    let beside: Vec<(String, Vec<u8>)> = format
        .wants_beside()
        .iter()
        .filter_map(|other| {
            let path = path.parent()?.join(other);
            // A FIFO would wait for its other end.
            let file = path.is_file().then(|| File::open(&path).ok())??;
            let mut bytes = Vec::new();
            read_document(decoding(file).ok()?, &mut bytes).ok()?;
            Some((path.display().to_string(), bytes))
        })
        .collect();
    let mut files = vec![SourceFile { path: &name, bytes: &start }];
    files.extend(beside.iter().map(|(path, bytes)| SourceFile { path, bytes }));
    format.read(&files, options)
}

/// Most bytes of a document to read at once.
const PART_BYTES: u64 = 1 << 20;

/// Reads the rest of a document, up to a NUL: no document has one, and the hole of a sparse file has them without end.
fn read_document(mut from: impl Read, bytes: &mut Vec<u8>) -> Result<()> {
    loop {
        let n_before = bytes.len();
        if from.by_ref().take(PART_BYTES).read_to_end(bytes)? == 0 {
            return Ok(());
        }
        if let Some(at) = bytes[n_before..].iter().position(|&byte| byte == 0) {
            bail!("byte {} is 0, so it is no text; the file may be damaged", n_before + at + 1);
        }
    }
}

/// Reads a file in memory. Errors: see [`read`].
pub fn read_bytes(name: &str, bytes: &[u8], options: ReadOptions<'_>) -> Result<Results> {
    read_from(bytes, Path::new(name), options)
}

impl FileFormat {
    /// Reads files of this format: one and the files beside it, or a directory of criterion. Errors: no benchmark can
    /// be read; the message has the place.
    pub fn read(self, files: &[SourceFile<'_>], options: ReadOptions<'_>) -> Result<Results> {
        let Some(first) = files.first() else { bail!("there is no file") };
        let reader = match self.reader() {
            Reader::Lines(reader) => {
                return lines(self, decoding(first.bytes)?, reader(first.path, options));
            }
            Reader::Document(reader) => reader,
        };
        let mut decoded = Vec::with_capacity(files.len());
        for file in files {
            let mut bytes = Vec::new();
            decoding(file.bytes)?.read_to_end(&mut bytes)?;
            decoded.push(Decoded::of(file.path, bytes));
        }
        let texts: Vec<TextFile<'_>> =
            decoded.iter().map(|file| TextFile { path: file.path, text: &file.text }).collect();
        self.in_context(reader(&texts, options).and_then(|mut results| {
            results.format = Some(self);
            decoded.iter().filter_map(|file| file.note.as_deref()).for_each(|it| results.note(it));
            results.checked()
        }))
    }
}

struct Decoded<'a> {
    path: &'a str,
    text: String,
    note: Option<String>,
}

impl<'a> Decoded<'a> {
    fn of(path: &'a str, bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self { path, text, note: None },
            Err(error) => {
                let n_before = error.utf8_error().valid_up_to();
                let bytes = error.into_bytes();
                let n_lines = bytes[..n_before].iter().filter(|&&byte| byte == b'\n').count();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                Self { path, text, note: Some(not_text(n_lines + 1)) }
            }
        }
    }
}

fn not_text(line: usize) -> String {
    format!("from line {line} on, there are bytes that are not UTF-8; they are read as \u{fffd}")
}

fn lines(
    format: FileFormat,
    mut from: impl BufRead,
    mut reader: Box<dyn LineReader>,
) -> Result<Results> {
    let (mut bytes, mut number, mut note) = (Vec::new(), 0, None);
    let mut is_ended = true;
    loop {
        bytes.clear();
        let n_read = from.by_ref().take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut bytes)?;
        if n_read == 0 {
            break;
        }
        number += 1;
        if bytes.len() > LINE_BYTES_MAX {
            reader.unread(number, format!("it is longer than {LINE_BYTES_MAX} bytes"));
            skip_line(&mut from)?;
            continue;
        }
        is_ended = bytes.ends_with(b"\n");
        let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        if matches!(line, Cow::Owned(_)) && note.is_none() {
            note = Some(not_text(number));
        }
        reader.line(number, &line);
    }
    let mut results = reader.finish();
    results.format = Some(format);
    note.into_iter().for_each(|note| results.note(note));
    if !is_ended {
        results.note("the last line has no end: the file may be cut");
    }
    format.in_context(results.checked())
}

fn skip_line(from: &mut impl BufRead) -> Result<()> {
    loop {
        let bytes = from.fill_buf()?;
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let n_skipped = end.map_or(bytes.len(), |at| at + 1);
        let is_end = bytes.is_empty() || end.is_some();
        from.consume(n_skipped);
        if is_end {
            return Ok(());
        }
    }
}
