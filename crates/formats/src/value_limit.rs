//! A limit on the values kept of a file, so that a log of any length fits into memory.

use crate::{BenchmarkValues, Results};

/// Values that a benchmark may always keep.
const FEW: usize = 1000;

/// The values so far. Above the limit, a benchmark with many values keeps every second one.
#[derive(Default)]
pub(crate) struct ValueLimit {
    max: Option<usize>,
    n_kept: usize,
    strides: Vec<Stride>,
}

#[derive(Clone)]
struct Stride {
    every: u64,
    n_seen: u64,
}

impl ValueLimit {
    pub(crate) fn new(max: Option<usize>) -> Self {
        Self { max, n_kept: 0, strides: Vec::new() }
    }

    pub(crate) fn keeps(&mut self, benchmark: usize) -> bool {
        if self.strides.len() <= benchmark {
            self.strides.resize(benchmark + 1, Stride { every: 1, n_seen: 0 });
        }
        let stride = &mut self.strides[benchmark];
        let is_kept = stride.n_seen.is_multiple_of(stride.every);
        stride.n_seen += 1;
        self.n_kept += usize::from(is_kept);
        is_kept
    }

    pub(crate) fn is_reached(&self) -> bool {
        self.max.is_some_and(|max| self.n_kept >= max)
    }

    pub(crate) fn halve<'a>(&mut self, all: impl Iterator<Item = &'a mut BenchmarkValues>) {
        self.n_kept = 0;
        for (benchmark, stride) in all.zip(&mut self.strides) {
            if benchmark.values.len() >= FEW {
                benchmark.halve();
                stride.every *= 2;
            }
            self.n_kept += benchmark.values.len();
        }
        // Benchmarks with few values keep them all.
        self.max = self.max.map(|max| max.max(2 * self.n_kept));
    }

    /// Notes what was left out.
    pub(crate) fn note(&self, results: &mut Results) {
        let thinned = || self.strides.iter().filter(|stride| stride.every > 1);
        if let Some(most) = thinned().map(|stride| stride.every).max() {
            let n_seen: u64 = self.strides.iter().map(|stride| stride.n_seen).sum();
            results.note(format!(
                "the file has {n_seen} values: one in {most} of the {} largest benchmarks is read, evenly, to bound the \
                 memory; `convert` reads them all",
                thinned().count()
            ));
        }
    }
}
