use serde::Serialize;

use super::*;
use crate::analyse;
use crate::comparison::Evidence;
use crate::report::pairs::Blocks;
use crate::report::shape::cumulative;
use crate::report::timeline::EventKind;
use crate::single::Analysis;
use model::spec::RunSpec;
use model::spec::run::ArmOptions;
use model::values::Better;
use model::values::metric::Metric;
use record::fixture::{from_spec, record, row};
use record::ledger::NoiseSource;
use record::{Event, Record, Row, Rows};

/// Blocks of these arms after one warm-up each; `wall_ns` takes arm and block.
fn with_rows(mut record: Record, n_blocks: u32, wall_ns: impl Fn(u32, u32) -> u64) -> Record {
    let n_arms = u32::try_from(record.header.plan.arms.len()).unwrap();
    let mut started_ns = 1000;
    for step in 0..(n_blocks + 1) * n_arms {
        let (block, slot) = (step / n_arms, step % n_arms);
        // The two arms take turns at being first.
        let arm = if block % 2 == 1 && n_arms == 2 { 1 - slot } else { slot };
        let wall_ns = wall_ns(arm, block);
        let mut row = Row { started_ns, exit: 0, ..row(step, arm, block.checked_sub(1), wall_ns) };
        row.set(Metric::PreemptedNs, Some(if block == 2 { 500_000 } else { 0 }));
        row.set(Metric::RunQueueWaitNs, Some(if block == 2 { 700_000 } else { 0 }));
        row.set(Metric::Migrations, Some(u64::from(block == 3)));
        started_ns += wall_ns + 100;
        record.rows.push(&row);
    }
    record
}

fn data(records: &[Record]) -> ReportData {
    let analyses: Vec<Analysis> = records.iter().map(analyse).collect();
    let inputs = records.iter().zip(&analyses);
    let judged = |(record, analysis)| Judged { record, analysis, judgements: &[] };
    report(&inputs.map(judged).collect::<Vec<_>>())
}

fn line(name: &str, value: &impl Serialize) -> String {
    format!("{name}: {}\n", serde_json::to_string(value).unwrap())
}

#[test]
fn what_the_charts_of_two_commands_get() {
    let wall =
        |arm, block| 10_000_000 + u64::from(block * 7 % 5) * 100_000 + u64::from(arm) * 1_000_000;
    let data = data(&[with_rows(record(&["./old", "./new"]), 12, wall)]);
    let [group] = &data.groups[..] else { panic!("{data:#?}") };
    let histogram = group.histogram.as_ref().unwrap();
    let text = [
        line("arms", &group.arms),
        line("counts", &histogram.counts),
        line("first and last edge", &[histogram.edges[0], histogram.edges[16]]),
        line("log counts", &group.log_histogram.as_ref().unwrap().counts),
        line("timeline", &group.timeline),
        line("pairs", &group.comparisons[0].pairs),
        line("ledgers", &group.ledgers),
    ];
    insta::assert_snapshot!(text.concat());
    assert!(group.comparisons[0].deciles.is_some());
    assert_eq!((group.scan.is_none(), data.together.is_none()), (true, true));
}

/// Where higher is better, costs are the inverse values, but a chart has values as the text has.
#[test]
fn a_higher_value_is_above_the_line() {
    let mut better = record(&["./old", "./new"]);
    better.header.plan.policy.better = Better::Higher;
    better.rows = Rows::of(better.header.plan.policy.compared());
    let value = |arm, block| 10_000_000 + u64::from(block) * 1000 + u64::from(arm) * 1_000_000;
    let data = data(&[with_rows(better, 20, value)]);
    let compared = &data.groups[0].comparisons[0];
    let pairs = compared.pairs.as_ref().unwrap();
    let Blocks::All { ratio, .. } = &pairs.blocks else { panic!("{pairs:?}") };
    assert!(ratio.iter().all(|&ratio| ratio > 1.09), "{ratio:?}");
    assert!(compared.evidence.test().unwrap().ratio.ratio > 1.09, "{compared:?}");
}

#[test]
fn a_ledger_adds_up() {
    let wall = |arm, block| 10_000_000 + u64::from(block) * 90_000 + u64::from(arm) * 1000;
    let data = data(&[with_rows(record(&["./old", "./new"]), 20, wall)]);
    for ledger in &data.groups[0].ledgers {
        let sum: i64 = ledger.lost.entries.iter().map(|entry| entry.ns).sum();
        assert_eq!(sum, ledger.lost.total_ns, "{ledger:?}");
        assert!(ledger.lost.entries.iter().all(|entry| entry.ns > 0), "{ledger:?}");
        assert!(ledger.lost.entries.iter().any(|entry| entry.source == NoiseSource::Preempted));
    }
}

#[test]
fn rows_are_marked_that_had_a_slower_clock_or_a_shield_no_more() {
    let mut marked = record(&["./old"]);
    for step in 0..20 {
        let mut row = row(step, 0, Some(step), 10_000_000);
        row.exit = 0;
        row.set(Metric::TaskClockNs, Some(9_000_000));
        row.set(Metric::Cycles, Some(if step == 5 { 24_300_000 } else { 27_000_000 }));
        marked.rows.push(&row);
    }
    marked.events.push(Event::IsolationLost { first_step: 18, step: 19, why: "taken".into() });
    let data = data(&[marked]);
    let Timeline::All { rows } = &data.groups[0].timeline else { panic!("{data:#?}") };
    let of = |kind| -> Vec<(usize, f64)> {
        let found = rows.events.iter().filter(|event| event.event == kind);
        found.map(|event| (event.row, event.amount)).collect()
    };
    assert_eq!(of(EventKind::Throttled), [(5, 0.9)]);
    assert_eq!(of(EventKind::Unshielded), [(18, 1.0), (19, 1.0)]);
}

#[test]
fn nothing_is_left_out_in_silence() {
    let wall = |arm, block| {
        if (arm, block) == (1, 3000) {
            9_000_000_000
        } else {
            10_000_000 + u64::from(block * 7919 % 1009)
        }
    };
    let data = data(&[with_rows(record(&["./old", "./new"]), 5000, wall)]);
    let group = &data.groups[0];
    let Timeline::Sliced { n, slices, rows } = &group.timeline else { panic!("all rows") };
    assert_eq!(*n, 10_000);
    assert_eq!(slices.iter().map(|slice| slice.n).sum::<usize>(), 10_000);
    let slowest = slices.iter().map(|slice| slice.quantiles[4]).fold(0.0, f64::max);
    assert_eq!(slowest, 9e9);
    assert!(rows.value.contains(&9e9) && rows.step.len() == 160, "{}", rows.step.len());
    let counted: u32 = group.log_histogram.as_ref().unwrap().counts.iter().flatten().sum();
    assert_eq!(counted, 10_000);
    let Blocks::Sliced { n, slices, ratio, .. } =
        &group.comparisons[0].pairs.as_ref().unwrap().blocks
    else {
        panic!("all blocks")
    };
    assert_eq!((*n, slices.iter().map(|slice| slice.n).sum::<usize>()), (5000, 5000));
    assert!(ratio.iter().any(|&ratio| ratio > 800.0) && ratio.len() == 50);
    let cumulative = &group.arms[1].cumulative;
    assert!(!cumulative.is_exact && cumulative.values.len() < 1200);
    assert_eq!((cumulative.values.last(), cumulative.shares.last()), (Some(&9e9), Some(&1.0)));
}

#[test]
fn a_distribution_function_counts_ties_once() {
    let found = cumulative(&[3.0, 1.0, 3.0, 2.0], 10);
    assert_eq!((found.values, found.shares), (vec![1.0, 2.0, 3.0], vec![0.25, 0.5, 1.0]));
    // The thinned function still goes through its quantiles.
    let values: Vec<f64> = (0..50_000).map(f64::from).collect();
    let found = cumulative(&values, 4000);
    for (value, share) in found.values.iter().zip(&found.shares) {
        assert_eq!(*share, (value + 1.0) / 50_000.0);
    }
    assert_eq!(cumulative(&[], 10).values.len(), 0);
}

#[test]
fn parameters_become_curves() {
    let spec = RunSpec {
        commands: vec!["sort -n{n} x1".into(), "other {n}".into()],
        arms: ArmOptions {
            parameter_lists: vec!["n".into(), "10,1,100".into()],
            ..ArmOptions::default()
        },
        ..RunSpec::default()
    };
    let data = data(&[with_rows(from_spec(spec), 3, |arm, block| {
        1_000_000 * u64::from(arm + 1) + u64::from(block)
    })]);
    let scan = data.groups[0].scan.as_ref().unwrap();
    assert!(scan.is_numeric && scan.parameter == "n");
    let labels: Vec<&str> = scan.series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!(labels, ["sort -n{n} x1", "other {n}"]);
    for series in &scan.series {
        let values: Vec<&str> = series.points.iter().map(|point| point.value.as_str()).collect();
        assert_eq!(values, ["1", "10", "100"]);
    }
}

#[test]
fn several_records_share_a_scale() {
    let wall =
        |arm, block| 10_000_000 + u64::from(block * 7 % 5) * 100_000 + u64::from(arm) * 1_000_000;
    let slow = |arm, block| 2 * wall(arm, block);
    let records =
        [with_rows(record(&["./old", "./new"]), 12, wall), with_rows(record(&["./old"]), 12, slow)];
    let data = data(&records);
    let together = data.together.as_ref().unwrap();
    assert_eq!(together.series, [[0, 0], [0, 1], [1, 0]]);
    let counted: Vec<u32> =
        together.histogram.counts.iter().map(|counts| counts.iter().sum()).collect();
    assert_eq!(
        counted.iter().zip(&together.histogram.n_above).map(|(a, b)| a + b).collect::<Vec<_>>(),
        [12, 12, 12]
    );
    let [same] = &data.same_names[..] else { panic!("{:?}", data.same_names) };
    assert_eq!((same.arm, same.reference), ([1, 0], [0, 0]));
    let Evidence::Unpaired { ratio, .. } = &same.evidence else { panic!("{same:?}") };
    assert!((ratio.value - 2.0).abs() < 0.01);
}
