//! The report of an observation of the machine's CPUs.

use std::fmt::Write as _;

use crate::columns::{COLUMNS, shorten, wrap, wrap_headline};
use crate::depth::Depth;
use crate::histogram::block_of_eighths;
use crate::noise::ledger::{BRIEF_MAX, ENTRIES_MAX, largest_part, lines};
use crate::remedies::Audience;
use crate::styles::paint;
use crate::units::{counted, percent, short_time};
use crate::{Styles, table, uncertain};
use measure::noise::{CpuNoise, EDGES_NS, LoopClock, NoiseEvidence, NoiseReport};
use model::values::name_cpus;

/// With more CPUs than this, the report shows only the total ledger.
const LEDGERS_MAX: usize = 4;
/// CPUs in the short report.
const CPUS_MAX: usize = 6;

/// The answer, a line for each CPU, and the causes of lost time. In depth also each CPU's ledger, pauses and timeline,
/// and the evidence.
pub fn report(report: &NoiseReport, depth: Depth, styles: &Styles) -> String {
    let mut out = String::new();
    conclusion(&mut out, report, styles);
    out.push('\n');
    if depth == Depth::Verbose {
        in_depth(&mut out, report, styles);
        return out;
    }
    overview(&mut out, report, CPUS_MAX);
    out.push('\n');
    lines(&mut out, &report.total, BRIEF_MAX);
    let gaps: Vec<&str> = report.gaps.iter().map(|gap| &*gap.what).collect();
    if !gaps.is_empty() {
        wrap(&mut out, "not seen: ", 10, &shorten(&gaps.join(", "), 2 * COLUMNS - 20));
    }
    out.push_str("details: -v has each CPU, its pauses, what was not seen and why\n");
    out
}

fn in_depth(out: &mut String, report: &NoiseReport, styles: &Styles) {
    overview(out, report, usize::MAX);
    let each = report.cpus.iter().filter(|_| report.cpus.len() <= LEDGERS_MAX);
    for cpu in each.clone() {
        let text = format!("CPU {}: {} taken", cpu.cpu, percent(share_of(cpu)));
        writeln!(out, "\n{}", paint(styles.headline, &text)).ok();
        lines(out, &cpu.ledger, ENTRIES_MAX);
        cpu_block(out, cpu);
    }
    if each.count() != 1 {
        writeln!(out, "\n{}", paint(styles.headline, "all CPUs")).ok();
        lines(out, &report.total, ENTRIES_MAX);
    }
    if report.cpus.len() > LEDGERS_MAX {
        for cpu in &report.cpus {
            for trouble in troubles(cpu) {
                wrap(out, &format!("   CPU {}: ", cpu.cpu), 6, &trouble);
            }
        }
    }
    out.push('\n');
    closing(out, report);
    for gap in &report.gaps {
        wrap(out, "gap: ", 5, &format!("{}: {}; {}", gap.what, gap.why, gap.fix));
    }
}

/// Writes a line for each CPU, or for those with the largest loss.
fn overview(out: &mut String, report: &NoiseReport, n_max: usize) {
    let mut shown: Vec<&CpuNoise> = report.cpus.iter().collect();
    if shown.len() > n_max {
        shown.sort_by(|a, b| share_of(b).total_cmp(&share_of(a)));
        shown.truncate(n_max);
    }
    let heading = ["CPU", "taken", "pauses/s", "median", "99 %", "99.9 %", "longest"];
    let mut rows = vec![heading.map(String::from).to_vec()];
    for cpu in shown {
        let seconds = cpu.observed_ns.max(1) as f64 / 1e9;
        let quantile =
            |at: usize| cpu.quantiles_ns.map_or_else(String::new, |all| short_time(all[at]));
        rows.push(vec![
            cpu.cpu.to_string(),
            percent(share_of(cpu)),
            uncertain::significant(cpu.n_pauses as f64 / seconds, 3),
            quantile(0),
            quantile(2),
            quantile(3),
            short_time(cpu.longest_ns as f64),
        ]);
    }
    out.push_str(&table::plain(rows, &[0, 1, 2, 3, 4, 5, 6]));
    let n_hidden = report.cpus.len().saturating_sub(n_max);
    if n_hidden > 0 {
        writeln!(out, "{} lost less", counted(n_hidden, "more CPU")).ok();
    }
}

fn share_of(cpu: &CpuNoise) -> f64 {
    cpu.stolen_ns as f64 / cpu.observed_ns.max(1) as f64
}

fn cpu_block(out: &mut String, cpu: &CpuNoise) {
    let mut edges = vec![format!("< {}", short_time(EDGES_NS[0] as f64))];
    edges.extend(EDGES_NS.windows(2).map(|edge| format!("< {}", short_time(edge[1] as f64))));
    edges.push("longer".into());
    let counts: Vec<String> = edges
        .iter()
        .zip(cpu.histogram)
        .filter(|(_, n)| *n > 0)
        .map(|(edge, n)| format!("{edge}: {n}"))
        .collect();
    if !counts.is_empty() {
        wrap(out, "   ", 3, &format!("pauses {}", counts.join(", ")));
    }
    writeln!(out, "   ├{}┤", timeline(&cpu.timeline)).ok();
    for trouble in troubles(cpu) {
        wrap(out, "   ", 3, &trouble);
    }
}

fn troubles(cpu: &CpuNoise) -> Vec<String> {
    let mut all = Vec::new();
    if cpu.n_overflown > 0 {
        all.push(format!(
            "{} pauses did not fit: when they were is not known, so they are part of what is not explained, and the quantiles \
             and the timeline are of those before; watch for a shorter time",
            cpu.n_overflown
        ));
    }
    if cpu.was_moved {
        all.push("the CPU was taken away: it went offline, or out of the cpuset; the loop ended on another one".into());
    }
    if cpu.core.n_shared > 0 {
        all.push(format!(
            "the other hardware thread of its core was busy in {} of {} probes before and after the loop",
            cpu.core.n_shared, cpu.core.n
        ));
    }
    if cpu.n_lost_events > 0 {
        all.push(format!(
            "the kernel dropped {} events of the trace: who had the CPU is an estimate, and what is not explained may be \
             anybody's",
            cpu.n_lost_events
        ));
    }
    all
}

/// Draws one column for each period; the largest share gets the highest. A column is blank only if its share is zero.
fn timeline(shares: &[Option<f64>]) -> String {
    let largest = shares.iter().flatten().copied().fold(0.0, f64::max);
    let column = |share: &Option<f64>| match share {
        Some(share) if largest > 0.0 => block_of_eighths((share / largest * 8.0).ceil() as u64),
        Some(_) => ' ',
        None => '?',
    };
    shares.iter().map(column).collect()
}

/// The lost time of the CPUs, its causes and remedies.
fn conclusion(out: &mut String, report: &NoiseReport, styles: &Styles) {
    let worst = report.cpus.iter().max_by(|a, b| share_of(a).total_cmp(&share_of(b)));
    let text = match (&report.cpus[..], worst) {
        ([cpu], _) => format!("CPU {} lost {} of its time.", cpu.cpu, percent(share_of(cpu))),
        (cpus, Some(worst)) => {
            let stolen: f64 = cpus.iter().map(|cpu| cpu.stolen_ns as f64).sum();
            let observed: f64 = cpus.iter().map(|cpu| cpu.observed_ns as f64).sum();
            let of_all = percent(stolen / observed.max(1.0));
            let of_worst = percent(share_of(worst));
            format!("The CPUs lost {of_all} of their time, CPU {} most: {of_worst}.", worst.cpu)
        }
        (_, None) => "No CPU was observed.".to_owned(),
    };
    wrap_headline(out, styles.headline, &text);
    largest_part(out, &report.total, Audience::Run, ["", "the lost time"]);
    if !report.quietest.is_empty() {
        writeln!(out, "quietest: {}; --affinity uses it", name_cpus(&report.quietest)).ok();
    }
}

fn closing(out: &mut String, report: &NoiseReport) {
    if let Some(pressure_ns) = report.machine.pressure_ns {
        let text =
            format!("some program was ready and had no CPU for {}", short_time(pressure_ns as f64));
        wrap(out, "machine: ", 9, &text);
    }
    if let Some(n) = report.machine.throttles.filter(|&n| n > 0) {
        let text = format!("{n} times a CPU was slowed down because it was too hot");
        wrap(out, "machine: ", 9, &text);
    }
    wrap(out, "known by: ", 10, &known_by(report));
    wrap(out, "clock: ", 7, &clock(report));
}

/// Names the source of the evidence, by CPU if the CPUs differ.
fn known_by(report: &NoiseReport) -> String {
    let kinds = [NoiseEvidence::Tracepoints, NoiseEvidence::Switches, NoiseEvidence::Counts];
    let of_kind = kinds.map(|kind| {
        let cpus: Vec<&CpuNoise> = report.cpus.iter().filter(|cpu| cpu.evidence == kind).collect();
        (kind, cpus)
    });
    let there = of_kind.iter().filter(|(_, cpus)| !cpus.is_empty());
    let said: Vec<String> = there
        .map(|(kind, cpus)| {
            let words = evidence(*kind, cpus.iter().any(|cpu| cpu.n_lost_events > 0));
            let numbers: Vec<usize> = cpus.iter().map(|cpu| cpu.cpu).collect();
            let is_all = numbers.len() == report.cpus.len();
            if is_all { words.into() } else { format!("on {}: {words}", name_cpus(&numbers)) }
        })
        .collect();
    let mut text = said.join("; ");
    if report.is_virtual && report.evidence != NoiseEvidence::Tracepoints {
        text +=
            "; what is not explained may be an interrupt's as well as the host's: nobody looked";
    }
    text
}

fn evidence(evidence: NoiseEvidence, has_lost: bool) -> &'static str {
    match evidence {
        NoiseEvidence::Tracepoints if has_lost => {
            "tracepoints: the switches and interrupts that the kernel did not drop; where it dropped some, estimates"
        }
        NoiseEvidence::Tracepoints => {
            "tracepoints: every switch and every interrupt, to the nanosecond"
        }
        NoiseEvidence::Switches if has_lost => {
            "the switches of the loop that the kernel did not drop; where it dropped some, all of it is an estimate"
        }
        NoiseEvidence::Switches => {
            "switches of the loop, to the nanosecond; who ran and how long interrupts took are estimates, from the kernel's \
             counts"
        }
        NoiseEvidence::Counts => "the kernel's counts alone: all of it is an estimate",
    }
}

fn clock(report: &NoiseReport) -> String {
    let clock = &report.clock;
    let mut text = match clock.clock {
        LoopClock::Tsc => "the CPU's counter".to_owned(),
        LoopClock::Monotonic => "the kernel's".to_owned(),
    };
    let turns = report.cpus.iter().map(|cpu| cpu.turn_ns).fold(0.0, f64::max);
    let thresholds = report.cpus.iter().map(|cpu| cpu.threshold_ns).max().unwrap_or(0);
    write!(text, ", read every {}; ", short_time(turns)).ok();
    write!(text, "a pause is longer than {}", short_time(thresholds as f64)).ok();
    if let Some(source) = clock.source.as_deref().filter(|_| clock.clock == LoopClock::Monotonic) {
        write!(text, " (clock source: {source})").ok();
    }
    if clock.n_jumps_back > 0 {
        write!(text, "; it went back {} times: do not trust it", clock.n_jumps_back).ok();
    }
    if clock.suspended_ns > 1_000_000 {
        write!(text, "; the machine slept for {} meanwhile", short_time(clock.suspended_ns as f64))
            .ok();
    }
    text
}

#[cfg(test)]
mod tests;
