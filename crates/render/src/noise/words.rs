//! Names sources of noise and their remedies.

use crate::columns::one_line;
use crate::remedies::Audience;
use crate::uncertain;
use host::started_by;
use model::prose::OptionName;
use record::ledger::{LedgerEntry, NoiseSource, Remedy};

/// Describes a source. Control characters are escaped, because programs choose their own names.
pub fn name(source: &NoiseSource) -> String {
    match source {
        NoiseSource::Task { name } => match started_by(name) {
            Some(unit) => format!("{} ran instead (by {unit})", one_line(name)),
            None => format!("{} ran instead", one_line(name)),
        },
        NoiseSource::Preempted => "other programs ran instead".into(),
        NoiseSource::Queued => "ready, but no CPU was free".into(),
        NoiseSource::Interrupt { line } => match line_words(line) {
            Some(words) => format!("interrupt {line} ({words})"),
            None => format!("interrupt {}", one_line(line)),
        },
        NoiseSource::Softirq { vector } => format!("softirq {}", one_line(vector)),
        NoiseSource::Crossing => "going into the kernel and back for these".into(),
        NoiseSource::Steal => "the hypervisor ran something else".into(),
        NoiseSource::Faults => "page faults".into(),
        NoiseSource::AfterInterruptions => "after interruptions, with cold caches".into(),
        NoiseSource::Neighbours => "the other thread of the core was busy".into(),
        NoiseSource::Migrations => "moves to another CPU".into(),
        NoiseSource::MemoryTraffic => "memory traffic of other programs".into(),
        NoiseSource::Frequency => "a slower clock of the CPU".into(),
        NoiseSource::Quota => "the CPU quota of the control group was used up".into(),
        NoiseSource::Waited => "ready, but had no CPU".into(),
        NoiseSource::MoreCpuTime => "the program itself took more CPU time".into(),
        NoiseSource::Asleep => "sleeping or waiting (not separable here)".into(),
        NoiseSource::SeenLate => "Stillwell had no CPU to see its end".into(),
        NoiseSource::Host => "the host (nothing in this machine saw it)".into(),
        NoiseSource::Unexplained => "not explained".into(),
    }
}

/// Explains a name of letters in `/proc/interrupts`.
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

/// Returns the remedy for a session of this origin, if there is one.
pub fn advice(source: &NoiseSource, audience: Audience) -> Option<String> {
    Some(match source.remedy()? {
        Remedy::OwnCpu => audience.own_cpu().into(),
        Remedy::Affinity => audience.name(OptionName::Affinity),
        // Without a session, the direct command is shortest.
        Remedy::Tune("services") if audience == Audience::Machine => {
            "sudo stillwell system tune --only services".into()
        }
        Remedy::Tune(knobs) => format!("{}={knobs}", audience.name(OptionName::Tune)),
        Remedy::Boot => "a CPU without a tick: `stillwell system boot`".into(),
        Remedy::OtherMachine => "nothing on this machine: its host takes it".into(),
    })
}

/// The entry with the most time, including the host's; `None` if nothing is explained.
pub fn largest(entries: &[LedgerEntry]) -> Option<&LedgerEntry> {
    let named = entries.iter().filter(|it| it.source != NoiseSource::Unexplained && it.ns > 0);
    named.max_by_key(|it| it.ns)
}

/// Formats a part of a total: `83 %`, or `< 0.1 %`.
pub fn share(entry: &LedgerEntry, total_ns: i64) -> String {
    percent(entry.ns as f64 / total_ns as f64 * 100.0)
}

/// Formats a percentage: `83 %`, or `< 0.1 %`.
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
    fn a_job_of_a_timer_is_named_with_the_command_that_stops_it() {
        let source = NoiseSource::Task { name: "mandb".into() };
        assert_eq!(name(&source), "mandb ran instead (by man-db.timer)");
        let of = |audience| advice(&source, audience).unwrap();
        assert_eq!(of(Audience::Machine), "sudo stillwell system tune --only services");
        assert_eq!(of(Audience::Run), "--tune=services");
        let other = NoiseSource::Task { name: "cc1".into() };
        assert_eq!(name(&other), "cc1 ran instead");
        assert!(advice(&other, Audience::Run).unwrap().starts_with("--isolate"));
    }

    #[test]
    fn the_host_can_be_the_largest() {
        let task = || LedgerEntry::exact(NoiseSource::Task { name: "cc1".into() }, 5);
        let all = [
            task(),
            LedgerEntry::exact(NoiseSource::Host, 9),
            LedgerEntry::exact(NoiseSource::Unexplained, 20),
        ];
        assert_eq!(largest(&all).unwrap().source, NoiseSource::Host);
        assert_eq!(largest(&[LedgerEntry::exact(NoiseSource::Unexplained, 20)]), None);
    }

    #[test]
    fn a_terminal_obeys_no_name() {
        let evil = "a\u{1b}[31m\nb";
        let sources = [
            NoiseSource::Task { name: evil.into() },
            NoiseSource::Interrupt { line: evil.into() },
            NoiseSource::Softirq { vector: evil.into() },
        ];
        for source in sources {
            let name = name(&source);
            assert!(!name.contains(char::is_control) && name.contains("\\n"), "{name}");
        }
    }
}
