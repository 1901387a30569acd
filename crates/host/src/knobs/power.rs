//! Idle states, power profiles, and daemons that turn the same knobs as Stillwell.

use crate::knobs::kernel::switch;
use crate::knobs::{Confidence, File, Format, Group, Knob, Machine, Reading, Undo};
use crate::value_format::latency_us;

/// Longest allowed wake-up time, µs. It keeps C1 and C1E, and so the power budget that idle cores leave to the busy
/// one.
const RESUME_LATENCY_US_MAX: u64 = 10;
const PROFILE: &str = "sys/firmware/acpi/platform_profile";

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "idle-states",
        group: Group::Frequency,
        noise: "a CPU that slept deeply wakes up late and with cold caches",
        files: &[File {
            path: "sys/devices/system/cpu/cpu#/power/pm_qos_resume_latency_us",
            format: Format::Latency,
            undo: Undo::Settings,
        }],
        needs: "root",
        sure: Confidence::Tested,
        by_default: true,
        look: idle_states,
    },
    Knob {
        name: "power-profile",
        group: Group::Frequency,
        noise: "the firmware trades speed for quiet fans and a cool case",
        files: &[File { path: PROFILE, format: Format::Word, undo: Undo::Energy }],
        needs: "root",
        sure: Confidence::Documented,
        by_default: true,
        look: power_profile,
    },
];

/// Limits the benchmark's CPUs, or all CPUs if the user named none.
fn idle_states(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let host = machine.host;
    let has_states =
        |cpu: &usize| host.exists(format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state1"));
    if !machine.online.iter().any(has_states) {
        return Reading::absent("the kernel chooses no idle states here");
    }
    let cpus = if machine.bench.is_empty() { &machine.online } else { &machine.bench };
    let wanted = cpus.iter().map(|cpu| {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us");
        let now = host.read(&path).unwrap_or_default();
        let is_short = latency_us(&now).is_some_and(|us| us <= RESUME_LATENCY_US_MAX);
        (path, if is_short { now } else { RESUME_LATENCY_US_MAX.to_string() })
    });
    knob.compare(host, wanted, "this kernel has no latency limit for single CPUs")
}

fn power_profile(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let choices = machine.host.read(format!("{PROFILE}_choices"));
    match choices {
        None => Reading::absent("the firmware has no power profiles"),
        Some(choices) if !choices.split(' ').any(|name| name == "performance") => {
            Reading::cannot("the firmware has no profile \"performance\"")
        }
        Some(_) => switch(knob, machine, "performance", ""),
    }
}
