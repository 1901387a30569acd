//! Turbo, governor and limits of the frequency (Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate}.rst).

use crate::Host;
use crate::knobs::kernel::switch;
use crate::knobs::knob::distinct;
use crate::knobs::{Confidence, File, Format, Group, Knob, Machine, Reading, Undo};

const NO_TURBO: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
const MIN_PERF_PCT: &str = "sys/devices/system/cpu/intel_pstate/min_perf_pct";
const MAX_PERF_PCT: &str = "sys/devices/system/cpu/intel_pstate/max_perf_pct";
const CPUFREQ: &str = "sys/devices/system/cpu/cpufreq";
const BOOST: &str = "sys/devices/system/cpu/cpufreq/boost";

const fn file(path: &'static str, format: Format, undo: Undo) -> File {
    File { path, format, undo }
}

const fn tunable(path: &'static str) -> File {
    file(path, Format::Number, Undo::Tunables)
}

const MIN_PERF_PCT_FILE: File = file(MIN_PERF_PCT, Format::Number, Undo::Limits);
const MIN_FREQ_FILE: File =
    file("sys/devices/system/cpu/cpufreq/policy#/scaling_min_freq", Format::Number, Undo::Limits);
const MAX_FREQ_FILE: File =
    file("sys/devices/system/cpu/cpufreq/policy#/scaling_max_freq", Format::Number, Undo::Limits);
const GOVERNOR_FILE: File =
    file("sys/devices/system/cpu/cpufreq/policy#/scaling_governor", Format::Word, Undo::Governor);
const EPP_FILE: File = file(
    "sys/devices/system/cpu/cpufreq/policy#/energy_performance_preference",
    Format::Word,
    Undo::Energy,
);
const POLICY_BOOST_FILE: File =
    file("sys/devices/system/cpu/cpufreq/policy#/boost", Format::Number, Undo::PolicyTurbo);

pub(super) const KNOBS: &[Knob] = &[
    // The governor comes before turbo, because old kernels reset no_turbo when the governor changes.
    Knob {
        name: "governor",
        group: Group::Frequency,
        noise: "a governor that follows the load makes the clock ramp up during each run",
        files: &[
            GOVERNOR_FILE,
            EPP_FILE,
            // Drivers have the governors' settings for each policy or for all. `scaling_setspeed` belongs to `userspace`.
            tunable("sys/devices/system/cpu/cpufreq/ondemand/*"),
            tunable("sys/devices/system/cpu/cpufreq/conservative/*"),
            tunable("sys/devices/system/cpu/cpufreq/schedutil/*"),
            tunable("sys/devices/system/cpu/cpufreq/policy#/ondemand/*"),
            tunable("sys/devices/system/cpu/cpufreq/policy#/conservative/*"),
            tunable("sys/devices/system/cpu/cpufreq/policy#/schedutil/*"),
            tunable("sys/devices/system/cpu/cpufreq/policy#/scaling_setspeed"),
        ],
        needs: "root",
        sure: Confidence::Tested,
        by_default: true,
        look: governor,
    },
    Knob {
        name: "epp",
        group: Group::Frequency,
        noise: "the processor chooses its clock by itself, and an energy preference makes it hesitate (HWP, CPPC)",
        files: &[EPP_FILE],
        needs: "root",
        sure: Confidence::Documented,
        by_default: true,
        look: epp,
    },
    Knob {
        name: "epb",
        group: Group::Frequency,
        noise: "a bias to saving energy makes the processor hesitate to raise its clock",
        files: &[file(
            "sys/devices/system/cpu/cpu#/power/energy_perf_bias",
            Format::Number,
            Undo::Energy,
        )],
        needs: "root",
        sure: Confidence::Documented,
        by_default: true,
        look: epb,
    },
    Knob {
        name: "turbo",
        group: Group::Frequency,
        noise: "turbo makes the clock depend on temperature, on the power budget and on what other cores do",
        files: &[
            file(NO_TURBO, Format::Number, Undo::Turbo),
            file(BOOST, Format::Number, Undo::Turbo),
            POLICY_BOOST_FILE,
            MIN_PERF_PCT_FILE,
            MIN_FREQ_FILE,
            MAX_FREQ_FILE,
        ],
        needs: "root",
        sure: Confidence::Documented,
        by_default: true,
        look: turbo,
    },
    Knob {
        name: "hwp-boost",
        group: Group::Frequency,
        noise: "the driver raises the clock for a moment after each wait for input or output",
        files: &[file(
            "sys/devices/system/cpu/intel_pstate/hwp_dynamic_boost",
            Format::Number,
            Undo::Energy,
        )],
        needs: "root",
        sure: Confidence::Documented,
        by_default: true,
        look: |knob, machine| switch(knob, machine, "0", "only intel_pstate with HWP has it"),
    },
    Knob {
        name: "pstate-limits",
        group: Group::Frequency,
        noise: "limits of the whole processor let its clock move between them",
        files: &[file(MAX_PERF_PCT, Format::Number, Undo::Limits), MIN_PERF_PCT_FILE],
        needs: "root",
        sure: Confidence::Documented,
        by_default: true,
        look: pstate_limits,
    },
    Knob {
        name: "frequency",
        group: Group::Frequency,
        noise: "between its limits the clock moves with load and temperature",
        files: &[MIN_FREQ_FILE, MAX_FREQ_FILE],
        needs: "root",
        sure: Confidence::Tested,
        by_default: true,
        look: frequency,
    },
    Knob {
        name: "uncore",
        group: Group::Frequency,
        noise: "the clock of the last-level cache and the memory controller follows the load",
        files: &[file(
            "sys/devices/system/cpu/intel_uncore_frequency/*/min_freq_khz",
            Format::Number,
            Undo::Limits,
        )],
        needs: "root and the intel_uncore_frequency module",
        sure: Confidence::Documented,
        by_default: true,
        look: uncore,
    },
];

/// The settings of the governors in use. They vanish when the last policy leaves the governor, and come back with the
/// kernel's defaults (`cpufreq_dbs_governor_exit()` in drivers/cpufreq/cpufreq_governor.c).
fn tunables(machine: &Machine<'_>) -> Vec<String> {
    let host = machine.host;
    let mut paths = Vec::new();
    for policy in &machine.policies {
        let governor = host.read(format!("{policy}/scaling_governor")).unwrap_or_default();
        if governor == "userspace" {
            paths.push(format!("{policy}/scaling_setspeed"));
        }
        if !matches!(governor.as_str(), "ondemand" | "conservative" | "schedutil") {
            continue;
        }
        for directory in [format!("{CPUFREQ}/{governor}"), format!("{policy}/{governor}")] {
            let files = host.list(&directory).into_iter();
            paths.extend(files.map(|file| format!("{directory}/{file}")));
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

/// Why there is no cpufreq.
pub(super) fn without_cpufreq(machine: &Machine<'_>) -> String {
    match &machine.virtualisation {
        Some(kind) => format!("the hypervisor ({kind}) sets the frequency and does not show it"),
        None => "the kernel shows no cpufreq".to_owned(),
    }
}

/// A file of each policy. CPUs share policies, and a policy goes offline with its last CPU.
fn per_policy(machine: &Machine<'_>, name: &str) -> Vec<String> {
    machine.policies.iter().map(|policy| format!("{policy}/{name}")).collect()
}

fn existing(host: &Host, paths: Vec<String>) -> impl Iterator<Item = String> {
    paths.into_iter().filter(|path| host.exists(path))
}

/// Sets `performance`, if the kernel has this governor.
fn governor(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let host = machine.host;
    for policy in &machine.policies {
        let choices = host.read(format!("{policy}/scaling_available_governors"));
        if choices.is_some_and(|choices| !choices.split(' ').any(|name| name == "performance")) {
            return Reading::cannot("this kernel has no governor \"performance\"");
        }
    }
    let wanted = per_policy(machine, "scaling_governor");
    let wanted = wanted.into_iter().map(|path| (path, "performance".to_owned()));
    // With this governor intel_pstate and amd-pstate set the preference to performance, and refuse any other (EBUSY).
    let energy = existing(host, per_policy(machine, "energy_performance_preference"));
    let reading = knob.compare(host, wanted, &without_cpufreq(machine));
    reading.keeping(energy).keeping(tunables(machine))
}

fn epp(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let wanted = per_policy(machine, "energy_performance_preference");
    // Intel shows a number if the value has no name. 0 means performance.
    let wanted = wanted.into_iter().map(|path| {
        let is_zero = machine.host.read(&path).as_deref() == Some("0");
        (path, if is_zero { "0" } else { "performance" }.to_owned())
    });
    knob.compare(
        machine.host,
        wanted,
        "this processor does not choose its clock by itself (no HWP or CPPC)",
    )
}

fn epb(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let wanted = machine.cpu_directories();
    let wanted = wanted.map(|cpu| (format!("{cpu}/power/energy_perf_bias"), "0".to_owned()));
    knob.compare(machine.host, wanted, "this processor has no energy bias")
}

/// Turns turbo off with the driver's switch. intel_pstate (in active and passive mode) and cpufreq each have one; some
/// Intel processors have a bit in a register instead.
fn turbo(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let host = machine.host;
    let one = |path: &str, wanted: &str| vec![(path.to_owned(), wanted.to_owned())];
    let limits = || {
        let names = ["scaling_min_freq", "scaling_max_freq"];
        names.iter().flat_map(|name| per_policy(machine, name)).collect()
    };
    if host.exists(NO_TURBO) {
        // store_no_turbo() lowers min_perf_pct, and writing 0 does not raise it again. The limits that policies show
        // change with it (drivers/cpufreq/intel_pstate.c).
        let squashed = existing(host, [vec![MIN_PERF_PCT.to_owned()], limits()].concat());
        return knob.compare(host, one(NO_TURBO, "1"), "").keeping(squashed);
    }
    if host.exists(BOOST) {
        // The global switch writes each policy's switch (cpufreq_boost_trigger_state()) and changes cpuinfo_max_freq.
        let changed = existing(host, [per_policy(machine, "boost"), limits()].concat());
        return knob.compare(host, one(BOOST, "0"), "").keeping(changed);
    }
    let per_policy_boost: Vec<String> = existing(host, per_policy(machine, "boost")).collect();
    if !per_policy_boost.is_empty() {
        let wanted = per_policy_boost.into_iter().map(|path| (path, "0".to_owned()));
        return knob.compare(host, wanted, "").keeping(existing(host, limits()));
    }
    match machine.driver.as_deref() {
        None => Reading::absent(without_cpufreq(machine)),
        Some(driver) if driver.starts_with("amd-pstate") => Reading::cannot(
            "amd-pstate has no switch for boost before Linux 6.11; the knob `frequency` keeps the clock at its nominal value",
        ),
        Some("acpi-cpufreq") if is_intel(host) => without_switch(machine),
        Some(driver) => Reading::absent(format!("{driver} has no turbo")),
    }
}

fn is_intel(host: &Host) -> bool {
    host.read("proc/cpuinfo").is_some_and(|text| text.contains("GenuineIntel"))
}

/// A write to the register taints the kernel (`msr_write()` in arch/x86/kernel/msr.c). A maximum below the turbo entry
/// has the same effect without that.
fn without_switch(machine: &Machine<'_>) -> Reading {
    let is_below = |policy: &&String| below_turbo_khz(machine.host, policy).is_some();
    // A policy whose CPUs are offline keeps its files, and reading them fails (EBUSY).
    let is_on =
        |policy: &&String| machine.host.read(format!("{policy}/scaling_governor")).is_some();
    let mut on = machine.policies.iter().filter(is_on).peekable();
    if on.peek().is_some() && on.all(|policy| is_below(&policy)) {
        return Reading::reported("no switch; the knob `frequency` keeps the clock below turbo");
    }
    Reading::cannot(
        "only a register switches it off, and a write to it would mark the kernel as tainted",
    )
}

/// Writes `max` first, because the kernel clamps `min` to it. Without turbo, 100 % is the base frequency.
fn pstate_limits(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let wanted = [MAX_PERF_PCT, MIN_PERF_PCT].map(|path| (path.to_owned(), "100".to_owned()));
    knob.compare(machine.host, wanted, "only intel_pstate has them, unless each CPU has its own")
}

/// Sets minimum and maximum to the frequency that the processor can always hold. If that is unknown, it writes nothing:
/// the processor may hold the top frequency only while it is cool.
fn frequency(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let host = machine.host;
    if machine.policies.is_empty() {
        return Reading::absent(without_cpufreq(machine));
    }
    if let Some(why) = capped(machine) {
        return Reading::cannot(why);
    }
    let mut wanted = Vec::new();
    for policy in &machine.policies {
        let Some(base_khz) = base_khz(host, policy) else { continue };
        let (min, max) =
            (format!("{policy}/scaling_min_freq"), format!("{policy}/scaling_max_freq"));
        let now_min_khz: u64 = host.read_value(&min).unwrap_or(0);
        // Old kernels refuse a maximum below the minimum, and a minimum above the maximum.
        let order = if base_khz >= now_min_khz { [max, min] } else { [min, max] };
        wanted.extend(order.map(|path| (path, base_khz.to_string())));
    }
    if wanted.is_empty() {
        let mhz = |policy: &String, name: &str| {
            let khz: u64 = host.read_value(format!("{policy}/{name}"))?;
            Some(khz / 1000)
        };
        let ranges = machine.policies.iter().filter_map(|policy| {
            let (min, max) = (mhz(policy, "scaling_min_freq")?, mhz(policy, "scaling_max_freq")?);
            Some(format!("{min} to {max} MHz"))
        });
        let now = distinct(ranges.collect::<Vec<_>>().iter());
        if now.is_empty() {
            return Reading::absent("the limits of the frequency are not shown");
        }
        return Reading::reported(now);
    }
    knob.compare(host, wanted, "")
}

/// The frequency that the processor can always hold. intel_pstate and amd-pstate report it. In acpi-cpufreq's table,
/// turbo is a separate entry.
fn base_khz(host: &Host, policy: &str) -> Option<u64> {
    let cpu = policy.rsplit_once("policy")?.1;
    let nominal_mhz = || {
        let mhz =
            host.read_value(format!("sys/devices/system/cpu/cpu{cpu}/acpi_cppc/nominal_freq"));
        mhz.map(|mhz: u64| mhz * 1000)
    };
    let base = host.read_value(format!("{policy}/base_frequency"));
    let base = base.or_else(nominal_mhz).or_else(|| below_turbo_khz(host, policy))?;
    let min: u64 = host.read_value(format!("{policy}/cpuinfo_min_freq"))?;
    let max: u64 = host.read_value(format!("{policy}/cpuinfo_max_freq"))?;
    (min..=max).contains(&base).then_some(base)
}

/// The highest frequency without turbo. By convention ACPI shows the whole turbo range as one state, 1 MHz above it
/// (Documentation/admin-guide/pm/intel_pstate.rst, "intel_pstate vs acpi-cpufreq").
fn below_turbo_khz(host: &Host, policy: &str) -> Option<u64> {
    let list = host.read(format!("{policy}/scaling_available_frequencies"))?;
    let mut khz: Vec<u64> =
        list.split_ascii_whitespace().filter_map(|khz| khz.parse().ok()).collect();
    khz.sort_unstable();
    let [.., base, turbo] = khz[..] else { return None };
    (turbo == base + 1000).then_some(base)
}

/// Whether heat or the firmware limits the frequency now, in words.
///
/// The files show the limit in force, but a write sets the user's limit. So restoring them would make the present limit
/// permanent (drivers/cpufreq/cpufreq.c).
fn capped(machine: &Machine<'_>) -> Option<String> {
    let host = machine.host;
    for policy in &machine.policies {
        let read = |name| host.read_value::<u64>(format!("{policy}/{name}"));
        let (limit, top) = (read("bios_limit"), read("cpuinfo_max_freq"));
        if limit.zip(top).is_some_and(|(limit, top)| limit < top) {
            return Some(
                "the firmware limits the frequency now (bios_limit), and that would be frozen in"
                    .into(),
            );
        }
    }
    let devices = host.list("sys/class/thermal").into_iter();
    let hot = devices.filter(|name| name.starts_with("cooling_device")).find(|name| {
        let read = |file| host.read(format!("sys/class/thermal/{name}/{file}"));
        // ACPI calls it `Processor`, device trees `cpufreq-cpu0`.
        let kind = read("type").unwrap_or_default();
        (kind == "Processor" || kind.contains("cpufreq"))
            && read("cur_state").is_some_and(|state| state != "0")
    });
    hot.map(|_| "the processor is being throttled by heat now, and that would be frozen in; let it cool down".into())
}

/// Raises the minimum to the maximum in force.
fn uncore(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let directory = "sys/devices/system/cpu/intel_uncore_frequency";
    let domains = machine.host.list(directory).into_iter();
    let wanted = domains.filter_map(|domain| {
        let max = machine.host.read(format!("{directory}/{domain}/max_freq_khz"))?;
        Some((format!("{directory}/{domain}/min_freq_khz"), max))
    });
    let absent =
        "there is no intel_uncore_frequency; only Intel servers have it, with the module loaded";
    knob.compare(machine.host, wanted, absent)
}
