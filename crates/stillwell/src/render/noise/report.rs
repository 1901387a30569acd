//! What was watched on the CPUs of a machine.

use std::fmt::Write as _;

use crate::analysis::calibrate::Budget;
use crate::host::name_cpus;
use crate::noise::{Clock, CpuNoise, EDGES_NS, Evidence, MachineVerdict, Report};
use crate::render::calibrate::{length, visible};
use crate::render::columns::wrap;
use crate::render::noise::ledger::lines;
use crate::render::noise::words;
use crate::render::remedies::Asked;
use crate::render::styles::paint;
use crate::render::uncertain;
use crate::render::units::short_time;
use crate::render::{Styles, table};

/// With more CPUs than this, where the time went is shown of all together only.
const LEDGERS_MAX: usize = 4;
/// Heights of a column of the timeline.
const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The whole page.
pub fn report(found: &Report, styles: &Styles) -> String {
    let mut out = String::new();
    overview(&mut out, found);
    let each = found.cpus.iter().filter(|_| found.cpus.len() <= LEDGERS_MAX);
    for cpu in each.clone() {
        let share = cpu.stolen_ns as f64 / cpu.observed_ns.max(1) as f64;
        let text = format!("CPU {}: {} taken", cpu.cpu, percent(share));
        writeln!(out, "\n{}", paint(styles.headline, &text)).ok();
        lines(&mut out, &cpu.ledger);
        of_cpu(&mut out, cpu);
    }
    if each.count() != 1 {
        writeln!(out, "\n{}", paint(styles.headline, "all CPUs")).ok();
        lines(&mut out, &found.total);
    }
    osnoise(&mut out, found);
    out.push('\n');
    closing(&mut out, found);
    for gap in &found.gaps {
        wrap(&mut out, "gap: ", 5, &format!("{}: {}; {}", gap.what, gap.why, gap.fix));
    }
    out
}

/// One line for each CPU.
fn overview(out: &mut String, found: &Report) {
    let heading = ["CPU", "taken", "pauses/s", "median", "99 %", "99.9 %", "longest"];
    let mut rows = vec![heading.map(String::from).to_vec()];
    for cpu in &found.cpus {
        let seconds = cpu.observed_ns.max(1) as f64 / 1e9;
        let quantile =
            |at: usize| cpu.quantiles_ns.map_or_else(String::new, |all| short_time(all[at]));
        rows.push(vec![
            cpu.cpu.to_string(),
            percent(cpu.stolen_ns as f64 / cpu.observed_ns.max(1) as f64),
            uncertain::significant(cpu.n_pauses as f64 / seconds, 3),
            quantile(0),
            quantile(2),
            quantile(3),
            short_time(cpu.longest_ns as f64),
        ]);
    }
    out.push_str(&table::plain(rows, &[0, 1, 2, 3, 4, 5, 6]));
}

fn of_cpu(out: &mut String, cpu: &CpuNoise) {
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
    if cpu.n_overflown > 0 {
        let text = format!(
            "{} pauses did not fit: when they were is not known, so they are part of what is not explained; watch for a \
             shorter time",
            cpu.n_overflown
        );
        wrap(out, "   ", 3, &text);
    }
    if cpu.was_moved {
        let text = "the CPU was taken away: it went offline, or out of the cpuset; the loop ended on another one";
        wrap(out, "   ", 3, text);
    }
    if let Some(ratio) = cpu.clock_ratio {
        let text = format!("its clock: {} x nominal", uncertain::fixed(ratio, 3));
        wrap(out, "   ", 3, &text);
    }
    if let Some(n) = cpu.n_firmware.filter(|&n| n > 0) {
        let text = format!("the firmware took it over {n} times (SMI), unseen by the kernel");
        wrap(out, "   ", 3, &text);
    }
    if cpu.n_lost_events > 0 {
        let text = format!("the kernel dropped {} events of the trace", cpu.n_lost_events);
        wrap(out, "   ", 3, &text);
    }
}

/// The kernel's own tracer and the loop, CPU by CPU, as shares of the time.
fn osnoise(out: &mut String, found: &Report) {
    if found.beside.is_empty() {
        return;
    }
    out.push_str("\nosnoise, the kernel's own tracer, for as long after the loop:\n");
    let heading =
        ["CPU", "", "taken", "longest", "programs", "interrupts", "softirqs", "nobody seen"];
    let mut rows = vec![heading.map(String::from).to_vec()];
    for both in &found.beside {
        for (by, shares) in [("loop", both.by_loop), ("osnoise", both.by_osnoise)] {
            rows.push(vec![
                both.cpu.to_string(),
                by.into(),
                percent(shares.stolen),
                short_time(shares.longest_ns as f64),
                percent(shares.threads),
                percent(shares.interrupts),
                percent(shares.softirqs),
                percent(shares.unseen),
            ]);
        }
    }
    out.push_str(&table::plain(rows, &[0, 2, 3, 4, 5, 6, 7]));
    let n_lost: u64 = found.osnoise.iter().map(|cpu| cpu.n_lost_events).sum();
    if n_lost > 0 {
        let text = format!("the kernel dropped {n_lost} events of the tracer");
        wrap(out, "   ", 3, &text);
    }
}

/// One column for each stretch of the time; the highest is that of the largest share, and none is empty that has some.
fn timeline(shares: &[f64]) -> String {
    let largest = shares.iter().copied().fold(0.0, f64::max);
    let height = |share: &f64| {
        let steps = (HEIGHTS.len() - 1) as f64;
        HEIGHTS[((share / largest * steps).ceil() as usize).min(HEIGHTS.len() - 1)]
    };
    shares.iter().map(|share| if largest > 0.0 { height(share) } else { ' ' }).collect()
}

fn closing(out: &mut String, found: &Report) {
    if let Some(largest) = found.total.largest() {
        let advice = words::advice(&largest.source, Asked::Run);
        let advice =
            advice.map_or_else(String::new, |advice| format!("; what removes it: {advice}"));
        let what = words::name(&largest.source);
        wrap(out, "largest: ", 9, &format!("{what}, {}{advice}", short_time(largest.ns as f64)));
    }
    if !found.quietest.is_empty() {
        let are = if found.quietest.len() == 1 { "is" } else { "are" };
        writeln!(out, "quietest: {} {are} (--affinity)", name_cpus(&found.quietest)).ok();
    }
    if let Some(pressure_ns) = found.machine.pressure_ns {
        let text =
            format!("somebody was ready and had no CPU for {}", short_time(pressure_ns as f64));
        wrap(out, "machine: ", 9, &text);
    }
    if let Some(n) = found.machine.throttles.filter(|&n| n > 0) {
        let text = format!("{n} times a CPU was slowed down because it was too hot");
        wrap(out, "machine: ", 9, &text);
    }
    wrap(out, "known by: ", 10, evidence(found.evidence));
    wrap(out, "clock: ", 7, &clock(found));
    if let Some(verdict) = &found.verdict {
        wrap(out, "verdict: ", 9, &verdict_words(verdict));
    }
}

fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Tracepoints => "tracepoints: every switch and every interrupt, to the nanosecond",
        Evidence::Switches => {
            "switches of the loop, to the nanosecond; who ran and how long interrupts took are estimates, from the kernel's \
             counts"
        }
        Evidence::Counts => "the kernel's counts alone: all of it is an estimate",
    }
}

fn clock(found: &Report) -> String {
    let clock = &found.clock;
    let mut text = match clock.clock {
        Clock::Tsc => "the CPU's counter".to_owned(),
        Clock::Monotonic => "the kernel's".to_owned(),
    };
    let turns = found.cpus.iter().map(|cpu| cpu.turn_ns).fold(0.0, f64::max);
    let thresholds = found.cpus.iter().map(|cpu| cpu.threshold_ns).max().unwrap_or(0);
    write!(text, ", read every {}; ", short_time(turns)).ok();
    write!(text, "a pause is longer than {}", short_time(thresholds as f64)).ok();
    if let Some(source) = clock.source.as_deref().filter(|_| clock.clock == Clock::Monotonic) {
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

fn verdict_words(found: &MachineVerdict) -> String {
    let budget =
        |found: &Budget| format!("{} in {}", visible(found.visible), length(found.budget_ns));
    let budgets: Vec<String> = found.budgets.iter().map(budget).collect();
    format!(
        "of two programs that compute for {} and touch no memory, a comparison on CPU {} would find a difference of {} \
         (in 80 % of cases; from {} runs of the same work)",
        short_time(found.work_ns),
        found.cpu,
        budgets.join(", "),
        found.n_runs
    )
}

fn percent(share: f64) -> String {
    format!("{} %", uncertain::significant(share * 100.0, 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Gap;
    use crate::noise::osnoise::{Beside, Osnoise, Shares};
    use crate::noise::{ClockReport, Entry, Ledger, Machine, Source};

    /// A machine on which everything went wrong that has a sentence.
    #[test]
    fn what_went_wrong_is_said() {
        let entry = |source, ns| Entry { n: Some(3), ..Entry::exact(source, ns) };
        let line = Source::Interrupt { line: "LOC".into() };
        let parts = [entry(Source::Task { name: "cc1".into() }, 4_000_000), entry(line, 90_000)];
        let ledger = Ledger::new(5_000_000, parts, Source::Unexplained);
        let cpu = CpuNoise {
            cpu: 3,
            start_ns: 0,
            observed_ns: 1_000_000_000,
            stolen_ns: 5_000_000,
            n_pauses: 12,
            threshold_ns: 40,
            turn_ns: 10.0,
            quantiles_ns: Some([1_000.0, 2_000.0, 3_000.0, 4_000.0]),
            longest_ns: 3_900_000,
            histogram: [0, 10, 0, 0, 0, 2, 0],
            timeline: vec![0.0, 0.01],
            ledger: ledger.clone(),
            n_overflown: 7,
            was_moved: true,
            run_delay_ns: None,
            switched_off_ns: None,
            n_faults: Some(0),
            n_lost_events: 5,
            clock_ratio: Some(1.234),
            n_firmware: Some(2),
        };
        let shares = Shares {
            stolen: 0.005,
            longest_ns: 3_900_000,
            threads: 0.004,
            interrupts: 0.000_09,
            softirqs: 0.0,
            unseen: 0.000_91,
        };
        let found = Report {
            clock: ClockReport {
                clock: Clock::Monotonic,
                source: Some("hpet".into()),
                n_jumps_back: 1,
                suspended_ns: 2_000_000_000,
            },
            evidence: Evidence::Counts,
            cpus: vec![cpu],
            total: ledger,
            quietest: vec![],
            osnoise: vec![Osnoise { cpu: 3, n_lost_events: 9, ..Osnoise::default() }],
            beside: vec![Beside { cpu: 3, by_loop: shares, by_osnoise: shares }],
            machine: Machine { pressure_ns: Some(1_000), throttles: Some(4) },
            is_virtual: false,
            gaps: vec![Gap { what: "CPU 1".into(), why: "it is gone".into(), fix: "wait".into() }],
            verdict: None,
        };
        insta::assert_snapshot!(report(&found, &Styles::plain()));
    }

    #[test]
    fn the_timeline_shows_every_stretch_with_noise() {
        assert_eq!(timeline(&[0.0, 0.001, 0.5, 1.0]), " ▁▄█");
        assert_eq!(timeline(&[0.0, 0.0]), "  ");
    }
}
