//! Chooses the CPUs for a benchmark and the CPUs to shield for it.

use crate::cpu_table::CpuRow;
use crate::recommend::recommend;
use crate::{Host, read_cpu_table, with_hidden_siblings};
use model::values::{format_cpu_list, name_cpus};

/// CPUs for a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// CPUs to shield: whole cores, if possible.
    pub shielded: Vec<usize>,
    /// The shielded CPUs that the commands run on. The others are siblings, which stay idle.
    pub bound: Vec<usize>,
    /// Notes for the user about the choice; whole sentences.
    pub notes: Vec<String>,
}

/// Chooses the cores of the CPUs that the user `asked` for, or else one core, but never CPU 0's. Pairs of `hidden`
/// siblings count as threads of one core. Errors: no CPU can be shielded, or a requested one is offline.
pub fn place(
    host: &Host,
    asked: Option<&[usize]>,
    hidden: &[[usize; 2]],
) -> Result<Placement, String> {
    let table = with_hidden_siblings(read_cpu_table(host, None), hidden);
    let mut placement = match asked {
        Some(asked) => place_asked(&table, asked),
        None => place_best(&table),
    }?;
    placement.notes.extend(notes_on_hidden(&placement, hidden));
    Ok(placement)
}

/// Notes on pairs of which only one CPU is shielded.
fn notes_on_hidden(placement: &Placement, hidden: &[[usize; 2]]) -> Vec<String> {
    let orders = hidden.iter().flat_map(|&[one, other]| [[one, other], [other, one]]);
    orders
        .filter(|[bound, _]| placement.bound.contains(bound))
        .filter(|[_, other]| !placement.shielded.contains(other))
        .map(|[bound, other]| {
            format!(
                "CPU {bound} shares a core with CPU {other}: what runs there slows the benchmark"
            )
        })
        .collect()
}

fn place_best(table: &[CpuRow]) -> Result<Placement, String> {
    let best = recommend(table);
    // One core is enough for one thread. Users name the CPUs if they need more.
    let Some(row) = best.cpus.last().and_then(|last| table.iter().find(|row| row.cpu == *last))
    else {
        return Err(format!("no CPU can be kept free here: {}", best.why.join(", ")));
    };
    let mut shielded = row.siblings.clone();
    shielded.sort_unstable();
    Ok(Placement { bound: vec![shielded[0]], shielded, notes: Vec::new() })
}

fn place_asked(table: &[CpuRow], asked: &[usize]) -> Result<Placement, String> {
    let online: Vec<usize> = table.iter().filter(|row| row.online).map(|row| row.cpu).collect();
    if let Some(cpu) = asked.iter().find(|cpu| !online.contains(cpu)) {
        let is_off = table.iter().any(|row| row.cpu == *cpu);
        let what = if is_off { "is offline" } else { "does not exist" };
        return Err(format!("CPU {cpu} {what}; online are {}", name_cpus(&online)));
    }
    if online.iter().all(|cpu| asked.contains(cpu)) {
        return Err(format!(
            "{} are all there are, and everything else needs at least one",
            name_cpus(asked)
        ));
    }
    let rows: Vec<&CpuRow> = table.iter().filter(|row| asked.contains(&row.cpu)).collect();
    let mut shielded: Vec<usize> =
        rows.iter().flat_map(|row| row.siblings.iter().copied()).chain(asked.to_vec()).collect();
    shielded.sort_unstable();
    shielded.dedup();
    let mut notes = Vec::new();
    if shielded.len() == online.len() {
        shielded = asked.to_vec();
        notes.push(format!(
            "the other thread of the core stays busy: without it nothing would be left beside {}",
            name_cpus(asked)
        ));
    }
    if shielded.contains(&0) {
        notes.push("CPU 0 has work that the kernel gives to no other CPU".into());
    }
    if rows.iter().any(|row| row.node != rows[0].node) {
        notes.push(format!(
            "CPUs {} are of several memory nodes: times depend on which is used",
            format_cpu_list(asked)
        ));
    }
    Ok(Placement { shielded, bound: asked.to_vec(), notes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{expand, fixture};

    #[track_caller]
    fn check(name: &str, asked: Option<&[usize]>, shielded: &[usize], bound: &[usize]) {
        let (_directory, host) = fixture(name);
        let found = place(&host, asked, &[]).unwrap();
        assert_eq!(
            (found.shielded.as_slice(), found.bound.as_slice()),
            (shielded, bound),
            "{name}"
        );
    }

    #[test]
    fn a_whole_core_with_its_sibling_idle() {
        check("intel-hwp-active", None, &[3, 7], &[3]);
        check("intel-acpi-msr", None, &[7, 15], &[7]);
        check("numa-128", None, &[63, 127], &[63]);
        check("smt-off-sparse", None, &[6], &[6]);
        check("intel-hwp-active", Some(&[6]), &[2, 6], &[6]);
        check("intel-hwp-active", Some(&[2, 3]), &[2, 3, 6, 7], &[2, 3]);
    }

    #[test]
    fn what_cannot_be_had_is_said() {
        let error = |name: &str, asked: Option<&[usize]>| {
            let (_directory, host) = fixture(name);
            place(&host, asked, &[]).unwrap_err()
        };
        let one =
            "no CPU can be kept free here: there is one CPU, and everything else needs it too";
        assert_eq!(error("qemu-one-cpu", None), one);
        assert_eq!(
            error("smt-off-sparse", Some(&[1])),
            "CPU 1 is offline; online are CPUs 0,2,4,6"
        );
        assert_eq!(
            error("firecracker-vm", Some(&[0, 1])),
            "CPUs 0-1 are all there are, and everything else needs at least one"
        );
    }

    #[test]
    fn a_core_that_is_all_there_is_is_divided() {
        let (_directory, host) = expand(
            "sys/devices/system/cpu/online = 0-1\n\
             sys/devices/system/cpu/cpu{0-1}/topology/core_cpus_list = 0-1\n",
        );
        let found = place(&host, Some(&[1]), &[]).unwrap();
        assert_eq!((found.shielded, found.bound, found.notes.len()), (vec![1], vec![1], 1));
    }

    #[test]
    fn a_hidden_sibling_is_kept_idle_or_named() {
        let four = "sys/devices/system/cpu/online = 0-3\n";
        let (_directory, host) = expand(four);
        let found = place(&host, None, &[[2, 3]]).unwrap();
        assert_eq!((found.shielded, found.bound, found.notes.len()), (vec![2, 3], vec![2], 0));
        let found = place(&host, Some(&[2]), &[[0, 2]]).unwrap();
        assert_eq!((found.shielded, found.bound), (vec![0, 2], vec![2]));
        let (_directory, host) = expand("sys/devices/system/cpu/online = 0-1\n");
        let found = place(&host, None, &[[0, 1]]).unwrap();
        let note = "CPU 1 shares a core with CPU 0: what runs there slows the benchmark";
        assert_eq!((found.shielded, found.bound), (vec![1], vec![1]));
        assert_eq!(found.notes, [note]);
    }
}
