//! Attributes the pauses of a loop to sources, with a trace of its CPU. Pure. The sums are exact: the entries always
//! add up to the lengths of the pauses.

use std::collections::BTreeMap;

use crate::noise::trace::{Segment, Trace};
use record::ledger::{LedgerEntry, NoiseSource};

/// A time in which the loop did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Start, CLOCK_MONOTONIC.
    pub start_ns: u64,
    pub length_ns: u64,
}

impl Pause {
    fn end_ns(self) -> u64 {
        self.start_ns + self.length_ns
    }
}

/// The causes of the pauses of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    pub parts: Vec<LedgerEntry>,
    /// Unexplained rest of each pause, ns, if there is one.
    pub left_ns: Vec<u64>,
}

/// Longest time of one kernel entry and return with cold caches, outside the traced events, ns. Longer rests are not
/// the kernel's.
pub const CROSSING_NS_MAX: u64 = 4_000;

/// Divides pauses among the sources that had the CPU. `sees_all`: the trace records interrupts too.
pub fn attribute(pauses: &[Pause], trace: &Trace, end_ns: u64, sees_all: bool) -> Attribution {
    let segments = trace.segments(end_ns);
    let mut by_source: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let (mut crossing_ns, mut n_crossings) = (0, 0);
    let mut left_ns = Vec::new();
    let mut from = 0;
    for pause in pauses {
        from += segments[from..].partition_point(|segment| segment.end_ns <= pause.start_ns);
        let inside =
            segments[from..].iter().take_while(|segment| segment.start_ns < pause.end_ns());
        let (mut seen_ns, mut n_excursions, mut last_end_ns) = (0, 0, 0);
        for segment in inside {
            let ns = overlap_ns(*pause, segment);
            let (sum_ns, n) = by_source.entry(segment.source).or_default();
            *sum_ns += ns;
            *n += u64::from(segment.is_new && segment.start_ns >= pause.start_ns);
            seen_ns += ns;
            n_excursions += u64::from(segment.start_ns > last_end_ns);
            last_end_ns = segment.end_ns;
        }
        let mut rest_ns = pause.length_ns - seen_ns;
        if sees_all && n_excursions > 0 {
            let ns = rest_ns.min(n_excursions * CROSSING_NS_MAX);
            crossing_ns += ns;
            n_crossings += n_excursions;
            rest_ns -= ns;
        }
        if rest_ns > 0 {
            left_ns.push(rest_ns);
        }
    }
    let named = by_source.into_iter().map(|(source, (ns, n))| LedgerEntry {
        n: Some(n),
        ..LedgerEntry::exact(trace.sources[source as usize].clone(), ns.cast_signed())
    });
    let mut parts: Vec<LedgerEntry> = named.collect();
    if crossing_ns > 0 {
        parts.push(LedgerEntry::estimate(
            NoiseSource::Crossing,
            crossing_ns.cast_signed(),
            n_crossings,
        ));
    }
    Attribution { parts, left_ns }
}

fn overlap_ns(pause: Pause, segment: &Segment) -> u64 {
    let start_ns = pause.start_ns.max(segment.start_ns);
    pause.end_ns().min(segment.end_ns).saturating_sub(start_ns)
}

/// Attributes pauses by run-queue delay alone, without a trace. Other programs mostly run longer than interrupts, so
/// they get the longest pauses.
pub fn by_delay(pauses: &[Pause], delay_ns: u64) -> Attribution {
    let mut lengths: Vec<u64> = pauses.iter().map(|pause| pause.length_ns).collect();
    lengths.sort_unstable_by_key(|&ns| std::cmp::Reverse(ns));
    let (mut left_ns, mut taken_ns) = (Vec::new(), 0);
    for ns in lengths {
        let theirs_ns = ns.min(delay_ns - taken_ns);
        taken_ns += theirs_ns;
        if theirs_ns < ns {
            left_ns.push(ns - theirs_ns);
        }
    }
    let entry = LedgerEntry::exact(NoiseSource::Preempted, taken_ns.cast_signed());
    let parts =
        if taken_ns > 0 { vec![LedgerEntry { is_estimate: true, ..entry }] } else { Vec::new() };
    Attribution { parts, left_ns }
}

/// A pause of this many medians is more than an interrupt.
const USUAL_MAX: u64 = 10;

/// Attributes interrupts by their counts when only the scheduler was traced. `seen`: share of the interrupts that came
/// while the loop had the CPU. Each interrupt gets one of the longest remaining pauses, because it is longer than a
/// bare entry into the kernel. Of a pause far above the median, only `USUAL_MAX` medians count.
pub fn by_counts(left_ns: &[u64], counts: &[(NoiseSource, u64)], seen: f64) -> Vec<LedgerEntry> {
    let scaled = |n: u64| (n as f64 * seen).round() as u64;
    let n_counted: u64 = counts.iter().map(|(_, n)| n).sum();
    let mut longest = left_ns.to_vec();
    longest.sort_unstable_by_key(|&ns| std::cmp::Reverse(ns));
    longest.truncate(usize::try_from(scaled(n_counted)).unwrap_or(usize::MAX));
    let Some(median_ns) = longest.get(longest.len() / 2) else { return Vec::new() };
    let usual_ns = median_ns.saturating_mul(USUAL_MAX);
    let all_ns: u64 = longest.iter().map(|&ns| ns.min(usual_ns)).sum();
    let entry = |(source, n): &(NoiseSource, u64)| {
        let ns = u128::from(all_ns) * u128::from(*n) / u128::from(n_counted);
        LedgerEntry::estimate(source.clone(), i64::try_from(ns).unwrap_or(0), scaled(*n))
    };
    counts.iter().filter(|(_, n)| *n > 0).map(entry).collect()
}

/// Divides the time of unnamed programs among the programs that ran on the CPU, by CPU time. The rest stays unnamed.
pub fn name_tasks(parts: &mut Vec<LedgerEntry>, ran: &[(String, u64)]) {
    let Some(at) = parts.iter().position(|entry| entry.source == NoiseSource::Preempted) else {
        return;
    };
    let nameless = parts.swap_remove(at);
    let ran_ns: u64 = ran.iter().map(|(_, ns)| ns).sum();
    let (mut left_ns, n_others) = (nameless.ns, parts.len());
    for (name, ns) in ran {
        let ns = i128::from(*ns);
        // Programs may have run longer than the loop lost: before it started, or while it slept.
        let all_ns = i128::from(ran_ns).max(i128::from(nameless.ns)).max(1);
        let share_ns = i64::try_from(ns * i128::from(nameless.ns) / all_ns).unwrap_or(0);
        left_ns -= share_ns;
        let source = NoiseSource::Task { name: name.clone() };
        parts.push(LedgerEntry { is_estimate: true, ..LedgerEntry::exact(source, share_ns) });
    }
    if ran_ns >= nameless.ns.cast_unsigned()
        && let Some(largest) = parts.get_mut(n_others)
    {
        // The remainder of the rounding goes to the largest program.
        largest.ns += std::mem::take(&mut left_ns);
    }
    // Of the rest only the sum was measured.
    let rest = match ran.is_empty() {
        true => nameless,
        false => LedgerEntry { ns: left_ns, n: None, is_estimate: true, ..nameless },
    };
    parts.push(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::trace::{CpuEvent, CpuEventKind};
    use proptest::prelude::*;
    use record::ledger::Ledger;

    fn pause(start_ns: u64, length_ns: u64) -> Pause {
        Pause { start_ns, length_ns }
    }

    fn tick() -> NoiseSource {
        NoiseSource::Interrupt { line: "LOC".into() }
    }

    fn trace(events: &[(u64, CpuEventKind)]) -> Trace {
        let events = events.iter().map(|&(time_ns, kind)| CpuEvent { time_ns, kind }).collect();
        Trace { events, sources: vec![tick(), NoiseSource::Preempted], n_lost: 0 }
    }

    fn ns_of(attribution: &Attribution, source: &NoiseSource) -> Option<(i64, Option<u64>)> {
        let entry = attribution.parts.iter().find(|entry| entry.source == *source)?;
        Some((entry.ns, entry.n))
    }

    #[test]
    fn a_pause_is_divided_among_those_who_had_it() {
        use CpuEventKind::{Enter, Exit, Switch};
        let trace = trace(&[
            (1_000, Enter(0)),
            (3_000, Exit(0)),
            (50_000, Switch(Some(1))),
            (60_000, Enter(0)),
            (61_000, Exit(0)),
            (90_000, Switch(None)),
        ]);
        let pauses = [pause(500, 3_000), pause(49_000, 52_000), pause(200_000, 700)];
        let found = attribute(&pauses, &trace, 1_000_000, true);
        assert_eq!(ns_of(&found, &tick()), Some((3_000, Some(2))));
        assert_eq!(ns_of(&found, &NoiseSource::Preempted), Some((39_000, Some(1))));
        // 1 µs around the first; 4 of the 12 around the second; the third has no source.
        assert_eq!(ns_of(&found, &NoiseSource::Crossing), Some((5_000, Some(2))));
        assert_eq!(found.left_ns, [8_000, 700]);
    }

    #[test]
    fn only_time_in_pauses_counts() {
        let trace = trace(&[(100, CpuEventKind::Enter(0)), (300, CpuEventKind::Exit(0))]);
        let found = attribute(&[pause(200, 50), pause(290, 100)], &trace, 1_000, false);
        assert_eq!(ns_of(&found, &tick()), Some((60, Some(0))));
        assert_eq!(found.left_ns, [90]);
    }

    /// Ten short pauses for each interrupt. An interrupt gets none of these, and not the host's long pause.
    #[test]
    fn counts_are_worth_the_longest_of_what_is_left() {
        let mut left = vec![120; 40];
        left.extend([8_000, 6_000, 8_000, 900_000]);
        let found = by_counts(&left, &[(tick(), 3), (NoiseSource::Steal, 0)], 1.0);
        assert_eq!(found, [LedgerEntry::estimate(tick(), 80_000 + 16_000, 3)]);
        // Half of the interrupts came while other programs ran.
        let found = by_counts(&left[..43], &[(tick(), 4), (NoiseSource::Steal, 2)], 0.5);
        assert_eq!([found[0].ns, found[1].ns], [14_666, 7_333]);
        assert_eq!([found[0].n, found[1].n], [Some(2), Some(1)]);
        // More interrupts than pauses: the interrupts are shorter.
        let found = by_counts(&[2_000, 2_000], &[(tick(), 30), (NoiseSource::Steal, 10)], 1.0);
        assert_eq!([found[0].ns, found[1].ns], [3_000, 1_000]);
        assert_eq!(by_counts(&[], &[(tick(), 4)], 1.0), []);
        assert_eq!(by_counts(&left, &[(tick(), 4)], 0.0), []);
    }

    #[test]
    fn a_delay_is_in_the_longest_pauses() {
        let pauses = [pause(0, 300), pause(1_000, 9_000), pause(20_000, 200), pause(30_000, 5_000)];
        let found = by_delay(&pauses, 12_000);
        let expected =
            LedgerEntry { is_estimate: true, ..LedgerEntry::exact(NoiseSource::Preempted, 12_000) };
        assert_eq!((found.parts, found.left_ns), (vec![expected], vec![2_000, 300, 200]));
        // The delay is longer than the pauses.
        let found = by_delay(&pauses, 99_000);
        assert_eq!((found.parts[0].ns, found.left_ns), (14_500, vec![]));
        assert_eq!(by_delay(&pauses, 0).parts, []);
    }

    #[test]
    fn programs_get_their_share() {
        let name = |ran: &[(&str, u64)]| {
            let mut parts = vec![
                LedgerEntry::exact(tick(), 5),
                LedgerEntry::exact(NoiseSource::Preempted, 100),
            ];
            let ran: Vec<_> = ran.iter().map(|(name, ns)| ((*name).to_owned(), *ns)).collect();
            name_tasks(&mut parts, &ran);
            let ns = parts.iter().map(|entry| entry.ns).collect::<Vec<_>>();
            (ns, parts.into_iter().filter(|entry| entry.is_estimate).count())
        };
        assert_eq!(name(&[("sh", 60), ("cc1", 20)]), (vec![5, 60, 20, 20], 3));
        assert_eq!(name(&[("sh", 150), ("cc1", 50)]), (vec![5, 75, 25, 0], 3));
        assert_eq!(name(&[("a", 70), ("b", 70), ("c", 70)]), (vec![5, 34, 33, 33, 0], 4));
        assert_eq!(name(&[]), (vec![5, 100], 0));
    }

    proptest! {
        #[test]
        fn parts_and_rest_are_the_pauses(
            steps in proptest::collection::vec((0..5_000_u64, 0..6_u32), 0..60),
            pauses in proptest::collection::vec((1..9_000_u64, 1..20_000_u64), 0..30),
            sees_all: bool,
        ) {
            let mut now = 0;
            let events: Vec<(u64, CpuEventKind)> = steps.iter().map(|&(step, kind)| {
                now += step;
                let source = kind / 3;
                (now, [CpuEventKind::Enter(source), CpuEventKind::Exit(source), CpuEventKind::Switch((kind > 3).then_some(1))][(kind % 3) as usize])
            }).collect();
            let mut at = 0;
            let pauses: Vec<Pause> = pauses.iter().map(|&(step, length)| {
                let found = pause(at + step, length);
                at = found.end_ns();
                found
            }).collect();
            let found = attribute(&pauses, &trace(&events), 200_000, sees_all);
            let total: u64 = pauses.iter().map(|pause| pause.length_ns).sum();
            let left: u64 = found.left_ns.iter().sum();
            let parts: i64 = found.parts.iter().map(|entry| entry.ns).sum();
            prop_assert_eq!(parts + left.cast_signed(), total.cast_signed());
            prop_assert!(found.parts.iter().all(|entry| entry.ns >= 0));
            let counted = by_counts(&found.left_ns, &[(tick(), 7), (NoiseSource::Steal, 1 << 40)], 0.9);
            prop_assert!(counted.iter().map(|entry| entry.ns).sum::<i64>() <= left.cast_signed());
            let delayed = by_delay(&pauses, 50_000);
            let sum = delayed.left_ns.iter().sum::<u64>().cast_signed() + delayed.parts.iter().map(|part| part.ns).sum::<i64>();
            prop_assert_eq!(sum, total.cast_signed());
            let ledger = Ledger::new(total.cast_signed(), found.parts, NoiseSource::Host);
            prop_assert_eq!(ledger.unexplained_ns(), left.cast_signed());
        }
    }
}
