//! Settings that matter to real-time engineers. Most only explain a pause, so `system` shows them (the crate's README
//! compares them with the profiles of tuned).

use crate::knobs::kernel::{number, switch};
use crate::knobs::knob::distinct;
use crate::knobs::reported::row;
use crate::knobs::{Confidence, Group, Knob, Machine, Reading};
use crate::value_format::parse_cpu_mask;
use model::values::name_cpus;

const CPU: &str = "sys/devices/system/cpu";
const NET: &str = "sys/class/net";

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "compaction",
        group: Group::Memory,
        noise: "the kernel compacts memory twice a second before anybody asks for huge pages",
        files: &[number("proc/sys/vm/compaction_proactiveness")],
        needs: "root",
        sure: Confidence::Documented,
        by_default: true,
        look: |knob, machine| switch(knob, machine, "0", "this kernel compacts only on demand"),
    },
    row(
        "network-queues",
        Group::Topology,
        "the kernel may hand received packets to any CPU of a queue's mask (RPS), and sends by XPS",
        network_queues,
    ),
    row(
        "vulnerabilities",
        Group::Kernel,
        "each mitigation in force makes system calls or context switches slower",
        vulnerabilities,
    ),
    row(
        "microcode",
        Group::Kernel,
        "microcode changes the times of instructions, so results of two versions differ",
        microcode,
    ),
];

/// The benchmark's CPUs, or all if the user named none.
fn chosen<'a>(machine: &'a Machine<'_>) -> &'a [usize] {
    if machine.bench.is_empty() { &machine.online } else { &machine.bench }
}

/// The masks of a network device's queue, with the direction of the packets (Documentation/networking/scaling.rst,
/// "RPS" and "XPS").
const QUEUE_MASKS: [(&str, &str); 2] = [("rps_cpus", "to"), ("xps_cpus", "from")];

/// The queues that may hand received packets to the benchmark's CPUs, and those that send from them.
fn network_queues(_: &Knob, machine: &Machine<'_>) -> Reading {
    let host = machine.host;
    let (mut n_queues, mut found) = (0, Vec::new());
    for device in host.list(NET) {
        let directory = format!("{NET}/{device}/queues");
        for queue in host.list(&directory) {
            for (file, way) in QUEUE_MASKS {
                let Some(mask) = host.read(format!("{directory}/{queue}/{file}")) else { continue };
                n_queues += 1;
                let cpus = parse_cpu_mask(&mask).unwrap_or_default();
                if chosen(machine).iter().any(|cpu| cpus.contains(cpu)) {
                    found.push(format!("{device}/{queue} {way} {}", name_cpus(&cpus)));
                }
            }
        }
    }
    match (n_queues, found.is_empty()) {
        (0, _) => Reading::absent("no network device shows queues"),
        (_, true) => Reading::reported("no queue has these CPUs in its mask"),
        _ => Reading::advised(
            found.join(", "),
            "write a mask of other CPUs to rps_cpus or xps_cpus in /sys/class/net/DEVICE/queues/QUEUE",
        ),
    }
}

fn vulnerabilities(_: &Knob, machine: &Machine<'_>) -> Reading {
    let directory = format!("{CPU}/vulnerabilities");
    let named = |start: &str| {
        let is_so = |name: &String| {
            machine
                .host
                .read(format!("{directory}/{name}"))
                .is_some_and(|text| text.starts_with(start))
        };
        machine.host.list(&directory).into_iter().filter(is_so).collect::<Vec<_>>()
    };
    let (mitigated, vulnerable) = (named("Mitigation"), named("Vulnerable"));
    match (mitigated.is_empty(), vulnerable.is_empty()) {
        (true, true) if machine.host.list(&directory).is_empty() => {
            Reading::absent("the kernel shows none")
        }
        (true, true) => Reading::reported("not affected"),
        (_, true) => Reading::reported(format!("mitigated: {}", mitigated.join(", "))),
        (true, _) => Reading::reported(format!("not mitigated: {}", vulnerable.join(", "))),
        _ => Reading::reported(format!(
            "mitigated: {}; not: {}",
            mitigated.join(", "),
            vulnerable.join(", ")
        )),
    }
}

fn microcode(_: &Knob, machine: &Machine<'_>) -> Reading {
    let versions = machine.cpu_directories();
    let versions: Vec<String> =
        versions.filter_map(|cpu| machine.host.read(format!("{cpu}/microcode/version"))).collect();
    let all = distinct(versions.iter());
    match (all.is_empty(), all.contains(", ")) {
        (true, _) => Reading::absent("the kernel shows no microcode"),
        (_, false) => Reading::reported(all),
        (_, true) => Reading::advised(all, "load one version on all CPUs, best at boot"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::expand;
    use crate::knobs::{State, knob};

    const MACHINE: &str = "sys/devices/system/cpu/online = 0-3\n\
        sys/devices/system/cpu/cpu{0-2}/microcode/version = 0x42\n\
        sys/devices/system/cpu/cpu3/microcode/version = 0x43\n\
        sys/devices/system/cpu/vulnerabilities/l1tf = Not affected\n\
        sys/devices/system/cpu/vulnerabilities/spectre_v1 = Mitigation: usercopy\n\
        sys/devices/system/cpu/vulnerabilities/mds = Vulnerable: no microcode\n\
        sys/class/net/eth0/queues/rx-0/rps_cpus = c\n\
        sys/class/net/eth0/queues/rx-1/rps_cpus = 3\n\
        sys/class/net/eth0/queues/tx-0/xps_cpus = 4\n\
        sys/class/net/eth0/queues/tx-1/xps_cpus = 1\n\
        proc/sys/vm/compaction_proactiveness = 20\n";

    #[track_caller]
    fn check(name: &str, settings: &[(&str, &str)], now: &str) {
        let (_directory, host) = expand(MACHINE);
        let reading = knob(name).unwrap().read(&Machine::new(&host, vec![2]));
        let found: Vec<(&str, &str)> =
            reading.settings.iter().map(|s| (s.path.as_str(), s.wanted.as_str())).collect();
        assert_eq!(found, settings, "{name}");
        let shown = match &reading.state {
            State::NotTuned { now, .. } | State::Reported { now, .. } => now.clone(),
            state => format!("{state:?}"),
        };
        assert_eq!(shown, now, "{name}");
    }

    #[test]
    fn each_is_read_for_the_cpus_of_the_benchmark() {
        check("compaction", &[("proc/sys/vm/compaction_proactiveness", "0")], "20");
        check("network-queues", &[], "eth0/rx-0 to CPUs 2-3, eth0/tx-0 from CPU 2");
        check("vulnerabilities", &[], "mitigated: spectre_v1; not: mds");
        check("microcode", &[], "0x42, 0x43");
    }
}
