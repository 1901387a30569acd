//! The rules for all results, and the labels of their benchmarks.

use std::collections::HashMap;

use anyhow::{Result, bail, ensure};

use crate::results::{BenchmarkValues, MetaValue, Results, SummaryStatistics};

impl Results {
    /// Refuses results that no writer and no analysis can use.
    ///
    /// # Errors
    /// There is no benchmark, a benchmark has no name or no values, or two benchmarks cannot be told apart.
    pub fn checked(mut self) -> Result<Self> {
        ensure!(!self.benchmarks.is_empty(), "there is no benchmark in it");
        let mut seen = HashMap::new();
        for (index, benchmark) in self.benchmarks.iter_mut().enumerate() {
            benchmark.fill_extras();
            let name = &benchmark.name;
            ensure!(!name.trim().is_empty(), "benchmarks[{index}]: it has no name");
            let has_summary =
                benchmark.summary.is_some_and(|it| it != SummaryStatistics::default());
            let is_empty = benchmark.n_launches() == 0 && !has_summary;
            ensure!(
                !is_empty,
                "benchmarks[{index}] ({name:?}): it has neither values nor a summary"
            );
            ensure!(benchmark.is_finite(), "benchmarks[{index}] ({name:?}): a value is too large");
            let key = (name.clone(), benchmark.parameters.clone(), benchmark.unit.clone());
            if let Some(first) = seen.insert(key, index) {
                bail!("benchmarks[{index}]: benchmarks[{first}] is called {name:?} as well");
            }
        }
        Ok(self)
    }

    /// The value of a key if it is the same in all benchmarks.
    pub fn agreed(&self, key: &str) -> Option<&MetaValue> {
        let mut all = self
            .benchmarks
            .iter()
            .map(|it| it.metadata.get(key).or_else(|| self.metadata.get(key)));
        let first = all.next()??;
        all.all(|value| value == Some(first)).then_some(first)
    }

    /// A unique label for each benchmark: its name if that is enough, otherwise with its parameters and its unit.
    pub fn labels(&self) -> Vec<String> {
        let mut labels: Vec<String> = self.benchmarks.iter().map(|it| it.name.clone()).collect();
        for longer in [BenchmarkValues::label, |it: &BenchmarkValues| {
            format!("{} ({})", it.label(), it.unit.name())
        }] {
            let mut counts: HashMap<&str, usize> = HashMap::new();
            labels.iter().for_each(|label| *counts.entry(label).or_default() += 1);
            let is_taken: Vec<bool> = labels.iter().map(|label| counts[&**label] > 1).collect();
            for (index, benchmark) in self.benchmarks.iter().enumerate() {
                if is_taken[index] {
                    labels[index] = longer(benchmark);
                }
            }
        }
        labels
    }

    /// Adds a note once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
