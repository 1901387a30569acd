//! The verbs that look at one saved record.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::analysis::{self, histogram::Histogram};
use crate::cli::{DumpFormat, DumpVerb, HistVerb, RecordVerb, ShowVerb};
use crate::cmd::exports;
use crate::record::{self, Record};
use crate::render::{Styles, dump as dump_rows, histogram, json, stats_table, text};
use crate::verdict::{self, Judgement, judge};

/// Bins of the histograms in a summary: one character each.
const SUMMARY_BINS: usize = 48;

impl RecordVerb {
    fn path(&self) -> Result<PathBuf> {
        self.record.clone().map_or_else(record::newest, Ok)
    }

    fn read(&self) -> Result<Record> {
        Record::read(&self.path()?)
    }
}

/// A record with everything that is known from it.
pub struct Judged {
    /// The record.
    pub record: Record,
    /// Its analysis.
    pub analysis: analysis::Analysis,
    /// One for each comparison.
    pub judgements: Vec<Judgement>,
}

impl Judged {
    /// Reads, analyses and judges.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        let record = Record::read(path)?;
        let analysis = analysis::analyse(&record);
        let policy = &record.header.plan.policy;
        let judgements =
            analysis.comparisons.iter().map(|comparison| judge(comparison, policy)).collect();
        Ok(Self { record, analysis, judgements })
    }

    /// The summary as text, or everything as JSON.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn print(&self, as_json: bool) -> Result<()> {
        if as_json {
            let mut stdout = std::io::stdout().lock();
            return Ok(json::write(&mut stdout, &self.record, &self.analysis, &self.judgements)?);
        }
        let histogram = Histogram::of(&self.record, SUMMARY_BINS);
        let (analysis, judgements) = (&self.analysis, &self.judgements);
        let styles = Styles::colored();
        super::print(&text::summary(
            &self.record,
            analysis,
            judgements,
            histogram.as_ref(),
            &styles,
        ))
    }

    /// The exit code that `--fail-on` asks for.
    pub fn exit_code(&self, fail_on: Option<crate::spec::values::FailOn>) -> u8 {
        fail_on.map_or(0, |fail_on| verdict::exit_code(&self.judgements, fail_on))
    }
}

/// `show`.
pub fn show(verb: &ShowVerb) -> Result<u8> {
    let judged = Judged::read(&verb.record.path()?)?;
    exports::write(&verb.exports, &judged)?;
    judged.print(verb.json)?;
    Ok(judged.exit_code(verb.fail_on))
}

/// `stats`.
pub fn stats(verb: &RecordVerb) -> Result<u8> {
    let record = verb.read()?;
    let arms = analysis::summarise(&record);
    super::print(&stats_table::stats(&record.header.plan, &arms))?;
    Ok(0)
}

/// `hist`.
pub fn hist(verb: &HistVerb) -> Result<u8> {
    let record = verb.record.read()?;
    let histogram = Histogram::of(&record, verb.bins.into());
    let histogram =
        histogram.with_context(|| format!("{} has no finished run", record.path.display()))?;
    super::print(&histogram::tall(&histogram, &record.header.plan))?;
    Ok(0)
}

/// `dump`.
pub fn dump(verb: &DumpVerb) -> Result<u8> {
    let record = verb.record.read()?;
    let mut stdout = std::io::BufWriter::new(std::io::stdout().lock());
    match verb.format {
        DumpFormat::Csv => dump_rows::csv(&mut stdout, &record)?,
        DumpFormat::Json => dump_rows::json_lines(&mut stdout, &record)?,
    }
    stdout.flush()?;
    Ok(0)
}
