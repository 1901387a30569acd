use super::*;
use crate::units::UnitKind;

fn chart(points: Vec<[f64; 2]>, is_stepped: bool) -> TerminalChart {
    let unit = DisplayUnit::named(UnitKind::Time, "ms").unwrap();
    let axis = |label: &str, ends, unit| Axis { label: label.into(), ends, is_log: false, unit };
    TerminalChart {
        title: "what it is".into(),
        series: vec![ChartSeries { number: 3, label: "./prog".into(), points, is_stepped }],
        x: axis("block", [0.0, 10.0], DisplayUnit::ONE),
        y: axis("value", [1e6, 3e6], unit),
    }
}

fn plain(chart: &TerminalChart, marks: Marks) -> String {
    let text = text(chart, ChartSize { columns: 40, lines: 5, marks });
    let text = anstream::adapter::strip_str(&text).to_string();
    assert!(text.lines().all(|line| width(line) <= 40), "{text}");
    text
}

#[test]
fn points_are_where_they_belong() {
    let points = vec![[0.0, 1e6], [5.0, 2e6], [10.0, 3e6], [7.0, 9e6]];
    insta::assert_snapshot!(plain(&chart(points.clone(), false), Marks::Digits));
    insta::assert_snapshot!(plain(&chart(points, false), Marks::Braille));
}

#[test]
fn steps_are_joined() {
    let points = vec![[0.0, 1e6], [4.0, 1.5e6], [8.0, 3e6], [10.0, 3e6]];
    insta::assert_snapshot!(plain(&chart(points, true), Marks::Digits));
}

#[test]
fn a_terminal_without_unicode_gets_none() {
    let text = ascii(&plain(&chart(vec![[1.0, 2e6]], false), Marks::Digits));
    assert!(text.is_ascii(), "{text}");
    assert_eq!(ascii("│█▌ 3 … µs"), "|## 3 ~ us");
}

#[test]
fn equal_values_and_none_are_drawn() {
    let mut equal = chart(vec![[2.0, 5.0]], false);
    equal.y.ends = [5.0, 5.0];
    assert!(plain(&equal, Marks::Digits).matches('3').count() >= 2);
    let mut log = chart(vec![[2.0, 0.0], [3.0, 1e7]], false);
    log.y.is_log = true;
    log.y.ends = [1e6, 1e8];
    assert!(plain(&log, Marks::Digits).contains("10.0"));
    plain(&chart(Vec::new(), true), Marks::Braille);
}
