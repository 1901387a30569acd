//! The best value of a parameter for each choice of the others.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::comparison::Comparison;
use crate::ranking::Ranking;
use crate::summary::ArmSummary;
use record::plan::{Arm, Plan};

/// The best values of one parameter, or the best commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BestChoices {
    /// The parameter, several that change together (`size, file`), or `command`.
    pub of: String,
    /// The parameters that stay the same within a group.
    pub for_each: String,
    /// One choice for each combination of their values.
    pub choices: Vec<BestChoice>,
}

/// The best of the arms that differ in one parameter alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BestChoice {
    /// The values of the parameters that stay the same: `size=1M, jobs=2`.
    pub at: String,
    /// The arms that may be the best, the fastest first. A single one is the best beyond doubt, by the intervals of the
    /// comparisons with the reference.
    pub arms: Vec<usize>,
    /// The values of these arms.
    pub values: Vec<String>,
    /// The number of arms among which they are.
    pub among: usize,
}

/// What arms can differ in: its name, and the value of each arm.
#[derive(Debug)]
struct Axis {
    name: String,
    values: Vec<String>,
    /// The values with the names of the parameters.
    named: Vec<String>,
}

impl Axis {
    /// The first arm with the same value, of each arm.
    fn classes(&self) -> Vec<usize> {
        let mut first = HashMap::new();
        let values = self.values.iter().enumerate();
        values.map(|(arm, value)| *first.entry(value).or_insert(arm)).collect()
    }
}

/// The best choices of a scan of several parameters, or of several commands along one. Arms without parameters are left
/// out: `--reference` may be one.
pub(super) fn best(
    plan: &Plan,
    summaries: &[ArmSummary],
    comparisons: &[Comparison],
) -> Vec<BestChoices> {
    if plan.has_benchmarks() || comparisons.is_empty() {
        return Vec::new();
    }
    let arms: Vec<(usize, &Arm)> =
        plan.candidates().filter(|(_, arm)| !arm.parameters.is_empty()).collect();
    let axes = axes(&arms);
    let several_commands = axes.last().is_some_and(|axis| axis.name == COMMAND);
    let mut found = Vec::new();
    for (index, axis) in axes.iter().enumerate() {
        // The values of a parameter are compared for one command: the table of several would be too long to read.
        if several_commands && axis.name != COMMAND {
            continue;
        }
        let others: Vec<&Axis> =
            axes.iter().enumerate().filter(|(other, _)| *other != index).map(|it| it.1).collect();
        let has_times = |&place: &usize| summaries[arms[place].0].times.is_some();
        let mut groups = groups(&others, arms.len());
        groups.retain(|(_, group)| group.len() > 1 && group.iter().all(has_times));
        if others.is_empty() || groups.is_empty() {
            continue;
        }
        let choice = |(at, group): (String, Vec<usize>)| {
            let of_group: Vec<usize> = group.iter().map(|&place| arms[place].0).collect();
            let ranking = Ranking::among(summaries, comparisons, plan, &of_group);
            let best = ranking.order.first().into_iter().chain(&ranking.close).copied();
            let best: Vec<usize> = best.collect();
            let value = |arm: &usize| {
                let place = group.iter().find(|&&place| arms[place].0 == *arm);
                place.map_or_else(String::new, |&place| axis.values[place].clone())
            };
            BestChoice {
                at,
                values: best.iter().map(value).collect(),
                arms: best,
                among: group.len(),
            }
        };
        let for_each: Vec<&str> = others.iter().map(|other| &*other.name).collect();
        found.push(BestChoices {
            of: axis.name.clone(),
            for_each: for_each.join(", "),
            choices: groups.into_iter().map(choice).collect(),
        });
    }
    found
}

const COMMAND: &str = "command";

/// The arms that have the same values on all of these axes, with the values.
fn groups(axes: &[&Axis], n_arms: usize) -> Vec<(String, Vec<usize>)> {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    let mut known: HashMap<Vec<&str>, usize> = HashMap::new();
    for arm in 0..n_arms {
        let values: Vec<&str> = axes.iter().map(|axis| &*axis.named[arm]).collect();
        let joined = values.join(", ");
        let group = *known.entry(values).or_insert_with(|| {
            groups.push((joined, Vec::new()));
            groups.len() - 1
        });
        groups[group].1.push(arm);
    }
    groups
}

/// The parameters with several values, and the command if there are several. Parameters that change together are one.
fn axes(arms: &[(usize, &Arm)]) -> Vec<Axis> {
    let Some((_, first)) = arms.first() else { return Vec::new() };
    let mut axes: Vec<Axis> = Vec::new();
    for (index, (name, _)) in first.parameters.iter().enumerate() {
        let value = |(_, arm): &(usize, &Arm)| arm.parameters.get(index).map(|it| it.1.clone());
        let values: Option<Vec<String>> = arms.iter().map(value).collect();
        let Some(values) = values else { return Vec::new() };
        let named = values.iter().map(|value| format!("{name}={value}")).collect();
        let axis = Axis { name: name.clone(), values, named };
        let classes = axis.classes();
        if classes.iter().all(|&class| class == 0) {
            continue;
        }
        match axes.iter_mut().find(|other| other.classes() == classes) {
            Some(other) => {
                other.name = format!("{}, {name}", other.name);
                let append = |texts: &mut [String], more: Vec<String>| {
                    texts
                        .iter_mut()
                        .zip(more)
                        .for_each(|(text, more)| *text += &format!(", {more}"));
                };
                append(&mut other.values, axis.values);
                append(&mut other.named, axis.named);
            }
            None => axes.push(axis),
        }
    }
    // Arms with the same parameters differ in the command.
    let assignments: HashSet<_> = arms.iter().map(|(_, arm)| &arm.parameters).collect();
    if assignments.len() < arms.len() {
        let values: Vec<String> = arms.iter().map(|(_, arm)| arm.label().to_owned()).collect();
        axes.push(Axis { name: COMMAND.into(), named: values.clone(), values });
    }
    axes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Evidence;
    use crate::fixture::{no_runs, paired, times};
    use model::spec::RunSpec;
    use record::fixture::from_spec;

    /// The best choices in words, where the ratios of the arms to the first one are these, ± 1 %.
    fn found(commands: &[&str], lists: &[&str], zip: bool, ratios: &[f64]) -> Vec<String> {
        let mut spec = RunSpec {
            commands: commands.iter().map(|&it| it.into()).collect(),
            ..RunSpec::default()
        };
        spec.arms.parameter_lists = lists.iter().map(|&it| it.into()).collect();
        spec.arms.zip = zip;
        let plan = from_spec(spec).header.plan;
        assert_eq!(plan.candidates().count(), ratios.len());
        let comparison = |(arm, &ratio): (usize, &f64)| {
            let found = paired(ratio, ratio * 0.99, ratio * 1.01);
            Comparison { arm, reference: 0, evidence: Evidence::Paired(found) }
        };
        let comparisons: Vec<Comparison> =
            ratios.iter().enumerate().skip(1).map(comparison).collect();
        let words = |found: BestChoices| {
            let choice =
                |it: &BestChoice| format!("{} {} of {}", it.at, it.values.join("|"), it.among);
            let choices: Vec<String> = found.choices.iter().map(choice).collect();
            format!("{} by {}: {}", found.of, found.for_each, choices.join("; "))
        };
        let summary = |arm| ArmSummary { arm, times: Some(times(1.0, 0.1)), ..no_runs() };
        let summaries: Vec<ArmSummary> = (0..plan.arms.len()).map(summary).collect();
        best(&plan, &summaries, &comparisons).into_iter().map(words).collect()
    }

    #[test]
    fn each_value_of_a_parameter_has_its_best_of_the_other() {
        let lists = ["a", "1,2", "b", "x,y"];
        // 1x 2x 1y 2y
        assert_eq!(
            found(&["p {a} {b}"], &lists, false, &[1.0, 1.2, 1.5, 1.505]),
            ["a by b: b=x 1 of 2; b=y 1|2 of 2", "b by a: a=1 x of 2; a=2 x of 2"]
        );
        // Parameters that change together are one, and alone they leave no choice.
        assert!(found(&["p {a} {b}"], &lists, true, &[1.0, 1.2]).is_empty());
        assert_eq!(
            found(
                &["p {a} {b} {c}"],
                &["a,b", "1,x,2,y", "c", "3,4"],
                false,
                &[1.0, 0.5, 2.0, 3.0]
            ),
            [
                "a, b by c: c=3 2, y of 2; c=4 1, x of 2",
                "c by a, b: a=1, b=x 3 of 2; a=2, b=y 3 of 2"
            ]
        );
    }

    #[test]
    fn several_commands_have_the_best_of_them_for_each_value() {
        assert_eq!(
            found(&["p {a}", "q {a}"], &["a", "1,2"], false, &[1.0, 0.9, 2.0, 3.0]),
            ["command by a: a=1 q 1 of 2; a=2 p 2 of 2"]
        );
        assert!(found(&["p {a}"], &["a", "1,2"], false, &[1.0, 0.9]).is_empty());
        assert!(found(&["p", "q"], &[], false, &[1.0, 0.9]).is_empty());
    }
}
