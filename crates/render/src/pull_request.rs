//! The result of a gate for a pull request: Markdown, JUnit's XML, JSON, and remarks for the terminal.

use std::fmt::Write as _;

use crate::closing::failing_prefix;
use crate::columns::{one_line, wrap};
use crate::t0;
use crate::text::{change, no_test, ratio_and_interval};
use crate::uncertain::signs;
use crate::units::{counted, percent, unit_of_arm};
use analysis::verdict::{GateAnswer, Judgement, Verdict};
use analysis::{Analysis, ComparedTimes, Comparison, Evidence, RatioInterval};
use model::values::{FailOn, exit_code};
use record::Record;
use record::plan::Plan;

/// Most rows of the first table; the folded one has all.
const ROWS_MAX: usize = 30;

/// The result of a gate.
#[derive(Clone, Copy, Debug)]
pub struct GateResult<'a> {
    /// What the old build is.
    pub base: &'a str,
    /// What the new build is.
    pub head: &'a str,
    /// What was measured; `None` if nothing had to be.
    pub measured: Option<(&'a Record, &'a Analysis, &'a [Judgement])>,
    /// The slowdowns that fail.
    pub fail_on: FailOn,
    /// The exit code of the gate.
    pub code: u8,
    /// Programs that are the same, byte for byte.
    pub same: &'a [String],
    /// Programs that differ only in the directory and the number of the build, and in what is not loaded.
    pub same_loaded: &'a [String],
    /// Programs and benchmarks that only the new build has.
    pub new: &'a [String],
    /// Those that only the old build has.
    pub gone: &'a [String],
    /// Programs that do not list their benchmarks and benchmarks that failed, with the reason.
    pub failing: &'a [String],
}

/// One benchmark.
pub(super) struct GateRow {
    pub(super) name: String,
    base: String,
    head: String,
    pub(super) ratio: Option<RatioInterval>,
    numbers: String,
    /// What it means, in a few words.
    meaning: String,
    pub(super) verdict: Verdict,
    pub(super) answer: GateAnswer,
    pub(super) smallest_visible: Option<f64>,
}

impl GateResult<'_> {
    pub(super) fn word(&self) -> &'static str {
        match self.code {
            exit_code::SUCCESS => "pass",
            exit_code::CHECK_FAILED => "fail",
            exit_code::UNDECIDED => "not decided",
            _ => "error",
        }
    }

    pub(super) fn rows(&self) -> Vec<GateRow> {
        let Some((record, analysis, judgements)) = self.measured else { return Vec::new() };
        let times = ComparedTimes::of(analysis, judgements);
        let pairs = analysis.comparisons.iter().zip(judgements);
        pairs
            .map(|(found, judgement)| self.row(&record.header.plan, &times, found, judgement))
            .collect()
    }

    fn row(
        &self,
        plan: &Plan,
        times: &ComparedTimes,
        found: &Comparison,
        judgement: &Judgement,
    ) -> GateRow {
        let value = |arm: usize| {
            let time = times.get(arm)?;
            let unit = unit_of_arm(&plan.arms[arm], time.value);
            Some(unit.label(&t0::beside_ratio(unit, time)))
        };
        let paired = match &found.evidence {
            Evidence::Paired(paired) => Some(paired),
            Evidence::Unpaired { .. } | Evidence::None { .. } => None,
        };
        let ratio = paired.map(|paired| judgement.shown(paired));
        let meaning = match (&found.evidence, judgement.verdict, ratio) {
            (Evidence::Unpaired { because, .. } | Evidence::None { because }, ..) => {
                no_test(*because, plan.policy)
            }
            (_, Verdict::Slower | Verdict::Faster, Some(ratio)) => change(ratio.ratio),
            (_, Verdict::Same, _) => "the same".into(),
            _ => "undecided".into(),
        };
        GateRow {
            name: plan.arms[found.arm].benchmark.clone().unwrap_or_default(),
            base: value(found.reference).unwrap_or_default(),
            head: value(found.arm).unwrap_or_default(),
            ratio,
            numbers: ratio.map_or_else(String::new, ratio_and_interval),
            meaning,
            verdict: judgement.verdict,
            answer: judgement.answer(self.fail_on.limit()),
            smallest_visible: paired.map(|it| it.smallest_visible).filter(|it| it.is_finite()),
        }
    }

    /// The verdict in a sentence.
    fn sentence(&self, rows: &[GateRow]) -> String {
        if self.measured.is_none() && self.failing.is_empty() {
            let n = self.same.len() + self.same_loaded.len();
            if n == 0 {
                return "Nothing was measured: the builds have no benchmark in common.".into();
            }
            let how = if self.same_loaded.is_empty() {
                ", byte for byte"
            } else {
                " but for the directory and the number of the build"
            };
            return format!(
                "Nothing was measured: {} the same in both builds{how}.",
                if n == 1 { "the program is".into() } else { format!("all {n} programs are") }
            );
        }
        let n = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        let all = [
            (n(Verdict::Slower), "slower"),
            (n(Verdict::Faster), "faster"),
            (n(Verdict::Same), "the same"),
            (n(Verdict::Undecided), "undecided"),
        ];
        let said = all.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}"));
        let said: Vec<String> = said.collect();
        let of = format!("{} against {}", one_line(self.head), one_line(self.base));
        let what = counted(rows.len(), "benchmark");
        format!("{of}, {what}: {}.", if said.is_empty() { "none".into() } else { said.join(", ") })
    }

    /// How much the values of one program vary, and the smallest differences that were visible.
    fn noise(&self, rows: &[GateRow]) -> Option<String> {
        let (_, analysis, _) = self.measured?;
        let mut cvs: Vec<f64> =
            analysis.arms.iter().filter_map(|arm| arm.times.as_ref()?.cv).collect();
        cvs.sort_by(f64::total_cmp);
        let middle = *cvs.get(cvs.len() / 2)?;
        let visible: Vec<f64> = rows.iter().filter_map(|row| row.smallest_visible).collect();
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

    /// The line about a benchmark that fails.
    fn failure_of(&self, row: &GateRow) -> Option<&String> {
        let prefix = failing_prefix(&row.name);
        self.failing.iter().find(|line| line.starts_with(&prefix))
    }

    /// What was not measured, each with its heading.
    fn lists(&self) -> [(&'static str, &[String]); 5] {
        [
            ("Failing", self.failing),
            ("New, nothing to compare with", self.new),
            ("Gone", self.gone),
            ("Not measured, the same byte for byte", self.same),
            ("Not measured, the same but for directory and number of the build", self.same_loaded),
        ]
    }
}

/// What the summary of the suite does not say, for the terminal.
pub fn remarks(result: &GateResult<'_>) -> String {
    let mut out = String::new();
    for (heading, names) in result.lists().into_iter().filter(|(_, names)| !names.is_empty()) {
        let names: Vec<String> = names.iter().map(|name| one_line(name)).collect();
        wrap(&mut out, &format!("{}: ", heading.to_lowercase()), 6, &names.join(", "));
    }
    if result.measured.is_none() {
        let code = result.code;
        writeln!(out, "gate: {}: nothing was measured, exit code {code}", result.word()).ok();
    } else if !result.failing.is_empty() {
        writeln!(out, "gate: error: a program or a benchmark fails, exit code {}", result.code)
            .ok();
    }
    out
}

/// The comment on a pull request.
pub fn markdown(result: &GateResult<'_>) -> String {
    let rows = result.rows();
    // Names of directories are in it: none of them becomes a link.
    let sentence = escaped(&result.sentence(&rows)).replace('[', "\\[");
    let mut out = format!("### Benchmarks: {}\n\n{}\n", result.word(), sentence);
    let is_changed = |row: &&GateRow| matches!(row.verdict, Verdict::Slower | Verdict::Faster);
    let mut changed: Vec<&GateRow> = rows.iter().filter(is_changed).collect();
    changed.sort_by_key(|row| (row.answer != GateAnswer::Fail, row.verdict == Verdict::Faster));
    if !changed.is_empty() {
        out.push('\n');
        table(&mut out, changed.iter().take(ROWS_MAX).copied());
    }
    let open = rows.iter().filter(|row| row.answer == GateAnswer::Undecided);
    let open = open.filter(|row| result.failure_of(row).is_none());
    let open: Vec<String> = open.map(|row| code(&row.name)).collect();
    list(&mut out, "Not decided", &open);
    for (heading, names) in result.lists() {
        let names: Vec<String> = names.iter().map(|name| code(name)).collect();
        list(&mut out, heading, &names);
    }
    if let Some(text) = result.noise(&rows) {
        write!(out, "\n{text}\n").ok();
    }
    if !rows.is_empty() {
        let what = counted(rows.len(), "benchmark");
        write!(out, "\n<details><summary>All: {what}</summary>\n\n").ok();
        table(&mut out, rows.iter());
        out.push_str("\n</details>\n");
    }
    out
}

fn table<'a>(out: &mut String, rows: impl Iterator<Item = &'a GateRow>) {
    out.push_str("| benchmark | base | head | ratio and interval | |\n|---|---:|---:|---|---|\n");
    for row in rows {
        let mark = if row.answer == GateAnswer::Fail { "**" } else { "" };
        let name = code(&row.name).replace('|', "\\|");
        let [base, head, numbers, meaning] =
            [&row.base, &row.head, &row.numbers, &row.meaning].map(|text| escaped(&signs(text)));
        writeln!(out, "| {name} | {base} | {head} | {numbers} | {mark}{meaning}{mark} |").ok();
    }
}

fn list(out: &mut String, heading: &str, names: &[String]) {
    if !names.is_empty() {
        write!(out, "\n{heading}: {}\n", names.join(", ")).ok();
    }
}

/// A name as code. Nothing in it is taken for the end of the code or of a line.
fn code(name: &str) -> String {
    format!("`{}`", one_line(name).replace('`', "'"))
}

/// A text in which nothing is markup.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for char in one_line(text).chars() {
        match char {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '|' | '#' | '@' | '~' => out.extend(['\\', char]),
            _ => out.push(char),
        }
    }
    out
}

/// One test case for each benchmark. A slowdown is a failure, an undecided benchmark is skipped.
pub fn junit(result: &GateResult<'_>) -> String {
    // A benchmark that failed is an error and nothing else.
    let (failed, rows): (Vec<GateRow>, Vec<GateRow>) =
        result.rows().into_iter().partition(|row| result.failure_of(row).is_some());
    let n = |answer| rows.iter().filter(|row| row.answer == answer).count();
    let (n_failed, n_open) = (n(GateAnswer::Fail), n(GateAnswer::Undecided));
    let n_errors = result.failing.len();
    let n_tests = rows.len() + n_errors;
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"stillwell gate\" tests=\"{n_tests}\" \
         failures=\"{n_failed}\" errors=\"{n_errors}\" skipped=\"{n_open}\">\n"
    );
    for row in &rows {
        let (name, message) = (xml(&row.name), xml(&format!("{}: {}", row.meaning, row.numbers)));
        let inside = match row.answer {
            GateAnswer::Pass => String::new(),
            GateAnswer::Fail => format!("<failure message=\"{message}\"/>"),
            GateAnswer::Undecided => format!("<skipped message=\"{message}\"/>"),
        };
        writeln!(out, "  <testcase classname=\"benchmarks\" name=\"{name}\">{inside}</testcase>")
            .ok();
    }
    for failing in result.failing {
        let benchmark = failed.iter().find(|row| result.failure_of(row) == Some(failing));
        let (class, name) = match benchmark {
            Some(row) => ("benchmarks", &*row.name),
            None => ("programs", failing.split(": ").next().unwrap_or(failing)),
        };
        let (name, message) = (xml(name), xml(failing));
        writeln!(
            out,
            "  <testcase classname=\"{class}\" name=\"{name}\"><error message=\"{message}\"/></testcase>"
        )
        .ok();
    }
    out + "</testsuite>\n"
}

fn xml(text: &str) -> String {
    let mut out = String::new();
    for char in one_line(text).chars() {
        match char {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            // No document of XML 1.0 may have them (section 2.2).
            '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            _ => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result<'a>(failing: &'a [String], same: &'a [String]) -> GateResult<'a> {
        GateResult {
            base: "a",
            head: "b",
            measured: None,
            fail_on: FailOn::slower(0.0),
            code: if failing.is_empty() { 0 } else { 2 },
            same,
            same_loaded: &[],
            new: &[],
            gone: &[],
            failing,
        }
    }

    #[test]
    fn names_are_no_markup() {
        assert_eq!(code("a`|b\n"), "`a'|b\\n`");
        assert_eq!(escaped("<b> @x *y* |"), "&lt;b> \\@x \\*y\\* \\|");
        assert_eq!(xml("<\"&>"), "&lt;&quot;&amp;&gt;");
    }

    #[test]
    fn the_same_programs_pass_without_a_measurement() {
        let same = ["b".to_owned()];
        let found = result(&[], &same);
        let text = markdown(&found);
        assert!(
            text.starts_with("### Benchmarks: pass\n\nNothing was measured: the program is"),
            "{text}"
        );
        assert!(remarks(&found).ends_with("gate: pass: nothing was measured, exit code 0\n"));
    }

    #[test]
    fn a_failing_program_is_an_error_of_the_suite() {
        let failing = ["x (head): it exited with 3".to_owned()];
        let xml = junit(&result(&failing, &[]));
        assert!(xml.contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{xml}");
        assert!(xml.contains("name=\"x (head)\"><error message=\"x (head): it exited with 3\"/>"));
    }
}
