//! The verbs that look at one saved record.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::analysis::{self, histogram::Histogram, launches};
use crate::cli::{DumpFormat, DumpVerb, HistVerb, RecordVerb, ShowVerb, StatsVerb};
use crate::cmd::exports;
use crate::cmd::judged::Judged;
use crate::record::{self, Record};
use crate::render::stats_table::{self, Statistics};
use crate::render::{dump as dump_rows, histogram, json};

impl RecordVerb {
    fn path(&self) -> Result<PathBuf> {
        self.record.clone().map_or_else(record::newest, Ok)
    }

    /// Reads it.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn read(&self) -> Result<Record> {
        Ok(launches::gather(Record::read(&self.path()?)?))
    }
}

/// `show`.
pub fn show(verb: &ShowVerb) -> Result<u8> {
    let judged = Judged::read(&verb.record.path()?)?;
    exports::write(&verb.exports, &judged)?;
    if !verb.exports.uses_stdout() {
        judged.print(verb.json)?;
    }
    Ok(judged.exit_code(verb.fail_on))
}

/// `stats`.
pub fn stats(verb: &StatsVerb) -> Result<u8> {
    let record = verb.record.read()?;
    let arms = analysis::summarise(&record);
    let estimators = analysis::estimators(&record, &arms, verb.tim);
    let plan = &record.header.plan;
    let found = Statistics { plan, arms: &arms, estimators: &estimators, tim: verb.tim };
    if verb.json {
        json::stats(&mut std::io::stdout().lock(), &record, found)?;
    } else {
        super::print(&stats_table::stats(found))?;
    }
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
    let record = Record::read(&verb.record.path()?)?;
    let mut stdout = std::io::BufWriter::new(std::io::stdout().lock());
    match verb.format {
        DumpFormat::Csv => dump_rows::csv(&mut stdout, &record)?,
        DumpFormat::Json => dump_rows::json_lines(&mut stdout, &record)?,
    }
    stdout.flush()?;
    Ok(0)
}
