use super::*;
use analysis::files::{ComparedFile, compare};
use formats::{BenchmarkValues, LaunchInfo, Results};

/// Two benchmarks, each with the means of three processes.
fn file(a: [f64; 3], b: [f64; 3]) -> ComparedFile {
    let mut results = Results::default();
    for (name, values) in [("a", a), ("b", b)] {
        let mut made = BenchmarkValues::new(name, ResultUnit::Time);
        for value in values {
            made.values.push(value);
            made.end_launch(LaunchInfo::default());
        }
        results.benchmarks.push(made);
    }
    ComparedFile::from_results(results)
}

fn sides() -> [BenchmarkFile; 2] {
    ["old", "new"].map(|file| BenchmarkFile { file: file.into(), tool: String::new() })
}

fn shown(comparison: &FilesComparison, layout: ComparisonLayout) -> String {
    text(&sides(), comparison, layout)
}

#[test]
fn a_higher_throughput_is_more_and_costs_less() {
    let file = |rate: f64| {
        let mut made = BenchmarkValues::new("a", ResultUnit::Other("ops/s".into()));
        for value in [0.99 * rate, 1.01 * rate] {
            made.values.push(value);
            made.end_launch(LaunchInfo::default());
        }
        ComparedFile::from_results(Results { benchmarks: vec![made], ..Results::default() })
    };
    let comparison = compare(&[file(100.0), file(125.0)], FileStatistic::Mean);
    let text = shown(&comparison, ComparisonLayout::default());
    assert!(text.contains("new ÷ reference: above 1 is more. They"), "{text}");
    let table = shown(&comparison, ComparisonLayout { is_in_words: true, ..Default::default() });
    assert!(table.contains("1.25× more (better)"), "{table}");
    let effect = conclusion(&sides(), &comparison).effects.remove(0);
    assert!((effect.ratio.unwrap() - 0.8).abs() < 1e-9, "{effect:?}");
    let expected = (Some(Verdict::Undecided), Some(NoTest::SeparateRecords));
    assert_eq!((effect.verdict, effect.no_test), expected);
}

#[test]
fn a_caption_names_every_statistic_and_its_error() {
    let mut comparison =
        compare(&[(); 2].map(|()| file([10.0; 3], [10.0; 3])), FileStatistic::Mean);
    let caption = |comparison: &FilesComparison| {
        let text = shown(comparison, ComparisonLayout::default()).replace('\n', " ");
        let start = text.find("ratios of").unwrap();
        text[start..text.find(" no verdict").unwrap()].to_owned()
    };
    let alone = caption(&comparison);
    assert!(alone.starts_with("ratios of means, new ÷"), "{alone}");
    assert!(alone.ends_with("that of the scatter between processes"), "{alone}");
    comparison.lines[1].by = FileStatistic::T0;
    let mixed = caption(&comparison);
    assert!(mixed.starts_with("ratios of means (of t0 where a value says so), new ÷"), "{mixed}");
    assert!(mixed.ends_with("that of t0, or of the scatter between processes"), "{mixed}");
}

/// The mean of three processes has an error; t0 needs more of them.
#[test]
fn a_ratio_without_an_error_is_of_too_few_processes() {
    let files = [file([10.0, 14.0, 18.0], [10.0; 3]), file([12.0, 15.0, 18.0], [11.0; 3])];
    let of = |by| shown(&compare(&files, by), ComparisonLayout::default());
    let words = of(FileStatistic::T0);
    assert!(words.contains("without an error is of too few processes"), "{words}");
    let words = of(FileStatistic::Mean);
    assert!(!words.contains("without an error"), "{words}");
    let layout = ComparisonLayout { is_in_words: true, ..Default::default() };
    let words = shown(&compare(&files, FileStatistic::T0), layout);
    assert!(!words.contains('×'), "{words}");
}

#[test]
fn limits_are_named_in_every_layout() {
    let files = [file([10.0; 3], [10.0; 3]), file([20.0; 3], [5.0; 3])];
    let mut comparison = compare(&files, FileStatistic::Mean);
    for line in &mut comparison.lines {
        let cell = line.cells[1].as_mut().unwrap();
        cell.is_upper_limit = true;
        (cell.middle.err, cell.ratio.as_mut().unwrap().err) = (None, None);
    }
    let words = shown(&comparison, ComparisonLayout { is_in_words: true, ..Default::default() });
    for expected in ["at most 20 ns", "at most 2.00× slower", "at least 2.00× faster"] {
        assert!(words.contains(expected), "{expected}: {words}");
    }
    assert!(words.contains("the t0 is an upper limit"), "{words}");
    assert!(!words.contains("without an error"), "{words}");
    let grouped =
        shown(&comparison, ComparisonLayout { group_by_speed: true, ..Default::default() });
    assert!(grouped.contains("at most 2.00\n"), "{grouped}");
    comparison.lines[0].cells[0].as_mut().unwrap().is_upper_limit = true;
    let words = shown(&comparison, ComparisonLayout { is_in_words: true, ..Default::default() });
    assert!(words.contains("about 2.00\n"), "{words}");
}

#[test]
fn a_geometric_mean_within_its_error_is_not_significant() {
    let files = [
        file([10.0, 14.0, 18.0], [10.0, 14.0, 18.0]),
        file([12.0, 15.0, 18.0], [11.0, 14.0, 20.0]),
    ];
    let comparison = compare(&files, FileStatistic::Mean);
    let words = shown(&comparison, ComparisonLayout { is_in_words: true, ..Default::default() });
    let mean = words.lines().find(|line| line.starts_with("geometric mean")).unwrap();
    assert!(mean.ends_with("not significant"), "{words}");
}
