use super::*;
use crate::fixture::{analysis, estimators, of_times, single, times};
use record::fixture::record;

#[track_caller]
fn check_width(text: &str) {
    assert!(text.lines().all(|line| width(line) <= COLUMNS), "{text}");
}

fn table(record: &Record, arms: &[ArmSummary]) -> String {
    stats(Statistics { record, arms, estimators: &estimators(arms), series: &[] })
}

#[test]
fn every_statistic_of_an_arm_and_its_control() {
    let record = record(&["a | b", "c"]);
    let mut arms = analysis(&record, &[1.25e6, 1.5e6, 0.61e6]).arms;
    arms[0].n_nonzero_exits = 3;
    insta::assert_snapshot!(table(&record, &arms));
}

#[test]
fn arms_that_do_not_fit_come_below() {
    let (long, wide) = ("a long command ".repeat(9), "日本語".repeat(20));
    let commands = [&long, "b", "c", "d", &wide, "f"];
    let record = record(&commands);
    let mut walls: Vec<_> = (1..6).map(|n| Some(times(f64::from(n) * 1e6))).collect();
    walls.push(None);
    let arms = of_times(&record, walls, 60).arms;
    let text = table(&record, &arms);
    check_width(&text);
    assert_eq!(text.matches("t0 [ms]").count(), 2, "{text}");
    assert_eq!(text.matches("(ref)").count(), 1, "{text}");
}

#[test]
fn one_run_has_no_errors() {
    let record = record(&["a"]);
    let arms = of_times(&record, vec![Some(single(5.0))], 1).arms;
    let text = table(&record, &arms);
    assert!(!text.contains("+-"), "{text}");
    let t0: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(t0, ["t0", "[ns]", "5"]);
}

#[test]
fn the_largest_value_chooses_the_unit() {
    let record = record(&["a"]);
    // The mean is 1002 µs, but t0 is below 1000 µs.
    let arms = analysis(&record, &[982_500.0]).arms;
    let text = table(&record, &arms);
    assert!(text.contains("t0 [ms]"), "{text}");
}

#[test]
fn what_could_not_be_told() {
    let record = record(&["a"]);
    let arms = analysis(&record, &[1e6]).arms;
    let mut estimators = estimators(&arms);
    let of_first = estimators[0].as_mut().unwrap();
    of_first.floor.is_finite = None;
    of_first.floor.g_star = None;
    let table_of = |estimators: &[Option<Estimators>]| {
        stats(Statistics { record: &record, arms: &arms, estimators, series: &[] })
    };
    let text = table_of(&estimators);
    assert!(text.contains("not tested"), "{text}");
    estimators[0].as_mut().unwrap().floor.is_finite = Some(false);
    let text = table_of(&estimators);
    let line = text.lines().find(|line| line.starts_with("has a floor")).unwrap();
    assert!(line.ends_with(" no"), "{text}");
}

#[test]
fn ten_thousand_arms() {
    let record = record(&vec!["a"; 10_000]);
    let arms = analysis(&record, &vec![1e6; 10_000]).arms;
    check_width(&table(&record, &arms));
}
