//! Results of other programs as a record that claims no more certainty than the file has.
//!
//! A benchmark becomes an arm, a launch a block, a value a row. The values of one launch are slices.

use anyhow::{Context as _, Result, ensure};
use formats::{
    BenchmarkValues, CPU, EXIT_CODE, LaunchView, MetaValue, Metadata, PEAK_MEMORY, ResultUnit,
    Results,
};

use crate::convert::base_unit;
use host::{Facts, Gap};
use model::values::metric::Metric;
use record::plan::{Arm, ImportedArms, Plan, Role, plan_of_imported};
use record::{
    EndReason, Event, FORMAT, Header, ImportedBenchmark, ImportedFile, Layout, Record, Row, Rows,
    VERSION,
};

/// Data for a record beyond the file's content.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// File name as given.
    pub file: String,
    /// Format, as in `--from`.
    pub from: String,
    /// Creation time of the file, RFC 3339.
    pub created: String,
    pub command_line: Vec<String>,
    /// Number of warm-up runs at the beginning of each command.
    pub n_warmups: u32,
    /// The reference, if it is not the first arm.
    pub reference: Option<String>,
    /// Whether every value is a separate run: no values are summarised together.
    pub is_flat: bool,
    /// Whether to keep the source's data on each launch.
    pub with_launches: bool,
}

/// Converts results to a record. Errors: there is no value, a command has only warm-ups, or the reference does not
/// exist.
pub fn record(results: &Results, options: &ImportOptions) -> Result<Record> {
    let n_values: usize = results.benchmarks.iter().map(|it| it.values.len()).sum();
    let has_summary = results.benchmarks.iter().any(|it| it.summary.is_some());
    ensure!(
        n_values > 0,
        "there are no values in it, only {}: a record needs the values themselves; `show` has what there is, as text",
        if has_summary { "summaries" } else { "warm-ups" }
    );
    let arm_of = arms_of(results);
    let plan = plan(results, &arm_of, options)?;
    let mut made =
        RecordBuilder { options, rows: Rows::default(), events: Vec::new(), started_ns: 0 };
    made.all(results, &arm_of)?;
    let RecordBuilder { rows, mut events, .. } = made;
    events.push(Event::End { reason: EndReason::Complete });
    let layout = layout(&rows);
    let header = Header {
        format: FORMAT.into(),
        version: VERSION,
        tool: concat!("stillwell ", env!("CARGO_PKG_VERSION")).into(),
        created: options.created.clone(),
        command_line: options.command_line.clone(),
        defaults: Vec::new(),
        clock_origin_ns: 0,
        columns: layout.names(),
        facts: facts(results),
        gaps: vec![gap(&options.file)],
        isolation: None,
        imported: Some(imported(results, &arm_of, options)),
        plan,
    };
    let path = options.file.clone().into();
    let (parts, not_begun) = (Vec::new(), Vec::new());
    Ok(Record { path, header, rows, slices: None, events, torn_bytes: 0, parts, not_begun })
}

fn layout(rows: &Rows) -> Layout {
    let metrics: Vec<Metric> = model::values::metric::METRICS
        .iter()
        .map(|info| info.metric)
        .filter(|&metric| rows.has(metric))
        .collect();
    let layout = Layout::new(&metrics);
    if rows.has_own() { layout.with_value() } else { layout }
}

fn gap(file: &str) -> Gap {
    Gap {
        what: "facts about the machine".into(),
        why: format!("the values are from {file}, which has only those that are there"),
        fix: "measure with stillwell run, timeit or bench".into(),
    }
}

/// The arm of each benchmark; controls come last.
pub(crate) fn arms_of(results: &Results) -> Vec<usize> {
    let mut in_order: Vec<usize> = (0..results.benchmarks.len()).collect();
    in_order.sort_by_key(|&at| results.benchmarks[at].is_control);
    let mut arm_of = vec![0; in_order.len()];
    in_order.into_iter().enumerate().for_each(|(arm, at)| arm_of[at] = arm);
    arm_of
}

fn facts(results: &Results) -> Facts {
    let said = |key: &str| results.agreed(key)?.text().map(str::to_owned);
    Facts { host: said("hostname"), cpu_model: said("cpu_model_name"), ..Facts::default() }
}

fn imported(results: &Results, arm_of: &[usize], options: &ImportOptions) -> ImportedFile {
    let mut benchmarks = vec![ImportedBenchmark::default(); arm_of.len()];
    for (benchmark, &arm) in results.benchmarks.iter().zip(arm_of) {
        let unit_name = match &benchmark.unit {
            ResultUnit::Other(name) => Some(name.clone()),
            ResultUnit::Time | ResultUnit::Bytes | ResultUnit::Count => None,
        };
        benchmarks[arm] = ImportedBenchmark {
            name: benchmark.name.clone(),
            group: benchmark.group.clone(),
            unit_name,
            metadata: finite(&benchmark.metadata),
            summary: benchmark.summary,
        };
    }
    ImportedFile {
        file: options.file.clone(),
        from: options.from.clone(),
        tool: results.tool.clone(),
        notes: results.notes.clone(),
        metadata: finite(&results.metadata),
        benchmarks,
    }
}

/// Drops numbers that JSON cannot have.
fn finite(metadata: &Metadata) -> Metadata {
    let is_finite = |value: &MetaValue| !matches!(value, MetaValue::Float(x) if !x.is_finite());
    let kept = metadata.iter().filter(|(_, value)| is_finite(value));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn plan(results: &Results, arm_of: &[usize], options: &ImportOptions) -> Result<Plan> {
    let n_blocks = results.benchmarks.iter().map(BenchmarkValues::n_launches).max().unwrap_or(1);
    let labels = results.labels();
    let mut arms = vec![Arm::bare("", Role::Candidate); arm_of.len()];
    for ((benchmark, label), &at) in results.benchmarks.iter().zip(&labels).zip(arm_of) {
        arms[at] = arm(results, benchmark, label);
    }
    let has_slices = |it: &BenchmarkValues| it.values.len() > n_with_values(it);
    let is_it = |arm: &Arm, name: &str| {
        arm.role == Role::Candidate && [arm.label(), &arm.command].contains(&name)
    };
    let reference = options.reference.as_deref().map_or(Ok(0), |name| {
        let index = arms.iter().position(|arm| is_it(arm, name));
        index.with_context(|| format!("--reference {name:?} is none of its commands"))
    })?;
    plan_of_imported(ImportedArms {
        arms,
        n_warmups: options.n_warmups,
        n_blocks: u32::try_from(n_blocks)?,
        in_slices: !options.is_flat && results.benchmarks.iter().any(has_slices),
        reference,
    })
}

fn n_with_values(benchmark: &BenchmarkValues) -> usize {
    benchmark.launches().filter(|launch| !launch.values.is_empty()).count()
}

fn arm(results: &Results, benchmark: &BenchmarkValues, label: &str) -> Arm {
    let role = if benchmark.is_control { Role::EmptyShell } else { Role::Candidate };
    let command = if benchmark.is_control { "" } else { label };
    let inner_loops = benchmark.launches().next().map_or(1, |launch| launch.inner_loops());
    Arm {
        name: (command != label).then(|| label.into()),
        benchmark: (!results.compares_commands()).then(|| label.into()),
        parameters: benchmark.parameters.clone(),
        unit: base_unit(&benchmark.unit),
        inner_loops,
        ..Arm::bare(command, role)
    }
}

struct RecordBuilder<'a> {
    options: &'a ImportOptions,
    rows: Rows,
    events: Vec<Event>,
    started_ns: u64,
}

impl RecordBuilder<'_> {
    fn all(&mut self, results: &Results, arm_of: &[usize]) -> Result<()> {
        for (benchmark, &arm) in results.benchmarks.iter().zip(arm_of) {
            let n_runs = n_with_values(benchmark);
            ensure!(
                self.options.n_warmups == 0 || n_runs > self.options.n_warmups as usize,
                "{:?} has {n_runs} runs, of which --warmup {} leaves none",
                if benchmark.is_control { "" } else { &benchmark.name },
                self.options.n_warmups
            );
            ensure!(benchmark.values.len() < u32::MAX as usize, "arm {arm} has too many values");
        }
        let mut launches: Vec<_> = results.benchmarks.iter().map(|it| it.launches()).collect();
        let mut n_done = vec![0; arm_of.len()];
        for at in launch_order(results) {
            if let Some(launch) = launches[at].next() {
                self.launch(&results.benchmarks[at], arm_of[at], launch, &mut n_done[at])?;
            }
        }
        Ok(())
    }

    /// `n_done`: earlier launches of this benchmark with values.
    fn launch(
        &mut self,
        benchmark: &BenchmarkValues,
        arm: usize,
        launch: LaunchView<'_>,
        n_done: &mut u32,
    ) -> Result<()> {
        let arm = u32::try_from(arm)?;
        if self.options.with_launches {
            self.events.push(Event::Launch {
                arm,
                n_warmups: u32::try_from(launch.warmups.len())?,
                n_values: u32::try_from(launch.values.len())?,
                loops: launch.info.loops,
                inner_loops: launch.info.inner_loops,
                calibration: launch.info.calibration,
                metadata: launch.info.metadata.as_deref().map(finite).unwrap_or_default(),
            });
        }
        let inner_loops = launch.inner_loops();
        for &(loops, value) in launch.warmups {
            self.value(benchmark, Row::new(0, arm, None, 0), value, loops, inner_loops)?;
        }
        if launch.values.is_empty() {
            return Ok(());
        }
        for (index, &value) in launch.values.iter().enumerate() {
            let at = launch.first_value + index;
            let loops = benchmark.loops.get(at).copied().unwrap_or_else(|| launch.loops());
            let block = if self.options.is_flat { u32::try_from(at)? } else { *n_done };
            let block = block.checked_sub(self.options.n_warmups);
            let mut row = Row::new(0, arm, block, 0);
            extras(&mut row, benchmark, at, loops.saturating_mul(inner_loops));
            self.value(benchmark, row, value, loops, inner_loops)?;
        }
        *n_done += 1;
        Ok(())
    }

    /// Stores the clock's time for all loops, and the value per loop if it differs.
    fn value(
        &mut self,
        benchmark: &BenchmarkValues,
        mut row: Row,
        value: f64,
        loops: u64,
        inner_loops: u64,
    ) -> Result<()> {
        row.step = u32::try_from(self.rows.len()).context("a record has less than 2^32 rows")?;
        row.started_ns = self.started_ns;
        let raw = value * loops as f64 * inner_loops as f64;
        let is_time = benchmark.unit == ResultUnit::Time;
        let whole = (is_time && (0.0..9e18).contains(&raw)).then(|| raw.round() as u64);
        row.set(Metric::WallNs, whole);
        if loops != 1 {
            row.set(Metric::Loops, Some(loops));
        }
        if !(is_time && loops == 1 && inner_loops == 1 && whole.map(|ns| ns as f64) == Some(value))
        {
            row.value = Some(value);
        }
        // The pauses between launches are unknown. JSON readers, and so records, have signed integers.
        let end_ns = self.started_ns.saturating_add(whole.unwrap_or(0));
        self.started_ns = end_ns.min(i64::MAX as u64);
        self.rows.push(&row);
        Ok(())
    }
}

/// Sets the other quantities that have a column in the record.
fn extras(row: &mut Row, benchmark: &BenchmarkValues, at: usize, loops: u64) {
    let of = |name: &str| benchmark.extra(name).and_then(|values| *values.get(at)?);
    let whole = |value: f64| (0.0..9e18).contains(&value).then(|| value.round() as u64);
    if let Some(code) = of(EXIT_CODE).filter(|code| (-64.0..256.0).contains(code)) {
        row.exit = code as i32;
    }
    row.set(Metric::MaxrssKib, of(PEAK_MEMORY).and_then(|bytes| whole(bytes / 1024.0)));
    row.set(Metric::CpuNs, of(CPU).and_then(|ns| whole(ns * loops as f64)));
}

/// The benchmark of each launch: in the order of measurement if that has all launches, else one benchmark after the other.
fn launch_order(results: &Results) -> Vec<usize> {
    let of_each = results.benchmarks.iter().map(BenchmarkValues::n_launches).enumerate();
    let in_turn: Vec<usize> = of_each.flat_map(|(at, n)| std::iter::repeat_n(at, n)).collect();
    let known: Vec<usize> = results.order.iter().map(|&at| at as usize).collect();
    let mut sorted = known.clone();
    sorted.sort_unstable();
    if sorted == in_turn { known } else { in_turn }
}
