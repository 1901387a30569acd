//! Arms along a parameter, grouped into curves.

use serde::Serialize;

use record::plan::{Arm, Plan};

const POINTS_MIN: usize = 3;

/// The arms of a group along one of their parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scan {
    pub parameter: String,
    /// Whether the values are numbers. Otherwise they are in the order of the command line.
    pub is_numeric: bool,
    /// One curve for each command and each choice of the other parameters.
    pub series: Vec<ScanSeries>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScanSeries {
    /// The command with the parameter's name instead of its value, and the other parameters.
    pub label: String,
    /// The points, in the order of the plan or of the numbers.
    pub points: Vec<ScanPoint>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScanPoint {
    /// The parameter's value as given.
    pub value: String,
    pub number: Option<f64>,
    /// Index of the arm in the group.
    pub arm: usize,
}

fn value<'a>(arm: &'a Arm, parameter: &str) -> Option<&'a str> {
    let mut parameters = arm.parameters.iter();
    parameters.find(|(name, _)| name == parameter).map(|(_, value)| value.as_str())
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The curves along the first parameter with numbers, or else the first with enough values.
pub(super) fn scan(plan: &Plan, arms: &[usize]) -> Option<Scan> {
    let arms: Vec<&Arm> = arms.iter().map(|&arm| &plan.arms[arm]).collect();
    let names = || arms.first().map(|arm| arm.parameters.iter()).into_iter().flatten();
    let n_values = |name: &str| {
        let mut values: Vec<&str> = arms.iter().filter_map(|arm| value(arm, name)).collect();
        values.sort_unstable();
        values.dedup();
        values.len()
    };
    let is_numeric =
        |name: &str| arms.iter().all(|arm| value(arm, name).and_then(number).is_some());
    let long = || names().map(|(name, _)| name).filter(|name| n_values(name) >= POINTS_MIN);
    let parameter = long().find(|name| is_numeric(name)).or_else(|| long().next())?.clone();
    let mut series = curves(&arms, &parameter);
    let is_numeric = is_numeric(&parameter);
    if is_numeric {
        let number = |point: &ScanPoint| point.number.unwrap_or(0.0);
        for series in &mut series {
            series.points.sort_by(|a, b| number(a).total_cmp(&number(b)));
        }
    }
    Some(Scan { parameter, is_numeric, series })
}

/// The curves along a parameter. A command has each value once for each choice of the other parameters, so the n-th arm
/// with a value belongs to the n-th command.
fn curves(arms: &[&Arm], parameter: &str) -> Vec<ScanSeries> {
    let others = |arm: &Arm| -> Vec<(String, String)> {
        arm.parameters.iter().filter(|(name, _)| name != parameter).cloned().collect()
    };
    let mut curves: Vec<(Vec<(String, String)>, ScanSeries)> = Vec::new();
    for (index, arm) in arms.iter().enumerate() {
        let Some(value) = value(arm, parameter) else { continue };
        let point = ScanPoint { value: value.into(), number: number(value), arm: index };
        let is_new = |series: &ScanSeries| series.points.iter().all(|it| it.value != point.value);
        let others = others(arm);
        match curves.iter_mut().find(|(other, series)| *other == others && is_new(series)) {
            Some((_, series)) => series.points.push(point),
            None => curves.push((others, ScanSeries { label: String::new(), points: vec![point] })),
        }
    }
    let named = curves.into_iter().map(|(_, mut series)| {
        let points = series.points.iter();
        let labels: Vec<String> =
            points.map(|point| label(arms[point.arm], parameter, &point.value)).collect();
        // A value that also occurs elsewhere in a command makes its label differ. Most labels agree.
        let votes = |label: &&String| labels.iter().filter(|other| other == label).count();
        series.label = labels.iter().rev().max_by_key(votes).cloned().unwrap_or_default();
        series
    });
    named.collect()
}

/// The command without the parameter's value, and the other parameters.
fn label(arm: &Arm, parameter: &str, value: &str) -> String {
    let braced = format!("{{{parameter}}}");
    let is_digit = |char: char| char.is_ascii_digit() || char == '.';
    let text = arm.label();
    let mut label = String::with_capacity(text.len());
    let mut from = 0;
    for (at, found) in text.match_indices(value) {
        // 1 is no part of 10.
        let before = text[..at].chars().next_back().is_some_and(is_digit);
        let after = text[at + found.len()..].chars().next().is_some_and(is_digit);
        let is_whole = number(value).is_none() || !(before || after);
        if at >= from && is_whole && !value.is_empty() {
            label.push_str(&text[from..at]);
            label.push_str(&braced);
            from = at + found.len();
        }
    }
    label.push_str(&text[from..]);
    let others = arm.parameters.iter().filter(|(name, _)| name != parameter);
    for (name, value) in others {
        label.push_str(&format!(" · {name} = {value}"));
    }
    label
}
