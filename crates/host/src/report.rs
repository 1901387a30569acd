//! The contents of `system show`: the state of every knob, the CPUs, and the CPUs recommended for a benchmark.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::knobs::{Knob, Machine, Reading, Setting, State, knobs};
use crate::{
    CorePairs, CountedInterrupts, CpuRow, Host, Recommendation, read_cpu_table, recommend,
    with_hidden_siblings,
};
use model::prose::Prose;
use model::values::format_cpu_list;

/// The findings on a machine.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SystemReport {
    /// The CPUs of the benchmark for which the knobs were read. Empty if the user named none and none is isolated.
    pub cpus: Vec<usize>,
    /// The origin of these CPUs.
    pub cpus_from: CpusFrom,
    /// True if `tune` without a list of knobs would change nothing.
    pub is_tuned: bool,
    /// The command that tunes the machine. `None` when there is nothing to tune.
    pub command: Option<String>,
    /// All knobs, in the order in which `tune` sets them.
    pub knobs: Vec<KnobReport>,
    /// All CPUs.
    pub table: Vec<CpuRow>,
    /// How much the CPUs slow each other. `None` if nobody has measured it.
    pub core_pairs: Option<CorePairs>,
    /// The recommended CPUs for a benchmark.
    pub recommended: Recommendation,
}

/// The origin of the benchmark's CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpusFrom {
    /// The user named them.
    Asked,
    /// The kernel's command line isolates them.
    Isolated,
    /// No CPUs are chosen.
    Nobody,
}

#[derive(Debug)]
pub struct KnobReport {
    /// The knob's row of the table.
    pub knob: &'static Knob,
    /// The state read from the machine.
    pub reading: Reading,
    /// The consequence for the user.
    pub standing: Standing,
}

/// The required action for a knob, in display order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// `tune` would change it by default.
    NotTuned,
    /// `tune` changes it only by name.
    OnRequest,
    /// The right value depends on the CPUs of the benchmark, and the user has named none.
    NeedsCpus,
    /// The user can change it, but `tune` cannot.
    ByHand,
    /// The value should be different, but cannot be set here.
    CannotSet,
    /// The value is right.
    Fine,
    /// For information only: a reader of timings should know it.
    Shown,
    /// This machine does not have it.
    Absent,
}

impl SystemReport {
    /// Reads the state of a machine. It never writes.
    pub fn new(
        host: &Host,
        bench: Vec<usize>,
        is_asked: bool,
        interrupts: Option<&CountedInterrupts>,
        core_pairs: Option<CorePairs>,
    ) -> Self {
        let machine = Machine::new(host, bench);
        let knobs: Vec<KnobReport> =
            knobs().map(|knob| KnobReport::new(knob, knob.read(&machine))).collect();
        let table = read_cpu_table(host, interrupts);
        let hidden = core_pairs.as_ref().map(CorePairs::siblings).unwrap_or_default();
        let recommended = recommend(&with_hidden_siblings(table.clone(), &hidden));
        let is_tuned = knobs.iter().all(|knob| knob.standing != Standing::NotTuned);
        let cpus = machine.bench.clone();
        let cpus_from = match (is_asked, cpus.is_empty()) {
            (true, _) => CpusFrom::Asked,
            (false, false) => CpusFrom::Isolated,
            (false, true) => CpusFrom::Nobody,
        };
        // `tune` takes isolated CPUs without being told, so the command does not name them.
        let named = match cpus_from {
            CpusFrom::Asked => cpus.as_slice(),
            CpusFrom::Isolated => &[],
            CpusFrom::Nobody => recommended.cpus.as_slice(),
        };
        let command = (!is_tuned).then(|| tune_command(named));
        Self { cpus, cpus_from, is_tuned, command, knobs, table, core_pairs, recommended }
    }

    pub fn standing(&self, standing: Standing) -> impl Iterator<Item = &KnobReport> {
        self.knobs.iter().filter(move |knob| knob.standing == standing)
    }
}

fn tune_command(cpus: &[usize]) -> String {
    match cpus {
        [] => "sudo stillwell system tune".to_owned(),
        cpus => format!("sudo stillwell system tune --cpus {}", format_cpu_list(cpus)),
    }
}

impl KnobReport {
    fn new(knob: &'static Knob, reading: Reading) -> Self {
        let standing = match &reading.state {
            State::Fine { .. } => Standing::Fine,
            State::NotTuned { .. } if knob.by_default => Standing::NotTuned,
            State::NotTuned { .. } => Standing::OnRequest,
            State::CannotSet { .. } => Standing::CannotSet,
            State::Absent { .. } => Standing::Absent,
            // `tune` could write it if the user named the CPUs.
            State::Reported { advice: Some(_), .. } if !knob.files.is_empty() => {
                Standing::NeedsCpus
            }
            State::Reported { advice: Some(_), .. } => Standing::ByHand,
            State::Reported { advice: None, .. } => Standing::Shown,
        };
        Self { knob, reading, standing }
    }
}

/// The fields of a knob, flat and without the functions.
#[derive(Serialize, JsonSchema)]
struct KnobFields<'a> {
    /// Name of the knob.
    name: &'a str,
    /// Group in the table.
    group: super::knobs::Group,
    /// The consequence for the user.
    standing: Standing,
    /// The value now.
    now: Option<&'a str>,
    /// The value that makes less noise.
    wanted: Option<&'a str>,
    /// Why it cannot be set, or is not there.
    why: Option<&'a str>,
    /// Advice for the user.
    advice: Option<String>,
    /// The noise that it makes.
    noise: &'a str,
    /// Rights or features that setting the knob needs.
    needs: &'a str,
    /// How sure it is that it helps.
    sure: super::knobs::Confidence,
    /// Whether `tune` sets it without its name.
    by_default: bool,
    /// The knob's files.
    files: Vec<&'a str>,
    /// The files that `tune` would write, with their values.
    settings: &'a [Setting],
}

impl JsonSchema for KnobReport {
    fn schema_name() -> Cow<'static, str> {
        "KnobReport".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        KnobFields::json_schema(generator)
    }
}

impl Serialize for KnobReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (mut now, mut wanted, mut why, mut advice) = (None, None, None, None);
        match &self.reading.state {
            State::Fine { now: found } => now = Some(found.as_str()),
            State::NotTuned { now: found, wanted: better } => {
                (now, wanted) = (Some(found.as_str()), Some(better.as_str()));
            }
            State::CannotSet { why: reason } | State::Absent { why: reason } => {
                why = Some(reason.as_str());
            }
            State::Reported { now: found, advice: better } => {
                (now, advice) = (Some(found.as_str()), better.as_ref().map(Prose::to_string));
            }
        }
        let knob = self.knob;
        let files = knob.files.iter().map(|file| file.path).collect();
        KnobFields {
            name: knob.name,
            group: knob.group,
            standing: self.standing,
            now,
            wanted,
            why,
            advice,
            noise: knob.noise,
            needs: knob.needs,
            sure: knob.sure,
            by_default: knob.by_default,
            files,
            settings: &self.reading.settings,
        }
        .serialize(serializer)
    }
}

/// Kernel files that are easy to misread, on machines of tests/hosts with a few files changed.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{expand, fixture_text};

    /// The standing of a knob on a machine with these files changed.
    fn stands(name: &str, files: &str, bench: &[usize], knob: &str) -> (Standing, State) {
        let (_directory, host) = expand(&format!("{}\n{files}", fixture_text(name)));
        let report = SystemReport::new(&host, bench.to_vec(), false, None, None);
        let found = report.knobs.into_iter().find(|found| found.knob.name == knob).unwrap();
        (found.standing, found.reading.state)
    }

    #[track_caller]
    fn check(name: &str, files: &str, knob: &str, expect: Standing) {
        let (standing, state) = stands(name, files, &[], knob);
        assert_eq!(standing, expect, "{knob} of {name} with {files:?}: {state:?}");
    }

    /// In passive mode `scaling_driver` is intel_cpufreq, but the `no_turbo` file exists too.
    #[test]
    fn passive_intel_pstate_has_no_turbo_too() {
        check("intel-passive", "", "turbo", Standing::Fine);
        let on = "sys/devices/system/cpu/intel_pstate/no_turbo = 0\n";
        check("intel-passive", on, "turbo", Standing::NotTuned);
    }

    /// Other tools wrote to the missing file and did not notice the failure.
    #[test]
    fn amd_pstate_has_no_boost_file_before_6_11() {
        check("amd-pstate-6.10", "", "turbo", Standing::CannotSet);
        // CPPC gives the nominal frequency in MHz. The limits are in kHz.
        let (_, state) = stands("amd-pstate-6.10", "", &[], "frequency");
        assert!(matches!(state, State::NotTuned { wanted, .. } if wanted == "4500000"));
        check("amd-pstate-6.12", "", "turbo", Standing::NotTuned);
    }

    /// The files show the limit in force. Saving it would freeze a limit of the firmware or of the thermal control.
    #[test]
    fn a_limit_of_the_moment_is_not_the_users() {
        let capped = "sys/devices/system/cpu/cpufreq/policy{0-7}/bios_limit = 2000000\n";
        check("intel-hwp-active", capped, "frequency", Standing::CannotSet);
        let hot = "sys/class/thermal/cooling_device0/type = Processor\n\
                   sys/class/thermal/cooling_device0/cur_state = 3\n";
        check("intel-hwp-active", hot, "frequency", Standing::CannotSet);
    }

    /// `0` means no limit, and `n/a` means zero (Documentation/ABI/testing/sysfs-devices-power).
    #[test]
    fn a_resume_latency_of_0_is_no_limit() {
        let with = |value| {
            format!("sys/devices/system/cpu/cpu{{0-7}}/power/pm_qos_resume_latency_us = {value}\n")
        };
        check("intel-hwp-active", &with("0"), "idle-states", Standing::NotTuned);
        check("intel-hwp-active", &with("n/a"), "idle-states", Standing::Fine);
        check("intel-hwp-active", &with("10"), "idle-states", Standing::Fine);
        check("intel-hwp-active", &with("1000"), "idle-states", Standing::NotTuned);
    }

    /// A USB-C charger does not count as mains, and the battery of a mouse is not the machine's.
    #[test]
    fn usb_chargers_and_batteries_of_mice() {
        let usb = "sys/class/power_supply/usb/type = USB\nsys/class/power_supply/usb/online = 1\n";
        check("intel-hwp-active", "", "power-supply", Standing::ByHand);
        check("intel-hwp-active", usb, "power-supply", Standing::Shown);
        let mouse = "sys/class/power_supply/hidpp/type = Battery\n\
                     sys/class/power_supply/hidpp/scope = Device\n";
        check("amd-acpi-cpufreq", mouse, "power-supply", Standing::Absent);
    }

    /// A write to the register that switches turbo off taints the kernel, so the frequency limits do it.
    #[test]
    fn turbo_of_acpi_cpufreq_is_kept_off_by_the_limits() {
        check("intel-acpi-msr", "", "turbo", Standing::Shown);
    }

    #[test]
    fn unreadable_is_not_absent() {
        check("container-ro", "", "nmi-watchdog", Standing::CannotSet);
        check("container-ro", "", "irqs", Standing::CannotSet);
    }

    /// With 0 or 100 the kernel answers EINVAL to any rate.
    #[test]
    fn the_sample_rate_depends_on_the_percentage() {
        let full = "proc/sys/kernel/perf_cpu_time_max_percent = 100\n";
        check("intel-passive", "", "perf-rate", Standing::OnRequest);
        check("intel-passive", full, "perf-rate", Standing::CannotSet);
    }

    /// The kernel writes `(null)` for a list that was never made. A kernel without the file lacks the feature.
    #[test]
    fn no_tickless_cpus() {
        check("intel-passive", "", "nohz-full", Standing::ByHand);
        check("wsl2", "", "nohz-full", Standing::Absent);
        check("intel-acpi-msr", "", "nohz-full", Standing::Shown);
    }

    /// The masks of 128 CPUs have four words. The benchmark's CPUs are in the second and the last word.
    #[test]
    fn masks_of_many_cpus() {
        let (standing, state) = stands("numa-128", "", &[62, 63, 126, 127], "workqueues");
        assert_eq!(standing, Standing::NotTuned);
        let wanted = "3fffffff,ffffffff,3fffffff,ffffffff";
        assert!(
            matches!(&state, State::NotTuned { wanted: found, .. } if found == wanted),
            "{state:?}"
        );
    }
}
