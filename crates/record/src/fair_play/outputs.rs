//! Compares the outputs of runs with the reference's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fair_play::{AuditReport, CheatFinding};
use model::values::CheatKind;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOutput {
    pub arm: usize,
    /// The block; `None` for a warm-up, which has the inputs of block 0.
    pub block: Option<u32>,
    /// Digest of standard output.
    pub stdout: String,
    /// Digests of the declared files; `None` for a missing one.
    pub files: Vec<Option<String>>,
}

#[derive(Clone, Copy, Debug)]
pub struct OutputRules<'a> {
    /// Names of the declared files.
    pub files: &'a [String],
    /// Number of blocks after which inputs and seeds repeat.
    pub period: u32,
    pub is_held_back: bool,
    /// Name of the benchmark, if there are several.
    pub benchmark: Option<&'a str>,
}

impl OutputRules<'_> {
    /// The place of the observation, as the end of a noun.
    fn place(&self) -> String {
        self.benchmark.map_or_else(String::new, |name| format!(" in the benchmark {name:?}"))
    }
}

/// The outputs of the reference, without those that vary between runs with the same inputs.
struct Expected<'a> {
    outputs: BTreeMap<u32, &'a RunOutput>,
    is_stdout_steady: bool,
    are_files_steady: Vec<bool>,
}

/// Runs that differ from the reference's.
#[derive(Default)]
struct Mismatch {
    n: u32,
    first: Option<u32>,
    is_missing: bool,
}

impl Mismatch {
    fn count(&mut self, output: &RunOutput, is_missing: bool) {
        self.first = self.first.or(Some(output.block.unwrap_or(0)));
        self.n += 1;
        self.is_missing |= is_missing;
    }

    fn finding(
        &self,
        kind: CheatKind,
        what: &str,
        n_runs: usize,
        is_held_back: bool,
    ) -> Option<CheatFinding> {
        let block = self.first? + 1;
        let verb = if self.is_missing { "is missing or differs" } else { "differs" };
        let (kind, place) = if is_held_back {
            (CheatKind::HardCoded, " with inputs that were held back")
        } else {
            (kind, "")
        };
        let n = self.n;
        let of_runs = format!("in {n} of {n_runs} runs{place}, first in block {block}");
        Some(CheatFinding::new(kind, format!("{what} {verb} from the reference's {of_runs}")))
    }
}

/// [`judge_outputs`] for a session with several benchmarks. Each has `n_programs` consecutive arms, the reference
/// first. `names` is empty for a session without benchmarks.
pub fn judge_outputs_of_benchmarks(
    outputs: &[RunOutput],
    rules: OutputRules<'_>,
    n_programs: usize,
    names: &[String],
) -> AuditReport {
    let mut of_benchmarks: BTreeMap<usize, Vec<RunOutput>> = BTreeMap::new();
    for output in outputs {
        let own = RunOutput { arm: output.arm % n_programs, ..output.clone() };
        of_benchmarks.entry(output.arm / n_programs).or_default().push(own);
    }
    let reports = of_benchmarks.into_iter().map(|(index, outputs)| {
        let benchmark = names.get(index).map(String::as_str);
        judge_outputs(&outputs, OutputRules { benchmark, ..rules })
    });
    reports.fold(AuditReport::default(), AuditReport::merge)
}

/// Compares the runs of all arms with the reference's runs on the same inputs.
pub fn judge_outputs(outputs: &[RunOutput], rules: OutputRules<'_>) -> AuditReport {
    let expected = expected(outputs, rules);
    let mut report = AuditReport { unchecked: unsteady(&expected, rules), ..Default::default() };
    let n_arms = outputs.iter().map(|output| output.arm + 1).max().unwrap_or(0);
    for arm in 1..n_arms {
        let of_arm: Vec<&RunOutput> = outputs.iter().filter(|output| output.arm == arm).collect();
        let (stdout, files) = mismatches(&of_arm, &expected, rules);
        let who = if n_arms == 2 { "the attempt" } else { &format!("command {}", arm + 1) };
        let who = format!("{who}{}", rules.place());
        let (n, is_held_back) = (of_arm.len(), rules.is_held_back);
        let what = format!("the standard output of {who}");
        report.findings.extend(stdout.finding(CheatKind::Stdout, &what, n, is_held_back));
        for (file, mismatch) in rules.files.iter().zip(&files) {
            let what = format!("the file {file} of {who}");
            report.findings.extend(mismatch.finding(CheatKind::File, &what, n, is_held_back));
        }
    }
    report
}

/// The slot of the inputs: equal inputs have one slot.
fn slot(output: &RunOutput, rules: OutputRules<'_>) -> u32 {
    output.block.unwrap_or(0) % rules.period.max(1)
}

fn expected<'a>(outputs: &'a [RunOutput], rules: OutputRules<'_>) -> Expected<'a> {
    let mut expected = Expected {
        outputs: BTreeMap::new(),
        is_stdout_steady: true,
        are_files_steady: vec![true; rules.files.len()],
    };
    for output in outputs.iter().filter(|output| output.arm == 0) {
        let first = *expected.outputs.entry(slot(output, rules)).or_insert(output);
        expected.is_stdout_steady &= first.stdout == output.stdout;
        let pairs = first.files.iter().zip(&output.files);
        for (is_steady, (one, other)) in expected.are_files_steady.iter_mut().zip(pairs) {
            *is_steady &= one == other;
        }
    }
    expected
}

fn unsteady(expected: &Expected<'_>, rules: OutputRules<'_>) -> Vec<String> {
    let stdout = (!expected.is_stdout_steady).then_some("standard output");
    let files = rules.files.iter().zip(&expected.are_files_steady);
    let files = files.filter(|(_, is_steady)| !**is_steady).map(|(file, _)| file.as_str());
    let sentence = |what| {
        format!(
            "wrong output: the reference's own {what}{} differs from run to run, so it cannot be compared; a \
             --validate command can decide",
            rules.place()
        )
    };
    stdout.into_iter().chain(files).map(sentence).collect()
}

fn mismatches(
    of_arm: &[&RunOutput],
    expected: &Expected<'_>,
    rules: OutputRules<'_>,
) -> (Mismatch, Vec<Mismatch>) {
    let mut stdout = Mismatch::default();
    let mut files: Vec<Mismatch> = rules.files.iter().map(|_| Mismatch::default()).collect();
    for output in of_arm {
        let Some(reference) = expected.outputs.get(&slot(output, rules)) else { continue };
        if expected.is_stdout_steady && output.stdout != reference.stdout {
            stdout.count(output, false);
        }
        let pairs = output.files.iter().zip(&reference.files);
        for ((own, other), (mismatch, is_steady)) in
            pairs.zip(files.iter_mut().zip(&expected.are_files_steady))
        {
            if *is_steady && own != other {
                mismatch.count(output, own.is_none());
            }
        }
    }
    (stdout, files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(arm: usize, block: Option<u32>, stdout: &str, file: Option<&str>) -> RunOutput {
        let files = vec![file.map(String::from)];
        RunOutput { arm, block, stdout: stdout.into(), files }
    }

    fn judged(outputs: &[RunOutput], period: u32, is_held_back: bool) -> AuditReport {
        let files = ["out".to_owned()];
        judge_outputs(outputs, OutputRules { files: &files, period, is_held_back, benchmark: None })
    }

    #[test]
    fn each_block_is_compared_with_the_reference_of_the_same_inputs() {
        let honest = [
            output(0, None, "a", Some("x")),
            output(1, None, "a", Some("x")),
            output(0, Some(1), "b", Some("y")),
            output(1, Some(1), "b", Some("y")),
        ];
        assert_eq!(judged(&honest, 2, false), AuditReport::default());
        let mut wrong = honest.clone();
        wrong[3] = output(1, Some(1), "a", None);
        let report = judged(&wrong, 2, false);
        let kinds: Vec<_> = report.findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [CheatKind::Stdout, CheatKind::File]);
        assert!(report.findings[0].sentence.contains("in 1 of 2 runs, first in block 2"));
        assert!(report.findings[1].sentence.contains("is missing"));
        assert_eq!(judged(&wrong, 2, true).findings[0].kind, CheatKind::HardCoded);
    }

    #[test]
    fn each_benchmark_has_a_reference_of_its_own() {
        let mut outputs = [output(0, Some(0), "a", None), output(1, Some(0), "a", None)].to_vec();
        outputs.extend([output(2, Some(0), "b", None), output(3, Some(0), "b", None)]);
        let rules = OutputRules { files: &[], period: 1, is_held_back: false, benchmark: None };
        let names = ["one", "two"].map(str::to_owned);
        let judged = |outputs: &[RunOutput]| judge_outputs_of_benchmarks(outputs, rules, 2, &names);
        assert_eq!(judged(&outputs), AuditReport::default());
        outputs[3].stdout = "a".into();
        let report = judged(&outputs);
        assert_eq!(report.findings.len(), 1);
        let sentence = &report.findings[0].sentence;
        assert!(
            sentence.contains("output of the attempt in the benchmark \"two\" differs"),
            "{sentence}"
        );
    }

    #[test]
    fn a_reference_that_differs_from_itself_accuses_nobody() {
        let outputs = [
            output(0, Some(0), "1", Some("x")),
            output(1, Some(0), "2", Some("x")),
            output(0, Some(1), "3", Some("x")),
            output(1, Some(1), "4", Some("z")),
        ];
        let report = judged(&outputs, 1, false);
        assert!(report.unchecked[0].contains("standard output differs from run to run"));
        let kinds: Vec<_> = report.findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [CheatKind::File]);
    }
}
