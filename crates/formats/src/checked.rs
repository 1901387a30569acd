//! The rules for all results, and the labels of their benchmarks.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, bail};

use crate::{BenchmarkValues, MetaValue, Results, SummaryStatistics, UnreadBenchmark};

/// Number of unreadable benchmarks that a note names.
const N_UNREAD_SHOWN: usize = 5;

impl Results {
    /// Takes out the benchmarks that no writer and no analysis can use, and notes them. Errors: no benchmark is left.
    pub fn checked(mut self) -> Result<Self> {
        self.number_duplicates();
        let mut place_of = Vec::with_capacity(self.benchmarks.len());
        let mut kept = Vec::with_capacity(self.benchmarks.len());
        for (index, mut benchmark) in std::mem::take(&mut self.benchmarks).into_iter().enumerate() {
            benchmark.fill_extras();
            place_of.push(u32::try_from(kept.len()).ok());
            match mistake(&benchmark) {
                None => kept.push(benchmark),
                Some(why) => {
                    place_of[index] = None;
                    let name = benchmark.name.trim();
                    let name = if name.is_empty() {
                        format!("benchmark {}", index + 1)
                    } else {
                        name.into()
                    };
                    self.unread.push(UnreadBenchmark { name, line: None, why: why.into() });
                }
            }
        }
        self.benchmarks = kept;
        let names: HashSet<&str> = self.benchmarks.iter().map(|it| &*it.name).collect();
        for unread in self.unread.iter_mut().filter(|it| names.contains(&*it.name)) {
            // The benchmark's other results are kept.
            unread.name.insert_str(0, "a result of ");
        }
        let places = self.order.iter().filter_map(|&at| place_of[at as usize]);
        self.order = places.collect();
        self.unread_in_words().into_iter().for_each(|said| self.note(said));
        match (self.benchmarks.is_empty(), self.unread.first()) {
            (true, Some(first)) => bail!("{first}"),
            (true, None) => bail!("there is no benchmark in it"),
            (false, _) => Ok(self),
        }
    }

    /// Adds a benchmark, or notes that it cannot be read.
    pub(crate) fn take(
        &mut self,
        name: impl Into<String>,
        line: usize,
        read: Result<BenchmarkValues>,
    ) {
        match read {
            Ok(benchmark) => self.benchmarks.push(benchmark),
            Err(error) => self.unread(name.into(), line, format!("{error:#}")),
        }
    }

    /// Notes a benchmark that cannot be read.
    pub fn unread(&mut self, name: String, line: usize, why: String) {
        self.unread.push(UnreadBenchmark { name, line: Some(line), why });
    }

    /// Lines of text on the first benchmarks that could not be read, and how many more there are.
    pub fn unread_in_words(&self) -> Vec<String> {
        let shown = self.unread.iter().take(N_UNREAD_SHOWN).map(ToString::to_string);
        let n_more = self.unread.len().saturating_sub(N_UNREAD_SHOWN);
        let more = (n_more > 0).then(|| format!("{n_more} more are left out"));
        shown.chain(more).collect()
    }

    /// Numbers benchmarks that cannot be told apart.
    fn number_duplicates(&mut self) {
        let mut counts = HashMap::new();
        let mut twice = None;
        for benchmark in &mut self.benchmarks {
            let unit = benchmark.unit.clone();
            let key = (
                benchmark.group.clone(),
                benchmark.name.clone(),
                benchmark.parameters.clone(),
                unit,
            );
            let count = counts.entry(key).or_insert(0_usize);
            *count += 1;
            if *count > 1 {
                twice.get_or_insert_with(|| benchmark.name.clone());
                benchmark.name = format!("{} ({count})", benchmark.name);
            }
        }
        if let Some(name) = twice {
            self.note(format!("{name:?} is there more than once: its results are numbered"));
        }
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

    /// A unique label for each benchmark: its name if that is enough, else with group, parameters and unit.
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

/// Why a benchmark cannot be used.
fn mistake(benchmark: &BenchmarkValues) -> Option<&'static str> {
    let has_summary = benchmark.summary.is_some_and(|it| it != SummaryStatistics::default());
    if benchmark.name.trim().is_empty() {
        Some("it has no name")
    } else if benchmark.n_launches() == 0 && !has_summary {
        Some("it has neither values nor a summary")
    } else if !benchmark.is_finite() {
        Some("a value is too large")
    } else {
        None
    }
}
