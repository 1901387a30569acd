//! The brief summary: the answer, the table and the notes.

use super::*;
use model::values::{Better, DecideOn, ValueUnit};
use record::plan::InstructionCounter;
use record::plan::suite::SuiteMembership;

/// The answer about two commands, in one line.
fn answer_to(evidence: Evidence) -> String {
    let record = record(&["old", "new"]);
    let mut analysis = analysis(&record, &[12.3e6, 12.5e6]);
    compare(&mut analysis, 1, evidence);
    let text = brief(&record, &analysis);
    let sentence = text.lines().take_while(|line| !line.is_empty());
    sentence.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_lone_variant_has_the_name_of_its_benchmark() {
    let mut record = record(&["only"]);
    let (name, benchmark) = ("s".into(), "hashing".into());
    record.header.plan.suite =
        Some(SuiteMembership { name, benchmark, family: 0, is_gate: false, has_suspects: false });
    let text = brief(&record, &analysis(&record, &[12.3e6]));
    assert!(text.starts_with("hashing takes "), "{text}");
}

/// The program has others, each in a session of its own.
#[test]
fn a_lone_benchmark_of_a_program_has_its_name() {
    let mut record = record(&["python3 s.py"]);
    record.header.plan.arms[0].benchmark = Some("sort".into());
    let mut analysis = analysis(&record, &[12.3e6]);
    analysis.notes = vec![note(Finding::FailedRuns { arm: 0, n: 1, n_runs: 60 })];
    let text = brief(&record, &analysis);
    assert!(text.starts_with("sort takes "), "{text}");
    assert!(text.contains("note: 1 of 60 runs of sort did not exit with 0"), "{text}");
    assert!(show(&record, &analysis, None).contains("\npython3 s.py\n"));
}

#[test]
fn the_first_line_is_the_answer_with_its_interval() {
    let is = |lo: f64, ratio: f64, hi: f64, expected: &str| {
        assert_eq!(answer_to(Evidence::Paired(paired(ratio, lo, hi))), expected);
    };
    is(1.09, 1.124, 1.145, "new is 12.4 % slower than old (9.0 to 14.5 %)");
    is(1.0002, 1.017, 1.03, "new is 1.7 % slower than old (0.02 to 3.0 %)");
    is(0.6, 0.7, 0.8, "new is faster than old: it takes 30 % less time (20 to 40 %)");
    is(1.5, 2.3, 2.9, "old is 2.30 times (1.50 to 2.90) as fast as new");
    is(0.2, 0.25, 0.3, "new is 4.00 times (3.33 to 5.00) as fast as old");
    let small =
        "new is 0.50 % slower than old (0.20 to 0.80 %), less than the 1 % that counts as the same";
    is(1.002, 1.005, 1.008, small);
    let mean_ratio = RatioInterval { ratio: 1.225, lo: 1.145, hi: 1.309 };
    let two_modes = PairedTest { mean_ratio, ..paired(1.005, 1.002, 1.008) };
    assert_eq!(
        answer_to(Evidence::Paired(two_modes)),
        "new is 0.50 % slower than old (0.20 to 0.80 %); on average it takes 1.23 times as long"
    );
    let same = "new and old take the same time within 1 %: new takes 0.9950 to 1.0080 times as long as old";
    is(0.995, 1.001, 1.008, same);
    let open = "cannot tell yet whether new or old is faster: new takes 0.980 to 1.040 times as long as old; 60 \
                blocks are too few to say how many would decide";
    is(0.98, 1.01, 1.04, open);
    is(
        0.0,
        1.2,
        f64::INFINITY,
        "cannot tell yet whether new or old is faster: 60 blocks are too few for an interval",
    );
}

/// One screen must not have an interval and call it not known.
#[test]
fn a_wide_interval_is_in_the_table_too() {
    let record = record(&["old", "new"]);
    let shown = |lo, hi| {
        let mut analysis = analysis(&record, &[12.3e6, 12.5e6]);
        compare(&mut analysis, 1, Evidence::Paired(paired(1.24, lo, hi)));
        brief(&record, &analysis)
    };
    let text = shown(0.76, 2.15);
    assert!(text.contains("1.24 [0.76, 2.15]  undecided"), "{text}");
    for (lo, hi) in [(0.0, 2.15), (0.76, f64::INFINITY)] {
        let answer = answer_to(Evidence::Paired(paired(1.24, lo, hi)));
        assert!(answer.ends_with("60 blocks are too few for an interval"), "{answer}");
        assert!(shown(lo, hi).contains("not known yet"));
    }
}

#[test]
fn below_the_limit_of_a_gate_nothing_is_open() {
    let mut record = record(&["old", "new"]);
    record.header.plan.slower_limit = 0.1;
    let mut analysis = analysis(&record, &[12.3e6, 12.5e6]);
    let mean_ratio = RatioInterval { ratio: 1.01, lo: 0.97, hi: 1.05 };
    let passes = PairedTest { mean_ratio, ..paired(1.01, 0.98, 1.04) };
    compare(&mut analysis, 1, Evidence::Paired(passes));
    let text = brief(&record, &analysis);
    let expected =
        "new is not 10 % slower than old: new takes 0.980 to 1.040 times as long as old\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("1.010 [0.980, 1.040]  not slower"), "{text}");
}

#[test]
fn an_answer_without_a_test_says_so() {
    let untested = Evidence::Unpaired {
        ratio: uncertain(1.2, 0.1),
        because: NoTest::TooFewPairs { have: 5, need: 8 },
        past: None,
    };
    let expected = "new took 1.20 times as long as old, which is an estimate and no verdict: a verdict at 99 % \
                    needs 8 complete pairs of runs; there are 5";
    assert_eq!(answer_to(untested), expected);
    assert!(answer_to(too_few()).starts_with("no verdict on new against old: a verdict at 99 %"));
    // The budget may be used up: a suspect's first look can come in a later visit.
    let answer = answer_to(Evidence::None { because: NoTest::NoLook { have: 13 } });
    let expected = "the session ended before its first look; there are 13 complete pairs of runs";
    assert!(answer.ends_with(expected), "{answer}");
}

/// A doubt about "the same" names the affected command.
#[test]
fn an_answer_with_a_doubt_names_the_slower_command() {
    let doubted = PairedTest {
        decision: PairedDecision::Undecided,
        doubt: Some(SameDoubt::MeanDiffers),
        mean_ratio: RatioInterval { ratio: 1.21, lo: 1.1, hi: 1.32 },
        slow_runs: Some(SlowRuns { is_candidate: true, share: 0.1, factor: 3.0 }),
        ..paired(1.001, 0.995, 1.008)
    };
    let expected = "cannot call new and old the same yet: within 1 % they are, but on average new takes 1.21 times \
                    as long: 10 % more of the runs take 3.0 times as long";
    assert_eq!(answer_to(Evidence::Paired(doubted.clone())), expected);
    let coarse = PairedTest { doubt: Some(SameDoubt::CoarseSteps), ..doubted.clone() };
    let expected = "cannot call new and old the same within 1 %: their times are read in steps too coarse for that";
    assert_eq!(answer_to(Evidence::Paired(coarse)), expected);
    let unknown = PairedTest { doubt: Some(SameDoubt::MeanUnknown), ..doubted };
    let remedy = "but too little is known of the mean times; --estimand floor leaves them out";
    assert!(answer_to(Evidence::Paired(unknown)).ends_with(remedy));
}

/// Six commands with these intervals against the first, which takes 10 ms.
fn six(intervals: [(f64, f64); 5]) -> String {
    let commands = ["zstd -1 f", "gzip -1 f", "xz -0 f", "bzip2 -1 f", "lz4 f", "brotli -1 f"];
    let record = record(&commands);
    let t0 = |(lo, hi): &(f64, f64)| 1e7 * (lo + hi) / 2.0;
    let t0s: Vec<f64> = [1e7].into_iter().chain(intervals.iter().map(t0)).collect();
    let mut analysis = analysis(&record, &t0s);
    for (arm, (lo, hi)) in intervals.into_iter().enumerate() {
        compare(&mut analysis, arm + 1, Evidence::Paired(paired((lo + hi) / 2.0, lo, hi)));
    }
    let text = brief(&record, &analysis);
    assert!(text.lines().count() < 24, "{text}");
    text
}

#[test]
fn several_commands_are_ranked_and_the_fastest_is_named() {
    let clear = six([(2.0, 2.2), (8.0, 9.0), (5.0, 5.5), (0.7, 0.8), (1.1, 1.2)]);
    insta::assert_snapshot!(clear);
    let first_line = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let two = six([(2.0, 2.2), (8.0, 9.0), (5.0, 5.5), (0.7, 0.8), (0.78, 0.9)]);
    assert!(
        first_line(two).starts_with(
            "lz4 f may be the fastest: 1.33 to 11 times as fast as the others; brotli"
        )
    );
    let open = six([(0.9, 1.2), (0.95, 1.3), (0.9, 1.1), (0.96, 1.1), (0.94, 1.2)]);
    assert!(first_line(open).starts_with("cannot tell yet which of the 6 is the fastest"));
    let same = six([(0.995, 1.005); 5]);
    assert_eq!(first_line(same), "all 6 are the same within 1 % of zstd -1 f");
}

/// The fastest runs decide, but its other runs are slow more often.
#[test]
fn the_fastest_may_be_slower_on_average() {
    let record = record(&["a", "b", "c"]);
    let answer = |mean_ratio: RatioInterval| {
        let mut analysis = analysis(&record, &[1e6, 1.02e6, 0.97e6]);
        compare(&mut analysis, 1, Evidence::Paired(paired(1.02, 1.01, 1.03)));
        let other_mean = PairedTest { mean_ratio, ..paired(0.97, 0.96, 0.98) };
        compare(&mut analysis, 2, Evidence::Paired(other_mean));
        brief(&record, &analysis).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let fastest = "c is the fastest: 1.03 to 1.05 times as fast as the others";
    let slower = answer(RatioInterval { ratio: 1.15, lo: 1.08, hi: 1.23 });
    let expected = format!("{fastest}; on average c takes 1.080 to 1.230 times as long as a ");
    assert!(slower.starts_with(&expected), "{slower}");
    let open = answer(RatioInterval { ratio: 1.05, lo: 0.99, hi: 1.11 });
    assert!(open.starts_with(fastest) && !open.contains("on average"), "{open}");
}

/// Times have a phrase after the colon, other quantities a clause with its own subject.
#[test]
fn the_best_of_a_quantity_may_be_one_of_two() {
    let answer = |decide_on: DecideOn, better: Better| {
        let mut record = record(&["a", "b", "c"]);
        let policy = &mut record.header.plan.policy;
        (policy.decide_on, policy.better) = (Some(decide_on), better);
        if decide_on == DecideOn::Value {
            record.header.plan.arms.iter_mut().for_each(|arm| arm.unit = ValueUnit::Count);
        }
        let mut analysis = analysis(&record, &[1e6, 1e6, 2e6]);
        compare(&mut analysis, 1, Evidence::Paired(paired(1.01, 0.98, 1.04)));
        compare(&mut analysis, 2, Evidence::Paired(paired(2.0, 1.9, 2.1)));
        let text = brief(&record, &analysis);
        text.split(';').next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let expected = "a may be the best: the other has 2.0 times as many page faults";
    assert_eq!(answer(DecideOn::Faults, Better::Lower), expected);
    let expected = "a may be the best: the other uses 2.0 times as much memory";
    assert_eq!(answer(DecideOn::Maxrss, Better::Lower), expected);
    let expected = "a may be the best: the other gives 2.0 times the value";
    assert_eq!(answer(DecideOn::Value, Better::Lower), expected);
    let expected = "a may be the best: 2.0 times the value of the other";
    assert_eq!(answer(DecideOn::Value, Better::Higher), expected);
}

#[test]
fn a_scan_keeps_its_order_and_marks_the_fastest() {
    let mut record = record(&["sort 1", "sort 2", "sort 4"]);
    for (arm, value) in record.header.plan.arms.iter_mut().zip(["1", "2", "4"]) {
        arm.parameters = vec![("threads".into(), value.into())];
    }
    let mut analysis = analysis(&record, &[4e6, 2e6, 3e6]);
    compare(&mut analysis, 1, Evidence::Paired(paired(0.5, 0.45, 0.55)));
    compare(&mut analysis, 2, Evidence::Paired(paired(0.75, 0.7, 0.8)));
    insta::assert_snapshot!(brief(&record, &analysis));
    // The mark is a verdict, too.
    for open in [
        Evidence::Paired(paired(0.52, 0.48, 0.8)),
        Evidence::Unpaired { ratio: uncertain(0.75, 0.1), because: NoTest::Sequential, past: None },
    ] {
        analysis.comparisons.pop();
        compare(&mut analysis, 2, open);
        let text = brief(&record, &analysis);
        assert!(!text.contains("fastest\n"), "{text}");
    }
}

/// One command twice, and long commands that differ in one word: all rows have different names.
#[test]
fn rows_have_different_names() {
    let long =
        |level: u32| format!("compressor {} --level {level} {}", "a".repeat(60), "b".repeat(60));
    let record = record(&["true", "true", &long(1), &long(2)]);
    let mut analysis = analysis(&record, &[1e6, 1e6, 2e6, 3e6]);
    for arm in 1..4 {
        compare(&mut analysis, arm, Evidence::Paired(paired(1.01, 0.98, 1.04)));
    }
    let text = brief(&record, &analysis);
    let names = text.lines().filter_map(|line| Some(line.split_once("  ")?.0));
    let names: Vec<&str> = names.collect();
    let mut distinct = names.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(names.len(), distinct.len(), "{text}");
}

/// While the answer is clear, irrelevant notes are left out; the verbose text has all.
#[test]
fn notes_that_change_nothing_are_counted() {
    let mut record = record(&["a", "b"]);
    let mut analysis = analysis(&record, &[1e6, 2e6]);
    analysis.notes = vec![
        note(Finding::FailedRuns { arm: 1, n: 3, n_runs: 60 }),
        note(Finding::NoFloor { arm: 0 }),
        note(Finding::Busy { load: 1.4, n_cpus: 2 }),
    ];
    compare(&mut analysis, 1, Evidence::Paired(paired(2.0, 1.9, 2.1)));
    let clear = brief(&record, &analysis);
    assert_eq!(clear.matches("note: ").count(), 1, "{clear}");
    assert!(clear.contains("note: 3 of 60 runs of b did not exit with 0"), "{clear}");
    let words = clear.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("histograms and 2 further notes"), "{clear}");
    assert!(words.contains("`stillwell show -v /tmp/a.swell`"), "a record elsewhere: {clear}");
    analysis.comparisons[0].evidence = Evidence::Paired(paired(1.01, 0.98, 1.04));
    assert!(brief(&record, &analysis).contains("note: a shows no lower limit"));
    assert_eq!(show(&record, &analysis, None).matches("note: ").count(), 3);
    record.path = "a\nb.swell".into();
    let odd = brief(&record, &analysis);
    assert!(odd.contains("`stillwell show -v RECORD`"), "{odd}");
}

/// Two interpreters of one script looked like one.
#[test]
fn programs_that_differ_in_the_middle_have_two_names() {
    let path = |version: &str| format!("/root/.pyenv/versions/{version}/bin/python3 s.py");
    let [old, new] = ["3.11.7", "3.12.1"].map(path);
    let mut record = record(&[&old, &new, &old, &new]);
    let benchmarks = ["one", "one", "two", "two"];
    for (arm, benchmark) in record.header.plan.arms.iter_mut().zip(benchmarks) {
        arm.benchmark = Some(benchmark.into());
    }
    let mut analysis = analysis(&record, &[1e6, 2e6, 1e6, 2e6]);
    compare(&mut analysis, 1, Evidence::Paired(paired(2.0, 1.9, 2.1)));
    let mut second = analysis.comparisons[0].clone();
    (second.arm, second.reference) = (3, 2);
    analysis.comparisons.push(second);
    let text = brief(&record, &analysis);
    let expected = "…3.12.1/bin/python3 s.py against …3.11.7/bin/python3 s.py in 2 benchmarks";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("\nbenchmark  t0 of …3.11.7/….py  "), "{text}");
}

/// Cut in its middle, a note lost its "no".
#[test]
fn notes_are_whole_sentences() {
    let record = record(&["a", "b"]);
    let mut analysis = analysis(&record, &[1e6, 2e6]);
    compare(&mut analysis, 1, Evidence::Paired(paired(2.0, 1.9, 2.1)));
    let told = |notes: Vec<Finding>| {
        let mut analysis = analysis.clone();
        analysis.notes = notes.into_iter().map(note).collect();
        brief(&record, &analysis).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let why = format!("{}end", "word ".repeat(60));
    let text = told(vec![Finding::ShieldLost { n_runs: 3, why }, Finding::OneLayout]);
    assert!(!text.contains('…') && text.contains("word end; the last 3 runs"), "{text}");
    assert!(text.contains("histograms and another note"), "{text}");
    let text = told(vec![Finding::OneLayout]);
    assert!(text.contains("memory layout may be a part of a difference: a script"), "{text}");
}

#[test]
fn benchmarks_that_have_not_begun_are_named() {
    let mut record = record(&["a"]);
    record.not_begun = vec!["b".into(), "c\n".into()];
    let text = brief(&record, &analysis(&record, &[1e6]));
    assert!(text.contains("\nnot begun: b, c\\n\n"), "{text}");
}

/// A failed session has no advice about noise.
#[test]
fn a_failed_session_has_no_notes_about_noise() {
    let mut record = record(&["true", "false"]);
    run(&mut record, 0, Some(0), 1000);
    let stderr = "cannot open x".into();
    record.events.insert(0, Event::Failure { step: 0, stderr });
    let mut analysis = of_times(&record, vec![Some(single(1000.0)), None], 1);
    analysis.end = Some(EndReason::Failed);
    analysis.notes = vec![note(Finding::NoFloor { arm: 0 })];
    let text = brief(&record, &analysis);
    let first: Vec<&str> = text.lines().take(2).collect();
    let expected = [
        "FAILED: true was ended by signal 9 in its run 1; every finished run is kept",
        "  | cannot open x",
    ];
    assert_eq!(first, expected);
    assert!(!text.contains("note: "), "{text}");
}

/// One screen must not have two numbers for the same pairs.
#[test]
fn benchmarks_without_a_verdict_have_the_fewest_and_most_pairs() {
    let few = |have| NoTest::TooFewPairs { have, need: 8 };
    let mut plan = record(&["old", "new"]).header.plan;
    let reasons = [few(4), few(3), few(6), NoTest::UnfitNumbers];
    let said = no_tests(&reasons, &plan);
    let expected = "a verdict at 99 % needs 8 complete pairs of runs; there are 3 to 6; some of";
    assert!(said.starts_with(expected), "{said}");
    let (path, version) = ("/v".into(), "valgrind-3.19.0".into());
    plan.counter = Some(InstructionCounter::Valgrind { path, version });
    let expected = "a verdict needs 3 counts of each that agree, or 8; there are 2";
    assert_eq!(no_tests(&[few(2)], &plan), expected);
}

#[test]
fn without_scatter_no_difference_is_the_smallest() {
    let exact = PairedTest { smallest_visible: 0.0, ..paired(1.0, 1.0, 1.0) };
    let text = show_comparison(Evidence::Paired(exact));
    assert!(text.contains("the same floor") && !text.contains("a difference of"), "{text}");
}
