//! Sources of noise in words, and what removes them.

use crate::ledger::{Entry, Remedy, Source};
use crate::render::columns::one_line;
use crate::render::remedies::Audience;
use crate::render::uncertain;

/// What a source did; with nothing in it that a terminal would obey: programs choose their names.
pub fn name(source: &Source) -> String {
    match source {
        Source::Task { name } => format!("{} ran instead", one_line(name)),
        Source::Preempted => "other programs ran instead".into(),
        Source::Queued => "ready, but no CPU was free".into(),
        Source::Interrupt { line } => match line_words(line) {
            Some(words) => format!("interrupt {line} ({words})"),
            None => format!("interrupt {}", one_line(line)),
        },
        Source::Softirq { vector } => format!("softirq {}", one_line(vector)),
        Source::Crossing => "going into the kernel and back for these".into(),
        Source::Steal => "the hypervisor ran something else".into(),
        Source::Faults => "page faults".into(),
        Source::Migrations => "moves to another CPU".into(),
        Source::Frequency => "a slower clock of the CPU".into(),
        Source::Waited => "ready, but had no CPU".into(),
        Source::Asleep => "asleep, or waiting where nobody counts".into(),
        Source::SeenLate => "its end was seen late, for want of a CPU".into(),
        Source::Host => "the host (nothing in this machine saw it)".into(),
        Source::Unexplained => "not explained".into(),
    }
}

/// What the letters in `/proc/interrupts` stand for.
fn line_words(line: &str) -> Option<&'static str> {
    Some(match line {
        "LOC" => "timer",
        "RES" => "wake-ups from other CPUs",
        "CAL" => "calls from other CPUs",
        "TLB" => "address changes on other CPUs",
        "IWI" => "deferred work",
        "NMI" => "non-maskable",
        "TRM" => "too hot",
        _ => return None,
    })
}

/// What would remove it, if anything would, in a session that came from there.
pub fn advice(source: &Source, audience: Audience) -> Option<String> {
    Some(match source.remedy()? {
        Remedy::OwnCpu => audience.own_cpu().into(),
        Remedy::Affinity => "--affinity".into(),
        Remedy::Tune(knobs) => format!("--tune={knobs}"),
        Remedy::Boot => "a CPU without a tick: `stillwell system boot`".into(),
        Remedy::OtherMachine => "nothing on this machine: its host takes it".into(),
    })
}

/// A part of a total: `83 %`, or `< 0.1 %`.
pub fn share(entry: &Entry, total_ns: i64) -> String {
    percent(entry.ns as f64 / total_ns as f64 * 100.0)
}

/// `83 %`, or `< 0.1 %`.
pub fn percent(percent: f64) -> String {
    if percent > 0.0 && percent < 0.1 {
        return "< 0.1 %".into();
    }
    format!("{} %", uncertain::fixed(percent, usize::from(percent.abs() < 9.95)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_no_name() {
        let evil = "a\u{1b}[31m\nb";
        let sources = [
            Source::Task { name: evil.into() },
            Source::Interrupt { line: evil.into() },
            Source::Softirq { vector: evil.into() },
        ];
        for source in sources {
            let name = name(&source);
            assert!(!name.contains(char::is_control) && name.contains("\\n"), "{name}");
        }
    }
}
