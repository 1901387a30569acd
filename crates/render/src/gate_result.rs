//! The result of a gate, and its answer for each benchmark by times and instructions.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::closing::failing_prefix;
use crate::columns::one_line;
use crate::gate::{at_most, open_mean};
use crate::gate_row::{GateRow, numbers, told_to, work_percent};
use crate::quantity::QuantityWords;
use crate::t0;
use crate::text::no_tests;
use crate::uncertain;
use crate::units::{counted, counts_in_words, percent, unit_in_record};
use analysis::verdict::{GateAnswer, Judged, Judgement, Verdict, worst_of};
use analysis::work::{DecidedBy, WorkCounted, answer};
use analysis::{ComparedTimes, Comparison, against_ceiling};
use model::values::{DecideOn, FailOn, exit_code};
use record::Record;
use record::plan::Plan;

/// The result of a gate.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct GateResult<'a> {
    /// A name of the old build for people.
    pub base: &'a str,
    /// A name of the new build for people.
    pub head: &'a str,
    /// The measurement; `None` if none was needed.
    #[serde(skip)]
    pub measured: Option<Judged<'a>>,
    /// The work of counted benchmarks by name.
    #[serde(skip)]
    pub work: &'a [(String, WorkCounted)],
    /// The counter of instructions; null without counts.
    pub counter: Option<&'a str>,
    /// Benchmarks whose instructions could not be counted, with the reason.
    pub uncounted: &'a [String],
    /// How the budget was too short; null if it was not.
    pub short_budget: Option<&'a str>,
    /// The slowdowns that fail.
    #[serde(skip)]
    pub fail_on: FailOn,
    /// The exit code of the gate.
    #[serde(rename = "exit_code")]
    pub code: u8,
    /// Programs that are byte for byte the same.
    pub same: &'a [String],
    /// Programs that differ only in the build's directory or number, or in parts that are not loaded.
    #[serde(rename = "same_but_for_build")]
    pub same_loaded: &'a [String],
    /// Why the gate could not begin, such as a wrong command line or a failed build.
    #[serde(skip)]
    pub error: Option<&'a str>,
    /// Programs and benchmarks of the new build alone.
    pub new: &'a [String],
    /// Programs and benchmarks of the old build alone.
    pub gone: &'a [String],
    /// Programs that failed to list benchmarks, and failed benchmarks, with the reason.
    pub failing: &'a [String],
    /// Benchmarks that --only or --skip excludes.
    pub left_out: &'a [String],
    /// Benchmarks of both builds without a finished run. Any of them keeps the gate from passing.
    pub unmeasured: &'a [String],
}

impl<'a> GateResult<'a> {
    /// A result without any measurement.
    pub fn empty([base, head]: [&'a str; 2], fail_on: FailOn) -> Self {
        Self { base, head, fail_on, code: exit_code::SUCCESS, ..Self::default() }
    }

    pub(super) fn word(&self) -> &'static str {
        match self.code {
            exit_code::SUCCESS => "pass",
            exit_code::CHECK_FAILED => "fail",
            exit_code::UNDECIDED => "not decided",
            _ => "error",
        }
    }

    /// Why there is no answer, if no program fails.
    pub(super) fn early_end(&self) -> Option<&'a str> {
        let is_early = self.word() == "error" && self.failing.is_empty();
        is_early.then_some(match (self.error, self.code) {
            (Some(why), _) => why,
            (None, exit_code::INTERRUPTED) => "the session was interrupted",
            (None, _) => "the session did not come to its end",
        })
    }

    /// Whether everything measured passes, and something was not measured.
    pub(super) fn is_open_only_for_time(&self) -> bool {
        let passes = |row: &GateRow| row.answer == GateAnswer::Pass;
        !self.unmeasured.is_empty() && self.rows().iter().all(passes)
    }

    /// All measured benchmarks.
    pub fn rows(&self) -> Vec<GateRow> {
        let of_session = |judged: Judged<'_>| {
            let times = ComparedTimes::of(judged.analysis, judged.judgements);
            let row =
                |(comparison, judgement)| self.row(judged.record, &times, comparison, judgement);
            judged.pairs().map(row).map(|row| self.or_failing(row)).collect()
        };
        let mut rows: Vec<GateRow> = self.measured.map(of_session).unwrap_or_default();
        let known: HashSet<String> = rows.iter().map(|row| row.name.clone()).collect();
        let counted = self.work.iter().filter(|(name, _)| !known.contains(name));
        rows.extend(counted.map(|(name, work)| GateRow::of_count(name, *work)));
        rows
    }

    pub fn code_of(rows: &[GateRow]) -> u8 {
        rows.iter().map(|row| row.answer).max().unwrap_or(GateAnswer::Pass).exit_code()
    }

    fn row(
        &self,
        record: &Record,
        times: &ComparedTimes,
        comparison: &Comparison,
        judgement: &Judgement,
    ) -> GateRow {
        let plan = &record.header.plan;
        let name = plan.arms[comparison.arm].benchmark.clone().unwrap_or_default();
        let test = comparison.evidence.test();
        let paired = test.ok();
        let ratio = paired.map(|paired| judgement.shown(paired));
        let work = self.work.iter().find(|(benchmark, _)| *benchmark == name).map(|it| it.1);
        let by_change = match self.fail_on.slower_pct {
            Some(_) => answer(judgement, work.as_ref(), self.fail_on.limit()),
            None => (GateAnswer::Pass, DecidedBy::Time),
        };
        let ceiling = self.ceiling_of(plan, comparison.arm);
        // A failing slowdown is reported before a failing value.
        let (answer, by) = match &ceiling {
            Some((answer, _)) if *answer > by_change.0 => (*answer, DecidedBy::Ceiling),
            _ => by_change,
        };
        let by = match plan.policy.decide_on {
            Some(named) if by == DecidedBy::Time && named != DecideOn::Value => DecidedBy::DecideOn,
            _ => by,
        };
        let value = |arm: usize| {
            let time = times.get(arm)?;
            let unit = unit_in_record(record, arm, time.value);
            Some(unit.label(&t0::beside_ratio(unit, time)))
        };
        let [base, head] =
            [comparison.reference, comparison.arm].map(|arm| value(arm).unwrap_or_default());
        let open = test.err().map_or("undecided".into(), |because| no_tests(&[because], plan));
        let row = GateRow {
            name,
            base,
            head,
            ratio,
            numbers: paired.zip(ratio).map_or_else(String::new, |it| numbers(it.0, it.1)),
            meaning: open,
            verdict: judgement.verdict,
            answer,
            by,
            work,
            smallest_visible: paired.map(|it| it.smallest_visible).filter(|it| it.is_finite()),
        };
        let has_open_mean = answer == GateAnswer::Undecided
            && matches!(by, DecidedBy::Time | DecidedBy::DecideOn | DecidedBy::Nothing)
            && judgement.is_within(self.fail_on.limit());
        let quantity = QuantityWords::of(plan);
        let meaning = match ceiling {
            Some((_, meaning)) if by == DecidedBy::Ceiling => meaning,
            _ if has_open_mean => {
                format!("{}, {}", self.meaning(&row, quantity), open_mean(judgement, &quantity))
            }
            _ => self.meaning(&row, quantity),
        };
        GateRow { meaning, ..row }
    }

    /// A failed benchmark says its failure instead of what more runs would decide.
    fn or_failing(&self, row: GateRow) -> GateRow {
        let failure = self.failure_of(&row).filter(|_| row.answer == GateAnswer::Undecided);
        match failure {
            Some(line) => {
                GateRow { meaning: line[failing_prefix(&row.name).len()..].to_owned(), ..row }
            }
            None => row,
        }
    }

    /// The answer for an arm's value, with the reason.
    fn ceiling_of(&self, plan: &Plan, arm: usize) -> Option<(GateAnswer, String)> {
        let (ceiling, judged) = self.fail_on.above.zip(self.measured)?;
        let answers = against_ceiling(plan, &judged.analysis.arms, ceiling).ok()?;
        let answer = answers.into_iter().find(|it| it.arm == arm)?;
        Some((answer.answer, at_most(&answer, ceiling, judged.record)))
    }

    /// The meaning of a row. A row's own meaning is for undecided times.
    fn meaning(&self, row: &GateRow, quantity: QuantityWords) -> String {
        let work = row.work.map(|work| work_percent(work.ratio)).unwrap_or_default();
        let by_time = match (row.verdict, row.ratio) {
            (Verdict::Slower | Verdict::Faster, Some(ratio)) => quantity.change(ratio.ratio),
            (Verdict::Same, _) => "the same".into(),
            _ if row.answer == GateAnswer::Pass => match self.fail_on.slower_pct {
                Some(pct) => {
                    let [.., not_slower] = quantity.judged_in_lists();
                    format!("{not_slower} by more than {} %", uncertain::trimmed(pct, 6))
                }
                None => row.meaning.clone(),
            },
            _ => row.meaning.clone(),
        };
        match row.by {
            DecidedBy::MoreWork => format!("does {work} more work"),
            DecidedBy::SameWork => match told_to(row.ratio) {
                Some(share) => {
                    format!("the same work; time could not be told to better than {share}")
                }
                None => "the same work; too few blocks to tell the time".into(),
            },
            DecidedBy::TimeInSpiteOfWork => format!("{by_time}, with {work} more instructions"),
            DecidedBy::TimeAtTheSameWork => format!(
                "{by_time} with the same instructions: layout, caches or memory, which `stillwell why` shows"
            ),
            DecidedBy::NothingForTheKernel => {
                let share = row.work.map_or(0.0, |work| work.system_share);
                format!(
                    "undecided: the same instructions, but {} of the work is not counted: the kernel's, and for Go the collector's",
                    percent(share)
                )
            }
            DecidedBy::Time | DecidedBy::DecideOn | DecidedBy::Nothing | DecidedBy::Ceiling => {
                by_time
            }
        }
    }

    pub(super) fn quantity(&self) -> QuantityWords {
        let plan = self.measured.map(|judged| &judged.record.header.plan);
        plan.map_or(QuantityWords::Time, QuantityWords::of)
    }

    /// The counter, if instructions are counted beside the times.
    pub(super) fn counter_beside(&self) -> Option<&'a str> {
        self.counter.filter(|_| self.measured.is_some() && self.quantity().is_time())
    }

    pub(super) fn sentence(&self, rows: &[GateRow]) -> String {
        if rows.is_empty() {
            return self.nothing();
        }
        let n = |is_it: &dyn Fn(&GateRow) -> bool| rows.iter().filter(|row| is_it(row)).count();
        let is_open = |row: &GateRow| row.answer == GateAnswer::Undecided;
        let by_time = |row: &GateRow, verdict| {
            row.verdict == verdict
                && !matches!(row.by, DecidedBy::MoreWork | DecidedBy::SameWork | DecidedBy::Ceiling)
                && !is_open(row)
        };
        let fails = |row: &GateRow| is_open(row) && self.failure_of(row).is_some();
        let is_above = |row: &GateRow| row.by == DecidedBy::Ceiling && !is_open(row);
        let quantity = self.quantity();
        let [slower, faster, not_slower] = quantity.judged_in_lists();
        let all = [
            (n(&is_above), "above the limit"),
            (n(&|row| by_time(row, Verdict::Slower)), slower),
            (n(&|row| row.by == DecidedBy::MoreWork), "with more work"),
            (n(&|row| by_time(row, Verdict::Faster)), faster),
            (n(&|row| by_time(row, Verdict::Same)), "the same"),
            (n(&|row| row.by == DecidedBy::SameWork), "with the same work"),
            (n(&|row| by_time(row, Verdict::Undecided)), not_slower),
            (n(&|row| is_open(row) && !fails(row)), "undecided"),
            (n(&fails), "failing"),
        ];
        let said = counts_in_words(&all);
        let of = format!("{} against {}", one_line(self.head), one_line(self.base));
        let what = counted(rows.len(), "benchmark");
        let by = quantity.noun().map_or_else(String::new, |noun| format!(" by {noun}"));
        format!("{of}, {what}{by}: {}.", if said.is_empty() { "none" } else { &said })
    }

    /// Why nothing was measured.
    fn nothing(&self) -> String {
        let n = self.same.len() + self.same_loaded.len();
        if self.word() == "error" {
            return "Nothing was measured.".into();
        }
        if !self.unmeasured.is_empty() {
            return "Nothing was measured in the budget.".into();
        }
        if n == 0 && !self.gone.is_empty() && self.new.is_empty() {
            return "Nothing was measured: all benchmarks are gone.".into();
        }
        if n == 0 {
            return "Nothing was measured: the builds have no benchmark in common.".into();
        }
        let how = if self.same_loaded.is_empty() {
            ", byte for byte"
        } else {
            " but for the directory and the number of the build"
        };
        format!(
            "Nothing was measured: {} the same in both builds{how}.",
            if n == 1 { "the program is".into() } else { format!("all {n} programs are") }
        )
    }

    /// How much the values of one program vary, and the smallest visible differences.
    pub(super) fn noise(&self, rows: &[GateRow]) -> Option<String> {
        let arms = &self.measured?.analysis.arms;
        let mut cvs: Vec<f64> = arms.iter().filter_map(|arm| arm.times.as_ref()?.cv).collect();
        cvs.sort_by(f64::total_cmp);
        let middle = *cvs.get(cvs.len() / 2)?;
        let visible: Vec<f64> =
            rows.iter().filter_map(|row| row.smallest_visible).filter(|it| *it > 0.0).collect();
        let least = visible.iter().copied().reduce(f64::min);
        let most = visible.iter().copied().reduce(f64::max);
        let visible = match least.zip(most) {
            None => String::new(),
            Some((least, most)) if least == most => {
                format!(" Smallest visible difference: {}.", percent(least))
            }
            Some((least, most)) => {
                format!(" Smallest visible difference: {} to {}.", percent(least), percent(most))
            }
        };
        Some(format!(
            "Runner: the values of one build vary by {} (standard deviation).{visible}",
            percent(middle)
        ))
    }

    /// The line about a failed benchmark.
    pub(super) fn failure_of(&self, row: &GateRow) -> Option<&String> {
        let prefix = failing_prefix(&row.name);
        self.failing.iter().find(|line| line.starts_with(&prefix))
    }

    /// The deciding row: the worst of those with the worst answer.
    pub(super) fn worst<'r>(&self, rows: &'r [GateRow]) -> Option<&'r GateRow> {
        worst_of(rows, |row| (row.answer, row.badness())).map(|at| &rows[at])
    }

    /// Everything that was not measured, with headings.
    pub(super) fn lists(&self) -> [(&'static str, &[String]); 7] {
        // An interruption or a failure may have ended it long before the budget.
        let unmeasured = match self.word() {
            "error" => "Not measured",
            _ => "Not measured in the budget",
        };
        [
            ("Failing", self.failing),
            ("New, nothing to compare with", self.new),
            ("Gone", self.gone),
            (unmeasured, self.unmeasured),
            ("Left out by --only and --skip", self.left_out),
            ("Not measured, the same byte for byte", self.same),
            ("Not measured, the same but for directory and number of the build", self.same_loaded),
        ]
    }
}
