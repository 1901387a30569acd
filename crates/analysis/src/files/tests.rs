use super::*;
use formats::LaunchInfo;

fn file(benchmarks: &[(&str, &[&[f64]])], host: &str) -> Results {
    let mut results = Results::default();
    results.metadata.insert("hostname".into(), host.into());
    for (name, launches) in benchmarks {
        let mut made = BenchmarkValues::new(name, ResultUnit::Time);
        for values in *launches {
            made.values.extend(*values);
            made.end_launch(LaunchInfo::default());
        }
        results.benchmarks.push(made);
    }
    results
}

#[test]
fn pairs_by_name_with_the_error_of_the_launches() {
    let old = file(&[("a", &[&[1.0, 3.0], &[4.0]]), ("only old", &[&[1.0]])], "x");
    let new = file(&[("only new", &[&[1.0]]), ("a", &[&[4.0], &[8.0]])], "y");
    let found = compare(&[old, new].map(ComparedFile::from_results), FileStatistic::Mean);
    let cell = found.lines[0].cells[1].as_ref().unwrap();
    assert_eq!(cell.middle, UncertainValue { value: 6.0, err: Some(2.0) });
    let ratio = cell.ratio.unwrap();
    // 8/3 in the reference, with the error 1 of the launch means 2 and 4.
    assert_eq!(ratio.value, 6.0 / (8.0 / 3.0));
    let expected = ratio.value * (2.0_f64 / 6.0).hypot(1.0 / (8.0 / 3.0));
    assert!((ratio.err.unwrap() - expected).abs() < 1e-12, "{ratio:?}");
    assert_eq!(found.alone, [vec!["only old"], vec!["only new"]]);
    assert_eq!(found.differences.len(), 1);
    assert_eq!(found.geometric_means[1].unwrap().value, ratio.value);
    assert_eq!(found.geometric_means[0], None);
}

/// Equal values, single values, launches of unequal lengths.
#[test]
fn a_file_against_itself_is_within() {
    let same = file(
        &[("one", &[&[5.0]]), ("still", &[&[7.0], &[7.0]]), ("two", &[&[1.0], &[2.0, 3.0]])],
        "x",
    );
    let found =
        compare(&[same.clone(), same].map(ComparedFile::from_results), FileStatistic::Median);
    for line in &found.lines {
        let ratio = line.cells[1].as_ref().unwrap().ratio.unwrap();
        assert_eq!(
            (ratio.value, ChangeGroup::of(ratio)),
            (1.0, ChangeGroup::Within),
            "{}",
            line.name
        );
    }
    assert!(found.differences.is_empty());
    let near = UncertainValue { value: 1.001, err: None };
    assert_eq!(ChangeGroup::of(near), ChangeGroup::Unknown);
    assert_eq!(ChangeGroup::of(UncertainValue { err: Some(0.0001), ..near }), ChangeGroup::More);
}

/// `compare` and `show` have one number.
#[test]
fn t0_unless_a_file_lacks_values() {
    let values: Vec<f64> = (0..40).map(|i| 10.0 + f64::from(i * i) / 100.0).collect();
    let old = file(&[("a", &[&values])], "x");
    let twice: Vec<f64> = values.iter().map(|value| 2.0 * value).collect();
    let new = file(&[("a", &[&twice])], "x");
    let mut summaries = file(&[("a", &[&[]])], "x");
    summaries.benchmarks[0].summary =
        Some(formats::SummaryStatistics { mean: Some(15.0), ..Default::default() });
    let files = |other: &Results| [&old, other].map(|it| ComparedFile::from_results(it.clone()));
    let of_values = compare(&files(&new), FileStatistic::T0);
    assert_eq!(of_values.by, FileStatistic::T0);
    let cells = &of_values.lines[0].cells;
    let [old_t0, new_t0] = [0, 1].map(|file| cells[file].as_ref().unwrap().middle.value);
    assert!(old_t0 <= 10.0 && (new_t0 / old_t0 - 2.0).abs() < 1e-9, "{old_t0} {new_t0}");
    let mixed = compare(&files(&summaries), FileStatistic::T0);
    assert_eq!(mixed.lines[0].by, FileStatistic::Mean);
    let mean = mixed.lines[0].cells[0].as_ref().unwrap().middle.value;
    assert!((mean - stats::mean(&values).unwrap()).abs() < 1e-9, "{mean}");
}

/// One slow value would make the standard error of a mean 2475.
#[test]
fn a_median_has_the_error_of_stats() {
    let mut values: Vec<f64> = (0..40).map(|i| 1000.0 + f64::from(i * 7 % 40)).collect();
    values[17] = 100_000.0;
    let launches: Vec<&[f64]> = values.iter().map(std::slice::from_ref).collect();
    let results = file(&[("a", &launches)], "x");
    let record = to_record::record(&results, &ImportOptions::default()).unwrap();
    let median = summarise(&gather(record))[0].times.as_ref().unwrap().median;
    let compared = [&results, &results].map(|it| ComparedFile::from_results(it.clone()));
    let found = compare(&compared, FileStatistic::Median);
    let middle = found.lines[0].cells[1].as_ref().unwrap().middle;
    assert_eq!(middle, median);
    assert!(middle.err.unwrap() < 40.0, "{middle:?}");
    // A single launch has none.
    let one = [(); 2].map(|()| ComparedFile::from_results(file(&[("a", &[&values])], "x")));
    let found = compare(&one, FileStatistic::Median);
    assert_eq!(found.lines[0].cells[1].as_ref().unwrap().middle.err, None);
}

/// The failed run of `a` is a launch without a value.
#[test]
fn a_benchmark_without_a_time_leaves_the_others_their_t0() {
    let mut record = record::fixture::record(&["a", "b"]);
    let failed = record::Row { is_rejected: true, ..record::fixture::row(0, 0, Some(0), 1000) };
    record.rows.push(&failed);
    for block in 0..6 {
        record::fixture::run(&mut record, 1, Some(block), 1000 + u64::from(block));
    }
    let file = ComparedFile::from_record(record);
    let have_t0: Vec<bool> = file.t0s.iter().map(Option::is_some).collect();
    assert_eq!(have_t0, [false, true]);
}
