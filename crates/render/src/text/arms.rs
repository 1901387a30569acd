//! The block of one arm in the summary.

use std::fmt::Write as _;

use crate::columns::{COLUMNS, flow, shorten, wrap};
use crate::quantity::QuantityWords;
use crate::styles::paint;
use crate::text::SummaryContext;
use crate::units::{DisplayUnit, kind_of, percent, unit_of_metric};
use crate::{slow_tail, t0, uncertain};
use analysis::{
    ArmSummary, ComparedTime, InterruptionSummary, SLOW_TAIL, TimeSummary, UncertainValue,
    throughput,
};
use model::values::Clock;
use record::plan::Role;

const INDENT: usize = 3;
/// Smallest share of a run's time, taken by other programs, that gets a line.
const STALLS_SHOWN: f64 = 0.01;

/// Smallest difference of two times of one command that needs a word, as a share.
const FAR_FROM_TABLE: f64 = 0.01;

/// The plan's metrics except wall time, each with one unit for all arms.
pub(super) struct MetricUnits(Vec<(String, DisplayUnit)>);

impl MetricUnits {
    pub(super) fn new(page: &SummaryContext<'_>) -> Self {
        // The headline has the deciding metric.
        let headline = match page.plan.policy.decide_on {
            Some(decide_on) if decide_on.clock().is_none() => decide_on.name(),
            _ => "wall".into(),
        };
        let shown = page.plan.metrics.iter().filter(|shown| shown.name != headline);
        let arms: Vec<&ArmSummary> = page.candidates().collect();
        let unit_of = |name: &str| unit_of_metric(page.plan, name, &arms);
        Self(shown.map(|shown| (shown.name.clone(), unit_of(&shown.name))).collect())
    }

    /// The means of an arm, each with its name and unit.
    pub(super) fn items(&self, arm: &ArmSummary) -> Vec<String> {
        self.0.iter().filter_map(|(name, unit)| value(arm, name, *unit)).collect()
    }
}

/// Appends label, t0, the spread, the other metrics and the histogram line.
pub(super) fn block(
    out: &mut String,
    page: &SummaryContext<'_>,
    metrics: &MetricUnits,
    arm: &ArmSummary,
    histogram: Option<&str>,
) {
    heading(out, page, arm);
    match &arm.times {
        None => out.push_str("   no finished run\n"),
        Some(wall) => {
            headline(out, page, arm, wall);
            spread(out, page, arm, wall);
            stalls(out, page, arm);
        }
    }
    let mut items = metrics.items(arm);
    if let Some(first) = items.first_mut() {
        first.insert_str(0, "means: ");
        flow(out, INDENT, &items);
    }
    slices(out, page, arm);
    if let Some(line) = histogram.filter(|line| !line.is_empty()) {
        writeln!(out, "   {line}").ok();
    }
    out.push('\n');
}

fn heading(out: &mut String, page: &SummaryContext<'_>, arm: &ArmSummary) {
    let is_reference = arm.arm == page.plan.reference && page.candidates().count() > 1;
    let mark = if is_reference { "  (reference)" } else { "" };
    let label = shorten(&arm.label, COLUMNS - mark.len());
    writeln!(out, "{label}{mark}").ok();
}

/// Appends t0, with a control net of the control's.
fn headline(out: &mut String, page: &SummaryContext<'_>, arm: &ArmSummary, wall: &TimeSummary) {
    let t0 = arm.net_t0().unwrap_or(wall.t0);
    if wall.is_upper_limit {
        return upper_limit(out, page, arm, t0.value);
    }
    if arm.is_too_short() {
        let text = format!("t0 is {}", t0::too_short(page.plan, t0));
        writeln!(out, "   {}", paint(page.styles.headline, &text)).ok();
        return;
    }
    // The times beside ratios are others: the reference's, and its multiples.
    let own = if page.compared.has_ratios() { "own " } else { "" };
    let location = QuantityWords::location(page.judged.record, arm.arm);
    let text = page.unit.uncertain(t0.value, t0.err);
    let text = page.unit.label(&format!("{own}{location} {text}"));
    write!(out, "   {}", paint(page.styles.headline, &text)).ok();
    if let Some(subtracted) =
        arm.net.and_then(|_| subtracted(page, COLUMNS.saturating_sub(INDENT + text.len() + 2)))
    {
        write!(out, "  {subtracted}").ok();
    }
    out.push('\n');
    if is_far_from_table(page, arm, t0) {
        let what = format!("(of its runs alone; above, the reference's {location} × ratio)");
        wrap(out, "   ", INDENT, &what);
    }
}

/// Whether a command's own t0 seems to contradict the time beside its ratio, which comes from pairs of runs.
fn is_far_from_table(page: &SummaryContext<'_>, arm: &ArmSummary, t0: UncertainValue) -> bool {
    let beside = page.compared.get(arm.arm).filter(|_| page.compared.has_ratios());
    let is_far = |beside: ComparedTime| {
        (beside.value - t0.value).abs() > t0.err.unwrap_or(0.0).max(FAR_FROM_TABLE * t0.value)
    };
    arm.arm != page.plan.reference && beside.is_some_and(is_far)
}

/// Appends a t0 or memory that is only an upper limit, and the reason.
fn upper_limit(out: &mut String, page: &SummaryContext<'_>, arm: &ArmSummary, most: f64) {
    let location = QuantityWords::location(page.judged.record, arm.arm);
    let text = page.unit.label(&format!("{location} at most {}", page.unit.number(most, None)));
    let why = t0::why_limited(arm).unwrap_or_default();
    write!(out, "   {}: {why}", paint(page.styles.headline, &text)).ok();
    let cpu = arm.cpu.as_ref().filter(|cpu| !cpu.is_upper_limit);
    let cpu = cpu.map(|cpu| page.unit.label(&page.unit.uncertain(cpu.t0.value, cpu.t0.err)));
    let more = cpu.map_or_else(String::new, |cpu| format!("; CPU time {cpu}"));
    let whole = t0::not_subtracted(arm).replace("; ", "\n   ");
    writeln!(out, "{more}{whole}").ok();
}

/// Appends the time that other programs took, if it is worth a line.
fn stalls(out: &mut String, page: &SummaryContext<'_>, arm: &ArmSummary) {
    let Some(stalls) = arm.stalls.filter(|_| arm.sliced.is_none() && arm.clean.is_some()) else {
        return;
    };
    let [run_ns, lost_ns] = [stalls.wall_mean_ns, stalls.stalled_mean_ns];
    if page.plan.policy.clock != Clock::Clean || lost_ns < STALLS_SHOWN * run_ns {
        return;
    }
    let unit = DisplayUnit::choose(kind_of("wall"), None, std::iter::once(run_ns));
    let time = |ns: f64| unit.label(&unit.number(ns, None));
    let mut items =
        vec![format!("out of {} a run, {} went to other programs", time(run_ns), time(lost_ns))];
    if stalls.unclear_mean_ns >= STALLS_SHOWN * run_ns {
        items.push(format!("{} more asleep, or waiting unseen", time(stalls.unclear_mean_ns)));
    }
    let is_shown = |found: &InterruptionSummary| {
        let clean_ns = run_ns - lost_ns;
        let ns = found.removed_ns.or(found.left_ns_max);
        ns.is_some_and(|ns| ns >= STALLS_SHOWN * clean_ns)
    };
    items.extend(arm.interruptions.filter(is_shown).map(|found| interruptions(found, time)));
    flow(out, INDENT, &items);
}

/// The cost of interruptions in the times, in words.
fn interruptions(summary: InterruptionSummary, time: impl Fn(f64) -> String) -> String {
    let times = if summary.usual == 1.0 { "time" } else { "times" };
    let usual = format!("interrupted {} {times} a run", summary.usual);
    match summary.removed_ns {
        Some(ns) => format!("{usual}, which left behind {} (taken off t0)", time(ns)),
        None => format!("{usual}, at a cost that is part of the +- of t0"),
    }
}

fn subtracted(page: &SummaryContext<'_>, columns: usize) -> Option<String> {
    let control = page.plan.control?;
    let times = page.analysis.arms.get(control.arm)?.times.as_ref()?;
    let what = match control.role {
        Role::EmptyShell => "empty shell".into(),
        Role::Subtract | Role::Candidate | Role::Twin => {
            page.plan.arms.get(control.arm)?.label().to_owned()
        }
    };
    let value = page.unit.label(&t0::text(page.unit, times));
    Some(shorten(&format!("minus {value} of {what}"), columns))
}

/// Median with the 10 % and 90 % quantiles, mean, standard deviation, coefficient of variation, number of runs.
fn spread(out: &mut String, page: &SummaryContext<'_>, arm: &ArmSummary, wall: &TimeSummary) {
    let unit = page.unit;
    let decimals = unit.decimals(wall.t0.value, wall.t0.err);
    let number = |ns: f64| unit.number(ns, decimals);
    let [q10, _, _, q90] = wall.quantiles;
    let mut items = Vec::new();
    if let Some(sd) = wall.sd {
        items.push(format!(
            "median {} [{} … {}]",
            number(wall.median.value),
            number(q10),
            number(q90)
        ));
        items.push(format!("mean {}", number(wall.mean.value)));
        items.push(format!("sd {}", number(sd)));
    } else {
        items.extend(arm.net.map(|_| format!("t0 {}", number(wall.t0.value))));
    }
    items.extend(wall.cv.map(|cv| format!("CV {}", percent(cv))));
    items.push(format!("n {}", arm.n_values()));
    // Up to the first that needs more runs: later ones need still more.
    let n_known = wall.slow_tail.iter().take_while(|it| it.found.is_some()).count();
    for (at, p) in SLOW_TAIL.into_iter().enumerate().take(n_known + 1) {
        let value = slow_tail::value(arm, at, number).filter(|_| wall.sd.is_some());
        items.extend(value.map(|value| format!("{} {value}", slow_tail::name(p))));
    }
    if arm.net.is_some() {
        items[0].insert_str(0, "as measured: ");
    }
    flow(out, INDENT, &items);
}

/// Appends the slices: their number, CPU time, wait for a CPU and the empty loop.
fn slices(out: &mut String, page: &SummaryContext<'_>, arm: &ArmSummary) {
    let Some(slice_summary) = &arm.sliced else { return };
    let per_process = slice_summary.n_slices as f64 / arm.n_runs.max(1) as f64;
    let (process, slices) = match (page.plan.workers.is_some(), arm.n_runs) {
        (true, 1) => ("process", "slices"),
        (true, _) => ("processes", "slices"),
        (false, 1) => ("launch", "values"),
        (false, _) => ("launches", "values"),
    };
    let mut items = vec![format!(
        "{} {process}, {} {slices} each of {} loops",
        arm.n_runs,
        uncertain::fixed(per_process, usize::from(per_process.fract() != 0.0)),
        slice_summary.loops
    )];
    let is_time = page.plan.arms[arm.arm].unit.is_time();
    let is_limit = arm.cpu.as_ref().is_some_and(|cpu| cpu.is_upper_limit);
    if let Some(cpu) = slice_summary.cpu.filter(|_| is_time && !is_limit) {
        let text = format!("cpu t0 {}", page.unit.uncertain(cpu.value, cpu.err));
        items.push(page.unit.label(&text));
    }
    if let Some(n) =
        slice_summary.core.and_then(|core| core.n_of_t0).filter(|&n| n < slice_summary.n_slices)
    {
        items.push(format!("t0 of the {n} on a quiet core"));
    }
    if let Some(share) = arm.waited_share() {
        items.push(format!("waited {}", percent(share)));
    }
    if let Some(empty) = slice_summary.empty_loop_ns {
        let off = if slice_summary.is_empty_loop_off { " (taken off)" } else { "" };
        items.push(format!("empty loop {} ns{off}", uncertain::significant(empty, 3)));
    }
    items.extend(slice_summary.counters.iter().map(counted));
    flow(out, INDENT, &items);
}

/// A counter that the user's worker reports.
pub(super) fn counted((name, per_loop): &(String, f64)) -> String {
    format!("{name} {} per loop", uncertain::significant(*per_loop, 4))
}

/// The mean of a metric, and the number of runs with it, if some lack it. Medians say little about CPU times, which the
/// kernel counts in ticks; also, only means add up.
fn value(arm: &ArmSummary, name: &str, unit: DisplayUnit) -> Option<String> {
    let metric = arm.metric(name)?;
    let text = unit.label(&format!("{name} {}", unit.number(metric.mean, None)));
    let some = if metric.n == arm.n_runs { String::new() } else { format!(" ({} runs)", metric.n) };
    Some(text + &some)
}

/// Appends the number of copies in a run of each command, and how many end in a second.
pub(super) fn append_copies(out: &mut String, page: &SummaryContext<'_>) {
    let Some(copies) = &page.plan.copies else { return };
    let (n, n_cpus) = (copies.n as usize, copies.n_cpus);
    let cpus = match (n_cpus, if n_cpus == 1 { "CPU" } else { "CPUs" }) {
        (0, _) => String::new(),
        (_, cpus) if n_cpus < n => format!(" on {n_cpus} {cpus}, which they share"),
        _ if copies.cpus.iter().any(|own| own.len() > 1) => ", each on CPUs of its own".into(),
        _ => ", each on a CPU of its own".into(),
    };
    let rate = |arm: usize| {
        let time = page.compared.get(arm)?;
        let rate = uncertain::significant(throughput(page.plan, time.value)?, 3);
        let least = match (time.is_upper_limit, time.is_from_ratio) {
            (true, false) => "at least ",
            (true, true) => "about ",
            (false, _) => "",
        };
        Some(format!("{least}{rate} a second"))
    };
    let is_alone = page.candidates().count() == 1;
    let rates = page.candidates().filter_map(|arm| {
        let name = if is_alone { String::new() } else { format!(" of {}", page.names[arm.arm]) };
        Some(rate(arm.arm)? + &name)
    });
    let rates: Vec<String> = rates.collect();
    let rates = if rates.is_empty() {
        String::new()
    } else {
        format!("; throughput: {}", rates.join(", "))
    };
    wrap(out, "", 0, &format!("a run is {n} copies at the same time{cpus}{rates}"));
}
