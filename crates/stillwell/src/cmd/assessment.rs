//! A record with its analysis and its verdicts. `run` and `show` print and export it.

use std::io::Write;
use std::path::Path;

use anyhow::{Error, Result};

use crate::cmd::print::{fit_terminal, print};
use analysis::convert::of_record;
use analysis::histogram::Histogram;
use analysis::suite::policy_of;
use analysis::verdict::{Gate, GateAnswer, Judged, Judgement, judge};
use analysis::{self, CeilingAnswer, against_ceiling, launches};
use host::terminal;
use model::values::{FailOn, exit_code};
use record::Record;
use render::depth::Depth;
use render::document::ErrorObject;
use render::{Styles, activity, gate, json, results, text};

/// Bins of the histograms in a summary: one character each.
const SUMMARY_BINS: usize = 48;

pub struct Assessment {
    pub record: Record,
    pub analysis: analysis::Analysis,
    /// One for each comparison.
    pub judgements: Vec<Judgement>,
}

impl Assessment {
    /// Reads, analyses and judges a record.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(Self::of(launches::gather(Record::read(path)?)))
    }

    /// Analyses and judges a record with one row for each run.
    pub fn of(record: Record) -> Self {
        let analysis = analysis::analyse(&record);
        let judge = |comparison| judge(comparison, &policy_of(&record, comparison));
        let judgements = analysis.comparisons.iter().map(judge).collect();
        Self { record, analysis, judgements }
    }

    pub fn judged(&self) -> Judged<'_> {
        let Self { record, analysis, judgements } = self;
        Judged { record, analysis, judgements }
    }

    /// Whether the record has slices, warm-ups included.
    pub fn has_slices(&self) -> bool {
        self.record.slices.as_ref().is_some_and(|slices| slices.len() > 0)
    }

    /// Prints the whole analysis as JSON, with what ended the session early.
    pub fn print_document(&self, error: Option<&ErrorObject>) -> Result<()> {
        self.write_document(&mut terminal::data(), error)
    }

    pub fn write_document(
        &self,
        mut to: &mut dyn Write,
        error: Option<&ErrorObject>,
    ) -> Result<()> {
        Ok(json::write(&mut to, self.judged(), error)?)
    }

    pub fn print(&self, detail: Depth) -> Result<()> {
        // The terminal may have been resized during the session.
        fit_terminal();
        let histogram = Histogram::of(&self.record, SUMMARY_BINS);
        print(&text::summary(self.judged(), histogram.as_ref(), detail, &Styles::colored()))
    }

    /// Prints the answer to `--fail-on` as the last line. `code` is the exit code of the program.
    pub fn print_gate(&self, fail_on: Option<FailOn>, code: u8) -> Result<()> {
        let Some(fail_on) = fail_on else { return Ok(()) };
        print(&gate::lines(self.judged(), &self.ceilings(fail_on)?, fail_on, code))
    }

    /// The answer for each value that `--fail-on above:VALUE` limits.
    fn ceilings(&self, fail_on: FailOn) -> Result<Vec<CeilingAnswer>> {
        let Some(ceiling) = fail_on.above else { return Ok(Vec::new()) };
        let answers = against_ceiling(&self.record.header.plan, &self.analysis.arms, ceiling);
        answers.map_err(Error::msg)
    }

    /// Prints the counts of the runs and their rates, for each command.
    pub fn print_counts(&self) -> Result<()> {
        let parts = if self.record.parts.is_empty() {
            std::slice::from_ref(&self.record)
        } else {
            &self.record.parts
        };
        let plan = &self.record.header.plan;
        let mut text = String::new();
        let activities = parts.iter().flat_map(analysis::activities);
        for (arm, activity) in activities.enumerate() {
            if let Some(activity) = activity.filter(|_| !plan.arms[arm].role.is_control()) {
                let twin = if plan.twin() == Some(arm) { " (again, for --aa)" } else { "" };
                let label = format!("{}{twin}", plan.full_label(arm));
                text += "\n";
                text += &activity::text(arm + 1, &label, &activity);
            }
        }
        if text.is_empty() {
            text += "\nno counts: they are of runs that Stillwell timed as whole processes\n";
        }
        print(&text)
    }

    /// Prints the values of each process on a line.
    pub fn print_processes(&self) -> Result<()> {
        print(&results::processes(&of_record::results(&self.record)))
    }

    /// The exit code that `--fail-on` asks for. Errors: `--fail-on above:VALUE` has another unit than the values.
    pub fn exit_code(&self, fail_on: Option<FailOn>) -> Result<u8> {
        let Some(fail_on) = fail_on else { return Ok(exit_code::SUCCESS) };
        let answers = self.ceilings(fail_on)?.into_iter().map(|it| it.answer);
        let of_slowdowns = Gate::of(&self.judgements, fail_on).answer;
        Ok(answers.fold(of_slowdowns, GateAnswer::max).exit_code())
    }
}
