use super::*;
use crate::fixture::fixture;
use crate::{fixture_names, read_cpu_table};

fn advice(name: &str, asked: Option<&[usize]>, no_smt: bool) -> Result<BootAdvice, Prose> {
    let (_directory, host) = fixture(name);
    BootAdvice::new(&host, &read_cpu_table(&host, None), asked, no_smt)
}

fn states(advice: &BootAdvice) -> Vec<&BootState> {
    advice.parameters.iter().map(|parameter| &parameter.now).collect()
}

#[test]
fn the_line_of_a_laptop() {
    let found = advice("intel-hwp-active", Some(&[2, 3, 6, 7]), false).unwrap();
    let line = "isolcpus=managed_irq,domain,2-3,6-7 nohz_full=2-3,6-7 irqaffinity=0-1,4-5";
    assert_eq!(found.line, line);
    let implied = BootState::Implied { by: "nohz_full=".into() };
    assert_eq!(states(&found)[2], &implied);
    let with_nosmt = advice("intel-hwp-active", Some(&[2, 3, 6, 7]), true).unwrap();
    assert_eq!(with_nosmt.line, format!("{line} nosmt"));
}

/// The server's parameters contain flags, `N` and a stride. Other tools stop with an error there.
#[test]
fn what_is_set_already_is_seen_in_any_notation() {
    let found = advice("intel-acpi-msr", None, false).unwrap();
    assert_eq!(found.cpus, [6, 7, 14, 15]);
    let set = BootState::Set;
    // rcu_nocbs=0-15:2/8 has only 0,1,8,9, but nohz_full= implies the rest.
    let implied = BootState::Implied { by: "nohz_full=".into() };
    assert_eq!(states(&found), [&set, &set, &implied, &BootState::Missing]);
    assert_eq!(found.line, "irqaffinity=0-5,8-13");
    // The user asks for other CPUs than the server was booted with.
    let other = advice("intel-acpi-msr", Some(&[7, 15]), false).unwrap();
    let was = BootState::Different { value: "nohz_full=6-7,14-15".into() };
    assert_eq!(states(&other)[1], &was);
}

/// Without CONFIG_NO_HZ_FULL the kernel lacks the file and would pass the parameter to init.
#[test]
fn what_the_kernel_does_not_know_is_not_written() {
    let found = advice("wsl2", None, false).unwrap();
    assert_eq!(states(&found)[1], &BootState::Unsupported);
    assert_eq!(found.line, "isolcpus=managed_irq,domain,2-3 rcu_nocbs=2-3 irqaffinity=0-1");
}

#[test]
fn cpus_that_cannot_be_isolated() {
    let check = |name: &str, cpus: Option<&[usize]>, expect: &str| {
        assert_eq!(advice(name, cpus, false).unwrap_err().to_string(), expect, "{name}");
    };
    check("intel-passive", Some(&[9]), "CPU 9 is not online; the CPUs of this machine are 0-3");
    check(
        "smt-off-sparse",
        Some(&[2, 3]),
        "CPU 3 is not online; the CPUs of this machine are 0,2,4,6",
    );
    check(
        "intel-passive",
        Some(&[0, 1, 2, 3]),
        "--affinity 0-3 contains CPU 0, where the kernel boots and does its own work; leave it to everything else",
    );
    check(
        "qemu-one-cpu",
        None,
        "no CPU can be recommended for benchmarks: there is one CPU, and everything else needs it too; name some with --affinity LIST",
    );
}

#[test]
fn half_cores_nodes_and_kinds_are_warned_of() {
    let warnings = |name: &str, cpus: &[usize]| advice(name, Some(cpus), false).unwrap().warnings;
    let found = warnings("intel-hwp-active", &[3]);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("sibling threads are left to everything else: CPU 7;"),
        "{found:?}"
    );
    assert!(advice("intel-hwp-active", Some(&[3]), true).unwrap().warnings.is_empty());
    let found = warnings("numa-128", &[1, 32, 65, 96]);
    assert!(found.iter().any(|text| text.contains("several NUMA nodes")), "{found:?}");
    let found = warnings("arm-big-little", &[3, 4]);
    assert!(found.iter().any(|text| text.contains("several kinds")), "{found:?}");
}

#[test]
fn a_machine_has_a_line_or_a_reason() {
    for name in fixture_names() {
        if let Err(why) = advice(&name, None, false) {
            assert!(why.to_string().starts_with("no CPU can be recommended"), "{name}: {why}");
        }
    }
}
