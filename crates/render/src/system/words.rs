//! Values of knobs in words: for example, `0` in `no_turbo` means that turbo is on.

use host::knobs::{Format, Knob, Setting};
use host::parse_cpu_mask;
use model::values::{name_cpus, read_cpu_list};

/// Formats the values read, joined with `, ` when files differ.
pub(super) fn values(knob: &Knob, values: &str) -> String {
    if let ("pstate-limits" | "frequency", Some(range)) = (knob.name, range(knob, values)) {
        return range;
    }
    let words: Vec<String> = values.split(", ").map(|value| word(knob, value)).collect();
    words.join(", ")
}

/// Formats the lowest and the highest of several numbers.
fn range(knob: &Knob, values: &str) -> Option<String> {
    let numbers: Option<Vec<u64>> = values.split(", ").map(|value| value.parse().ok()).collect();
    let numbers = numbers?;
    let (least, most) = (numbers.iter().min()?, numbers.iter().max()?);
    let ends =
        (least != most).then(|| (word(knob, &least.to_string()), word(knob, &most.to_string())));
    ends.map(|(least, most)| format!("{least} to {most}"))
}

/// Names the services by their control groups.
pub(super) fn units(settings: &[Setting]) -> String {
    let names = settings.iter().filter_map(|setting| setting.path.rsplit('/').next());
    let names = names.map(|name| name.trim_end_matches(".service"));
    names.collect::<Vec<_>>().join(", ")
}

fn word(knob: &Knob, value: &str) -> String {
    let number: Option<i64> = value.parse().ok();
    match (knob.name, value) {
        ("idle-states", "0") => "any wake-up time".into(),
        ("idle-states", "n/a") => "up to 0 µs to wake up".into(),
        ("idle-states", us) => format!("up to {us} µs to wake up"),
        ("stat-interval", s) => format!("every {s} s"),
        ("perf-rate", rate) => format!("up to {rate} samples/s"),
        ("rt-throttling", "-1") => "no limit".into(),
        ("rt-throttling", us) => format!("{us} µs of each period"),
        ("aslr", "1") => "partly on".into(),
        ("aslr", "2") => "on".into(),
        ("epb", "0") => "0 (performance)".into(),
        ("epb", "15") => "15 (saving energy)".into(),
        ("pstate-limits", percent) => format!("{percent} %"),
        ("frequency" | "uncore", _) => match number {
            Some(khz) => format!("{} MHz", khz / 1000),
            None => value.into(),
        },
        ("ksm", "2") => "off, and taken apart".into(),
        (_, "0") if is_switch(knob) => "off".into(),
        (_, "1") if is_switch(knob) => "on".into(),
        ("watchdog-cpus", list) => match read_cpu_list(list) {
            Some(cpus) => name_cpus(&cpus),
            None => list.into(),
        },
        ("workqueues", mask) => match parse_cpu_mask(mask) {
            Ok(cpus) => name_cpus(&cpus),
            Err(_) => mask.into(),
        },
        (_, "active") if is_unit(knob) => "running".into(),
        (_, "inactive") if is_unit(knob) => "not running".into(),
        _ => value.into(),
    }
}

/// Whether a knob is on or off. `turbo` is excluded, because 1 means off in some of its files.
fn is_switch(knob: &Knob) -> bool {
    const SWITCHES: [&str; 7] = [
        "nmi-watchdog",
        "numa-balancing",
        "timer-migration",
        "autogroup",
        "ksm",
        "khugepaged",
        "hwp-boost",
    ];
    knob.name == "aslr" || SWITCHES.contains(&knob.name)
}

pub(super) fn is_unit(knob: &Knob) -> bool {
    knob.files.iter().any(|file| file.format == Format::Unit)
}
