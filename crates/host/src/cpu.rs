//! The models of the CPUs and their frequency limits, from `/proc/cpuinfo` and cpufreq
//! (Documentation/admin-guide/pm/cpufreq.rst).

use crate::Host;

const CPUFREQ: &str = "sys/devices/system/cpu/cpufreq";

/// The different kinds of CPU in order of the CPUs, joined with ` + `. On a machine with a device tree, the board
/// follows in parentheses.
pub(super) fn model(host: &Host) -> Option<String> {
    let cpuinfo = host.read("proc/cpuinfo").unwrap_or_default();
    let mut kinds = arm_kinds(&cpuinfo);
    if kinds.is_empty() {
        // x86, LoongArch, MIPS, POWER, RISC-V.
        let keys = ["model name", "Model Name", "cpu model", "cpu", "uarch"];
        kinds.extend(keys.iter().find_map(|key| values(&cpuinfo, key).next().map(str::to_owned)));
    }
    // The kernel ends the text of a device tree with a NUL.
    let board = host.read("sys/firmware/devicetree/base/model");
    let board = board
        .map(|board| board.trim_end_matches('\0').to_owned())
        .filter(|board| !board.is_empty());
    match (kinds.is_empty(), board) {
        (false, Some(board)) => Some(format!("{} ({board})", kinds.join(" + "))),
        (false, None) => Some(kinds.join(" + ")),
        (true, board) => board,
    }
}

/// All values of a key of `/proc/cpuinfo`, `key : value` in each line.
pub(super) fn values<'a>(cpuinfo: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    let pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    pairs.filter(move |(name, _)| name.trim() == key).map(|(_, value)| value.trim())
}

/// Names of the ARM cores by the numbers of MIDR_EL1, because ARM has no model names (arch/arm64/kernel/cpuinfo.c).
fn arm_kinds(cpuinfo: &str) -> Vec<String> {
    let mut kinds = Vec::new();
    for (implementer, part) in values(cpuinfo, "CPU implementer").zip(values(cpuinfo, "CPU part")) {
        let known = ARM_PARTS.iter().find(|known| known.0 == implementer && known.1 == part);
        let kind = match known {
            Some((_, _, name)) => (*name).to_owned(),
            None => format!("ARM implementer {implementer} part {part}"),
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// Implementer, part and name, from arch/arm64/include/asm/cputype.h.
const ARM_PARTS: &[(&str, &str, &str)] = &[
    ("0x41", "0xd03", "Cortex-A53"),
    ("0x41", "0xd05", "Cortex-A55"),
    ("0x41", "0xd07", "Cortex-A57"),
    ("0x41", "0xd08", "Cortex-A72"),
    ("0x41", "0xd09", "Cortex-A73"),
    ("0x41", "0xd0a", "Cortex-A75"),
    ("0x41", "0xd0b", "Cortex-A76"),
    ("0x41", "0xd0c", "Neoverse-N1"),
    ("0x41", "0xd0d", "Cortex-A77"),
    ("0x41", "0xd40", "Neoverse-V1"),
    ("0x41", "0xd41", "Cortex-A78"),
    ("0x41", "0xd44", "Cortex-X1"),
    ("0x41", "0xd46", "Cortex-A510"),
    ("0x41", "0xd47", "Cortex-A710"),
    ("0x41", "0xd48", "Cortex-X2"),
    ("0x41", "0xd49", "Neoverse-N2"),
    ("0x41", "0xd4d", "Cortex-A715"),
    ("0x41", "0xd4e", "Cortex-X3"),
    ("0x41", "0xd4f", "Neoverse-V2"),
    ("0xc0", "0xac3", "Ampere-1"),
];

/// The cpufreq directories in order of their first CPU. Empty if the kernel does not scale frequencies.
pub(super) fn policies(host: &Host) -> Vec<String> {
    let names = host.list(CPUFREQ).into_iter();
    let numbers = names.filter_map(|name| name.strip_prefix("policy")?.parse::<u32>().ok());
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.into_iter().map(|number| format!("{CPUFREQ}/policy{number}")).collect()
}

pub(super) fn scaling_driver(host: &Host) -> Option<String> {
    policies(host).iter().find_map(|policy| host.read(format!("{policy}/scaling_driver")))
}

/// The different governors in use, in order of the CPUs.
pub(super) fn governors(host: &Host) -> Vec<String> {
    let mut governors = Vec::new();
    for policy in policies(host) {
        let governor = host.read(format!("{policy}/scaling_governor"));
        governors.extend(governor.filter(|governor| !governors.contains(governor)));
    }
    governors
}

/// Whether any CPU may exceed its base frequency. Intel's driver has its own switch. The others share `cpufreq/boost`
/// and a switch for each policy below it.
pub(super) fn turbo(host: &Host) -> Option<bool> {
    if let Some(no_turbo) = host.read_value::<u8>("sys/devices/system/cpu/intel_pstate/no_turbo") {
        return Some(no_turbo == 0);
    }
    let global: Option<u8> = host.read_value(format!("{CPUFREQ}/boost"));
    if global == Some(0) {
        return Some(false);
    }
    let each =
        policies(host).into_iter().map(|policy| host.read_value::<u8>(format!("{policy}/boost")));
    let each: Vec<u8> = each.flatten().collect();
    if each.is_empty() { global.map(|boost| boost == 1) } else { Some(each.contains(&1)) }
}

/// The frequency of each online CPU in /proc/cpuinfo, MHz. Empty on architectures that do not show it.
pub(super) fn frequencies_mhz(host: &Host) -> Vec<u32> {
    let text = host.read_long("proc/cpuinfo", CPUINFO_BYTES_MAX).unwrap_or_default();
    let frequencies = values(&text, "cpu MHz");
    frequencies.filter_map(|mhz| Some(mhz.parse::<f64>().ok()?.round() as u32)).collect()
}

/// Room for 8192 CPUs, each with some 1.5 KiB.
const CPUINFO_BYTES_MAX: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::expand;

    #[track_caller]
    fn check(files: &str, expect: (Option<&str>, &[&str], Option<bool>)) {
        let (_directory, host) = expand(files);
        let found = (model(&host), governors(&host), turbo(&host));
        let governors = expect.1.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(found, (expect.0.map(str::to_owned), governors, expect.2), "{files}");
    }

    #[test]
    fn models() {
        check("", (None, &[], None));
        check("proc/cpuinfo = CPU implementer\\t: 0x99\\nCPU part\\t: 0x001\n", {
            (Some("ARM implementer 0x99 part 0x001"), &[], None)
        });
        // On 32-bit ARM the model name is less specific than the part number.
        check(
            "proc/cpuinfo = model name\\t: ARMv7 Processor rev 3 (v7l)\\nCPU implementer\\t: 0x41\\nCPU part\\t: 0xd08\n",
            (Some("Cortex-A72"), &[], None),
        );
        check("sys/firmware/devicetree/base/model = StarFive VisionFive 2\\0\n", {
            (Some("StarFive VisionFive 2"), &[], None)
        });
    }

    /// `policy10` comes after `policy9`, and each governor appears once.
    #[test]
    fn governors_in_order_of_the_cpus() {
        let mut files = String::new();
        for (policy, governor) in
            [(0, "schedutil"), (9, "ondemand"), (10, "performance"), (11, "ondemand")]
        {
            files += &format!("{CPUFREQ}/policy{policy}/scaling_governor = {governor}\n");
        }
        check(&files, (None, &["schedutil", "ondemand", "performance"], None));
    }

    #[test]
    fn turbo_of_each_policy() {
        let policies =
            |a, b| format!("{CPUFREQ}/policy0/boost = {a}\n{CPUFREQ}/policy1/boost = {b}\n");
        check(&policies(0, 0), (None, &[], Some(false)));
        check(&format!("{CPUFREQ}/boost = 1\n{}", policies(0, 0)), (None, &[], Some(false)));
        check(&format!("{CPUFREQ}/boost = 1\n{}", policies(0, 1)), (None, &[], Some(true)));
        check(&format!("{CPUFREQ}/boost = 0\n{}", policies(1, 1)), (None, &[], Some(false)));
        check(&format!("{CPUFREQ}/boost = 1\n"), (None, &[], Some(true)));
        check("sys/devices/system/cpu/intel_pstate/no_turbo = 1\n", (None, &[], Some(false)));
    }
}
