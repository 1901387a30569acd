//! Files of other programs → [`Results`]. A format is a file beside this one, a variant here and a line in its table.

use std::borrow::Cow;
use std::io::Read as _;

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum as _;

use crate::convert::{
    asv, benchmark_tools, codspeed, criterion, go, google, hyperfine, hyperfine_csv, jmh,
    nanobench, pyperf, pytest, times,
};
use crate::results::Results;
use crate::values::{FileFormat, TimeUnit};

/// How much of a file is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Values, and what belongs to all launches of a benchmark.
    Values,
    /// The metadata of every launch and all counters as well.
    #[default]
    Everything,
}

/// A file as it is on the disk.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// For criterion, from the directory that was given.
    pub path: &'a str,
    pub bytes: &'a [u8],
}

/// What a reader is told beside the files.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    pub detail: Detail,
    /// Unit of times, if the format does not say.
    pub unit: TimeUnit,
    /// Which of criterion's saved samples: `new`, `base` or the name of a baseline.
    pub side: &'a str,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { detail: Detail::Everything, unit: TimeUnit::S, side: criterion::NEW }
    }
}

/// The first file is read; the others are what [`FileFormat::wants_beside`] asked for.
type Reader = fn(&[File<'_>], Options<'_>) -> Result<Results>;

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

    /// For messages.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// As `--format` names it.
    pub fn key(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(|| self.name().into(), |value| value.get_name().to_owned())
    }

    /// Other files that say more of this one, from the directory that it is in; they need not be there.
    pub fn wants_beside(self) -> &'static [&'static str] {
        match self {
            Self::Asv => &["benchmarks.json", "../benchmarks.json"],
            _ => &[],
        }
    }

    /// Reads a file, decompressed if it must be.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(self, files: &[File<'_>], options: Options<'_>) -> Result<Results> {
        let unpacked: Vec<Cow<'_, [u8]>> =
            files.iter().map(|file| unpacked(file.bytes)).collect::<Result<_>>()?;
        let files: Vec<File<'_>> = files
            .iter()
            .zip(&unpacked)
            .map(|(file, bytes)| File { path: file.path, bytes })
            .collect();
        ensure!(!files.is_empty(), "there is no file");
        let results = self.entry().1(&files, options).and_then(Results::checked);
        results.with_context(|| format!("as {}", self.name()))
    }
}

/// How a gzip file begins (RFC 1952, 2.3.1).
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];
/// A small file can unpack to any size; more than this is not a benchmark's.
const UNPACKED_BYTES_MAX: u64 = 1 << 31;

/// What is in a gzip file, or the bytes themselves. The name plays no part.
///
/// # Errors
/// It is damaged, or unpacks to more than 2 GiB.
pub fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(&GZIP) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut out = Vec::new();
    let gzip = flate2::bufread::MultiGzDecoder::new(bytes);
    gzip.take(UNPACKED_BYTES_MAX + 1).read_to_end(&mut out).context("cannot unpack gzip")?;
    ensure!(out.len() as u64 <= UNPACKED_BYTES_MAX, "it unpacks to more than 2 GiB");
    Ok(Cow::Owned(out))
}

/// Last part of a path, for series that have no name of their own.
pub(super) fn file_name<'a>(file: &File<'a>) -> &'a str {
    file.path.rsplit('/').next().unwrap_or(file.path)
}
