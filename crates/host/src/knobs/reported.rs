//! Settings that Stillwell only shows, because they need a reboot or a decision of the user.

use crate::knobs::knob::distinct;
use crate::knobs::{Confidence, Group, Knob, Machine, Reading};
use model::prose::prose;

pub(super) const fn row(
    name: &'static str,
    group: Group,
    noise: &'static str,
    look: fn(&Knob, &Machine<'_>) -> Reading,
) -> Knob {
    Knob {
        name,
        group,
        noise,
        files: &[],
        needs: "cannot be set while the machine runs",
        sure: Confidence::Documented,
        by_default: false,
        look,
    }
}

pub(super) const KNOBS: &[Knob] = &[
    row(
        "virtualisation",
        Group::Topology,
        "a hypervisor takes the CPU away without a trace, and topology and clock may be made up",
        virtualisation,
    ),
    row(
        "isolcpus",
        Group::Topology,
        "the scheduler puts other tasks on the CPUs of the benchmark",
        |_, machine| {
            boot_list(
                machine,
                "sys/devices/system/cpu/isolated",
                "isolcpus=managed_irq,domain,LIST",
            )
        },
    ),
    row(
        "nohz-full",
        Group::Kernel,
        "the tick interrupts each busy CPU 100 to 1000 times a second",
        |_, machine| boot_list(machine, "sys/devices/system/cpu/nohz_full", "nohz_full=LIST"),
    ),
    row(
        "rcu-nocbs",
        Group::Kernel,
        "callbacks of RCU run on the CPU that queued them",
        |_, machine| {
            // See kernel/rcu/tree_nocb.h, `rcu_init_nohz`.
            let nohz = machine.host.read("sys/devices/system/cpu/nohz_full").unwrap_or_default();
            match nohz.as_str() {
                "" | "(null)" => boot_flag(
                    machine,
                    "rcu_nocbs",
                    Some("boot with rcu_nocbs=LIST; nohz_full= implies it"),
                ),
                list => Reading::reported(format!("{list}, implied by nohz_full=")),
            }
        },
    ),
    row("max-cstate", Group::Frequency, "deep idle states wake up late", |_, machine| {
        boot_flag(machine, "max_cstate", None)
    }),
    row(
        "clock-source",
        Group::Kernel,
        "a slow clock is read by a trap or from a device",
        clock_source,
    ),
    row(
        "mitigations",
        Group::Kernel,
        "mitigations make system calls slower; they are part of what is measured",
        |_, m| boot_flag(m, "mitigations", None),
    ),
    row("power-supply", Group::Frequency, "on battery the clock is lower", power_supply),
    row("throttling", Group::Frequency, "a hot processor lowers its clock", throttling),
    row("hybrid", Group::Topology, "cores of different kinds have different speeds", hybrid),
    row(
        "huge-pages",
        Group::Memory,
        "huge pages change what is measured, not only its noise",
        huge_pages,
    ),
    row("swap", Group::Memory, "what was swapped out comes back with a major fault", swap),
];

fn virtualisation(_: &Knob, machine: &Machine<'_>) -> Reading {
    match &machine.virtualisation {
        None => Reading::reported("none seen"),
        Some(kind) => Reading::advised(
            kind.clone(),
            "frequency, idle states and turbo belong to the hypervisor; compare only within one session",
        ),
    }
}

fn boot_list(machine: &Machine<'_>, path: &str, parameter: &str) -> Reading {
    match machine.host.read(path).as_deref() {
        None => Reading::absent(format!(
            "this kernel is built without {}",
            parameter.split('=').next().unwrap_or("")
        )),
        // The kernel writes `(null)` for a mask that it never allocated.
        Some("" | "(null)") => Reading::advised(
            "no CPU",
            format!("boot with {parameter}; see `stillwell system boot`"),
        ),
        Some(list) => Reading::reported(list),
    }
}

/// Parameters of the kernel command line are words. A module's parameter begins with the module's name.
fn boot_flag(machine: &Machine<'_>, name: &str, advice: Option<&str>) -> Reading {
    let cmdline = machine.host.read("proc/cmdline").unwrap_or_default();
    let is_it = |word: &&str| {
        let key = word.split('=').next().unwrap_or("");
        key.rsplit('.').next() == Some(name)
    };
    let words: Vec<&str> = cmdline.split_ascii_whitespace().filter(is_it).collect();
    if words.is_empty() {
        advice.map_or(Reading::reported("not set"), |advice| Reading::advised("not set", advice))
    } else {
        Reading::reported(words.join(" "))
    }
}

fn clock_source(_: &Knob, machine: &Machine<'_>) -> Reading {
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let Some(source) = machine.host.read(path) else {
        return Reading::absent("the kernel shows no clock source");
    };
    let is_slow = crate::gaps::SLOW_CLOCK_SOURCES.contains(&source.as_str());
    let advice = "find in dmesg why the usual one was given up, or boot with tsc=reliable";
    if is_slow { Reading::advised(source, advice) } else { Reading::reported(source) }
}

/// Looks for a connected charger. Its type is `Mains`, or `USB` for a USB-C charger.
fn power_supply(_: &Knob, machine: &Machine<'_>) -> Reading {
    let host = machine.host;
    let directory = "sys/class/power_supply";
    let (mut has_battery, mut is_plugged, mut n_chargers) = (false, false, 0);
    for name in host.list(directory) {
        let read = |file| host.read(format!("{directory}/{name}/{file}")).unwrap_or_default();
        match read("type").as_str() {
            // The battery of a mouse has the scope `Device`.
            "Battery" => has_battery |= read("scope") != "Device",
            "Mains" | "USB" => {
                n_chargers += 1;
                is_plugged |= read("online") == "1";
            }
            _ => {}
        }
    }
    match (has_battery, is_plugged) {
        (false, _) if n_chargers == 0 => Reading::absent("there is no battery"),
        (_, true) | (false, _) => Reading::reported("mains"),
        (true, false) => Reading::advised("battery", "plug the charger in"),
    }
}

/// How often each CPU and package was throttled since boot (Documentation/ABI/stable/sysfs-devices-system-cpu).
fn throttling(_: &Knob, machine: &Machine<'_>) -> Reading {
    let counts = machine.cpu_directories().filter_map(|cpu| {
        machine.host.read_value::<u64>(format!("{cpu}/thermal_throttle/core_throttle_count"))
    });
    let counts: Vec<u64> = counts.collect();
    match counts.iter().max() {
        None => Reading::absent("this processor does not count it"),
        Some(0) => Reading::reported("never since boot"),
        Some(n) => Reading::advised(
            format!("{n} times since boot"),
            "see whether it happens during a benchmark, and cool the machine",
        ),
    }
}

fn hybrid(_: &Knob, machine: &Machine<'_>) -> Reading {
    let host = machine.host;
    let kinds = ["cpu_core", "cpu_atom"];
    let cpus = kinds.map(|kind| host.read(format!("sys/devices/{kind}/cpus")));
    if let [Some(fast), Some(slow)] = &cpus {
        return Reading::advised(
            format!("P {fast}, E {slow}"),
            prose!["choose " Affinity " of one kind"],
        );
    }
    let capacities = machine.cpu_directories();
    let capacities = capacities.filter_map(|cpu| host.read(format!("{cpu}/cpu_capacity")));
    let capacities: Vec<String> = capacities.collect();
    let kinds = distinct(capacities.iter());
    if kinds.contains(", ") {
        return Reading::advised(
            format!("capacities {kinds}"),
            prose!["choose " Affinity " of one kind"],
        );
    }
    Reading::absent("all cores are of one kind, as far as the kernel says")
}

fn huge_pages(_: &Knob, machine: &Machine<'_>) -> Reading {
    match crate::look::transparent_hugepages(machine.host) {
        Some(mode) => Reading::reported(mode),
        None => Reading::absent("this kernel has no transparent huge pages"),
    }
}

/// The first line of /proc/swaps is a heading.
fn swap(_: &Knob, machine: &Machine<'_>) -> Reading {
    let swaps = machine.host.read("proc/swaps").unwrap_or_default();
    let used_kib = swaps
        .lines()
        .skip(1)
        .filter_map(|line| line.split_ascii_whitespace().nth(3)?.parse::<u64>().ok());
    match (swaps.lines().count(), used_kib.sum::<u64>()) {
        (0 | 1, _) => Reading::reported("off"),
        (_, 0) => Reading::reported("on, nothing is swapped out"),
        (_, kib) => Reading::advised(
            format!("{kib} KiB are swapped out"),
            "free memory, then run `swapoff -a` and `swapon` with the same devices afterwards",
        ),
    }
}
