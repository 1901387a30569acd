mod brief;
mod slices;

use super::*;
use crate::columns::{COLUMNS, width};
use crate::fixture::{
    analysis, compare, judgements, note, of_times, paired, single, too_few, uncertain,
};
use analysis::{
    DecisionEstimate, Evidence, Finding, LimitCause, NoTest, PairedDecision, PairedTest,
    RatioInterval, SameDoubt, SlowRuns, UnevenShape,
};
use model::harness::Harness;
use model::values::{Order, ProcessValue, ValueUnit};
use record::fixture::{record, run};
use record::ledger::{LedgerEntry, NoiseSource};
use record::plan::{ShellReason, SuiteMembership, ValueRule};
use record::{EndReason, Event, Record};

fn brief(record: &Record, analysis: &Analysis) -> String {
    in_depth(Depth::Brief, record, analysis, None)
}

fn show(record: &Record, analysis: &Analysis, histogram: Option<&Histogram>) -> String {
    in_depth(Depth::Verbose, record, analysis, histogram)
}

fn in_depth(
    depth: Depth,
    record: &Record,
    analysis: &Analysis,
    histogram: Option<&Histogram>,
) -> String {
    let judgements = judgements(record, analysis);
    let text = summary(
        Judged { record, analysis, judgements: &judgements },
        histogram,
        depth,
        &Styles::default(),
    );
    for line in text.lines() {
        assert!(width(line) <= COLUMNS, "{} columns: {line}", width(line));
        assert_eq!(line.trim_end(), line);
    }
    text
}

/// The part of the summary about the only comparison.
fn show_comparison(evidence: Evidence) -> String {
    show_comparison_of(&record(&["old", "new"]), evidence)
}

fn show_comparison_of(record: &Record, evidence: Evidence) -> String {
    let mut analysis = analysis(record, &[12.3e6, 12.5e6]);
    compare(&mut analysis, 1, evidence);
    let text = show(record, &analysis, None);
    let start = text.find("\nnew against old").unwrap() + 1;
    text[start..text.find("record:").unwrap()].trim_end().to_owned()
}

#[test]
fn two_arms_with_everything() {
    let record = record(&["sleep 0.0123", "sleep 0.0125"]);
    let mut analysis = analysis(&record, &[12.345e6, 12.571e6]);
    compare(&mut analysis, 1, Evidence::Paired(paired(1.0183, 1.0129, 1.0238)));
    analysis.notes = vec![
        note(Finding::Lost {
            total_ns: 41_000_000,
            is_lower_limit: false,
            share: 0.031,
            parts: vec![LedgerEntry::exact(NoiseSource::Preempted, 31_000_000)],
        }),
        note(Finding::Busy { load: 1.4, n_cpus: 2 }),
        note(Finding::NoFloor { arm: 1 }),
        note(Finding::Migrations { per_run: 0.5 }),
    ];
    let histogram = Histogram {
        edges: (0..=6).map(|bin| 12.3e6 + f64::from(bin) * 1e5).collect(),
        counts: vec![vec![40, 12, 5, 1, 0, 1], vec![0, 0, 30, 20, 10, 0]],
        n_above: vec![1, 0],
    };
    insta::assert_snapshot!(show(&record, &analysis, Some(&histogram)));
    insta::assert_snapshot!("two_arms_in_brief", brief(&record, &analysis));
}

/// The table has the reference's t0 × ratio. An own t0 that is far from it says what it is.
#[test]
fn a_t0_far_from_the_table_says_why_it_is_there() {
    let mut record = record(&["a", "b"]);
    let n_labels = |record: &Record, location: &str, own_ns: f64| {
        let mut analysis = analysis(record, &[1e6, own_ns]);
        compare(&mut analysis, 1, Evidence::Paired(paired(1.025, 1.01, 1.04)));
        let text = show(record, &analysis, None);
        assert_eq!(text.matches(&format!("own {location} ")).count(), 2, "{text}");
        text.matches(&format!("; above, the reference's {location} × ratio)")).count()
    };
    assert_eq!([0.79e6, 1.026e6].map(|own_ns| n_labels(&record, "t0", own_ns)), [1, 0]);
    record.header.plan.arms.iter_mut().for_each(|arm| arm.unit = ValueUnit::Count);
    assert_eq!(n_labels(&record, "median", 0.79e6), 1);
}

/// The other program of two takes 1.1 ms at least, however low the limit of the first.
#[test]
fn a_limit_times_a_ratio_is_no_limit() {
    let record = record(&["a", "b"]);
    let mut analysis = analysis(&record, &[1e6, 1.1e6]);
    let times = analysis.arms[0].times.as_mut().unwrap();
    (times.is_upper_limit, times.limited_by) = (true, Some(LimitCause::Neighbours));
    compare(&mut analysis, 1, Evidence::Paired(paired(1.025, 1.01, 1.04)));
    let text = brief(&record, &analysis);
    assert!(text.contains("at most 1.000 ms") && text.contains("about 1.025 ms"), "{text}");
}

#[test]
fn one_arm_one_run() {
    let mut record = record(&["true"]);
    record
        .header
        .plan
        .metrics
        .push(model::values::MetricChoice { name: "cycles".into(), unit: None });
    let mut analysis = of_times(&record, vec![Some(single(345_678.0))], 1);
    analysis.end = None;
    record.torn_bytes = 9;
    insta::assert_snapshot!(show(&record, &analysis, None));
}

#[test]
fn an_empty_shell_is_subtracted_and_may_take_longer() {
    let record = record(&["a | b", "c"]);
    let mut analysis = analysis(&record, &[0.55e6, 1.25e6, 0.61e6]);
    let net = RatioInterval { ratio: 1.9, lo: 1.8, hi: 2.0 };
    compare(
        &mut analysis,
        1,
        Evidence::Paired(PairedTest {
            net_ratio: Some(net),
            mean_ratio: net,
            ..paired(1.2, 1.1, 1.3)
        }),
    );
    insta::assert_snapshot!(show(&record, &analysis, None));
}

#[test]
fn a_control_without_anything_left_over_it() {
    let record = record(&["a | b", "c"]);
    let mut analysis = analysis(&record, &[0.55e6, 1.25e6, 0.61e6]);
    compare(&mut analysis, 1, Evidence::Paired(paired(1.2, 1.1, 1.3)));
    assert!(show(&record, &analysis, None).contains("as measured, nothing subtracted"));
}

/// The one ratio in a table of net ones that contains what is subtracted.
#[test]
fn a_whole_ratio_beside_net_ones_says_so() {
    let record = record(&["a | b", "c", "d"]);
    let mut analysis = analysis(&record, &[1.25e6, 2e6, 0.6e6, 0.61e6]);
    let net_ratio = Some(RatioInterval { ratio: 1.9, lo: 1.8, hi: 2.0 });
    let net = PairedTest { net_ratio, ..paired(1.6, 1.5, 1.7) };
    compare(&mut analysis, 1, Evidence::Paired(net));
    compare(&mut analysis, 2, Evidence::Paired(paired(0.5, 0.49, 0.51)));
    let text = brief(&record, &analysis);
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(row("d  ").contains("too short") && row("d  ").contains("] as measured"), "{text}");
    assert!(!row("c  ").contains("as measured"), "{text}");
}

/// t0 of the whole × the ratio of what is left is a time that no run has.
#[test]
fn what_is_left_of_a_limit_is_shown_by_medians() {
    let record = record(&["a | b", "c"]);
    let mut analysis = analysis(&record, &[21.4e6, 31.5e6, 11.7e6]);
    for arm in &mut analysis.arms {
        let times = arm.times.as_mut().unwrap();
        (times.is_upper_limit, times.limited_by) = (true, Some(LimitCause::Neighbours));
        if let Some(net) = &mut arm.net {
            net.t0 = None;
        }
    }
    let net_ratio = Some(RatioInterval { ratio: 1.99, lo: 1.95, hi: 2.05 });
    let net = PairedTest { net_ratio, ..paired(1.45, 1.44, 1.47) };
    compare(&mut analysis, 1, Evidence::Paired(net));
    let text = brief(&record, &analysis);
    assert!(text.contains("net median × ratio") && text.contains("19.50 ms"), "{text}");
    assert!(!text.contains("at most") && !text.contains("42."), "{text}");
}

#[test]
fn a_failed_session_shows_what_the_run_said() {
    let mut record = record(&["false", "true"]);
    run(&mut record, 0, Some(0), 1000);
    record.header.plan.order = Order::Sequential;
    record.header.command_line.push("--seed=42".into());
    let stderr = "one\ntwo\nthree\nfour\nfive\nsix \u{1b}[31m";
    record.events.insert(0, Event::Failure { step: 0, stderr: stderr.into() });
    let mut analysis = of_times(&record, vec![Some(single(1000.0)), None], 1);
    analysis.end = Some(EndReason::Failed);
    compare(&mut analysis, 1, Evidence::None { because: NoTest::Sequential });
    insta::assert_snapshot!(show(&record, &analysis, None));
}

#[test]
fn verdicts_in_words() {
    let is = |evidence: PairedTest, expected: &str| {
        let text = show_comparison(Evidence::Paired(evidence));
        assert!(text.contains(expected), "{text}");
    };
    is(
        paired(1.0183, 1.0129, 1.0238),
        "SLOWER  1.0183 [1.0129, 1.0238] at 99 %, floor, p = 0.0005\n",
    );
    is(paired(1.0183, 1.0129, 1.0238), "        1.8 % slower");
    is(paired(1.017, 1.0002, 1.03), "[1.0002, 1.030]");
    is(paired(0.7, 0.6, 0.8), "FASTER");
    is(paired(0.7, 0.6, 0.8), "        takes 30 % less time");
    is(paired(3.456, 3.0, 4.0), "        takes 3.46 times as long");
    is(paired(0.25, 0.2, 0.3), "        takes 0.25 times as long");
    is(paired(1.005, 1.002, 1.008), "slower, but by less than the 1 % that counts as the same");
    is(paired(0.995, 0.992, 0.998), "faster, but by less than the 1 % that counts as the same");
    is(paired(1.001, 0.995, 1.008), "SAME");
    is(paired(1.001, 0.995, 1.008), "the same floor within 1 %; a slow tail of 7.4 % of the runs");
    is(paired(1.001, 0.995, 1.008), "        mean 1.0010 [0.9950, 1.0080]\n");
    is(paired(1.01, 0.98, 1.04), "UNDECIDED");
    is(paired(1.01, 0.98, 1.04), "60 blocks are too few to say how many would decide");
    let to_decide = |n_pairs, time_ns| PairedTest {
        to_decide: Some(DecisionEstimate { n_pairs, time_ns }),
        ..paired(1.01, 0.98, 1.04)
    };
    is(to_decide(240, Some(30e9)), "about 240 blocks would decide (--budget 34s); these were 60");
    is(to_decide(240, Some(3e9)), "about 240 blocks would decide; these were 60");
    is(to_decide(800, Some(3e9)), "would decide (--max-runs 800); these");
    is(to_decide(540, Some(300e9)), "(--budget 6min --max-runs 540)");
    let unsteady = PairedTest { is_unsteady: true, ..paired(1.01, 0.98, 1.04) };
    is(unsteady, "the times changed during these 60 blocks, so no number");
    let in_suite_of = |is_gate: bool, to_decide: PairedTest, expected: &str| {
        let mut record = record(&["old", "new"]);
        let go = ValueRule::for_harness(Harness::Go, "b", ProcessValue::Low);
        record.header.plan.arms[0].value = Some(go).filter(|_| is_gate);
        let (name, benchmark) = ("s".into(), "b".into());
        record.header.plan.suite =
            Some(SuiteMembership { name, benchmark, family: 1, is_gate, has_suspects: false });
        let text = show_comparison_of(&record, Evidence::Paired(to_decide));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(expected), "{text}");
    };
    in_suite_of(
        true,
        to_decide(240, Some(3e9)),
        "(a longer --budget, or programs with -test.cpu=1)",
    );
    let in_suite = |to_decide, expected: &str| in_suite_of(false, to_decide, expected);
    in_suite(to_decide(240, Some(3e9)), "would decide (a longer `budget` of the suite); these");
    in_suite(
        to_decide(540, Some(300e9)),
        "(`policy.budget = \"6min\"`, `policy.max_blocks = 540`, a longer `budget` of the suite)",
    );
    let contradicted = PairedTest { is_contradicted: true, ..paired(1.01, 0.98, 1.04) };
    is(contradicted, "the looks contradict each other");
    is(paired(1.01, 0.98, 1.04), "a difference of 0.73 % is found in 80 of 100 such sessions");
    let position = PairedTest { position_ratio: 1.004, ..paired(1.01, 0.98, 1.04) };
    is(position, "the later run of a pair took 0.40 % more time; corrected for");
}

#[test]
fn what_speaks_against_the_same_is_said() {
    let doubted = |doubt, slow_runs| PairedTest {
        decision: PairedDecision::Undecided,
        doubt: Some(doubt),
        mean_ratio: RatioInterval { ratio: 1.21, lo: 1.1, hi: 1.32 },
        slow_runs,
        ..paired(1.001, 0.995, 1.008)
    };
    let slow = |share, factor| Some(SlowRuns { is_candidate: true, share, factor });
    let shown = |evidence| show_comparison(Evidence::Paired(evidence));
    let text = |evidence| shown(evidence).split_whitespace().collect::<Vec<_>>().join(" ");
    let tripled = text(doubted(SameDoubt::MeanDiffers, slow(0.1, 3.0)));
    let expected = "UNDECIDED 1.0010 [0.9950, 1.0080] at 99 %, floor, p = 0.0005 the same floor \
        within 1 %, but 21 % slower on average: 10 % more of the runs take 3.0 times as long mean 1.21 [1.10, 1.32]";
    assert!(tripled.contains(expected), "{tripled}");
    let longer = text(doubted(SameDoubt::TailDiffers, slow(0.3, 1.05)));
    let expected = "not the same tail: 30 % more of the runs take 5.0 % longer";
    assert!(longer.contains(expected), "{longer}");
    let hidden = PairedTest {
        to_decide: Some(DecisionEstimate { n_pairs: 90, time_ns: None }),
        ..doubted(SameDoubt::HiddenTail, None)
    };
    let expected =
        "a slow tail of 7.4 % of the runs could be hidden in 60 blocks; 90 would show it";
    assert!(text(hidden.clone()).contains(expected), "{}", text(hidden));
    let unknown = text(doubted(SameDoubt::MeanUnknown, None));
    assert!(unknown.contains("but too little is known of the mean"), "{unknown}");
}

#[test]
fn two_ratios_instead_of_one() {
    let uneven = PairedTest {
        shape: Some(UnevenShape { floor: 1.003, typical: 1.047 }),
        decision: PairedDecision::Undecided,
        doubt: Some(SameDoubt::Uneven),
        ..paired(1.001, 0.995, 1.008)
    };
    insta::assert_snapshot!(show_comparison(Evidence::Paired(uneven)));
}

#[test]
fn an_interval_without_an_end() {
    let unbounded =
        PairedTest { smallest_visible: f64::INFINITY, ..paired(1.2, 0.0, f64::INFINITY) };
    insta::assert_snapshot!(show_comparison(Evidence::Paired(unbounded)));
}

#[test]
fn no_test_says_why() {
    let is = |evidence: Evidence, expected: &str| {
        let text = show_comparison(evidence);
        assert!(text.starts_with("new against old\n        NO VERDICT"), "{text}");
        assert!(text.contains(expected), "{text}");
    };
    is(too_few(), "a verdict at 99 % needs 8 complete pairs of runs; there are 5");
    is(Evidence::None { because: NoTest::UnfitNumbers }, "not above zero, or all are equal");
    let ratio = uncertain(1.018, 0.006);
    let unpaired = |because| Evidence::Unpaired { ratio, because, past: None };
    is(unpaired(NoTest::Sequential), "1.0180 +- 0.0060 (an estimate, not a test)");
    is(unpaired(NoTest::Sequential), "after the other, so drift between them");
    is(unpaired(NoTest::SeparateRecords), "separate sessions: drift");
}

#[test]
fn long_and_strange_labels_stay_in_80_columns() {
    let long = format!("program --with {} --end", "many words ".repeat(30));
    let record = record(&[&long, &"漢字かな".repeat(40), "a\nb\u{1b}[2J", "x"]);
    let mut analysis = analysis(&record, &[1e6, 2e6, 3e6, 400e9, 1e6]);
    analysis.notes = vec![note(Finding::MemoryFloor { arm: 9_998, floor_kib: u64::MAX })];
    compare(&mut analysis, 3, Evidence::Paired(paired(400_000.0, 390_000.0, 410_000.0)));
    let text = show(&record, &analysis, None);
    assert!(
        text.contains("program --with many words") && text.contains("words  --end  (reference)"),
        "{text}"
    );
    assert!(text.contains("a\\nb\\u{1b}[2J"), "{text}");
}

#[test]
fn the_shell_is_explained() {
    let mut record = record(&["a | b"]);
    let analysis = analysis(&record, &[2e6, 1e6]);
    assert!(show(&record, &analysis, None).contains("shell: sh -c, because command 1 has \"|\""));
    record.header.plan.shell_reason = ShellReason::UserChoice;
    assert!(show(&record, &analysis, None).contains("shell: sh -c, as asked for"));
}

#[test]
fn many_arms_are_a_table() {
    let commands: Vec<String> =
        (0..14).map(|n| format!("program number {n} {}", "x".repeat(n * 4))).collect();
    let record = record(&commands.iter().map(String::as_str).collect::<Vec<_>>());
    let t0s: Vec<f64> = (0..14).map(|n| 1e6 + f64::from(n) * 1e5).collect();
    let mut analysis = analysis(&record, &t0s);
    for arm in 1..12 {
        compare(&mut analysis, arm, Evidence::Paired(paired(1.0183, 1.0129, 1.0238)));
    }
    compare(&mut analysis, 12, Evidence::Paired(paired(1.005, 1.002, 1.008)));
    compare(&mut analysis, 13, too_few());
    insta::assert_snapshot!(brief(&record, &analysis));
}

#[test]
fn ten_thousand_arms_stay_in_80_columns() {
    let commands = vec!["日本 command"; 10_000];
    let record = record(&commands);
    let mut analysis = analysis(&record, &vec![1e6; 10_000]);
    for arm in 1..10_000 {
        compare(&mut analysis, arm, Evidence::Paired(paired(1.0183, 1.0129, 1.0238)));
    }
    assert!(show(&record, &analysis, None).lines().count() > 10_000);
}

#[test]
fn colours_mark_the_verdict_and_the_headline() {
    let record = record(&["a", "b"]);
    let mut analysis = analysis(&record, &[1e6, 2e6]);
    compare(&mut analysis, 1, Evidence::Paired(paired(2.0, 1.9, 2.1)));
    let judgements = &judgements(&record, &analysis);
    let judged = Judged { record: &record, analysis: &analysis, judgements };
    for (depth, word) in [(Depth::Brief, "slower"), (Depth::Verbose, "SLOWER")] {
        let text = |styles: Styles| summary(judged, None, depth, &styles);
        let colored = text(Styles::colored());
        let red = format!("\u{1b}[1m\u{1b}[31m{word}\u{1b}[0m");
        assert!(host::terminal::escaped(&colored).contains(&red), "{colored:?}");
        let stripped = anstream::adapter::strip_str(&colored).to_string();
        assert_eq!(stripped, text(Styles::default()));
    }
}
