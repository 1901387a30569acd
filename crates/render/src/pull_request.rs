//! A gate's output for pull requests: a comment in Markdown, JUnit's XML, and remarks for the terminal.

use std::fmt::Write as _;

use crate::columns::{log_line, one_line, wrap};
use crate::gate_result::GateResult;
use crate::gate_row::GateRow;
use crate::uncertain::signs;
use crate::units::counted;
use analysis::verdict::GateAnswer;

const UNCOUNTED: &str = "Instructions not counted";
/// Most rows of the first table; the folded table has all.
const ROWS_MAX: usize = 30;

/// Remarks for the terminal that the suite's summary does not have. `exit_code`: also of a gate with an unwritable file.
pub fn remarks(result: &GateResult<'_>, exit_code: u8) -> String {
    let mut out = String::new();
    for (heading, names) in result.lists().into_iter().filter(|(_, names)| !names.is_empty()) {
        let names: Vec<String> = names.iter().map(|name| one_line(name)).collect();
        wrap(&mut out, &format!("{}: ", heading.to_lowercase()), 6, &names.join(", "));
    }
    let rows = result.rows();
    let same = rows.iter().filter(|row| row.is_counted_alone() && row.answer == GateAnswer::Pass);
    let same: Vec<String> = same.map(|row| one_line(&row.name)).collect();
    if !same.is_empty() {
        wrap(&mut out, "the same instructions: ", 6, &same.join(", "));
    }
    if !result.uncounted.is_empty() {
        let heading = format!("{}: ", UNCOUNTED.to_lowercase());
        wrap(&mut out, &heading, 6, &one_line(&result.uncounted.join("; ")));
    }
    if let Some(text) = result.short_budget {
        wrap(&mut out, "too short: ", 6, text);
    }
    let word = result.word();
    let by = if !result.failing.is_empty() {
        "a program or a benchmark fails".into()
    } else if let Some(why) = result.early_end() {
        why.into()
    } else if rows.is_empty() && !result.is_open_only_for_time() {
        "nothing was measured".into()
    } else if result.is_open_only_for_time() {
        "some benchmarks were not measured in the budget".into()
    } else {
        last_words(result, &rows)
    };
    out + &log_line(&format!("gate: {word}: {by}, exit code {exit_code}"))
}

/// The deciding benchmark and its change.
fn last_words(result: &GateResult<'_>, rows: &[GateRow]) -> String {
    let Some(worst) = result.worst(rows) else { return "nothing is compared".into() };
    let of = match rows.len() {
        1 => String::new(),
        n => format!(" (the worst of {n} benchmarks)"),
    };
    let numbers = match worst.numbers.as_str() {
        "" => String::new(),
        numbers => format!(", ratio {numbers}"),
    };
    format!("{}{of}: {}{numbers}", one_line(&worst.name), worst.meaning)
}

pub fn markdown(result: &GateResult<'_>) -> String {
    let rows = result.rows();
    // Directory names in it must not become links.
    let prose = |text: &str| escaped(text).replace('[', "\\[");
    let sentence = prose(&result.sentence(&rows));
    let mut out = format!("### Benchmarks: {}\n\n{}\n", result.word(), sentence);
    if let Some(why) = result.early_end() {
        write!(out, "\nNo answer: {}.\n", prose(why)).ok();
    }
    let mut changed: Vec<&GateRow> = rows.iter().filter(|row| row.is_remarkable()).collect();
    changed.sort_by(|one, other| {
        let is_fail = |row: &GateRow| row.answer == GateAnswer::Fail;
        is_fail(other).cmp(&is_fail(one)).then(other.badness().total_cmp(&one.badness()))
    });
    if !changed.is_empty() {
        out.push('\n');
        table(&mut out, result, changed.iter().take(ROWS_MAX).copied());
    }
    let open = rows.iter().filter(|row| row.answer == GateAnswer::Undecided);
    let open = open.filter(|row| result.failure_of(row).is_none());
    let open: Vec<String> = open.map(|row| code(&row.name)).collect();
    list(&mut out, "Not decided", &open);
    for (heading, names) in result.lists() {
        let names: Vec<String> = names.iter().map(|name| code(name)).collect();
        list(&mut out, heading, &names);
    }
    let uncounted: Vec<String> = result.uncounted.iter().map(|why| escaped(why)).collect();
    list(&mut out, UNCOUNTED, &uncounted);
    if let Some(text) = result.short_budget {
        write!(out, "\nToo short: {}\n", escaped(text)).ok();
    }
    if let Some(text) = result.noise(&rows) {
        write!(out, "\n{text}\n").ok();
    }
    if !rows.is_empty() {
        let what = counted(rows.len(), "benchmark");
        write!(out, "\n<details><summary>All: {what}</summary>\n\n").ok();
        table(&mut out, result, rows.iter());
        out.push_str("\n</details>\n");
    }
    out
}

fn table<'a>(out: &mut String, result: &GateResult<'_>, rows: impl Iterator<Item = &'a GateRow>) {
    let counter = result.counter_beside().map(|counter| format!("instructions ({counter}) | "));
    let line = if counter.is_some() { "---:|" } else { "" };
    let heading = counter.unwrap_or_default();
    let noun = result.quantity().noun().map(|noun| noun.trim_end_matches(" (valgrind)"));
    let of = noun.map_or_else(String::new, |noun| format!("{noun} of "));
    writeln!(out, "| benchmark | {of}base | {of}head | ratio and interval | {heading}|").ok();
    writeln!(out, "|---|---:|---:|---|{line}---|").ok();
    for row in rows {
        let mark = if row.answer == GateAnswer::Fail { "**" } else { "" };
        let name = code(&row.name).replace('|', "\\|");
        let [base, head, numbers, meaning] =
            [&row.base, &row.head, &row.numbers, &row.meaning].map(|text| escaped(&signs(text)));
        let counts = match result.counter_beside() {
            Some(_) => format!("{} | ", escaped(&row.instructions())),
            None => String::new(),
        };
        let meaning = format!("{mark}{meaning}{mark}");
        writeln!(out, "| {name} | {base} | {head} | {numbers} | {counts}{meaning} |").ok();
    }
}

fn list(out: &mut String, heading: &str, names: &[String]) {
    if !names.is_empty() {
        let between = if heading == UNCOUNTED { "; " } else { ", " };
        write!(out, "\n{heading}: {}\n", names.join(between)).ok();
    }
}

/// A name as code, in which nothing ends the code or the line.
fn code(name: &str) -> String {
    format!("`{}`", one_line(name).replace('`', "'"))
}

/// A text without markup.
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

/// One test case for each benchmark: slowdowns are failures, undecided ones are skipped.
pub fn junit(result: &GateResult<'_>) -> String {
    // A failed benchmark is only an error.
    let (failed, rows): (Vec<GateRow>, Vec<GateRow>) =
        result.rows().into_iter().partition(|row| result.failure_of(row).is_some());
    let n = |answer| rows.iter().filter(|row| row.answer == answer).count();
    let (n_failed, n_open) = (n(GateAnswer::Fail), n(GateAnswer::Undecided));
    let early_end = result.early_end().map(|why| format!("gate: {why}"));
    let errors: Vec<&String> = result.failing.iter().chain(&early_end).collect();
    let n_errors = errors.len();
    let n_tests = rows.len() + n_errors;
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"stillwell gate\" tests=\"{n_tests}\" \
         failures=\"{n_failed}\" errors=\"{n_errors}\" skipped=\"{n_open}\">\n"
    );
    for row in &rows {
        let counts = match (result.counter_beside(), row.instructions()) {
            (Some(counter), counts) if !counts.is_empty() => {
                format!("instructions ({counter}): {counts}")
            }
            _ => String::new(),
        };
        let numbers = [&*row.numbers, &counts].into_iter().filter(|it| !it.is_empty());
        let numbers = numbers.collect::<Vec<_>>().join(", ");
        let parts = [&*row.meaning, &numbers].into_iter().filter(|it| !it.is_empty());
        let message = parts.collect::<Vec<_>>().join(": ");
        let (name, message) = (xml(&row.name), xml(&message));
        let inside = match row.answer {
            GateAnswer::Pass => String::new(),
            GateAnswer::Fail => format!("<failure message=\"{message}\"/>"),
            GateAnswer::Undecided => format!("<skipped message=\"{message}\"/>"),
        };
        writeln!(out, "  <testcase classname=\"benchmarks\" name=\"{name}\">{inside}</testcase>")
            .ok();
    }
    for failing in errors {
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
            // XML 1.0 forbids these (section 2.2).
            '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            _ => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{analysis, compare, judgements, too_few};
    use analysis::exact::repeated;
    use analysis::fixture::paired;
    use analysis::verdict::Judged;
    use analysis::{Evidence, RatioInterval};
    use model::values::{DecideOn, FailOn, ValueUnit};
    use record::fixture::record;

    fn result<'a>(failing: &'a [String], same: &'a [String]) -> GateResult<'a> {
        let code = if failing.is_empty() { 0 } else { 2 };
        GateResult { code, same, failing, ..GateResult::empty(["a", "b"], FailOn::slower(0.0)) }
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
        let gate = result(&[], &same);
        let text = markdown(&gate);
        assert!(
            text.starts_with("### Benchmarks: pass\n\nNothing was measured: the program is"),
            "{text}"
        );
        assert!(remarks(&gate, 0).ends_with("gate: pass: nothing was measured, exit code 0\n"));
    }

    /// The last lines of a gate with 20 %, a ratio of about 1, and a mean below `mean_hi`.
    fn said_of(mean_hi: f64, unmeasured: &[String]) -> String {
        let record = record(&["old", "new"]);
        let mut analysis = analysis(&record, &[12e6, 12.1e6]);
        let mut test = paired(1.0, 0.99, 1.01);
        test.mean_ratio.hi = mean_hi;
        compare(&mut analysis, 1, Evidence::Paired(test));
        let judgements = &judgements(&record, &analysis);
        let measured = Some(Judged { record: &record, analysis: &analysis, judgements });
        let empty = GateResult::empty(["old", "new"], FailOn::slower(20.0));
        remarks(&GateResult { code: 3, measured, unmeasured, ..empty }, 3)
    }

    #[test]
    fn what_is_open_within_the_limit_is_said() {
        let said = said_of(1.4, &[]);
        assert!(said.contains("undecided, but its mean may be 1.40 times as long"), "{said}");
        let said = said_of(1.01, &["slow".to_owned()]);
        assert!(said.contains("gate: not decided: some benchmarks were not measured"), "{said}");
        assert!(said.contains("not measured in the budget: slow"), "{said}");
    }

    #[test]
    fn counts_are_not_taken_for_times() {
        let mut record = record(&["old", "new"]);
        record.header.plan.policy.decide_on = Some(DecideOn::Instructions);
        record.header.plan.arms.iter_mut().for_each(|arm| arm.unit = ValueUnit::Count);
        let mut analysis = analysis(&record, &[24015.0, 26416.5]);
        let ratio = RatioInterval { ratio: 1.1, lo: 1.1, hi: 1.1 };
        compare(&mut analysis, 1, Evidence::Paired(repeated(ratio, 3, 1, 0.01)));
        let judgements = &judgements(&record, &analysis);
        let measured = Some(Judged { record: &record, analysis: &analysis, judgements });
        let empty = GateResult::empty(["old", "new"], FailOn::slower(1.0));
        let result = GateResult { code: 1, measured, ..empty };
        let text = markdown(&result);
        assert!(text.contains("1 benchmark by instructions: 1 worse."), "{text}");
        let heading = "| benchmark | instructions of base | instructions of head |";
        assert!(text.contains(heading), "{text}");
        let meaning = "| 1.1 exactly in 3 counts | **executes 10 % more instructions** |";
        assert!(text.contains(meaning), "{text}");
        let said = "executes 10 % more instructions, ratio 1.1 exactly in 3 counts";
        let remarks = remarks(&result, 2);
        assert!(remarks.contains(said) && remarks.ends_with(" 2\n"), "{remarks}");
    }

    #[test]
    fn a_message_without_numbers_has_no_colon_at_its_end() {
        let record = record(&["old", "new"]);
        let mut analysis = analysis(&record, &[12e6, 12.1e6]);
        compare(&mut analysis, 1, too_few());
        let judgements = &judgements(&record, &analysis);
        let measured = Some(Judged { record: &record, analysis: &analysis, judgements });
        let xml = junit(&GateResult { code: 3, measured, ..result(&[], &[]) });
        assert!(xml.contains("<skipped message=") && !xml.contains(": \"/>"), "{xml}");
    }

    #[test]
    fn a_failed_benchmark_is_not_undecided() {
        let mut record = record(&["old", "new"]);
        record.header.plan.arms[1].benchmark = Some("bad".into());
        let mut analysis = analysis(&record, &[12e6, 12.1e6]);
        compare(&mut analysis, 1, too_few());
        let judgements = &judgements(&record, &analysis);
        let measured = Some(Judged { record: &record, analysis: &analysis, judgements });
        let failing = ["bad: head exited with 3 in its run 6".to_owned()];
        let text = markdown(&GateResult { measured, ..result(&failing, &[]) });
        assert!(text.contains("1 benchmark: 1 failing."), "{text}");
        assert!(text.contains("| head exited with 3 in its run 6 |"), "{text}");
        assert!(!text.contains("Not decided") && !text.contains("undecided"), "{text}");
    }

    #[test]
    fn an_interrupted_gate_does_not_seem_to_pass() {
        let unmeasured = ["slow".to_owned()];
        let gate = GateResult { code: 130, unmeasured: &unmeasured, ..result(&[], &[]) };
        let xml = junit(&gate);
        assert!(xml.contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{xml}");
        let message = "name=\"gate\"><error message=\"gate: the session was interrupted\"/>";
        assert!(xml.contains(message), "{xml}");
        let text = markdown(&gate);
        assert!(
            text.contains("\n\nNothing was measured.\n\nNo answer: the session was interrupted.\n"),
            "{text}"
        );
        assert!(text.contains("\nNot measured: `slow`\n"), "{text}");
        let said = "not measured: slow\ngate: error: the session was interrupted, exit code 130\n";
        assert!(remarks(&gate, 130).ends_with(said));
    }

    #[test]
    fn a_gate_that_cannot_begin_names_no_program() {
        let why = "no benchmark is left by --only; there are: [a]";
        let gate = GateResult { code: 2, error: Some(why), ..result(&[], &[]) };
        let case = format!("name=\"gate\"><error message=\"gate: {why}\"/>");
        assert!(junit(&gate).contains(&case), "{}", junit(&gate));
        let text = markdown(&gate);
        let said = "No answer: no benchmark is left by --only; there are: \\[a].\n";
        assert!(text.contains(said) && !text.contains("Failing"), "{text}");
    }

    #[test]
    fn a_failing_program_is_an_error_of_the_suite() {
        let failing = ["x (head): it exited with 3".to_owned()];
        let xml = junit(&result(&failing, &[]));
        assert!(xml.contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{xml}");
        assert!(xml.contains("name=\"x (head)\"><error message=\"x (head): it exited with 3\"/>"));
    }
}
