//! The launches of results, from rows.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use formats::{
    BenchmarkValues, CPU, Calibration, EXIT_CODE, LaunchInfo, MetaValue, Metadata, PEAK_MEMORY,
    ResultUnit,
};

use crate::convert::pyperf_facts::local_after;
use crate::launches::{LaunchSlice, SliceRule};
use model::values::metric::Metric;
use record::{Event, Record, Row, Rows};

/// With more runs, the times of each launch would need too much memory: a gigabyte for a million.
const TIMED_LAUNCHES_MAX: usize = 10_000;

/// Adds the launches of a record to its benchmarks.
pub(super) fn launches(made: &mut [Option<BenchmarkValues>], record: &Record) {
    let rule = SliceRule::of(&record.header.plan, None);
    let rows = record.slices.as_ref().unwrap_or(&record.rows);
    if record.events.iter().any(|event| matches!(event, Event::Launch { .. })) {
        by_event(made, record, rows, &rule);
    } else {
        by_block(made, record, rows, &rule);
    }
}

/// Restores the launches of an imported record. Each launch has a known number of rows.
fn by_event(made: &mut [Option<BenchmarkValues>], record: &Record, rows: &Rows, rule: &SliceRule) {
    let mut of_arm: Vec<Vec<usize>> = vec![Vec::new(); made.len()];
    (0..rows.len()).for_each(|index| of_arm[rows.arm(index)].push(index));
    let mut next = vec![0; made.len()];
    for event in &record.events {
        let Event::Launch { arm, n_warmups, n_values, loops, inner_loops, calibration, metadata } =
            event
        else {
            continue;
        };
        let arm = *arm as usize;
        let Some(benchmark) = made.get_mut(arm).and_then(Option::as_mut) else { continue };
        let from = next[arm];
        let n_rows = (n_warmups + n_values) as usize;
        next[arm] += n_rows;
        let indices = of_arm[arm].iter().skip(from).take(n_rows);
        for (at, &index) in indices.enumerate() {
            take(benchmark, &rows.row(index), rule, at < *n_warmups as usize);
        }
        benchmark.end_launch(LaunchInfo {
            loops: *loops,
            inner_loops: *inner_loops,
            calibration: *calibration,
            metadata: (!metadata.is_empty()).then(|| Box::new(metadata.clone())),
        });
    }
}

/// The launches of Stillwell's own sessions: the rows of one arm in one block. Warm-ups belong to the next launch.
/// Warm-ups before the first launch calibrated the loops.
fn by_block(made: &mut [Option<BenchmarkValues>], record: &Record, rows: &Rows, rule: &SliceRule) {
    let in_slices = record.header.plan.in_slices;
    let mut open: Vec<Option<OpenLaunch>> = vec![None; made.len()];
    let has_times = in_slices || rows.len() <= TIMED_LAUNCHES_MAX;
    let pilot: BTreeMap<usize, PilotProcess> = record
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Worker { arm, loops, n_slices, .. } if in_slices => {
                Some((*arm as usize, PilotProcess { loops: *loops, n_slices: *n_slices as usize }))
            }
            _ => None,
        })
        .collect();
    let close = |benchmark: &mut BenchmarkValues, arm: usize, ended: &OpenLaunch| {
        let metadata = has_times.then(|| ended.metadata(&record.header.created));
        let inner_loops = record.header.plan.arms[arm].inner_loops;
        end_own(benchmark, pilot.get(&arm), inner_loops, metadata);
    };
    for index in 0..rows.len() {
        let arm = rows.arm(index);
        let Some(benchmark) = made[arm].as_mut() else { continue };
        let block = rows.block(index);
        // Each run is a process. With slices, each block is one, together with the warm-ups before it.
        let is_over = |it: &mut OpenLaunch| it.block.is_some() && (!in_slices || it.block != block);
        if let Some(ended) = open[arm].take_if(is_over) {
            close(benchmark, arm, &ended);
        }
        let row = rows.row(index);
        take(benchmark, &row, rule, block.is_none());
        open[arm].get_or_insert_with(|| OpenLaunch::of(&row)).take(block, &row);
    }
    for (arm, (benchmark, ended)) in made.iter_mut().zip(open).enumerate() {
        if let (Some(benchmark), Some(ended)) = (benchmark, ended) {
            close(benchmark, arm, &ended);
        }
    }
}

#[derive(Clone, Debug)]
struct OpenLaunch {
    /// `None` during the warm-up.
    block: Option<usize>,
    started_ns: u64,
    ended_ns: u64,
    maxrss_kib: Option<u64>,
}

impl OpenLaunch {
    fn of(row: &Row) -> Self {
        Self { block: None, started_ns: row.started_ns, ended_ns: 0, maxrss_kib: None }
    }

    fn take(&mut self, block: Option<usize>, row: &Row) {
        self.block = block;
        self.ended_ns = row.started_ns.saturating_add(row.get(Metric::WallNs).unwrap_or(0));
        self.maxrss_kib = self.maxrss_kib.max(row.get(Metric::MaxrssKib));
    }

    /// Time and peak memory under pyperf's names.
    fn metadata(&self, created: &str) -> Metadata {
        let mut metadata = Metadata::new();
        let date = local_after(created, self.started_ns);
        metadata.extend(date.map(|date| ("date".to_owned(), date.as_str().into())));
        let duration_s = self.ended_ns.saturating_sub(self.started_ns) as f64 / 1e9;
        metadata.insert("duration".into(), MetaValue::Float(duration_s));
        let bytes = self.maxrss_kib.and_then(|kib| i64::try_from(kib.checked_mul(1024)?).ok());
        metadata.extend(bytes.map(|bytes| ("mem_max_rss".to_owned(), MetaValue::Int(bytes))));
        metadata
    }
}

/// The process that found the loops of an arm, before the first block.
struct PilotProcess {
    loops: u64,
    n_slices: usize,
}

/// Ends a launch of Stillwell's own session. The first slices of an arm come from its pilot process.
fn end_own(
    benchmark: &mut BenchmarkValues,
    pilot: Option<&PilotProcess>,
    inner_loops: u64,
    metadata: Option<Metadata>,
) {
    let info = LaunchInfo { inner_loops: above_one(inner_loops), ..LaunchInfo::default() };
    let calibration = pilot.and_then(|pilot| NonZeroU64::new(pilot.loops)).map(Calibration::Loops);
    if let Some(pilot) = pilot.filter(|pilot| pilot.n_slices > 0 && benchmark.n_launches() == 0) {
        let n_pilot = pilot.n_slices.min(benchmark.warmups.len());
        let own = benchmark.warmups.split_off(n_pilot);
        let (values, counts) =
            (std::mem::take(&mut benchmark.values), std::mem::take(&mut benchmark.loops));
        benchmark.end_launch(LaunchInfo { calibration, ..info.clone() });
        (benchmark.values, benchmark.loops) = (values, counts);
        benchmark.warmups.extend(own);
    }
    // If all its values have the same loops, the launch gets that number.
    let from = benchmark.n_ended().0.min(benchmark.loops.len());
    let loops = match &benchmark.loops[from..] {
        [loops, rest @ ..] if rest.iter().all(|other| other == loops) => above_one(*loops),
        _ => None,
    };
    benchmark.end_launch(LaunchInfo { loops, metadata: metadata.map(Box::new), ..info });
}

fn above_one(loops: u64) -> Option<NonZeroU64> {
    NonZeroU64::new(loops).filter(|loops| loops.get() > 1)
}

fn take(benchmark: &mut BenchmarkValues, row: &Row, rule: &SliceRule, is_warmup: bool) {
    let slice = rule.slice(row).filter(|_| row.is_time());
    let Some(LaunchSlice { loops, value }) = slice else { return };
    if is_warmup {
        benchmark.warmups.push((loops, value));
        return;
    }
    benchmark.values.push(value);
    benchmark.loops.push(loops);
    if let Some(cpu_ns) = row.get(Metric::CpuNs) {
        let per_loop = cpu_ns as f64 / loops as f64 / rule.inner_loops(row.arm) as f64;
        benchmark.push_extra(CPU, &ResultUnit::Time, per_loop);
    }
    if let Some(kib) = row.get(Metric::MaxrssKib) {
        benchmark.push_extra(PEAK_MEMORY, &ResultUnit::Bytes, kib as f64 * 1024.0);
    }
    if row.exit != 0 {
        benchmark.push_extra(EXIT_CODE, &ResultUnit::Count, row.exit.into());
    }
}
