//! Other differences between files with the same benchmarks: machines, interpreters, numbers of processors.

use std::collections::{BTreeSet, HashMap, HashSet};

use formats::{BenchmarkValues, Results, edit};
use schemars::JsonSchema;
use serde::Serialize;

/// A benchmark of Go that was measured with another number of processors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OtherProcessors {
    /// Name in the first file.
    pub reference: String,
    /// Index of the other file.
    pub file: usize,
    /// Name in it.
    pub other: String,
}

/// A difference in metadata that should be equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// Index of the file.
    pub file: usize,
    /// Key of the metadata.
    pub key: &'static str,
    /// Value in the first file.
    pub reference: String,
    /// Value in this file.
    pub other: String,
}

/// Metadata that change the meaning of a time.
const TELLING: [&str; 9] = [
    "hostname",
    "cpu_model_name",
    "cpu_count",
    "platform",
    "python_implementation",
    "python_version",
    "aslr",
    "cpu_affinity",
    "cpu_governors",
];

/// Metadata in which the other files differ from the first.
pub(super) fn differences(files: &[&Results]) -> Vec<Difference> {
    let said = |file: &Results, key: &str| -> BTreeSet<String> {
        let of = |it: &BenchmarkValues| {
            let in_launch = |launch: formats::LaunchView<'_>| {
                launch.info.metadata.as_ref()?.get(key).map(ToString::to_string)
            };
            let outer = it.metadata.get(key).or_else(|| file.metadata.get(key));
            let outer = outer.map(ToString::to_string);
            outer.or_else(|| it.launches().next().and_then(in_launch))
        };
        file.benchmarks.iter().filter_map(of).collect()
    };
    let shown = |said: &BTreeSet<String>| said.iter().cloned().collect::<Vec<_>>().join(" and ");
    let mut differences = Vec::new();
    let Some((first, others)) = files.split_first() else { return differences };
    for (index, other) in others.iter().enumerate() {
        for key in TELLING {
            let (reference, other) = (said(first, key), said(other, key));
            if reference != other && !reference.is_empty() && !other.is_empty() {
                let (reference, other) = (shown(&reference), shown(&other));
                differences.push(Difference { file: index + 1, key, reference, other });
            }
        }
    }
    differences
}

/// Benchmarks that would have a partner if the number of processors were ignored.
pub(super) fn other_processors(
    files: &[&Results],
    labels: &[Vec<String>],
    alone: &[Vec<String>],
) -> Vec<OtherProcessors> {
    let of_file = |file: usize| {
        let all = files[file].benchmarks.iter().zip(&labels[file]);
        let is_alone: HashSet<&String> = alone[file].iter().collect();
        all.filter(move |(_, label)| is_alone.contains(label)).filter_map(|(it, label)| {
            let (name, parameters) = edit::without_processors(it)?;
            Some(((&it.group, name, parameters, &it.unit), label))
        })
    };
    let mut found = Vec::new();
    for file in 1..files.len() {
        let others: HashMap<_, _> = of_file(file).collect();
        found.extend(of_file(0).filter_map(|(key, reference)| {
            let (reference, other) = (reference.clone(), (*others.get(&key)?).clone());
            Some(OtherProcessors { reference, file, other })
        }));
    }
    found
}
