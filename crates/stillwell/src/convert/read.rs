//! Files of other programs → [`Results`]. A format is a file beside this one, a variant here and a line in its table.

use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum as _;

use crate::convert::source::{ReadOptions, SourceFile};
use crate::convert::{
    asv, benchmark_tools, codspeed, criterion, go, google, hyperfine, hyperfine_csv, jmh,
    nanobench, pyperf, pytest, times,
};
use crate::results::Results;
use crate::values::FileFormat;

/// Reads the first file; the others are those that [`FileFormat::wants_beside`] asked for.
type Reader = fn(&[SourceFile<'_>], ReadOptions<'_>) -> Result<Results>;

impl FileFormat {
    const fn entry(self) -> (&'static str, Reader) {
        match self {
            Self::Pyperf => ("pyperf", pyperf::read),
            Self::Hyperfine => ("hyperfine JSON", hyperfine::read),
            Self::HyperfineCsv => ("hyperfine CSV", hyperfine_csv::read),
            Self::GoogleBenchmark => ("Google Benchmark JSON", google::read),
            Self::Criterion => ("criterion directory", criterion::read),
            Self::Go => ("go test -bench", go::read),
            Self::Jmh => ("JMH JSON", jmh::read),
            Self::Pytest => ("pytest-benchmark JSON", pytest::read),
            Self::Asv => ("asv results", asv::read),
            Self::Nanobench => ("nanobench JSON", nanobench::read),
            Self::BenchmarkTools => ("BenchmarkTools.jl JSON", benchmark_tools::read),
            Self::Codspeed => ("CodSpeed wall times", codspeed::read),
            Self::Times => ("lines of TIME<TAB>COMMAND", times::read_results),
        }
    }

    /// Name in messages.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// Name in `--format`.
    pub fn key(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(|| self.name().into(), |value| value.get_name().to_owned())
    }

    /// Other files with more data on this one, as paths from its directory; they need not exist.
    pub fn wants_beside(self) -> &'static [&'static str] {
        match self {
            Self::Asv => &["benchmarks.json", "../benchmarks.json"],
            _ => &[],
        }
    }

    /// Reads a file, and decompresses it first if necessary.
    ///
    /// # Errors
    /// The file does not match the format; the message has the place.
    pub fn read(self, files: &[SourceFile<'_>], options: ReadOptions<'_>) -> Result<Results> {
        let unpacked: Vec<Cow<'_, [u8]>> =
            files.iter().map(|file| unpacked(file.bytes)).collect::<Result<_>>()?;
        let files: Vec<SourceFile<'_>> = files
            .iter()
            .zip(&unpacked)
            .map(|(file, bytes)| SourceFile { path: file.path, bytes })
            .collect();
        ensure!(!files.is_empty(), "there is no file");
        let results = self.entry().1(&files, options).and_then(Results::checked);
        results.with_context(|| format!("as {}", self.name()))
    }
}

/// The first bytes of a gzip file (RFC 1952, 2.3.1).
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The most bytes after decompression; a small file can unpack to any size. Set once, before any file is read: it is a
/// property of the machine, and every reader has to keep to it.
static UNPACKED_BYTES_MAX: AtomicU64 = AtomicU64::new(1 << 31);

/// Sets the most bytes that a file may unpack to.
pub fn limit_unpacked(bytes: u64) {
    UNPACKED_BYTES_MAX.store(bytes, Ordering::Relaxed);
}

/// The content of a gzip file, or the bytes themselves. The name of the file has no effect.
///
/// # Errors
/// The file is damaged, or unpacks to more than [`limit_unpacked`] allows.
pub fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    let Some(mut unpacking) = unpacking(bytes) else { return Ok(Cow::Borrowed(bytes)) };
    let mut out = Vec::new();
    unpacking.read_to_end(&mut out)?;
    Ok(Cow::Owned(out))
}

/// A gzip file as a stream of its content; `None` if the bytes are no gzip file.
pub fn unpacking(bytes: &[u8]) -> Option<Unpacking<'_>> {
    bytes.starts_with(&GZIP).then(|| Unpacking {
        gzip: flate2::bufread::MultiGzDecoder::new(bytes),
        n_bytes: 0,
        max: UNPACKED_BYTES_MAX.load(Ordering::Relaxed),
    })
}

/// The content of a gzip file, which ends with an error after as many bytes as [`limit_unpacked`] allows.
#[derive(Debug)]
pub struct Unpacking<'a> {
    gzip: flate2::bufread::MultiGzDecoder<&'a [u8]>,
    n_bytes: u64,
    max: u64,
}

impl Read for Unpacking<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.gzip.read(buffer);
        let n_read =
            read.map_err(|error| io::Error::other(format!("cannot unpack gzip: {error}")))?;
        self.n_bytes += n_read as u64;
        if self.n_bytes <= self.max {
            return Ok(n_read);
        }
        let max = self.max;
        let shown =
            if max >> 20 > 0 { format!("{} MiB", max >> 20) } else { format!("{max} bytes") };
        Err(io::Error::other(format!(
            "it unpacks to more than {shown}, which may need more memory than there is; \
             --max-unpacked 4G allows 4 GiB"
        )))
    }
}
